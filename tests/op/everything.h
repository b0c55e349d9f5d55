/* One training step that uses every op: for tests of what must hold for all of them (memory, threads, the dry
 * run). */
#ifndef EVERYTHING_H
#define EVERYTHING_H

#include "check.h"

enum { STEP_LEAVES = 48, STEP_LOSSES = 12, STEP_ITEMS = 6, STEP_CLASSES = 11, STEP_BUCKETS = 8 };

typedef struct step_shape {
    int32_t len[STEP_ITEMS];
    size_t cols;        /* a multiple of four */
    bool host_segments; /* also what reads segment lengths on the host: fold, explicit scores */
} step_shape;

typedef struct step {
    hd_run *r;
    const step_shape *shape;
    const hd_seg *seg;
    size_t rows, c, leaves;
    hd_tensor *leaf[STEP_LEAVES];
    hd_tensor *loss[STEP_LOSSES];
    hd_tensor *ids[3]; /* of top, argmax, sample */
    hd_tensor *logp;   /* of what was sampled */
} step;

/* Its numbers follow from how many there were before. Not twice among the arguments of one call, whose order
   is the compiler's: other numbers made one gradient 60 times as sensitive to rounding. */
static hd_tensor *step_leaf(step *s, size_t rows, size_t cols)
{
    hd_tensor *t = random_rows(s->r, rows, cols, 0.3, 100 + s->leaves);
    if (t) t->wants_grad = true;
    return s->leaf[s->leaves++] = t;
}

static int32_t *step_ints(step *s, size_t count, int32_t below)
{
    int32_t *host = malloc((count + 1) * sizeof *host);
    for (size_t i = 0; i < count; i++)
        host[i] = (int32_t)((i * 7 + 3) % (size_t)(below + 1)) - 1; /* -1: nothing */
    int32_t *there = hd_ints(s->r, host, count);
    free(host);
    return there;
}

static hd_tensor *step_ffn(hd_run *r, const void *context, hd_tensor *const *in)
{
    const step *s = context;
    hd_tensor *h = hd_linear(r, in[0], in[1], in[2], HD_gelu);
    return hd_linear(r, hd_dropout(r, h, 0.1f, s->seg), in[3], NULL, HD_IDENTITY);
}

static hd_tensor *step_embedded(step *s)
{
    hd_run *r = s->r;
    hd_tensor *h =
        hd_embed(r, step_leaf(s, STEP_CLASSES, s->c), step_ints(s, s->rows, STEP_CLASSES), s->rows, 2);
    h = hd_dropout(r, hd_gather_add(r, h, step_leaf(s, 5, s->c), step_ints(s, s->rows, 5)), 0.1f, s->seg);
    hd_tensor *const in[] = {h, step_leaf(s, 2 * s->c, s->c), step_leaf(s, 1, 2 * s->c),
                             step_leaf(s, s->c, 2 * s->c)};
    hd_tensor *branch = hd_recompute(r, step_ffn, s, in, 4);
    hd_tensor *gain = step_leaf(s, 1, s->c), *bias = step_leaf(s, 1, s->c);
    return hd_norm_residual(r, h, branch, gain, bias,
                            &(hd_norm_opt){.eps = 1e-5f, .dropout = 0.1f, .drop_path = 0.1f, .seg = s->seg},
                            NULL);
}

