/* What each op's header says, on small numbers by loops in double. Gradients are checked elsewhere against
   these same forward passes, so a mistake shared by both directions shows only here. */
#include "one_run.h"

static int each(void **state)
{
    (void)state;
    begin_step(HD_INFERENCE);
    return 0;
}

/* Values below 10 after a few roundings each. */
static void assert_values(const hd_tensor *y, size_t rows, size_t cols, const double *expected)
{
    hd_real *host = host_copy(&run, y);
    assert_int_equal(hd_rows_of(y), rows);
    assert_int_equal(hd_cols_of(y), cols);
    for (size_t i = 0; i < rows * cols; i++)
        if (!(fabs((double)host[i] - expected[i]) < 5e-6))
            fail_msg("row %zu, column %zu: %g, expected %g", i / cols, i % cols, (double)host[i],
                     expected[i]);
    free(host);
}

enum { R = 7, C = 5 };

/* Random numbers in both worlds. */
static hd_tensor *numbers(size_t rows, size_t cols, uint64_t seed, double *also)
{
    hd_tensor *t = random_rows(&run, rows, cols, 1, seed);
    hd_real *host = host_copy(&run, t);
    for (size_t i = 0; i < rows * cols; i++) also[i] = (double)host[i];
    free(host);
    return t;
}

static void arithmetic(void **state)
{
    (void)state;
    double x[R * C], z[R * C], row[C], col[R], y[4][R * C];
    hd_tensor *tx = numbers(R, C, 1, x), *tz = numbers(R, C, 2, z), *trow = numbers(1, C, 3, row),
              *tcol = numbers(R, 1, 4, col);
    for (int i = 0; i < R * C; i++)
        y[0][i] = x[i] + z[i], y[1][i] = x[i] - row[i % C], y[2][i] = x[i] * col[i / C],
        y[3][i] = x[i] * row[i % C] * 1.5;
    assert_values(hd_add(&run, tx, tz), R, C, y[0]);
    assert_values(hd_sub(&run, tx, trow), R, C, y[1]);
    assert_values(hd_mul(&run, tx, tcol), R, C, y[2]);
    assert_values(hd_scale(&run, hd_mul(&run, tx, trow), 1.5f), R, C, y[3]);
}

static void products(void **state)
{
    (void)state;
    enum { OUT = 3 };
    double x[R * C], w[OUT * C], u[C * OUT], bias[OUT], y[R * OUT], z[R * OUT];
    hd_tensor *tx = numbers(R, C, 1, x), *tw = numbers(OUT, C, 2, w), *tu = numbers(C, OUT, 3, u),
              *tb = numbers(1, OUT, 4, bias);
    for (int i = 0; i < R; i++)
        for (int j = 0; j < OUT; j++) {
            double a = bias[j], b = 0;
            for (int k = 0; k < C; k++) a += x[i * C + k] * w[j * C + k], b += x[i * C + k] * u[k * OUT + j];
            y[i * OUT + j] = tanh(a), z[i * OUT + j] = b;
        }
    assert_values(hd_linear(&run, tx, tw, tb, HD_tanh), R, OUT, y);
    assert_values(hd_matmul(&run, tx, tu), R, OUT, z);
}

static void rows_moved(void **state)
{
    (void)state;
    const int32_t index[] = {3, -1, 6, 3, 7, 0};
    double x[R * C], z[6 * C], gathered[6 * C] = {0}, sum[6 * C], scattered[R * C] = {0};
    hd_tensor *tx = numbers(R, C, 1, x), *tz = numbers(6, C, 2, z);
    const int32_t *ti = hd_ints(&run, index, 6);
    for (int i = 0; i < 6; i++)
        for (int c = 0; c < C; c++) {
            bool inside = index[i] >= 0 && index[i] < R;
            if (inside)
                gathered[i * C + c] = 2 * x[index[i] * C + c], scattered[index[i] * C + c] += z[i * C + c];
            sum[i * C + c] = z[i * C + c] + gathered[i * C + c] / 2;
        }
    assert_values(hd_gather(&run, tx, ti, 6, 2), 6, C, gathered);
    assert_values(hd_scatter(&run, tz, ti, R), R, C, scattered);
    assert_values(hd_gather_add(&run, tz, tx, ti), 6, C, sum);
}

