/* Products with weights of 8-bit whole numbers: every form of this processor against the rule, computed here
   number by number, to the last bit, at all edges of tiles; whatever the rows beside a row and the threads;
   and numbers that are not finite. */
#include "backend/cpu/form/form.h"
#include "check.h"
#include "tensor/int8.h"

static const hd_form *const forms[] = {
#define X(name) &hd_form_##name,
    HD_FORM_LIST(X)
#undef X
};

static hd_backend *int8_backend(int threads, const hd_form *form)
{
    hd_err err = {0};
    hd_backend *b = NULL;
    hd_backend_opt opt = {.threads = threads, .precision = HD_PRECISION_INT8};
    if (hd_backend_new(&b, "cpu", &opt, &err)) fail_msg("%s", err.text);
    ((hd_cpu *)b)->form = form;
    return b;
}

static bool is_here(const hd_form *f)
{
    return f->needs && f->stores == HD_I8 && f->needs();
}

/* -- the rule -- */

static float scale_of(const hd_real *x, size_t k, float *inverse)
{
    float max = 0;
    for (size_t i = 0; i < k; i++) {
        if (!isfinite(x[i])) return *inverse = 0, NAN;
        max = fmaxf(max, fabsf(x[i]));
    }
    *inverse = max < 0x1p-110f ? 0 : 127 / max;
    return max < 0x1p-110f ? 0 : max / 127;
}

/* Whether a row has a second line: the square of its largest number is more than 64 times the mean of all, or
   fewer times in a row of less than 768, all of them rounded. */
static bool is_uneven(const hd_real *x, size_t k, float inverse)
{
    int64_t squares = 0;
    for (size_t l = 0; inverse > 0 && l < k; l++) /* not of a row that is not finite */
        squares += (int64_t)rintf(x[l] * inverse) * (int64_t)rintf(x[l] * inverse);
    const int64_t times = k / 12 < 16 ? 16 : k / 12 > 64 ? 64 : (int64_t)(k / 12);
    return inverse > 0 && times * squares < (int64_t)(127 * 127 * k);
}

/* `fine`: weights have second lines, too. */
static float expected(const hd_real *x, const hd_real *w, size_t k, float start, bool fine)
{
    float ix, iw, sx = scale_of(x, k, &ix), sw = scale_of(w, k, &iw);
    int64_t sum[2][2] = {{0}}; /* of lines of w with those of x */
    for (size_t l = 0; l < k && ix > 0 && iw > 0; l++) {
        const float u = rintf(x[l] * ix), v = rintf(w[l] * iw);
        const int64_t of_x[2] = {(int64_t)u, (int64_t)rintf(254 * fmaf(x[l], ix, -u))},
                      of_w[2] = {(int64_t)v, (int64_t)rintf(254 * fmaf(w[l], iw, -v))};
        for (int i = 0; i < 4; i++) sum[i / 2][i % 2] += of_w[i / 2] * of_x[i % 2];
    }
    for (int line = fine; line >= 0; line--) {
        const float by = sx * (line ? sw * (1.0f / 254) : sw);
        if (is_uneven(x, k, ix)) start = fmaf((float)sum[line][1], by * (1.0f / 254), start);
        start = fmaf((float)sum[line][0], by, start);
    }
    return start;
}

/* -- checks -- */

enum { GAP = 3 }; /* numbers between rows */
#define UNTOUCHED 12345.0f

typedef struct product {
    hd_real *a, *w, *bias, *y, *old;
    hd_tensor ta, tw, tbias, ty;
} product;

static hd_real *numbers(size_t count, uint64_t seed)
{
    hd_real *x = malloc((count + 1) * sizeof *x);
    fill_normal(x, count, 1, seed);
    return x;
}

static hd_tensor spaced(hd_real *x, size_t rows, size_t cols)
{
    hd_tensor t = hd_matrix(x, rows, cols);
    t.stride = cols + GAP;
    return t;
}

static product make_product(size_t m, size_t n, size_t k)
{
    product p = {.a = numbers(m * (k + GAP), 1),
                 .w = numbers(n * (k + GAP), 2),
                 .bias = numbers(n, 3),
                 .y = numbers(m * (n + GAP), 4),
                 .old = numbers(m * (n + GAP), 4)};
    p.ta = spaced(p.a, m, k), p.tw = spaced(p.w, n, k), p.ty = spaced(p.y, m, n);
    p.tbias = hd_matrix(p.bias, 1, n);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < GAP; j++) p.y[i * p.ty.stride + n + j] = UNTOUCHED;
    return p;
}

