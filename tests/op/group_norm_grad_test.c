/* Gradients of the norms over rows, in every option; and that the running statistics are renewed as torch
   does it, once a step. */
#include "op/gradient.h"

enum { LIVE = 9, ALL = 12, COLS = 6 };

typedef struct shape {
    bool gain, bias, add, segments, frozen,
        itself; /* segments: three items, one empty, and rows of none behind */
    int groups; /* 0: batch norm */
    hd_unary act;
} shape;

static const hd_seg *segments(hd_run *r)
{
    const int32_t len[] = {4, 0, 5};
    return hd_seg_within(r, len, 3, NULL, (hd_bounds){4, ALL, 8});
}

static hd_tensor *running(hd_run *r, hd_real first)
{
    hd_real v[COLS];
    for (size_t i = 0; i < COLS; i++) v[i] = first + (hd_real)i / 4;
    return hd_from(r, 1, COLS, v);
}

/* add, gain and bias are the leaves behind x, in this order, where there are any. */
static hd_tensor *normed(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    hd_tensor *add = s->itself ? x[0]
                     : s->add  ? x[1]
                               : NULL,
              *gain = s->gain ? x[1 + s->add] : NULL, *bias = s->bias ? x[1 + s->add + s->gain] : NULL;
    const hd_seg *seg = s->segments ? segments(r) : NULL;
    if (s->groups)
        return hd_group_norm(
                   r, (hd_rows){x[0], seg}, gain, bias,
                   &(hd_group_norm_opt){.groups = s->groups, .eps = 1e-3f, .act = s->act, .add = add})
            .t;
    return hd_batch_norm(r, x[0], gain, bias, seg,
                         &(hd_batch_norm_opt){.eps = 1e-3f,
                                              .momentum = 0.1f,
                                              .frozen = s->frozen,
                                              .act = s->act,
                                              .add = add,
                                              .mean = running(r, 0),
                                              .variance = running(r, 1)});
}

/* Two of them with a layer between, as in a residual block. */
static hd_tensor *block(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    const hd_seg *seg = segments(r);
    hd_batch_norm_opt o = {.eps = 1e-3f, .momentum = 0.1f, .act = HD_tanh};
    hd_tensor *h = hd_batch_norm(r, hd_linear(r, x[0], x[1], NULL, HD_IDENTITY), x[2], NULL, seg, &o);
    o.add = x[0];
    return hd_batch_norm(r, hd_linear(r, h, x[1], NULL, HD_IDENTITY), x[2], x[3], seg, &o);
}

#define SHAPE(...)        \
    .opt = &(const shape) \
    {                     \
        __VA_ARGS__       \
    }
#define X    LEAF("x", ALL, COLS)
#define ADD  LEAF("add", ALL, COLS)
#define GAIN LEAF("gain", 1, COLS)
#define BIAS LEAF("bias", 1, COLS)

