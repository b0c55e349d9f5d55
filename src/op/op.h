/* All ops. Each takes the run first, returns NULL on failure (the message is in the run) and passes NULL on.
   Results live until the step ends. Shapes: R rows, C columns, N items, V classes, H heads, D and Dv head
   sizes. */
#ifndef HD_OP_OP_H
#define HD_OP_OP_H

#include "backend/frames.h"
#include "op/probe.h"
#include "op/run.h"
#include "op/tape.h"

/* linear.c: act(x w^T + bias); w [out, C], bias [out] or NULL. */
hd_tensor *hd_linear(hd_run *r, hd_tensor *x, hd_tensor *w, hd_tensor *bias, hd_unary act);
/* The same for an output layer: if its form rounds, the best of each row are those of w as it is. */
hd_tensor *hd_linear_output(hd_run *r, hd_tensor *x, hd_tensor *w, hd_tensor *bias);
/* The same for some outputs, which may be others for each row of x. */
typedef struct hd_narrowed {
    hd_tensor *part, *part_bias;      /* the outputs of all rows together; bias or NULL */
    hd_tensor *whole, *bias;          /* the layer that they are of */
    const hd_columns *const *columns; /* [R] what of part a row has */
    size_t wide;                      /* columns of the result: behind those of a row it is -inf */
} hd_narrowed;
hd_tensor *hd_linear_narrow(hd_run *r, hd_tensor *x, const hd_narrowed *w);
/* x w^T + bias, and of each part h b^T [R, rows of b] added to the columns from `at` on; h [R, rank], b [out,
   rank]. */
typedef struct hd_low_rank {
    hd_tensor *h, *b;
    size_t at;
} hd_low_rank;
hd_tensor *hd_linear_low_rank(hd_run *r, hd_tensor *x, hd_tensor *w, hd_tensor *bias, const hd_low_rank *part,
                              size_t parts);
/* The same and then dropout. */
hd_tensor *hd_linear_dropout(hd_run *r, hd_tensor *x, hd_tensor *w, hd_tensor *bias, hd_unary act, float p,
                             const hd_seg *seg);
/* x w with w [C, out]: the other orientation, for weights stored by input and for products of activations. */
hd_tensor *hd_matmul(hd_run *r, hd_tensor *x, hd_tensor *w);

/* arithmetic.c: same shapes, or z one row (add, sub, mul) or one column (mul) */
hd_tensor *hd_add(hd_run *r, hd_tensor *x, hd_tensor *z);
hd_tensor *hd_sub(hd_run *r, hd_tensor *x, hd_tensor *z);
hd_tensor *hd_mul(hd_run *r, hd_tensor *x, hd_tensor *z);
hd_tensor *hd_scale(hd_run *r, hd_tensor *x, float by);
hd_tensor *hd_apply(hd_run *r, hd_tensor *x, hd_unary f);
hd_tensor *hd_gated(hd_run *r, hd_tensor *x, hd_unary f); /* f(left half of the columns) * right half */
/* Inverted dropout while training; x itself otherwise. seg gives item and row of each draw. */
hd_tensor *hd_dropout(hd_run *r, hd_tensor *x, float p, const hd_seg *seg);

/* x + Gumbel noise, drawn for every element (seg as for dropout): the largest of a row is then a sample of
   its softmax. Draws in inference, too. */
hd_tensor *hd_gumbel(hd_run *r, hd_tensor *x, const hd_seg *seg);

/* rows.c: index is int32 in backend memory and must outlive the step */
hd_tensor *hd_gather(hd_run *r, hd_tensor *x, const int32_t *index, size_t count,
                     float scale); /* y[i] = scale x[index[i]]; zeros where out of range */
hd_tensor *hd_gather_add(hd_run *r, hd_tensor *y, hd_tensor *x,
                         const int32_t *index); /* y + x[index], in place of y */
hd_tensor *hd_scatter(hd_run *r, hd_tensor *x, const int32_t *index,
                      size_t rows); /* y[index[i]] += x[i] into zeros */