static void free_product(product *p)
{
    free(p->a), free(p->w), free(p->bias), free(p->y), free(p->old);
}

static void check(hd_backend *b, product *p, size_t m, size_t n, size_t k, bool add)
{
    const char *name = ((hd_cpu *)b)->form->name;
    assert_int_equal(b->prepare(b, &p->tw, HD_PREDICTING), HD_OK);
    assert_non_null(p->tw.prepared);
    hd_gemm_args g = {.y = &p->ty, .a = &p->ta, .b = &p->tw, .b_transposed = true, .add = add};
    if (!add) g.bias = &p->tbias;
    assert_int_equal(b->kernel.gemm(b, &g), HD_OK);
    b->unprepare(b, &p->tw);
    for (size_t i = 0; i < m; i++) {
        const hd_real *y = p->y + i * p->ty.stride;
        for (size_t j = 0; j < n; j++) {
            float start = add ? p->old[i * p->ty.stride + j] : p->bias[j],
                  is = expected(p->a + i * p->ta.stride, p->w + j * p->tw.stride, k, start, false);
            if (memcmp(&is, y + j, sizeof is) && !(isnan(is) && isnan(y[j])))
                fail_msg("%s %zux%zux%zu add %d at %zu,%zu: %.9g, expected %.9g", name, m, n, k, add, i, j,
                         (double)y[j], (double)is);
        }
        for (size_t j = 0; j < GAP; j++) assert_true(y[n + j] == UNTOUCHED);
    }
}

static void check_size(hd_backend *b, size_t m, size_t n, size_t k, bool add)
{
    product p = make_product(m, n, k);
    check(b, &p, m, n, k, add);
    free_product(&p);
}

/* Rows 0, every, 2 * every ... have a number that is much larger than the others. */
static void check_uneven(hd_backend *b, size_t m, size_t n, size_t k, size_t every)
{
    product p = make_product(m, n, k);
    size_t uneven = 0;
    for (size_t i = 0; i < m; i++) {
        hd_real *x = p.a + i * p.ta.stride;
        float inverse;
        if (i % every == 0) x[(7 * i) % k] = i & 1 ? 300 : -300;
        scale_of(x, k, &inverse);
        uneven += is_uneven(x, k, inverse);
    }
    assert_true(uneven >= (m + every - 1) / every);
    check(b, &p, m, n, k, false);
    free_product(&p);
}

static void every_form_gives_the_bits_of_the_rule(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT_OF(forms); f++) {
        if (!is_here(forms[f])) continue;
        for (int threads = 1; threads <= 3; threads += 2) {
            hd_backend *b = int8_backend(threads, forms[f]);
            for (size_t s = 1; s <= 35; s++) {
                check_size(b, s, 13, 9, s & 1);
                check_size(b, 9, s, 7, s & 2);
                check_size(b, 5, 25, s, s & 1);
                check_size(b, 1 + s % 4, 1 + s % 30, s, s & 2);
            }
            check_size(b, 3, 17, 0, false);
            check_size(b, 1, 67, 515, false);
            check_size(b, 64, 33, 67, true); /* as many rows as are quantized together, and more */
            check_size(b, 65, 33, 67, false);
            check_size(b, 131, 40, 21, true);
            check_size(b, 1100, 9, 40, false); /* more than wait for all columns, and smaller parts */
            check_size(b, 100, 9, 2100, true);
            check_size(b, 67, 19, 33001, false); /* more columns than a block */
            hd_backend_free(b);
        }
    }
}

static void rows_with_outliers_have_a_second_line(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT_OF(forms); f++) {
        if (!is_here(forms[f])) continue;
        for (int threads = 1; threads <= 3; threads += 2) {
            hd_backend *b = int8_backend(threads, forms[f]);
            for (size_t m = 1; m <= 37; m++)
                for (size_t every = 1; every <= 3; every++) check_uneven(b, m, 9 + m % 5, 100 + m, every);
            check_uneven(b, 64, 33, 130, 1);
            check_uneven(b, 73, 33, 131, 2);
            check_uneven(b, 150, 35, 515, 3);
            hd_backend_free(b);
        }
    }
}

