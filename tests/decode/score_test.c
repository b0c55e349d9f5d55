/* Forced scoring and reranking. */
#include "decode/babble.h"
#include "decode/score.h"

enum { END = 0, ITEMS = 6 };

static babble model_of(uint64_t seed)
{
    return (babble){.vocab = 6, .seed = seed, .sharp = 1.5};
}

static void score(setting *s, babble *b, hd_found *f, const hd_length *length)
{
    hd_err err = {0};
    hd_stepper st = babble_open(b, f->items);
    if (hd_found_score(f, &s->r, &st, length, 0, &err)) fail_msg("%s", err.text);
    hd_stepper_release(&st);
}

/* Lists of 0 to 5 random sentences of 0 to 7 tokens for each item. */
static hd_found *any_sentences(uint64_t seed)
{
    hd_err err = {0};
    hd_found *f = NULL;
    hd_rng rng = hd_rng_make(seed, 0);
    int32_t ids[ITEMS * 5 * 7], len[ITEMS * 5];
    size_t count[ITEMS], n = 0, tokens = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        count[i] = hd_rng_below(&rng, 6);
        for (size_t k = 0; k < count[i]; k++) {
            len[n] = (int32_t)hd_rng_below(&rng, 8);
            for (int32_t t = 0; t < len[n]; t++) ids[tokens++] = (int32_t)hd_rng_below(&rng, 6);
            n++;
        }
    }
    if (hd_found_of(&f, ids, len, count, ITEMS, &err)) fail_msg("%s", err.text);
    return f;
}

/* What the model says of every token, asked of the table itself. */
static void assert_scored(const babble *b, const hd_found *f, const hd_length *length)
{
    for (size_t i = 0; i < f->items; i++)
        for (size_t k = 0; k < hd_found_count(f, i); k++) {
            const hd_guess *g = &hd_found_at(f, i)[k];
            uint64_t history = 7;
            double sum = 0;
            for (size_t t = 0; t < g->length; t++) {
                hd_real row[BABBLE_VOCAB];
                babble_row(b, (int32_t)i, history, 0, row);
                assert_true(g->logp[t] == row[g->ids[t]]);
                sum += (double)row[g->ids[t]];
                history = babble_hash(history, g->ids[t]);
            }
            assert_true(g->sum == sum && g->score == sum / hd_length_divisor(length, g->length));
        }
}

static void given_sentences_get_the_models_log_probabilities(void **state)
{
    setting *s = *state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        babble b = model_of(seed);
        const hd_length length = {(hd_length_kind)(seed % HD_LENGTHS), 0.7, 0};
        hd_found *f = any_sentences(seed);
        score(s, &b, f, &length);
        assert_scored(&b, f, &length);
        hd_found_free(f);
    }
}

static void what_a_search_found_is_scored_as_it_was_found(void **state)
{
    setting *s = *state;
    for (int kind = 0; kind < HD_SEARCHES; kind++) {
        babble b = model_of(9);
        hd_search_opt o = {.kind = (hd_search_kind)kind,
                           .end = END,
                           .max_length = 5,
                           .beam = 4,
                           .best = kind == HD_SEARCH_GREEDY ? 1 : 4,
                           .temperature = 1,
                           .length = {HD_LENGTH_GNMT, .alpha = 0.6}};
        hd_found *f = babble_search(&b, &s->r, ITEMS, &o), *again = babble_search(&b, &s->r, ITEMS, &o);
        memset(again->logp, 0, again->used * sizeof *again->logp);
        for (size_t k = 0; k < again->guesses; k++) again->guess[k].sum = again->guess[k].score = 1;
        score(s, &b, again, &o.length);
        assert_same_found(again, f);
        hd_found_free(f), hd_found_free(again);
    }
}

/* Reranking: the best of the list by another model, found by asking for each. */
static void a_reranked_list_is_sorted_by_the_new_scores(void **state)
{
    setting *s = *state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        babble b = model_of(seed + 100);
        const hd_length none = {0};
        hd_found *f = any_sentences(seed), *before = any_sentences(seed);
        score(s, &b, f, &none);
        score(s, &b, before, &none);
        hd_found_sort(f);
        for (size_t i = 0; i < f->items; i++) {
            size_t n = hd_found_count(f, i);
            const hd_guess *old = hd_found_at(before, i), *now = hd_found_at(f, i);
            for (size_t k = 0; k < n; k++) { /* its place: better ones, and equal ones that stood before */
                size_t place = 0;
                for (size_t j = 0; j < n; j++)
                    place += old[j].score > old[k].score || (old[j].score == old[k].score && j < k);
                assert_true(same_guess(&now[place], &old[k]));
            }
        }
        hd_found_free(f), hd_found_free(before);
    }
}

