/* The bump arena. Easy to get wrong here: addresses are compared, so no other source may interleave with the
 * arena's own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/mem.h"

static const size_t sizes[] = {1, 64, 0, 65, 1000, 63, 4096, 9000, 128, 30000, 7, 100000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void take_all(hd_arena *a, void *at[SIZES])
{
    for (int i = 0; i < SIZES; i++) {
        at[i] = hd_arena_take(a, sizes[i]);
        assert_non_null(at[i]);
    }
}

static size_t rounded_sum(void)
{
    size_t sum = 0;
    for (int i = 0; i < SIZES; i++)
        sum += sizes[i] ? (sizes[i] + HD_ALIGN - 1) / HD_ALIGN * HD_ALIGN : HD_ALIGN;
    return sum;
}

static void blocks_are_aligned_and_apart(void **state)
{
    (void)state;
    hd_arena a;
    void *at[SIZES];
    hd_arena_init(&a, hd_allocator_host, 1024);
    take_all(&a, at);
    for (int i = 0; i < SIZES; i++) {
        assert_int_equal((uintptr_t)at[i] % HD_ALIGN, 0);
        memset(at[i], i, sizes[i]);
    }
    for (int i = 0; i < SIZES; i++)
        for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(((unsigned char *)at[i])[k], i);
    hd_arena_release(&a);
}

static void rewind_gives_the_same_address(void **state)
{
    (void)state;
    hd_arena a;
    void *first[SIZES], *second[SIZES];
    hd_arena_init(&a, hd_allocator_host, 256);
    hd_arena_mark empty = hd_arena_here(&a);
    hd_arena_take(&a, 100);
    hd_arena_mark m = hd_arena_here(&a);
    take_all(&a, first);
    hd_arena_rewind(&a, m);
    take_all(&a, second);
    assert_memory_equal(first, second, sizeof first);
    hd_arena_rewind(&a, empty);
    hd_arena_take(&a, 100);
    take_all(&a, second);
    assert_memory_equal(first, second, sizeof first);
    hd_arena_release(&a);
}

static void peak_counts_what_was_handed_out_alone(void **state)
{
    (void)state;
    hd_arena a;
    void *at[SIZES];
    hd_arena_init(&a, hd_allocator_host, 64);
    take_all(&a, at);
    assert_true(a.chunks > 1);
    assert_int_equal(a.peak, rounded_sum()); /* not the rests of the chunks */
    hd_arena_rewind(&a, (hd_arena_mark){0});
    take_all(&a, at);
    assert_int_equal(a.peak, rounded_sum());
    hd_arena_take(&a, 1);
    assert_int_equal(a.peak, rounded_sum() + HD_ALIGN);
    hd_arena_release(&a);
    assert_int_equal(a.peak, 0);
}

static void reset_joins_the_chunks_once(void **state)
{
    (void)state;
    hd_arena a;
    void *first[SIZES], *second[SIZES], *third[SIZES];
    size_t blocks = hd_mem_now().blocks;
    hd_arena_init(&a, hd_allocator_host, 64);
    take_all(&a, first);
    assert_true(a.chunks > 1);
    hd_arena_reset(&a);
    assert_int_equal(a.chunks, 1);
    assert_int_equal(a.chunk[0].size, rounded_sum());
    assert_int_equal(hd_mem_now().blocks, blocks + 1);
    take_all(&a, second);
    assert_int_equal(a.chunks, 1);
    hd_arena_reset(&a);
    take_all(&a, third);
    assert_memory_equal(second, third, sizeof second);
    hd_arena_release(&a);
    assert_int_equal(hd_mem_now().blocks, blocks);
}

static void failed_join_starts_anew(void **state)
{
    (void)state;
    hd_arena a;
    void *at[SIZES];
    size_t blocks = hd_mem_now().blocks;
    hd_arena_init(&a, hd_allocator_host, 64);
    take_all(&a, at);
    hd_mem_fail_at(1);
    hd_arena_reset(&a);
    assert_int_equal(hd_mem_now().blocks, blocks);
    take_all(&a, at);
    assert_int_equal(a.peak, rounded_sum());
    hd_arena_reset(&a);
    assert_int_equal(a.chunks, 1);
    hd_arena_release(&a);
}