/* The error of a product beside that of weights and rows that are even. */
static void outliers_cost_no_accuracy(void **state)
{
    (void)state;
    enum { M = 16, N = 32, K = 512 };
    hd_backend *b = int8_backend(1, &hd_form_plain);
    double error[2] = {0};
    for (int uneven = 0; uneven < 2; uneven++) {
        product p = make_product(M, N, K);
        for (size_t i = 0; uneven && i < M; i++) p.a[i * p.ta.stride + 5] = 100;
        for (size_t j = 0; j < N; j++) p.w[j * p.tw.stride + 5] = 0; /* it says nothing */
        check(b, &p, M, N, K, false);
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < N; j++) {
                double y = (double)p.bias[j];
                for (size_t l = 0; l < K; l++)
                    y += (double)p.a[i * p.ta.stride + l] * (double)p.w[j * p.tw.stride + l];
                error[uneven] += pow(y - (double)p.y[i * p.ty.stride + j], 2);
            }
        free_product(&p);
    }
    hd_backend_free(b);
    print_message("squared error: %.3g, with outliers %.3g\n", error[0], error[1]);
    assert_true(error[1] < error[0]);
}

/* -- factors of columns -- */

enum { ROWS = 5, OUTPUTS = 37, INPUTS = 70 };

/* A weight whose column 5 is as small as the inputs of it are large. */
static product make_leaning(void)
{
    product p = make_product(ROWS, OUTPUTS, INPUTS);
    for (size_t j = 0; j < OUTPUTS; j++) p.w[j * p.tw.stride + 5] /= 50;
    for (size_t i = 0; i < ROWS; i++) p.a[i * p.ta.stride + 5] *= 50;
    return p;
}

static void factors_of(float *columns, const product *p)
{
    double sums[INPUTS];
    for (size_t l = 0; l < INPUTS; l++) columns[l] = INFINITY;
    hd_int8_columns(columns, p->w, p->tw.stride, OUTPUTS, INPUTS, sums);
}

static void multiply(hd_backend *b, product *p, const hd_int8_weight *q)
{
    hd_gemm_args g = {.y = &p->ty, .a = &p->ta, .b = &p->tw, .b_transposed = true, .bias = &p->tbias};
    assert_int_equal(b->prepare_int8(b, &p->tw, q), HD_OK);
    assert_int_equal(b->kernel.gemm(b, &g), HD_OK);
    b->unprepare(b, &p->tw);
}

static double error_of(const product *p)
{
    double error = 0;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < OUTPUTS; j++) {
            double y = (double)p->bias[j];
            for (size_t l = 0; l < INPUTS; l++)
                y += (double)p->a[i * p->ta.stride + l] * (double)p->w[j * p->tw.stride + l];
            error += pow(y - (double)p->y[i * p->ty.stride + j], 2);
        }
    return error;
}

/* Rows that were rounded before, as those of a file are, give the same bits as values do; with second lines
   and without. */
static void every_form_knows_factors_of_columns(void **state)
{
    (void)state;
    float columns[INPUTS], scale[OUTPUTS];
    int8_t bytes[OUTPUTS][INPUTS], left[OUTPUTS][INPUTS];
    const int8_t *row[OUTPUTS], *rest[OUTPUTS];
    product p = make_leaning();
    factors_of(columns, &p);
    for (size_t j = 0; j < OUTPUTS; j++) {
        hd_real w[INPUTS];
        float inverse;
        for (size_t l = 0; l < INPUTS; l++) w[l] = p.w[j * p.tw.stride + l] / columns[l];
        scale[j] = scale_of(w, INPUTS, &inverse), row[j] = bytes[j], rest[j] = left[j];
        for (size_t l = 0; l < INPUTS; l++) {
            bytes[j][l] = (int8_t)rintf(w[l] * inverse);
            left[j][l] = (int8_t)rintf(254 * fmaf(w[l], inverse, -(float)bytes[j][l]));
        }
    }
    for (size_t f = 0; f < COUNT_OF(forms); f++) {
        if (!is_here(forms[f])) continue;
        hd_backend *b = int8_backend(1 + (int)f % 3, forms[f]);
        for (int kind = 0; kind < 4; kind++) {
            const bool known = kind & 1, fine = kind & 2;
            multiply(b, &p,
                     &(hd_int8_weight){known ? row : NULL, known ? scale : NULL, columns, fine,
                                       known && fine ? rest : NULL});
            for (size_t i = 0; i < ROWS; i++)
                for (size_t j = 0; j < OUTPUTS; j++) {
                    hd_real x[INPUTS], w[INPUTS];
                    for (size_t l = 0; l < INPUTS; l++)
                        x[l] = p.a[i * p.ta.stride + l] * columns[l],
                        w[l] = p.w[j * p.tw.stride + l] / columns[l];
                    const float is = expected(x, w, INPUTS, p.bias[j], fine), y = p.y[i * p.ty.stride + j];
                    if (memcmp(&is, &y, sizeof y))
                        fail_msg("%s at %zu,%zu: %.9g, expected %.9g", forms[f]->name, i, j, (double)y,
                                 (double)is);
                }
        }
        hd_backend_free(b);
    }
    free_product(&p);
}

