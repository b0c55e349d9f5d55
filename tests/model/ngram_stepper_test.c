/* The n-gram model behind the search: against brute force over its probabilities. */
#include "decode/search.h"
#include "model/ngram_corpus.h"

/* The best sentence by going through all of them, with log-probabilities in the bits the stepper gives. */
typedef struct quest {
    const hd_ngram *m;
    size_t longest, length;
    int32_t line[16], best[16]; /* behind the prompt */
    double best_sum;
} quest;

static void explore(quest *q, size_t prompt, size_t n, double sum)
{
    for (int32_t v = 0; v < (int32_t)hd_ngram_options(q->m)->vocab; v++) {
        double s = sum + (double)(hd_real)hd_ngram_logp(q->m, q->line, prompt + n, v);
        if (v < SPECIALS && v != END) continue;
        q->line[prompt + n] = v;
        if (v == END && s > q->best_sum)
            q->best_sum = s, q->length = n + 1, memcpy(q->best, q->line + prompt, (n + 1) * sizeof *q->best);
        if (v != END && n + 1 < q->longest) explore(q, prompt, n + 1, s);
    }
}

static void greedy(quest *q, size_t prompt)
{
    for (q->length = 0; q->length < q->longest;) {
        int32_t best = END;
        for (int32_t v = SPECIALS - 1; v < (int32_t)hd_ngram_options(q->m)->vocab; v++)
            if (hd_ngram_logp(q->m, q->line, prompt + q->length, v) >
                hd_ngram_logp(q->m, q->line, prompt + q->length, best))
                best = v;
        q->best[q->length] = q->line[prompt + q->length] = best;
        q->length++;
        if (best == END) return;
    }
}

static void search_over_it_is_brute_force(void **state)
{
    (void)state;
    static const int32_t banned[] = {0, 1, START}, len[] = {1, 3, 2}, prompts[] = {START, START, A, B, B, A};
    hd_backend *backend = backend_of("cpu", 1);
    hd_run r = run_on(backend);
    corpus c = zipf_corpus(60, 8, 9);
    c.documents = 12, c.begin = realloc(c.begin, 13 * sizeof *c.begin);
    for (size_t d = 0; d <= 12; d++) c.begin[d] = 5 * d;
    for (int order = 1; order <= 5; order++)
        for (int kind = 0; kind < 3; kind++) {
            hd_ngram_opt o = opt_of(&c, order, HD_SMOOTHING_KNESER_NEY);
            hd_ngram *m = model_of(&c, &o);
            hd_search_opt how = {
                .kind = (hd_search_kind[]){HD_SEARCH_GREEDY, HD_SEARCH_BEAM, HD_SEARCH_EXHAUSTIVE}[kind],
                .beam = 4000,
                .end = END,
                .max_length = 5,
                .banned = banned,
                .banned_count = 3};
            hd_stepper s = {0};
            hd_found *f = NULL;
            hd_err err = {0};
            assert_int_equal(hd_ngram_stepper(&s, m, prompts, len, 3, &err), HD_OK);
            if (hd_search(&f, &r, &s, &how, &err)) fail_msg("%s", err.text);
            hd_stepper_release(&s);
            for (size_t i = 0, at = 0; i < 3; at += (size_t)len[i++]) {
                quest q = {.m = m, .longest = 5, .best_sum = -INFINITY};
                memcpy(q.line, prompts + at, (size_t)len[i] * sizeof *q.line);
                if (kind)
                    explore(&q, (size_t)len[i], 0, 0);
                else
                    greedy(&q, (size_t)len[i]);
                const hd_guess *g = hd_found_at(f, i);
                assert_int_equal(g->length, q.length);
                assert_memory_equal(g->ids, q.best, q.length * sizeof *q.best);
                if (kind) assert_near(g->sum, q.best_sum, 1e-5);
            }
            hd_found_free(f);
            hd_ngram_free(m);
        }
    corpus_free(&c);
    hd_run_release(&r);
    hd_backend_free(backend);
}

static void prompts_must_be_tokens(void **state)
{
    (void)state;
    corpus c = hand_corpus();
    hd_ngram_opt o = opt_of(&c, 3, HD_SMOOTHING_KNESER_NEY);
    hd_ngram *m = model_of(&c, &o);
    hd_stepper s = {0};
    hd_err err = {0};
    assert_int_equal(hd_ngram_stepper(&s, m, (int32_t[]){7}, (int32_t[]){1}, 1, &err), HD_EARG);
    err = (hd_err){0};
    assert_int_equal(hd_ngram_stepper(&s, m, (int32_t[]){4}, (int32_t[]){0}, 1, &err), HD_EARG);
    hd_ngram_free(m);
    corpus_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(search_over_it_is_brute_force),
        cmocka_unit_test(prompts_must_be_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
