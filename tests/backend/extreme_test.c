/* Softmax, norm and losses at the ends of what a float can hold: finite, or infinite where mathematics says
 * so, and never NaN out of numbers. */
#include "check.h"

#define BIG 1e30f
enum { N = 9 }; /* two vectors and a rest, on most machines */

static hd_backend *setup(void)
{
    return backend_of("cpu", 1);
}

static void softmax(hd_backend *b, hd_real *y, const hd_real *x, bool log)
{
    hd_tensor in = hd_matrix((void *)x, 1, N), out = hd_matrix(y, 1, N);
    assert_int_equal(b->kernel.softmax(b, &(hd_softmax_args){.y = &out, .x = &in, .log = log}), HD_OK);
}

/* The same numbers down a segment must give the same. */
static void segment_softmax(hd_backend *b, hd_real *y, const hd_real *x, bool log)
{
    const int32_t begin = 0, len = N;
    hd_tensor in = hd_matrix((void *)x, N, 1), out = hd_matrix(y, N, 1);
    const hd_seg seg = {.begin = &begin, .len = &len, .items = 1, .rows = N, .longest = N};
    assert_int_equal(b->kernel.segment_softmax(
                         b, &(hd_segment_softmax_args){.y = &out, .x = &in, .seg = &seg, .log = log}),
                     HD_OK);
}

/* Gradients of finite dy are finite. */
static void softmax_gradient_is_finite(hd_backend *b, const hd_real *y, bool log)
{
    hd_real dy[N], d[N];
    fill_normal(dy, N, 1, 4);
    hd_tensor ty = hd_matrix((void *)y, 1, N), tdy = hd_matrix(dy, 1, N), tdx = hd_matrix(d, 1, N);
    assert_int_equal(
        b->kernel.softmax_back(b, &(hd_softmax_back_args){.dx = &tdx, .dy = &tdy, .y = &ty, .log = log}),
        HD_OK);
    for (int i = 0; i < N; i++) assert_true(isfinite(d[i]));
}

typedef struct softmax_case {
    const char *name;
    float x[N], y[N];
} softmax_case;

#define NINTH (1 / 9.0f)
static const softmax_case softmaxes[] = {
    {"all large",
     {BIG, BIG, BIG, BIG, BIG, BIG, BIG, BIG, BIG},
     {NINTH, NINTH, NINTH, NINTH, NINTH, NINTH, NINTH, NINTH, NINTH}},
    {"all very negative",
     {-BIG, -BIG, -BIG, -BIG, -BIG, -BIG, -BIG, -BIG, -BIG},
     {NINTH, NINTH, NINTH, NINTH, NINTH, NINTH, NINTH, NINTH, NINTH}},
    {"one large", {0, 0, BIG, 0, -BIG, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 0, 0, 0, 0}},
    {"last large", {0, 0, 0, 0, 0, 0, 0, 0, 3e38f}, {0, 0, 0, 0, 0, 0, 0, 0, 1}},
    {"some out of reach",
     {-INFINITY, 2, -INFINITY, -INFINITY, 2, -INFINITY, -INFINITY, -INFINITY, -INFINITY},
     {0, 0.5f, 0, 0, 0.5f, 0, 0, 0, 0}},
    {"all out of reach",
     {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY},
     {0, 0, 0, 0, 0, 0, 0, 0, 0}},
};

static void softmax_of_extremes_is_a_distribution_or_zeros(void **state)
{
    (void)state;
    hd_backend *b = setup();
    for (size_t i = 0; i < COUNT_OF(softmaxes); i++) {
        const softmax_case *c = &softmaxes[i];
        hd_real y[4][N];
        softmax(b, y[0], c->x, false), softmax(b, y[1], c->x, true);
        segment_softmax(b, y[2], c->x, false), segment_softmax(b, y[3], c->x, true);
        for (int j = 0; j < N; j++) {
            double log_y = log((double)c->y[j]);
            bool near = fabs((double)(y[0][j] - c->y[j])) < 1e-6 &&
                        fabs((double)(y[2][j] - c->y[j])) < 1e-6; /* a few roundings */
            bool logs = c->y[j] > 0
                            ? fabs((double)y[1][j] - log_y) < 1e-6 && fabs((double)y[3][j] - log_y) < 1e-6
                            : y[1][j] < -1e29f && y[3][j] < -1e29f;
            if (!near || !logs)
                fail_msg("%s, column %d: %g %g, logarithm %g %g", c->name, j, (double)y[0][j],
                         (double)y[2][j], (double)y[1][j], (double)y[3][j]);
        }
        softmax_gradient_is_finite(b, y[0], false);
        softmax_gradient_is_finite(b, y[1], true);
    }
    hd_backend_free(b);
}