static void factors_of_columns_make_products_more_accurate(void **state)
{
    (void)state;
    float columns[INPUTS];
    hd_backend *b = int8_backend(1, &hd_form_plain);
    product p = make_leaning();
    multiply(b, &p, &(hd_int8_weight){0});
    const double without = error_of(&p);
    factors_of(columns, &p);
    multiply(b, &p, &(hd_int8_weight){.columns = columns});
    const double with = error_of(&p);
    free_product(&p);
    hd_backend_free(b);
    print_message("squared error: %.3g, with factors of columns %.3g\n", without, with);
    assert_true(10 * with < without);
}

/* Rows that have two lines each: what is left is the error of the weight. */
static void second_lines_of_weights_make_products_more_accurate(void **state)
{
    (void)state;
    hd_backend *b = int8_backend(1, &hd_form_plain);
    product p = make_product(ROWS, OUTPUTS, INPUTS);
    for (size_t i = 0; i < ROWS; i++) p.a[i * p.ta.stride + i] = 100;
    multiply(b, &p, &(hd_int8_weight){0});
    const double without = error_of(&p);
    multiply(b, &p, &(hd_int8_weight){.fine = true});
    const double with = error_of(&p);
    free_product(&p);
    hd_backend_free(b);
    print_message("squared error: %.3g, with second lines of weights %.3g\n", without, with);
    assert_true(1000 * with < without);
}

/* Another unit of a weight changes nothing, nor does a column of zeros; of several matrices the least factor
   holds. */
static void factors_are_the_shares_of_columns(void **state)
{
    (void)state;
    static const hd_real w[2][4] = {{1, -16, 0, 3}, {-1, 16, 0, -3}}, even[4] = {1, 1, 1, 1};
    float columns[4] = {INFINITY, INFINITY, INFINITY, INFINITY}, larger[4] = {9, 9, 9, 9};
    hd_real times[8];
    double sums[4];
    for (size_t i = 0; i < 8; i++) times[i] = 1024 * w[i / 4][i % 4];
    hd_int8_columns(columns, w[0], 4, 2, 4, sums);
    hd_int8_columns(larger, times, 4, 2, 4, sums);
    assert_memory_equal(columns, larger, sizeof columns);
    for (size_t c = 0; c < 4; c++) {
        const double share = fmax(fabs((double)w[0][c]) / 5, 0x1p-10);
        assert_true(fabs((double)columns[c] - pow(share, 0.75)) < 1e-6 * (double)columns[c]);
    }
    hd_int8_columns(columns, even, 4, 1, 4, sums);
    assert_true(columns[1] == 1 && columns[3] < 1 && columns[2] > 0);
    memset(times, 0, sizeof times);
    hd_int8_columns(larger, times, 4, 2, 4, sums);
    assert_true(larger[1] == 1);
}

/* The largest sums there can be, of both signs, are exact. */
static void sums_reach_the_end_of_32_bits(void **state)
{
    (void)state;
    enum { K = 128 * 1024, N = 3 };
    for (size_t f = 0; f < COUNT_OF(forms); f++) {
        if (!is_here(forms[f])) continue;
        hd_backend *b = int8_backend(1, forms[f]);
        product p = make_product(2, N, K);
        for (size_t i = 0; i < 2 * p.ta.stride; i++) p.a[i] = 1;
        for (size_t i = 0; i < N * p.tw.stride; i++) p.w[i] = i < p.tw.stride ? -1 : 1;
        check(b, &p, 2, N, K, false);
        free_product(&p);
        product deeper = make_product(1, 1, K + 1); /* stays f32 */
        assert_int_equal(b->prepare(b, &deeper.tw, HD_PREDICTING), HD_OK);
        assert_null(deeper.tw.prepared);
        free_product(&deeper);
        hd_backend_free(b);
    }
}

