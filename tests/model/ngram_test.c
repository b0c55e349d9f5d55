/* The n-gram model: hand-counted ratios, rows that sum to 1, Kneser-Ney against the textbook's formulas
   written down here with strings and a tree. Search over it is in ngram_stepper_test.c, its file in
   ngram_file_test.c. */
#include <search.h>

#include "model/ngram_corpus.h"
#include "outcome.h"

static const hd_smoothing all_smoothings[] = {HD_SMOOTHING_ADD_K, HD_SMOOTHING_KNESER_NEY,
                                              HD_SMOOTHING_KNESER_NEY_3};

/* ---- by hand ---- */

static double p_of(const hd_ngram *m, const int32_t *context, size_t n, int32_t token)
{
    return exp(hd_ngram_logp(m, context, n, token));
}

/* How often the n tokens stand in the documents, with their start and end. */
static double occurrences(const corpus *c, const int32_t *gram, size_t n)
{
    double found = 0;
    for (size_t d = 0; d < c->documents; d++) {
        size_t length = c->begin[d + 1] - c->begin[d] + 2;
        for (size_t i = 0; i + n <= length; i++) {
            bool same = true;
            for (size_t j = 0; same && j < n; j++) {
                size_t k = i + j;
                same = gram[j] == (!k ? START : k == length - 1 ? END : c->ids[c->begin[d] + k - 1]);
            }
            found += same;
        }
    }
    return found;
}

