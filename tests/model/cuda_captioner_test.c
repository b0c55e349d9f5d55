/* Captioners on the device against the cpu: the loss and gradients of a training step, captured steps among
   them, and what greedy search writes. */
#include "device.h"
#include "data/image/loader.h"
#include "decode/search.h"
#include "model/encdec/encdec.h"
#include "nn/pixels.h"
#include "op/replay.h"

/* As for other models (cuda_model_test.c). */
#define TOLERANCE      1e-4
#define FLOOR          1e-6
#define TOLERANCE_BF16 1e-2
#define COSINE_BF16    0.98

enum { ITEMS = 12, SIDE = 32, V = 40, LONGEST = 9, START = 1, END = 2 };

static const struct {
    const char *name, *decoder;
    hd_image_encoder_kind kind;
    bool vision;
    float penalty;
} variants[] = {
    {"show, attend and tell", "lstm:1", HD_IMAGE_resnet, false, 1},
    {"lstm on a ViT", "lstm:1", HD_IMAGE_vit, false, 0},
    {"transformer on a ResNet", "transformer:2", HD_IMAGE_resnet, false, 0},
    {"ViT and GPT-2", "transformer:2", HD_IMAGE_vit, true, 0},
};

static hd_encdec *model_of(hd_backend *b, size_t k)
{
    hd_err err = {0};
    hd_encdec *m = NULL;
    bool vision = variants[k].vision;
    hd_encdec_opt o = {
        .pictures = true,
        .image = {.kind = variants[k].kind,
                  .height = SIDE,
                  .width = SIDE,
                  .channels = 3,
                  .patch = 8,
                  .class_token = vision,
                  .resnet = {.stages = 3,
                             .embedding = 8,
                             .hidden = {8, 16, 32},
                             .depths = {1, 1, 1},
                             .stem_small = true},
                  .stack = {.layers = 1, .heads = 2, .width = 32, .inner = 64}},
        .stack = {.heads = 2, .width = 48, .inner = 64, .eps = 1e-5f, .act = HD_gelu, .pre_norm = true},
        .target_vocab = V,
        .positions = 16,
        .sinusoid = {.halves = true},
        .unscaled = vision,
        .learned_positions = vision,
        .tied = vision,
        .recurrent = {.begin = HD_BEGINNING_maps,
                      .read = HD_READING_residual,
                      .gate = true,
                      .penalty = variants[k].penalty},
        .names = vision ? &hd_encdec_vision : NULL};
    if (hd_stages_read(&o.decoder, variants[k].decoder, &err) || hd_encdec_new(&m, b, &o, true, &err) ||
        hd_params_draw(&m->params, 3, &err))
        fail_msg("%s: %s", variants[k].name, err.text);
    return m;
}

static uint8_t bytes[ITEMS * SIDE * SIDE * 3];
static int32_t begin[ITEMS], size[2 * ITEMS];

static hd_image_batch pictures_of(void)
{
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)((i * 37 + i * i % 101 + i / 3072 * 50 + i / 96 % 17 * 9) % 256);
    for (size_t i = 0; i < ITEMS; i++)
        begin[i] = (int32_t)(i * sizeof bytes / ITEMS), size[2 * i] = size[2 * i + 1] = SIDE;
    return (hd_image_batch){.items = ITEMS,
                            .bytes = bytes,
                            .byte_count = sizeof bytes,
                            .begin = begin,
                            .size = size,
                            .channels = 3};
}

typedef struct outcome {
    hd_backend *backend;
    hd_encdec *m;
    double loss;
    hd_real *grad;
} outcome;

/* A step as the task sends it, filled up to its bounds. */
static void step(hd_run *r, const hd_encdec *m)
{
    int32_t input[ITEMS * LONGEST], output[ITEMS * LONGEST], len[ITEMS];
    size_t rows = 0;
    hd_pixels pixels;
    for (size_t i = 0; i < ITEMS; i++) {
        len[i] = 3 + (int32_t)(i * 5 % (LONGEST - 2));
        for (int32_t k = 0; k < len[i]; k++, rows++) {
            input[rows] = k ? output[rows - 1] : START;
            output[rows] = k + 1 < len[i] ? 3 + (int32_t)((i * 7 + (size_t)k * 11) % (V - 3)) : END;
        }
    }
    const hd_image_batch b = pictures_of();
    hd_bounds bounds = hd_bounds_now(r, len, ITEMS);
    bounds.items = ITEMS;
    hd_seg *seg = hd_seg_within(r, len, ITEMS, NULL, bounds);
    if (seg && hd_encdec_unrolls(m)) seg->steps = hd_unroll(r, seg);
    const int32_t *in = hd_ids_within(r, input, rows, bounds.rows),
                  *out = hd_ids_within(r, output, rows, bounds.rows);
    uint64_t shape = hd_pixels_send(r, &pixels, &b, &m->opt.image.prepare);
    if (hd_replay(r, m->params.serial, shape, NULL)) return;
    hd_capture(r, m->params.serial, shape);
    hd_encoded memory = hd_encdec_encode(r, m, &(hd_items){.pixels = &pixels});
    hd_rows x = hd_encdec_decode(r, m, in, seg, memory, NULL);
    hd_loss_put(r, hd_encdec_loss(r, m, x, out, &(hd_loss_opt){.coef = 1}));
    hd_backward(r);
    hd_captured(r, NULL);
}

