/* Captured steps: whose they are, and when they are dropped, for replay_test.c and cuda_replay_test.c, which
   choose the device. Easy to get wrong: what replaces a freed model may lie at the same address and have the
   same shapes. */
#ifndef OP_CAPTURED_H
#define OP_CAPTURED_H

#include "device.h"
#include "nn/param.h"
#include "op/replay.h"

enum { N = 3, SHAPE = 7 };

/* A "model": one parameter of N numbers, all `value`. */
static void model_init(hd_params *p, hd_backend *b, hd_real value)
{
    hd_err err = {0};
    hd_real x[N] = {value, value, value};
    hd_params_init(p, b);
    hd_param *one = hd_param_add(p, N, 0, (hd_init){.kind = HD_INIT_ZERO}, "x");
    assert_non_null(one);
    assert_int_equal(hd_params_ready(p, false, &err), HD_OK);
    assert_int_equal(hd_params_set(p, one, x), HD_OK);
}

/* A step that doubles what the model has; whether it was replayed. */
static bool doubles(hd_run *r, hd_params *p, hd_real value)
{
    hd_tensor *y = NULL;
    hd_real x[N] = {0};
    hd_run_begin(r, HD_INFERENCE);
    bool replayed = hd_replay(r, p->serial, SHAPE, &y);
    if (!replayed) {
        hd_capture(r, p->serial, SHAPE);
        y = hd_scale(r, &p->list[0]->t, 2);
        hd_captured(r, y);
    }
    assert_run_ok(r);
    assert_true(hd_read(r, y, x));
    for (int i = 0; i < N; i++) assert_true(x[i] == 2 * value);
    return replayed;
}

static void a_step_is_captured_once_and_then_replayed(void **state)
{
    (void)state;
    hd_backend *b = device_new(HD_PRECISION_F32);
    hd_run r = run_on(b);
    hd_params p;
    model_init(&p, b, 1);
    assert_false(doubles(&r, &p, 1)); /* seen */
    assert_false(doubles(&r, &p, 1)); /* captured */
    assert_true(doubles(&r, &p, 1));
    assert_true(doubles(&r, &p, 1));
    hd_params_release(&p);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void models_of_one_shape_keep_their_own_steps(void **state)
{
    (void)state;
    hd_backend *b = device_new(HD_PRECISION_F32);
    hd_run r = run_on(b);
    hd_params p[2];
    model_init(&p[0], b, 1), model_init(&p[1], b, 5);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(doubles(&r, &p[0], 1), i > 1);
        assert_int_equal(doubles(&r, &p[1], 5), i > 1);
    }
    hd_params_release(&p[0]), hd_params_release(&p[1]);
    hd_run_release(&r);
    hd_backend_free(b);
}

static size_t forgotten;
static void (*true_forget)(hd_backend *b, void *graph);
static void count_forgotten(hd_backend *b, void *graph)
{
    forgotten += graph != NULL;
    true_forget(b, graph);
}

/* The second model lies where the first one was, its numbers elsewhere. */
static void a_model_where_another_lay_has_its_own_steps(void **state)
{
    (void)state;
    hd_backend *b = device_new(HD_PRECISION_F32);
    true_forget = b->forget, b->forget = count_forgotten, forgotten = 0;
    hd_run r = run_on(b);
    hd_params p, stays;
    model_init(&stays, b, 3);
    model_init(&p, b, 1);
    for (int i = 0; i < 4; i++) doubles(&r, &p, 1), doubles(&r, &stays, 3);
    uint64_t first = p.serial;
    size_t bytes = p.total * sizeof *p.value;
    hd_params_release(&p);
    assert_int_equal(forgotten, 1); /* its steps went with it, and no others */
    void *elsewhere = b->alloc(b, bytes);
    model_init(&p, b, 5);
    assert_true(p.serial != first);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(doubles(&r, &p, 5), i > 1);
        assert_true(doubles(&r, &stays, 3));
    }
    b->release(b, elsewhere, bytes);
    hd_params_release(&p), hd_params_release(&stays);
    assert_int_equal(forgotten, 3);
    hd_run_release(&r);
    assert_null(b->gone);
    hd_backend_free(b);
}

/* Releasing a model that a run without captures never saw, or after that run, is no concern of anybody. */
static void a_model_may_outlive_the_run(void **state)
{
    (void)state;
    hd_backend *b = device_new(HD_PRECISION_F32);
    hd_run r = run_on(b);
    hd_params p;
    model_init(&p, b, 1);
    for (int i = 0; i < 4; i++) doubles(&r, &p, 1);
    hd_run_release(&r);
    hd_params_release(&p);
    hd_backend_free(b);
}

#define CAPTURED_TESTS                                                 \
    cmocka_unit_test(a_step_is_captured_once_and_then_replayed),       \
        cmocka_unit_test(models_of_one_shape_keep_their_own_steps),    \
        cmocka_unit_test(a_model_where_another_lay_has_its_own_steps), \
        cmocka_unit_test(a_model_may_outlive_the_run)

#endif
