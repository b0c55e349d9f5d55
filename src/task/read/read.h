/* What is asked of a reader of handwriting: a folder whose config.json says "task": "read". Strokes of a pen
   in, text out. */
#ifndef HD_TASK_READ_READ_H
#define HD_TASK_READ_READ_H

#include "model/stroke/reader.h"
#include "run/recipe.h"
#include "task/model_folder.h"
#include "task/write/training.h"

static inline hd_reader *hd_model_folder_reader(const hd_model_folder *f)
{
    return f->model.self;
}

extern const hd_recipe hd_recipe_read;

typedef struct hd_read_judged {
    double loss; /* sum over lines */
    double cer;  /* character error rate, 0 to 1 and above */
    size_t lines;
} hd_read_judged;

/* Reads all lines and compares them with what they say. said: NULL, or what was read is appended, a line
   each. */
hd_status hd_read_lines(hd_read_judged *out, hd_run *r, const hd_model_folder *f, const hd_strokes *s,
                        hd_text *said, hd_err *err);

#endif
