/* What is asked of a model of handwriting: a folder whose config.json says "task": "write". Lines of text in,
   strokes of a pen out. */
#ifndef HD_TASK_WRITE_WRITE_H
#define HD_TASK_WRITE_WRITE_H

#include "data/strokes/scale.h"
#include "task/model_folder.h"

typedef struct hd_write_opt {
    double bias;             /* 0: as the model has it; the larger the tidier */
    uint64_t seed;           /* what is drawn for a line depends on it and on the number of the line */
    size_t points;           /* most of a line; of a model that reads no text, as many */
    const hd_strokes *prime; /* its first line is written before, in whose hand the model goes on; or NULL */
    bool watch;              /* the weights of the window are kept */
} hd_write_opt;

/* A line that was written. */
typedef struct hd_handwritten {
    hd_pen_points points; /* in the unit of the training data; the first at 0, 0 */
    size_t primed;        /* points of the prime, which come first */
    bool cut;             /* it reached the most points before the end of its text */
    float *phi;           /* [points, letters + 1]: weights of the window, where they are kept; else NULL */
    size_t seen;          /* points of which they are kept: all but those behind the last look */
    size_t letters;       /* characters that the window goes over, with those of the prime */
    hd_text text;         /* those */
} hd_handwritten;

/* Writes lines, each of which must have characters unless the model reads none; out has room for as many. */
hd_status hd_write(hd_handwritten *out, hd_run *r, const hd_model_folder *f, const char *const *line,
                   size_t lines, const hd_write_opt *opt, hd_err *err);
void hd_handwritten_release(hd_handwritten *w); /* accepts {0} */

const hd_pen_scale *hd_write_scale(const hd_model_folder *f); /* of the points that it learned from */
bool hd_write_reads(const hd_model_folder *f);                /* whether it reads a text */

#endif
