/* What all searches share: limits, bans, prefixes, batches, and refusals. */
#include "decode/babble.h"

enum { END = 0, BATCH = 12 };

/* Each search with settings that make it do something. */
static hd_search_opt option_of(hd_search_kind kind)
{
    hd_search_opt o = {
        .kind = kind, .end = END, .max_length = 8, .beam = 3, .best = 3, .temperature = 1, .seed = 11};
    if (kind == HD_SEARCH_GREEDY) o.best = 1;
    if (kind == HD_SEARCH_EXHAUSTIVE) o.max_length = 5;
    return o;
}

static babble model_of(uint64_t seed)
{
    return (babble){.vocab = 5, .seed = seed, .sharp = 1.5};
}

static void a_sentence_ends_with_the_stop_token_or_at_the_limit(void **state)
{
    setting *s = *state;
    for (int kind = 0; kind < HD_SEARCHES; kind++) {
        size_t ended = 0, cut = 0, longest = 0;
        for (uint64_t seed = 0; seed < 20; seed++) {
            babble b = model_of(seed);
            b.end_bias = seed % 2 ? -4 : 0;
            hd_search_opt o = option_of((hd_search_kind)kind);
            if (seed % 4 == 1) o.end = -1; /* nothing ends but at the limit */
            hd_found *f = babble_search(&b, &s->r, BATCH, &o);
            assert_sound(f, &o);
            for (size_t k = 0; k < f->guesses; k++) {
                const hd_guess *g = &f->guess[k];
                ended += g->finished, cut += !g->finished;
                assert_in_range(g->length, 1, o.max_length);
                if (!g->finished) assert_int_equal(g->length, o.max_length);
                if (g->length > longest) longest = g->length;
                if (seed % 4 == 1) assert_false(g->finished);
            }
            for (size_t i = 0; i < BATCH; i++) assert_true(hd_found_count(f, i) > 0);
            hd_found_free(f);
        }
        print_message("%-10s %zu ended, %zu cut\n", hd_search_names[kind], ended, cut);
        assert_true(ended > 0 && cut > 0 && longest == option_of((hd_search_kind)kind).max_length);
    }
}

static void the_smallest_of_the_limits_holds(void **state)
{
    setting *s = *state;
    static const struct {
        size_t most;
        double ratio;
        size_t extra;
        int32_t room, want[5]; /* for sources of 2, 3, 4, 5 and 6 */
    } cases[] = {
        {7, 0, 0, 0, {7, 7, 7, 7, 7}},   {0, 1.5, 0, 0, {3, 4, 6, 7, 9}},
        {0, 0.5, 2, 0, {3, 3, 4, 4, 5}}, {5, 1.5, 0, 0, {3, 4, 5, 5, 5}},
        {9, 1.5, 3, 6, {6, 6, 6, 6, 6}}, {0, 0.1, 0, 0, {1, 1, 1, 1, 1}},
        {0, 0, 5, 4, {4, 4, 4, 4, 4}},   {SIZE_MAX, 1, 0, 0, {2, 3, 4, 5, 6}},
    };
    for (int kind = 0; kind < HD_SEARCHES; kind++)
        for (size_t c = 0; c < COUNT_OF(cases); c++) {
            hd_err err = {0};
            hd_found *f = NULL;
            babble b = {.vocab = 2, .seed = c, .sharp = 1};
            int32_t room[5] = {cases[c].room, cases[c].room, cases[c].room, cases[c].room, cases[c].room};
            hd_search_opt o = option_of((hd_search_kind)kind);
            o.end = -1, o.best = 1, o.max_length = cases[c].most, o.max_ratio = cases[c].ratio,
            o.max_extra = cases[c].extra;
            hd_stepper st = babble_open(&b, 5);
            if (cases[c].room) st.room = room;
            if (hd_search(&f, &s->r, &st, &o, &err)) fail_msg("%s", err.text);
            for (size_t i = 0; i < 5; i++) assert_int_equal(f->guess[i].length, cases[c].want[i]);
            hd_stepper_release(&st);
            hd_found_free(f);
        }
}

static void no_sentence_is_shorter_than_asked_for_and_none_has_a_banned_token(void **state)
{
    setting *s = *state;
    static const int32_t banned[] = {3, 1, 3};
    for (int kind = 0; kind < HD_SEARCHES; kind++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            babble b = model_of(seed);
            b.end_bias = 2;
            hd_search_opt o = option_of((hd_search_kind)kind);
            o.min_length = 4, o.banned = banned, o.banned_count = 3;
            if (seed % 4 == 1) o.stop = HD_STOP_BEST;
            hd_found *f = babble_search(&b, &s->r, BATCH, &o);
            assert_sound(f, &o);
            for (size_t k = 0; k < f->guesses; k++) {
                assert_true(f->guess[k].length >= 4);
                for (size_t t = 0; t < f->guess[k].length; t++)
                    assert_true(f->guess[k].ids[t] != 1 && f->guess[k].ids[t] != 3);
            }
            hd_found_free(f);
        }
}

