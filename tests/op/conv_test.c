/* Convolution and pooling against numbers of PyTorch 2.15 (torch.nn.functional.conv2d, max_pool2d, avg_pool2d
   in double), on a batch of different pictures; pixels; the same bits whatever the threads and the batch. */
#include "op/pictures.h"

/* x[i] = ((i * by + from) % 64) / 16 - 2, exact in every type */
static hd_real *filled(size_t n, size_t by, size_t from)
{
    hd_real *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = (hd_real)((double)((i * by + from) % 64) / 16 - 2);
    return x;
}

static hd_tensor *sent(hd_run *r, size_t rows, size_t cols, size_t by, size_t from)
{
    hd_real *host = filled(rows * cols, by, from);
    hd_tensor *t = hd_from(r, rows, cols, host);
    free(host);
    return t;
}

/* Two pictures that are none around one of this size, so that places are not row numbers. */
static hd_rows picture(hd_run *r, int32_t height, int32_t width, size_t channels)
{
    const int32_t size[] = {height + 1, width, 0, 0, height, width, height, width + 2};
    size_t before = (size_t)size[0] * (size_t)size[1], cells = (size_t)height * (size_t)width,
           rows = before + cells + (size_t)size[6] * (size_t)size[7];
    hd_real *x = filled(rows * channels, 5, 1), *inner = filled(cells * channels, 37, 11);
    memcpy(x + before * channels, inner, cells * channels * sizeof *x);
    hd_rows y = {hd_from(r, rows, channels, x), hd_grid_of(r, size, 4, NULL)};
    free(x), free(inner);
    return y;
}

static void compare(hd_run *r, hd_rows y, const double *expected, size_t count, const char *name)
{
    assert_run_ok(r);
    size_t from = (size_t)(y.seg->host_len[0] + y.seg->host_len[1]), n = hd_cols_of(y.t);
    if ((size_t)y.seg->host_len[2] * n != count)
        fail_msg("%s: %d rows of %zu, expected %zu numbers", name, y.seg->host_len[2], n, count);
    hd_real *host = host_copy(r, y.t);
    for (size_t i = 0; i < count; i++) /* sums of at most 50 numbers below 4: a few roundings of 1e-6 */
        if (!(fabs((double)host[from * n + i] - expected[i]) < 1e-5))
            fail_msg("%s: number %zu is %.8g, expected %.8g", name, i, (double)host[from * n + i],
                     expected[i]);
    free(host);
}

static const struct {
    int32_t height, width;
    size_t channels, out;
    hd_conv_opt opt;
    size_t count;
    double expected[40];
} convs[] = {
    {5,
     4,
     3,
     2,
     {{3, 3}, {1, 1}, {1, 1}, HD_IDENTITY},
     40,
     {-2.4492188, 5.2304688,  1.1289062,  1.2773438,  -7.7265625, -5.2578125, 0.54296875, -0.93359375,
      8.3320312,  -2.6640625, -0.2578125, 3.6445312,  -6.796875,  -10.039062, -0.359375,  2.2851562,
      3.8164062,  1.1015625,  -3.4140625, -6.3398438, -5.953125,  -3.7734375, -0.71875,   2.7070312,
      3.8007812,  -6.6328125, 2.4296875,  -3.5742188, -13.609375, -2.2578125, 4.921875,   -3.1210938,
      4.0585938,  -2.4492188, -5.3789062, 0.86328125, -4.2421875, -4.1796875, 1.5195312,  2.8554688}},
    {6,
     7,
     2,
     2,
     {{3, 2}, {2, 3}, {1, 0}, HD_IDENTITY},
     12,
     {-2.7734375, -4.6484375, -0.8671875, 4.5078125, 6.7148438, -3.4414062, 0.04296875, 2.7617188, -1.7539062,
      6.8398438, -13.925781, -6.4570312}},
    {7, 7, 1, 2, {{7, 7}, {2, 2}, {3, 3}, HD_IDENTITY}, 32, {-2.21875,   6.78125,    -5.546875,  -0.109375,
                                                             -2.390625,  4.890625,   -1.65625,   8.78125,
                                                             -3.421875,  -6.921875,  -17.570312, -8.3359375,
                                                             -6.4296875, -1.8046875, -5.640625,  -0.609375,
                                                             -6.390625,  -11.234375, -1.7421875, 0.2265625,
                                                             -4.5703125, 3.2890625,  -9.796875,  -4.109375,
                                                             -5.90625,   -1.84375,   0.109375,   2.515625,
                                                             -1.171875,  2.078125,   7.53125,    2.03125}},
    {4,
     5,
     3,
     2,
     {{1, 1}, {2, 2}, {0, 0}, HD_IDENTITY},
     12,
     {-0.8046875, 1.3203125, -0.6015625, -3.640625, -0.8984375, 1.1484375, -0.7890625, -3.984375, -7.8359375,
      -0.1953125, -0.8828125, -4.15625}},
    {3,
     3,
     2,
     1,
     {{2, 2}, {1, 1}, {2, 2}, HD_IDENTITY},
     36, /* some windows see padding alone */
     {-1.8125,    -1.8125,    -1.8125,    -1.8125,    -1.8125,    -1.8125,    -1.8125,   -2.484375,
      -4.6210938, 0.55078125, -4.0117188, -1.8125,    -1.8125,    -1.6171875, 0.8203125, 4.1015625,
      -0.78125,   -1.8125,    -1.8125,    -1.3984375, -7.3359375, -2.5546875, -7.65625,  -1.8125,
      -1.8125,    -2.4765625, 1.0195312,  3.1289062,  -4.4101562, -1.8125,    -1.8125,   -1.8125,
      -1.8125,    -1.8125,    -1.8125,    -1.8125}},
};

