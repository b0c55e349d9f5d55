/* What ops do with shapes that do not fit: NULL, a status, and a message that names the op and the numbers.
   NULL is passed on without a word, and the first error stays. */
#include "check.h"

/* Tensors and segments by shape, for short cases. */
static hd_tensor *of(hd_run *r, size_t rows, size_t cols)
{
    return random_rows(r, rows, cols, 1, rows * 100 + cols);
}
static const hd_seg *seg(hd_run *r, int32_t a, int32_t b)
{
    return hd_seg_of(r, (const int32_t[]){a, b}, 2, NULL);
}
static const int32_t *ints(hd_run *r)
{
    return hd_ints(r, (const int32_t[]){0, 1, 0, 1, 0, 1, 0, 1}, 8);
}

/* Grids of 5 x 4 and 2 x 3. */
static hd_rows cells(hd_run *r)
{
    return (hd_rows){of(r, 26, 3), hd_grid_of(r, (const int32_t[]){5, 4, 2, 3}, 2, NULL)};
}
static const hd_pixels *pixels(hd_run *r)
{
    static const int32_t size[] = {4, 4};
    static hd_pixels p;
    p = (hd_pixels){.size = hd_ints(r, size, 2), .host_size = size, .channels = 1, .items = 1};
    return &p;
}
/* kernel and stride, height, then width */
#define CONV(kh, kw, sh, sw, ...) (&(hd_conv_opt){.kernel = {kh, kw}, .stride = {sh, sw}, __VA_ARGS__})

static hd_tensor *attend(hd_run *r, size_t q_cols, size_t k_cols, size_t v_rows, hd_attend_opt o)
{
    hd_rows q = {of(r, 5, q_cols), seg(r, 2, 3)}, k = {of(r, 4, k_cols), seg(r, 3, 1)},
            v = {of(r, v_rows, k_cols), k.seg};
    return hd_attend(r, q, k, v, &o).t;
}

static hd_tensor *attend_segments(hd_run *r, const hd_seg *qs, const hd_seg *ks)
{
    hd_rows q = {of(r, 5, 4), qs}, k = {of(r, 4, 4), ks};
    return hd_attend(r, q, k, k, &(hd_attend_opt){.heads = 2}).t;
}

static hd_tensor *nothing(hd_run *r, const void *context, hd_tensor *const *in)
{
    return (void)r, (void)context, in[0];
}

#define LOSS(...)   (&(hd_loss_opt){.coef = 1, __VA_ARGS__})
#define NORM(...)   (&(hd_norm_opt){.eps = 1e-5f, __VA_ARGS__})
#define SAMPLE(...) (&(hd_sample_opt){__VA_ARGS__})
#define PARTS(...)       \
    (hd_tensor *const[]) \
    {                    \
        __VA_ARGS__      \
    }

