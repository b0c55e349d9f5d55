/* Vision Transformers on the device against the cpu: the loss and gradients of a training step, captured
   steps among them. */
#include "device.h"
#include "model/encoder/classifier.h"
#include "op/replay.h"
#include "task/bench_pictures.h"

/* As for other models (cuda_model_test.c). */
#define TOLERANCE      1e-4
#define FLOOR          1e-6
#define TOLERANCE_BF16 1e-2
#define COSINE_BF16    0.99

enum { ITEMS = 24 };

typedef struct variant {
    const char *name;
    hd_pool_kind pool;
    int side, channels, patch, stem;
    size_t width;
    int heads;
    bool token, distilled;
    float dropout, drop_path;
} variant;

static const variant variants[] = {
    {"class token", HD_POOL_first, 32, 3, 8, 0, 64, 4, true, false, 0, 0},
    {"class token, 197 rows, heads of 64", HD_POOL_first, 224, 3, 16, 0, 128, 2, true, false, 0, 0},
    {"distillation token, dropout", HD_POOL_first, 32, 3, 4, 0, 48, 3, true, true, 0.1f, 0.2f},
    {"mean, grey", HD_POOL_mean, 28, 1, 4, 0, 64, 4, false, false, 0.1f, 0},
    {"stem", HD_POOL_mean, 28, 1, 0, 3, 64, 4, false, false, 0.1f, 0.1f},
    {"stem and class token", HD_POOL_first, 32, 3, 0, 1, 32, 4, true, false, 0, 0},
};

static hd_classifier_opt opt_of(const variant *v)
{
    return (hd_classifier_opt){.body = {.type = &hd_model_vit,
                                        .image = {.height = v->side,
                                                  .width = v->side,
                                                  .channels = v->channels,
                                                  .patch = v->patch,
                                                  .stem = v->stem,
                                                  .class_token = v->token,
                                                  .distilled = v->distilled,
                                                  .stack = {.layers = 3,
                                                            .heads = v->heads,
                                                            .width = v->width,
                                                            .dropout = v->dropout,
                                                            .drop_path = v->drop_path}}},
                               .pool = v->pool,
                               .classes = 10};
}

typedef struct outcome {
    hd_backend *backend;
    hd_bench_pictures pictures;
    double loss;
    hd_real *grad;
    size_t trainable;
} outcome;

/* Takes the backend over. The same step so many times: gradients add up. */
static outcome outcome_of(hd_backend *b, const variant *v, int times)
{
    hd_err err = {0};
    outcome o = {.backend = b};
    hd_run r = run_on(b);
    const hd_classifier_opt opt = opt_of(v);
    if (hd_bench_pictures_make(&o.pictures, b, &opt, ITEMS, &err)) fail_msg("%s", err.text);
    hd_params *p = o.pictures.model->params;
    o.trainable = p->trainable;
    for (int i = 0; i < times; i++) {
        r.now.number = 5;
        hd_run_begin(&r, HD_TRAIN);
        if (hd_replay(&r, p->serial, 1, NULL)) continue;
        hd_capture(&r, p->serial, 1);
        hd_loss_put(&r, hd_bench_pictures_loss(&r, &o.pictures, 0.1f));
        hd_backward(&r);
        hd_captured(&r, NULL);
        assert_run_ok(&r);
    }
    hd_step found;
    b->download(b, &found, r.block, sizeof found);
    o.loss = found.loss;
    o.grad = malloc(p->trainable * sizeof *o.grad);
    b->download(b, o.grad, p->grad, p->trainable * sizeof *o.grad);
    assert_string_equal(b->error, "");
    hd_run_release(&r);
    return o;
}

static void outcome_release(outcome *o)
{
    free(o->grad);
    hd_bench_pictures_release(&o->pictures);
    hd_backend_free(o->backend);
}

static void near(const char *what, const outcome *a, const outcome *b)
{
    const hd_params *p = b->pictures.model->params;
    double whole = norm_of(a->grad, a->trainable);
    for (size_t i = 0; i < p->count; i++) {
        const hd_param *one = p->list[i];
        if (one->alias || !one->trainable || !one->grad.data) continue;
        size_t at = (size_t)((const hd_real *)one->grad.data - p->grad), n = hd_count_of(&one->grad);
        double off = distance_between(a->grad + at, b->grad + at, n), own = norm_of(a->grad + at, n);
        if (!(off <= TOLERANCE * own + FLOOR * whole))
            fail_msg("%s: %s: off by %.3g of %.3g", what, one->name ? one->name : "hidden", off, own);
    }
}

static void a_step_has_the_loss_and_gradients_of_the_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(variants); i++) {
        const variant *v = &variants[i];
        outcome a = outcome_of(backend_of("cpu", 2), v, 1);
        for (const hd_precision *p = device_precisions(); *p; p++) {
            bool f32 = *p == HD_PRECISION_F32;
            outcome b = outcome_of(device_new(*p), v, 1);
            double off = fabs(b.loss - a.loss) / a.loss, cosine = cosine_of(a.grad, b.grad, a.trainable);
            print_message("%-36s %s: loss off by %.1e, cosine 1 - %.1e\n", v->name, f32 ? "f32 " : "bf16",
                          off, 1 - cosine);
            if (!(off <= (f32 ? TOLERANCE : TOLERANCE_BF16))) fail_msg("loss %.8g, not %.8g", b.loss, a.loss);
            if (!(cosine > COSINE_BF16)) fail_msg("cosine %.4f", cosine);
            if (f32) near(v->name, &a, &b);
            outcome_release(&b);
        }
        outcome_release(&a);
    }
}

/* The third time a shape comes it is replayed. Gradients of three steps are thrice those of one but for
   rounding; the loss is the same. */
static void captured_steps_are_the_same(void **state)
{
    (void)state;
    for (const hd_precision *p = device_precisions(); *p; p++)
        for (size_t i = 0; i < COUNT_OF(variants); i++) {
            outcome a = outcome_of(device_new(*p), &variants[i], 1);
            hd_backend *counted = device_new(*p);
            device_count_replays(counted);
            outcome b = outcome_of(counted, &variants[i], 4);
            if (counted->capture) assert_int_equal(device_replays(), 2);
            assert_true(a.loss == b.loss);
            for (size_t k = 0; k < a.trainable; k++) a.grad[k] *= 4;
            assert_true(distance_between(a.grad, b.grad, a.trainable) <= 1e-5 * norm_of(a.grad, a.trainable));
            outcome_release(&a), outcome_release(&b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_the_loss_and_gradients_of_the_cpu),
        cmocka_unit_test(captured_steps_are_the_same),
    };
    if (device_missing()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
