/* Rules about what may follow: every hypothesis is asked with its own tokens, and what is banned is not
 * taken. */
#include "decode/babble.h"

enum { END = 0, ITEMS = 6, VOCAB = 7 };

typedef struct watch {
    const babble *b;
    size_t rows;
    int32_t banned; /* not behind itself; -1: nothing is */
} watch;

/* What is handed over are the numbers that the model has after these tokens. */
static void look(void *context, size_t item, const int32_t *token, size_t count, hd_real *logp)
{
    watch *w = context;
    uint64_t history = 7;
    hd_real expected[BABBLE_VOCAB];
    for (size_t i = 0; i < count; i++) history = babble_hash(history, token[i]);
    babble_row(w->b, (int32_t)item, history, count ? token[count - 1] : w->b->first, expected);
    assert_memory_equal(logp, expected, VOCAB * sizeof *logp);
    if (w->banned >= 0 && count && token[count - 1] == w->banned) logp[w->banned] = -INFINITY;
    w->rows++;
}

static hd_search_opt option_of(hd_search_kind kind, watch *w)
{
    return (hd_search_opt){.kind = kind,
                           .end = END,
                           .max_length = kind == HD_SEARCH_EXHAUSTIVE ? 4 : 9,
                           .beam = 3,
                           .best = kind == HD_SEARCH_GREEDY ? 1 : 3,
                           .temperature = 1,
                           .seed = 5,
                           .adjust = {look, w}};
}

static void every_hypothesis_is_asked_with_its_own_tokens(void **state)
{
    setting *s = *state;
    for (int kind = 0; kind < HD_SEARCHES; kind++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            babble b = {.vocab = VOCAB, .seed = seed, .sharp = 1.5, .end_bias = -1};
            watch w = {.b = &b, .banned = -1};
            hd_search_opt with = option_of((hd_search_kind)kind, &w), without = with;
            without.adjust = (hd_adjust){0};
            hd_found *f = babble_search(&b, &s->r, ITEMS, &with),
                     *g = babble_search(&b, &s->r, ITEMS, &without);
            assert_same_found(f, g); /* that changes nothing */
            assert_true(w.rows >= ITEMS);
            hd_found_free(f);
            hd_found_free(g);
        }
}

static void what_is_banned_is_not_taken(void **state)
{
    setting *s = *state;
    for (int kind = 0; kind < HD_SEARCHES; kind++) {
        babble b = {.vocab = VOCAB, .seed = 3, .sharp = 0.5, .end_bias = -2};
        watch w = {.b = &b, .banned = 4};
        hd_search_opt o = option_of((hd_search_kind)kind, &w);
        hd_found *f = babble_search(&b, &s->r, ITEMS, &o);
        for (size_t k = 0; k < f->guesses; k++)
            for (size_t i = 1; i < f->guess[k].length; i++)
                assert_false(f->guess[k].ids[i] == 4 && f->guess[k].ids[i - 1] == 4);
        hd_found_free(f);
    }
}

/* A prefix is not asked about, but counts among the tokens. */
static void a_prefix_is_among_the_tokens(void **state)
{
    setting *s = *state;
    static const int32_t prefix[] = {3, 4, 4, 5, 2, 6}, len[ITEMS] = {1, 2, 0, 3, 0, 0};
    babble b = {.vocab = VOCAB, .seed = 1, .sharp = 1, .end_bias = -1};
    watch w = {.b = &b, .banned = 4};
    hd_search_opt o = option_of(HD_SEARCH_BEAM, &w);
    o.prefix = prefix, o.prefix_len = len;
    hd_found *f = babble_search(&b, &s->r, ITEMS, &o);
    for (size_t i = 0; i < 2; i++) assert_int_equal(hd_found_at(f, 1)->ids[i], 4);
    hd_found_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_hypothesis_is_asked_with_its_own_tokens),
        cmocka_unit_test(what_is_banned_is_not_taken),
        cmocka_unit_test(a_prefix_is_among_the_tokens),
    };
    return cmocka_run_group_tests(tests, setting_open, setting_close);
}
