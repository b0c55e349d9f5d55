/* What search knows of a model: give every live hypothesis one more token, get the log-probabilities of the
   next one. A stepper holds the state of the hypotheses (a cache as a rule) and is good for one search. */
#ifndef HD_MODEL_STEPPER_H
#define HD_MODEL_STEPPER_H

#include "op/op.h"

typedef struct hd_stepper {
    size_t vocab;
    size_t items;         /* sentences; before the first step each has one live hypothesis */
    const int32_t *start; /* [items]: the token each takes in the first step */
    const int32_t
        *source;         /* [items]: lengths of what is translated or continued, for limits relative to it */
    const int32_t *room; /* [items]: most steps an item can take, or NULL: no limit */

    /* Gives hypothesis i the token ids[i], for all live ones; returns log-probabilities (none above 0) of the
       token after it, dense [live, vocab] in step memory. NULL on failure. The caller has called
       hd_run_begin. */
    hd_tensor *(*step)(hd_run *r, void *context, const int32_t *ids, size_t live);
    /* NULL, or what makes steps return logits as they come instead, once it is set before the first of them.
     */
    bool *raw;
    /* Hypothesis i becomes what parent[i] was, for n of them. Not before the first step. */
    hd_status (*pick)(hd_run *r, void *context, const int32_t *parent, size_t n);
    void (*free)(void *context);
    void *context;
} hd_stepper;

void hd_stepper_release(hd_stepper *s); /* accepts {0} */

typedef struct hd_encdec hd_encdec;
typedef struct hd_gpt hd_gpt;

/* Sources item after item, each of at least one token; they are copied, the model is not. `start` is the
   decoder's first input. The sources are encoded in the first step; all hypotheses of one share its rows. */
hd_status hd_encdec_stepper(hd_stepper *out, const hd_encdec *m, const int32_t *ids, const int32_t *len,
                            size_t items, int32_t start, hd_err *err);
/* The same for prompts to be continued; the first step reads a prompt whole. */
hd_status hd_gpt_stepper(hd_stepper *out, const hd_gpt *m, const int32_t *ids, const int32_t *len,
                         size_t items, hd_err *err);

#endif