static void what_nothing_can_follow_is_given_as_it_is(void **state)
{
    setting *s = *state;
    static const double table[BABBLE_VOCAB][BABBLE_VOCAB] = {
        [0] = {0, 1, 0}, [1] = {0, 0, 1}, [2] = {1, 0, 0}};
    static const int32_t banned[] = {END};
    for (int kind = 0; kind < HD_SEARCHES; kind++)
        for (int stop = 0; stop < HD_STOPS; stop++) {
            babble b = {.vocab = 3, .table = table};
            hd_search_opt o = option_of((hd_search_kind)kind);
            o.best = 1, o.stop = (hd_stop)stop, o.banned = banned, o.banned_count = 1;
            hd_found *f = babble_search(&b, &s->r, 2, &o);
            for (size_t i = 0; i < 2; i++) {
                assert_int_equal(hd_found_count(f, i), 1);
                assert_int_equal(f->guess[i].length,
                                 2); /* "1 2", then only the end token has a probability */
                assert_false(f->guess[i].finished);
            }
            hd_found_free(f);
            o.banned_count = 0; /* and with it: "1 2 end", the only sentence there is */
            f = babble_search(&b, &s->r, 2, &o);
            assert_true(f->guess[0].length == 3 && f->guess[0].finished && f->guess[0].sum == 0);
            hd_found_free(f);
        }
}

static void sentences_begin_with_their_prefix_and_go_on_as_without(void **state)
{
    setting *s = *state;
    static const int32_t len[] = {0, 2, 1, 3, 8, 0, 4, 2};
    int32_t prefix[20];
    hd_rng rng = hd_rng_make(6, 0);
    for (size_t i = 0; i < 20; i++) prefix[i] = 1 + (int32_t)hd_rng_below(&rng, 4);
    prefix[15] = prefix[13] = 3;
    for (int kind = 0; kind < HD_SEARCHES; kind++) {
        babble b = model_of(17);
        const int32_t banned[] = {3}; /* a prefix may have it */
        hd_search_opt o = option_of((hd_search_kind)kind);
        o.max_length = 8, o.prefix = prefix, o.prefix_len = len, o.banned = banned, o.banned_count = 1;
        hd_found *f = babble_search(&b, &s->r, 8, &o);
        assert_sound(f, &o);
        for (size_t i = 0, at = 0; i < 8; at += (size_t)len[i++])
            for (size_t k = 0; k < hd_found_count(f, i); k++) {
                const hd_guess *g = &hd_found_at(f, i)[k];
                assert_true(g->length >= (size_t)len[i] && g->length <= 8);
                assert_memory_equal(g->ids, prefix + at, (size_t)len[i] * sizeof *prefix);
                uint64_t history = 7; /* the log-probabilities are the model's own, of the prefix too */
                for (size_t t = 0; t < g->length; t++) {
                    hd_real row[BABBLE_VOCAB];
                    babble_row(&b, (int32_t)i, history, 0, row);
                    assert_true(g->logp[t] == row[g->ids[t]]);
                    history = babble_hash(history, g->ids[t]);
                }
            }
        hd_found_free(f);
    }
}

/* The best sentence of a beam, forced as a prefix of any length, is found again. */
static void a_prefix_of_the_best_sentence_leads_back_to_it(void **state)
{
    setting *s = *state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        babble b = model_of(seed);
        hd_search_opt o = {.kind = HD_SEARCH_EXHAUSTIVE, .end = END, .max_length = 5};
        hd_found *best = babble_search(&b, &s->r, 1, &o);
        for (int32_t n = 1; n <= (int32_t)best->guess[0].length; n++) {
            o.prefix = best->guess[0].ids, o.prefix_len = &n;
            hd_found *f = babble_search(&b, &s->r, 1, &o);
            assert_same_found(f, best);
            hd_found_free(f);
        }
        hd_found_free(best);
    }
}

static void a_sentence_alone_or_in_any_batch_gives_the_same_bits(void **state)
{
    setting *s = *state;
    static const int32_t keys[] = {4, 9, 0, 9, 7, 2, 11, 30, 5, 6, 1, 3};
    for (int kind = 0; kind < HD_SEARCHES; kind++)
        for (uint64_t seed = 0; seed < 10; seed++) {
            babble b = model_of(seed);
            hd_search_opt o = option_of((hd_search_kind)kind);
            b.key = o.key = keys;
            hd_found *all = babble_search(&b, &s->r, BATCH, &o);
            for (size_t i = 0; i < BATCH; i++) {
                b.key = o.key = &keys[i];
                hd_found *alone = babble_search(&b, &s->r, 1, &o);
                assert_same_item(all, i, alone, 0);
                hd_found_free(alone);
            }
            assert_same_item(all, 1, all, 3);
            hd_found_free(all);
        }
}

