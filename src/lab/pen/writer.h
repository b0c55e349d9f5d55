/* A small network of handwriting (Graves 2013) that learns to write four letters with a pen: offsets from
   point to point, and whether the pen is lifted behind one. */
#ifndef HD_LAB_PEN_WRITER_H
#define HD_LAB_PEN_WRITER_H

#include "lab/experiment.h"
#include "model/stroke/handwriting.h"
#include "train/optimizer.h"

enum { HD_WRITER_ITEMS = 32, HD_WRITER_LETTERS = 4, HD_WRITER_LEAST = 2, HD_WRITER_MOST = 5 };
enum { HD_WRITER_STROKES = 7, HD_WRITER_POINTS = 1 + HD_WRITER_MOST * HD_WRITER_STROKES }; /* most */

/* A line: what it says, and its points. */
typedef struct hd_writer_line {
    int32_t letters, points, letter[HD_WRITER_MOST];
    int32_t of[HD_WRITER_POINTS];                          /* which letter of the line a point belongs to */
    hd_real point[HD_WRITER_POINTS][HD_HANDWRITING_POINT]; /* offset across, upward, lifted behind it */
} hd_writer_line;

typedef struct hd_writer {
    hd_run *run; /* borrowed */
    uint64_t seed, lots;
    hd_handwriting *model;
    hd_optimizer optimizer;
    hd_writer_line line[HD_WRITER_ITEMS];
} hd_writer;

/* window: Gaussians; 0: it does not read the text. Lives where it was opened; the caller closes it whatever
   happens. */
hd_status hd_writer_open(hd_writer *w, hd_run *run, int window, uint64_t seed, hd_err *err);
void hd_writer_close(hd_writer *w); /* accepts {0} */

char hd_writer_name(int32_t letter);
/* The points of a text, each off by noise of that deviation; rng may be NULL where there is none. */
void hd_writer_spell(hd_writer_line *to, const int32_t *letter, int32_t letters, double noise, hd_rng *rng);
/* All lines of a lot; learning sees even numbers. */
void hd_writer_draw(hd_writer *w, uint64_t number);

/* So many updates, with a rate that falls to 0 over all `of` of them. */
hd_status hd_writer_learn(hd_writer *w, uint32_t steps, uint32_t of, double rate, hd_err *err);
/* Nats a point of new lines. */
hd_status hd_writer_judge(double *nats, hd_writer *w, hd_err *err);

/* What it makes of the points of a line after a start: means of the next ones, and where its window lies, as
   weights of letters [points, HD_WRITER_MOST] and the places of its Gaussians, the first of them. */
typedef struct hd_writer_trace {
    double mean[HD_WRITER_POINTS][2];
    bool lift[HD_WRITER_POINTS];
    double weight[HD_WRITER_POINTS][HD_WRITER_MOST], kappa[HD_WRITER_POINTS];
} hd_writer_trace;
hd_status hd_writer_follow(hd_writer_trace *to, hd_writer *w, const hd_writer_line *line, hd_err *err);
/* Writes a text by itself, mean after mean, with as many points as it has: those of `line` are replaced. */
hd_status hd_writer_write(hd_writer_line *line, hd_writer *w, hd_err *err);

#endif
