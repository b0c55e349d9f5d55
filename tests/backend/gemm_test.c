/* The matrix product against sums in double, in all four forms, and the promise that a row's bits depend on
   nothing but the row: not on how many rows stand beside it, not on the threads, not on packing the weight
   before. The same of weights that are rounded to bf16, of the best instruction set and of the plain one. */
#include "check.h"
#include "rounding.h"

enum { MARGIN = 3 }; /* numbers around a view that must stay as they are */
#define UNTOUCHED 12345.0f

/* A [rows, cols] view into a larger buffer filled with UNTOUCHED. */
typedef struct framed {
    hd_real *whole;
    hd_tensor t;
} framed;

static framed frame(size_t rows, size_t cols)
{
    framed f = {.whole = malloc((rows + 2) * (cols + 2 * MARGIN) * sizeof(hd_real))};
    for (size_t i = 0; i < (rows + 2) * (cols + 2 * MARGIN); i++) f.whole[i] = UNTOUCHED;
    hd_tensor whole = hd_matrix(f.whole, rows + 2, cols + 2 * MARGIN), inner = hd_view_rows(&whole, 1, rows);
    f.t = hd_view_cols(&inner, MARGIN, cols);
    return f;
}

static hd_real *at(const framed *f, size_t row, size_t col)
{
    return (hd_real *)f->t.data + row * f->t.stride + col;
}

static framed random_frame(size_t rows, size_t cols, bool positive, uint64_t seed)
{
    framed f = frame(rows, cols);
    hd_rng rng = hd_rng_make(seed, 3);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            *at(&f, i, j) = (hd_real)(positive ? 0.2 + hd_rng_unit(&rng) : hd_rng_normal(&rng));
    return f;
}

static void assert_frame_untouched(const framed *f)
{
    size_t rows = hd_rows_of(&f->t), cols = hd_cols_of(&f->t), wide = cols + 2 * MARGIN;
    for (size_t i = 0; i < rows + 2; i++)
        for (size_t j = 0; j < wide; j++)
            if (i == 0 || i > rows || j < MARGIN || j >= MARGIN + cols)
                assert_true(f->whole[i * wide + j] == UNTOUCHED);
}

static double function(hd_unary f, double x)
{
    switch (f) {
    case HD_relu:
        return x > 0 ? x : 0;
    case HD_gelu:
        return 0.5 * x * erfc(-x * sqrt(0.5));
    case HD_gelu_tanh:
        return 0.5 * x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    case HD_silu:
        return x / (1 + exp(-x));
    case HD_sigmoid:
        return 1 / (1 + exp(-x));
    case HD_tanh:
        return tanh(x);
    case HD_exp:
        return exp(x);
    case HD_log:
        return log(x);
    default:
        return x;
    }
}

typedef struct form {
    size_t m, n, k;
    bool at, bt, add, bias, before;
    hd_unary act;
} form;

/* A chain of k multiply-adds errs by at most k/2 ulp of the sum of magnitudes; bias and addition by one each.
 */
static double bound(const form *f, double magnitude)
{
    return (double)(f->k + 4) * 0x1p-24 * magnitude;
}

/* y must lie between the function's values at both ends of what z may be; `own` is for the function itself
 * (function_test.c measures that more closely). */
static void assert_value(const form *f, double y, double z, double slack)
{
    double low = function(f->act, z - slack), high = function(f->act, z + slack), mid = function(f->act, z);
    double least = fmin(fmin(low, high), mid), most = fmax(fmax(low, high), mid),
           own = f->act == HD_IDENTITY ? 0 : 4e-7 + 1e-6 * (fabs(mid) + fabs(z));
    if (!(y >= least - own && y <= most + own))
        fail_msg("%zux%zux%zu at %d bt %d add %d bias %d %s: %.9g, expected %.9g (%.2g)", f->m, f->n, f->k,
                 f->at, f->bt, f->add, f->bias, hd_unary_name(f->act), y, mid, slack);
}

