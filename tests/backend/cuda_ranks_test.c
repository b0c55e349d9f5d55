/* The sum over processes on a CUDA card, through NCCL with one process: it must leave the numbers as they
   are, by itself and in a captured step. What several processes are told is in cli/ranks_test.c. */
#include "check.h"

enum { COUNT = 1000003 };

static void a_sum_of_one_is_the_same(void **state)
{
    hd_backend *b = *state;
    size_t bytes = COUNT * sizeof(float);
    float *x = malloc(bytes), *got = malloc(bytes);
    void *on = b->alloc(b, bytes), *copy = b->alloc(b, bytes);
    assert_true(x && got && on && copy);
    for (size_t i = 0; i < COUNT; i++) x[i] = (float)i * 0.37f - 1000;
    b->upload(b, on, x, bytes);
    assert_int_equal(b->rank_sum(b, on, COUNT), HD_OK);
    assert_int_equal(b->rank_sum(b, on, 0), HD_OK);
    b->download(b, got, on, bytes);
    assert_string_equal(b->error, "");
    assert_memory_equal(x, got, bytes);

    b->clear(b, copy, bytes);
    assert_int_equal(b->capture(b), HD_OK);
    b->copy(b, copy, on, bytes);
    hd_status s = b->rank_sum(b, copy, COUNT);
    void *graph = b->captured(b);
    assert_int_equal(s, HD_OK);
    assert_non_null(graph);
    assert_int_equal(b->replay(b, graph), HD_OK);
    b->download(b, got, copy, bytes);
    assert_string_equal(b->error, "");
    assert_memory_equal(x, got, bytes);
    b->forget(b, graph);
    b->release(b, on, bytes), b->release(b, copy, bytes);
    free(x), free(got);
}

/* In pieces beside other work, each behind its mark, in a step as it is called and in a captured one. */
static void sums_beside_a_step_leave_its_numbers(void **state)
{
    enum { PIECES = 4, EACH = COUNT / PIECES };
    hd_backend *b = *state;
    size_t bytes = COUNT * sizeof(float);
    float *x = malloc(bytes), *got = malloc(bytes);
    float *on = b->alloc(b, bytes), *copy = b->alloc(b, bytes);
    assert_true(x && got && on && copy && b->rank_sum_mark && b->rank_sum_begin && b->rank_sum_end);
    void *graph = NULL;
    for (int round = 0; round < 4; round++) { /* called, captured, replayed twice */
        for (size_t i = 0; i < COUNT; i++) x[i] = (float)i * 0.37f - (float)round;
        b->upload(b, on, x, bytes);
        b->clear(b, copy, bytes);
        if (round == 1) assert_int_equal(b->capture(b), HD_OK);
        for (size_t i = 0; round < 2 && i < PIECES; i++) {
            b->copy(b, copy + i * EACH, on + i * EACH, EACH * sizeof *x);
            assert_int_equal(b->rank_sum_mark(b, i), HD_OK);
        }
        if (round == 1) assert_non_null(graph = b->captured(b));
        if (round) assert_int_equal(b->replay(b, graph), HD_OK);
        for (size_t i = PIECES; i--;) assert_int_equal(b->rank_sum_begin(b, i, copy + i * EACH, EACH), HD_OK);
        assert_int_equal(b->rank_sum_end(b), HD_OK);
        b->download(b, got, copy, bytes);
        assert_string_equal(b->error, "");
        assert_memory_equal(x, got, PIECES * EACH * sizeof *x);
    }
    b->forget(b, graph);
    b->release(b, on, bytes), b->release(b, copy, bytes);
    free(x), free(got);
}

/* What a thread of its own would do with the memory of the first. */
static void another_instance_reads_the_same_memory(void **state)
{
    hd_backend *b = *state, *other = NULL;
    hd_err err = {0};
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[8] = {0};
    if (hd_backend_again(&other, b, 1, &err)) fail_msg("%s", err.text);
    assert_string_equal(other->detail, b->detail);
    assert_int_equal(other->compute, b->compute);
    void *on = b->alloc(b, sizeof x);
    b->upload(b, on, x, sizeof x);
    b->download(b, got, on, sizeof got); /* it has arrived */
    memset(got, 0, sizeof got);
    other->download(other, got, on, sizeof got);
    assert_memory_equal(x, got, sizeof x);
    b->release(b, on, sizeof x);
    hd_backend_free(other);
}

int main(void)
{
    hd_err err = {0};
    hd_backend *b = NULL;
    setenv("HEED_NCCL", "1", 1);
    hd_status s = hd_backend_new(&b, "cuda", &(hd_backend_opt){.precision = HD_PRECISION_F32}, &err);
    if (s == HD_EMISSING || (s && strstr(err.text, "without"))) {
        printf("skipped: %s\n", err.text);
        return 77;
    }
    if (s) {
        print_error("%s\n", err.text);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        {"a_sum_of_one_is_the_same", a_sum_of_one_is_the_same, NULL, NULL, b},
        {"sums_beside_a_step_leave_its_numbers", sums_beside_a_step_leave_its_numbers, NULL, NULL, b},
        {"another_instance_reads_the_same_memory", another_instance_reads_the_same_memory, NULL, NULL, b},
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    hd_backend_free(b);
    return failed;
}
