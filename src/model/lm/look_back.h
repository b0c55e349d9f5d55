/* The stepper of models that look back at a fixed number of tokens: a hypothesis is its last `keep` tokens,
   on the host. */
#ifndef HD_MODEL_LM_LOOK_BACK_H
#define HD_MODEL_LM_LOOK_BACK_H

#include "model/stepper.h"

/* Log-probabilities or logits [live, vocab] of what follows each window [live, keep], the oldest token first.
 */
typedef hd_tensor *hd_look_back_fn(hd_run *r, const void *model, const int32_t *window, size_t live);

typedef struct hd_look_back {
    const void *model; /* borrowed */
    hd_look_back_fn *scores;
    bool logits;        /* scores are such */
    size_t vocab, keep; /* keep may be 0 */
    int32_t before;     /* what stands in a window where a prompt has nothing */
} hd_look_back;

/* Prompts of at least one token, item after item; they are copied. */
hd_status hd_look_back_stepper(hd_stepper *out, const hd_look_back *how, const int32_t *ids,
                               const int32_t *len, size_t items, hd_err *err);

#endif