static void check_product(hd_backend *b, const form *f)
{
    bool positive = f->act == HD_log;
    framed x = f->at ? random_frame(f->k, f->m, positive, 1) : random_frame(f->m, f->k, positive, 1);
    framed w = f->bt ? random_frame(f->n, f->k, positive, 2) : random_frame(f->k, f->n, positive, 2);
    framed bias = random_frame(1, f->n, positive, 3), y = random_frame(f->m, f->n, positive, 4),
           old = random_frame(f->m, f->n, positive, 4), before = frame(f->m, f->n);
    hd_status s = b->kernel.gemm(b, &(hd_gemm_args){.y = &y.t,
                                                    .a = &x.t,
                                                    .a_transposed = f->at,
                                                    .b = &w.t,
                                                    .b_transposed = f->bt,
                                                    .add = f->add,
                                                    .bias = f->bias ? &bias.t : NULL,
                                                    .act = f->act,
                                                    .before = f->before ? &before.t : NULL});
    assert_int_equal(s, HD_OK);
    for (size_t i = 0; i < f->m; i++)
        for (size_t j = 0; j < f->n; j++) {
            double z = (f->add ? (double)*at(&old, i, j) : 0) + (f->bias ? (double)*at(&bias, 0, j) : 0),
                   magnitude = fabs(z) + 1;
            for (size_t p = 0; p < f->k; p++) {
                double term = (double)(f->at ? *at(&x, p, i) : *at(&x, i, p)) *
                              (double)(f->bt ? *at(&w, j, p) : *at(&w, p, j));
                z += term, magnitude += fabs(term);
            }
            assert_value(f, (double)*at(&y, i, j), z, bound(f, magnitude));
            if (f->before) assert_true(fabs((double)*at(&before, i, j) - z) <= bound(f, magnitude));
        }
    assert_frame_untouched(&y), assert_frame_untouched(&before);
    free(x.whole), free(w.whole), free(bias.whole), free(y.whole), free(old.whole), free(before.whole);
}

/* One size through all four forms, with what goes along changing from size to size so that all is met with
 * all. */
static void check_forms(hd_backend *b, size_t m, size_t n, size_t k)
{
    static unsigned turn;
    for (int i = 0; i < 4; i++, turn = turn * 1664525 + 1013904223) {
        unsigned t = turn >> 16;
        form f = {m, n, k, i & 1, i >> 1, t & 1, t & 2, t & 4, (hd_unary)((t >> 3) % HD_UNARIES)};
        if (f.add) f.bias = false; /* not asked for by any op */
        if (f.act == HD_IDENTITY) f.before = false;
        if (f.act == HD_exp && k > 40) f.act = HD_tanh; /* sums too large for exp */
        check_product(b, &f);
    }
}

static void products_equal_sums_in_double(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        hd_backend *b = backend_of("cpu", threads);
        for (size_t i = 1; i <= 70; i++) {
            check_forms(b, i, 13, 9);
            check_forms(b, 9, i, 7);
            check_forms(b, 8, 25, i);
            check_forms(b, i, i, 5);
        }
        const size_t edges[] = {1, 6, 7, 8, 11, 12, 13, 24, 25, 33, 57};
        for (size_t m = 0; m < COUNT_OF(edges); m++)
            for (size_t n = 0; n < COUNT_OF(edges); n++)
                check_forms(b, edges[m], edges[n], edges[(m * 5 + n) % COUNT_OF(edges)]);
        const size_t deep[] = {511, 512, 513, 516, 1023, 1025, 1537};
        for (size_t i = 0; i < COUNT_OF(deep); i++)
            check_forms(b, 1, 5, deep[i]), check_forms(b, 9, 14, deep[i]), check_forms(b, 30, 13, deep[i]);
        check_forms(b, 250, 400, 33); /* more columns than a block of b */
        check_forms(b, 5, 1000, 40);
        check_forms(b, 600, 3, 40);
        hd_backend_free(b);
    }
}

