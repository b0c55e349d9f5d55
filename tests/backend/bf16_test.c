/* Products of training in bf16: x w^T, dz w, dz^T x and both transposed, of every form of this machine and of
   the plain one, against sums in double of the rounded numbers; and the same bits for any number of
   threads and of rows beside. */
#include "check.h"
#include "rounding.h"

enum { MARGIN = 3 }; /* numbers around a matrix that must stay as they are */
#define UNTOUCHED 12345.0f

static hd_backend *training_backend(int threads, int kind)
{
    hd_backend *b = rounding_backend(threads, kind);
    ((hd_cpu *)b)->unprepared = ((hd_cpu *)b)->form;
    return b;
}

/* A [rows, cols] matrix whose rows lie MARGIN numbers apart, with a margin above. */
typedef struct framed {
    hd_real *whole;
    size_t rows, cols, wide;
    hd_tensor t;
} framed;

static framed frame(size_t rows, size_t cols, uint64_t seed)
{
    framed f = {.rows = rows, .cols = cols, .wide = cols + MARGIN};
    f.whole = malloc((rows * f.wide + MARGIN) * sizeof(hd_real));
    for (size_t i = 0; i < rows * f.wide + MARGIN; i++) f.whole[i] = UNTOUCHED;
    f.t = hd_matrix(f.whole + MARGIN, rows, cols), f.t.stride = f.wide;
    hd_rng rng = hd_rng_make(seed, 3);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) f.whole[MARGIN + i * f.wide + j] = (hd_real)hd_rng_normal(&rng);
    return f;
}

static double at(const framed *f, size_t row, size_t col)
{
    return (double)f->whole[MARGIN + row * f->wide + col];
}

static void assert_margin_untouched(const framed *f)
{
    for (size_t i = 0; i < MARGIN; i++) assert_true(f->whole[i] == UNTOUCHED);
    for (size_t i = 0; i < f->rows; i++)
        for (size_t j = f->cols; j < f->wide; j++) assert_true(at(f, i, j) == (double)UNTOUCHED);
}

static double rounded(double x)
{
    uint16_t small;
    hd_real y = (hd_real)x;
    hd_convert(&small, HD_BF16, &y, HD_REAL, 1);
    hd_convert(&y, HD_REAL, &small, HD_BF16, 1);
    return (double)y;
}

typedef struct product {
    size_t m, n, k;
    bool at, bt, add, bias, act;
} product;

static void multiply(hd_backend *b, const product *f, const framed *y, const framed *x, const framed *w,
                     const framed *bias, const framed *before)
{
    hd_gemm_args g = {.y = (hd_tensor *)&y->t,
                      .a = (hd_tensor *)&x->t,
                      .a_transposed = f->at,
                      .b = (hd_tensor *)&w->t,
                      .b_transposed = f->bt,
                      .add = f->add,
                      .bias = f->bias ? (hd_tensor *)&bias->t : NULL,
                      .act = f->act ? HD_relu : HD_IDENTITY,
                      .before = f->act ? (hd_tensor *)&before->t : NULL};
    assert_int_equal(b->kernel.gemm(b, &g), HD_OK);
}

static void check_product(hd_backend *b, const product *f)
{
    enum { LARGE = 10000000 };
    const bool both = strcmp(((hd_cpu *)b)->form->name, "widened"); /* a is rounded, too */
    framed x = f->at ? frame(f->k, f->m, 1) : frame(f->m, f->k, 1),
           w = f->bt ? frame(f->n, f->k, 2) : frame(f->k, f->n, 2), bias = frame(1, f->n, 3),
           y = frame(f->m, f->n, 4), old = frame(f->m, f->n, 4), before = frame(f->m, f->n, 5);
    const size_t every = f->m * f->n * f->k > LARGE ? 19 : 1; /* of a row: all columns have their turns */
    multiply(b, f, &y, &x, &w, &bias, &before);
    for (size_t i = 0; i < f->m; i++)
        for (size_t j = i % every; j < f->n; j += every) {
            double z = (f->add ? at(&old, i, j) : 0) + (f->bias ? at(&bias, 0, j) : 0), sizes = fabs(z) + 1;
            for (size_t p = 0; p < f->k; p++) {
                double u = f->at ? at(&x, p, i) : at(&x, i, p), v = f->bt ? at(&w, j, p) : at(&w, p, j),
                       term = (both ? rounded(u) : u) * rounded(v);
                z += term, sizes += fabs(term);
            }
            double is = at(f->act ? &before : &y, i, j);
            if (!(fabs(is - z) <= (double)(f->k + 4) * 0x1p-23 * sizes))
                fail_msg("%s %zux%zux%zu at %d bt %d add %d bias %d: %.9g, expected %.9g",
                         ((hd_cpu *)b)->form->name, f->m, f->n, f->k, f->at, f->bt, f->add, f->bias, is, z);
            if (f->act) assert_true(at(&y, i, j) == (is > 0 ? is : 0));
        }
    assert_margin_untouched(&y), assert_margin_untouched(&before);
    free(x.whole), free(w.whole), free(bias.whole), free(y.whole), free(old.whole), free(before.whole);
}