static const gradient_case cases[] = {
    CASE("batch norm", normed, LEAVES_OF(X), SHAPE(0)),
    CASE("batch norm gain", normed, LEAVES_OF(X, GAIN), SHAPE(.gain = true)),
    CASE("batch norm bias", normed, LEAVES_OF(X, BIAS), SHAPE(.bias = true)),
    CASE("batch norm gain bias segments", normed, LEAVES_OF(X, GAIN, BIAS),
         SHAPE(.gain = true, .bias = true, .segments = true)),
    CASE("batch norm tanh", normed, LEAVES_OF(X, GAIN, BIAS),
         SHAPE(.gain = true, .bias = true, .segments = true, .act = HD_tanh)),
    CASE("batch norm gelu, add", normed, LEAVES_OF(X, ADD, GAIN, BIAS),
         SHAPE(.add = true, .gain = true, .bias = true, .segments = true, .act = HD_gelu)),
    CASE("batch norm add", normed, LEAVES_OF(X, ADD, GAIN), SHAPE(.add = true, .gain = true)),
    CASE("batch norm of itself", normed, LEAVES_OF(X), SHAPE(.itself = true, .act = HD_gelu)),
    CASE("batch norm of many rows", normed,
         LEAVES_OF(LEAF("x", 150, COLS), LEAF("gain", 1, COLS), LEAF("bias", 1, COLS)),
         SHAPE(.gain = true, .bias = true)),
    CASE("frozen batch norm", normed, LEAVES_OF(X, GAIN, BIAS),
         SHAPE(.gain = true, .bias = true, .segments = true, .frozen = true)),
    CASE("frozen batch norm gelu, add", normed, LEAVES_OF(X, ADD, GAIN, BIAS),
         SHAPE(.add = true, .gain = true, .bias = true, .frozen = true, .act = HD_gelu)),
    CASE("frozen batch norm, x fixed", normed, LEAVES_OF(LEAF("x", ALL, COLS, .fixed = true), GAIN, BIAS),
         SHAPE(.gain = true, .bias = true, .frozen = true)),
    CASE("batch norm, gain fixed", normed,
         LEAVES_OF(X, LEAF("gain", 1, COLS, .fixed = true), LEAF("bias", 1, COLS, .fixed = true)),
         SHAPE(.gain = true, .bias = true)),
    CASE("group norm", normed, LEAVES_OF(X), SHAPE(.groups = 2)),
    CASE("group norm gain bias segments", normed, LEAVES_OF(X, GAIN, BIAS),
         SHAPE(.groups = 3, .gain = true, .bias = true, .segments = true)),
    CASE("group norm tanh, add", normed, LEAVES_OF(X, ADD, GAIN, BIAS),
         SHAPE(.groups = 2, .add = true, .gain = true, .bias = true, .segments = true, .act = HD_tanh)),
    CASE("group norm of one group", normed, LEAVES_OF(X, GAIN),
         SHAPE(.groups = 1, .gain = true, .segments = true)),
    CASE("group norm of many rows", normed, LEAVES_OF(LEAF("x", 150, COLS), LEAF("gain", 1, COLS)),
         SHAPE(.groups = COLS, .gain = true)),
    CASE("a block", block, LEAVES_OF(X, LEAF("w", COLS, COLS), GAIN, BIAS)),
};

static void norms_follow_differences(void **state)
{
    (void)state;
    check_gradients(cases, COUNT_OF(cases));
}