static void nothing_to_sum_gives_the_bias(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    for (int i = 0; i < 8; i++)
        check_product(b, &(form){5, 17, 0, i & 1, i >> 1 & 1, i >> 2, !(i >> 2), true, HD_tanh});
    framed none = frame(0, 0), x = random_frame(3, 4, false, 1);
    assert_int_equal(b->kernel.gemm(b, &(hd_gemm_args){.y = &none.t, .a = &none.t, .b = &none.t}), HD_OK);
    hd_tensor empty = hd_view_rows(&x.t, 0, 0), wide = hd_view_cols(&empty, 0, 2);
    framed w = random_frame(2, 4, false, 1);
    assert_int_equal(
        b->kernel.gemm(b, &(hd_gemm_args){.y = &wide, .a = &empty, .b = &w.t, .b_transposed = true}), HD_OK);
    free(none.whole), free(x.whole), free(w.whole);
    hd_backend_free(b);
}

/* Rows [from, from+m) of a product, in new memory. */
static hd_real *rows_of_product(hd_backend *b, const framed *x, bool xt, const hd_tensor *w, bool wt,
                                const hd_tensor *bias, size_t from, size_t m, size_t n)
{
    hd_real *y = malloc((m * n + 1) * sizeof *y);
    hd_tensor part = xt ? hd_view_cols(&x->t, from, m) : hd_view_rows(&x->t, from, m),
              out = hd_matrix(y, m, n);
    assert_int_equal(b->kernel.gemm(b, &(hd_gemm_args){.y = &out,
                                                       .a = &part,
                                                       .a_transposed = xt,
                                                       .b = w,
                                                       .b_transposed = wt,
                                                       .bias = bias,
                                                       .act = HD_gelu}),
                     HD_OK);
    return y;
}

static void rows_keep_their_bits(size_t rows, size_t step, size_t n, size_t k)
{
    framed bias = random_frame(1, n, false, 9);
    hd_backend *one = backend_of("cpu", 1);
    for (int i = 0; i < 4; i++) {
        bool xt = i & 1, wt = i >> 1;
        framed x = xt ? random_frame(k, rows, false, 7) : random_frame(rows, k, false, 7),
               w = wt ? random_frame(n, k, false, 8) : random_frame(k, n, false, 8);
        hd_real *all = rows_of_product(one, &x, xt, &w.t, wt, &bias.t, 0, rows, n);
        for (int threads = 1; threads <= 4; threads++) {
            hd_backend *b = backend_of("cpu", threads);
            for (size_t m = 1; m <= rows; m += step)
                for (int end = 0; end < 2; end++) {
                    size_t from = end ? rows - m : 0;
                    hd_real *some = rows_of_product(b, &x, xt, &w.t, wt, &bias.t, from, m, n);
                    if (memcmp(some, all + from * n, m * n * sizeof *some))
                        fail_msg("form %d, %d threads, %zu rows from %zu of k %zu: other bits", i, threads, m,
                                 from, k);
                    free(some);
                }
            hd_backend_free(b);
        }
        free(x.whole), free(w.whole), free(all);
    }
    hd_backend_free(one);
    free(bias.whole);
}

static void a_row_has_the_same_bits_among_1_to_300(void **state)
{
    (void)state;
    rows_keep_their_bits(300, 1, 29, 21);
    rows_keep_their_bits(300, 23, 61, 519);
}

static void a_prepared_weight_changes_no_bit(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    const size_t sizes[][2] = {{1, 1}, {5, 7}, {12, 16}, {25, 33}, {64, 520}, {130, 3}};
    size_t blocks = hd_mem_now().blocks;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        size_t n = sizes[i][0], k = sizes[i][1];
        framed x = random_frame(70, k, false, 1), w = random_frame(n, k, false, 2),
               bias = random_frame(1, n, false, 3);
        /* numbers of rows that meet the weight as it lies, packed bit by bit, and packed at once */
        const size_t rows[] = {1, 4, 5, 9, 70};
        for (size_t r = 0; r < COUNT_OF(rows); r++) {
            size_t m = rows[r];
            hd_real *plain = rows_of_product(b, &x, false, &w.t, true, &bias.t, 0, m, n);
            assert_int_equal(b->prepare(b, &w.t, HD_DECODING), HD_OK);
            assert_non_null(w.t.prepared);
            hd_real *packed = rows_of_product(b, &x, false, &w.t, true, &bias.t, 0, m, n);
            assert_memory_equal(plain, packed, m * n * sizeof *plain);
            assert_int_equal(b->prepare(b, &w.t, HD_TRAINING), HD_OK); /* plain again */
            assert_null(w.t.prepared);
            free(plain), free(packed);
        }
        b->unprepare(b, &w.t);
        free(x.whole), free(w.whole), free(bias.whole);
    }
    assert_int_equal(hd_mem_now().blocks - blocks, 2); /* the backend's own scratch */
    hd_backend_free(b);
}

