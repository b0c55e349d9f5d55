/* Gradients against differences, in double. A case builds a result from named leaves; its loss is the sum of
   the result under fixed random weights. Every element of every leaf is moved, and what hd_backward says is
   compared with what the loss does. The same gradient must also come out when the leaves already hold one
   (backward adds), when they are views into larger tensors, and with the same bits on three threads. */
#ifndef GRADIENT_H
#define GRADIENT_H

#include "check.h"

/* The five-point rule with step H errs by H^4/30 of the fifth derivative (below 1e-11 here) and by 1.5
   ulp(loss)/H of rounding (losses stay near 10: 5e-12). Where an element's gradient is small beside its
   leaf's largest, FLOOR * largest stands in for it: 1e-11 / 1e-3 = 1e-8. A wrong term is worth far more, and
   a constant rounded to float in one direction only (6e-8) shows too. */
#define H         5e-4
#define FLOOR     1e-3
#define TOLERANCE 2e-8

typedef enum filling {
    NORMAL,
    POSITIVE, /* 0.5 to 1.5 */
    ODD,      /* -3 -1 1 3: products of an odd number of them are never 0, so no argument of relu is near its
                 corner */
    EVEN,     /* -2 0 2 */
    DISTINCT, /* shuffled multiples of 0.1: a maximum is one by 0.1 */
    SMALL     /* normal, a tenth */
} filling;

typedef struct leaf {
    const char *name;
    size_t rows, cols;
    filling fill;
    bool fixed; /* wants no gradient */
} leaf;

enum { LEAVES = 9 };
#define LEAF(name_, rows_, cols_, ...)                           \
    {                                                            \
        .name = name_, .rows = rows_, .cols = cols_, __VA_ARGS__ \
    }
#define CASE(name_, build_, ...)                    \
    {                                               \
        .name = name_, .build = build_, __VA_ARGS__ \
    }
#define LEAVES_OF(...) .leaf = {__VA_ARGS__}

typedef struct gradient_case gradient_case;
struct gradient_case {
    const char *name;
    hd_tensor *(*build)(hd_run *r, hd_tensor *const *x, const gradient_case *c);
    leaf leaf[LEAVES];
    double
        coef; /* of the loss that build returns; 0: build returns a result, to be weighted and summed here */
    const void *opt; /* of the case's own */
    int n;
};

typedef enum way { PLAIN, AGAIN, VIEWS } way; /* AGAIN: the leaves hold a gradient before the op goes back */

static size_t leaf_count(const gradient_case *c)
{
    size_t n = 0;
    while (n < LEAVES && c->leaf[n].name) n++;
    return n;
}

static void shuffle(hd_real *x, size_t n, hd_rng *rng)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = hd_rng_below(rng, (uint32_t)i);
        hd_real t = x[i - 1];
        x[i - 1] = x[j], x[j] = t;
    }
}

static double drawn(filling fill, hd_rng *rng)
{
    switch (fill) {
    case POSITIVE:
        return 0.5 + hd_rng_unit(rng);
    case ODD:
        return 2 * (int)hd_rng_below(rng, 4) - 3;
    case EVEN:
        return 2 * (int)hd_rng_below(rng, 3) - 2;
    case SMALL:
        return 0.1 * hd_rng_normal(rng);
    default:
        return hd_rng_normal(rng);
    }
}

static hd_real *leaf_values(const leaf *l, uint64_t seed)
{
    hd_rng rng = hd_rng_make(seed, 7);
    size_t n = l->rows * l->cols;
    hd_real *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (hd_real)(l->fill == DISTINCT ? 0.1 * ((double)i - (double)n / 2) : drawn(l->fill, &rng));
    if (l->fill == DISTINCT) shuffle(x, n, &rng);
    return x;
}

static hd_tensor *weighted_sum(hd_run *r, hd_tensor *y, uint64_t seed)
{
    return y ? hd_sum_loss(r, hd_mul(r, y, random_rows(r, hd_rows_of(y), hd_cols_of(y), 1, seed)), 1) : NULL;
}

static hd_tensor *make_leaf(hd_run *r, const leaf *l, const hd_real *value, way how)
{
    if (how != VIEWS) {
        hd_tensor *x = hd_from(r, l->rows, l->cols, value);
        if (x) x->wants_grad = !l->fixed;
        return x;
    }
    hd_tensor *whole = random_rows(r, l->rows + 2, l->cols + 3, 1, 99);
    if (!whole) return NULL;
    whole->wants_grad = !l->fixed;
    hd_tensor *x = hd_slice_cols(r, hd_slice_rows(r, whole, 1, l->rows), 2, l->cols);
    for (size_t i = 0; x && i < l->rows; i++)
        r->backend->upload(r->backend, (hd_real *)x->data + i * x->stride, value + i * l->cols,
                           l->cols * sizeof *value);
    return x;
}

/* Runs the case forward; the sum of its loss. */
static double loss_of(hd_run *r, const gradient_case *c, hd_real *const *value, way how, bool taping,
                      hd_tensor **x)
{
    hd_run_begin(r, HD_TRAIN);
    r->taping = taping;
    if (taping) poison_step(r, 1 << 18);
    size_t n = leaf_count(c);
    for (size_t i = 0; i < n; i++) x[i] = make_leaf(r, &c->leaf[i], value[i], how);
    hd_tensor *y = c->build(r, x, c);
    double loss = hd_loss_total(r, c->coef != 0 ? y : weighted_sum(r, y, 1000));
    for (size_t i = 0; how == AGAIN && i < n; i++) weighted_sum(r, x[i], 2000 + i);
    if (r->err.status) fail_msg("%s: %s", c->name, r->err.text);
    return loss;
}