hd_tensor *hd_concat_rows(hd_run *r, hd_tensor *const *x, size_t count);
hd_tensor *hd_concat_cols(hd_run *r, hd_tensor *const *x, size_t count);
/* The same numbers, which lie one after the other, as rows x cols. */
hd_tensor *hd_reshape(hd_run *r, hd_tensor *x, size_t rows, size_t cols);
hd_tensor *hd_broadcast(hd_run *r, hd_tensor *x,
                        const hd_seg *seg); /* x [N,C] to [R,C]: each row gets its item's */
/* Embedding lookup: table [V,C], ids [count]; an id out of range is an error of the caller (zeros). */
static inline hd_tensor *hd_embed(hd_run *r, hd_tensor *table, const int32_t *ids, size_t count, float scale)
{
    return hd_gather(r, table, ids, count, scale);
}

/* grid/fold.c: k adjacent rows of an item side by side, zeros past its end: an item has 1/k of the rows. */
hd_rows hd_fold(hd_run *r, hd_rows x, int k);
/* The same of frames of sound. The result wants no gradient. */
hd_rows hd_frame_rows(hd_run *r, const hd_frames *in, int k);

/* grid/pixels.c: rows of p x p pixels, each in the order channel, row, column (that of a convolution's
   weight), row by row over the picture; what is left at the right and the bottom is cut. p = 1: a row for
   each pixel. The result has a grid and wants no gradient. */
hd_rows hd_pixel_rows(hd_run *r, const hd_pixels *in, int p);

/* grid/lead.c: rows of zeros before those of each item, for tokens that are no cells; grids stay (seg->lead).
 */
hd_rows hd_lead_rows(hd_run *r, hd_rows x, int lead);

/* grid/conv.c: x has a grid; w [out, C * height * width] in the order channel, row, column; bias [out] or
   NULL. Height, then width; strides are at least 1. */
typedef struct hd_conv_opt {
    int kernel[2], stride[2], padding[2];
    hd_unary act;
} hd_conv_opt;
hd_rows hd_conv(hd_run *r, hd_rows x, hd_tensor *w, hd_tensor *bias, const hd_conv_opt *opt);

/* grid/pool.c: the maximum or the mean of the cells under a window; the mean counts padding as zeros. The
   padding is at most half of the kernel. */
typedef struct hd_pool_opt {
    int kernel[2], stride[2], padding[2];
    hd_grid_pool kind;
} hd_pool_opt;
hd_rows hd_pool_grid(hd_run *r, hd_rows x, const hd_pool_opt *opt);

/* norm.c */
typedef struct hd_norm_opt {
    float eps;
    bool rms;
    bool from_one;     /* the gain is how much more than 1 it is */
    float dropout;     /* on the branch */
    float drop_path;   /* stochastic depth: the branch of a whole item is dropped with this probability */
    const hd_seg *seg; /* of the rows, for its draws */
    bool quiet;        /* offers nothing to a probe */
} hd_norm_opt;
/* norm(x) * gain + bias; gain and bias [C] or NULL */
hd_tensor *hd_norm(hd_run *r, hd_tensor *x, hd_tensor *gain, hd_tensor *bias, const hd_norm_opt *opt);
/* sum = x + dropout(branch), norm(sum): in one pass. *sum (if not NULL) is the residual stream of pre-norm
 * blocks. */
hd_tensor *hd_norm_residual(hd_run *r, hd_tensor *x, hd_tensor *branch, hd_tensor *gain, hd_tensor *bias,
                            const hd_norm_opt *opt, hd_tensor **sum);

/* sine.c: the code of positions [R, A] as DETR has it, `each` columns for a number: sines and cosines of
   x * scale / temperature^(2k/each) in turn. Numbers come in pairs x, y, and the code of y goes first. */
hd_tensor *hd_sine(hd_run *r, hd_tensor *x, size_t each, float scale, float temperature);

/* latent.c: keys [R, H * (plain + rotated)] and values [R, H * value] of latent attention, of kv [R, H *
   (plain + value)], whose rows lie one after the other, and c [R, rank + rotated]: every head gets the
   rotated columns of c. */