/* The rows of no item are as good as not there: the same numbers as without them, and zeros behind. */
static void rows_of_no_item_do_not_count(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    hd_real x[ALL * COLS];
    fill_normal(x, ALL * COLS, 1, 4);
    for (size_t i = LIVE * COLS; i < ALL * COLS; i++) x[i] = NAN;
    for (int groups = 0; groups < 3; groups += 2) {
        hd_real *y[2];
        for (int fill = 0; fill < 2; fill++) {
            const int32_t len[] = {4, 0, 5};
            hd_run_begin(&r, HD_TRAIN);
            poison_step(&r, 1 << 16);
            hd_tensor *t = hd_from(&r, fill ? ALL : LIVE, COLS, x);
            const hd_seg *seg = fill ? segments(&r) : hd_seg_of(&r, len, 3, NULL);
            t = groups ? hd_group_norm(&r, (hd_rows){t, seg}, NULL, NULL,
                                       &(hd_group_norm_opt){.groups = groups, .eps = 1e-5f})
                             .t
                       : hd_batch_norm(&r, t, NULL, NULL, seg,
                                       &(hd_batch_norm_opt){.eps = 1e-5f, .act = HD_gelu});
            y[fill] = host_copy(&r, t);
        }
        assert_memory_equal(y[0], y[1], LIVE * COLS * sizeof **y);
        for (size_t i = LIVE * COLS; i < ALL * COLS; i++) assert_true(y[1][i] == 0);
        free(y[0]), free(y[1]);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

static hd_tensor *again(hd_run *r, const void *context, hd_tensor *const *in)
{
    return hd_batch_norm(r, in[0], NULL, NULL, NULL, context);
}

/* torch.nn.BatchNorm1d(2) after one batch of 1 2; 3 5; 8 -2: mean (4, 5/3), variance of the sample (13, 37/3)
 */
static void running_statistics_are_torchs(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_real mean[2] = {0, 0}, variance[2] = {1, 1};
    hd_tensor running_mean = hd_matrix(mean, 1, 2), running_variance = hd_matrix(variance, 1, 2);
    const hd_real x[] = {1, 2, 3, 5, 8, -2};
    hd_batch_norm_opt o = {
        .eps = 1e-5f, .momentum = 0.1f, .mean = &running_mean, .variance = &running_variance};
    hd_run_begin(&r, HD_TRAIN);
    hd_tensor *t = hd_from(&r, 3, 2, x);
    t->wants_grad = true;
    hd_sum_loss(&r, hd_recompute(&r, again, &o, (hd_tensor *const[]){t}, 1), 1);
    hd_backward(&r);
    assert_run_ok(&r);
    const double expected[] = {.4, 1 / 6., .9 + 1.3, .9 + 3.7 / 3}; /* once, though it was computed twice */
    assert_true(fabs((double)mean[0] - expected[0]) < 1e-7 && fabs((double)mean[1] - expected[1]) < 1e-7);
    assert_true(fabs((double)variance[0] - expected[2]) < 1e-6 &&
                fabs((double)variance[1] - expected[3]) < 1e-6);
    hd_run_begin(&r, HD_INFERENCE); /* x - .4 over the root of 2.2: nothing is renewed */
    hd_real *y = host_copy(&r, hd_batch_norm(&r, hd_from(&r, 3, 2, x), NULL, NULL, NULL, &o));
    assert_true(fabs((double)y[0] - 0.6 / sqrt(2.20001)) < 1e-6);
    assert_true(fabs((double)mean[0] - expected[0]) < 1e-7);
    free(y);
    const hd_real broken[] = {1, NAN, 3,
                              5, 8,   -2}; /* a column that is no number leaves its statistics as they are */
    hd_run_begin(&r, HD_TRAIN);
    hd_batch_norm(&r, hd_from(&r, 3, 2, broken), NULL, NULL, NULL, &o);
    assert_true(fabs((double)mean[0] - .76) < 1e-7 && fabs((double)mean[1] - expected[1]) < 1e-7);
    o.frozen = true;
    hd_batch_norm(&r, hd_from(&r, 3, 2, x), NULL, NULL, NULL, &o);
    assert_true(fabs((double)mean[0] - .76) < 1e-7);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Far from 0 the squares must be taken around the mean. */
static void a_large_mean_does_not_hide_the_deviation(void **state)
{
    (void)state;
    enum { ROWS = 5000 };
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    static hd_real x[ROWS];
    for (size_t i = 0; i < ROWS; i++) x[i] = (hd_real)(1e6 + (double)(i % 2) * 2);
    hd_run_begin(&r, HD_TRAIN);
    hd_real *y = host_copy(
        &r, hd_batch_norm(&r, hd_from(&r, ROWS, 1, x), NULL, NULL, NULL, &(hd_batch_norm_opt){.eps = 0}));
    for (size_t i = 0; i < ROWS; i++) assert_true(fabs((double)y[i] - (i % 2 ? 1 : -1)) < 1e-6);
    free(y);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (int i = 0; i < 4; i++) {
        hd_run_begin(&r, i == 2 ? HD_INFERENCE : HD_TRAIN);
        hd_tensor *x = random_rows(&r, 4, 6, 1, 1), *odd = random_rows(&r, 1, 5, 1, 2);
        if (i == 0)
            assert_null(
                hd_group_norm(&r, (hd_rows){x, NULL}, NULL, NULL, &(hd_group_norm_opt){.groups = 4}).t);
        if (i == 1) assert_null(hd_batch_norm(&r, x, odd, NULL, NULL, &(hd_batch_norm_opt){0}));
        if (i == 2) assert_null(hd_batch_norm(&r, x, NULL, NULL, NULL, &(hd_batch_norm_opt){0}));
        if (i == 3) assert_null(hd_batch_norm(&r, x, NULL, NULL, NULL, &(hd_batch_norm_opt){.add = odd}));
        assert_int_not_equal(r.err.status, HD_OK);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_follow_differences),
        cmocka_unit_test(rows_of_no_item_do_not_count),
        cmocka_unit_test(running_statistics_are_torchs),
        cmocka_unit_test(a_large_mean_does_not_hide_the_deviation),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
