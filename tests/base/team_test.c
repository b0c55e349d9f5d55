/* The thread team. Easy to get wrong here: cmocka's checks may not be called from a worker, so workers only
   write down. Run it under the thread sanitizer as well. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/system/team_share.h"

static hd_team *team_of(int threads)
{
    hd_team *t = NULL;
    hd_err err = {0};
    assert_int_equal(hd_team_new(&t, threads, &err), HD_OK);
    return t;
}

enum { MOST = 5000 };

struct cover {
    int times[MOST]; /* of each index */
    size_t calls[8], done[8], least[8];
};

static void cover(void *arg, size_t begin, size_t end, int worker)
{
    struct cover *c = arg;
    for (size_t i = begin; i < end; i++) c->times[i]++;
    if (!c->calls[worker]++ || end - begin < c->least[worker]) c->least[worker] = end - begin;
    c->done[worker] += end - begin;
}

static void every_index_is_covered_once(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, 3, 4, 5, 7, 8, 64, 1000, 4999};
    static const size_t grains[] = {0, 1, 2, 3, 10, 5000, SIZE_MAX};
    for (int threads = 1; threads <= 5; threads++) {
        hd_team *t = team_of(threads);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            for (size_t k = 0; k < sizeof grains / sizeof *grains; k++) {
                struct cover c = {0};
                hd_team_run(t, counts[i], grains[k], cover, &c);
                for (size_t x = 0; x < MOST; x++) assert_int_equal(c.times[x], x < counts[i]);
                for (int w = threads; w < 8; w++) assert_int_equal(c.calls[w], 0);
            }
        }
        hd_team_free(t);
    }
}

static void pieces_have_the_grain(void **state)
{
    (void)state;
    hd_team *t = team_of(2);
    for (int i = 0; i < 100; i++) {
        struct cover c = {0};
        hd_team_run(t, 4000, 250, cover, &c); /* divides a worker's 2,000: none is left over at their end */
        for (int w = 0; w < 2; w++) assert_true(!c.calls[w] || c.least[w] >= 250);
        c = (struct cover){0};
        hd_team_run(t, 4000, 2000, cover, &c);
        assert_int_equal(c.calls[0] + c.calls[1], 2);
    }
    hd_team_free(t);
}

static void nothing_to_do_calls_nothing(void **state)
{
    (void)state;
    hd_team *t = team_of(2);
    struct cover c = {0};
    hd_team_run(t, 0, 1, cover, &c);
    assert_int_equal(c.calls[0] + c.calls[1], 0);
    hd_team_free(t);
}

static void add_mirrored(void *arg, size_t begin, size_t end, int worker)
{
    (void)worker;
    long **step = arg;
    for (size_t i = begin; i < end; i++) step[1][i] = (step[0][i] + 3 * step[0][255 - i] + (long)i) % 1000003;
}

/* Every run reads what other workers wrote in the run before; a lost write changes everything after it. */
static void writes_are_visible_in_the_next_run(void **state)
{
    (void)state;
    static long x[6][2][256];
    for (int threads = 1; threads <= 5; threads++) {
        hd_team *t = team_of(threads);
        for (int run = 0; run < 20000; run++)
            hd_team_run(t, 256, 1, add_mirrored, (long *[]){x[threads][run % 2], x[threads][1 - run % 2]});
        hd_team_free(t);
        assert_memory_equal(x[threads], x[1], sizeof x[1]);
    }
    for (int run = 0; run < 20000; run++)
        add_mirrored((long *[]){x[0][run % 2], x[0][1 - run % 2]}, 0, 256, 0);
    assert_memory_equal(x[0], x[1], sizeof x[1]);
}

static void sleep_a_while(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static void uneven(void *arg, size_t begin, size_t end, int worker)
{
    long *sum = arg;
    if (worker % 2) sleep_a_while(200000);
    for (size_t i = begin; i < end; i++) sum[worker] += (long)i;
}

static void slow_second(void *arg, size_t begin, size_t end, int worker)
{
    if (worker) sleep_a_while(50000000);
    cover(arg, begin, end, worker);
}

static void a_slow_worker_is_helped(void **state)
{
    (void)state;
    hd_team *t = team_of(2);
    struct cover c = {0};
    hd_team_run(t, 1000, 1, slow_second, &c);
    for (size_t x = 0; x < 1000; x++) assert_int_equal(c.times[x], 1);
    assert_true(c.done[0] > 500);
    hd_team_free(t);
}

/* Pauses around the length of the spin, on both sides, meet workers and caller just as they fall asleep. */
static void sleepers_are_always_woken(void **state)
{
    (void)state;
    for (int threads = 2; threads <= 4; threads++) {
        hd_team *t = team_of(threads);
        long sum[4] = {0}, want = 0;
        for (long run = 0; run < 300; run++) {
            sleep_a_while(run * 1000);
            hd_team_run(t, 100, 1, uneven, sum);
            want += 4950;
        }
        assert_int_equal(sum[0] + sum[1] + sum[2] + sum[3], want);
        hd_team_free(t);
    }
}

/* All but the caller's own thread run only when their core has nothing else to do. */
static void put_workers_last(void)
{
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d));)
        if (atoi(e->d_name) && atoi(e->d_name) != gettid())
            assert_int_equal(sched_setscheduler(atoi(e->d_name), SCHED_IDLE, &(struct sched_param){0}), 0);
    closedir(d);
}

