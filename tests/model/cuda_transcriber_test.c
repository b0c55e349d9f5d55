/* Encoder-decoders over sound on the device against the cpu: the loss and gradients of a training step,
   captured steps among them, and what greedy search writes. */
#include "device.h"
#include "decode/search.h"
#include "model/sound_toy.h"
#include "op/replay.h"

/* As for other models (cuda_model_test.c). */
#define TOLERANCE      1e-4
#define FLOOR          1e-6
#define TOLERANCE_BF16 1e-2
#define COSINE_BF16    0.98

enum { WIDTH = 32 };

typedef struct outcome {
    hd_backend *backend;
    hd_encdec *m;
    double loss;
    hd_real *grad;
} outcome;

static void step(hd_run *r, const hd_encdec *m)
{
    const st_batch b = st_send(r, m);
    if (hd_replay(r, m->params.serial, b.shape, NULL)) return;
    hd_capture(r, m->params.serial, b.shape);
    hd_loss_put(r, st_loss(r, m, &b));
    hd_backward(r);
    hd_captured(r, NULL);
}

/* Takes the backend over. The same step so many times: gradients add up. */
static outcome outcome_of(hd_backend *b, size_t k, int times)
{
    outcome o = {.backend = b, .m = st_model(b, k, WIDTH, 1)};
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
    for (size_t i = 0; i < COUNT_OF(st_kinds); i++) {
        outcome a = outcome_of(backend_of("cpu", 2), i, 1);
        size_t n = a.m->params.trainable;
        for (const hd_precision *p = device_precisions(); *p; p++) {
            bool f32 = *p == HD_PRECISION_F32;
            outcome b = outcome_of(device_new(*p), i, 1);
            double off = fabs(b.loss - a.loss) / a.loss, cosine = cosine_of(a.grad, b.grad, n);
            print_message("%-28s %s: loss off by %.1e, cosine 1 - %.1e\n", st_kinds[i].name,
                          f32 ? "f32 " : "bf16", off, 1 - cosine);
            if (!(off <= (f32 ? TOLERANCE : TOLERANCE_BF16))) fail_msg("loss %.8g, not %.8g", b.loss, a.loss);
            if (!(cosine > COSINE_BF16)) fail_msg("cosine %.4f", cosine);
            if (f32 && !(distance_between(a.grad, b.grad, n) <= TOLERANCE * norm_of(a.grad, n)))
                fail_msg("%s: gradients are off", st_kinds[i].name);
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
        for (size_t i = 0; i < COUNT_OF(st_kinds); i++) {
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
    hd_encdec *m = st_model(b, k, WIDTH, 1);
    hd_run r = run_on(b);
    const hd_frames_host in = st_sounds(0, ST_ITEMS);
    const hd_search_opt o = {.kind = HD_SEARCH_GREEDY, .end = ST_END, .max_length = 12, .seats = 8};
    if (hd_encdec_sound_stepper(&s, m, &in, ST_START, &err) || hd_search(&f, &r, &s, &o, &err))
        fail_msg("%s", err.text);
    hd_stepper_release(&s);
    hd_run_release(&r);
    hd_encdec_free(m);
    hd_backend_free(b);
    return f;
}

static void texts_are_those_of_the_cpu(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(st_kinds); k++) {
        hd_found *a = written(backend_of("cpu", 2), k), *b = written(device_new(HD_PRECISION_F32), k);
        for (size_t i = 0; i < ST_ITEMS; i++) {
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
                                       cmocka_unit_test(texts_are_those_of_the_cpu)};
    if (device_missing()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
