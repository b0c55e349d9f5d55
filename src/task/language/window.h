/* Windows of a text in backend memory: what training and judging give a language model. */
#ifndef HD_TASK_LANGUAGE_WINDOW_H
#define HD_TASK_LANGUAGE_WINDOW_H

#include "task/language/language.h"

/* The tokens from `from` on are to be predicted, `len` of them; the loss of the first `skip` counts nothing.
 */
typedef struct hd_window {
    size_t from, len, skip;
} hd_window;

/* Sends windows, one an item. keys: NULL, or the items' numbers for random draws. The number tells the shape
   they are filled up to. A failure stays in the run. */
uint64_t hd_windows_send(hd_run *r, hd_lm_batch *out, const hd_lm *m, const hd_stream_text *text,
                         const hd_window *w, const int32_t *keys, size_t items);

/* Windows judged one behind the other without overlap: half the work of hd_language_judge where that
   overlaps, and a little more nats a token. */
hd_status hd_language_judge_fast(hd_fluency *out, hd_run *r, const hd_model_folder *f,
                                 const hd_stream_text *text, hd_err *err);

#endif
