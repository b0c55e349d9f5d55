/* CTC in captured steps on the device against plain steps on the cpu: lengths and labels change from step to
   step, the bounds they are filled up to do not. */
#include "device.h"
#include "nn/param.h"
#include "op/replay.h"

enum { ITEMS = 5, COLS = 12, CLASSES = 9, STEPS = 6, SHAPE = 3 };
static const hd_bounds frame_bounds = {ITEMS + 1, 240, 60}, label_bounds = {ITEMS + 1, 80, 20};

typedef struct sums {
    double loss[STEPS];
    hd_real grad[CLASSES * COLS];
} sums;

/* What step n reads: items of up to 45 frames, one of them too short for its labels in every third step. */
static void lay(size_t n, int32_t *frames, int32_t *count, int32_t *label)
{
    size_t all = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        frames[i] = (int32_t)(20 + (7 * i + 5 * n) % 26), count[i] = (int32_t)((3 * i + n) % 14);
        if (i == 2 && n % 3 == 1) frames[i] = 3, count[i] = 9;
        for (int32_t u = 0; u < count[i]; u++, all++)
            label[all] = 1 + (int32_t)((all + n * 3 + all / 5) % (CLASSES - 1));
    }
}

static void step(hd_run *r, hd_params *p, size_t n)
{
    int32_t frames[ITEMS], count[ITEMS], label[80] = {0};
    static hd_real x[240 * COLS];
    lay(n, frames, count, label);
    fill_normal(x, COUNT_OF(x), 1, 50 + n);
    hd_run_begin(r, HD_TRAIN);
    hd_rows in = {hd_from(r, 240, COLS, x), hd_seg_within(r, frames, ITEMS, NULL, frame_bounds)};
    const hd_seg *labels = hd_seg_within(r, count, ITEMS, NULL, label_bounds);
    const int32_t *ids = hd_ints(r, label, 80);
    if (hd_replay(r, p->serial, SHAPE, NULL)) return;
    hd_capture(r, p->serial, SHAPE);
    hd_rows y = hd_rows_with(in, hd_linear(r, in.t, &p->list[0]->t, NULL, HD_IDENTITY));
    hd_loss_put(r, hd_ctc(r, y, ids, labels, 0, &(hd_loss_opt){.coef = 1}));
    hd_backward(r);
    hd_captured(r, NULL);
}

/* Takes the backend over. */
static sums sums_of(hd_backend *b)
{
    sums s;
    hd_err err = {0};
    hd_params p;
    hd_real w[CLASSES * COLS];
    hd_run r = run_on(b);
    hd_params_init(&p, b);
    hd_param *one = hd_param_add(&p, CLASSES, COLS, (hd_init){.kind = HD_INIT_ZERO}, "w");
    assert_int_equal(hd_params_ready(&p, true, &err), HD_OK);
    fill_normal(w, COUNT_OF(w), 0.5, 3);
    assert_int_equal(hd_params_set(&p, one, w), HD_OK);
    for (size_t n = 0; n < STEPS; n++) {
        hd_step found;
        step(&r, &p, n);
        assert_run_ok(&r);
        b->download(b, &found, r.block, sizeof found);
        s.loss[n] = found.loss;
    }
    b->download(b, s.grad, p.grad, sizeof s.grad);
    assert_string_equal(b->error, "");
    hd_run_release(&r);
    hd_params_release(&p);
    hd_backend_free(b);
    return s;
}

/* bf16: inputs of the product and logits are rounded, 2^-8 each. */
static void captured_steps_have_the_losses_and_gradients_of_the_cpu(void **state)
{
    (void)state;
    const sums a = sums_of(backend_of("cpu", 2));
    for (const hd_precision *p = device_precisions(); *p; p++) {
        double limit = *p == HD_PRECISION_F32 ? 1e-4 : 2e-2;
        hd_backend *b = device_new(*p);
        device_count_replays(b);
        bool captures = b->capture;
        const sums d = sums_of(b);
        if (captures) assert_int_equal(device_replays(), STEPS - 2);
        for (size_t n = 0; n < STEPS; n++)
            if (!(fabs(d.loss[n] - a.loss[n]) <= limit * a.loss[n]))
                fail_msg("step %zu: loss %.8g, not %.8g", n, d.loss[n], a.loss[n]);
        double off = distance_between(a.grad, d.grad, COUNT_OF(a.grad)) / norm_of(a.grad, COUNT_OF(a.grad));
        print_message("%s: gradients off by %.1e\n", *p == HD_PRECISION_F32 ? "f32" : "bf16", off);
        assert_true(off <= limit);
    }
}

int main(void)
{
    if (device_missing()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_steps_have_the_losses_and_gradients_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
