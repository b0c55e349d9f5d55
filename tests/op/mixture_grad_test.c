/* The loss of mixtures of Gaussians and the window over characters: numbers worked out by hand, and
   gradients. */
#include "op/gradient.h"

enum { K = 3, ROWS = 7, ITEMS = 3, COLS = 4 };

static void density_of_a_point_is_that_of_the_formula(void **state)
{
    (void)state;
    /* two components with weights .3 and .7, means (0,0) and (1,-1), deviations (1,1) and (.5,2),
       correlations 0 and .5; the point (.5,-.2) has -ln of 2.444478. The pen is lifted with e = 1/(1+exp(0)).
     */
    const hd_real x[] = {
        0, (hd_real)log(.3),  (hd_real)log(.7), 0, 1, 0, -1, 0, (hd_real)log(.5), 0, (hd_real)log(2.),
        0, (hd_real)atanh(.5)};
    const hd_real target[] = {(hd_real).5, (hd_real)-.2, 1};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_INFERENCE);
    hd_tensor *loss =
        hd_mixture_loss(&r, hd_from(&r, 1, 13, x), hd_from(&r, 1, 3, target), &(hd_loss_opt){.coef = 1});
    assert_run_ok(&r);
    double got = hd_loss_total(&r, loss) - log(2.);
    if (fabs(got - 2.444478) > 1e-6) fail_msg("%.9g, not 2.444478", got); /* the digits that are printed */
    hd_run_release(&r);
    hd_backend_free(b);
}