static void equal_scores_stay_in_order(void **state)
{
    setting *s = *state;
    static const double table[BABBLE_VOCAB][BABBLE_VOCAB] = {{0.25, 0.25, 0.25, 0.25},
                                                             {0.25, 0.25, 0.25, 0.25},
                                                             {0.25, 0.25, 0.25, 0.25},
                                                             {0.25, 0.25, 0.25, 0.25}};
    static const int32_t ids[] = {3, 1, 2, 2, 0, 1, 1, 0}, len[] = {2, 2, 1, 1, 2};
    hd_err err = {0};
    hd_found *f = NULL;
    babble b = {.vocab = 4, .table = table};
    if (hd_found_of(&f, ids, len, &(size_t){5}, 1, &err)) fail_msg("%s", err.text);
    score(s, &b, f, &(hd_length){0});
    hd_found_sort(f);
    /* the two of one token first, then those of two as they stood */
    static const int32_t first[] = {0, 1, 3, 2, 1};
    for (size_t k = 0; k < 5; k++) assert_int_equal(f->guess[k].ids[0], first[k]);
    hd_found_free(f);
}

static void sentences_that_cannot_be_scored_are_refused(void **state)
{
    setting *s = *state;
    static const int32_t ids[] = {1, 2, 3, 4, 6, -1}, room[] = {3, 3};
    static const struct {
        int32_t from, len[2];
        size_t items;
        hd_status status;
        const char *text;
    } cases[] = {
        {0, {2, 2}, 2, HD_OK, ""},
        {0, {3, 2}, 2, HD_EARG, "score: token 6 in sentence 1, the vocabulary has 6"},
        {3, {1, 2}, 2, HD_EARG, "score: token 6 in sentence 1, the vocabulary has 6"},
        {5, {1, 0}, 2, HD_EARG, "score: token -1 in sentence 0, the vocabulary has 6"},
        {0, {4, 0}, 2, HD_ELIMIT, "score: sentence 0 has 4 tokens, the model takes 3"},
        {0, {1, 0}, 1, HD_EARG, "score: sentences for 1 items, the stepper has 2"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        hd_err err = {0};
        hd_found *f = NULL;
        babble b = model_of(1);
        hd_stepper st = babble_open(&b, 2);
        st.room = room;
        assert_int_equal(hd_found_of(&f, ids + cases[c].from, cases[c].len, NULL, cases[c].items, &err),
                         HD_OK);
        assert_int_equal(hd_found_score(f, &s->r, &st, &(hd_length){0}, 0, &err), cases[c].status);
        assert_string_equal(err.text, cases[c].text);
        hd_stepper_release(&st);
        hd_found_free(f);
    }
    hd_err err = {0};
    hd_found *f = NULL;
    assert_int_equal(hd_found_of(&f, ids, (const int32_t[]){-1}, NULL, 1, &err), HD_EARG);
    assert_string_equal(err.text, "sentence 0 has length -1");
}

static hd_status score_once(hd_backend *backend, hd_err *err)
{
    static const int32_t ids[] = {1, 2, 3, 4, 1, 2, 0}, len[] = {3, 0, 1, 3};
    static const size_t count[] = {1, 3};
    hd_run r = {0};
    hd_found *f = NULL;
    babble b = model_of(5);
    hd_status st = hd_run_init(&r, backend, err);
    hd_stepper s = babble_open(&b, 2);
    if (!st && !s.context) st = hd_err_nomem(err, 0);
    if (!st) st = hd_found_of(&f, ids, len, count, 2, err);
    if (!st) st = hd_found_score(f, &r, &s, &(hd_length){0}, 0, err);
    hd_found_free(f);
    hd_stepper_release(&s);
    hd_run_release(&r);
    return st;
}

static void memory_that_runs_out_is_an_error_and_nothing_leaks(void **state)
{
    setting *s = *state;
    hd_err err = {0};
    assert_int_equal(score_once(s->backend, &err), HD_OK);
    size_t calls = hd_mem_now().calls, blocks = hd_mem_now().blocks, failed = 0;
    assert_int_equal(score_once(s->backend, &err), HD_OK);
    calls = hd_mem_now().calls - calls;
    for (size_t n = 1; n <= calls; n++) {
        err = (hd_err){0};
        hd_mem_fail_at(n);
        hd_status st = score_once(s->backend, &err);
        hd_mem_fail_at(0);
        assert_true(st == HD_OK || (st == HD_ENOMEM && err.status == HD_ENOMEM));
        failed += st == HD_ENOMEM;
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    print_message("%zu of %zu allocations\n", failed, calls);
    assert_true(failed + 2 >= calls); /* an arena can do without joining its chunks */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_sentences_get_the_models_log_probabilities),
        cmocka_unit_test(what_a_search_found_is_scored_as_it_was_found),
        cmocka_unit_test(a_reranked_list_is_sorted_by_the_new_scores),
        cmocka_unit_test(equal_scores_stay_in_order),
        cmocka_unit_test(sentences_that_cannot_be_scored_are_refused),
        cmocka_unit_test(memory_that_runs_out_is_an_error_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, setting_open, setting_close);
}
