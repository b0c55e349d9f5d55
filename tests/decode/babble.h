/* A model for tests of search that is nothing but a probability table: the next token given the last one, or
   given the whole history by a hash of it, so that a hypothesis that got another's state is found out. Counts
   what it is asked. */
#ifndef BABBLE_H
#define BABBLE_H

#include "check.h"
#include "decode/search.h"

enum { BABBLE_VOCAB = 16, BABBLE_ITEMS = 64 };

typedef struct babble_state {
    int32_t key;      /* of the sentence */
    uint64_t history; /* hash of all tokens */
    size_t length;
} babble_state;

typedef struct babble {
    size_t vocab;
    const double (*table)[BABBLE_VOCAB]; /* [last][next]; NULL: by the history */
    uint64_t seed;
    double sharp;          /* spread of the scores before softmax */
    double end_bias;       /* added to the score of token 0, the end token as a rule */
    const int32_t *key;    /* [items]; NULL: the index */
    int32_t first, nan_at; /* start token; step that gives NaN, 0: none */
    babble_state *state;
    size_t live, joined, steps, rows, picks;
    int32_t source[BABBLE_ITEMS];
} babble;

CHECK_UNUSED static uint64_t babble_hash(uint64_t history, int32_t token)
{
    uint64_t x = history * 0x9E3779B97F4A7C15u + (uint64_t)token + 1;
    x ^= x >> 31, x *= 0xD6E8FEB86659FD93u, x ^= x >> 32;
    return x;
}

/* Log-probabilities of the token after a history, in the bits the stepper gives. */
CHECK_UNUSED static void babble_row(const babble *b, int32_t key, uint64_t history, int32_t last,
                                    hd_real *row)
{
    double z[BABBLE_VOCAB], max = -INFINITY, sum = 0;
    hd_rng rng = hd_rng_make(b->seed ^ history, (uint64_t)key);
    for (size_t i = 0; i < b->vocab; i++) {
        z[i] = b->table ? log(b->table[last][i]) : b->sharp * hd_rng_normal(&rng) + (i ? 0 : b->end_bias);
        if (z[i] > max) max = z[i];
    }
    for (size_t i = 0; i < b->vocab; i++) sum += exp(z[i] - max);
    for (size_t i = 0; i < b->vocab; i++) row[i] = (hd_real)(b->table ? z[i] : z[i] - max - log(sum));
}

/* Hypotheses from `first` on take a token; ids NULL: their first one. */
CHECK_UNUSED static hd_tensor *babble_rows(hd_run *r, babble *b, size_t first, const int32_t *ids)
{
    size_t n = b->live - first;
    hd_real *row = hd_host_take(r, n * b->vocab * sizeof *row);
    if (!row) return NULL;
    b->steps++, b->rows += n;
    for (size_t i = 0; i < n; i++) {
        babble_state *s = &b->state[first + i];
        if (s->length++) s->history = babble_hash(s->history, ids[i]);
        babble_row(b, s->key, s->history, ids ? ids[i] : b->first, row + i * b->vocab);
        for (size_t k = 0; (int32_t)b->steps == b->nan_at && k < b->vocab; k++) row[i * b->vocab + k] = NAN;
    }
    return hd_from(r, n, b->vocab, row);
}

CHECK_UNUSED static hd_tensor *babble_step(hd_run *r, void *context, const int32_t *ids, size_t live)
{
    babble *b = context;
    if (live != b->live) return hd_fail(r, HD_ESHAPE, "babble: %zu hypotheses, %zu are alive", live, b->live);
    return babble_rows(r, b, 0, ids);
}

CHECK_UNUSED static hd_tensor *babble_join(hd_run *r, void *context, size_t n)
{
    babble *b = context;
    size_t first = b->live;
    babble_state *s = hd_mem_grow(b->state, (first + n) * sizeof *s);
    if (!s) return hd_err_nomem(&r->err, n * sizeof *s), NULL;
    b->state = s, b->live += n;
    for (size_t i = first; i < b->live; i++, b->joined++)
        s[i] = (babble_state){.key = b->key ? b->key[b->joined] : (int32_t)b->joined, .history = 7};
    return babble_rows(r, b, first, NULL);
}