/* Gradients of all leaves, one after the other, in new memory. */
static hd_real *gradients(hd_run *r, const gradient_case *c, hd_real *const *value, way how)
{
    hd_tensor *x[LEAVES];
    size_t n = leaf_count(c), total = 0, at = 0;
    for (size_t i = 0; i < n; i++) total += c->leaf[i].rows * c->leaf[i].cols;
    hd_real *all = calloc(total + 1, sizeof *all);
    loss_of(r, c, value, how, true, x);
    hd_backward(r);
    if (r->err.status) fail_msg("%s, going back: %s", c->name, r->err.text);
    for (size_t i = 0; i < n; at += c->leaf[i].rows * c->leaf[i].cols, i++) {
        if (c->leaf[i].fixed) continue;
        hd_tensor *g = hd_grad(r, x[i], NULL);
        assert_non_null(g);
        hd_read(r, g, all + at);
        if (how != AGAIN) continue;
        hd_real *extra = malloc((total + 1) * sizeof *extra);
        fill_normal(extra, c->leaf[i].rows * c->leaf[i].cols, 1, 2000 + i);
        for (size_t k = 0; k < c->leaf[i].rows * c->leaf[i].cols; k++) all[at + k] -= extra[k];
        free(extra);
    }
    return all;
}

/* Worst |a-n| / (|a| + |n| + floor) over one leaf. */
static double leaf_error(hd_run *r, const gradient_case *c, hd_real **value, size_t l,
                         const hd_real *analytic)
{
    hd_tensor *x[LEAVES];
    size_t n = c->leaf[l].rows * c->leaf[l].cols;
    double largest = 0, worst = 0, coef = c->coef != 0 ? c->coef : 1;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)analytic[i]));
    if (!(largest > 0)) fail_msg("%s: nothing flows to %s: the case tests nothing", c->name, c->leaf[l].name);
    for (size_t i = 0; i < n; i++) {
        hd_real kept = value[l][i];
        double at[4];
        for (int k = 0; k < 4; k++) {
            value[l][i] = kept + (hd_real)((k < 2 ? k - 2 : k - 1) * H);
            at[k] = loss_of(r, c, value, PLAIN, false, x);
        }
        value[l][i] = kept;
        double numeric = coef * (at[0] - at[3] + 8 * (at[2] - at[1])) / (12 * H), a = (double)analytic[i];
        double error = fabs(a - numeric) / (fabs(a) + fabs(numeric) + FLOOR * largest);
        if (!(error <= worst)) worst = error; /* NaN counts */
    }
    return worst;
}

/* Largest difference of two gradients beside the largest element. */
static double distance_of(const hd_real *a, const hd_real *b, size_t n)
{
    double largest = 0, worst = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)(a[i] - b[i]));
        largest = fmax(largest, fabs((double)a[i]));
        if (!(d <= worst)) worst = d;
    }
    return worst / (largest > 0 ? largest : 1);
}

/* The same gradient another way: sums in another order, so a few roundings of 1e-16 apart. */
static bool same_other_way(hd_run *r, const gradient_case *c, hd_real *const *value, const hd_real *plain,
                           size_t total, way how)
{
    hd_real *g = gradients(r, c, value, how);
    double d = distance_of(plain, g, total);
    free(g);
    if (d <= 1e-13 * (double)(16 + total)) return true;
    printf("%-40s %s: gradient differs by %.1e\n", c->name, how == AGAIN ? "added to another" : "of views",
           d);
    return false;
}

static bool check_case(hd_run *r, hd_run *threads, const gradient_case *c)
{
    hd_real *value[LEAVES] = {NULL};
    size_t n = leaf_count(c), at = 0;
    for (size_t i = 0; i < n; i++) value[i] = leaf_values(&c->leaf[i], 10 + i);
    hd_real *plain = gradients(r, c, value, PLAIN), *other = gradients(threads, c, value, PLAIN);
    double worst = 0;
    const char *where = "-";
    for (size_t i = 0; i < n; at += c->leaf[i].rows * c->leaf[i].cols, i++) {
        double e = c->leaf[i].fixed ? 0 : leaf_error(r, c, value, i, plain + at);
        if (!(e <= worst)) worst = e, where = c->leaf[i].name;
    }
    bool good = worst <= TOLERANCE;
    printf("%-40s %.1e (%s)%s\n", c->name, worst, where, good ? "" : "  WRONG");
    if (memcmp(plain, other, at * sizeof *plain))
        good = false, printf("%-40s other bits on three threads\n", c->name);
    good &= same_other_way(r, c, value, plain, at, AGAIN);
    good &= same_other_way(r, c, value, plain, at, VIEWS);
    for (size_t i = 0; i < n; i++) free(value[i]);
    free(plain), free(other);
    return good;
}

/* Checks every case of a table; the test fails when one does. */
static void check_gradients(const gradient_case *cases, size_t count)
{
    hd_backend *one = backend_of("cpu", 1), *three = backend_of("cpu", 3);
    hd_run r = run_on(one), t = run_on(three);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) wrong += !check_case(&r, &t, &cases[i]);
    hd_run_release(&r), hd_run_release(&t);
    hd_backend_free(one), hd_backend_free(three);
    assert_int_equal(wrong, 0);
}

#endif
