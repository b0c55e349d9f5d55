/* The counting allocator. Easy to get wrong here: the counters are of the whole process, so every check is a
 * difference. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <pthread.h>
#include <cmocka.h>

#include "base/mem.h"
#include "outcome.h"

static void every_block_is_aligned(void **state)
{
    (void)state;
    void *block[200];
    for (size_t i = 0; i < 200; i++) {
        block[i] = hd_mem_new(i);
        assert_non_null(block[i]);
        assert_int_equal((uintptr_t)block[i] % HD_ALIGN, 0);
        memset(block[i], 0xA5, i);
    }
    for (size_t i = 0; i < 200; i++) hd_mem_free(block[i]);
}

static void zero_bytes_give_a_unique_block(void **state)
{
    (void)state;
    void *a = hd_mem_new(0), *b = hd_mem_new(0), *c = hd_mem_array(0, 8);
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    assert_ptr_not_equal(a, b);
    assert_ptr_not_equal(b, c);
    hd_mem_free(a);
    hd_mem_free(b);
    hd_mem_free(c);
}

static void zeroed_blocks_are_zero(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) { /* the second and third round get used memory */
        unsigned char *a = hd_mem_zero(1000), *b = hd_mem_array(100, 10);
        for (int i = 0; i < 1000; i++) assert_int_equal(a[i] | b[i], 0);
        memset(a, 0xff, 1000);
        memset(b, 0xff, 1000);
        hd_mem_free(a);
        hd_mem_free(b);
    }
}

static void counters_follow_every_block(void **state)
{
    (void)state;
    hd_mem_stat start = hd_mem_now();
    char *a = hd_mem_new(100), *b = hd_mem_zero(50), *c = hd_mem_array(3, 7), *d = hd_mem_text("four");
    hd_mem_stat now = hd_mem_now();
    assert_int_equal(now.used - start.used, 100 + 50 + 21 + 5);
    assert_int_equal(now.blocks - start.blocks, 4);
    assert_int_equal(now.calls - start.calls, 4);
    assert_string_equal(d, "four");
    a = hd_mem_grow(a, 300);
    assert_int_equal(hd_mem_now().used - start.used, 300 + 50 + 21 + 5);
    assert_int_equal(hd_mem_now().blocks - start.blocks, 4);
    assert_int_equal(hd_mem_now().calls - start.calls, 5);
    hd_mem_free(a);
    hd_mem_free(b);
    hd_mem_free(c);
    hd_mem_free(d);
    hd_mem_free(NULL);
    assert_int_equal(hd_mem_now().used, start.used);
    assert_int_equal(hd_mem_now().blocks, start.blocks);
}

static void peak_is_the_largest_sum_since_its_reset(void **state)
{
    (void)state;
    hd_mem_peak_reset();
    size_t start = hd_mem_now().used;
    assert_int_equal(hd_mem_now().peak, start);
    hd_mem_free(hd_mem_new(1000));
    hd_mem_free(hd_mem_new(400));
    assert_int_equal(hd_mem_now().peak - start, 1000);
    hd_mem_peak_reset();
    assert_int_equal(hd_mem_now().peak, start);
}

static void growing_keeps_the_bytes(void **state)
{
    (void)state;
    unsigned char *a = hd_mem_grow(NULL, 10);
    for (int i = 0; i < 10; i++) a[i] = (unsigned char)i;
    a = hd_mem_grow(a, 5000);
    for (int i = 0; i < 10; i++) assert_int_equal(a[i], i);
    a = hd_mem_grow(a, 4);
    for (int i = 0; i < 4; i++) assert_int_equal(a[i], i);
    assert_int_equal((uintptr_t)a % HD_ALIGN, 0);
    hd_mem_free(a);
}

static void a_list_doubles_and_stays_after_a_failure(void **state)
{
    (void)state;
    int *list = NULL;
    size_t room = 0, grown = 0;
    hd_err err = {0};
    for (int i = 0; i < 1000; i++) {
        size_t before = room;
        assert_int_equal(hd_mem_reserve(&list, &room, (size_t)i + 1, sizeof *list, &err), HD_OK);
        assert_true(room > (size_t)i && (room == before || room >= 2 * before));
        grown += room != before;
        list[i] = i;
    }
    for (int i = 0; i < 1000; i++) assert_int_equal(list[i], i);
    assert_true(grown < 8);
    int *same = list;
    size_t kept = room;
    hd_mem_fail_at(1);
    assert_int_equal(hd_mem_reserve(&list, &room, room + 1, sizeof *list, &err), HD_ENOMEM);
    hd_mem_fail_at(0);
    assert_int_equal(hd_mem_reserve(&list, &room, SIZE_MAX / 2, sizeof *list, NULL), HD_ENOMEM);
    assert_true(list == same && room == kept && *err.text);
    hd_mem_free(list);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    size_t product = 0, start = hd_mem_now().used;
    assert_true(hd_size_mul(SIZE_MAX, 1, &product));
    assert_true(product == SIZE_MAX);
    assert_true(hd_size_mul(0, SIZE_MAX, &product));
    assert_int_equal(product, 0);
    assert_false(hd_size_mul(SIZE_MAX / 2 + 1, 2, &product));
    assert_null(hd_mem_array(SIZE_MAX / 8, 16));
    assert_null(hd_mem_new(SIZE_MAX));
    assert_null(hd_mem_zero(SIZE_MAX - HD_ALIGN));
    assert_int_equal(hd_mem_now().used, start);
}

