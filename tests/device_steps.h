/* Training steps of models on a device against the cpu: the loss and gradients of one, and captured ones. */
#ifndef DEVICE_STEPS_H
#define DEVICE_STEPS_H

#include "device.h"
#include "nn/param.h"
#include "op/replay.h"

/* As for other models (cuda_model_test.c). */
#define STEPS_TOLERANCE      1e-4
#define STEPS_FLOOR          1e-6 /* of all gradients together, for parameters that hardly have any */
#define STEPS_TOLERANCE_BF16 1e-2

/* Kinds of a model. */
typedef struct steps_model {
    size_t kinds;
    const char *(*name)(size_t kind);
    void *(*make)(hd_backend *b, size_t kind, hd_params **params);
    void (*free)(void *model);
    uint64_t (*send)(hd_run *r, void *model); /* before anything is captured; returns the shape */
    hd_tensor *(*loss)(hd_run *r, void *model);
    double cosine; /* of gradients in bf16 at the least */
    bool each;     /* gradients are compared parameter by parameter */
} steps_model;

static const steps_model *steps_of; /* what the tests of a program are about; main says it */

typedef struct steps_outcome {
    const steps_model *of;
    hd_backend *backend;
    void *model;
    hd_params *params;
    double loss;
    hd_real *grad;
    size_t count; /* of gradients */
} steps_outcome;

static void steps_take(hd_run *r, const steps_outcome *o)
{
    const steps_model *m = o->of;
    r->now.number = 5;
    hd_run_begin(r, HD_TRAIN);
    uint64_t shape = m->send(r, o->model);
    if (!hd_replay(r, o->params->serial, shape, NULL)) {
        hd_capture(r, o->params->serial, shape);
        hd_loss_put(r, m->loss(r, o->model));
        hd_backward(r);
        hd_captured(r, NULL);
    }
    assert_run_ok(r);
}

/* Takes the backend over. The same step so many times: gradients add up. */
static steps_outcome steps_outcome_of(const steps_model *m, hd_backend *b, size_t kind, int times)
{
    steps_outcome o = {.of = m, .backend = b};
    hd_run r = run_on(b);
    hd_step found;
    r.captures = true;
    o.model = m->make(b, kind, &o.params);
    o.count = o.params->trainable;
    for (int i = 0; i < times; i++) steps_take(&r, &o);
    b->download(b, &found, r.block, sizeof found);
    o.loss = found.loss;
    o.grad = malloc(o.count * sizeof *o.grad);
    b->download(b, o.grad, o.params->grad, o.count * sizeof *o.grad);
    assert_string_equal(b->error, "");
    hd_run_release(&r);
    return o;
}

static void steps_outcome_release(steps_outcome *o)
{
    free(o->grad);
    o->of->free(o->model);
    hd_backend_free(o->backend);
}

/* The name of the parameter i, and where its gradient is; NULL: it has none of its own. */
static const char *steps_part(const steps_outcome *o, size_t i, size_t *at, size_t *count)
{
    const hd_param *one = o->params->list[i];
    if (one->alias || !one->trainable || !one->grad.data) return NULL;
    *at = (size_t)((const hd_real *)one->grad.data - o->params->grad), *count = hd_count_of(&one->grad);
    return one->name ? one->name : "hidden";
}

static void steps_near(const char *what, const steps_outcome *a, const steps_outcome *b)
{
    double whole = norm_of(a->grad, a->count);
    if (!a->of->each && !(distance_between(a->grad, b->grad, a->count) <= STEPS_TOLERANCE * whole))
        fail_msg("%s: gradients are off", what);
    for (size_t i = 0; a->of->each && i < b->params->count; i++) {
        size_t at, n;
        const char *name = steps_part(b, i, &at, &n);
        if (!name) continue;
        double off = distance_between(a->grad + at, b->grad + at, n), own = norm_of(a->grad + at, n);
        if (!(off <= STEPS_TOLERANCE * own + STEPS_FLOOR * whole))
            fail_msg("%s: %s: off by %.3g of %.3g", what, name, off, own);
    }
}

/* Names the parameters whose gradients point elsewhere. */
static void steps_name(const steps_outcome *a, const steps_outcome *b)
{
    for (size_t i = 0; i < b->params->count; i++) {
        size_t at, n;
        const char *name = steps_part(b, i, &at, &n);
        if (!name) continue;
        double cosine = cosine_of(a->grad + at, b->grad + at, n);
        if (!(cosine > a->of->cosine))
            print_message("    %s: cosine %.4f, norm %.3g, on the cpu %.3g\n", name, cosine,
                          norm_of(b->grad + at, n), norm_of(a->grad + at, n));
    }
}

static void a_step_has_the_loss_and_gradients_of_the_cpu(void **state)
{
    (void)state;
    const steps_model *m = steps_of;
    for (size_t i = 0; i < m->kinds; i++) {
        steps_outcome a = steps_outcome_of(m, backend_of("cpu", 2), i, 1);
        for (const hd_precision *p = device_precisions(); *p; p++) {
            bool f32 = *p == HD_PRECISION_F32;
            steps_outcome b = steps_outcome_of(m, device_new(*p), i, 1);
            double off = fabs(b.loss - a.loss) / a.loss, cosine = cosine_of(a.grad, b.grad, a.count);
            print_message("%-36s %s: loss off by %.1e, cosine 1 - %.1e\n", m->name(i), f32 ? "f32 " : "bf16",
                          off, 1 - cosine);
            if (!(off <= (f32 ? STEPS_TOLERANCE : STEPS_TOLERANCE_BF16)))
                fail_msg("loss %.8g, not %.8g", b.loss, a.loss);
            if (!(cosine > m->cosine)) {
                steps_name(&a, &b);
                fail_msg("cosine %.4f", cosine);
            }
            if (f32) steps_near(m->name(i), &a, &b);
            steps_outcome_release(&b);
        }
        steps_outcome_release(&a);
    }
}

/* The third time a shape comes it is replayed. Gradients of four steps are four times those of one but for
   rounding; the loss is the same. */
static void captured_steps_are_the_same(void **state)
{
    (void)state;
    const steps_model *m = steps_of;
    for (const hd_precision *p = device_precisions(); *p; p++)
        for (size_t i = 0; i < m->kinds; i++) {
            steps_outcome a = steps_outcome_of(m, device_new(*p), i, 1);
            hd_backend *counted = device_new(*p);
            device_count_replays(counted);
            steps_outcome b = steps_outcome_of(m, counted, i, 4);
            if (counted->capture) assert_int_equal(device_replays(), 2);
            assert_true(a.loss == b.loss);
            for (size_t k = 0; k < a.count; k++) a.grad[k] *= 4;
            assert_true(distance_between(a.grad, b.grad, a.count) <= 1e-5 * norm_of(a.grad, a.count));
            steps_outcome_release(&a), steps_outcome_release(&b);
        }
}

#endif