static void what_is_not_finite_spoils_its_row_alone(void **state)
{
    (void)state;
    enum { M = 9, N = 11, K = 21 };
    for (size_t f = 0; f < COUNT_OF(forms); f++) {
        if (!is_here(forms[f])) continue;
        hd_backend *b = int8_backend(1, forms[f]);
        product p = make_product(M, N, K);
        p.a[2 * p.ta.stride + 20] = NAN, p.a[3 * p.ta.stride] = INFINITY,
                              p.a[7 * p.ta.stride + 4] = -INFINITY;
        p.w[5 * p.tw.stride + 7] = INFINITY;
        for (size_t l = 0; l < K; l++) p.a[4 * p.ta.stride + l] = 0, p.a[5 * p.ta.stride + l] = 0x1p-140f;
        for (size_t l = 0; l < K; l++) p.w[p.tw.stride + l] = -0.0f, p.w[2 * p.tw.stride + l] *= 0x1p120f;
        check(b, &p, M, N, K, false);
        assert_true(isnan(p.y[2 * p.ty.stride]) && isnan(p.y[5]) && isfinite(p.y[0]));
        free_product(&p);
        hd_backend_free(b);
    }
}

/* What is nearest lies at halves: to even, on every machine. */
static void halves_go_to_even(void **state)
{
    (void)state;
    static const float x[] = {127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 126.5f};
    static const int to[] = {127, 0, 2, 2, 0, -2, -2, 126};
    for (size_t f = 0; f < COUNT_OF(forms); f++) {
        if (!is_here(forms[f])) continue;
        hd_backend *b = int8_backend(1, forms[f]);
        hd_real one[COUNT_OF(x) * COUNT_OF(x)] = {0}, row[COUNT_OF(x)], y[COUNT_OF(x)];
        for (size_t i = 0; i < COUNT_OF(x); i++) one[i * COUNT_OF(x) + i] = 127, row[i] = x[i];
        hd_tensor w = hd_matrix(one, COUNT_OF(x), COUNT_OF(x)), a = hd_matrix(row, 1, COUNT_OF(x)),
                  out = hd_matrix(y, 1, COUNT_OF(x));
        assert_int_equal(b->prepare(b, &w, HD_PREDICTING), HD_OK);
        hd_gemm_args g = {.y = &out, .a = &a, .b = &w, .b_transposed = true};
        assert_int_equal(b->kernel.gemm(b, &g), HD_OK);
        for (size_t i = 0; i < COUNT_OF(x); i++) assert_true(y[i] == (hd_real)(127 * to[i]));
        b->unprepare(b, &w);
        hd_backend_free(b);
    }
}

static void a_function_comes_behind_the_sums(void **state)
{
    (void)state;
    hd_real bits[2][70 * 50];
    for (size_t f = 0, n = 0; f < COUNT_OF(forms); f++) {
        if (!is_here(forms[f])) continue;
        hd_backend *b = int8_backend(1 + (int)f, forms[f]);
        product p = make_product(70, 50, 40);
        hd_tensor y = hd_matrix(bits[n], 70, 50);
        assert_int_equal(b->prepare(b, &p.tw, HD_DECODING), HD_OK);
        hd_gemm_args g = {
            .y = &y, .a = &p.ta, .b = &p.tw, .b_transposed = true, .bias = &p.tbias, .act = HD_gelu};
        assert_int_equal(b->kernel.gemm(b, &g), HD_OK);
        if (n) assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
        b->unprepare(b, &p.tw);
        free_product(&p);
        hd_backend_free(b);
        n = 1;
    }
}

static void training_is_refused(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = NULL;
    hd_backend_opt opt = {.precision = HD_PRECISION_INT8, .training = true};
    assert_int_equal(hd_backend_new(&b, "cpu", &opt, &err), HD_EARG);
    assert_non_null(strstr(err.text, "int8 is for inference only"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_gives_the_bits_of_the_rule),
        cmocka_unit_test(rows_with_outliers_have_a_second_line),
        cmocka_unit_test(outliers_cost_no_accuracy),
        cmocka_unit_test(every_form_knows_factors_of_columns),
        cmocka_unit_test(factors_of_columns_make_products_more_accurate),
        cmocka_unit_test(second_lines_of_weights_make_products_more_accurate),
        cmocka_unit_test(factors_are_the_shares_of_columns),
        cmocka_unit_test(sums_reach_the_end_of_32_bits),
        cmocka_unit_test(what_is_not_finite_spoils_its_row_alone),
        cmocka_unit_test(halves_go_to_even),
        cmocka_unit_test(a_function_comes_behind_the_sums),
        cmocka_unit_test(training_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