/* name, status, words of the message, the call */
#define BAD_LIST(X)                                                                                          \
    X(linear_columns, HD_ESHAPE, "linear:|3|4", hd_linear(r, of(r, 2, 3), of(r, 5, 4), NULL, HD_IDENTITY))   \
    X(linear_bias, HD_ESHAPE, "linear:|5|6",                                                                 \
      hd_linear(r, of(r, 2, 3), of(r, 5, 3), of(r, 1, 6), HD_IDENTITY))                                      \
    X(linear_function, HD_EARG, "linear:|99", hd_linear(r, of(r, 2, 3), of(r, 5, 3), NULL, (hd_unary)99))    \
    X(matmul_columns, HD_ESHAPE, "matmul:|3|5", hd_matmul(r, of(r, 2, 3), of(r, 5, 4)))                      \
    X(add_shapes, HD_ESHAPE, "add:|[2,3]|[2,4]", hd_add(r, of(r, 2, 3), of(r, 2, 4)))                        \
    X(add_column, HD_ESHAPE, "add:|[2,3]|[2,1]", hd_add(r, of(r, 2, 3), of(r, 2, 1)))                        \
    X(sub_shapes, HD_ESHAPE, "sub:|[2,3]|[3,3]", hd_sub(r, of(r, 2, 3), of(r, 3, 3)))                        \
    X(mul_shapes, HD_ESHAPE, "mul:|[2,3]|[3,1]", hd_mul(r, of(r, 2, 3), of(r, 3, 1)))                        \
    X(apply_function, HD_EARG, "apply:|77", hd_apply(r, of(r, 2, 3), (hd_unary)77))                          \
    X(dropout_rate, HD_EARG, "dropout:|1.5", hd_dropout(r, of(r, 2, 3), 1.5f, NULL))                         \
    X(dropout_all, HD_EARG, "dropout:|1", hd_dropout(r, of(r, 2, 3), 1, NULL))                               \
    X(dropout_nan, HD_EARG, "dropout:", hd_dropout(r, of(r, 2, 3), NAN, NULL))                               \
    X(dropout_segments, HD_ESHAPE, "dropout:|4|6", hd_dropout(r, of(r, 6, 3), 0.5f, seg(r, 1, 3)))           \
    X(gumbel_segments, HD_ESHAPE, "gumbel:|4|6", hd_gumbel(r, of(r, 6, 3), seg(r, 1, 3)))                    \
    X(gather_add_columns, HD_ESHAPE, "gather_add:|3|4", hd_gather_add(r, of(r, 2, 3), of(r, 2, 4), ints(r))) \
    X(concat_none, HD_EARG, "concat:|0", hd_concat_rows(r, PARTS(of(r, 2, 3)), 0))                           \
    X(concat_rows_columns, HD_ESHAPE, "concat:|2 x 4|2 x 3",                                                 \
      hd_concat_rows(r, PARTS(of(r, 2, 3), of(r, 2, 4)), 2))                                                 \
    X(concat_cols_rows, HD_ESHAPE, "concat:|5 x 3|2 x 3",                                                    \
      hd_concat_cols(r, PARTS(of(r, 2, 3), of(r, 5, 3)), 2))                                                 \
    X(broadcast_items, HD_ESHAPE, "broadcast:|3|2", hd_broadcast(r, of(r, 3, 3), seg(r, 1, 3)))              \
    X(fold_by_none, HD_EARG, "fold:|0", hd_fold(r, (hd_rows){of(r, 4, 3), seg(r, 1, 3)}, 0).t)               \
    X(fold_segments, HD_ESHAPE, "fold:|9|4", hd_fold(r, (hd_rows){of(r, 4, 3), seg(r, 6, 3)}, 2).t)          \
    X(conv_no_grid, HD_EARG, "conv:|grid",                                                                   \
      hd_conv(r, (hd_rows){of(r, 4, 3), seg(r, 1, 3)}, of(r, 2, 27), NULL,                                   \
              CONV(3, 3, 1, 1, .act = HD_IDENTITY))                                                          \
          .t)                                                                                                \
    X(conv_columns, HD_ESHAPE, "conv:|3 columns|2 x 2|28",                                                   \
      hd_conv(r, cells(r), of(r, 2, 28), NULL, CONV(2, 2, 1, 1, .act = HD_IDENTITY)).t)                      \
    X(conv_bias, HD_ESHAPE, "conv:|bias|5|2",                                                                \
      hd_conv(r, cells(r), of(r, 2, 12), of(r, 1, 5), CONV(2, 2, 1, 1, .act = HD_IDENTITY)).t)               \
    X(conv_fits_not, HD_ESHAPE, "conv:|5 x 1|item 1|2 x 3",                                                  \
      hd_conv(r, cells(r), of(r, 2, 15), NULL, CONV(5, 1, 1, 1, .act = HD_IDENTITY)).t)                      \
    X(conv_stride, HD_EARG, "conv:|0 and 1",                                                                 \
      hd_conv(r, cells(r), of(r, 2, 27), NULL, CONV(3, 3, 0, 1, .act = HD_IDENTITY)).t)                      \
    X(conv_function, HD_EARG, "conv:|99",                                                                    \
      hd_conv(r, cells(r), of(r, 2, 12), NULL, CONV(2, 2, 1, 1, .act = (hd_unary)99)).t)                     \
    X(pool_padding, HD_EARG, "pool_grid:|2|3",                                                               \
      hd_pool_grid(r, cells(r), &(hd_pool_opt){{3, 3}, {1, 1}, {2, 1}, HD_GRID_MAX}).t)                      \
    X(pixels_beyond, HD_ESHAPE, "pixel_rows:|9 x 9|item 0|4 x 4", hd_pixel_rows(r, pixels(r), 9).t)          \
    X(grid_negative, HD_EARG, "grid 1|-2",                                                                   \
      (hd_tensor *)(void *)hd_grid_of(r, (const int32_t[]){2, 2, -2, 3}, 2, NULL))                           \
    X(slice_cols_beyond, HD_ESHAPE, "slice_cols:|2|5|4", hd_slice_cols(r, of(r, 3, 4), 2, 3))                \
    X(slice_rows_beyond, HD_ESHAPE, "slice_rows:|4|3", hd_slice_rows(r, of(r, 3, 4), 4, 0))                  \
    X(norm_gain, HD_ESHAPE, "norm:|gain|4|3", hd_norm(r, of(r, 2, 3), of(r, 1, 4), NULL, NORM(0)))           \
    X(norm_bias, HD_ESHAPE, "norm:|bias|4|3", hd_norm(r, of(r, 2, 3), NULL, of(r, 1, 4), NORM(0)))           \
    X(norm_dropout, HD_EARG, "norm:|2",                                                                      \
      hd_norm_residual(r, of(r, 2, 3), of(r, 2, 3), NULL, NULL, NORM(.dropout = 2), NULL))                   \
    X(norm_segments, HD_ESHAPE, "norm:|4|2",                                                                 \
      hd_norm_residual(r, of(r, 2, 3), of(r, 2, 3), NULL, NULL, NORM(.seg = seg(r, 1, 3)), NULL))            \
    X(norm_branch, HD_ESHAPE, "norm_residual:|2 x 3|2 x 4",                                                  \
      hd_norm_residual(r, of(r, 2, 3), of(r, 2, 4), NULL, NULL, NORM(0), NULL))                              \
    X(segment_softmax_rows, HD_ESHAPE, "segment_softmax:|9|4",                                               \
      hd_segment_softmax(r, of(r, 4, 3), seg(r, 6, 3)))                                                      \
    X(segment_log_softmax_rows, HD_ESHAPE, "segment_softmax:|9|4",                                           \
      hd_segment_log_softmax(r, of(r, 4, 3), seg(r, 6, 3)))                                                  \
    X(reduce_rows, HD_ESHAPE, "reduce:|9|4", hd_reduce(r, of(r, 4, 3), seg(r, 6, 3), HD_SUM))                \
    X(top_none, HD_EARG, "top:|0|3", hd_top(r, of(r, 4, 3), 0, NULL))                                        \
    X(top_beyond, HD_EARG, "top:|4|3", hd_top(r, of(r, 4, 3), 4, NULL))                                      \
    X(sample_temperature, HD_EARG, "sample:|temperature 0",                                                  \
      hd_sample(r, of(r, 4, 3), SAMPLE(.top_p = 1), NULL))                                                   \
    X(sample_p, HD_EARG, "sample:|top_p -1",                                                                 \
      hd_sample(r, of(r, 4, 3), SAMPLE(.temperature = 1, .top_p = -1), NULL))                                \
    X(sample_k, HD_EARG, "sample:|top_k -2",                                                                 \
      hd_sample(r, of(r, 4, 3), SAMPLE(.temperature = 1, .top_p = 1, .top_k = -2), NULL))                    \
    X(sample_segments, HD_ESHAPE, "sample:|9|4",                                                             \
      hd_sample(r, of(r, 4, 3), SAMPLE(.temperature = 1, .top_p = 1, .seg = seg(r, 6, 3)), NULL))            \
    X(entropy_smoothing, HD_EARG, "cross_entropy:|1",                                                        \
      hd_cross_entropy(r, of(r, 4, 3), ints(r), LOSS(.smoothing = 1)))                                       \
    X(entropy_weights, HD_ESHAPE, "cross_entropy:|5|4",                                                      \
      hd_cross_entropy(r, of(r, 4, 3), ints(r), LOSS(.weight = of(r, 5, 1))))                                \
    X(linear_entropy_columns, HD_ESHAPE, "linear_cross_entropy:|3|2",                                        \
      hd_linear_cross_entropy(r, of(r, 4, 3), of(r, 6, 2), NULL, ints(r), LOSS(0)))                          \
    X(linear_entropy_bias, HD_ESHAPE, "linear_cross_entropy:|5|6",                                           \
      hd_linear_cross_entropy(r, of(r, 4, 3), of(r, 6, 3), of(r, 1, 5), ints(r), LOSS(0)))                   \
    X(linear_entropy_weights, HD_ESHAPE, "linear_cross_entropy:|5|4",                                        \
      hd_linear_cross_entropy(r, of(r, 4, 3), of(r, 6, 3), NULL, ints(r), LOSS(.weight = of(r, 5, 1))))      \
    X(linear_entropy_smoothing, HD_EARG, "linear_cross_entropy:|-0.5",                                       \
      hd_linear_cross_entropy(r, of(r, 4, 3), of(r, 6, 3), NULL, ints(r), LOSS(.smoothing = -0.5f)))         \
    X(squared_shapes, HD_ESHAPE, "squared_error:|4 x 3|4 x 2",                                               \
      hd_squared_error(r, of(r, 4, 3), of(r, 4, 2), LOSS(0)))                                                \
    X(squared_weights, HD_ESHAPE, "squared_error:|8|4",                                                      \
      hd_squared_error(r, of(r, 4, 3), of(r, 4, 3), LOSS(.weight = of(r, 4, 2))))                            \
    X(binary_shapes, HD_ESHAPE, "binary_cross_entropy:|4 x 3|5 x 3",                                         \
      hd_binary_cross_entropy(r, of(r, 4, 3), of(r, 5, 3), LOSS(0)))                                         \
    X(attend_no_heads, HD_EARG, "attend:|0", attend(r, 4, 4, 4, (hd_attend_opt){.heads = 0}))                \
    X(attend_groups, HD_EARG, "attend:|4|3", attend(r, 4, 3, 4, (hd_attend_opt){.heads = 4, .kv_heads = 3})) \
    X(attend_columns, HD_ESHAPE, "attend:|4|6", attend(r, 4, 6, 4, (hd_attend_opt){.heads = 2}))             \
    X(attend_heads, HD_ESHAPE, "attend:|5|2", attend(r, 5, 5, 4, (hd_attend_opt){.heads = 2}))               \
    X(attend_values, HD_ESHAPE, "attend:|4|3", attend(r, 4, 4, 3, (hd_attend_opt){.heads = 2}))              \
    X(attend_dropout, HD_EARG, "attend:|dropout 1",                                                          \
      attend(r, 4, 4, 4, (hd_attend_opt){.heads = 2, .dropout = 1}))                                         \
    X(attend_additive, HD_EARG, "attend:|additive",                                                          \
      attend(r, 4, 4, 4, (hd_attend_opt){.heads = 2, .score = HD_ADDITIVE}))                                 \
    X(attend_additive_shape, HD_ESHAPE, "attend:|additive|1 x 3|1 x 4",                                      \
      attend(r, 4, 4, 4, (hd_attend_opt){.heads = 2, .score = HD_ADDITIVE, .additive = of(r, 1, 3)}))        \
    X(attend_sigma, HD_EARG, "attend:|sigma|0",                                                              \
      attend(r, 4, 4, 4, (hd_attend_opt){.heads = 2, .center = of(r, 5, 1)}))                                \
    X(attend_center, HD_ESHAPE, "attend:|center|4 x 1|5 x 1",                                                \
      attend(r, 4, 4, 4, (hd_attend_opt){.heads = 2, .center = of(r, 4, 1), .sigma = 1}))                    \
    X(attend_table, HD_ESHAPE, "attend:|table|8 x 3",                                                        \
      attend(r, 4, 4, 4, (hd_attend_opt){.heads = 2, .table = of(r, 8, 3)}))                                 \
    X(attend_small_table, HD_EARG, "attend:|3 buckets|128",                                                  \
      attend(r, 4, 4, 4, (hd_attend_opt){.heads = 2, .table = of(r, 3, 2), .table_both_ways = true}))        \
    X(attend_short_table, HD_EARG, "attend:|32 buckets|16",                                                  \
      attend(r, 4, 4, 4, (hd_attend_opt){.heads = 2, .table = of(r, 32, 2), .table_reach = 16}))             \
    X(attend_ragged, HD_ESHAPE, "attend:|8|9",                                                               \
      attend(r, 4, 4, 4, (hd_attend_opt){.heads = 2, .ragged = of(r, 8, 2)}))                                \
    X(attend_gate, HD_ESHAPE, "attend:|gate|1 x 3|1 x 2",                                                    \
      attend(r, 4, 4, 4, (hd_attend_opt){.heads = 2, .gate = of(r, 1, 3)}))                                  \
    X(attend_items, HD_ESHAPE, "attend:|2|1",                                                                \
      attend_segments(r, seg(r, 2, 3), hd_seg_of(r, (const int32_t[]){4}, 1, NULL)))                         \
    X(attend_query_rows, HD_ESHAPE, "attend:|9|5", attend_segments(r, seg(r, 6, 3), seg(r, 2, 2)))           \
    X(attend_key_rows, HD_ESHAPE, "attend:|9|4", attend_segments(r, seg(r, 2, 3), seg(r, 6, 3)))             \
    X(attend_no_segments, HD_EARG, "attend:|keys without segments", attend_segments(r, seg(r, 2, 3), NULL))  \
    X(recompute_many, HD_EARG, "recompute:|12", hd_recompute(r, nothing, NULL, PARTS(of(r, 1, 1)), 12))      \
    X(too_large, HD_ELIMIT, "too large", hd_new(r, SIZE_MAX / 2, 3))                                         \
    X(negative_segment, HD_EARG, "segment 1|-3", (hd_tensor *)(uintptr_t)seg(r, 2, -3))

