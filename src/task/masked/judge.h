/* How well a masked language model fills in a text. */
#ifndef HD_TASK_MASKED_JUDGE_H
#define HD_TASK_MASKED_JUDGE_H

#include "task/language/language.h"
#include "task/masked/rows.h"

typedef struct hd_masked_judged {
    size_t asked, right; /* tokens; those whose likeliest is what was there */
    double nats;         /* minus the sum of log-probabilities of what was there */
} hd_masked_judged;

/* Window after window; what is masked is the same every time. HD_EARG where there is nothing to mask. */
hd_status hd_masked_judge(hd_masked_judged *out, hd_run *r, const hd_model_folder *f, const hd_masking *how,
                          const hd_stream_text *text, hd_err *err);

#endif