typedef struct hd_latent_shape {
    size_t heads, rank, plain, rotated, value;
} hd_latent_shape;
hd_tensor *hd_latent_keys(hd_run *r, hd_tensor *kv, hd_tensor *c, const hd_latent_shape *shape);
hd_tensor *hd_latent_values(hd_run *r, hd_tensor *kv, const hd_latent_shape *shape);

/* rotate.c: turns pairs of columns of the first `heads` heads of x by the positions of its rows [R], in
   backend memory, in place: what made x must not need its value to go back, as products do not. */
hd_tensor *hd_rotate(hd_run *r, hd_tensor *x, const int32_t *pos, const hd_rotation *by, size_t heads);

/* group_norm.c: norms over rows. Rows of no item are not counted and give zeros. */
typedef struct hd_batch_norm_opt {
    float eps, momentum;        /* momentum: of the running statistics, as torch has it (0.1) */
    bool frozen;                /* the running ones are used in training, too, and stay as they are */
    hd_unary act;               /* of the result */
    hd_tensor *add;             /* added before act (a shortcut); NULL: nothing */
    hd_tensor *mean, *variance; /* [C] running statistics: renewed in training, used in inference */
} hd_batch_norm_opt;
/* act(norm(x) * gain + bias + add), each column by its mean and deviation over the rows of all items; gain,
   bias [C] or NULL. */
hd_tensor *hd_batch_norm(hd_run *r, hd_tensor *x, hd_tensor *gain, hd_tensor *bias, const hd_seg *seg,
                         const hd_batch_norm_opt *opt);
typedef struct hd_group_norm_opt {
    int groups; /* columns side by side, of equal width */
    float eps;
    hd_unary act;
    hd_tensor *add;
} hd_group_norm_opt;
/* The same by the mean and deviation of each item over its rows and the columns of a group. */
hd_rows hd_group_norm(hd_run *r, hd_rows x, hd_tensor *gain, hd_tensor *bias, const hd_group_norm_opt *opt);

/* softmax.c */
hd_tensor *hd_softmax(hd_run *r, hd_tensor *x);
hd_tensor *hd_log_softmax(hd_run *r, hd_tensor *x);
hd_tensor *hd_segment_softmax(hd_run *r, hd_tensor *x, const hd_seg *seg);
hd_tensor *hd_segment_log_softmax(hd_run *r, hd_tensor *x, const hd_seg *seg);

/* reduce.c: [R,C] to [N,C] */
hd_tensor *hd_reduce(hd_run *r, hd_tensor *x, const hd_seg *seg, hd_reduction kind);

/* choose.c: no gradients */
hd_tensor *hd_top(hd_run *r, hd_tensor *x, int k,
                  hd_tensor **values); /* ids [R,k] int32, falling; values may be NULL */
/* The same of logits, with log-probabilities for values. */
hd_tensor *hd_top_log(hd_run *r, hd_tensor *x, int k, hd_tensor **logp);
/* Copies the result of hd_top to the host: [R*k] each. */
bool hd_top_read(hd_run *r, const hd_tensor *ids, const hd_tensor *values, int32_t *id, hd_real *value);
hd_tensor *hd_argmax(hd_run *r, hd_tensor *x); /* [R,1] */
typedef struct hd_sample_opt {
    float temperature; /* > 0 */
    float top_p;       /* 1: all */
    int top_k;         /* 0: all */
    const hd_seg *seg;
} hd_sample_opt;
hd_tensor *hd_sample(hd_run *r, hd_tensor *x, const hd_sample_opt *opt, hd_tensor **logp);

/* loss.c: starts of backward. Each returns the [R,1] losses of the rows, weighted but neither averaged nor
 * scaled; the gradient is that of coef * their sum. */