static void the_limit_holds_for_every_call(void **state)
{
    (void)state;
    char *a = hd_mem_new(100);
    memset(a, 7, 100);
    hd_mem_limit(hd_mem_now().used + 50);
    assert_null(hd_mem_new(51));
    assert_null(hd_mem_zero(51));
    assert_null(hd_mem_array(51, 1));
    assert_null(hd_mem_text("a text of more than fifty bytes, and so it is refused"));
    assert_null(hd_mem_grow(a, 151));
    assert_int_equal(a[99], 7); /* still there */
    void *b = hd_mem_new(50);
    assert_non_null(b);
    assert_null(hd_mem_new(1));
    hd_mem_limit(0);
    hd_mem_free(b);
    b = hd_mem_new(1000);
    assert_non_null(b);
    hd_mem_free(a);
    hd_mem_free(b);
}

/* Which of five calls, one of each kind, gave NULL: bit i for call i. */
static unsigned five_calls(void)
{
    void *block[5] = {hd_mem_new(8), hd_mem_zero(8), hd_mem_array(2, 4), hd_mem_text("x"), NULL};
    void *old = block[0];
    if (old)
        block[4] = hd_mem_grow(old, 16);
    else
        block[4] = hd_mem_grow(NULL, 16);
    unsigned failed = 0;
    for (int i = 0; i < 5; i++) failed |= (unsigned)!block[i] << i;
    if (block[4]) block[0] = NULL; /* moved */
    for (int i = 0; i < 5; i++) hd_mem_free(block[i]);
    return failed;
}

static void exactly_the_nth_call_fails(void **state)
{
    (void)state;
    size_t start = hd_mem_now().blocks;
    for (size_t n = 1; n <= 7; n++) {
        hd_mem_fail_at(n);
        assert_int_equal(five_calls(), n <= 5 ? 1u << (n - 1) : 0);
        hd_mem_fail_at(0);
        assert_int_equal(five_calls(), 0);
    }
    hd_mem_fail_at(2);
    assert_int_equal(five_calls(), 2);
    assert_int_equal(five_calls(), 0); /* once */
    assert_int_equal(hd_mem_now().blocks, start);
}

static void *allocate_much(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < 20000; i++) hd_mem_free(hd_mem_grow(hd_mem_new(i % 100), i % 300));
    return NULL;
}

static void counters_survive_threads(void **state)
{
    (void)state;
    hd_mem_stat start = hd_mem_now();
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&thread[i], NULL, allocate_much, NULL), 0);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    assert_int_equal(hd_mem_now().used, start.used);
    assert_int_equal(hd_mem_now().blocks, start.blocks);
    assert_int_equal(hd_mem_now().calls - start.calls, 4 * 2 * 20000);
}

/* Whole pages go back to the system; what is before and behind them stays. */
static void clearing_stays_inside(void **state)
{
    (void)state;
    enum { ALL = 5 << 20, FROM = 12345 };
    static const size_t count[] = {0, 1, 100, 5000, 1 << 20, (1 << 20) + 7, 3 << 20};
    unsigned char *x = hd_mem_new(ALL);
    assert_non_null(x);
    for (size_t i = 0; i < sizeof count / sizeof *count; i++) {
        memset(x, 7, ALL);
        hd_mem_clear(x + FROM, count[i]);
        for (size_t j = 0; j < ALL; j++)
            if (x[j] != (j >= FROM && j < FROM + count[i] ? 0 : 7))
                fail_msg("%zu bytes: at %zu", count[i], j);
    }
    hd_mem_free(x);
}

/* Flags of the mapping that holds the block, as the kernel tells them; empty: it does not. */
static void flags_of(const void *block, char *to, size_t size)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    bool inside = false;
    char line[512];
    *to = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            inside = (uintptr_t)block >= begin && (uintptr_t)block < end;
        else if (inside && !strncmp(line, "VmFlags:", 8))
            snprintf(to, size, "%s", line);
    }
    if (maps) fclose(maps);
}

static void large_blocks_ask_for_large_pages(void **state)
{
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK))
        leave_out("the kernel has no large pages");
    char *block = hd_mem_new(8 << 20), flags[512];
    assert_non_null(block);
    flags_of(block + (4 << 20), flags, sizeof flags);
    if (*flags && !strstr(flags, " hg")) fail_msg("%s", flags);
    hd_mem_free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clearing_stays_inside),
        cmocka_unit_test(every_block_is_aligned),
        cmocka_unit_test(large_blocks_ask_for_large_pages),
        cmocka_unit_test(zero_bytes_give_a_unique_block),
        cmocka_unit_test(zeroed_blocks_are_zero),
        cmocka_unit_test(counters_follow_every_block),
        cmocka_unit_test(peak_is_the_largest_sum_since_its_reset),
        cmocka_unit_test(growing_keeps_the_bytes),
        cmocka_unit_test(a_list_doubles_and_stays_after_a_failure),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(the_limit_holds_for_every_call),
        cmocka_unit_test(exactly_the_nth_call_fails),
        cmocka_unit_test(counters_survive_threads),
    };
    return outcome(cmocka_run_group_tests(tests, NULL, NULL));
}