static void done_sentences_leave_the_batch(void **state)
{
    setting *s = *state;
    babble b = model_of(3);
    hd_search_opt o = option_of(HD_SEARCH_GREEDY);
    hd_found *f = babble_search(&b, &s->r, BATCH, &o);
    size_t rows = 0, longest = 0;
    for (size_t k = 0; k < f->guesses; k++) {
        rows += f->guess[k].length;
        if (f->guess[k].length > longest) longest = f->guess[k].length;
    }
    assert_int_equal(b.rows, rows); /* one row for every token, none for those that are done */
    assert_int_equal(b.steps, longest);
    assert_true(rows < BATCH * longest);
    hd_found_free(f);
}

static void a_batch_of_nothing_finds_nothing(void **state)
{
    setting *s = *state;
    babble b = model_of(3);
    hd_search_opt o = option_of(HD_SEARCH_BEAM);
    hd_found *f = babble_search(&b, &s->r, 0, &o);
    assert_true(f->items == 0 && f->guesses == 0 && b.steps == 0);
    hd_found_free(f);
}

static void refusals_say_why(void **state)
{
    setting *s = *state;
    static const int32_t bad[] = {5}, negative[] = {-1}, ends_early[] = {2, END, 1}, one[] = {1},
                         nine[] = {9}, three[] = {3}, many[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const hd_search_opt ok = {
        .kind = HD_SEARCH_BEAM, .end = END, .max_length = 8, .beam = 3, .temperature = 1};
#define WITH(...)                                                                                     \
    (hd_search_opt)                                                                                   \
    {                                                                                                 \
        .kind = HD_SEARCH_BEAM, .end = END, .max_length = 8, .beam = 3, .temperature = 1, __VA_ARGS__ \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#endif
    const struct {
        hd_search_opt o;
        hd_status status;
        const char *text;
    } cases[] = {
        {ok, HD_OK, ""},
        {WITH(.kind = HD_SEARCHES), HD_EARG, "search: there is no such kind"},
        {WITH(.stop = HD_STOPS), HD_EARG, "search: there is no such kind"},
        {WITH(.length = {.kind = HD_LENGTHS}), HD_EARG, "search: there is no such kind"},
        {WITH(.length = {.alpha = NAN}), HD_EARG, "search: alpha is nan"},
        {WITH(.end = 5), HD_EARG, "search: end token 5 in a vocabulary of 5"},
        {WITH(.end = -2), HD_EARG, "search: end token -2 in a vocabulary of 5"},
        {WITH(.max_length = 0), HD_EARG, "search: nothing limits the length"},
        {WITH(.max_ratio = -1), HD_EARG, "search: a limit of -1 times the source's length"},
        {WITH(.max_ratio = INFINITY), HD_EARG, "search: a limit of inf times the source's length"},
        {WITH(.beam = 0), HD_EARG, "search: a beam of 0"},
        {WITH(.kind = HD_SEARCH_GREEDY, .best = 2), HD_EARG,
         "search: greedy search finds one sentence, not 2"},
        {WITH(.kind = HD_SEARCH_SAMPLE, .temperature = -1), HD_EARG, "search: temperature -1, top_p 0"},
        {WITH(.kind = HD_SEARCH_SAMPLE, .temperature = NAN), HD_EARG, "search: temperature nan, top_p 0"},
        {WITH(.kind = HD_SEARCH_SAMPLE, .top_p = 1.5f), HD_EARG, "search: temperature 1, top_p 1.5"},
        {WITH(.banned = bad, .banned_count = 1), HD_EARG, "search: banned token 5 in a vocabulary of 5"},
        {WITH(.banned = negative, .banned_count = 1), HD_EARG,
         "search: banned token -1 in a vocabulary of 5"},
        {WITH(.prefix = bad, .prefix_len = one), HD_EARG,
         "search: token 5 in the prefix of sentence 0, the vocabulary has 5"},
        {WITH(.prefix = many, .prefix_len = nine), HD_EARG,
         "search: the prefix of sentence 0 has 9 tokens, the limit is 8"},
        {WITH(.prefix = one, .prefix_len = negative), HD_EARG,
         "search: the prefix of sentence 0 has -1 tokens"},
        {WITH(.prefix = ends_early, .prefix_len = three), HD_EARG,
         "search: the prefix of sentence 0 goes on after its end token"},
        {WITH(.kind = HD_SEARCH_EXHAUSTIVE, .max_length = 30), HD_ELIMIT,
         "search: too many sentences of 10 tokens to go through all"},
    };
#pragma GCC diagnostic pop
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        hd_err err = {0};
        hd_found *f = NULL;
        babble b = model_of(1);
        hd_stepper st = babble_open(&b, 1);
        assert_int_equal(hd_search(&f, &s->r, &st, &cases[c].o, &err), cases[c].status);
        assert_string_equal(err.text, cases[c].text);
        assert_true(!f == (cases[c].status != HD_OK));
        hd_found_free(f);
        hd_stepper_release(&st);
    }
}

static void a_model_that_gives_no_numbers_is_an_error(void **state)
{
    setting *s = *state;
    for (int kind = 0; kind < HD_SEARCHES; kind++)
        for (int forced = 0; forced < 2; forced++) {
            hd_err err = {0};
            hd_found *f = NULL;
            babble b = model_of(1);
            b.nan_at = 2;
            const int32_t prefix[] = {1, 1}, len[] = {2};
            hd_search_opt o = option_of((hd_search_kind)kind);
            o.min_length = 4;
            if (forced) o.prefix = prefix, o.prefix_len = len;
            hd_stepper st = babble_open(&b, 1);
            assert_int_equal(hd_search(&f, &s->r, &st, &o, &err), HD_ENUMBER);
            assert_non_null(strstr(err.text, "the model's output is not a number"));
            hd_stepper_release(&st);
        }
}

/* The run's own settings are given back. */
static void the_run_keeps_its_seed_and_step(void **state)
{
    setting *s = *state;
    s->r.now.seed = 99, s->r.now.number = 12;
    babble b = model_of(1);
    hd_search_opt o = option_of(HD_SEARCH_SAMPLE);
    hd_found_free(babble_search(&b, &s->r, 3, &o));
    assert_true(s->r.now.seed == 99 && s->r.now.number == 12);
}

static hd_status search_once(hd_backend *backend, const hd_search_opt *o, hd_err *err)
{
    hd_run r = {0};
    hd_found *f = NULL;
    babble b = model_of(5);
    hd_status st = hd_run_init(&r, backend, err);
    hd_stepper s = babble_open(&b, 4);
    if (!st && !s.context) st = hd_err_nomem(err, 0);
    if (!st) st = hd_search(&f, &r, &s, o, err);
    assert_true(!f == (st != HD_OK));
    hd_found_free(f);
    hd_stepper_release(&s);
    hd_run_release(&r);
    return st;
}

static void memory_that_runs_out_is_an_error_and_nothing_leaks(void **state)
{
    setting *s = *state;
    static const int32_t prefix[] = {2, 1, 3}, len[] = {0, 1, 2, 0}, banned[] = {1};
    for (int kind = 0; kind < HD_SEARCHES; kind++)
        for (int stop = 0; stop < HD_STOPS; stop += 3) {
            hd_err err = {0};
            hd_search_opt o = option_of((hd_search_kind)kind);
            o.stop = (hd_stop)stop, o.prefix = prefix, o.prefix_len = len, o.banned = banned,
            o.banned_count = 1;
            assert_int_equal(search_once(s->backend, &o, &err),
                             HD_OK); /* the backend's scratch memory is there from now on */
            size_t calls = hd_mem_now().calls, blocks = hd_mem_now().blocks;
            assert_int_equal(search_once(s->backend, &o, &err), HD_OK);
            calls = hd_mem_now().calls - calls;
            for (size_t n = 1; n <= calls; n++) {
                err = (hd_err){0};
                hd_mem_fail_at(n);
                hd_status st = search_once(s->backend, &o, &err);
                hd_mem_fail_at(0);
                if (st != HD_ENOMEM && st != HD_OK) fail_msg("allocation %zu of %zu: %s", n, calls, err.text);
                if (st) assert_int_equal(err.status, HD_ENOMEM);
                assert_int_equal(hd_mem_now().blocks, blocks);
            }
            print_message("%-10s %zu allocations\n", hd_search_names[kind], calls);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sentence_ends_with_the_stop_token_or_at_the_limit),
        cmocka_unit_test(the_smallest_of_the_limits_holds),
        cmocka_unit_test(no_sentence_is_shorter_than_asked_for_and_none_has_a_banned_token),
        cmocka_unit_test(what_nothing_can_follow_is_given_as_it_is),
        cmocka_unit_test(sentences_begin_with_their_prefix_and_go_on_as_without),
        cmocka_unit_test(a_prefix_of_the_best_sentence_leads_back_to_it),
        cmocka_unit_test(a_sentence_alone_or_in_any_batch_gives_the_same_bits),
        cmocka_unit_test(done_sentences_leave_the_batch),
        cmocka_unit_test(a_batch_of_nothing_finds_nothing),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(a_model_that_gives_no_numbers_is_an_error),
        cmocka_unit_test(the_run_keeps_its_seed_and_step),
        cmocka_unit_test(memory_that_runs_out_is_an_error_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, setting_open, setting_close);
}
