/* The best of an output layer in int8: those of the layer in f32, in their order and to the bit of an exact
   sum, whatever the rows beside a row and the threads. */
#include "backend/cpu/form/form.h"
#include "check.h"

enum { FEW = 16, ROWS = 200, VOCAB = 4001, WIDTH = 67 };

typedef struct layer {
    hd_real *x, *w, *bias, *y;
    hd_tensor tx, tw, tbias, ty;
    hd_backend *backend;
} layer;

static layer open_layer(int threads, size_t rows)
{
    hd_err err = {0};
    layer l = {.x = malloc(ROWS * WIDTH * sizeof *l.x),
               .w = malloc(VOCAB * WIDTH * sizeof *l.w),
               .bias = malloc(VOCAB * sizeof *l.bias),
               .y = malloc(ROWS * VOCAB * sizeof *l.y)};
    fill_normal(l.x, ROWS * WIDTH, 1, 1), fill_normal(l.w, VOCAB * WIDTH, 1, 2);
    fill_normal(l.bias, VOCAB, 1, 3);
    for (size_t i = 0; i < ROWS; i += 3) l.x[i * WIDTH + 5] = 90; /* a second line */
    for (size_t j = 0; j < VOCAB; j++) l.w[j * WIDTH + 5] *= 0.01f;
    hd_backend_opt opt = {.threads = threads, .precision = HD_PRECISION_INT8};
    if (hd_backend_new(&l.backend, "cpu", &opt, &err)) fail_msg("%s", err.text);
    l.tx = hd_matrix(l.x, rows, WIDTH), l.tw = hd_matrix(l.w, VOCAB, WIDTH);
    l.tbias = hd_matrix(l.bias, 1, VOCAB), l.ty = hd_matrix(l.y, rows, VOCAB);
    assert_int_equal(l.backend->prepare(l.backend, &l.tw, HD_DECODING), HD_OK);
    return l;
}

static void close_layer(layer *l)
{
    l->backend->unprepare(l->backend, &l->tw);
    hd_backend_free(l->backend);
    free(l->x), free(l->w), free(l->bias), free(l->y);
}

static void compute(layer *l, bool rescored)
{
    hd_backend *b = l->backend;
    hd_gemm_args g = {.y = &l->ty, .a = &l->tx, .b = &l->tw, .b_transposed = true, .bias = &l->tbias};
    assert_int_equal(b->kernel.gemm(b, &g), HD_OK);
    hd_rescore_args a = {.y = &l->ty, .x = &l->tx, .w = &l->tw, .bias = &l->tbias};
    if (rescored) assert_int_equal(b->rescore(b, &a), HD_OK);
}

static void top(const layer *l, const hd_real *y, int32_t ids[FEW])
{
    hd_tensor t = hd_matrix((void *)(uintptr_t)y, 1, VOCAB),
              to = hd_shaped(ids, HD_I32, 2, (const size_t[]){1, FEW});
    assert_int_equal(l->backend->kernel.top(l->backend, &(hd_top_args){.ids = &to, .x = &t, .k = FEW}),
                     HD_OK);
}

/* Scores in double, rounded: neighbors are further apart than sums in f32 err. */
static hd_real *in_f32(const layer *l)
{
    hd_real *y = malloc(ROWS * VOCAB * sizeof *y);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < VOCAB; j++) {
            double sum = (double)l->bias[j];
            for (size_t k = 0; k < WIDTH; k++)
                sum += (double)l->x[i * WIDTH + k] * (double)l->w[j * WIDTH + k];
            y[i * VOCAB + j] = (hd_real)sum;
        }
    return y;
}

static size_t count_wrong(layer *l, const hd_real *expected, bool rescored)
{
    size_t wrong = 0;
    compute(l, rescored);
    for (size_t i = 0; i < ROWS; i++) {
        int32_t is[FEW], should[FEW];
        top(l, l->y + i * VOCAB, is), top(l, expected + i * VOCAB, should);
        wrong += memcmp(is, should, sizeof is) != 0;
        for (int c = 0; rescored && c < FEW; c++)
            assert_true(fabsf(l->y[i * VOCAB + (size_t)is[c]] - expected[i * VOCAB + (size_t)is[c]]) < 2e-4f);
    }
    return wrong;
}

static void the_best_are_those_of_f32(void **state)
{
    (void)state;
    layer l = open_layer(2, ROWS);
    hd_real *expected = in_f32(&l);
    size_t before = count_wrong(&l, expected, false), after = count_wrong(&l, expected, true);
    print_message("the best %d of %zu of %d rows are others in int8, rescored of %zu\n", FEW, before, ROWS,
                  after);
    assert_true(before > ROWS / 4);
    assert_int_equal(after, 0);
    free(expected);
    close_layer(&l);
}

static void a_row_does_not_depend_on_others(void **state)
{
    (void)state;
    layer all = open_layer(1, ROWS);
    compute(&all, true);
    for (int threads = 1; threads <= 3; threads++) {
        layer l = open_layer(threads, 1);
        for (size_t i = 0; i < 9; i++) {
            l.tx.data = l.x + i * WIDTH;
            compute(&l, true);
            assert_memory_equal(l.y, all.y + i * VOCAB, VOCAB * sizeof *l.y);
        }
        close_layer(&l);
    }
    close_layer(&all);
}

/* Nothing but what might be among the best changes. */
static void few_are_computed_again(void **state)
{
    (void)state;
    layer l = open_layer(1, ROWS);
    hd_real *before = malloc(ROWS * VOCAB * sizeof *before);
    size_t changed = 0;
    compute(&l, false);
    memcpy(before, l.y, ROWS * VOCAB * sizeof *before);
    compute(&l, true);
    for (size_t i = 0; i < ROWS * VOCAB; i++) changed += before[i] != l.y[i];
    print_message("%.1f scores of a row are computed again\n", (double)changed / ROWS);
    assert_true(changed < ROWS * VOCAB / 20);
    free(before);
    close_layer(&l);
}

static void what_is_not_finite_stays(void **state)
{
    (void)state;
    layer l = open_layer(1, 2);
    l.x[3] = NAN;
    compute(&l, true);
    for (size_t j = 0; j < VOCAB; j++) assert_true(isnan(l.y[j]) && isfinite(l.y[VOCAB + j]));
    for (size_t k = 0; k < WIDTH; k++) l.x[k] = 0;
    compute(&l, true);
    assert_memory_equal(l.y, l.bias, VOCAB * sizeof *l.y);
    close_layer(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_are_those_of_f32),
        cmocka_unit_test(a_row_does_not_depend_on_others),
        cmocka_unit_test(few_are_computed_again),
        cmocka_unit_test(what_is_not_finite_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