static hd_tensor *step_attended(step *s, hd_tensor *h)
{
    hd_run *r = s->r;
    size_t c = s->c, pairs = 0;
    for (int i = 0; i < STEP_ITEMS; i++) pairs += (size_t)s->shape->len[i] * (size_t)s->shape->len[i];
    hd_tensor *qkv = hd_linear(r, h, step_leaf(s, 2 * c, c), NULL, HD_IDENTITY);
    hd_rows q = {hd_slice_cols(r, qkv, 0, c), s->seg}, k = {hd_slice_cols(r, qkv, c, c / 2), s->seg},
            v = {hd_slice_cols(r, qkv, c + c / 2, c / 2), s->seg};
    hd_attend_opt dot = {.heads = 4,
                         .kv_heads = 2,
                         .mask = HD_CAUSAL,
                         .window = 40,
                         .dropout = 0.1f,
                         .table = step_leaf(s, STEP_BUCKETS, 4),
                         .table_reach = 16,
                         .gate = step_leaf(s, 1, 4),
                         .distance = step_leaf(s, 4 * 3, c / 4),
                         .block = 20};
    if (s->shape->host_segments) dot.ragged = step_leaf(s, pairs, 4);
    hd_tensor *a = hd_attend(r, q, k, v, &dot).t, *sum = NULL;
    hd_tensor *y =
        hd_norm_residual(r, h, a, NULL, NULL, &(hd_norm_opt){.eps = 1e-5f, .rms = true, .seg = s->seg}, &sum);
    hd_rows x = {y, s->seg};
    hd_attend_opt additive = {.heads = 2,
                              .score = HD_ADDITIVE,
                              .additive = step_leaf(s, 1, c),
                              .window = 7,
                              .center = step_leaf(s, s->rows, 1),
                              .sigma = 3};
    return hd_add(r, sum, hd_attend(r, x, x, x, &additive).t);
}

/* Arithmetic, softmaxes, reductions, rows moved about: [rows, c] to [rows, c] */
static hd_tensor *step_mixed(step *s, hd_tensor *h)
{
    hd_run *r = s->r;
    hd_tensor *column = hd_apply(r, hd_matmul(r, h, step_leaf(s, s->c, 1)), HD_sigmoid);
    h = hd_mul(r, hd_sub(r, hd_mul(r, h, step_leaf(s, 1, s->c)), hd_scale(r, h, 0.5f)), column);
    h = hd_add(r, h, step_leaf(s, 1, s->c));
    h = hd_norm(r, h, step_leaf(s, 1, s->c), NULL, &(hd_norm_opt){.eps = 1e-5f, .seg = s->seg});
    h = hd_batch_norm(r, h, step_leaf(s, 1, s->c), NULL, s->seg,
                      &(hd_batch_norm_opt){.eps = 0.1f, .act = HD_gelu});
    hd_tensor *gain = step_leaf(s, 1, s->c), *bias = step_leaf(s, 1, s->c);
    h = hd_group_norm(r, (hd_rows){h, s->seg}, gain, bias,
                      &(hd_group_norm_opt){.groups = 2, .eps = 0.1f, .act = HD_tanh, .add = h})
            .t;
    hd_tensor *soft[] = {hd_softmax(r, hd_gumbel(r, h, s->seg)), hd_log_softmax(r, h),
                         hd_segment_softmax(r, h, s->seg), hd_segment_log_softmax(r, h, s->seg)};
    h = hd_add(r, h, hd_add(r, hd_mul(r, soft[0], soft[1]), hd_mul(r, soft[2], soft[3])));
    hd_tensor *kinds[5];
    for (int i = 0; i < 5; i++) kinds[i] = hd_reduce(r, h, s->seg, (hd_reduction)i);
    hd_tensor *items = hd_slice_rows(r, hd_concat_rows(r, kinds, 5), 2, STEP_ITEMS),
              *wide = hd_concat_cols(r, kinds, 5);
    h = hd_add(r, h, hd_broadcast(r, hd_add(r, items, hd_slice_cols(r, wide, s->c, s->c)), s->seg));
    return hd_add(r, h, hd_scatter(r, h, step_ints(s, s->rows, (int32_t)s->rows), s->rows));
}

/* Labels for a third of the frames of each item. */
static hd_tensor *step_ctc(step *s, hd_tensor *logits)
{
    int32_t len[STEP_ITEMS], label[STEP_CLASSES * 100];
    size_t count = 0;
    for (int i = 0; i < STEP_ITEMS; i++) count += (size_t)(len[i] = s->shape->len[i] / 3);
    assert_true(count < COUNT_OF(label));
    for (size_t i = 0; i < count; i++) label[i] = 1 + (int32_t)(i * 5 / 2 % (STEP_CLASSES - 1));
    return hd_ctc(s->r, (hd_rows){logits, s->seg}, hd_ints(s->r, label, count + 1),
                  hd_seg_of(s->r, len, STEP_ITEMS, NULL), 0, &(hd_loss_opt){.coef = 0.1f});
}

