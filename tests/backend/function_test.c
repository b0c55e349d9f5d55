/* The elementwise functions in float against libm in double, over every 1009th float and, densely, where each
   has its digits; their slopes; and what they make of infinities, NaN and huge numbers. */
#include "check.h"

enum { STRIDE = 1009, CHUNK = 4096 };

static double phi(double x)
{
    return 0.5 * erfc(-x * sqrt(0.5));
}
static double inner(double x)
{
    return 0.79788456080286536 * (x + 0.044715 * x * x * x);
}
static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static double relu(double x)
{
    return x > 0 ? x : 0;
}
static double relu_slope(double x)
{
    return x > 0;
}
static double gelu(double x)
{
    return x * phi(x);
}
static double gelu_slope(double x)
{
    return phi(x) + x * exp(-0.5 * x * x) * 0.39894228040143268;
}
static double gelu_tanh(double x)
{
    return x * logistic(2 * inner(x));
}
static double gelu_tanh_slope(double x)
{
    double h = logistic(2 * inner(x));
    return h + x * 2 * h * (1 - h) * 0.79788456080286536 * (1 + 3 * 0.044715 * x * x);
}
static double silu(double x)
{
    return x * logistic(x);
}
static double silu_slope(double x)
{
    return logistic(x) * (1 + x * (1 - logistic(x)));
}
static double sigmoid_slope(double x)
{
    return logistic(x) * (1 - logistic(x));
}
static double tanh_slope(double x)
{
    return 1 / (cosh(x) * cosh(x));
}
static double log_slope(double x)
{
    return 1 / x;
}

/* An error is measured beside |f(x)|, or where x times a difference near 1 is all there is (by_x), beside
 * |f(x)| + min(|x|, 6). Limits are a little above what was measured, in units of 2^-24 (half an ulp of a
 * number just above 1). */
typedef struct rule {
    hd_unary f;
    double (*value)(double), (*slope)(double);
    double from, to; /* argument */
    double by_x;
    double limit, slope_limit;
} rule;

static const rule rules[] = {
    {HD_relu, relu, relu_slope, -3e38, 3e38, 0, 0, 0},
    {HD_exp, exp, exp, -87.3, 88.3, 0, 2, 2},
    {HD_tanh, tanh, tanh_slope, -3e38, 3e38, 0, 3, 0},
    {HD_sigmoid, logistic, sigmoid_slope, -87, 3e38, 0, 3, 0},
    {HD_log, log, log_slope, 1e-37, 3e38, 0, 2, 2},
    {HD_silu, silu, silu_slope, -87, 1e30, 0, 4, 0},
    {HD_gelu, gelu, gelu_slope, -1e30, 1e30, 1, 4, 0},
    {HD_gelu_tanh, gelu_tanh, gelu_tanh_slope, -1e30, 1e30, 1, 3, 0},
};

static void apply(hd_backend *b, hd_unary f, const hd_real *x, hd_real *y, size_t n)
{
    hd_tensor in = hd_matrix((void *)x, 1, n), out = hd_matrix(y, 1, n);
    assert_int_equal(b->kernel.unary(b, &(hd_unary_args){.y = &out, .x = &in, .f = f}), HD_OK);
}

/* The slope where the function is told what it asked to keep: x or y. */
static void slope(hd_backend *b, hd_unary f, const hd_real *x, const hd_real *y, hd_real *d, size_t n)
{
    hd_real ones[CHUNK];
    for (size_t i = 0; i < n; i++) ones[i] = 1;
    hd_tensor kept = hd_matrix((void *)(hd_unary_keeps_x(f) ? x : y), 1, n), dy = hd_matrix(ones, 1, n),
              dx = hd_matrix(d, 1, n);
    assert_int_equal(
        b->kernel.unary_back(b, &(hd_unary_back_args){.dx = &dx, .dy = &dy, .kept = &kept, .f = f}), HD_OK);
}

typedef struct worst {
    double value, at, slope, slope_at;
} worst;