static void rows_joined_and_cut(void **state)
{
    (void)state;
    double x[R * C], z[R * C], below[2 * R * C], beside[R * 2 * C], cut[2 * 3];
    hd_tensor *tx = numbers(R, C, 1, x), *tz = numbers(R, C, 2, z);
    memcpy(below, x, sizeof x), memcpy(below + R * C, z, sizeof z);
    for (int i = 0; i < R; i++)
        memcpy(beside + i * 2 * C, x + i * C, C * sizeof *x),
            memcpy(beside + (i * 2 + 1) * C, z + i * C, C * sizeof *x);
    for (int i = 0; i < 6; i++) cut[i] = x[(4 + i / 3) * C + 1 + i % 3];
    assert_values(hd_concat_rows(&run, (hd_tensor *const[]){tx, tz}, 2), 2 * R, C, below);
    assert_values(hd_concat_cols(&run, (hd_tensor *const[]){tx, tz}, 2), R, 2 * C, beside);
    assert_values(hd_slice_rows(&run, hd_slice_cols(&run, tx, 1, 3), 4, 2), 2, 3, cut);
}

static const int32_t len[] = {3, 0, 4};

static void segments(void **state)
{
    (void)state;
    double x[R * C], items[3 * C], spread[R * C], folded[2 * 2 * C + 2 * 2 * C] = {0};
    hd_tensor *tx = numbers(R, C, 1, x), *ti = numbers(3, C, 2, items);
    const hd_seg *seg = hd_seg_of(&run, len, 3, NULL);
    for (int i = 0; i < R; i++) memcpy(spread + i * C, items + (i < 3 ? 0 : 2) * C, C * sizeof *x);
    memcpy(folded, x, 3 * C * sizeof *x); /* rows 0 1, then 2 alone, then 3 4 and 5 6 */
    memcpy(folded + 4 * C, x + 3 * C, 4 * C * sizeof *x);
    assert_values(hd_broadcast(&run, ti, seg), R, C, spread);
    hd_rows y = hd_fold(&run, (hd_rows){tx, seg}, 2);
    assert_values(y.t, 4, 2 * C, folded);
    assert_int_equal(y.seg->items, 3);
    assert_int_equal(y.seg->rows, 4);
    assert_true(y.seg->len[0] == 2 && y.seg->len[1] == 0 && y.seg->len[2] == 2 && y.seg->begin[2] == 2);
}

static void reductions(void **state)
{
    (void)state;
    double x[R * C], y[5][3 * C] = {{0}};
    hd_tensor *tx = numbers(R, C, 1, x);
    const hd_seg *seg = hd_seg_of(&run, len, 3, NULL);
    for (int i = 0; i < 3; i += 2)
        for (int c = 0; c < C; c++) {
            int from = i ? 3 : 0, n = len[i];
            double sum = 0, max = -INFINITY;
            for (int r = from; r < from + n; r++) sum += x[r * C + c], max = fmax(max, x[r * C + c]);
            y[HD_SUM][i * C + c] = sum, y[HD_MEAN][i * C + c] = sum / n, y[HD_MAX][i * C + c] = max;
            y[HD_FIRST][i * C + c] = x[from * C + c], y[HD_LAST][i * C + c] = x[(from + n - 1) * C + c];
        }
    for (int kind = HD_SUM; kind <= HD_LAST; kind++)
        assert_values(hd_reduce(&run, tx, seg, (hd_reduction)kind), 3, C, y[kind]);
}

static void softmaxes(void **state)
{
    (void)state;
    double x[R * C], y[4][R * C];
    hd_tensor *tx = numbers(R, C, 1, x);
    const hd_seg *seg = hd_seg_of(&run, len, 3, NULL);
    for (int i = 0; i < R * C; i++) {
        double across = 0, down = 0;
        for (int c = 0; c < C; c++) across += exp(x[i / C * C + c]);
        for (int r = i / C < 3 ? 0 : 3; r < (i / C < 3 ? 3 : R); r++) down += exp(x[r * C + i % C]);
        y[0][i] = exp(x[i]) / across, y[1][i] = log(y[0][i]), y[2][i] = exp(x[i]) / down,
        y[3][i] = log(y[2][i]);
    }
    assert_values(hd_softmax(&run, tx), R, C, y[0]);
    assert_values(hd_log_softmax(&run, tx), R, C, y[1]);
    assert_values(hd_segment_softmax(&run, tx, seg), R, C, y[2]);
    assert_values(hd_segment_log_softmax(&run, tx, seg), R, C, y[3]);
}