/* A window that goes over rows as if they were characters, and points as a mixture. */
static void step_handwriting(step *s, hd_tensor *h)
{
    hd_run *r = s->r;
    hd_tensor *kappa = NULL, *start = hd_apply(r, step_leaf(s, STEP_ITEMS, 2), HD_tanh);
    hd_rows p = {hd_linear(r, h, step_leaf(s, 6, s->c), NULL, HD_tanh), s->seg};
    hd_rows y = hd_window_of(r, p, (hd_rows){h, s->seg}, start, NULL, &kappa);
    hd_real *at = hd_host_take(r, (3 * s->rows + 1) * sizeof *at);
    for (size_t i = 0; at && i < 3 * s->rows; i++)
        at[i] = i % 3 == 2 ? (hd_real)(i / 3 % 2) : (hd_real)0.1 * (hd_real)(i % 7);
    hd_tensor *x = hd_linear(r, y.t, step_leaf(s, 13, s->c), NULL, HD_tanh);
    s->loss[10] = at ? hd_mixture_loss(r, x, hd_from(r, s->rows, 3, at), &(hd_loss_opt){.coef = 0.1f}) : NULL;
    s->loss[11] = hd_sum_loss(r, kappa, 0.1f);
}

static void step_losses(step *s, hd_tensor *h)
{
    hd_run *r = s->r;
    hd_tensor *w = step_leaf(s, STEP_CLASSES, s->c),
              *logits = hd_linear(r, h, w, step_leaf(s, 1, STEP_CLASSES), HD_tanh);
    const int32_t *target = step_ints(s, s->rows, STEP_CLASSES);
    s->loss[0] = hd_linear_cross_entropy(r, h, w, NULL, target, &(hd_loss_opt){.coef = 1, .smoothing = 0.1f});
    s->loss[1] = hd_cross_entropy(r, logits, target, &(hd_loss_opt){.coef = 0.5f});
    s->loss[2] = hd_squared_error(r, logits, hd_softmax(r, logits), &(hd_loss_opt){.coef = 0.1f});
    s->loss[3] = hd_binary_cross_entropy(r, logits, hd_softmax(r, logits), &(hd_loss_opt){.coef = 0.1f});
    hd_tensor *box = hd_apply(r, hd_slice_cols(r, logits, 0, 4), HD_sigmoid);
    s->loss[7] = hd_absolute_error(r, logits, hd_softmax(r, logits), &(hd_loss_opt){.coef = 0.1f});
    s->loss[8] = hd_box_error(r, box, hd_softmax(r, box), &(hd_loss_opt){.coef = 0.1f});
    s->loss[4] = hd_sum_loss(r, hd_mul(r, h, h), 0.01f);
    s->loss[9] = step_ctc(s, logits);
    step_handwriting(s, h);
    if (s->shape->host_segments) s->loss[5] = hd_sum_loss(r, hd_fold(r, (hd_rows){h, s->seg}, 2).t, 0.1f);
    hd_tensor *values = NULL;
    s->ids[0] = hd_top(r, logits, 3, &values);
    s->ids[1] = hd_argmax(r, logits);
    s->ids[2] = hd_sample(
        r, logits, &(hd_sample_opt){.temperature = 0.8f, .top_p = 0.9f, .top_k = 6, .seg = s->seg}, &s->logp);
}

