/* Fused ops against the ops they are made of: results and gradients. Sums run in another order, so a few
 * roundings of the magnitudes involved apart. */
#include "check.h"

enum { LEAVES = 5 };

typedef struct leaf {
    size_t rows, cols;
} leaf;

typedef struct pair pair;
typedef void pair_fn(hd_run *r, hd_tensor *const *x, const pair *p, hd_tensor **result);
struct pair {
    const char *name;
    pair_fn *fused, *apart;
    leaf leaf[LEAVES];
    int n;
    float f;
};

/* Results (up to two) and gradients, one after the other. */
static hd_real *numbers_of(hd_run *r, const pair *p, pair_fn *build, size_t *count)
{
    hd_tensor *x[LEAVES] = {0}, *y[2] = {0};
    size_t n = 0, room = 0;
    hd_run_begin(r, HD_TRAIN);
    poison_step(r, 1 << 21);
    for (size_t i = 0; i < LEAVES && p->leaf[i].rows; i++) {
        x[i] = random_rows(r, p->leaf[i].rows, p->leaf[i].cols, 0.5, 20 + i);
        if (p->n == HD_log) /* arguments above zero */
            for (size_t k = 0; k < hd_count_of(x[i]); k++)
                ((hd_real *)x[i]->data)[k] = (hd_real)fabs((double)((hd_real *)x[i]->data)[k]) + 0.1f;
        x[i]->wants_grad = true;
        room += hd_count_of(x[i]);
    }
    build(r, x, p, y);
    assert_run_ok(r);
    for (int i = 0; i < 2 && y[i]; i++) room += hd_count_of(y[i]);
    hd_real *all = malloc((room + 1) * sizeof *all);
    for (int i = 0; i < 2 && y[i]; n += hd_count_of(y[i++])) hd_read(r, y[i], all + n);
    hd_backward(r);
    for (size_t i = 0; i < LEAVES && x[i]; n += hd_count_of(x[i++]))
        hd_read(r, hd_grad(r, x[i], NULL), all + n);
    assert_run_ok(r);
    *count = n;
    return all;
}

static void check_pairs(const pair *pairs, size_t count, double tolerance)
{
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        size_t n, m;
        hd_real *one = numbers_of(&r, &pairs[i], pairs[i].fused, &n),
                *two = numbers_of(&r, &pairs[i], pairs[i].apart, &m);
        assert_int_equal(n, m);
        double worst = 0;
        for (size_t k = 0; k < n; k++) {
            double e = fabs((double)(one[k] - two[k])) / (1 + fabs((double)two[k]));
            if (!(e <= worst)) worst = e;
        }
        printf("%-40s %.1e\n", pairs[i].name, worst);
        good &= worst <= tolerance;
        free(one), free(two);
    }
    assert_true(good);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* A loss that weighs each element differently. */
static void end_in_loss(hd_run *r, hd_tensor *y, uint64_t seed)
{
    if (y) hd_sum_loss(r, hd_mul(r, y, random_rows(r, hd_rows_of(y), hd_cols_of(y), 1, seed)), 1);
}

static void linear_fused(hd_run *r, hd_tensor *const *x, const pair *p, hd_tensor **y)
{
    end_in_loss(r, y[0] = hd_linear(r, x[0], x[1], x[2], (hd_unary)p->n), 1);
}

static void linear_apart(hd_run *r, hd_tensor *const *x, const pair *p, hd_tensor **y)
{
    hd_tensor *z = hd_linear(r, x[0], x[1], NULL, HD_IDENTITY);
    end_in_loss(r, y[0] = hd_apply(r, x[2] ? hd_add(r, z, x[2]) : z, (hd_unary)p->n), 1);
}

static void linear_equals_product_sum_and_function(void **state)
{
    (void)state;
    pair pairs[2 * HD_UNARIES];
    for (int f = 0; f < HD_UNARIES; f++)
        for (int bias = 0; bias < 2; bias++)
            pairs[2 * f + bias] = (pair){hd_unary_name((hd_unary)f),
                                         linear_fused,
                                         linear_apart,
                                         {{61, 5}, {37, 5}, {(size_t)bias, bias ? 37 : 0}},
                                         f,
                                         0};
    check_pairs(pairs, COUNT_OF(pairs), 1e-5); /* exp multiplies what 5 terms leave, dw sums 61 rows of it */
}

/* Without bias nothing changes order: not a bit differs. */
static void linear_without_bias_has_the_bits_of_its_parts(void **state)
{
    (void)state;
    for (int f = 0; f < HD_UNARIES; f++) {
        const pair p = {"", linear_fused, linear_apart, {{61, 5}, {37, 5}}, f, 0};
        check_pairs(&p, 1, 0);
    }
}

static const hd_seg *norm_segments(hd_run *r, size_t rows)
{
    const int32_t len[] = {3, 0, (int32_t)rows - 3}, key[] = {8, 2, 5};
    return hd_seg_of(r, len, 3, key);
}

enum { RMS = 1, STREAM = 2 };