/* The sign of the output is the other way round: a large one is a pen that stays down. */
static void lifting_is_one_over_one_plus_exp(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (int lifted = 0; lifted < 2; lifted++) {
        const hd_real x[7] = {3}, target[] = {0, 0, (hd_real)lifted};
        hd_run_begin(&r, HD_INFERENCE);
        hd_tensor *loss =
            hd_mixture_loss(&r, hd_from(&r, 1, 7, x), hd_from(&r, 1, 3, target), &(hd_loss_opt){.coef = 1});
        double e = 1 / (1 + exp(3.)), want = log(2 * 3.14159265358979323846) - log(lifted ? e : 1 - e);
        if (fabs(hd_loss_total(&r, loss) - want) > 1e-6) fail_msg("lifted %d: not %g", lifted, want);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

static void rows_without_a_point_count_nothing(void **state)
{
    (void)state;
    const hd_real x[14] = {[7] = (hd_real)NAN}, target[] = {1, 1, 0, (hd_real)NAN, 0, -1};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_INFERENCE);
    hd_tensor *loss =
        hd_mixture_loss(&r, hd_from(&r, 2, 7, x), hd_from(&r, 2, 3, target), &(hd_loss_opt){.coef = 1});
    hd_real *have = host_copy(&r, loss);
    assert_true(have[0] > 0 && have[1] == 0);
    free(have);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* One Gaussian, two characters: alpha 2, beta 1/2, kappa 1 then 1.5. */
static void window_is_that_of_the_formula(void **state)
{
    (void)state;
    const hd_real p[] = {(hd_real)log(2.), (hd_real)log(.5), 0,
                         (hd_real)log(2.), (hd_real)log(.5), (hd_real)log(.5)},
                  text[] = {1, 0, 0, 1};
    const int32_t two[] = {2};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_INFERENCE);
    hd_tensor *last = NULL, *kappa = NULL;
    const hd_seg *seg = hd_seg_of(&r, two, 1, NULL);
    hd_rows y = hd_window_of(&r, (hd_rows){hd_from(&r, 2, 3, p), seg},
                             (hd_rows){hd_from(&r, 2, 2, text), seg}, NULL, &kappa, &last);
    assert_run_ok(&r);
    const double want[] = {2, 2 * exp(-.5), 2 * exp(-.125), 2 * exp(-.125)};
    hd_real *have = host_copy(&r, y.t), *at = host_copy(&r, kappa), *end = host_copy(&r, last);
    for (int i = 0; i < 4; i++)
        if (fabs((double)have[i] - want[i]) > 1e-6) fail_msg("%d: %g, not %g", i, (double)have[i], want[i]);
    assert_true(fabs((double)at[0] - 1) < 1e-6 && fabs((double)end[0] - 1.5) < 1e-6);
    free(have), free(at), free(end);
    hd_run_release(&r);
    hd_backend_free(b);
}

typedef struct shape {
    bool ignored, weight, start, last, steps;
} shape;

static hd_tensor *mixture(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    hd_real target[3 * ROWS];
    for (int i = 0; i < ROWS; i++) {
        target[3 * i] = (hd_real)(0.3 * i - 1), target[3 * i + 1] = (hd_real)(0.5 - 0.2 * i);
        target[3 * i + 2] = (hd_real)(s->ignored && i % 3 == 1 ? -1 : i % 2);
    }
    return hd_mixture_loss(
        r, x[0], hd_from(r, ROWS, 3, target),
        &(hd_loss_opt){.coef = (float)c->coef, .weight = s->weight ? x[leaf_count(c) - 1] : NULL});
}

static const int32_t points[ITEMS] = {3, 0, 4}, letters[ITEMS] = {2, 1, 5};

/* Leaves: p, the text, then the start. */
static hd_tensor *window(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    hd_tensor *last = NULL;
    hd_rows p = {x[0], hd_seg_of(r, points, ITEMS, NULL)}, text = {x[1], hd_seg_of(r, letters, ITEMS, NULL)};
    hd_rows y = hd_window_of(r, p, text, s->start ? x[2] : NULL, NULL, s->last ? &last : NULL);
    if (!s->last) return y.t;
    hd_tensor *flat = hd_reduce(r, hd_mul(r, y.t, y.t), p.seg, HD_SUM);
    return flat ? hd_concat_cols(r, (hd_tensor *const[]){flat, last}, 2) : NULL;
}

/* The same step by step, kappa going from one to the next. */
static hd_tensor *by_steps(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const int32_t one[] = {1, 1, 1};
    hd_tensor *kappa = NULL, *sum = NULL;
    hd_rows text = {x[1], hd_seg_of(r, letters, ITEMS, NULL)};
    (void)c;
    for (size_t t = 0; t < 3; t++) {
        hd_rows p = {hd_slice_rows(r, x[0], t * ITEMS, ITEMS), hd_seg_of(r, one, ITEMS, NULL)};
        hd_rows y = hd_window_of(r, p, text, kappa, NULL, &kappa);
        sum = t ? hd_add(r, hd_scale(r, sum, 2), y.t) : y.t;
    }
    return sum;
}

#define SHAPE(...)        \
    .opt = &(const shape) \
    {                     \
        __VA_ARGS__       \
    }
#define P    LEAF("p", ROWS, 3 * K, .fill = SMALL)
#define TEXT LEAF("text", 8, COLS)

static const gradient_case cases[] = {
    CASE("one component", mixture, LEAVES_OF(LEAF("x", ROWS, 7)), .coef = 1, SHAPE(.weight = false)),
    CASE("three components, some rows left out", mixture, LEAVES_OF(LEAF("x", ROWS, 1 + 6 * K)), .coef = 0.7,
         SHAPE(.ignored = true)),
    CASE("weights", mixture,
         LEAVES_OF(LEAF("x", ROWS, 1 + 6 * K), LEAF("weight", ROWS, 1, .fill = POSITIVE, .fixed = true)),
         .coef = 1, SHAPE(.weight = true)),
    CASE("window", window, LEAVES_OF(P, TEXT), SHAPE(.last = false)),
    CASE("window, start and last", window, LEAVES_OF(P, TEXT, LEAF("start", ITEMS, K, .fill = POSITIVE)),
         SHAPE(.start = true, .last = true)),
    CASE("window over a fixed text", window, LEAVES_OF(P, LEAF("text", 8, COLS, .fixed = true)),
         SHAPE(.last = true)),
    CASE("window by steps", by_steps, LEAVES_OF(LEAF("p", 9, 3 * K, .fill = SMALL), TEXT),
         SHAPE(.steps = true)),
};

static void gradients_agree_with_differences(void **state)
{
    (void)state;
    check_gradients(cases, COUNT_OF(cases));
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    const int32_t one[] = {1, 1}, three[] = {1, 1, 1};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_INFERENCE);
    hd_tensor *x = random_rows(&r, 2, 12, 1, 1);
    assert_null(hd_mixture_loss(&r, x, random_rows(&r, 2, 3, 1, 1), &(hd_loss_opt){.coef = 1}));
    assert_non_null(strstr(r.err.text, "12 columns"));
    hd_run_begin(&r, HD_INFERENCE);
    hd_rows p = {random_rows(&r, 2, 6, 1, 1), hd_seg_of(&r, one, 2, NULL)},
            text = {random_rows(&r, 3, 2, 1, 1), hd_seg_of(&r, three, 3, NULL)};
    assert_null(hd_window_of(&r, p, text, NULL, NULL, NULL).t);
    assert_non_null(strstr(r.err.text, "2 items over 3 texts"));
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(density_of_a_point_is_that_of_the_formula),
        cmocka_unit_test(lifting_is_one_over_one_plus_exp),
        cmocka_unit_test(rows_without_a_point_count_nothing),
        cmocka_unit_test(window_is_that_of_the_formula),
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
