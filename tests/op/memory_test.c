/* Every allocation of a step that uses every op fails once: the step ends in HD_ENOMEM or, where there is a
   way round, as it should; nothing is lost, and the same step works afterwards. */
#include "op/everything.h"

static const step_shape shape = {.len = {5, 3, 7, 1, 0, 2}, .cols = 16, .host_segments = true};

/* One step from nothing: backend, run, forward, backward. False when it ran out of memory; the numbers when
 * not. */
static bool whole_step(hd_real **numbers, size_t *count)
{
    hd_err err = {0};
    hd_backend *b = NULL;
    hd_run r = {0};
    bool good =
        !hd_backend_new(&b, "cpu", &(hd_backend_opt){.threads = 2}, &err) && !hd_run_init(&r, b, &err);
    if (good) {
        step s;
        r.now.seed = 5;
        if (step_forward(&r, &shape, &s) && !isnan(hd_loss_total(&r, s.loss[0])))
            *numbers = step_numbers(&r, &s, count);
        if (r.err.status) good = false, err = r.err;
    }
    if (!good && err.status != HD_ENOMEM) fail_msg("expected to be out of memory, but: %s", err.text);
    if (!good && !*err.text) fail_msg("out of memory without a word");
    hd_run_release(&r);
    hd_backend_free(b);
    return good;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    hd_real *expected = NULL;
    size_t count = 0, failed = 0, survived = 0;
    assert_true(whole_step(&expected, &count));
    size_t blocks = hd_mem_now().blocks, used = hd_mem_now().used;
    for (size_t n = 1;; n++) {
        hd_real *numbers = NULL;
        size_t have = 0, before = hd_mem_now().calls;
        hd_mem_fail_at(n);
        bool good = whole_step(&numbers, &have);
        bool reached = hd_mem_now().calls - before >= n;
        hd_mem_fail_at(0);
        if (good) {
            assert_int_equal(have, count);
            assert_memory_equal(numbers, expected, count * sizeof *expected);
        }
        free(numbers);
        if (hd_mem_now().blocks != blocks || hd_mem_now().used != used)
            fail_msg("allocation %zu failed and %zu blocks stayed", n, hd_mem_now().blocks - blocks);
        if (!reached) break;
        if (good)
            survived++;
        else
            failed++;
    }
    printf("%zu allocations: %zu end the step, %zu have a way round\n", failed + survived, failed, survived);
    assert_true(failed > 20);
    free(expected);
}

/* The run and its backend stay usable: a failed step, then the same step. */
static void a_run_works_on_after_running_out(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    hd_real *expected = NULL;
    size_t count = 0;
    for (size_t n = 0; n < 400; n += n < 60 ? 1 : 7) {
        step s;
        hd_real *numbers = NULL;
        size_t have = 0;
        if (n) { /* memory of earlier steps is given up, so that there is something to fail */
            hd_arena_release(&r.host), hd_arena_release(&r.step), hd_pool_release(&r.grads);
            hd_mem_fail_at(n);
            if (step_forward(&r, &shape, &s)) hd_backward(&r);
            hd_mem_fail_at(0);
            assert_true(r.err.status == HD_OK || r.err.status == HD_ENOMEM);
        }
        assert_true(step_forward(&r, &shape, &s));
        numbers = step_numbers(&r, &s, &have);
        assert_run_ok(&r);
        if (expected) assert_memory_equal(numbers, expected, count * sizeof *expected);
        if (expected)
            free(numbers);
        else
            expected = numbers, count = have;
    }
    free(expected);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* A limit instead of a single failure: no way round helps. */
static void a_limit_ends_the_step_in_an_error(void **state)
{
    (void)state;
    size_t blocks = hd_mem_now().blocks;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    step s;
    hd_mem_limit(hd_mem_now().used + 100000);
    assert_false(step_forward(&r, &shape, &s));
    assert_int_equal(r.err.status, HD_ENOMEM);
    hd_mem_limit(0);
    assert_true(step_forward(&r, &shape, &s));
    hd_backward(&r);
    assert_run_ok(&r);
    hd_run_release(&r);
    hd_backend_free(b);
    assert_int_equal(hd_mem_now().blocks, blocks);
}

/* The second step of the same shapes asks the backend for nothing and gets the same addresses. */
static void from_the_second_step_on_memory_stands_still(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    size_t calls = 0;
    void *first[3] = {0};
    for (int i = 0; i < 5; i++) {
        step s;
        calls = hd_mem_now().calls;
        assert_true(step_forward(&r, &shape, &s));
        void *at[3] = {s.leaf[0]->data, s.loss[0]->data, s.leaf[4]->data};
        hd_backward(&r);
        assert_run_ok(&r);
        if (i == 2) memcpy(first, at, sizeof at);
        if (i > 2) assert_memory_equal(first, at, sizeof at);
    }
    assert_int_equal(hd_mem_now().calls, calls);
    hd_run_release(&r);
    hd_backend_free(b);
}

static hd_tensor *layer(hd_run *r, const void *context, hd_tensor *const *in)
{
    (void)context;
    return hd_apply(r, hd_scale(r, in[0], 0.5f), HD_tanh);
}

/* Gradients live until the op that made the activation has gone back: two at a time in a chain, however long.
 */
static void a_chain_needs_the_gradients_of_two_links(void **state)
{
    (void)state;
    enum { ROWS = 16, COLS = 16, LINKS = 50 };
    hd_backend *b = backend_of("cpu", 1);
    for (int recomputed = 0; recomputed < 2; recomputed++) {
        hd_run r = run_on(b);
        hd_run_begin(&r, HD_TRAIN);
        hd_tensor *x = random_rows(&r, ROWS, COLS, 1, 1);
        x->wants_grad = true;
        for (int i = 0; i < LINKS; i++)
            x = recomputed ? hd_recompute(&r, layer, NULL, &x, 1) : layer(&r, NULL, &x);
        size_t forward = r.grads.used;
        hd_sum_loss(&r, x, 1);
        hd_backward(&r);
        assert_run_ok(&r);
        assert_int_equal(forward, 0);
        assert_true(r.grads.peak <=
                    3 * ROWS * COLS * sizeof(hd_real));             /* a third while a result is recomputed */
        assert_true(r.grads.used <= ROWS * COLS * sizeof(hd_real)); /* that of the leaf */
        hd_run_release(&r);
    }
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_run_works_on_after_running_out),
        cmocka_unit_test(a_limit_ends_the_step_in_an_error),
        cmocka_unit_test(a_chain_needs_the_gradients_of_two_links),
        cmocka_unit_test(from_the_second_step_on_memory_stands_still),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