static void measure(hd_backend *b, const rule *k, const hd_real *x, size_t n, worst *w)
{
    hd_real y[CHUNK], d[CHUNK];
    apply(b, k->f, x, y, n);
    slope(b, k->f, x, y, d, n);
    for (size_t i = 0; i < n; i++) {
        double v = (double)x[i], exact = k->value(v), floor = fmin(fabs(v), 6) * k->by_x + 0x1p-125;
        double e = fabs((double)y[i] - exact) / (fabs(exact) + floor) * 0x1p24;
        if (!(e <= w->value)) w->value = e, w->at = v;
        /* beside 1: slopes are factors of sums of their like, and come out of differences near 1; of exp and
         * log beside themselves */
        double s = k->slope(v), wide = k->slope_limit > 0 ? fabs(s) + 0x1p-125 : 1;
        e = fabs((double)d[i] - s) / wide * 0x1p24;
        if (!(e <= w->slope)) w->slope = e, w->slope_at = v;
    }
}

/* Every STRIDE-th float between from and to, and a million evenly spaced ones within [-20, 20]. */
static worst sweep(hd_backend *b, const rule *k)
{
    hd_real x[CHUNK];
    size_t n = 0;
    worst w = {0};
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STRIDE) {
        uint32_t u = (uint32_t)bits;
        float v;
        memcpy(&v, &u, sizeof v);
        if (!((double)v >= k->from && (double)v <= k->to)) continue;
        x[n++] = v;
        if (n == CHUNK) measure(b, k, x, n, &w), n = 0;
    }
    for (int i = -500000; i <= 500000; i++) {
        double v = 20e0 * i / 500000;
        if (!(v >= k->from && v <= k->to)) continue;
        x[n++] = (hd_real)v;
        if (n == CHUNK) measure(b, k, x, n, &w), n = 0;
    }
    if (n) measure(b, k, x, n, &w);
    return w;
}

static void functions_are_close_to_libm(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    bool good = true;
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        const rule *k = &rules[i];
        worst w = sweep(b, k);
        double slope_limit = k->slope_limit > 0
                                 ? k->slope_limit
                                 : 40; /* x (1 - h) with an h that has 24 bits, x up to 17: 2.4e-6 beside 1 */
        bool ok = w.value <= k->limit && w.slope <= slope_limit;
        printf("%-10s %5.2f at %-12.6g slope %5.2f at %-12.6g (units of 2^-24)%s\n", hd_unary_name(k->f),
               w.value, w.at, w.slope, w.slope_at, ok ? "" : "  TOO MUCH");
        good &= ok;
    }
    assert_true(good);
    hd_backend_free(b);
}

/* A value does not depend on its column: whole vectors and what is left at the end of a row do the same. */
static void bits_do_not_depend_on_the_column(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_real x[67], all[67], some[67], slopes[67], d[67];
    fill_normal(x, 67, 3, 1);
    for (int f = 1; f < HD_UNARIES; f++) {
        for (size_t i = 0; f == HD_log && i < 67; i++) x[i] = (hd_real)fabs((double)x[i]);
        apply(b, (hd_unary)f, x, all, 67);
        slope(b, (hd_unary)f, x, all, slopes, 67);
        for (size_t from = 0; from < 20; from++)
            for (size_t n = 1; n <= 40; n += 3) {
                apply(b, (hd_unary)f, x + from, some, n);
                slope(b, (hd_unary)f, x + from, some, d, n);
                assert_memory_equal(some, all + from, n * sizeof *some);
                assert_memory_equal(d, slopes + from, n * sizeof *d);
            }
    }
    hd_backend_free(b);
}

typedef struct special {
    hd_unary f;
    float x, y;
} special;