/* All four ways, with what goes along changing from size to size. */
static void check_size(hd_backend *b, size_t m, size_t n, size_t k)
{
    for (int i = 0; i < 4; i++) {
        size_t turn = m + 2 * n + 3 * k + (size_t)i;
        product f = {m, n, k, i & 1, i >> 1, turn % 3 == 0, turn % 3 == 1, turn % 5 < 2};
        check_product(b, &f);
    }
}

static void products_of_training_equal_sums_of_rounded_numbers(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * rounding_kinds(); i++) {
        hd_backend *b = training_backend(1 + 2 * (i & 1), i >> 1);
        for (size_t s = 1; s <= 34; s++) {
            check_size(b, s, 13, 9);
            check_size(b, 9, s, 7);
            check_size(b, 5, 25, s);
            check_size(b, 1 + s % 3, 1 + s % 30, s);
        }
        check_size(b, 3, 17, 0);
        check_size(b, 2, 9, 4101); /* deeper than a block of few rows, and of many */
        check_size(b, 21, 14, 1539);
        check_size(b, 70, 400, 33); /* more rows than a group, more columns than a block */
        if (!(i & 1)) {             /* the same of blocks of BFMMLA, and more rows than are packed at once */
            check_product(b, &(product){200, 520, 1030, .at = true, .add = true});
            check_product(b, &(product){1930, 9, 1030, .bt = true, .bias = true});
        }
        hd_backend_free(b);
    }
}

static void threads_and_neighbors_change_no_bit(void **state)
{
    enum { ROWS = 67, COLS = 61 };
    (void)state;
    const size_t depth[] = {1, 21, 1541};
    for (int way = 0; way < 4 * rounding_kinds(); way++)
        for (size_t d = 0; d < COUNT_OF(depth); d++) {
            product f = {ROWS, COLS, depth[d], way & 1, way >> 1 & 1, false, true, true};
            framed x = f.at ? frame(f.k, ROWS, 1) : frame(ROWS, f.k, 1),
                   w = f.bt ? frame(COLS, f.k, 2) : frame(f.k, COLS, 2), bias = frame(1, COLS, 3),
                   all = frame(ROWS, COLS, 4), before = frame(ROWS, COLS, 5);
            hd_backend *one = training_backend(1, way >> 2);
            multiply(one, &f, &all, &x, &w, &bias, &before);
            hd_backend_free(one);
            for (int threads = 1; threads <= 4; threads++) {
                hd_backend *b = training_backend(threads, way >> 2);
                for (size_t m = 1; m <= ROWS; m += 11) {
                    framed y = frame(m, COLS, 6), part = x, under = frame(m, COLS, 7);
                    part.t = f.at ? hd_view_cols(&x.t, ROWS - m, m) : hd_view_rows(&x.t, ROWS - m, m);
                    multiply(b, &f, &y, &part, &w, &bias, &under);
                    for (size_t i = 0; i < m; i++)
                        for (size_t j = 0; j < COLS; j++)
                            if (at(&y, i, j) != at(&all, ROWS - m + i, j))
                                fail_msg("way %d, %d threads, %zu rows of k %zu: other bits", way, threads, m,
                                         f.k);
                    free(y.whole), free(under.whole);
                }
                hd_backend_free(b);
            }
            free(x.whole), free(w.whole), free(bias.whole), free(all.whole), free(before.whole);
        }
}

/* Matrix instructions of x86-64 count numbers below the smallest normal one, 2^-126, as zeros, factors,
   products and sums; others sum them up. Each term and each sum is off by at most that. */