/* Steps whose needs rise: what is held stays near what is needed, joins included. */
static void growing_costs_a_quarter_at_most(void **state)
{
    (void)state;
    enum { MIB = 1 << 20, NEED = 200 };
    hd_arena a;
    size_t before = hd_mem_now().used;
    hd_arena_init(&a, hd_allocator_host, 4 * MIB);
    hd_mem_peak_reset();
    for (size_t need = NEED / 2; need <= NEED; need += NEED / 20) {
        for (size_t i = 0; i < need; i++) assert_non_null(hd_arena_take(&a, MIB));
        hd_arena_reset(&a);
    }
    assert_true(hd_mem_now().peak - before <= (size_t)(NEED + NEED / 4) * MIB);
    hd_arena_release(&a);
}

static void failed_take_changes_nothing(void **state)
{
    (void)state;
    hd_arena a;
    hd_arena_init(&a, hd_allocator_host, 256);
    hd_mem_limit(hd_mem_now().used + 100);
    assert_null(hd_arena_take(&a, 1000)); /* also the first of all */
    assert_int_equal(a.chunks, 0);
    hd_mem_limit(0);
    assert_non_null(hd_arena_take(&a, 100));
    hd_arena before = a;
    assert_null(hd_arena_take(&a, SIZE_MAX));
    hd_mem_limit(hd_mem_now().used + 100);
    assert_null(hd_arena_take(&a, 1000));
    hd_mem_limit(0);
    assert_memory_equal(&before, &a, sizeof a);
    char *next = hd_arena_take(&a, 64);
    assert_ptr_equal(next, a.chunk[0].base + 128);
    hd_arena_release(&a);
}

static void a_tight_source_still_gives_what_is_needed(void **state)
{
    (void)state;
    hd_arena a;
    hd_arena_init(&a, hd_allocator_host, 64);
    assert_non_null(hd_arena_take(&a, 2000000));
    hd_mem_limit(hd_mem_now().used + 5000); /* less than a doubling */
    assert_non_null(hd_arena_take(&a, 4096));
    assert_int_equal(a.chunk[1].size, 4096);
    hd_mem_limit(0);
    hd_arena_release(&a);
}

static void released_arena_may_be_used_again(void **state)
{
    (void)state;
    hd_arena a;
    size_t blocks = hd_mem_now().blocks;
    hd_arena_init(&a, hd_allocator_host, 64);
    hd_arena_release(&a);
    for (int round = 0; round < 3; round++) {
        void *at[SIZES];
        take_all(&a, at);
        hd_arena_release(&a);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
}

/* A source of addresses without memory, as a device or a dry run is. */
static void arrays_are_zeroed_and_copies_end(void **state)
{
    (void)state;
    hd_arena a;
    hd_err err = {0};
    hd_arena_init(&a, hd_allocator_host, 1024);
    memset(hd_arena_take(&a, 512), 'x', 512);
    hd_arena_reset(&a);
    const int *zeros = hd_arena_array(&a, 16, sizeof *zeros, &err);
    for (int i = 0; i < 16; i++) assert_int_equal(zeros[i], 0);
    assert_string_equal(hd_arena_copy(&a, "abcd", 3, &err), "abc");
    assert_string_equal(hd_arena_copy(&a, NULL, 0, &err), "");
    assert_int_equal(err.status, HD_OK);
    assert_null(hd_arena_array(&a, SIZE_MAX / 2, 4, &err));
    assert_int_equal(err.status, HD_ENOMEM);
    hd_arena_release(&a);
}

static void *pretend_get(void *context, size_t bytes)
{
    size_t *next = context;
    void *block = (void *)(uintptr_t)*next;
    *next += (bytes + 4095) / 4096 * 4096;
    return block;
}

static void pretend_put(void *context, void *block, size_t bytes)
{
    (void)context, (void)block, (void)bytes;
}

static void bytes_are_never_touched(void **state)
{
    (void)state;
    size_t next = 4096;
    hd_arena a;
    void *at[SIZES];
    hd_arena_init(&a, (hd_allocator){pretend_get, pretend_put, &next}, 512);
    for (int round = 0; round < 3; round++) {
        take_all(&a, at);
        hd_arena_reset(&a);
    }
    hd_arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_and_apart),
        cmocka_unit_test(rewind_gives_the_same_address),
        cmocka_unit_test(peak_counts_what_was_handed_out_alone),
        cmocka_unit_test(reset_joins_the_chunks_once),
        cmocka_unit_test(failed_join_starts_anew),
        cmocka_unit_test(growing_costs_a_quarter_at_most),
        cmocka_unit_test(failed_take_changes_nothing),
        cmocka_unit_test(a_tight_source_still_gives_what_is_needed),
        cmocka_unit_test(released_arena_may_be_used_again),
        cmocka_unit_test(arrays_are_zeroed_and_copies_end),
        cmocka_unit_test(bytes_are_never_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
