/* The order in which jobs that wait are taken. */
#include "check.h"

#include "outcome.h"
#include "serve/engine/queue.h"

static void add(hd_queue *q, hd_job *j, size_t n)
{
    for (size_t i = 0; i < n; i++) hd_queue_add(q, &j[i]);
}

static hd_job *taken(hd_queue *q)
{
    hd_job *j = hd_queue_next(q);
    hd_queue_take(q, j);
    return j;
}

static void jobs_of_one_length_keep_their_order(void **state)
{
    (void)state;
    hd_queue q = {0};
    hd_job j[] = {{.tokens = 20}, {.tokens = 20}, {.tokens = 20}};
    assert_null(hd_queue_next(&q));
    add(&q, j, COUNT_OF(j));
    for (size_t i = 0; i < COUNT_OF(j); i++) assert_ptr_equal(taken(&q), &j[i]);
    assert_null(hd_queue_next(&q));
    assert_int_equal(q.owners, 0);
}

static void the_longer_of_those_that_came_together_goes_first(void **state)
{
    (void)state;
    hd_queue q = {0};
    hd_job j[] = {{.tokens = 20}, {.tokens = 20}, {.tokens = 40}, {.tokens = 20}, {.tokens = 30}};
    const size_t order[] = {2, 0, 1, 4, 3};
    add(&q, j, COUNT_OF(j));
    for (size_t i = 0; i < COUNT_OF(j); i++) assert_ptr_equal(taken(&q), &j[order[i]]);
}

/* However long, it overtakes what some sentences take and no more, and not from far behind. */
static void nobody_is_overtaken_for_long(void **state)
{
    (void)state;
    enum { LATER = 50 };
    hd_queue q = {0};
    hd_job texts[LATER + 1] = {{.tokens = 10}}, far[9] = {0};
    size_t before = 0;
    for (size_t i = 1; i <= LATER; i++) texts[i].tokens = 300;
    add(&q, texts, LATER + 1);
    while (taken(&q) != &texts[0]) before++;
    assert_in_range(before, 1, 2);
    while (hd_queue_next(&q)) taken(&q);

    for (size_t i = 0; i < 9; i++) far[i].tokens = i < 8 ? 2 : 64;
    add(&q, far, 9);
    assert_ptr_equal(taken(&q), &far[0]);
    assert_ptr_equal(taken(&q), &far[8]);
}

static void long_jobs_of_others_do_not_go_first(void **state)
{
    (void)state;
    hd_queue q = {0};
    hd_job j[] = {{.tokens = 20, .owner = 1}, {.tokens = 60, .owner = 2}, {.tokens = 20, .owner = 1}};
    const size_t order[] = {0, 2, 1};
    add(&q, j, COUNT_OF(j));
    assert_int_equal(q.owners, 2);
    for (size_t i = 0; i < COUNT_OF(j); i++) assert_ptr_equal(taken(&q), &j[order[i]]);
    assert_int_equal(q.owners, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_of_one_length_keep_their_order),
        cmocka_unit_test(the_longer_of_those_that_came_together_goes_first),
        cmocka_unit_test(nobody_is_overtaken_for_long),
        cmocka_unit_test(long_jobs_of_others_do_not_go_first),
    };
    return outcome(cmocka_run_group_tests(tests, NULL, NULL));
}