static void maximum_likelihood_is_the_ratio_of_counts(void **state)
{
    (void)state;
    corpus c = hand_corpus();
    hd_ngram_opt o = opt_of(&c, 4, HD_SMOOTHING_ADD_K);
    o.k = 0;
    hd_ngram *m = model_of(&c, &o);
    const struct {
        int32_t context[3];
        size_t n;
        int32_t token;
        double p;
    } cases[] = {{{START}, 1, A, 2 / 4.0},   {{START}, 1, B, 1 / 4.0},   {{START}, 1, END, 1 / 4.0},
                 {{START, A, B}, 3, A, 1},   {{A, B, A}, 3, C, 1 / 2.0}, {{A, B, A}, 3, B, 1 / 2.0},
                 {{A, B, A}, 3, A, 0},       {{B, A, B}, 3, END, 1},     {{A}, 1, B, 3 / 4.0},
                 {{B}, 1, END, 2 / 4.0},     {{0}, 0, A, 4 / 13.0},      {{0}, 0, START, 0},
                 {{C, C, C}, 3, A, 1 / 7.0}, {{0}, 0, END, 4 / 13.0},    {{END}, 1, A, 1 / 7.0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double got = p_of(m, cases[i].context, cases[i].n, cases[i].token);
        if (fabs(got - cases[i].p) > 1e-15) fail_msg("case %zu: %.17g instead of %.17g", i, got, cases[i].p);
    }
    assert_int_equal(hd_ngram_kinds(m, 1), 5);
    assert_int_equal(hd_ngram_kinds(m, 2), 8); /* sa sb se, ab ac, ba be, ce */
    assert_int_equal(hd_ngram_kinds(m, 4), 5); /* saba abac baceE abab babE */
    hd_ngram_free(m);
    corpus_free(&c);
}

/* Every context of up to three tokens there can be, every token, exactly. */
static void add_k_is_its_formula(void **state)
{
    (void)state;
    corpus c = hand_corpus();
    for (int order = 1; order <= 4; order++)
        for (int which = 0; which < 3; which++) {
            hd_ngram_opt o = opt_of(&c, order, HD_SMOOTHING_ADD_K);
            o.k = (double[]){0, 0.25, 1}[which];
            hd_ngram *m = model_of(&c, &o);
            for (int32_t code = 0; code < 7 * 7 * 7; code++)
                for (size_t n = 0; n < (size_t)order; n++) {
                    int32_t gram[4] = {code % 7, code / 7 % 7, code / 49};
                    double total = 0, row[7], sum = 0;
                    for (int32_t w = 0; w < 7; w++)
                        gram[n] = w, total += w == START ? 0 : occurrences(&c, gram, n + 1);
                    hd_ngram_row(m, gram, n, row);
                    for (int32_t w = 0; w < 7; w++) {
                        gram[n] = w;
                        double count = w == START ? 0 : occurrences(&c, gram, n + 1);
                        double want = total > 0 ? (count + o.k) / (total + o.k * 7) : 1 / 7.0;
                        assert_near(row[w], want, 1e-15);
                        assert_near(p_of(m, gram, n, w), want, 1e-15);
                        sum += row[w];
                    }
                    assert_near(sum, 1, 1e-12);
                }
            hd_ngram_free(m);
        }
    corpus_free(&c);
}

/* ---- the textbook ---- */

typedef struct known_gram {
    char key[64]; /* ids as text, "7 12 5 " */
    int length;
    bool starts; /* begins a document */
    double count, before;
} known_gram;

typedef struct book {
    void *tree;
    known_gram **all;
    size_t entries;
    int order;
    bool three;
    size_t vocab;
    double d[8][3];
} book;

static int by_key(const void *a, const void *b)
{
    return strcmp(((const known_gram *)a)->key, ((const known_gram *)b)->key);
}

static known_gram *book_find(const book *b, const char *key)
{
    known_gram e;
    snprintf(e.key, sizeof e.key, "%s", key);
    known_gram **at = tfind(&e, &b->tree, by_key);
    return at ? *at : NULL;
}

static void key_of(char key[64], const int32_t *gram, size_t n)
{
    key[0] = 0;
    for (size_t i = 0, used = 0; i < n; i++) used += (size_t)snprintf(key + used, 64 - used, "%d ", gram[i]);
}

static void book_note(book *b, const int32_t *gram, int length)
{
    char key[64];
    key_of(key, gram, (size_t)length);
    known_gram *e = book_find(b, key);
    if (!e) {
        e = calloc(1, sizeof *e);
        snprintf(e->key, sizeof e->key, "%s", key);
        e->length = length, e->starts = gram[0] == START;
        tsearch(e, &b->tree, by_key);
        b->all[b->entries++] = e;
    }
    e->count++;
}

static double adjusted(const book *b, const known_gram *e)
{
    if (!e || (e->length == 1 && e->starts)) return 0;
    return e->length == b->order || e->starts ? e->count : e->before;
}

/* The formulas of Chen and Goodman (1999), with what stands in where they divide by 0. */
static void book_discounts(book *b, int length)
{
    double n[6] = {0};
    for (size_t i = 0; i < b->entries; i++) {
        double count = b->all[i]->length == length ? adjusted(b, b->all[i]) : 0;
        if (count >= 1 && count <= 4) n[(int)count]++;
    }
    double y = n[1] / (n[1] + 2 * n[2]), *d = b->d[length];
    if (b->three && n[1] > 0 && n[2] > 0 && n[3] > 0) {
        d[0] = 1 - 2 * y * n[2] / n[1], d[1] = 2 - 3 * y * n[3] / n[2], d[2] = 3 - 4 * y * n[4] / n[3];
        if (d[0] > 0 && d[1] > 0 && d[2] > 0) return;
    }
    for (int i = 0; i < 3; i++) d[i] = b->three ? 0.5 * (i + 1) : n[1] > 0 ? y : 0.5;
}

static book book_of(const corpus *c, int order, bool three)
{
    book b = {.order = order,
              .three = three,
              .vocab = c->vocab,
              .all = malloc((c->count + 2 * c->documents) * (size_t)order * sizeof *b.all)};
    for (size_t d = 0; d < c->documents; d++) {
        size_t n = c->begin[d + 1] - c->begin[d];
        int32_t line[64] = {START};
        memcpy(line + 1, c->ids + c->begin[d], n * sizeof *line);
        line[n + 1] = END;
        for (size_t i = 0; i < n + 2; i++)
            for (int length = 1; length <= order && i + (size_t)length <= n + 2; length++)
                book_note(&b, line + i, length);
    }
    for (size_t i = 0; i < b.entries; i++) { /* each n-gram is one more token before its tail */
        known_gram *tail = book_find(&b, strchr(b.all[i]->key, ' ') + 1);
        if (tail) tail->before++;
    }
    for (int length = 1; length <= order; length++) book_discounts(&b, length);
    return b;
}

static double book_p(const book *b, const int32_t *context, size_t n, int32_t token)
{
    double lower = n ? book_p(b, context + 1, n - 1, token) : 1.0 / (double)b->vocab, total = 0, mass = 0,
           own = 0;
    for (int32_t w = 0; w < (int32_t)b->vocab; w++) {
        int32_t gram[8];
        char key[64];
        if (n) memcpy(gram, context, n * sizeof *gram);
        gram[n] = w;
        key_of(key, gram, n + 1);
        double count = adjusted(b, book_find(b, key));
        double d = count < 1 ? 0 : b->d[n + 1][count < 3 ? (int)count - 1 : 2];
        total += count, mass += d;
        if (w == token) own = count - d;
    }
    return total > 0 ? own / total + mass / total * lower : lower;
}

static void book_free(book *b)
{
    for (size_t i = 0; i < b->entries; i++) {
        tdelete(b->all[i], &b->tree, by_key);
        free(b->all[i]);
    }
    free(b->all);
}

enum { SENTENCES = 500, QUESTIONS = 60 };

static void kneser_ney_is_the_textbooks(void **state)
{
    (void)state;
    corpus c = grammar_corpus(SENTENCES, 1);
    print_message("%zu words, %zu different\n", c.count, c.vocab - SPECIALS);
    for (int order = 1; order <= 6; order++)
        for (int three = 0; three < 2; three++) {
            hd_ngram_opt o = opt_of(&c, order, three ? HD_SMOOTHING_KNESER_NEY_3 : HD_SMOOTHING_KNESER_NEY);
            hd_ngram *m = model_of(&c, &o);
            book b = book_of(&c, order, three);
            for (int length = 1; length <= order; length++)
                for (int i = 0; i < 3; i++)
                    assert_near(hd_ngram_discount(m, length)[i], b.d[length][i], 1e-12);
            hd_rng rng = hd_rng_make(5, (uint64_t)order);
            double worst = 0;
            for (int q = 0; q < QUESTIONS; q++) {
                int32_t context[8], token = c.ids[hd_rng_below(&rng, (uint32_t)c.count)];
                size_t n = any_context(&rng, &c, (size_t)order - 1, context);
                if (q % 4 == 0) token = (int32_t)hd_rng_below(&rng, (uint32_t)c.vocab);
                double want = book_p(&b, context, n, token), got = p_of(m, context, n, token);
                worst = fmax(worst, fabs(got - want) / want);
            }
            if (!(worst < 1e-10)) fail_msg("order %d, %d discounts: %g off", order, three ? 3 : 1, worst);
            book_free(&b);
            hd_ngram_free(m);
        }
    corpus_free(&c);
}

/* Of words that were not counted, ends of sentences included. */
static void kneser_neys_perplexity_is_the_textbooks(void **state)
{
    (void)state;
    enum { HELD = 12 };
    corpus c = grammar_corpus(SENTENCES + HELD, 6), train = c;
    train.documents = SENTENCES, train.count = c.begin[SENTENCES];
    for (int order = 2; order <= 5; order += 3)
        for (int three = 0; three < 2; three++) {
            hd_ngram_opt o =
                opt_of(&train, order, three ? HD_SMOOTHING_KNESER_NEY_3 : HD_SMOOTHING_KNESER_NEY);
            hd_ngram *m = model_of(&train, &o);
            book b = book_of(&train, order, three);
            double got = 0, want = 0, tokens = 0;
            for (size_t d = SENTENCES; d < c.documents; d++) {
                size_t n = c.begin[d + 1] - c.begin[d];
                int32_t line[64] = {START};
                memcpy(line + 1, c.ids + c.begin[d], n * sizeof *line);
                line[n + 1] = END;
                got += hd_ngram_score(m, line + 1, n, NULL);
                for (size_t i = 1; i <= n + 1; i++, tokens++) {
                    size_t back = i < (size_t)order ? i : (size_t)order - 1;
                    want += log(book_p(&b, line + i - back, back, line[i]));
                }
            }
            print_message("order %d, %d discounts: perplexity %.6f of %.0f words\n", order, three ? 3 : 1,
                          exp(-got / tokens), tokens);
            assert_near(exp((want - got) / tokens), 1, 1e-10);
            book_free(&b);
            hd_ngram_free(m);
        }
    corpus_free(&c);
}

/* ---- every distribution ---- */

static void assert_rows(const hd_ngram *m, const corpus *c, uint64_t seed, int rows)
{
    size_t most = (size_t)hd_ngram_options(m)->order - 1, longer = most + 2;
    double *row = malloc(c->vocab * sizeof *row);
    hd_rng rng = hd_rng_make(seed, 3);
    for (int q = 0; q < rows; q++) {
        int32_t context[16];
        size_t n = any_context(&rng, c, longer, context);
        double sum = 0;
        hd_ngram_row(m, context, n, row);
        for (size_t v = 0; v < c->vocab; v++) {
            assert_true(row[v] > 0 && row[v] < 1);
            assert_near(row[v] / p_of(m, context, n, (int32_t)v), 1, 1e-12);
            sum += row[v];
        }
        assert_near(sum, 1, 1e-9);
        if (n > most) /* what is older does not count */
            assert_true(hd_ngram_logp(m, context, n, END) == hd_ngram_logp(m, context + n - most, most, END));
    }
    free(row);
}

static void rows_sum_to_one_and_have_no_zero(void **state)
{
    (void)state;
    corpus text[] = {grammar_corpus(SENTENCES, 2), hand_corpus(), zipf_corpus(20000, 1000, 3)};
    for (size_t t = 0; t < COUNT_OF(text); t++) {
        for (size_t s = 0; s < COUNT_OF(all_smoothings); s++)
            for (int order = 1; order <= HD_NGRAM_MOST; order += order < 6 ? 1 : 3) {
                hd_ngram_opt o = opt_of(&text[t], order, all_smoothings[s]);
                o.end = order % 2 ? END : -1;
                hd_ngram *m = model_of(&text[t], &o);
                assert_rows(m, &text[t], (uint64_t)order, 40);
                hd_ngram_free(m);
            }
        corpus_free(&text[t]);
    }
}

static void a_score_is_the_sum_over_a_document_and_its_end(void **state)
{
    (void)state;
    corpus c = grammar_corpus(50, 4);
    for (int order = 1; order <= 6; order++) {
        hd_ngram_opt o = opt_of(&c, order, HD_SMOOTHING_KNESER_NEY);
        hd_ngram *m = model_of(&c, &o);
        for (size_t d = 0; d < c.documents; d++) {
            size_t n = c.begin[d + 1] - c.begin[d];
            int32_t line[64] = {START};
            double logp[64], sum = 0;
            memcpy(line + 1, c.ids + c.begin[d], n * sizeof *line);
            line[n + 1] = END;
            double got = hd_ngram_score(m, line + 1, n, logp);
            for (size_t i = 0; i <= n; i++) {
                assert_true(logp[i] == hd_ngram_logp(m, line, i + 1, line[i + 1]));
                sum += logp[i];
            }
            assert_true(got == sum && sum == hd_ngram_score(m, line + 1, n, NULL));
        }
        hd_ngram_free(m);
    }
    corpus_free(&c);
}

/* A model of nothing is uniform; unknown ids are what `unk` says. */
static void what_was_never_seen_is_uniform(void **state)
{
    (void)state;
    corpus none = {.vocab = 9}, c = hand_corpus();
    for (size_t s = 0; s < COUNT_OF(all_smoothings); s++) {
        hd_ngram_opt o = opt_of(&none, 3, all_smoothings[s]);
        hd_ngram *m = model_of(&none, &o);
        assert_near(p_of(m, (int32_t[]){1, 2}, 2, 3), 1 / 9.0, 1e-15);
        hd_ngram_free(m);
        o = opt_of(&c, 3, all_smoothings[s]);
        m = model_of(&c, &o);
        assert_true(hd_ngram_logp(m, (int32_t[]){A, 99}, 2, -5) == hd_ngram_logp(m, (int32_t[]){A, 1}, 2, 1));
        hd_ngram_free(m);
        o.unk = -1;
        m = model_of(&c, &o);
        assert_true(isinf(hd_ngram_logp(m, (int32_t[]){A}, 1, 7)));
        if (s)
            assert_true(hd_ngram_logp(m, (int32_t[]){99, A}, 2, B) == hd_ngram_logp(m, (int32_t[]){A}, 1, B));
        assert_true(isfinite(hd_ngram_logp(m, (int32_t[]){99, A}, 2, B)));
        hd_ngram_free(m);
    }
    corpus_free(&c);
}

static void wrong_options_and_tokens_are_refused(void **state)
{
    (void)state;
    const hd_ngram_opt good = {.vocab = 10, .order = 3, .start = 2, .end = 3, .unk = 1};
    hd_ngram_opt bad[12];
    for (size_t i = 0; i < COUNT_OF(bad); i++) bad[i] = good;
    bad[0].order = 0, bad[1].order = HD_NGRAM_MOST + 1, bad[2].vocab = 0, bad[3].vocab = (size_t)1 << 31,
    bad[4].start = 10, bad[5].start = -1;
    bad[6].end = 2, bad[7].k = -1, bad[8].k = NAN, bad[9].smoothing = HD_SMOOTHINGS, bad[10].discount = 1.5,
    bad[11].unk = 10;
    hd_ngram *m = NULL;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hd_err err = {0};
        assert_int_equal(hd_ngram_new(&m, &bad[i], &err), HD_EARG);
        assert_true(err.text[0] && !m);
    }
    hd_err err = {0};
    assert_int_equal(hd_ngram_new(&m, &good, &err), HD_OK);
    for (int i = 0; i < 3; i++) {
        err = (hd_err){0};
        assert_int_equal(hd_ngram_count(m, (int32_t[]){4, (int32_t[]){-1, 10, 2}[i]}, 2, &err), HD_EARG);
    }
    assert_int_equal(hd_ngram_count(m, (int32_t[]){4, 5}, 2, NULL), HD_OK);
    assert_int_equal(hd_ngram_finish(m, NULL), HD_OK);
    assert_int_equal(hd_ngram_finish(m, NULL), HD_OK);
    assert_int_equal(hd_ngram_count(m, (int32_t[]){4, 5}, 2, NULL), HD_EARG);
    assert_int_equal(hd_ngram_kinds(m, 3), 2); /* what was refused left nothing behind */
    hd_ngram_free(m);
    hd_ngram_free(NULL);
}

