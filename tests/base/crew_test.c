/* The crew that works ahead. Easy to get wrong here: cmocka's checks may not be called from its threads, so
   they only write down. Run it under the thread sanitizer as well. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/system/crew.h"

enum { JOBS = 2000 };

struct yard {
    size_t next, allowed, finished;
    unsigned char done[JOBS];
};

static bool take(void *context, void *job)
{
    struct yard *y = context;
    if (y->next >= y->allowed) return false;
    memcpy(job, &y->next, sizeof y->next);
    y->next++;
    return true;
}

static void work(void *context, void *job)
{
    struct yard *y = context;
    size_t which;
    memcpy(&which, job, sizeof which);
    y->done[which]++; /* no lock: a job is one thread's */
}

static void done(void *context, void *job)
{
    (void)job;
    ((struct yard *)context)->finished++;
}

static const hd_crew_type type = {.take = take, .work = work, .done = done};

static hd_crew *crew_of(int threads, struct yard *y)
{
    hd_crew *c = NULL;
    hd_err err = {0};
    assert_int_equal(hd_crew_new(&c, threads, &type, y, &err), HD_OK);
    return c;
}

static void every_job_is_done_once(void **state)
{
    (void)state;
    for (int threads = 0; threads <= 4; threads++) {
        struct yard y = {0};
        hd_crew *c = crew_of(threads, &y);
        for (size_t more = 1; more <= JOBS; more = more == JOBS      ? JOBS + 1
                                                   : more * 2 < JOBS ? more * 2
                                                                     : JOBS) {
            hd_crew_lock(c);
            y.allowed = more;
            hd_crew_call(c);
            while (y.finished < more)
                if (!hd_crew_help(c)) hd_crew_wait(c);
            hd_crew_unlock(c);
        }
        hd_crew_free(c);
        for (size_t i = 0; i < JOBS; i++) assert_int_equal(y.done[i], 1);
    }
}

static void without_threads_only_the_caller_works(void **state)
{
    (void)state;
    struct yard y = {.allowed = 2};
    hd_crew *c = crew_of(0, &y);
    hd_crew_lock(c);
    assert_true(hd_crew_help(c));
    assert_int_equal(y.finished, 1);
    assert_true(hd_crew_help(c));
    assert_false(hd_crew_help(c));
    hd_crew_unlock(c);
    hd_crew_free(c);
}

static void it_can_be_freed_while_jobs_are_left(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct yard y = {.allowed = JOBS};
        hd_crew *c = crew_of(3, &y);
        hd_crew_lock(c);
        hd_crew_call(c);
        hd_crew_unlock(c);
        hd_crew_free(c);
        assert_int_equal(y.next, y.finished); /* what was taken was finished */
    }
}

static void failures_leave_nothing_behind(void **state)
{
    (void)state;
    struct yard y = {0};
    hd_crew *c = NULL;
    hd_err err = {0};
    size_t before = hd_mem_now().blocks;
    assert_int_equal(hd_crew_new(&c, -1, &type, &y, &err), HD_ELIMIT);
    for (size_t n = 1; n <= 2; n++) {
        err = (hd_err){0};
        hd_mem_fail_at(n);
        assert_int_equal(hd_crew_new(&c, 2, &type, &y, &err), HD_ENOMEM);
    }
    hd_mem_fail_at(0);
    hd_crew_free(NULL);
    assert_int_equal(hd_mem_now().blocks, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_is_done_once),
        cmocka_unit_test(without_threads_only_the_caller_works),
        cmocka_unit_test(it_can_be_freed_while_jobs_are_left),
        cmocka_unit_test(failures_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
