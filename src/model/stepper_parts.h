/* What the steppers of this folder share: the sentences they were opened with, their cache, checks of both.
 */
#ifndef HD_MODEL_STEPPER_PARTS_H
#define HD_MODEL_STEPPER_PARTS_H

#include "model/stepper.h"
#include "nn/layer.h"

typedef struct hd_stepping {
    const void *model;
    uint64_t serial; /* of the model's parameters */
    hd_cache *cache;
    bool sends; /* a step sends more than its tokens: it is not captured */
    bool raw;   /* steps return logits */
    bool begun; /* the first step is done: the cache holds what was read of the sentences */
    int32_t *ids, *len, *start, *room; /* of the sentences; one block, from ids */
    size_t items, rows;
} hd_stepping;

typedef struct hd_stepping_ask { /* as handed in; each must have 1 to `longest` tokens below vocab */
    const char *what;            /* "source", for messages */
    const int32_t *ids, *len;
    size_t items, vocab, longest;
} hd_stepping_ask;

/* Copies the sentences; serial, cache, start and room are still to be filled. */
hd_status hd_stepping_new(hd_stepping **out, const void *model, const hd_stepping_ask *q, hd_err *err);
void hd_stepping_free(void *stepping); /* accepts NULL */
hd_status hd_stepping_pick(hd_run *r, void *stepping, const int32_t *parent, size_t n);

/* The stepper that owns s. */
hd_stepper hd_stepping_stepper(hd_stepping *s, size_t vocab,
                               hd_tensor *(*step)(hd_run *r, void *context, const int32_t *ids, size_t live));

/* What a step returns of the logits. */
hd_tensor *hd_stepping_end(hd_run *r, const hd_stepping *s, hd_tensor *logits);

const hd_seg *hd_single_rows(hd_run *r, size_t n); /* segments of one row each */

/* One more token for each live hypothesis, once the cache is begun: sent, filled up to what the cache holds,
   and run by `forward` (rows to log-probabilities), captured where that can be. */
typedef hd_tensor *hd_stepping_forward(hd_run *r, const hd_stepping *s, const int32_t *ids,
                                       const hd_seg *seg);
hd_tensor *hd_stepping_step(hd_run *r, hd_stepping *s, const int32_t *ids, size_t live,
                            hd_stepping_forward *forward);
/* Whether every hypothesis has one of the model's positions left; a failure otherwise. */
bool hd_stepping_room(hd_run *r, const hd_stepping *s, size_t positions);

#endif