/* Pictures of different sizes, one of them none: pixels, convolution, pooling. */
static void step_pictures(step *s)
{
    static const int32_t size[] = {12, 8, 6, 15, 0, 0, 13, 12, 4, 4, 18, 6};
    enum { PICTURES = COUNT_OF(size) / 2, BYTES = 3 * (12 * 8 + 6 * 15 + 13 * 12 + 4 * 4 + 18 * 6) };
    hd_run *r = s->r;
    uint8_t byte[BYTES];
    hd_real worth[3 * 256];
    int32_t begin[PICTURES] = {0};
    for (size_t i = 0; i < BYTES; i++) byte[i] = (uint8_t)(i * 97 + i / 7);
    for (size_t i = 0; i < COUNT_OF(worth); i++) worth[i] = (hd_real)((double)(i % 256) / 128 - 1);
    for (size_t i = 1; i < PICTURES; i++) begin[i] = begin[i - 1] + 3 * size[2 * i - 2] * size[2 * i - 1];
    void *bytes = hd_step_take(r, BYTES);
    hd_tensor *table = hd_from(r, 3, 256, worth);
    if (!bytes || !table) return;
    r->backend->upload(r->backend, bytes, byte, BYTES);
    hd_pixels in = {.bytes = bytes,
                    .begin = hd_ints(r, begin, PICTURES),
                    .size = hd_ints(r, size, 2 * PICTURES),
                    .host_size = size,
                    .channels = 3,
                    .worth = table->data,
                    .items = PICTURES};
    if (!in.begin || !in.size) return;
    size_t c = s->c;
    hd_rows x = hd_pixel_rows(r, &in, 2);
    hd_tensor *w = step_leaf(s, c, 12 * 9), *bias = step_leaf(s, 1, c);
    x = hd_conv(r, x, w, bias, &(hd_conv_opt){{3, 3}, {1, 1}, {1, 1}, HD_gelu});
    x = hd_pool_grid(r, x, &(hd_pool_opt){{3, 3}, {2, 2}, {1, 1}, HD_GRID_MAX});
    x = hd_conv(r, x, step_leaf(s, c / 4, 6 * c), NULL, &(hd_conv_opt){{2, 3}, {2, 1}, {1, 1}, HD_IDENTITY});
    x = hd_conv(r, x, step_leaf(s, c, c / 4), NULL, &(hd_conv_opt){{1, 1}, {1, 1}, {0, 0}, HD_relu});
    x = hd_pool_grid(r, x, &(hd_pool_opt){{2, 2}, {1, 1}, {1, 1}, HD_GRID_MEAN});
    s->loss[6] = hd_sum_loss(r, hd_mul(r, x.t, x.t), 0.01f);
}

/* Forward; false when an op failed, with its message in the run. */
static bool step_forward(hd_run *r, const step_shape *shape, step *s)
{
    const int32_t key[STEP_ITEMS] = {9, 4, 100, 7, 31, 2};
    *s = (step){.r = r, .shape = shape, .c = shape->cols};
    hd_run_begin(r, HD_TRAIN);
    s->seg = hd_seg_of(r, shape->len, STEP_ITEMS, key);
    for (int i = 0; i < STEP_ITEMS; i++) s->rows += (size_t)shape->len[i];
    step_losses(s, step_mixed(s, step_attended(s, step_embedded(s))));
    step_pictures(s);
    return !r->err.status;
}

/* All losses, then all gradients, in new memory; *count gets how many. */
CHECK_UNUSED static hd_real *step_numbers(hd_run *r, step *s, size_t *count)
{
    size_t n = 0, most = STEP_LOSSES * s->rows;
    for (size_t i = 0; i < s->leaves; i++) most += hd_count_of(s->leaf[i]);
    hd_real *all = calloc(most + 1, sizeof *all);
    for (size_t i = 0; i < STEP_LOSSES; i++)
        if (s->loss[i]) hd_read(r, s->loss[i], all + n), n += hd_count_of(s->loss[i]);
    hd_backward(r);
    for (size_t i = 0; i < s->leaves; n += hd_count_of(s->leaf[i]), i++)
        hd_read(r, hd_grad(r, s->leaf[i], NULL), all + n);
    *count = n;
    return all;
}

#endif