/* Takes the backend over. The same step so many times: gradients add up. */
static outcome outcome_of(hd_backend *b, size_t k, int times)
{
    outcome o = {.backend = b, .m = model_of(b, k)};
    hd_params *p = &o.m->params;
    hd_run r = run_on(b);
    for (int i = 0; i < times; i++) {
        r.now.number = 5;
        hd_run_begin(&r, HD_TRAIN);
        step(&r, o.m);
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
    hd_encdec_free(o->m);
    hd_backend_free(o->backend);
}

static void a_step_has_the_loss_and_gradients_of_the_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(variants); i++) {
        outcome a = outcome_of(backend_of("cpu", 2), i, 1);
        size_t n = a.m->params.trainable;
        for (const hd_precision *p = device_precisions(); *p; p++) {
            bool f32 = *p == HD_PRECISION_F32;
            outcome b = outcome_of(device_new(*p), i, 1);
            double off = fabs(b.loss - a.loss) / a.loss, cosine = cosine_of(a.grad, b.grad, n);
            print_message("%-28s %s: loss off by %.1e, cosine 1 - %.1e\n", variants[i].name,
                          f32 ? "f32 " : "bf16", off, 1 - cosine);
            if (!(off <= (f32 ? TOLERANCE : TOLERANCE_BF16))) fail_msg("loss %.8g, not %.8g", b.loss, a.loss);
            if (!(cosine > COSINE_BF16)) fail_msg("cosine %.4f", cosine);
            if (f32 && !(distance_between(a.grad, b.grad, n) <= TOLERANCE * norm_of(a.grad, n)))
                fail_msg("%s: gradients are off", variants[i].name);
            outcome_release(&b);
        }
        outcome_release(&a);
    }
}

/* The third time a shape comes it is replayed. */
static void captured_steps_are_the_same(void **state)
{
    (void)state;
    for (const hd_precision *p = device_precisions(); *p; p++)
        for (size_t i = 0; i < COUNT_OF(variants); i++) {
            outcome a = outcome_of(device_new(*p), i, 1);
            hd_backend *counted = device_new(*p);
            device_count_replays(counted);
            outcome b = outcome_of(counted, i, 4);
            size_t n = a.m->params.trainable;
            if (counted->capture) assert_int_equal(device_replays(), 2);
            assert_true(a.loss == b.loss);
            for (size_t k = 0; k < n; k++) a.grad[k] *= 4;
            assert_true(distance_between(a.grad, b.grad, n) <= 1e-5 * norm_of(a.grad, n));
            outcome_release(&a), outcome_release(&b);
        }
}

static hd_found *written(hd_backend *b, size_t k)
{
    hd_err err = {0};
    hd_stepper s = {0};
    hd_found *f = NULL;
    hd_encdec *m = model_of(b, k);
    hd_run r = run_on(b);
    const hd_image_batch in = pictures_of();
    const hd_search_opt o = {.kind = HD_SEARCH_GREEDY, .end = END, .max_length = 12, .seats = 8};
    if (hd_encdec_picture_stepper(&s, m, &in, START, &err) || hd_search(&f, &r, &s, &o, &err))
        fail_msg("%s", err.text);
    hd_stepper_release(&s);
    hd_run_release(&r);
    hd_encdec_free(m);
    hd_backend_free(b);
    return f;
}

static void captions_are_those_of_the_cpu(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(variants); k++) {
        hd_found *a = written(backend_of("cpu", 2), k), *b = written(device_new(HD_PRECISION_F32), k);
        for (size_t i = 0; i < ITEMS; i++) {
            const hd_guess *x = hd_found_at(a, i), *y = hd_found_at(b, i);
            assert_int_equal(x->length, y->length);
            assert_memory_equal(x->ids, y->ids, x->length * sizeof *x->ids);
        }
        hd_found_free(a), hd_found_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_has_the_loss_and_gradients_of_the_cpu),
                                       cmocka_unit_test(captured_steps_are_the_same),
                                       cmocka_unit_test(captions_are_those_of_the_cpu)};
    if (device_missing()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
