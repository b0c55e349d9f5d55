/* Convolution and recurrence beside attention: a stack of convolutions, windows of rows and a linear layer,
   sees as far as its windows reach and no further; a recurrent network sees all that came before, through as
   many steps as lie between, and less of it with each; self-attention sees all of an item at once. */
#include "check.h"

enum { WIDTH = 6, ROWS = 20, SECOND = 13, LAYERS = 4, KERNEL = 3 };
static const int32_t len[] = {SECOND, ROWS - SECOND};

/* Each row with those before and after it, zeros past the ends of the item, through one linear layer. */
static hd_tensor *convolve(hd_run *r, hd_tensor *x, hd_tensor *w)
{
    hd_tensor *tap[KERNEL];
    for (int k = 0; k < KERNEL; k++) {
        int32_t index[ROWS];
        for (int32_t i = 0; i < ROWS; i++) {
            int32_t from = i + k - KERNEL / 2;
            index[i] = from >= 0 && from < ROWS && (from < SECOND) == (i < SECOND) ? from : -1;
        }
        tap[k] = hd_gather(r, x, hd_ints(r, index, ROWS), ROWS, 1);
    }
    return hd_linear(r, hd_concat_cols(r, tap, KERNEL), w, NULL, HD_tanh);
}

enum { ATTENTION = 0, RECURRENT = -1 };

/* Rows out of `layers` convolutions, or of one of these; the caller frees them. */
static hd_real *forward(hd_run *r, const hd_real *in, int layers)
{
    hd_run_begin(r, HD_INFERENCE);
    hd_rows x = {hd_from(r, ROWS, WIDTH, in), hd_seg_of(r, len, COUNT_OF(len), NULL)};
    if (layers == ATTENTION) x = hd_attend(r, x, x, x, &(hd_attend_opt){.heads = 1});
    if (layers == RECURRENT)
        x = hd_recur(r, x, random_rows(r, WIDTH, WIDTH, 0.35, 9), NULL, NULL,
                     &(hd_recur_opt){.cell = HD_RNN, .act = HD_tanh}, NULL);
    for (int l = 0; l < layers; l++)
        x.t = convolve(r, x.t, random_rows(r, WIDTH, KERNEL * WIDTH, 0.5, 10 + (uint64_t)l));
    return host_copy(r, x.t);
}

/* A row must change exactly where it can see the row that was changed. */
static void assert_sight(hd_run *r, int layers, int32_t reach)
{
    hd_real in[ROWS * WIDTH];
    fill_normal(in, COUNT_OF(in), 1, 1);
    hd_real *before = forward(r, in, layers);
    for (int32_t i = 0; i < ROWS; i++) {
        hd_real kept = in[i * WIDTH];
        in[i * WIDTH] += 1;
        hd_real *after = forward(r, in, layers);
        in[i * WIDTH] = kept;
        for (int32_t j = 0; j < ROWS; j++) {
            bool sees =
                     (i < SECOND) == (j < SECOND) && abs(i - j) <= reach && (layers != RECURRENT || i <= j),
                 moved = memcmp(before + j * WIDTH, after + j * WIDTH, WIDTH * sizeof *after);
            if (sees != moved)
                fail_msg("%d layers: row %d %s when row %d is changed", layers, j, moved ? "moves" : "stays",
                         i);
        }
        free(after);
    }
    free(before);
}

static void a_convolution_sees_its_window_and_attention_everything(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (int layers = 1; layers <= LAYERS; layers++) assert_sight(&r, layers, layers * (KERNEL / 2));
    assert_sight(&r, ATTENTION, ROWS);
    assert_sight(&r, RECURRENT, ROWS);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* How much the last row moves when row i is changed. */
static double influence(hd_run *r, int layers, size_t i)
{
    hd_real in[ROWS * WIDTH];
    fill_normal(in, COUNT_OF(in), 1, 1);
    hd_real *before = forward(r, in, layers);
    in[i * WIDTH] += 1;
    hd_real *after = forward(r, in, layers);
    double far = 0;
    for (size_t c = 0; c < WIDTH; c++) {
        double d = (double)after[(SECOND - 1) * WIDTH + c] - (double)before[(SECOND - 1) * WIDTH + c];
        far += d * d;
    }
    free(before), free(after);
    return sqrt(far);
}

/* Twelve steps back little is left in a recurrent network; attention weighs by likeness, not by distance. */
static void distance_fades_in_recurrence_and_not_in_attention(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    double near = influence(&r, RECURRENT, SECOND - 2), far = influence(&r, RECURRENT, 0),
           attention = influence(&r, ATTENTION, 0);
    print_message("recurrent %.2g, then %.2g; attention %.2g\n", near, far, attention);
    assert_true(far < 1e-2 * near);
    assert_true(attention > 10 * far);
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_sees_its_window_and_attention_everything),
        cmocka_unit_test(distance_fades_in_recurrence_and_not_in_attention)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