/* loss and gradient of one row; both ways the kernel computes the gradient must agree */
static double cross_entropy(hd_backend *b, const hd_real *x, int32_t target, float smoothing, hd_real *dx)
{
    hd_real loss[1], added[N] = {0};
    hd_tensor in = hd_matrix((void *)x, 1, N), tl = hd_matrix(loss, 1, 1), td = hd_matrix(dx, 1, N),
              ta = hd_matrix(added, 1, N);
    hd_cross_entropy_args a = {
        .loss = &tl, .dx = &td, .x = &in, .target = &target, .smoothing = smoothing, .coef = 1};
    assert_int_equal(b->kernel.cross_entropy(b, &a), HD_OK);
    a.dx = &ta, a.add = true;
    assert_int_equal(b->kernel.cross_entropy(b, &a), HD_OK);
    for (int i = 0; i < N; i++)
        assert_true(fabs((double)(added[i] - dx[i])) < 1e-6); /* probabilities, a few roundings apart */
    return (double)loss[0];
}

static void cross_entropy_of_extremes(void **state)
{
    (void)state;
    hd_backend *b = setup();
    hd_real dx[N];
    const hd_real large[N] = {0, 0, BIG, 0, -BIG, 0, 0, 0, 0},
                  masked[N] = {-INFINITY, 1,         -INFINITY, 1,        -INFINITY,
                               -INFINITY, -INFINITY, -INFINITY, -INFINITY};
    assert_true(cross_entropy(b, large, 2, 0, dx) == 0);
    for (int i = 0; i < N; i++) assert_true(dx[i] == 0);
    assert_true(fabs(cross_entropy(b, large, 0, 0, dx) / 1e30 - 1) < 1e-6);
    assert_true(dx[2] == 1 && dx[0] == -1);
    assert_true(fabs(cross_entropy(b, large, 4, 0.1f, dx) / 1.9e30 - 1) < 1e-6); /* 1 - 0.9 * -1 - 0.1 * 0 */
    for (int i = 0; i < N; i++) assert_true(isfinite(dx[i]));
    assert_true(fabs(cross_entropy(b, masked, 3, 0, dx) - log(2)) < 1e-6);
    for (int i = 0; i < N; i++) assert_true(fabs((double)dx[i] - (i == 1 ? 0.5 : i == 3 ? -0.5 : 0)) < 1e-6);
    assert_true(isinf(cross_entropy(b, masked, 0, 0, dx))); /* what cannot be has happened */
    for (int i = 0; i < N; i++) assert_true(isfinite(dx[i]));
    hd_backend_free(b);
}

static void an_ignored_row_weighs_nothing_whatever_it_holds(void **state)
{
    (void)state;
    hd_backend *b = setup();
    const float fills[] = {NAN, INFINITY, -INFINITY, BIG};
    for (size_t f = 0; f < COUNT_OF(fills); f++)
        for (int smooth = 0; smooth < 2; smooth++) {
            hd_real x[N], dx[N];
            for (int i = 0; i < N; i++) x[i] = fills[f];
            assert_true(cross_entropy(b, x, -1, smooth ? 0.1f : 0, dx) == 0);
            for (int i = 0; i < N; i++) assert_true(dx[i] == 0);
        }
    hd_backend_free(b);
}

