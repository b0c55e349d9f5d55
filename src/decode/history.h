/* What a text has said already changes what it may say next: tokens that come again count less, runs of
   tokens that were there are not repeated, and rules say what else may not come. */
#ifndef HD_DECODE_HISTORY_H
#define HD_DECODE_HISTORY_H

#include "decode/rules.h"

typedef struct hd_history_opt {
    float repetition; /* logits of tokens in the text are divided by it, those below 0 multiplied; 0 or 1: as
                         they are */
    size_t no_repeat; /* no run of so many tokens comes twice; 0: any may */
    const hd_rules *rules; /* or NULL */
} hd_history_opt;

bool hd_history_matters(const hd_history_opt *o);

/* Scores [n, vocab] of the texts' next tokens, weighed. Repetition counts with logits. NULL after a failure.
 */
hd_tensor *hd_history_weigh(hd_run *r, hd_tensor *x, const hd_history *of, size_t n, const hd_history_opt *o);

#endif
