/* The best combinations of guesses, against all of them tried. */
#include "check.h"

#include "base/rng.h"
#include "task/translate/parts.h"

enum { PARTS = 4, GUESSES = 4, MOST = 20, ALL = 256 };

static int by_guess(const void *x, const void *y) /* as a search leaves them */
{
    const hd_guess *a = x, *b = y;
    if (a->finished != b->finished) return a->finished ? -1 : 1;
    return a->score > b->score ? -1 : a->score < b->score;
}

typedef struct total {
    int unfinished;
    double score;
} total;

static int by_total(const void *x, const void *y)
{
    const total *a = x, *b = y;
    if (a->unfinished != b->unfinished) return a->unfinished - b->unfinished;
    return a->score > b->score ? -1 : a->score < b->score;
}

static void the_best_of_all_are_found(void **state)
{
    (void)state;
    hd_rng rng = hd_rng_make(5, 1);
    for (int round = 0; round < 50; round++) {
        hd_guess guess[PARTS][GUESSES] = {0};
        hd_choices part[PARTS];
        size_t all = 1, pick[MOST * PARTS], count = 0;
        for (size_t p = 0; p < PARTS; p++) {
            part[p] = (hd_choices){guess[p], 1 + (size_t)(hd_rng_unit(&rng) * GUESSES)};
            for (size_t i = 0; i < part[p].count; i++)
                guess[p][i].score = -hd_rng_unit(&rng), guess[p][i].finished = hd_rng_unit(&rng) < 0.7;
            qsort(guess[p], part[p].count, sizeof **guess, by_guess);
            all *= part[p].count;
        }
        total tried[ALL];
        for (size_t n = 0; n < all; n++) {
            tried[n] = (total){0};
            for (size_t p = 0, left = n; p < PARTS; left /= part[p++].count) {
                const hd_guess *g = &guess[p][left % part[p].count];
                tried[n].score += g->score, tried[n].unfinished += !g->finished;
            }
        }
        qsort(tried, all, sizeof *tried, by_total);
        hd_err err = {0};
        if (hd_combine(pick, &count, part, PARTS, MOST, true, &err)) fail_msg("%s", err.text);
        assert_int_equal(count, all < MOST ? all : MOST);
        for (size_t n = 0; n < count; n++) {
            total t = {0};
            for (size_t p = 0; p < PARTS; p++) {
                const hd_guess *g = &guess[p][pick[n * PARTS + p]];
                t.score += g->score, t.unfinished += !g->finished;
            }
            assert_int_equal(t.unfinished, tried[n].unfinished);
            assert_true(fabs(t.score - tried[n].score) < 1e-12); /* sums in another order */
        }
    }
}

static void a_part_without_a_guess_is_left_out(void **state)
{
    (void)state;
    hd_guess guess[2] = {{.score = -1, .finished = true}, {.score = -2, .finished = true}};
    const hd_choices part[] = {{guess, 2}, {NULL, 0}};
    size_t pick[6], count = 0;
    hd_err err = {0};
    assert_int_equal(hd_combine(pick, &count, part, 2, 3, true, &err), HD_OK);
    assert_true(count == 2 && pick[0] == 0 && pick[1] == 0 && pick[2] == 1 && pick[3] == 0);
}

static void failing_allocations_are_reported(void **state)
{
    (void)state;
    hd_guess guess[2] = {{.score = -1}, {.score = -2}};
    const hd_choices part[] = {{guess, 2}, {guess, 2}};
    size_t pick[8], count = 0, n = 1, blocks = hd_mem_now().blocks;
    for (hd_status s = HD_ENOMEM; s; n++) {
        hd_err err = {0};
        hd_mem_fail_at(n);
        s = hd_combine(pick, &count, part, 2, 4, true, &err);
        hd_mem_fail_at(0);
        assert_int_equal(s, err.status);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_int_equal(n, 4); /* two blocks, then success */
    assert_int_equal(count, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_of_all_are_found),
        cmocka_unit_test(a_part_without_a_guess_is_left_out),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
