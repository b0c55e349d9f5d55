/* What the steppers of this folder share: the items they were opened with, their cache, checks of both. */
#ifndef HD_MODEL_STEPPER_PARTS_H
#define HD_MODEL_STEPPER_PARTS_H

#include "nn/prefix/prefixes.h"
#include "model/stepper.h"
#include "nn/layer.h"

typedef struct hd_stepping hd_stepping;

/* Items as they come: tokens one item after the other. */
typedef struct hd_arrivals {
    const int32_t *ids, *len; /* host */
    size_t items, rows;
    const hd_begun *begun; /* [items] what was read before; NULL: nothing */
} hd_arrivals;

struct hd_stepping {
    const void *model;
    uint64_t serial; /* of the model's parameters */
    hd_cache *cache;
    size_t positions; /* most tokens of an item; 0: any number */
    /* Scores of the first tokens of items that join, and of one more row for each seat. */
    hd_tensor *(*read)(hd_run *r, const hd_stepping *s, const hd_arrivals *a);
    hd_tensor *(*forward)(hd_run *r, const hd_stepping *s, const int32_t *ids, const hd_seg *seg);
    /* What is kept of items that join, for the seats' first steps; NULL: `read` alone does it. */
    bool (*keep)(hd_run *r, const hd_stepping *s, const hd_arrivals *a);
    bool sends;    /* a step sends more than its tokens: it is not captured */
    bool raw;      /* scores are logits */
    bool every;    /* `read` gives those of all rows of a language model, not of the last of each item */
    int32_t start; /* of encoder-decoders: the decoder's first input */
    const struct hd_image_batch *pictures; /* that items are; both NULL: they are tokens */
    const struct hd_frames_host *sounds;
    struct hd_narrowing *narrow; /* what of the output layer is multiplied; NULL: all */
    struct hd_recall *recall;    /* sources that were encoded before; owned; NULL: none */
    size_t live;                 /* seats; the cache may have some more */
    int32_t *ids, *len, *room;   /* of the items; one block, from ids */
    size_t items, rows;
    size_t joined, read_rows; /* of items and rows */
};

typedef struct hd_stepping_ask { /* as handed in; each must have 1 to `longest` tokens below vocab */
    const char *what;            /* "source", for messages */
    const int32_t *ids, *len;
    size_t items, vocab, longest;
} hd_stepping_ask;

/* Copies the items; what is not said of them is still to be filled. */
hd_status hd_stepping_new(hd_stepping **out, const void *model, const hd_stepping_ask *q, hd_err *err);
void hd_stepping_free(void *stepping); /* accepts NULL */
/* Further items behind those that wait, which are the first from now on, also for the stepper, which uses s.
   What it says of their room is still to be filled. */
hd_status hd_stepping_wait(hd_stepper *of, hd_stepping *s, const hd_stepping_ask *q, hd_err *err);
/* The stepper that owns s. */
hd_stepper hd_stepping_stepper(hd_stepping *s, size_t vocab);

/* The next n of the items it was opened with; NULL: there are not so many. */
hd_arrivals hd_stepping_next(hd_run *r, hd_stepping *s, size_t n);
/* Any items join. */
hd_tensor *hd_stepping_join(hd_run *r, hd_stepping *s, const hd_arrivals *a);
/* Some more tokens for each seat, at least one. */
hd_tensor *hd_stepping_read(hd_run *r, hd_stepping *s, const hd_arrivals *a);
/* One more token for each seat: sent, filled up to what the cache holds, and run by `forward`, captured where
   that can be. */
hd_tensor *hd_stepping_step(hd_run *r, void *stepping, const int32_t *ids, size_t seats);
hd_status hd_stepping_pick(hd_run *r, void *stepping, const int32_t *parent, size_t n);

/* What a step returns of the logits. */
hd_tensor *hd_stepping_end(hd_run *r, const hd_stepping *s, hd_tensor *logits);

const hd_seg *hd_single_rows(hd_run *r, size_t n); /* segments of one row each */

#endif
