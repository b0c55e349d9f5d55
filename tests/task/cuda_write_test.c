/* Handwriting on the device against the cpu: the loss and gradients of a training step as a run sends it,
   captured steps among them. */
#include "device.h"

#include "op/replay.h"
#include "task/write/training.h"

/* As for other models (cuda_model_test.c). */
#define TOLERANCE      1e-4
#define TOLERANCE_BF16 1e-2
#define COSINE_BF16    0.98

enum { LINES = 3, WIDTH = 32, VOCAB = 9, LONGEST = 150 };

static const size_t points[LINES] = {31, 140, 77}, letters[LINES] = {3, 11, 6};
static const int windows[] = {0, 4};

typedef struct outcome {
    hd_backend *backend;
    hd_handwriting *m;
    double loss;
    hd_real *grad;
} outcome;

static hd_strokes strokes_of(void)
{
    hd_strokes s = {0};
    hd_err err = {0};
    hd_rng rng = hd_rng_make(8, 1);
    for (size_t i = 0; i < LINES; i++) {
        hd_pen_point p[LONGEST];
        float x = 0, y = 0;
        for (size_t k = 0; k < points[i]; k++) {
            x += (float)(1 + hd_rng_normal(&rng)), y += (float)hd_rng_normal(&rng);
            p[k] = (hd_pen_point){x, y, k % 13 == 12};
        }
        if (hd_strokes_add(&s, (hd_line){"", 0}, p, points[i], &err)) fail_msg("%s", err.text);
    }
    return s;
}

static hd_handwriting *model_of(hd_backend *b, int window)
{
    hd_err err = {0};
    hd_handwriting *m = NULL;
    const hd_handwriting_opt o = {.width = WIDTH,
                                  .vocab = VOCAB,
                                  .layers = 3,
                                  .mixtures = 5,
                                  .window = window,
                                  .scale = {{1, 0}, {1, 1}}};
    if (hd_handwriting_new(&m, b, &o, true, &err) || hd_handwriting_draw(m, 3, 12, &err))
        fail_msg("%s", err.text);
    return m;
}

static void step(hd_run *r, const hd_handwriting *m, const hd_write_lines *l)
{
    const uint32_t which[LINES] = {2, 0, 1};
    hd_handwriting_batch b;
    uint64_t shape = hd_write_send(r, &b, l, which, LINES, &m->opt.scale, m->opt.window > 0);
    if (hd_replay(r, m->params.serial, shape, NULL)) return;
    hd_capture(r, m->params.serial, shape);
    hd_loss_put(r, hd_handwriting_loss(r, m, &b));
    hd_backward(r);
    hd_captured(r, NULL);
}

/* Takes the backend over. The same step so many times: gradients add up. */
static outcome outcome_of(hd_backend *b, int window, int times)
{
    outcome o = {.backend = b, .m = model_of(b, window)};
    hd_params *p = &o.m->params;
    hd_run r = run_on(b);
    hd_strokes s = strokes_of();
    size_t first[LINES + 1] = {0};
    int32_t id[3 + 11 + 6];
    for (size_t i = 0; i < LINES; i++) first[i + 1] = first[i] + letters[i];
    for (size_t i = 0; i < COUNT_OF(id); i++) id[i] = (int32_t)(i * 5 % VOCAB);
    const hd_write_lines l = {.strokes = &s, .id = id, .first_id = first};
    for (int i = 0; i < times; i++) {
        hd_run_begin(&r, HD_TRAIN);
        step(&r, o.m, &l);
        assert_run_ok(&r);
    }
    hd_step found;
    b->download(b, &found, r.block, sizeof found);
    o.loss = found.loss;
    o.grad = malloc(p->trainable * sizeof *o.grad);
    b->download(b, o.grad, p->grad, p->trainable * sizeof *o.grad);
    assert_string_equal(b->error, "");
    hd_run_release(&r);
    hd_strokes_release(&s);
    return o;
}

static void outcome_release(outcome *o)
{
    free(o->grad);
    hd_handwriting_free(o->m);
    hd_backend_free(o->backend);
}

static void a_step_has_the_loss_and_gradients_of_the_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        outcome a = outcome_of(backend_of("cpu", 2), windows[i], 1);
        size_t n = a.m->params.trainable;
        for (const hd_precision *p = device_precisions(); *p; p++) {
            bool f32 = *p == HD_PRECISION_F32;
            outcome b = outcome_of(device_new(*p), windows[i], 1);
            double off = fabs(b.loss - a.loss) / a.loss, cosine = cosine_of(a.grad, b.grad, n);
            print_message("window %d %s: loss off by %.1e, cosine 1 - %.1e\n", windows[i],
                          f32 ? "f32 " : "bf16", off, 1 - cosine);
            if (!(off <= (f32 ? TOLERANCE : TOLERANCE_BF16))) fail_msg("loss %.8g, not %.8g", b.loss, a.loss);
            if (!(cosine > COSINE_BF16)) fail_msg("cosine %.4f", cosine);
            if (f32 && !(distance_between(a.grad, b.grad, n) <= TOLERANCE * norm_of(a.grad, n)))
                fail_msg("window %d: gradients are off", windows[i]);
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
        for (size_t i = 0; i < COUNT_OF(windows); i++) {
            outcome a = outcome_of(device_new(*p), windows[i], 1);
            hd_backend *counted = device_new(*p);
            device_count_replays(counted);
            outcome b = outcome_of(counted, windows[i], 4);
            size_t n = a.m->params.trainable;
            if (counted->capture) assert_int_equal(device_replays(), 2);
            assert_true(a.loss == b.loss);
            for (size_t k = 0; k < n; k++) a.grad[k] *= 4;
            assert_true(distance_between(a.grad, b.grad, n) <= 1e-5 * norm_of(a.grad, n));
            outcome_release(&a), outcome_release(&b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_has_the_loss_and_gradients_of_the_cpu),
                                       cmocka_unit_test(captured_steps_are_the_same)};
    if (device_missing()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