CHECK_UNUSED static hd_status babble_pick(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    babble *b = context;
    if (!b->steps) return hd_fail(r, HD_EARG, "babble: picked before the first step"), HD_EARG;
    babble_state *s = hd_mem_array(n, sizeof *s);
    if (!s) return hd_err_nomem(&r->err, n * sizeof *s);
    for (size_t i = 0; i < n; i++) {
        assert_in_range(parent[i], 0, b->live - 1);
        s[i] = b->state[parent[i]];
    }
    hd_mem_free(b->state);
    b->state = s, b->live = n, b->picks++;
    return HD_OK;
}

CHECK_UNUSED static void babble_close(void *context)
{
    babble *b = context;
    hd_mem_free(b->state);
    b->state = NULL;
}

/* A run for a group of tests. */
typedef struct setting {
    hd_backend *backend;
    hd_run r;
} setting;

CHECK_UNUSED static int setting_open(void **state)
{
    static setting s;
    s.backend = backend_of("cpu", 2);
    s.r = run_on(s.backend);
    *state = &s;
    return 0;
}

CHECK_UNUSED static int setting_close(void **state)
{
    setting *s = *state;
    hd_run_release(&s->r);
    hd_backend_free(s->backend);
    return 0;
}

/* A stepper over `items` sentences; counts start anew. */
CHECK_UNUSED static hd_stepper babble_open(babble *b, size_t items)
{
    b->state = NULL;
    b->live = b->joined = b->steps = b->rows = b->picks = 0;
    for (size_t i = 0; i < items; i++) b->source[i] = (int32_t)(2 + i % 5);
    return (hd_stepper){.vocab = b->vocab,
                        .items = items,
                        .source = b->source,
                        .join = babble_join,
                        .step = babble_step,
                        .pick = babble_pick,
                        .free = babble_close,
                        .context = b};
}

CHECK_UNUSED static hd_found *babble_search(babble *b, hd_run *r, size_t items, const hd_search_opt *o)
{
    hd_err err = {0};
    hd_found *f = NULL;
    hd_stepper s = babble_open(b, items);
    if (hd_search(&f, r, &s, o, &err)) fail_msg("%s", err.text);
    hd_stepper_release(&s);
    return f;
}

/* Bit by bit: tokens, log-probabilities, scores, order. */
CHECK_UNUSED static bool same_guess(const hd_guess *a, const hd_guess *b)
{
    return a->length == b->length && a->finished == b->finished && a->sum == b->sum && a->score == b->score &&
           !memcmp(a->ids, b->ids, a->length * sizeof *a->ids) &&
           !memcmp(a->logp, b->logp, a->length * sizeof *a->logp);
}

CHECK_UNUSED static void assert_same_item(const hd_found *a, size_t i, const hd_found *b, size_t j)
{
    if (hd_found_count(a, i) != hd_found_count(b, j))
        fail_msg("%zu guesses and %zu", hd_found_count(a, i), hd_found_count(b, j));
    for (size_t k = 0; k < hd_found_count(a, i); k++)
        if (!same_guess(&hd_found_at(a, i)[k], &hd_found_at(b, j)[k]))
            fail_msg("item %zu, guess %zu differs", i, k);
}

CHECK_UNUSED static void assert_same_found(const hd_found *a, const hd_found *b)
{
    assert_int_equal(a->items, b->items);
    for (size_t i = 0; i < a->items; i++) assert_same_item(a, i, b, i);
}

/* What every search promises: sums are sums, scores follow the penalty, finished ones end in the end token
   and nowhere else. */
CHECK_UNUSED static void assert_sound(const hd_found *f, const hd_search_opt *o)
{
    for (size_t k = 0; k < f->guesses; k++) {
        const hd_guess *g = &f->guess[k];
        double sum = 0;
        for (size_t t = 0; t < g->length; t++) {
            sum += (double)g->logp[t];
            assert_true(g->logp[t] <= 0 && g->logp[t] > -INFINITY);
            if (t + 1 < g->length || !g->finished) assert_true(g->ids[t] != o->end);
        }
        assert_true(g->sum == sum);
        assert_true(g->score == hd_length_score(&o->length, sum, g->length));
        if (g->finished) assert_int_equal(g->ids[g->length - 1], o->end);
    }
}

#endif