typedef struct hd_loss_opt {
    float coef;             /* of the gradient; usually 1 */
    float smoothing;        /* cross-entropy: share spread evenly over all classes */
    hd_tensor *weight;      /* [R,1] or NULL */
    float cap;              /* linear_cross_entropy: logits become cap * tanh(logit / cap); 0: as they are */
    size_t chunk;           /* linear_cross_entropy: rows of logits held at a time; 0: chosen by their size */
    hd_tensor **logp;       /* cross-entropy: receives the log-probabilities of the targets [R,1], or NULL */
    hd_tensor *policy_rows; /* cross-entropy: [R, HD_POLICY_COLUMNS], or NULL. The loss is then that of tokens
                               that were drawn (backend/policy.h), without smoothing */
    hd_policy_opt policy;
} hd_loss_opt;
hd_tensor *hd_cross_entropy(hd_run *r, hd_tensor *logits, const int32_t *target, const hd_loss_opt *opt);
/* Cross-entropy of x w^T + bias without ever holding all logits: loss, dx, dw and dbias in one pass over
 * chunks of rows. */
hd_tensor *hd_linear_cross_entropy(hd_run *r, hd_tensor *x, hd_tensor *w, hd_tensor *bias,
                                   const int32_t *target, const hd_loss_opt *opt);
hd_tensor *hd_squared_error(hd_run *r, hd_tensor *x, hd_tensor *target, const hd_loss_opt *opt);
hd_tensor *hd_binary_cross_entropy(hd_run *r, hd_tensor *logits, hd_tensor *target, const hd_loss_opt *opt);
hd_tensor *hd_absolute_error(hd_run *r, hd_tensor *x, hd_tensor *target,
                             const hd_loss_opt *opt); /* |x - t| */
/* 1 - GIoU of boxes [R,4] as center and size (backend/box.h). */
hd_tensor *hd_box_error(hd_run *r, hd_tensor *x, hd_tensor *target, const hd_loss_opt *opt);
/* ctc.c: -ln p of the labels of each item over its frames, [N,1], with V columns of which one is the blank
   (backend/ctc.h). label: of all items in backend memory, as `labels` says; weight [N,1]; logp receives ln p
   of each item, -infinity where its frames are too few for its labels: such items are left out, their loss is
   0. */
hd_tensor *hd_ctc(hd_run *r, hd_rows logits, const int32_t *label, const hd_seg *labels, int32_t blank,
                  const hd_loss_opt *opt);
/* mixture.c: -ln of the density of points under mixtures of Gaussians (backend/mixture.h), of handwriting:
   x [R, 1 + 6M] gives whether the pen is lifted and M Gaussians, target [R, 3] is x, y and the lifting; a row
   whose lifting is below 0 counts nothing. */
hd_tensor *hd_mixture_loss(hd_run *r, hd_tensor *x, hd_tensor *target, const hd_loss_opt *opt);
hd_tensor *hd_sum_loss(hd_run *r, hd_tensor *x, float coef); /* the sum of x as a loss, [1,1] */
double hd_loss_total(hd_run *r, const hd_tensor *loss);      /* host: sum over rows; NaN after a failure */
void hd_loss_put(hd_run *r, const hd_tensor *loss);          /* the sum over rows to the step block */

/* attend.c */
typedef struct hd_attend_opt {
    int heads, kv_heads; /* kv_heads 0: as heads */
    float scale;         /* 0: 1/sqrt(D) for dot, 1 for additive */
    hd_mask mask;
    int window; /* 0: none */
    float cap;  /* scores become cap * tanh(score / cap) before biases and mask; 0: none. Dot score alone */
    int block;  /* local blocks of so many positions; 0: none */
    float dropout; /* on the weights */
    hd_score score;
    hd_tensor *additive; /* [1, H*D] */
    hd_tensor *table;    /* [buckets, H] */
    bool table_both_ways;
    int table_reach;     /* 0: 128 */
    hd_tensor *distance; /* [H*span, D]: vectors of distances; causal, dot score */
    hd_tensor *center;   /* [Rq, 1] or [Rq, H]: the center of a window */
    float sigma;         /* 0: a window alone */
    hd_tensor *ragged;   /* [sum Tq*Tk, H] */
    hd_tensor *gate;     /* [1, H] */
} hd_attend_opt;
/* Attends from q [Rq,H*D] over k [Rk,Hk*D], v [Rk,Hk*Dv], segment by segment; returns [Rq,H*Dv] in q's
   segments. The last query of an item meets its last key, so the same call serves full sequences and new rows
   against a cache. */