/* ---- what it is worth, and how fast ---- */

static void a_million_words_take_seconds(void **state)
{
    (void)state;
    corpus c = zipf_corpus(1000000, 50000, 1);
    hd_ngram_opt o = opt_of(&c, 6, HD_SMOOTHING_KNESER_NEY);
    double start = seconds();
    hd_mem_peak_reset();
    hd_ngram *m = model_of(&c, &o);
    double trained = seconds();
    size_t kinds = 0, peak = hd_mem_now().peak;
    for (int i = 1; i <= 6; i++) kinds += hd_ngram_kinds(m, i);
    double sum = hd_ngram_score(m, c.ids, 100000, NULL), scored = seconds();
    print_message(
        "1 M words, order 6: %.2f s; %.2f M n-grams, %.1f bytes each, at most %.0f MB; %.2f us a question\n",
        trained - start, (double)kinds / 1e6, (double)hd_ngram_bytes(m) / (double)kinds, (double)peak / 1e6,
        (scored - trained) * 10);
    assert_true(isfinite(sum));
    hd_ngram_free(m);
    corpus_free(&c);
}

static void shakespeares_last_tenth_is_as_likely_as_measured_elsewhere(void **state)
{
    (void)state;
    static const struct {
        int order;
        double nats; /* interpolated Kneser-Ney by another program; discounts of 0.75 give its digits */
    } want[] = {{3, 2.04}, {4, 1.72}, {5, 1.57}, {6, 1.54}, {8, 1.57}};
    corpus c = shakespeare();
    if (!c.count) leave_out("tinyshakespeare is not there");
    size_t train = c.count / 10 * 9, rest = c.count - train;
    c.documents = 1, c.begin = malloc(2 * sizeof *c.begin);
    c.begin[0] = 0, c.begin[1] = train;
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        double nats[4], took[2];
        for (size_t s = 0; s < 4; s++) {
            hd_ngram_opt o = opt_of(&c, want[i].order, s < 3 ? all_smoothings[s] : HD_SMOOTHING_KNESER_NEY);
            o.end = -1, o.discount = s == 3 ? 0.75 : 0;
            took[0] = seconds();
            hd_ngram *m = model_of(&c, &o);
            took[1] = seconds();
            nats[s] = -hd_ngram_score(m, c.ids + train, rest, NULL) / (double)rest;
            hd_ngram_free(m);
        }
        print_message(
            "order %d: add-%g %.4f, kneser-ney %.4f (%.4f with 0.75), kneser-ney-3 %.4f nats a character; "
            "trained in %.2f s, asked in %.2f s\n",
            want[i].order, 0.1, nats[0], nats[1], nats[3], nats[2], took[1] - took[0], seconds() - took[1]);
        assert_near(nats[3], want[i].nats, 0.0051);
        assert_near(nats[1], want[i].nats, 0.02);
        assert_true(nats[1] < nats[0]);
    }
    corpus_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maximum_likelihood_is_the_ratio_of_counts),
        cmocka_unit_test(add_k_is_its_formula),
        cmocka_unit_test(kneser_ney_is_the_textbooks),
        cmocka_unit_test(kneser_neys_perplexity_is_the_textbooks),
        cmocka_unit_test(rows_sum_to_one_and_have_no_zero),
        cmocka_unit_test(a_score_is_the_sum_over_a_document_and_its_end),
        cmocka_unit_test(what_was_never_seen_is_uniform),
        cmocka_unit_test(wrong_options_and_tokens_are_refused),
        cmocka_unit_test(a_million_words_take_seconds),
        cmocka_unit_test(shakespeares_last_tenth_is_as_likely_as_measured_elsewhere),
    };
    return outcome(cmocka_run_group_tests(tests, NULL, NULL));
}
