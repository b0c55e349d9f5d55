/* Training a model of handwriting: its options, and lines as it reads them. */
#ifndef HD_TASK_WRITE_TRAINING_H
#define HD_TASK_WRITE_TRAINING_H

#include "model/stroke/handwriting.h"
#include "run/recipe.h"
#include "run/session.h"
#include "task/write/write.h"

extern const hd_recipe hd_recipe_write;

/* HD_EARG where options do not go together. */
hd_status hd_write_check(const hd_train_options *o, hd_err *err);

/* -- data (data.c) -- */

/* Reads what a run learns from and is judged by, and tells the session of it. A folder of heed strokes stands
   for its train.tsv, and where nothing else is said for its val.tsv. */
hd_status hd_write_data(hd_session *s, hd_strokes *train, hd_strokes *valid, hd_err *err);
/* The characters of their texts. */
hd_status hd_write_characters(hd_tokenizer **out, const hd_strokes *s, const hd_log *log, hd_err *err);

/* -- lines on their way to the model -- */

typedef struct hd_write_lines {
    const hd_strokes *strokes;
    int32_t *id;      /* of the characters of all lines */
    size_t *first_id; /* [count + 1] */
} hd_write_lines;

/* Cuts the texts into characters. */
hd_status hd_write_lines_make(hd_write_lines *out, const hd_strokes *s, const hd_tokenizer *t, hd_err *err);
void hd_write_lines_release(hd_write_lines *l); /* accepts {0} */

/* Points that are predicted: all of a line but the first. */
size_t hd_write_points(const hd_strokes *s, const uint32_t *which, size_t count);

/* What is sent of items of these lengths: where steps are captured of few kinds, in steps of `step` rows. */
hd_bounds hd_write_bounds(const hd_run *r, const int32_t *len, size_t count, size_t step);
/* Sends what lines say; the number tells its shape. */
uint64_t hd_write_send_text(hd_run *r, hd_handwriting_batch *to, const hd_write_lines *l,
                            const uint32_t *which, size_t count);
/* Sends lines, with their texts for a window, and fills *to. The number tells the shape of the step. A
 * failure stays in the run. */
uint64_t hd_write_send(hd_run *r, hd_handwriting_batch *to, const hd_write_lines *l, const uint32_t *which,
                       size_t count, const hd_pen_scale *scale, bool window);

typedef struct hd_write_length {
    uint32_t line;
    size_t points;
} hd_write_length;

/* Lines of an epoch in batches: drawn by seed and epoch, such of similar length together. */
typedef struct hd_write_order {
    uint32_t *line;          /* [count], batch by batch */
    uint32_t *batch;         /* [batches], in the order in which they are given */
    hd_write_length *length; /* scratch: [count] */
    size_t count, each, batches;
    uint64_t epoch;
    bool formed;
} hd_write_order;

hd_status hd_write_order_make(hd_write_order *o, size_t count, size_t each, hd_err *err);
void hd_write_order_form(hd_write_order *o, const hd_strokes *s, uint64_t seed, uint64_t epoch);
const uint32_t *hd_write_order_batch(const hd_write_order *o, size_t turn, size_t *count);
void hd_write_order_release(hd_write_order *o); /* accepts {0} */

#endif
