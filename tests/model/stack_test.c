/* Stochastic depth in a stack: the first layer is always there, and a last layer that is dropped leaves the
   stream as it was, in blocks of every kind. Many rows go through with the memory of one block. */
#include "check.h"

#include "model/stack.h"

enum { WIDTH = 12, ITEMS = 3, ROWS = 9, MANY_ITEMS = 1100, MANY_ROWS = 20 };

typedef struct world {
    hd_backend *b;
    hd_run r;
    hd_params p;
    hd_stack stack;
} world;

static void open_stack(world *w, bool pre, bool recompute, float drop_path)
{
    hd_err err = {0};
    w->b = backend_of("cpu", 1);
    w->r = run_on(w->b);
    hd_params_init(&w->p, w->b);
    hd_stack_opt o = {.layers = 2,
                      .heads = 2,
                      .width = WIDTH,
                      .inner = 16,
                      .eps = 1e-5f,
                      .act = HD_gelu,
                      .pre_norm = pre,
                      .recompute = recompute,
                      .drop_path = drop_path,
                      .name = "x"};
    assert_int_equal(hd_stack_make(&w->stack, &w->p, &o, &err), HD_OK);
    assert_int_equal(hd_params_ready(&w->p, true, &err), HD_OK);
    assert_int_equal(hd_params_draw(&w->p, 1, &err), HD_OK);
}

static void close_stack(world *w)
{
    hd_stack_release(&w->stack);
    hd_params_release(&w->p);
    hd_run_release(&w->r);
    hd_backend_free(w->b);
}

static hd_rows input(hd_run *r)
{
    const int32_t len[ITEMS] = {4, 2, 3};
    return (hd_rows){random_rows(r, ROWS, WIDTH, 1, 3), hd_seg_of(r, len, ITEMS, NULL)};
}

static void a_dropped_layer_leaves_the_stream_as_it_was(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        bool pre = how & 1;
        world w;
        open_stack(&w, pre, how & 2, 0.99999f);
        hd_run_begin(&w.r, HD_TRAIN);
        hd_real *dropped = host_copy(&w.r, hd_stack_of(&w.r, &w.stack, input(&w.r), (hd_rows){0}, NULL).t);
        hd_run_begin(&w.r, HD_INFERENCE); /* the first layer, and the norms of the second */
        hd_rows x = hd_stack_rows_at_layer(&w.r, &w.stack, 1, input(&w.r));
        if (pre) x = hd_norm_of(&w.r, &w.stack.last, x);
        for (int i = 0; !pre && i < 3; i += 2) x = hd_norm_of(&w.r, &w.stack.block[1].norm[i], x);
        hd_real *cut = host_copy(&w.r, x.t);
        for (size_t i = 0; i < ROWS * WIDTH; i++) assert_true(fabs((double)(dropped[i] - cut[i])) < 1e-5);
        hd_run_begin(&w.r, HD_INFERENCE); /* which is not what both layers give */
        hd_real *both = host_copy(&w.r, hd_stack_of(&w.r, &w.stack, input(&w.r), (hd_rows){0}, NULL).t);
        size_t apart = 0;
        for (size_t i = 0; i < ROWS * WIDTH; i++) apart += fabs((double)(both[i] - cut[i])) > 0.01;
        assert_true(apart > ROWS * WIDTH / 2);
        free(dropped), free(cut), free(both);
        close_stack(&w);
    }
}

static void take_nothing(void *context, hd_run *r, const hd_offer *offer)
{
    (void)context, (void)r, (void)offer;
}

/* With a probe everything is kept until the step ends. */
static hd_real *run_many(world *w, bool probed, size_t *peak)
{
    static const hd_probe probe = {.take = take_nothing};
    static int32_t len[MANY_ITEMS];
    for (size_t i = 0; i < MANY_ITEMS; i++) len[i] = MANY_ROWS;
    w->r.probe = NULL;
    hd_run_begin(&w->r, HD_INFERENCE);
    hd_rows x = {random_rows(&w->r, (size_t)MANY_ITEMS * MANY_ROWS, WIDTH, 1, 3),
                 hd_seg_of(&w->r, len, MANY_ITEMS, NULL)};
    w->r.probe = probed ? &probe : NULL;
    w->r.step.peak = 0;
    hd_real *y = host_copy(&w->r, hd_stack_of(&w->r, &w->stack, x, (hd_rows){0}, NULL).t);
    *peak = w->r.step.peak;
    w->r.probe = NULL;
    return y;
}

static void many_rows_take_the_memory_of_one_block(void **state)
{
    (void)state;
    for (int pre = 0; pre < 2; pre++) {
        world w;
        size_t least, all, bytes = (size_t)MANY_ITEMS * MANY_ROWS * WIDTH * sizeof(hd_real);
        open_stack(&w, pre, false, 0);
        hd_real *x = run_many(&w, false, &least), *y = run_many(&w, true, &all);
        assert_memory_equal(x, y, bytes);
        assert_true(least < all - 2 * bytes);
        free(x), free(y);
        close_stack(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dropped_layer_leaves_the_stream_as_it_was),
        cmocka_unit_test(many_rows_take_the_memory_of_one_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
