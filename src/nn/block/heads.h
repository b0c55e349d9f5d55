/* Factors of attention heads: a run that carries some (hd_run.heads) multiplies what each head gives, before
   the output layer, by the factor of that head. 0 switches a head off, 1 leaves it as it is, to the bit. A
   layer is found by its scope, as probes name it; everything else is the forward pass as it always is, fused
   and with a cache.

   With `graded` set, steps that are begun and ended here also give the derivatives of the loss with respect
   to the factors, of all heads in one backward pass. */
#ifndef HD_NN_BLOCK_HEADS_H
#define HD_NN_BLOCK_HEADS_H

#include "op/op.h"

enum { HD_HEADS_SCOPE = 64 };

typedef struct hd_heads_layer { /* one attention of a model */
    char name[HD_HEADS_SCOPE];  /* with the stack: "dec.2.cross" */
    const char *scope;          /* as probes name it, in `name`: some begin with the layer, "2.self" */
    int kind;                   /* hd_attention_kind */
    size_t number, place;       /* among the layers of its kind, and of its stage, from 0 */
    size_t heads;
    hd_real *factor;        /* [heads] */
    hd_tensor *leaf;        /* of the step under way: [items, columns], or [1, columns] for all of them */
    double *slope, *effect; /* [heads] d loss / d factor: the sum over all steps; that of what each item adds
                               to it, without the signs */
} hd_heads_layer;

struct hd_heads {
    hd_heads_layer *layer;
    size_t layers;
    bool graded;
    hd_arena memory; /* of all that is above */
};

/* y [R, heads * columns of each] times the factors of the layer that runs; y itself where it has none but 1.
   seg: of the rows; NULL: they are not all of a step. */
hd_tensor *hd_heads_scaled(hd_run *r, hd_tensor *y, size_t heads, const hd_seg *seg);

/* A step that computes a loss and learns nothing: hd_run_begin for inference, with a tape if the run's heads
   are graded. */
void hd_heads_begin(hd_run *r);
/* Once the loss was read: adds to the derivatives, if they are wanted. A failure stays in the run. */
void hd_heads_end(hd_run *r);

#endif
