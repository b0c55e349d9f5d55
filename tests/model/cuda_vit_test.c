/* Vision Transformers on the device against the cpu: the loss and gradients of a training step, captured
   steps among them. */
#include "device_steps.h"
#include "model/encoder/classifier.h"
#include "task/bench/pictures.h"

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

static const char *name_of(size_t kind)
{
    return variants[kind].name;
}

static void *make(hd_backend *b, size_t kind, hd_params **params)
{
    hd_err err = {0};
    hd_bench_pictures *p = calloc(1, sizeof *p);
    const hd_classifier_opt opt = opt_of(&variants[kind]);
    if (hd_bench_pictures_make(p, b, &opt, ITEMS, &err)) fail_msg("%s", err.text);
    *params = p->model->params;
    return p;
}

static void discard(void *model)
{
    hd_bench_pictures_release(model);
    free(model);
}

/* The pictures are there since the model is. */
static uint64_t send(hd_run *r, void *model)
{
    (void)r, (void)model;
    return 1;
}

static hd_tensor *loss(hd_run *r, void *model)
{
    return hd_bench_pictures_loss(r, model, 0.1f);
}

static const steps_model vit = {.kinds = COUNT_OF(variants),
                                .name = name_of,
                                .make = make,
                                .free = discard,
                                .send = send,
                                .loss = loss,
                                .cosine = 0.99,
                                .each = true};

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_the_loss_and_gradients_of_the_cpu),
        cmocka_unit_test(captured_steps_are_the_same),
    };
    steps_of = &vit;
    if (device_missing()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