static const special specials[] = {
    {HD_relu, INFINITY, INFINITY},
    {HD_relu, -INFINITY, 0},
    {HD_relu, NAN, NAN},
    {HD_relu, -1e30f, 0},
    {HD_relu, 1e30f, 1e30f},
    {HD_exp, 0, 1},
    {HD_exp, -INFINITY, 0},
    {HD_exp, INFINITY, INFINITY},
    {HD_exp, NAN, NAN},
    {HD_exp, 1000, INFINITY},
    {HD_exp, -1000, 0},
    {HD_exp, 3e38f, INFINITY},
    {HD_exp, -3e38f, 0},
    {HD_exp, -88, 0},
    {HD_tanh, 0, 0},
    {HD_tanh, INFINITY, 1},
    {HD_tanh, -INFINITY, -1},
    {HD_tanh, NAN, NAN},
    {HD_tanh, 1e30f, 1},
    {HD_tanh, -1e30f, -1},
    {HD_tanh, 1e-30f, 1e-30f},
    {HD_sigmoid, 0, 0.5f},
    {HD_sigmoid, INFINITY, 1},
    {HD_sigmoid, -INFINITY, 0},
    {HD_sigmoid, NAN, NAN},
    {HD_sigmoid, 1e30f, 1},
    {HD_sigmoid, -1e30f, 0},
    {HD_log, 1, 0},
    {HD_log, 0, -INFINITY},
    {HD_log, INFINITY, INFINITY},
    {HD_log, -1, NAN},
    {HD_log, NAN, NAN},
    {HD_gelu, 0, 0},
    {HD_gelu, INFINITY, INFINITY},
    {HD_gelu, NAN, NAN},
    {HD_gelu, 1e30f, 1e30f},
    {HD_gelu, -1e30f, 0},
    {HD_gelu, -20, 0},
    {HD_gelu_tanh, 0, 0},
    {HD_gelu_tanh, INFINITY, INFINITY},
    {HD_gelu_tanh, NAN, NAN},
    {HD_gelu_tanh, 1e30f, 1e30f},
    {HD_gelu_tanh, -1e30f, 0},
    {HD_silu, 0, 0},
    {HD_silu, INFINITY, INFINITY},
    {HD_silu, NAN, NAN},
    {HD_silu, 1e30f, 1e30f},
    {HD_silu, -1e30f, 0},
};

static void special_values_come_out_as_in_mathematics(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    for (size_t i = 0; i < COUNT_OF(specials); i++)
        for (size_t n = 1; n <= 9; n += 8) { /* the end of a row, and whole vectors */
            const special *s = &specials[i];
            hd_real x[9], y[9];
            for (size_t c = 0; c < n; c++) x[c] = s->x;
            apply(b, s->f, x, y, n);
            for (size_t c = 0; c < n; c++)
                if (isnan(s->y) ? !isnan(y[c]) : !(y[c] == s->y))
                    fail_msg("%s(%g) is %g, expected %g", hd_unary_name(s->f), (double)s->x, (double)y[c],
                             (double)s->y);
        }
    hd_backend_free(b);
}

/* Whatever the argument, a slope is finite: one huge activation must not undo a step. log has none at 0. */
static void slopes_of_huge_numbers_are_finite(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    const hd_real x[] = {-3e38f, -1e30f, -1e20f, -1e10f, -100, -0.0f, 0, 100, 1e10f, 1e20f, 1e30f, 3e38f};
    hd_real y[COUNT_OF(x)], d[COUNT_OF(x)];
    for (int f = 1; f < HD_UNARIES; f++) {
        if (f == HD_log || f == HD_exp) continue;
        apply(b, (hd_unary)f, x, y, COUNT_OF(x));
        slope(b, (hd_unary)f, x, y, d, COUNT_OF(x));
        for (size_t i = 0; i < COUNT_OF(x); i++)
            if (!(fabs((double)d[i]) <= 1.2))
                fail_msg("slope of %s at %g is %g", hd_unary_name((hd_unary)f), (double)x[i], (double)d[i]);
    }
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_close_to_libm),
        cmocka_unit_test(bits_do_not_depend_on_the_column),
        cmocka_unit_test(special_values_come_out_as_in_mathematics),
        cmocka_unit_test(slopes_of_huge_numbers_are_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