#define X(name, status, words, call)  \
    static hd_tensor *name(hd_run *r) \
    {                                 \
        return call;                  \
    }
BAD_LIST(X)
#undef X

static const struct bad {
    const char *name;
    hd_status status;
    const char *words;
    hd_tensor *(*call)(hd_run *r);
} bads[] = {
#define X(name, status, words, call) {#name, status, words, name},
    BAD_LIST(X)
#undef X
};

static void bad_shapes_give_null_and_a_message_with_the_numbers(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (size_t i = 0; i < COUNT_OF(bads); i++) {
        hd_run_begin(&r, HD_TRAIN);
        if (bads[i].call(&r)) fail_msg("%s: not NULL", bads[i].name);
        if (r.err.status != bads[i].status)
            fail_msg("%s: status %d (%s)", bads[i].name, r.err.status, r.err.text);
        char words[128], *rest = words;
        snprintf(words, sizeof words, "%s", bads[i].words);
        for (char *word; (word = strsep(&rest, "|"));)
            if (!strstr(r.err.text, word)) fail_msg("%s: no '%s' in '%s'", bads[i].name, word, r.err.text);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Every op with NULL where its tensors should be. */
static void null_is_passed_on_without_an_error(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_TRAIN);
    hd_tensor *x = of(&r, 4, 3), *sum = x, *no = NULL;
    const hd_seg *s = seg(&r, 1, 3);
    const int32_t *at = ints(&r);
    const hd_rows none = {0}, some = {x, s};
    assert_null(hd_linear(&r, no, x, NULL, HD_relu));
    assert_null(hd_linear(&r, x, no, NULL, HD_relu));
    assert_null(hd_matmul(&r, no, x));
    assert_null(hd_matmul(&r, x, no));
    assert_null(hd_add(&r, no, x));
    assert_null(hd_add(&r, x, no));
    assert_null(hd_sub(&r, x, no));
    assert_null(hd_mul(&r, no, x));
    assert_null(hd_scale(&r, no, 2));
    assert_null(hd_apply(&r, no, HD_relu));
    assert_null(hd_dropout(&r, no, 0.5f, s));
    assert_null(hd_gumbel(&r, no, s));
    assert_null(hd_gather(&r, no, at, 3, 1));
    assert_null(hd_gather_add(&r, x, no, at));
    assert_null(hd_gather_add(&r, no, x, at));
    assert_null(hd_scatter(&r, no, at, 3));
    assert_null(hd_concat_rows(&r, PARTS(x, no), 2));
    assert_null(hd_concat_cols(&r, PARTS(no, x), 2));
    assert_null(hd_broadcast(&r, no, s));
    assert_null(hd_fold(&r, none, 2).t);
    assert_null(hd_slice_cols(&r, no, 0, 1));
    assert_null(hd_slice_rows(&r, no, 0, 1));
    assert_null(hd_norm(&r, no, NULL, NULL, NORM(0)));
    assert_null(hd_norm_residual(&r, x, no, NULL, NULL, NORM(0), &sum));
    assert_null(sum);
    assert_null(hd_softmax(&r, no));
    assert_null(hd_log_softmax(&r, no));
    assert_null(hd_segment_softmax(&r, no, s));
    assert_null(hd_segment_log_softmax(&r, no, s));
    assert_null(hd_reduce(&r, no, s, HD_MAX));
    assert_null(hd_top(&r, no, 1, &sum));
    assert_null(hd_sample(&r, no, SAMPLE(.temperature = 1, .top_p = 1), &sum));
    assert_null(hd_cross_entropy(&r, no, at, LOSS(0)));
    assert_null(hd_linear_cross_entropy(&r, no, x, NULL, at, LOSS(0)));
    assert_null(hd_squared_error(&r, no, x, LOSS(0)));
    assert_null(hd_binary_cross_entropy(&r, x, no, LOSS(0)));
    assert_null(hd_sum_loss(&r, no, 1));
    assert_true(isnan(hd_loss_total(&r, no)));
    assert_null(hd_attend(&r, none, some, some, &(hd_attend_opt){.heads = 1}).t);
    assert_null(hd_attend(&r, some, none, some, &(hd_attend_opt){.heads = 1}).t);
    assert_null(hd_attend(&r, some, some, none, &(hd_attend_opt){.heads = 1}).t);
    assert_null(hd_recompute(&r, nothing, NULL, &no, 1));
    assert_int_equal(r.err.status, HD_OK);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void the_first_error_stays_and_ends_the_step(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_TRAIN);
    hd_tensor *x = of(&r, 4, 3), *w = of(&r, 3, 3);
    x->wants_grad = w->wants_grad = true;
    hd_tensor *good = hd_linear(&r, x, w, NULL, HD_relu);
    hd_tensor *lost = hd_add(&r, good, hd_matmul(&r, good, of(&r, 5, 5)));
    assert_null(lost);
    assert_non_null(strstr(r.err.text, "matmul"));
    assert_null(hd_add(&r, x, of(&r, 9, 9)));
    assert_null(hd_mul(&r, x, x)); /* nothing wrong with it, but the step is lost */
    assert_null(hd_new(&r, 1, 1));
    assert_non_null(strstr(r.err.text, "matmul"));
    hd_real host[12] = {0};
    assert_false(hd_read(&r, x, host));
    assert_true(isnan(hd_loss_total(&r, hd_sum_loss(&r, good, 1))));
    hd_backward(&r);
    assert_null(w->grad);
    hd_run_begin(&r, HD_TRAIN); /* the next step begins afresh */
    assert_int_equal(r.err.status, HD_OK);
    assert_non_null(hd_mul(&r, of(&r, 4, 3), of(&r, 4, 3)));
    assert_run_ok(&r);
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_shapes_give_null_and_a_message_with_the_numbers),
        cmocka_unit_test(null_is_passed_on_without_an_error),
        cmocka_unit_test(the_first_error_stays_and_ends_the_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