static void numbers_below_the_normal_ones_may_be_zeros(void **state)
{
    enum { DEEP = 37 };
    (void)state;
    for (int kind = 0; kind < rounding_kinds(); kind++) {
        hd_backend *b = training_backend(1, kind);
        framed x = frame(3, DEEP, 1), w = frame(5, DEEP, 2), y = frame(3, 5, 3);
        for (int small = 100; small < 150; small += 10) {
            const product f = {3, 5, DEEP, .bt = true};
            for (size_t i = 0; i < 3 * DEEP; i++)
                x.whole[MARGIN + i / DEEP * x.wide + i % DEEP] =
                    (hd_real)ldexp(1 + (double)(i % 7), 40 - small);
            for (size_t i = 0; i < 5 * DEEP; i++)
                w.whole[MARGIN + i / DEEP * w.wide + i % DEEP] = (hd_real)ldexp(1 + (double)(i % 5), -40);
            multiply(b, &f, &y, &x, &w, NULL, NULL);
            for (size_t i = 0; i < 3; i++)
                for (size_t j = 0; j < 5; j++) {
                    double z = 0;
                    for (size_t p = 0; p < DEEP; p++) z += at(&x, i, p) * at(&w, j, p);
                    if (!(fabs(at(&y, i, j) - z) <= 2 * DEEP * 0x1p-126 + DEEP * 0x1p-23 * z))
                        fail_msg("%s, 2^-%d: %g, expected %g", ((hd_cpu *)b)->form->name, small, at(&y, i, j),
                                 z);
                }
        }
        free(x.whole), free(w.whole), free(y.whole);
        hd_backend_free(b);
    }
}

/* -- products of experts -- */

enum { EXPERTS = 4, WIDE = 29, INNER = 21 };
static const int32_t begins[EXPERTS + 1] = {0, 2, 2, 69, 75};

/* What a product of each expert by itself gives, and its bits. */
static void experts_equal_products_of_their_rows(void **state)
{
    (void)state;
    const size_t rows = (size_t)begins[EXPERTS];
    for (int way = 0; way < 6 * rounding_kinds(); way++) {
        const bool bt = way & 1;
        hd_backend *b = training_backend(1 + way / 2 % 3, way / 6);
        framed x = frame(rows, INNER, 1),
               w = bt ? frame(EXPERTS * WIDE, INNER, 2) : frame(EXPERTS * INNER, WIDE, 2),
               y = frame(rows, WIDE, 3), z = frame(rows, WIDE, 3), dw = frame(EXPERTS * INNER, WIDE, 4),
               dz = frame(EXPERTS * INNER, WIDE, 4);
        hd_grouped_args g = {
            .y = &y.t, .a = &x.t, .b = &w.t, .b_transposed = bt, .begin = begins, .experts = EXPERTS};
        hd_grouped_outer_args o = {.y = &dw.t, .a = &x.t, .b = &y.t, .begin = begins, .experts = EXPERTS};
        assert_int_equal(b->kernel.grouped(b, &g), HD_OK);
        assert_int_equal(b->kernel.grouped_outer(b, &o), HD_OK);
        for (size_t e = 0; e < EXPERTS; e++) {
            const size_t from = (size_t)begins[e], m = (size_t)begins[e + 1] - from, each = bt ? WIDE : INNER;
            hd_tensor to = hd_view_rows(&z.t, from, m), a = hd_view_rows(&x.t, from, m),
                      of = hd_view_rows(&w.t, e * each, each), into = hd_view_rows(&dz.t, e * INNER, INNER);
            hd_gemm_args forth = {.y = &to, .a = &a, .b = &of, .b_transposed = bt},
                         back = {.y = &into, .a = &a, .a_transposed = true, .b = &to, .add = true};
            assert_int_equal(b->kernel.gemm(b, &forth), HD_OK);
            assert_int_equal(b->kernel.gemm(b, &back), HD_OK);
        }
        assert_memory_equal(y.whole, z.whole, (rows * y.wide + MARGIN) * sizeof(hd_real));
        assert_memory_equal(dw.whole, dz.whole, (EXPERTS * INNER * dw.wide + MARGIN) * sizeof(hd_real));
        free(x.whole), free(w.whole), free(y.whole), free(z.whole), free(dw.whole), free(dz.whole);
        hd_backend_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_training_equal_sums_of_rounded_numbers),
        cmocka_unit_test(threads_and_neighbors_change_no_bit),
        cmocka_unit_test(numbers_below_the_normal_ones_may_be_zeros),
        cmocka_unit_test(experts_equal_products_of_their_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