static void binary_cross_entropy_of_extremes_is_finite(void **state)
{
    (void)state;
    hd_backend *b = setup();
    hd_real x[4] = {BIG, -BIG, BIG, -BIG}, t[4] = {1, 0, 0, 1}, loss[4], dx[4] = {0};
    hd_tensor tx = hd_matrix(x, 4, 1), tt = hd_matrix(t, 4, 1), tl = hd_matrix(loss, 4, 1),
              td = hd_matrix(dx, 4, 1);
    assert_int_equal(b->kernel.distance(
                         b,
                         &(hd_distance_args){
                             .loss = &tl, .dx = &td, .x = &tx, .target = &tt, .kind = HD_BINARY, .coef = 1}),
                     HD_OK);
    const hd_real losses[4] = {0, 0, BIG, BIG}, slopes[4] = {0, 0, 1, -1};
    for (int i = 0; i < 4; i++) assert_true(loss[i] == losses[i] && dx[i] == slopes[i]);
    hd_backend_free(b);
}

static void norm(hd_backend *b, const hd_real *x, hd_real *y, hd_real *dx, bool rms, size_t n)
{
    hd_real stat[2], *dy = malloc(n * sizeof *dy);
    fill_normal(dy, n, 1, 9);
    hd_tensor tx = hd_matrix((void *)x, 1, n), ty = hd_matrix(y, 1, n), ts = hd_matrix(stat, 1, 2),
              tdy = hd_matrix(dy, 1, n), tdx = hd_matrix(dx, 1, n);
    assert_int_equal(
        b->kernel.norm(b, &(hd_norm_args){.y = &ty, .stat = &ts, .x = &tx, .eps = 1e-5f, .rms = rms}), HD_OK);
    assert_int_equal(
        b->kernel.norm_back(
            b, &(hd_norm_back_args){.dx = &tdx, .dy = &tdy, .sum = &tx, .stat = &ts, .rms = rms}),
        HD_OK);
    free(dy);
}

static void norm_of_extremes_is_finite(void **state)
{
    (void)state;
    hd_backend *b = setup();
    const float scales[] = {0, 1e-38f, 1e-30f, 1e-10f, 1e10f, 1e18f, 1e30f, 1e37f};
    for (size_t s = 0; s < COUNT_OF(scales); s++)
        for (int rms = 0; rms < 2; rms++) {
            hd_real x[N], y[N], dx[N];
            fill_normal(x, N, 1, 3);
            for (int i = 0; i < N; i++) x[i] *= scales[s];
            norm(b, x, y, dx, rms, N);
            for (int i = 0; i < N; i++)
                assert_true(isfinite(y[i]) && isfinite(dx[i]) && fabs((double)y[i]) <= 3.01);
        }
    hd_backend_free(b);
}

/* Variance in two passes: a mean a thousand times the deviation costs three digits of x itself, no more. */
static void norm_keeps_its_digits_beside_a_large_mean(void **state)
{
    (void)state;
    enum { WIDE = 512 };
    hd_backend *b = setup();
    hd_real x[WIDE], y[WIDE], dx[WIDE];
    fill_normal(x, WIDE, 1, 5);
    double mean = 0, square = 0;
    for (int i = 0; i < WIDE; i++) x[i] += 1000, mean += (double)x[i] / WIDE;
    for (int i = 0; i < WIDE; i++) square += ((double)x[i] - mean) * ((double)x[i] - mean) / WIDE;
    norm(b, x, y, dx, false, WIDE);
    for (int i = 0; i < WIDE; i++) {
        double exact = ((double)x[i] - mean) / sqrt(square + 1e-5);
        assert_true(fabs((double)y[i] - exact) < 2e-4); /* the mean itself has an ulp of 6e-5 */
    }
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_of_extremes_is_a_distribution_or_zeros),
        cmocka_unit_test(cross_entropy_of_extremes),
        cmocka_unit_test(an_ignored_row_weighs_nothing_whatever_it_holds),
        cmocka_unit_test(binary_cross_entropy_of_extremes_is_finite),
        cmocka_unit_test(norm_of_extremes_is_finite),
        cmocka_unit_test(norm_keeps_its_digits_beside_a_large_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