static void norm_fused(hd_run *r, hd_tensor *const *x, const pair *p, hd_tensor **y)
{
    y[0] = hd_norm_residual(
        r, x[0], x[1], x[2], x[3],
        &(hd_norm_opt){
            .eps = 1e-5f, .rms = p->n & RMS, .dropout = p->f, .seg = norm_segments(r, hd_rows_of(x[0]))},
        &y[1]);
    if (p->n & STREAM) end_in_loss(r, y[1], 2);
    end_in_loss(r, y[0], 1);
}

static void norm_apart(hd_run *r, hd_tensor *const *x, const pair *p, hd_tensor **y)
{
    y[1] = hd_add(r, x[0], hd_dropout(r, x[1], p->f, norm_segments(r, hd_rows_of(x[0]))));
    y[0] = hd_norm(r, y[1], x[2], x[3], &(hd_norm_opt){.eps = 1e-5f, .rms = p->n & RMS});
    if (p->n & STREAM) end_in_loss(r, y[1], 2);
    end_in_loss(r, y[0], 1);
}

#define NORM(name, n_, f_, ...)                             \
    {                                                       \
        name, norm_fused, norm_apart, {__VA_ARGS__}, n_, f_ \
    }
#define XB     \
    {70, 33},  \
    {          \
        70, 33 \
    }

static const pair norms[] = {
    NORM("norm residual", 0, 0, XB),
    NORM("norm residual gain bias", 0, 0, XB, {1, 33}, {1, 33}),
    NORM("norm residual dropout", 0, 0.3f, XB, {1, 33}, {1, 33}),
    NORM("norm residual dropout, sum used", STREAM, 0.3f, XB, {1, 33}, {1, 33}),
    NORM("norm residual dropout, wide", STREAM, 0.3f, {7, 300}, {7, 300}, {1, 300}),
    NORM("rms residual dropout, sum used", RMS | STREAM, 0.3f, XB, {1, 33}),
};

static void norm_residual_equals_dropout_add_and_norm(void **state)
{
    (void)state;
    check_pairs(norms, COUNT_OF(norms), 3e-6);
}

static int32_t *targets(hd_run *r, size_t rows, size_t classes)
{
    int32_t *t = malloc(rows * sizeof *t);
    for (size_t i = 0; i < rows; i++) t[i] = i % 5 == 4 ? -1 : (int32_t)(i * 7 % classes);
    int32_t *there = hd_ints(r, t, rows);
    free(t);
    return there;
}

/* p->n: weights or not; p->f: smoothing */
static hd_loss_opt loss_options(hd_run *r, hd_tensor *x, const pair *p, hd_tensor **logp)
{
    return (hd_loss_opt){.coef = 0.7f,
                         .smoothing = p->f,
                         .weight = p->n ? random_rows(r, hd_rows_of(x), 1, 1, 77) : NULL,
                         .logp = logp};
}

static void cross_entropy_fused(hd_run *r, hd_tensor *const *x, const pair *p, hd_tensor **y)
{
    hd_loss_opt o = loss_options(r, x[0], p, &y[1]);
    o.chunk = 224;
    y[0] = hd_linear_cross_entropy(r, x[0], x[1], x[2], targets(r, hd_rows_of(x[0]), hd_rows_of(x[1])), &o);
}

static void cross_entropy_apart(hd_run *r, hd_tensor *const *x, const pair *p, hd_tensor **y)
{
    hd_loss_opt o = loss_options(r, x[0], p, &y[1]);
    y[0] = hd_cross_entropy(r, hd_linear(r, x[0], x[1], x[2], HD_IDENTITY),
                            targets(r, hd_rows_of(x[0]), hd_rows_of(x[1])), &o);
}

#define ENTROPY(name, n_, f_, ...)                                            \
    {                                                                         \
        name, cross_entropy_fused, cross_entropy_apart, {__VA_ARGS__}, n_, f_ \
    }

static const pair entropies[] = {
    ENTROPY("linear cross entropy", 0, 0, {13, 8}, {21, 8}),
    ENTROPY("linear cross entropy bias", 0, 0, {13, 8}, {21, 8}, {1, 21}),
    ENTROPY("linear cross entropy smoothing weights", 1, 0.1f, {13, 8}, {21, 8}, {1, 21}),
    ENTROPY("linear cross entropy, one chunk exactly", 1, 0.1f, {224, 8}, {21, 8}, {1, 21}),
    ENTROPY("linear cross entropy, three chunks", 1, 0.1f, {500, 8}, {21, 8}, {1, 21}),
    ENTROPY("linear cross entropy, one row", 0, 0.1f, {1, 8}, {21, 8}, {1, 21}),
};

static void linear_cross_entropy_equals_linear_and_cross_entropy(void **state)
{
    (void)state;
    check_pairs(entropies, COUNT_OF(entropies), 1e-5); /* dw sums up to 500 rows */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_equals_product_sum_and_function),
        cmocka_unit_test(linear_without_bias_has_the_bits_of_its_parts),
        cmocka_unit_test(norm_residual_equals_dropout_add_and_norm),
        cmocka_unit_test(linear_cross_entropy_equals_linear_and_cross_entropy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
