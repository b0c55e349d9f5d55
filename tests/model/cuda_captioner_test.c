/* Captioners on the device against the cpu: the loss and gradients of a training step, captured steps among
   them, and what greedy search writes. */
#include "data/image/loader.h"
#include "model/device_texts.h"
#include "nn/pixels.h"

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

static const char *name_of(size_t kind)
{
    return variants[kind].name;
}

static void *make(hd_backend *b, size_t k, hd_params **params)
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
    *params = &m->params;
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

static struct {
    hd_pixels pixels;
    const hd_seg *seg;
    const int32_t *input, *output;
} sent;

/* As the task sends it, filled up to its bounds. */
static uint64_t send(hd_run *r, void *model)
{
    const hd_encdec *m = model;
    int32_t input[ITEMS * LONGEST], output[ITEMS * LONGEST], len[ITEMS];
    size_t rows = 0;
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
    sent.seg = seg;
    sent.input = hd_ids_within(r, input, rows, bounds.rows);
    sent.output = hd_ids_within(r, output, rows, bounds.rows);
    return hd_pixels_send(r, &sent.pixels, &b, &m->opt.image.prepare);
}

static hd_tensor *loss(hd_run *r, void *model)
{
    const hd_encdec *m = model;
    hd_encoded memory = hd_encdec_encode(r, m, &(hd_items){.pixels = &sent.pixels});
    hd_rows x = hd_encdec_decode(r, m, sent.input, sent.seg, memory, NULL);
    return hd_encdec_loss(r, m, x, sent.output, &(hd_loss_opt){.coef = 1});
}

static const steps_model captioner = {.kinds = COUNT_OF(variants),
                                      .name = name_of,
                                      .make = make,
                                      .free = texts_free,
                                      .send = send,
                                      .loss = loss,
                                      .cosine = 0.98};

static hd_status open(hd_stepper *out, const hd_encdec *m, hd_err *err)
{
    static hd_image_batch in; /* the stepper reads it until it is released */
    in = pictures_of();
    return hd_encdec_picture_stepper(out, m, &in, START, err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_has_the_loss_and_gradients_of_the_cpu),
                                       cmocka_unit_test(captured_steps_are_the_same),
                                       cmocka_unit_test(texts_are_those_of_the_cpu)};
    steps_of = &captioner;
    texts.open = open, texts.end = END, texts.items = ITEMS;
    if (device_missing()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
