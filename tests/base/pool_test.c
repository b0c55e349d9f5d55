/* The exact-size pool. Easy to get wrong here: a block that is out twice shows only when both holders write
 * to it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/pool.h"

static void a_block_comes_back_for_the_same_size_alone(void **state)
{
    (void)state;
    hd_pool p;
    hd_pool_init(&p, hd_allocator_host);
    void *a = hd_pool_take(&p, 100), *b = hd_pool_take(&p, 100), *c = hd_pool_take(&p, 101);
    assert_ptr_not_equal(a, b);
    hd_pool_give(&p, a, 100);
    void *d = hd_pool_take(&p, 101);
    assert_ptr_not_equal(d, a);
    assert_ptr_not_equal(d, c);
    assert_ptr_equal(hd_pool_take(&p, 100), a);
    hd_pool_release(&p);
}

static void counters_follow_takes_and_gives(void **state)
{
    (void)state;
    hd_pool p;
    hd_pool_init(&p, hd_allocator_host);
    void *a = hd_pool_take(&p, 1000), *b = hd_pool_take(&p, 24);
    assert_int_equal(p.used, 1024);
    hd_pool_give(&p, a, 1000);
    assert_int_equal(p.used, 24);
    assert_int_equal(p.peak, 1024);
    assert_int_equal(p.owned, 1024);
    hd_pool_give(&p, b, 24);
    hd_pool_take(&p, 24);
    assert_int_equal(p.owned, 1024);
    hd_pool_reset(&p);
    assert_int_equal(p.used, 0);
    hd_pool_release(&p);
    assert_int_equal(p.owned, 0);
}

enum { STEPS = 300 };

/* A made-up backward pass: takes of recurring sizes, gives in another order. */
static void one_step(hd_pool *p, void *at[STEPS])
{
    static const size_t size[] = {64, 4096, 100, 100, 640, 64, 9};
    for (int i = 0; i < STEPS; i++) {
        at[i] = hd_pool_take(p, size[i % 7]);
        assert_non_null(at[i]);
        memset(at[i], i, size[i % 7]);
        if (i % 3 == 2) hd_pool_give(p, at[i - 1], size[(i - 1) % 7]);
        if (i % 5 == 4 && (i - 4) % 3 != 1) hd_pool_give(p, at[i - 4], size[(i - 4) % 7]);
    }
}

static void after_a_reset_the_same_requests_get_the_same_blocks(void **state)
{
    (void)state;
    hd_pool p;
    void *first[STEPS], *next[STEPS];
    hd_pool_init(&p, hd_allocator_host);
    one_step(&p, first);
    size_t owned = p.owned;
    for (int round = 0; round < 3; round++) {
        hd_pool_reset(&p);
        one_step(&p, next);
        assert_memory_equal(first, next, sizeof first);
        assert_int_equal(p.owned, owned);
    }
    hd_pool_release(&p);
}

static void no_block_is_out_twice(void **state)
{
    (void)state;
    hd_pool p;
    unsigned char *at[100];
    hd_pool_init(&p, hd_allocator_host);
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < 100; i++) at[i] = memset(hd_pool_take(&p, 1 + i % 10), (int)i, 1 + i % 10);
        for (size_t i = 0; i < 100; i++) assert_int_equal(at[i][i % 10], i);
        for (size_t i = 0; i < 100; i++) hd_pool_give(&p, at[(i * 37 + 11) % 100], 1 + (i * 37 + 11) % 10);
    }
    hd_pool_release(&p);
}

static void zero_bytes_and_null_are_fine(void **state)
{
    (void)state;
    hd_pool p;
    hd_pool_init(&p, hd_allocator_host);
    void *a = hd_pool_take(&p, 0);
    assert_non_null(a);
    hd_pool_give(&p, NULL, 10);
    hd_pool_give(&p, a, 0);
    assert_ptr_equal(hd_pool_take(&p, 0), a);
    hd_pool_release(&p);
    hd_pool_release(&p);
}

static void release_returns_also_what_is_out(void **state)
{
    (void)state;
    hd_pool p;
    size_t blocks = hd_mem_now().blocks;
    void *at[STEPS];
    hd_pool_init(&p, hd_allocator_host);
    one_step(&p, at);
    hd_pool_release(&p);
    assert_int_equal(hd_mem_now().blocks, blocks);
    one_step(&p, at); /* may be used again */
    hd_pool_release(&p);
    assert_int_equal(hd_mem_now().blocks, blocks);
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    size_t blocks = hd_mem_now().blocks;
    for (size_t n = 1; n < 400; n++) {
        hd_pool p;
        hd_pool_init(&p, hd_allocator_host);
        hd_mem_fail_at(n);
        int failures = 0;
        for (size_t i = 0; i < 120; i++) {
            size_t size = 8 + i % 40;
            void *block = hd_pool_take(&p, size);
            failures += !block;
            if (block) memset(block, 1, size);
            if (i % 4 == 0) hd_pool_give(&p, block, size);
        }
        hd_mem_fail_at(0);
        assert_in_range(failures, 0, 1);
        if (n == 1) assert_int_equal(failures, 1);
        hd_pool_release(&p);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
}

/* Batches of ever new sizes, as training on sentences makes them. */
static void sizes_that_never_come_back_are_returned(void **state)
{
    (void)state;
    hd_pool p;
    hd_pool_init(&p, hd_allocator_host);
    for (size_t step = 0; step < 50; step++) {
        size_t bytes = 4096 + 64 * step;
        hd_pool_give(&p, hd_pool_take(&p, bytes), bytes);
        hd_pool_reset(&p);
        assert_true(p.owned <= 3 * bytes);
    }
    hd_pool_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_comes_back_for_the_same_size_alone),
        cmocka_unit_test(counters_follow_takes_and_gives),
        cmocka_unit_test(after_a_reset_the_same_requests_get_the_same_blocks),
        cmocka_unit_test(sizes_that_never_come_back_are_returned),
        cmocka_unit_test(no_block_is_out_twice),
        cmocka_unit_test(zero_bytes_and_null_are_fine),
        cmocka_unit_test(release_returns_also_what_is_out),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