/* All widths around those of vectors. */
static void norms(void **state)
{
    (void)state;
    enum { WIDE = 40 };
    for (size_t n = 2; n <= WIDE; n++)
        for (int rms = 0; rms < 2; rms++) {
            double x[3 * WIDE], branch[3 * WIDE], gain[WIDE], bias[WIDE], y[3 * WIDE];
            hd_run_begin(&run, HD_INFERENCE);
            hd_tensor *tx = numbers(3, n, 1, x), *tb = numbers(3, n, 2, branch), *tg = numbers(1, n, 3, gain),
                      *ta = numbers(1, n, 4, bias);
            for (size_t i = 0; i < 3; i++) {
                double mean = 0, square = 0;
                for (size_t c = 0; c < n; c++)
                    x[i * n + c] += branch[i * n + c], mean += rms ? 0 : x[i * n + c] / (double)n;
                for (size_t c = 0; c < n; c++)
                    square += (x[i * n + c] - mean) * (x[i * n + c] - mean) / (double)n;
                for (size_t c = 0; c < n; c++)
                    y[i * n + c] = (x[i * n + c] - mean) / sqrt(square + 0.01) * gain[c] + bias[c];
            }
            const hd_norm_opt o = {.eps = 0.01f, .rms = rms};
            hd_tensor *sum = NULL;
            assert_values(hd_norm_residual(&run, tx, tb, tg, ta, &o, &sum), 3, n, y);
            assert_values(sum, 3, n, x);
            assert_values(hd_norm(&run, sum, tg, ta, &o), 3, n, y);
        }
}

static void losses(void **state)
{
    (void)state;
    const int32_t target[] = {2, 0, -1, 4, 1, 1, 3};
    double x[R * C], z[R * C], w[R], entropy[R], logp[R], squared[R], binary[R], total = 0;
    hd_tensor *tx = numbers(R, C, 1, x), *tz = numbers(R, C, 2, z), *tw = numbers(R, 1, 3, w), *tp = NULL;
    for (int i = 0; i < R; i++) {
        double sum = 0, mean = 0, s = 0, b = 0;
        for (int c = 0; c < C; c++) {
            double v = x[i * C + c], t = z[i * C + c];
            sum += exp(v), mean += v / C, s += (v - t) * (v - t),
                b += -t * log(1 / (1 + exp(-v))) - (1 - t) * log(1 / (1 + exp(v)));
            total += v;
        }
        double at = target[i] < 0 ? 0 : x[i * C + target[i]];
        logp[i] = target[i] < 0 ? 0 : at - log(sum);
        entropy[i] = target[i] < 0 ? 0 : w[i] * (log(sum) - 0.9 * at - 0.1 * mean);
        squared[i] = w[i] * s, binary[i] = b;
    }
    const int32_t *tt = hd_ints(&run, target, R);
    assert_values(hd_cross_entropy(&run, tx, tt,
                                   &(hd_loss_opt){.coef = 7, .smoothing = 0.1f, .weight = tw, .logp = &tp}),
                  R, 1, entropy); /* coef is of the gradient */
    assert_values(tp, R, 1, logp);
    assert_values(hd_squared_error(&run, tx, tz, &(hd_loss_opt){.coef = 7, .weight = tw}), R, 1, squared);
    assert_values(hd_binary_cross_entropy(&run, tx, tz, &(hd_loss_opt){.coef = 7}), R, 1, binary);
    assert_values(hd_sum_loss(&run, tx, 7), 1, 1, &total);
    assert_true(fabs(hd_loss_total(&run, hd_sum_loss(&run, tx, 7)) - total) < 1e-5);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, each)
    const struct CMUnitTest tests[] = {
        TEST(arithmetic),          TEST(products), TEST(rows_moved),
        TEST(rows_joined_and_cut), TEST(segments), TEST(reductions),
        TEST(softmaxes),           TEST(norms),    TEST(losses),
    };
    return cmocka_run_group_tests_name("each op gives what its header says", tests, begin, end);
}