/* On the way back the same weight stands on the other side: dx = dz w. */
static void a_prepared_weight_still_serves_untransposed(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    framed z = random_frame(5, 30, false, 1), w = random_frame(30, 17, false, 2);
    hd_real *plain = rows_of_product(b, &z, false, &w.t, false, NULL, 0, 5, 17);
    assert_int_equal(b->prepare(b, &w.t, HD_DECODING), HD_OK);
    hd_real *packed = rows_of_product(b, &z, false, &w.t, false, NULL, 0, 5, 17);
    assert_memory_equal(plain, packed, 5 * 17 * sizeof *plain);
    b->unprepare(b, &w.t);
    assert_null(w.t.prepared);
    free(plain), free(packed), free(z.whole), free(w.whole);
    hd_backend_free(b);
}

/* -- weights of bf16 -- */

static double rounded(hd_real x)
{
    uint16_t small;
    hd_real y;
    hd_convert(&small, HD_BF16, &x, HD_REAL, 1);
    hd_convert(&y, HD_REAL, &small, HD_BF16, 1);
    return (double)y;
}

/* Against sums in double of the rounded numbers closely, and of the plain ones within their rounding. */
static void check_rounded(hd_backend *b, size_t m, size_t n, size_t k, bool add, bool act)
{
    bool both = strcmp(((hd_cpu *)b)->form->name, "widened"); /* a is rounded, too */
    framed x = random_frame(m, k, false, 1), w = random_frame(n, k, false, 2),
           bias = random_frame(1, n, false, 3), y = random_frame(m, n, false, 4),
           old = random_frame(m, n, false, 4), before = frame(m, n);
    assert_int_equal(b->prepare(b, &w.t, HD_PREDICTING), HD_OK);
    assert_true(!w.t.prepared == !k); /* what has no bytes is read as it is */
    hd_gemm_args g = {.y = &y.t, .a = &x.t, .b = &w.t, .b_transposed = true, .add = add};
    if (!add) g.bias = &bias.t;
    if (act) g.act = HD_relu, g.before = &before.t;
    assert_int_equal(b->kernel.gemm(b, &g), HD_OK);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double start = (double)(add ? *at(&old, i, j) : *at(&bias, 0, j)), z = start, exact = start,
                   magnitude = fabs(start) + 1, is = (double)*at(act ? &before : &y, i, j);
            for (size_t p = 0; p < k; p++) {
                hd_real u = *at(&x, i, p), v = *at(&w, j, p);
                z += (both ? rounded(u) : (double)u) * rounded(v);
                exact += (double)u * (double)v, magnitude += fabs((double)u * (double)v);
            }
            double chain = (double)(k + 4) * 0x1p-23 * magnitude;
            if (!(fabs(is - z) <= chain) || !(fabs(is - exact) <= chain + 0x1.02p-8 * magnitude))
                fail_msg("%s %zux%zux%zu add %d: %.9g, expected %.9g, plain %.9g", ((hd_cpu *)b)->form->name,
                         m, n, k, add, is, z, exact);
            if (act) assert_true((double)*at(&y, i, j) == (is > 0 ? is : 0));
        }
    assert_frame_untouched(&y), assert_frame_untouched(&before);
    b->unprepare(b, &w.t);
    free(x.whole), free(w.whole), free(bias.whole), free(y.whole), free(old.whole), free(before.whole);
}

