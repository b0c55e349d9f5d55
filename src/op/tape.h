/* The tape: ops run as they are called, and each records its backward function. Losses are where backward
   starts; their coefficient is their gradient. Backward kernels add, so gradients of parameters accumulate
   over steps until the optimizer clears them. */
#ifndef HD_OP_TAPE_H
#define HD_OP_TAPE_H

#include "op/run.h"

enum { HD_NODE_INPUTS = 12 }; /* room for so many in every node; NULL for unused ones */

typedef void hd_back_fn(hd_run *r, const hd_node *n);

struct hd_node {
    hd_node *before;
    hd_back_fn *back;
    hd_tensor *y, *also; /* what the op made; `also` is a second result or NULL */
    const void *opt;     /* the op's options, in host step memory */
    hd_arena_mark end;   /* of the step arena, after the op */
    bool start;          /* a loss or a probe: runs backward although y has no gradient */
    size_t inputs;
    hd_tensor *in[]; /* as recorded; the op knows which is which */
};

/* Records y = op(inputs). Returns y, or NULL after a failure. y needs a gradient if an input does; without
   taping nothing is recorded. */
#define hd_record(r, y, back, ...)                                                      \
    hd_record_node(r, y, NULL, back, NULL, 0, false, (hd_tensor *const[]){__VA_ARGS__}, \
                   sizeof((hd_tensor *const[]){__VA_ARGS__}) / sizeof(hd_tensor *))
/* The same with options, copied. */
#define hd_record_opt(r, y, also, back, opt, ...)                                                   \
    hd_record_node(r, y, also, back, &(opt), sizeof(opt), false, (hd_tensor *const[]){__VA_ARGS__}, \
                   sizeof((hd_tensor *const[]){__VA_ARGS__}) / sizeof(hd_tensor *))
/* A start of backward. */
#define hd_record_start(r, y, back, opt, ...)                                                      \
    hd_record_node(r, y, NULL, back, &(opt), sizeof(opt), true, (hd_tensor *const[]){__VA_ARGS__}, \
                   sizeof((hd_tensor *const[]){__VA_ARGS__}) / sizeof(hd_tensor *))
hd_tensor *hd_record_node(hd_run *r, hd_tensor *y, hd_tensor *also, hd_back_fn *back, const void *opt,
                          size_t opt_size, bool start, hd_tensor *const *in, size_t inputs);

/* Gradient of x to add to: allocated and cleared on first use. NULL if x is NULL or needs none. With
   `fresh`, a new one is not cleared and *fresh says that it must be written instead of added to. */
hd_tensor *hd_grad(hd_run *r, hd_tensor *x, bool *fresh);

/* Passes the gradient of y, complete and no longer needed, to x: moved if x has none yet, added otherwise. */
void hd_grad_pass(hd_run *r, hd_tensor *x, hd_tensor *y);

/* The flat gradients of parameters, in pieces: reports when one is complete, while the tape is still
   unwinding. To be set in the run before a step, with all of `open` 0. */
struct hd_grad_watch {
    const hd_real *grad;
    size_t count, piece; /* numbers; of a piece, but for the last one */
    uint32_t *open;      /* [pieces] inputs of nodes whose backward has not run yet */
    bool blind;          /* a recomputed function hides its inputs: from then on nothing is reported */
    void (*complete)(void *context, size_t piece);
    void *context;
};

/* Runs backward over the whole tape. Results of the forward pass must be read before: activations are
   released on the way. */
void hd_backward(hd_run *r);

/* A view of columns [from, from+count) or rows of x, without a copy, also in backward. */
hd_tensor *hd_slice_cols(hd_run *r, hd_tensor *x, size_t from, size_t count);
hd_tensor *hd_slice_rows(hd_run *r, hd_tensor *x, size_t from, size_t count);

/* Runs y = fn(r, context, inputs) keeping only y; backward runs fn again with the same random draws. The
   inputs and parameters that fn uses must outlive the step; fn must not contain a loss. */
typedef hd_tensor *hd_recompute_fn(hd_run *r, const void *context, hd_tensor *const *in);
hd_tensor *hd_recompute(hd_run *r, hd_recompute_fn *fn, const void *context, hd_tensor *const *in,
                        size_t inputs);

#endif