/* On one core with the caller, which goes to sleep only for what it must wait for. */
static void a_worker_that_does_not_come_is_not_waited_for(void **state)
{
    (void)state;
    enum { RUNS = 2000 };
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    hd_team *t = team_of(2);
    put_workers_last();
    struct rusage before, after;
    struct cover c = {0};
    getrusage(RUSAGE_THREAD, &before);
    for (int run = 0; run < RUNS; run++) hd_team_run(t, 8, 1, cover, &c);
    getrusage(RUSAGE_THREAD, &after);
    for (size_t i = 0; i < 8; i++) assert_int_equal(c.times[i], RUNS);
    print_message("slept %ld times in %d runs\n", after.ru_nvcsw - before.ru_nvcsw, RUNS);
    assert_true(after.ru_nvcsw - before.ru_nvcsw < RUNS / 4);
    hd_team_free(t);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

static void some_workers_may_be_left_out(void **state)
{
    (void)state;
    hd_team *t = team_of(4);
    for (size_t run = 0; run < 5000;
         run++) { /* parts change from run to run: a job number must not be lost */
        struct cover c = {0};
        size_t count = 1 + run * 7 % 6;
        hd_team_run(t, count, 1, cover, &c);
        for (size_t i = 0; i < count; i++) assert_int_equal(c.times[i], 1);
    }
    hd_team_free(t);
}

static int threads_now(void)
{
    int count = 0;
    DIR *d = opendir("/proc/self/task");
    while (d && readdir(d)) count++;
    if (d) closedir(d);
    return count;
}

/* A thread that was joined may stay in the list for a moment. */
static void assert_threads(int expected)
{
    for (int i = 0; i < 2000 && threads_now() != expected; i++) usleep(1000);
    assert_int_equal(threads_now(), expected);
}

static void a_team_of_one_starts_no_thread(void **state)
{
    (void)state;
    int before = threads_now();
    hd_team *t = team_of(3);
    assert_threads(before + 2);
    hd_team_free(t);
    assert_threads(before);
    t = team_of(1);
    assert_int_equal(threads_now(), before);
    struct cover c = {0};
    assert_int_equal(hd_team_size(t), 1);
    hd_team_run(t, 100, 1, cover, &c);
    assert_int_equal(c.done[0], 100);
    hd_team_free(t);
    hd_team_free(NULL);
}

static void a_team_uses_as_many_as_it_is_told(void **state)
{
    (void)state;
    static const struct {
        int use, size;
    } cases[] = {{2, 2}, {1, 1}, {0, 1}, {3, 3}, {9, 4}, {4, 4}};
    hd_team *t = team_of(4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cover c = {0};
        hd_team_use(t, cases[i].use);
        assert_int_equal(hd_team_size(t), cases[i].size);
        assert_int_equal(hd_team_all(t), 4);
        hd_team_run(t, 1000, 1, cover, &c);
        for (size_t x = 0; x < 1000; x++) assert_int_equal(c.times[x], 1);
        for (int w = cases[i].size; w < 8; w++) assert_int_equal(c.calls[w], 0);
    }
    hd_team_free(t);
}

static void sizes_are_as_asked(void **state)
{
    (void)state;
    assert_true(hd_team_cores() >= 1);
    hd_team *t = team_of(0);
    assert_int_equal(hd_team_size(t), hd_team_cores());
    hd_team_free(t);
    t = team_of(7);
    assert_int_equal(hd_team_size(t), 7);
    hd_team_free(t);
    hd_err err = {0};
    hd_team *none = NULL;
    assert_int_equal(hd_team_new(&none, 1000000, &err), HD_ELIMIT);
    assert_non_null(strstr(err.text, "1000000"));
    assert_null(none);
}

static void lack_of_memory_leaves_nothing(void **state)
{
    (void)state;
    size_t blocks = hd_mem_now().blocks;
    for (size_t n = 1; n <= 2; n++) {
        hd_team *t = NULL;
        hd_err err = {0};
        hd_mem_fail_at(n);
        assert_int_equal(hd_team_new(&t, 2, &err), HD_ENOMEM);
        assert_null(t);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    hd_mem_fail_at(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_is_covered_once),
        cmocka_unit_test(pieces_have_the_grain),
        cmocka_unit_test(a_slow_worker_is_helped),
        cmocka_unit_test(nothing_to_do_calls_nothing),
        cmocka_unit_test(writes_are_visible_in_the_next_run),
        cmocka_unit_test(sleepers_are_always_woken),
        cmocka_unit_test(a_worker_that_does_not_come_is_not_waited_for),
        cmocka_unit_test(some_workers_may_be_left_out),
        cmocka_unit_test(a_team_of_one_starts_no_thread),
        cmocka_unit_test(a_team_uses_as_many_as_it_is_told),
        cmocka_unit_test(sizes_are_as_asked),
        cmocka_unit_test(lack_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