static void convolution_agrees_with_torch(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    for (size_t i = 0; i < COUNT_OF(convs); i++) {
        char name[32];
        snprintf(name, sizeof name, "conv %zu", i);
        hd_run_begin(&r, HD_INFERENCE);
        poison_step(&r, 1 << 16);
        size_t cols = convs[i].channels * (size_t)convs[i].opt.kernel[0] * (size_t)convs[i].opt.kernel[1];
        hd_rows y =
            hd_conv(&r, picture(&r, convs[i].height, convs[i].width, convs[i].channels),
                    sent(&r, convs[i].out, cols, 29, 5), sent(&r, 1, convs[i].out, 13, 3), &convs[i].opt);
        compare(&r, y, convs[i].expected, convs[i].count, name);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

static const struct {
    int32_t height, width;
    size_t channels;
    int kernel[2], stride[2], padding[2];
    size_t count;
    double most[12], mean[12];
} pools[] = {
    {5,
     4,
     2,
     {3, 3},
     {2, 2},
     {1, 1},
     12,
     {1.8125, 1.625, 1.8125, 1.625, 1.8125, 1.125, 1.8125, 1.75, 1.3125, 1.125, 1.9375, 1.75},
     {0.11111111, 0.25, -0.097222222, 0.11111111, 0, -0.23611111, 0.048611111, 0.13888889, -0.11111111,
      0.027777778, 0.013888889, 0.22222222}},
    {4,
     6,
     1,
     {2, 3},
     {2, 1},
     {0, 1},
     12,
     {1, 1.1875, 1.625, 1.8125, 1.8125, 1.8125, 0.75, 0.9375, 1.375, 1.5625, 1.5625, 1.5625},
     {-0.14583333, -0.0625, 0.25, 0.5625, 0.20833333, 0.020833333, -0.3125, -0.3125, 0, 0.3125, -0.041666667,
      -0.14583333}},
    {5,
     5,
     2,
     {2, 2},
     {2, 2},
     {0, 0},
     8,
     {1.8125, 1.625, 0.5625, 1.375, 1.5625, -0.125, 1.9375, 1.125},
     {-0.4375, 0.875, -0.1875, -0.875, 0.8125, -0.875, 0.0625, 0.375}},
};

static void pooling_agrees_with_torch(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    for (size_t i = 0; i < COUNT_OF(pools); i++)
        for (int mean = 0; mean < 2; mean++) {
            hd_run_begin(&r, HD_INFERENCE);
            poison_step(&r, 1 << 16);
            hd_pool_opt o = {.kind = mean ? HD_GRID_MEAN : HD_GRID_MAX};
            memcpy(o.kernel, pools[i].kernel, sizeof o.kernel);
            memcpy(o.stride, pools[i].stride, sizeof o.stride);
            memcpy(o.padding, pools[i].padding, sizeof o.padding);
            hd_rows y = hd_pool_grid(&r, picture(&r, pools[i].height, pools[i].width, pools[i].channels), &o);
            compare(&r, y, mean ? pools[i].mean : pools[i].most, pools[i].count, mean ? "mean" : "max");
        }
    hd_run_release(&r);
    hd_backend_free(b);
}

/* A window of four cells and as many channels as fill vectors and a rest. In channel c the cell c % 4 is NaN,
   in the last four all are equal: then the first gets the gradient. */
static void nan_is_the_largest_and_the_first_of_equals(void **state)
{
    enum { CELLS = 4, WIDE = 39, EQUAL = WIDE - CELLS };
    (void)state;
    static hd_real x[CELLS * WIDE], y[WIDE], dx[CELLS * WIDE];
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (size_t cell = 0; cell < CELLS; cell++)
        for (size_t c = 0; c < WIDE; c++)
            x[cell * WIDE + c] = c >= EQUAL ? 1 : c % CELLS == cell ? (hd_real)NAN : (hd_real)(cell + c);
    hd_run_begin(&r, HD_TRAIN);
    poison_step(&r, 1 << 16);
    hd_rows in = {hd_from(&r, CELLS, WIDE, x), hd_grid_of(&r, (const int32_t[]){2, 2}, 1, NULL)};
    in.t->wants_grad = true;
    hd_rows out = hd_pool_grid(&r, in, &(hd_pool_opt){{2, 2}, {2, 2}, {0, 0}, HD_GRID_MAX});
    hd_sum_loss(&r, out.t, 1);
    assert_true(hd_read(&r, out.t, y));
    hd_backward(&r);
    assert_true(hd_read(&r, in.t->grad, dx));
    for (size_t c = 0; c < WIDE; c++) {
        assert_true(c >= EQUAL ? y[c] == 1 : isnan(y[c]));
        for (size_t cell = 0; cell < CELLS; cell++)
            assert_true(dx[cell * WIDE + c] == (cell == (c >= EQUAL ? 0 : c % CELLS)));
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Three pictures, one of them none; every number. */
static void pixels_become_rows_of_squares(void **state)
{
    (void)state;
    enum { BYTES_OF_TWO = 2 * 5 * 4 * CHANNELS };
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    uint8_t bytes[BYTES_OF_TWO];
    hd_real worth[CHANNELS * 256];
    for (size_t i = 0; i < BYTES_OF_TWO; i++) bytes[i] = (uint8_t)(i * 41 + 7);
    for (size_t i = 0; i < CHANNELS * 256; i++) worth[i] = (hd_real)((double)i / 16 - 20);
    const int32_t begin[] = {0, 0, 60}, size[] = {5, 4, 0, 0, 5, 4};
    for (int p = 1; p <= 4; p++) {
        hd_run_begin(&r, HD_INFERENCE);
        poison_step(&r, 1 << 16);
        void *there = hd_step_take(&r, BYTES_OF_TWO);
        b->upload(b, there, bytes, BYTES_OF_TWO);
        hd_pixels in = {.bytes = there,
                        .begin = hd_ints(&r, begin, 3),
                        .size = hd_ints(&r, size, 6),
                        .host_size = size,
                        .channels = CHANNELS,
                        .worth = hd_from(&r, CHANNELS, 256, worth)->data,
                        .items = 3};
        hd_rows y = hd_pixel_rows(&r, &in, p);
        assert_run_ok(&r);
        int32_t down = 5 / p, across = 4 / p;
        assert_int_equal(hd_rows_of(y.t), 2 * down * across);
        assert_int_equal(y.seg->host_grid[0], down);
        assert_int_equal(y.seg->host_grid[1], across);
        assert_int_equal(y.seg->host_len[1], 0);
        hd_real *host = host_copy(&r, y.t);
        size_t cols = hd_cols_of(y.t);
        assert_int_equal(cols, CHANNELS * p * p);
        for (size_t row = 0; row < hd_rows_of(y.t); row++)
            for (size_t c = 0; c < cols; c++) {
                size_t picture_ = row / (size_t)(down * across), cell = row % (size_t)(down * across),
                       channel = c / (size_t)(p * p), in_square = c % (size_t)(p * p);
                size_t line = cell / (size_t)across * (size_t)p + in_square / (size_t)p,
                       column = cell % (size_t)across * (size_t)p + in_square % (size_t)p,
                       at = (line * 4 + column) * CHANNELS + channel;
                assert_true(host[row * cols + c] == worth[256 * channel + bytes[60 * picture_ + at]]);
            }
        free(host);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Columns enough for several chunks of patches. */
enum { ITEMS = 3, C = 64, ROWS = 40 * 30 + 7 * 9 + 25 * 33 };
static const int32_t sizes[2 * ITEMS] = {40, 30, 7, 9, 25, 33};

/* A small net over items [from, from + n): its result and the gradient of its input. */
static size_t run_items(hd_run *r, size_t from, size_t n, hd_real *y, hd_real *dx, hd_real *dw)
{
    static hd_real x[ROWS * C];
    size_t before = 0, rows = 0, out = 0;
    for (size_t i = 0; i < from + n; i++)
        *(i < from ? &before : &rows) += (size_t)(sizes[2 * i] * sizes[2 * i + 1]);
    fill_normal(x, ROWS * C, 1, 3);
    hd_run_begin(r, HD_TRAIN);
    poison_step(r, 1 << 22);
    hd_rows in = {hd_from(r, rows, C, x + before * C), hd_grid_of(r, sizes + 2 * from, n, NULL)};
    hd_tensor *w = random_rows(r, 16, C * 9, 0.2, 4);
    in.t->wants_grad = w->wants_grad = true;
    hd_rows h =
        hd_conv(r, in, w, random_rows(r, 1, 16, 0.2, 5), &(hd_conv_opt){{3, 3}, {1, 1}, {1, 1}, HD_gelu});
    h = hd_pool_grid(r, h, &(hd_pool_opt){{3, 3}, {2, 2}, {1, 1}, HD_GRID_MAX});
    h = hd_conv(r, h, random_rows(r, 8, 16 * 6, 0.2, 6), NULL,
                &(hd_conv_opt){{3, 2}, {2, 1}, {1, 1}, HD_relu});
    h = hd_pool_grid(r, h, &(hd_pool_opt){{2, 2}, {1, 2}, {0, 1}, HD_GRID_MEAN});
    if (h.t) hd_sum_loss(r, hd_mul(r, h.t, h.t), 1);
    assert_run_ok(r);
    for (size_t i = 0; i < h.seg->items; i++) out += (size_t)h.seg->host_len[i];
    assert_true(hd_read(r, h.t, y));
    hd_backward(r);
    assert_true(hd_read(r, in.t->grad, dx + before * C) && hd_read(r, w->grad, dw));
    return out * 8;
}

static void same_bits_for_all_threads_and_batches(void **state)
{
    (void)state;
    static hd_real y[ROWS * C], first_y[ROWS * C], dx[ROWS * C], first_dx[ROWS * C], dw[16 * C * 9],
        first_dw[16 * C * 9];
    static double sum[16 * C * 9];
    for (int threads = 1; threads <= 4; threads++) {
        hd_backend *b = backend_of("cpu", threads);
        hd_run r = run_on(b);
        size_t n = run_items(&r, 0, ITEMS, threads == 1 ? first_y : y, threads == 1 ? first_dx : dx,
                             threads == 1 ? first_dw : dw);
        if (threads > 1) {
            assert_memory_equal(y, first_y, n * sizeof *y);
            assert_memory_equal(dx, first_dx, sizeof dx);
            assert_memory_equal(dw, first_dw, sizeof dw);
        }
        size_t at = 0;
        memset(sum, 0, sizeof sum);
        for (size_t i = 0; i < ITEMS; i++) {
            at += run_items(&r, i, 1, y + at, dx, dw);
            for (size_t k = 0; k < COUNT_OF(dw); k++) sum[k] += (double)dw[k];
        }
        assert_int_equal(at, n);
        assert_memory_equal(y, first_y, n * sizeof *y);
        assert_memory_equal(dx, first_dx, sizeof dx);
        for (size_t k = 0; k < COUNT_OF(dw); k++) /* sums of 2,000 numbers near 10 */
            assert_true(fabs(sum[k] - (double)first_dw[k]) < 0.01);
        hd_run_release(&r);
        hd_backend_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolution_agrees_with_torch),
        cmocka_unit_test(pooling_agrees_with_torch),
        cmocka_unit_test(nan_is_the_largest_and_the_first_of_equals),
        cmocka_unit_test(pixels_become_rows_of_squares),
        cmocka_unit_test(pictures_agree_with_the_cpu), /* captured */
        cmocka_unit_test(same_bits_for_all_threads_and_batches),
    };
    setenv("HEED_PAIR_DEVICE", "replay", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
