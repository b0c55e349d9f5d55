/* Weighing by what was said, and drawing from what top-k, top-p and min-p leave. The numbers are those of the
   logits processors of transformers 5.22 for the same scores. */
#include "check.h"

#include "decode/draw.h"
#include "decode/history.h"

enum { V = 6 };

static const hd_real scores[V] = {2, -1, 0.5, 3, -0.25, 1};
static const int32_t said[] = {3, 1, 5, 3, 2, 3};

static void expect_text(hd_run *r, const hd_history_opt *o, hd_history of, const double want[V])
{
    hd_real got[V];
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *x = hd_history_weigh(r, hd_from(r, 1, V, scores), &of, 1, o);
    assert_non_null(x);
    assert_true(hd_read(r, x, got));
    for (int i = 0; i < V; i++)
        if (want[i] < -1e9)
            assert_true(got[i] < (hd_real)-1e9);
        else
            assert_true(fabs((double)got[i] - want[i]) < 1e-4);
}

static void expect_row(hd_run *r, const hd_history_opt *o, const int32_t *ids, size_t n, const double want[V])
{
    expect_text(r, o, (hd_history){.ids = ids, .count = n, .length = n, .left = 9}, want);
}

static void what_was_said_counts_less_and_runs_do_not_come_again(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    expect_row(&r, &(hd_history_opt){.repetition = 1.3f}, said, 6,
               (double[]){2, -1.3, 0.3846, 2.3077, -0.25, 0.7692});
    expect_row(&r, &(hd_history_opt){.repetition = 1.3f, .no_repeat = 2}, said, 6,
               (double[]){2, -INFINITY, -INFINITY, 2.3077, -0.25, 0.7692});
    expect_row(&r, &(hd_history_opt){.no_repeat = 3}, (int32_t[]){3, 1, 5, 3, 1}, 5,
               (double[]){2, -1, 0.5, 3, -0.25, -INFINITY});
    expect_row(&r, &(hd_history_opt){.no_repeat = 3}, said, 2, (double[]){2, -1, 0.5, 3, -0.25, 1});
    assert_false(hd_history_matters(&(hd_history_opt){.repetition = 1}));
    hd_run_release(&r);
    hd_backend_free(b);
}

#define SET(...)                                                                           \
    {                                                                                      \
        (const int32_t[]){__VA_ARGS__}, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t) \
    }

/* Each rule where it holds, and one place further, where it does not. */
static void rules_hold_where_those_of_transformers_do(void **state)
{
    (void)state;
    static const double as_ever[V] = {2, -1, 0.5, 3, -0.25, 1};
    const hd_token_set runs[] = {SET(1), SET(4), SET(2, 3, 0), SET(3, 5)};
    const struct {
        hd_rules rules;
        size_t count, drawn, left;
        double want[V];
    } cases[] = {
        {{.runs = runs, .run_count = 4}, 6, 1, 9, {-INFINITY, -1, 0.5, 3, -0.25, -INFINITY}},
        {{.runs = runs, .run_count = 4}, 1, 1, 9, {2, -1, 0.5, 3, -0.25, -INFINITY}},
        {{.runs = runs, .run_count = 4}, 3, 1, 9, {2, -1, 0.5, 3, -0.25, 1}},
        {{.ends = SET(0, 4), .min_length = 7}, 6, 1, 9, {-INFINITY, -1, 0.5, 3, -INFINITY, 1}},
        {{.ends = SET(0, 4), .min_length = 6}, 6, 1, 9, {2, -1, 0.5, 3, -0.25, 1}},
        {{.ends = SET(0, 4), .min_drawn = 2}, 6, 1, 9, {-INFINITY, -1, 0.5, 3, -INFINITY, 1}},
        {{.ends = SET(0, 4), .min_drawn = 1}, 6, 1, 9, {2, -1, 0.5, 3, -0.25, 1}},
        {{.first = SET(5)}, 1, 0, 9, {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 1}},
        {{.first = SET(5)}, 2, 0, 9, {2, -1, 0.5, 3, -0.25, 1}},
        {{.last = SET(0, 4)}, 6, 1, 1, {2, -INFINITY, -INFINITY, -INFINITY, -0.25, -INFINITY}},
        {{.last = SET(0, 4)}, 6, 1, 2, {2, -1, 0.5, 3, -0.25, 1}},
        {{.never_first = SET(1, 3)}, 6, 0, 9, {2, -INFINITY, 0.5, -INFINITY, -0.25, 1}},
        {{.never_first = SET(1, 3)}, 6, 1, 9, {2, -1, 0.5, 3, -0.25, 1}},
    };
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_history of = {said, cases[i].count, cases[i].count, cases[i].drawn, cases[i].left};
        const hd_history_opt o = {.rules = &cases[i].rules};
        assert_true(hd_history_matters(&o));
        expect_text(&r, &o, of, cases[i].want);
    }
    bool banned[V] = {0};
    const hd_rules rules = {.never = SET(5), .runs = runs, .run_count = 4, .ends = SET(4)};
    hd_rules_ban(&rules, banned);
    for (int i = 0; i < V; i++) assert_int_equal(banned[i], i == 1 || i == 5); /* an end is no bad word */
    const hd_rules single = {.never = SET(5), .runs = runs, .run_count = 2, .min_length = 5};
    assert_false(hd_rules_vary(&single));
    expect_text(&r, &(hd_history_opt){.rules = &single}, (hd_history){said, 6, 6, 1, 9}, as_ever);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Shares of many draws. */
static void min_p_leaves_what_transformers_does(void **state)
{
    (void)state;
    enum { DRAWS = 4000 };
    static const struct {
        float temperature;
        size_t top_k;
        float top_p, min_p;
        double share[V];
    } cases[] = {
        {1, 0, 0, 0.2f, {0.2689, 0, 0, 0.7311, 0, 0}},
        {0.7f, 0, 1, 0.1f, {0.1933, 0, 0, 0.8067, 0, 0}},
        {1, 4, 1, 0.05f, {0.2321, 0, 0.0518, 0.6308, 0, 0.0854}},
        {1, 0, 0.8f, 0.02f, {0.2689, 0, 0, 0.7311, 0, 0}},
        {2, 5, 0.9f, 0.3f, {0.3072, 0, 0, 0.5065, 0, 0.1863}},
        {1, 3, 0.95f, 0.01f, {0.2447, 0, 0, 0.6652, 0, 0.09}},
    };
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        size_t seen[V] = {0};
        static hd_lot lot[DRAWS];
        static int32_t token[DRAWS];
        for (int i = 0; i < DRAWS; i++) lot[i] = (hd_lot){.key = i, .number = 1};
        hd_run_begin(&r, HD_INFERENCE);
        hd_draw_opt o = {.temperature = cases[c].temperature,
                         .top_k = cases[c].top_k,
                         .top_p = cases[c].top_p,
                         .min_p = cases[c].min_p,
                         .seed = 1,
                         .end = -1};
        assert_true(hd_draw_tokens(&r, hd_from(&r, 1, V, scores), lot, DRAWS, &o, token));
        for (int i = 0; i < DRAWS; i++) seen[token[i]]++;
        for (int i = 0; i < V; i++) {
            double share = (double)seen[i] / DRAWS;
            assert_true(cases[c].share[i] > 0 ? fabs(share - cases[c].share[i]) < 0.03
                                              : !seen[i]); /* 4 deviations */
        }
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_said_counts_less_and_runs_do_not_come_again),
        cmocka_unit_test(rules_hold_where_those_of_transformers_do),
        cmocka_unit_test(min_p_leaves_what_transformers_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