static void rounded_weights_err_by_their_rounding(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * rounding_kinds(); i++) {
        hd_backend *b = rounding_backend(1 + 2 * (i & 1), i >> 1);
        for (size_t s = 1; s <= 34; s++) {
            check_rounded(b, s, 13, 9, s & 1, s & 2);
            check_rounded(b, 9, s, 7, s & 2, s & 1);
            check_rounded(b, 5, 25, s, s & 1, s & 2);
            check_rounded(b, 1 + s % 4, 1 + s % 30, s, s & 2, s & 1);
        }
        check_rounded(b, 3, 17, 0, false, true);
        check_rounded(b, 2, 9, 4101, false, false); /* deeper than a block of few rows, and of many */
        check_rounded(b, 21, 14, 1539, true, true);
        check_rounded(b, 70, 400, 33, false, true); /* more rows than a group, more columns than a block */
        check_rounded(b, 6, 9, 12000, false, false);
        hd_backend_free(b);
    }
}

static void rows_of_rounded_weights_keep_their_bits(int kind, size_t n, size_t k, size_t step)
{
    enum { ROWS = 120 };
    framed x = random_frame(ROWS, k, false, 7), w = random_frame(n, k, false, 8),
           bias = random_frame(1, n, false, 9);
    hd_backend *one = rounding_backend(1, kind);
    assert_int_equal(one->prepare(one, &w.t, HD_PREDICTING), HD_OK);
    hd_real *all = rows_of_product(one, &x, false, &w.t, true, &bias.t, 0, ROWS, n);
    for (int threads = 1; threads <= 3; threads++) {
        hd_backend *b = rounding_backend(threads, kind);
        for (size_t m = 1; m <= ROWS; m += step)
            for (int end = 0; end < 2; end++) {
                size_t from = end ? ROWS - m : 0;
                hd_real *some = rows_of_product(b, &x, false, &w.t, true, &bias.t, from, m, n);
                if (memcmp(some, all + from * n, m * n * sizeof *some))
                    fail_msg("%s, %d threads, %zu rows from %zu of k %zu: other bits",
                             ((hd_cpu *)b)->form->name, threads, m, from, k);
                free(some);
            }
        hd_backend_free(b);
    }
    one->unprepare(one, &w.t);
    hd_backend_free(one);
    free(x.whole), free(w.whole), free(bias.whole), free(all);
}

static void a_row_has_the_same_bits_beside_others_with_rounded_weights(void **state)
{
    (void)state;
    for (int kind = 0; kind < rounding_kinds(); kind++) {
        rows_of_rounded_weights_keep_their_bits(kind, 29, 21, 1);
        rows_of_rounded_weights_keep_their_bits(kind, 61, 1541, 13);
        rows_of_rounded_weights_keep_their_bits(kind, 9, 4103, 17);
    }
}

/* What cannot read the rounded form reads the plain one: the way back, and a weight that recurs. */
static void rounding_leaves_the_plain_weight_to_others(void **state)
{
    (void)state;
    hd_backend *b = rounding_backend(1, 0), *f32 = backend_of("cpu", 1);
    framed z = random_frame(5, 30, false, 1), w = random_frame(30, 17, false, 2);
    hd_real *plain = rows_of_product(f32, &z, false, &w.t, false, NULL, 0, 5, 17);
    assert_int_equal(b->prepare(b, &w.t, HD_PREDICTING), HD_OK);
    hd_real *back = rows_of_product(b, &z, false, &w.t, false, NULL, 0, 5, 17);
    assert_memory_equal(plain, back, 5 * 17 * sizeof *plain);
    b->unprepare(b, &w.t);
    assert_int_equal(f32->prepare(f32, &w.t, HD_PREDICTING),
                     HD_OK); /* costs nothing where nothing is rounded */
    assert_null(w.t.prepared);
    free(plain), free(back), free(z.whole), free(w.whole);
    hd_backend_free(b), hd_backend_free(f32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_equal_sums_in_double),
        cmocka_unit_test(nothing_to_sum_gives_the_bias),
        cmocka_unit_test(a_row_has_the_same_bits_among_1_to_300),
        cmocka_unit_test(a_prepared_weight_changes_no_bit),
        cmocka_unit_test(a_prepared_weight_still_serves_untransposed),
        cmocka_unit_test(rounded_weights_err_by_their_rounding),
        cmocka_unit_test(a_row_has_the_same_bits_beside_others_with_rounded_weights),
        cmocka_unit_test(rounding_leaves_the_plain_weight_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
