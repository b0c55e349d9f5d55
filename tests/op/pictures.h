/* A training step over pictures of different sizes, on a device against the cpu: pixels, convolutions,
   pooling, with the gradients of their parameters. The step is captured and replayed with other bytes, so
   nothing in it may be sent. For conv_test.c and cuda_conv_test.c, which choose the device. */
#ifndef OP_PICTURES_H
#define OP_PICTURES_H

#include "device.h"
#include "nn/param.h"
#include "op/replay.h"

enum { PICTURES = 6, BYTES = 3 * (20 * 14 + 9 * 31 + 16 * 16 + 33 * 12 + 8 * 8), CHANNELS = 3 };
static const int32_t picture_size[2 * PICTURES] = {20, 14, 9, 31, 0, 0, 16, 16, 33, 12, 8, 8};

static void pictures_model(hd_params *p, hd_backend *b)
{
    static const size_t shapes[][2] = {{24, 3 * 49}, {1, 24}, {16, 24 * 9}, {16, 16}, {8, 16 * 6}};
    hd_err err = {0};
    hd_params_init(p, b);
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        assert_non_null(
            hd_param_add(p, shapes[i][0], shapes[i][1], (hd_init){.kind = HD_INIT_ZERO}, "%zu", i));
    assert_int_equal(hd_params_ready(p, true, &err), HD_OK);
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        hd_real x[24 * 24 * 9];
        fill_normal(x, shapes[i][0] * shapes[i][1], 0.1, 7 + i);
        assert_int_equal(hd_params_set(p, p->list[i], x), HD_OK);
    }
}

static hd_tensor *pictures_net(hd_run *r, const hd_params *p, const hd_pixels *in)
{
    hd_tensor *w[5];
    for (int i = 0; i < 5; i++) w[i] = &p->list[i]->t;
    hd_rows x = hd_pixel_rows(r, in, 1);
    x = hd_conv(r, x, w[0], w[1], &(hd_conv_opt){{7, 7}, {2, 2}, {3, 3}, HD_relu});
    x = hd_pool_grid(r, x, &(hd_pool_opt){{3, 3}, {2, 2}, {1, 1}, HD_GRID_MAX});
    x = hd_conv(r, x, w[2], NULL, &(hd_conv_opt){{3, 3}, {1, 1}, {1, 1}, HD_gelu});
    hd_rows side = hd_conv(r, x, w[3], NULL, &(hd_conv_opt){{1, 1}, {2, 2}, {0, 0}, HD_IDENTITY});
    x = hd_pool_grid(r, x, &(hd_pool_opt){{2, 2}, {2, 2}, {1, 1}, HD_GRID_MEAN});
    x = hd_conv(r, x, w[4], NULL, &(hd_conv_opt){{2, 3}, {1, 1}, {1, 1}, HD_tanh});
    hd_tensor *loss = x.t ? hd_sum_loss(r, hd_mul(r, x.t, x.t), 1) : NULL;
    if (side.t) hd_sum_loss(r, hd_mul(r, side.t, side.t), 1);
    return loss;
}

/* One step on bytes of their own by number; the gradients of all parameters in new memory. */
static hd_real *pictures_step(hd_run *r, hd_params *p, int number)
{
    hd_backend *b = r->backend;
    uint8_t byte[BYTES];
    hd_real worth[CHANNELS * 256];
    int32_t begin[PICTURES] = {0};
    for (size_t i = 0; i < BYTES; i++) byte[i] = (uint8_t)(i * 97 + i / 7 * (size_t)(number + 1));
    for (size_t i = 0; i < COUNT_OF(worth); i++) worth[i] = (hd_real)((double)(i % 256) / 128 - 1);
    for (size_t i = 1; i < PICTURES; i++)
        begin[i] = begin[i - 1] + CHANNELS * picture_size[2 * i - 2] * picture_size[2 * i - 1];
    hd_run_begin(r, HD_TRAIN);
    b->clear(b, p->grad, p->trainable * sizeof(hd_real));
    void *bytes = hd_step_take(r, BYTES);
    b->upload(b, bytes, byte, BYTES);
    hd_pixels in = {.bytes = bytes,
                    .begin = hd_ints(r, begin, PICTURES),
                    .size = hd_ints(r, picture_size, 2 * PICTURES),
                    .host_size = picture_size,
                    .channels = CHANNELS,
                    .worth = hd_from(r, CHANNELS, 256, worth)->data,
                    .items = PICTURES};
    uint64_t shape = hd_shape_of_sizes(picture_size, PICTURES);
    if (!hd_replay(r, p->serial, shape, NULL)) {
        hd_capture(r, p->serial, shape);
        if (pictures_net(r, p, &in)) hd_backward(r);
        hd_captured(r, NULL);
    }
    assert_run_ok(r);
    hd_real *all = malloc(p->trainable * sizeof *all);
    b->download(b, all, p->grad, p->trainable * sizeof *all);
    return all;
}

static void pictures_agree_with_the_cpu(void **state)
{
    enum { STEPS = 4 };
    (void)state;
    hd_backend *cpu = backend_of("cpu", 2);
    hd_run plain = run_on(cpu);
    hd_params own;
    pictures_model(&own, cpu);
    for (const hd_precision *of = device_precisions(); *of; of++) {
        hd_backend *b = device_new(*of);
        device_count_replays(b);
        hd_run r = run_on(b);
        hd_params p;
        pictures_model(&p, b);
        for (int i = 0; i < STEPS; i++) {
            hd_real *expected = pictures_step(&plain, &own, i), *found = pictures_step(&r, &p, i);
            for (size_t k = 0; k < p.count; k++) {
                size_t at = (size_t)((hd_real *)p.list[k]->grad.data - p.grad),
                       n = hd_count_of(&p.list[k]->t);
                double off = distance_between(expected + at, found + at, n) / norm_of(expected + at, n);
                /* sums of a thousand terms; bf16 rounds each of a few results by 2^-9, and maxima change */
                if (!(off < (*of == HD_PRECISION_BF16 ? 0.05 : 1e-4)))
                    fail_msg("step %d, parameter %zu is off by %g of its norm", i, k, off);
            }
            free(expected), free(found);
        }
        if (b->capture) assert_int_equal(device_replays(), STEPS - 2);
        hd_params_release(&p);
        hd_run_release(&r);
        hd_backend_free(b);
    }
    hd_params_release(&own);
    hd_run_release(&plain);
    hd_backend_free(cpu);
}

#endif