hd_rows hd_attend(hd_run *r, hd_rows q, hd_rows k, hd_rows v, const hd_attend_opt *opt);

/* recur.c */
typedef struct hd_recur_opt {
    hd_cell cell;
    hd_unary act; /* of HD_RNN: HD_tanh, HD_sigmoid or HD_relu */
    bool reverse; /* each segment from its last row to its first */
} hd_recur_opt;
/* Walks a recurrent cell of width H and G gates over the rows of each segment; z [R, G*H] is the inputs'
   part of the gates (x w_in^T + bias_in), w [G*H, H] and bias [G*H] or NULL act on h. Returns h of every row.
   States are [N, H], of an LSTM [N, 2H], h and c side by side: start is the state before the first step
   (NULL: zeros; an LSTM also accepts [N, H]), *last (if last is not NULL) receives the state after the last.
 */
hd_rows hd_recur(hd_run *r, hd_rows z, hd_tensor *w, hd_tensor *bias, hd_tensor *start,
                 const hd_recur_opt *opt, hd_tensor **last);

/* mixture.c: the window over characters of Graves, K Gaussians that only move on: p [R, 3K] holds the logs of
   alpha, beta and the step of kappa, text [Rt, C] the characters. Returns, for each row of p, the sum over
   the characters u = 1, 2, ... of its item of text[u] * sum over K of alpha exp(-beta (kappa - u)^2), [R, C].
   start [N, K] is kappa before the first row (NULL: zeros), *last that after the last, *kappa [R, K] that of
   every row; both hd_real, and their pointers may be NULL. No gradient flows into *kappa. */
hd_rows hd_window_of(hd_run *r, hd_rows p, hd_rows text, hd_tensor *start, hd_tensor **kappa,
                     hd_tensor **last);

/* experts/: each row goes to some of E experts. hd_route gives the weights [R,K] of the K that a row goes to
   (hd_real), and in *ids [R,K] which they are; w [E,C]; bias [E] or NULL changes the choice alone
   (backend/experts.h). */
typedef struct hd_route_opt {
    hd_routing how;
    int32_t *load; /* [loads, E] in backend memory, counted up for the balance loss, which is complete when
                      backward begins; NULL: none */
    size_t loads;  /* 1, or one for each item */
    bool counted;  /* load is complete already: a block is computed again */
    float coef;    /* of that loss: the sum over rows of coef * load / (sum of load) * share of each expert */
} hd_route_opt;
hd_tensor *hd_route(hd_run *r, hd_rows x, hd_tensor *w, const hd_tensor *bias, const hd_route_opt *opt,
                    hd_tensor **ids);
/* Rows sorted by expert, in backend memory. */
typedef struct hd_dispatch {
    const int32_t *begin, *token, *place; /* [E+1], [R*K], [R*K] */
    size_t experts, rows;
    int used;
} hd_dispatch;
/* load [E] or NULL: += the rows of each expert. False after a failure. */
bool hd_dispatch_of(hd_run *r, hd_dispatch *d, const hd_tensor *ids, size_t experts, const hd_tensor *load);
hd_tensor *hd_dispatch_rows(hd_run *r, hd_tensor *x, const hd_dispatch *d); /* x [R,C] to [R*K,C] */
/* x w_e^T of rows of hd_dispatch_rows; w [E*out, C], each [E] or NULL its parts where they are prepared. */
hd_tensor *hd_grouped_linear(hd_run *r, hd_tensor *x, hd_tensor *w, const hd_tensor *const *each,
                             const hd_dispatch *d);
/* Back to [R,C]: the sum of a row's K under its weights. */
hd_tensor *hd_combine_experts(hd_run *r, hd_tensor *x, hd_tensor *weights, const hd_dispatch *d);

#endif
