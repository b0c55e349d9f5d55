/* ResNet on the device: losses, weights and running statistics of a short training are those of the cpu, with
   live, frozen and group norms, and a training whose steps are captured leaves the bits of one whose steps
   are not. */
#include "device.h"
#include "model/vision/image_encoder.h"
#include "nn/pixels.h"
#include "op/replay.h"
#include "train/optimizer.h"

enum { ITEMS = 3, HEIGHT = 26, WIDTH = 33, STEPS = 6 };

static hd_image_encoder_opt options(bool bottleneck, hd_map_norm_kind norm)
{
    return (hd_image_encoder_opt){.kind = HD_IMAGE_resnet,
                                  .height = HEIGHT,
                                  .width = WIDTH,
                                  .channels = 3,
                                  .resnet = {.stages = 2,
                                             .embedding = 16,
                                             .hidden = {16, 32},
                                             .depths = {1, 2},
                                             .bottleneck = bottleneck,
                                             .norm = norm}};
}

typedef struct trained {
    size_t count, moving;
    hd_real *start, *value; /* all of it, before and behind the training */
    double loss[STEPS];
} trained;

/* The same pictures in each step, each of another color. */
static void send(hd_run *r, hd_pixels *p, const hd_image_prepare *how, uint64_t *shape)
{
    hd_err err = {0};
    hd_image image[ITEMS] = {0};
    hd_rng g = hd_rng_make(5, 0);
    const hd_image *all[ITEMS];
    for (size_t i = 0; i < ITEMS; i++) {
        assert_int_equal(hd_image_make(&image[i], WIDTH, HEIGHT, 3, "toy", &err), HD_OK);
        for (size_t k = 0; k < hd_image_bytes(&image[i]); k++)
            image[i].pixel[k] = (uint8_t)hd_rng_below(&g, 100 + 70 * (uint32_t)i);
        all[i] = &image[i];
    }
    *shape = hd_pixels_send_images(r, p, all, ITEMS, how);
    for (size_t i = 0; i < ITEMS; i++) hd_image_release(&image[i]);
}

/* A small rate: through a live norm of so few cells steps of 0.1 make 1 % of the last bit of a weight. */
static void step_of(hd_run *r, const hd_image_encoder *e, hd_optimizer *o, bool capture)
{
    uint64_t shape;
    r->now.rate = 0.003f, r->now.weight = ITEMS;
    hd_run_begin(r, HD_TRAIN);
    hd_pixels *p = hd_host_take(r, sizeof *p);
    send(r, p, &e->opt.prepare, &shape);
    if (capture && hd_replay(r, o->serial, shape, NULL)) return;
    if (capture) hd_capture(r, o->serial, shape);
    hd_rows y = hd_image_encoder_rows(r, e, 2, &(hd_items){.pixels = p});
    hd_tensor *column = hd_matmul(r, hd_reduce(r, y.t, y.seg, HD_MEAN), hd_ones(r, hd_cols_of(y.t), 1));
    column = hd_scale(r, column, 1 / 32.0f);
    hd_loss_put(r,
                hd_squared_error(r, column, hd_scale(r, hd_ones(r, ITEMS, 1), 3), &(hd_loss_opt){.coef = 1}));
    hd_backward(r);
    hd_optimizer_update(r, o);
    hd_captured(r, NULL);
}

static trained train(hd_backend *b, const hd_image_encoder_opt *opt, bool capture)
{
    hd_err err = {0};
    hd_run r = run_on(b);
    hd_params p;
    hd_image_encoder e;
    hd_optimizer o;
    hd_params_init(&p, b);
    if (hd_image_encoder_make(&e, &p, opt, &err) || hd_params_ready(&p, true, &err) ||
        hd_params_draw(&p, 7, &err) ||
        hd_optimizer_init(&o, &p, &(hd_optimizer_opt){.kind = HD_OPT_SGD}, &err))
        fail_msg("%s", err.text);
    size_t all = p.trainable + p.moving;
    trained t = {.count = p.trainable,
                 .moving = p.moving,
                 .start = malloc(all * sizeof *t.start),
                 .value = malloc(all * sizeof *t.value)};
    b->download(b, t.start, p.value, all * sizeof *t.start);
    for (int i = 0; i < STEPS; i++) {
        hd_step found;
        step_of(&r, &e, &o, capture);
        assert_run_ok(&r);
        b->download(b, &found, r.block, sizeof found);
        t.loss[i] = (double)found.loss;
    }
    b->download(b, t.value, p.value, all * sizeof *t.value);
    hd_optimizer_release(&o);
    hd_image_encoder_release(&e);
    hd_params_release(&p);
    hd_run_release(&r);
    return t;
}

/* How far numbers of `b` are from those of `a`, as a part of how far those went. */
static double apart(const trained *a, const trained *b, size_t from, size_t count)
{
    return distance_between(a->value + from, b->value + from, count) /
           distance_between(a->value + from, a->start + from, count);
}

static void a_short_training_is_that_of_the_cpu(void **state)
{
    (void)state;
    for (const hd_precision *precision = device_precisions(); *precision; precision++)
        for (int how = 0; how < 6; how++) {
            hd_image_encoder_opt o = options(how & 1, (hd_map_norm_kind)(how / 2));
            hd_backend *cpu = backend_of("cpu", 2), *device = device_new(*precision);
            trained a = train(cpu, &o, false), b = train(device, &o, true);
            bool f32 = *precision == HD_PRECISION_F32;
            double off = apart(&a, &b, 0, a.count), moved = a.moving ? apart(&a, &b, a.count, a.moving) : 0;
            print_message("%s %s: loss %.5f to %.5f and %.5f, weights off by %.2g, statistics by %.2g\n",
                          how & 1 ? "bottleneck" : "basic", hd_map_norm_names[how / 2], a.loss[0],
                          a.loss[STEPS - 1], b.loss[STEPS - 1], off, moved);
            assert_int_equal(a.moving != 0, how / 2 == HD_MAP_NORM_batch);
            if (!(off < (f32 ? 1e-2 : 0.5) && moved < (f32 ? 1e-3 : 0.05)))
                fail_msg("off by %g and %g", off, moved);
            for (int i = 0; i < STEPS; i++)
                if (!(fabs(a.loss[i] - b.loss[i]) <= (f32 ? 1e-4 : 1e-2) * (1 + a.loss[i])))
                    fail_msg("step %d: loss %.6g, expected %.6g", i, b.loss[i], a.loss[i]);
            assert_true(a.loss[STEPS - 1] < a.loss[0]);
            free(a.start), free(b.start);
            free(a.value), free(b.value);
            hd_backend_free(device);
            hd_backend_free(cpu);
        }
}

static void captured_steps_leave_the_same_bits(void **state)
{
    (void)state;
    hd_image_encoder_opt o = options(false, HD_MAP_NORM_batch);
    hd_backend *b = device_new(HD_PRECISION_F32);
    device_count_replays(b);
    trained plain = train(b, &o, false), captured = train(b, &o, true);
    if (b->capture) assert_true(device_replays() > 0);
    assert_memory_equal(plain.value, captured.value, (plain.count + plain.moving) * sizeof *plain.value);
    for (int i = 0; i < STEPS; i++) assert_true(plain.loss[i] == captured.loss[i]);
    free(plain.start), free(captured.start);
    free(plain.value), free(captured.value);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_training_is_that_of_the_cpu),
        cmocka_unit_test(captured_steps_leave_the_same_bits),
    };
    if (device_missing()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
