/* Texts for tests of the n-gram model: one by hand, sentences of the grammar as ids, random ones, all of
 * tinyshakespeare. */
#ifndef NGRAM_CORPUS_H
#define NGRAM_CORPUS_H

#include <time.h>

#include "base/file/lines.h"
#include "check.h"
#include "data/grammar/grammar.h"
#include "model/lm/ngram.h"

enum { WORDS_MOST = 1000, START = 2, END = 3, SPECIALS = 4 };

typedef struct corpus {
    int32_t *ids;
    size_t *begin; /* [documents + 1] */
    size_t count, documents, vocab;
} corpus;

CHECK_UNUSED static void corpus_free(corpus *c)
{
    free(c->ids);
    free(c->begin);
    *c = (corpus){0};
}

CHECK_UNUSED static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

CHECK_UNUSED static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance)) fail_msg("%.17g instead of %.17g", got, want);
}

enum { A = 4, B, C };

/* "a b a c", "a b a b", "b", "" */
CHECK_UNUSED static corpus hand_corpus(void)
{
    static const int32_t ids[] = {A, B, A, C, A, B, A, B, B};
    static const size_t begin[] = {0, 4, 8, 9, 9};
    corpus c = {.ids = malloc(sizeof ids),
                .begin = malloc(sizeof begin),
                .count = COUNT_OF(ids),
                .documents = 4,
                .vocab = 7};
    memcpy(c.ids, ids, sizeof ids);
    memcpy(c.begin, begin, sizeof begin);
    return c;
}

/* Sentences of the grammar, a word an id in the order of their coming. */
CHECK_UNUSED static corpus grammar_corpus(size_t sentences, uint64_t seed)
{
    static char words[WORDS_MOST][32];
    corpus c = {.ids = malloc(sentences * 40 * sizeof(int32_t)),
                .begin = malloc((sentences + 1) * sizeof(size_t)),
                .vocab = SPECIALS};
    hd_rng rng = hd_rng_make(seed, 0);
    hd_text english = {0}, german = {0};
    for (size_t i = 0; i < sentences; i++) {
        hd_err err = {0};
        c.begin[c.documents++] = c.count;
        assert_int_equal(hd_grammar_draw(&rng, &english, &german, &err), HD_OK);
        for (char *rest = english.data, *word; (word = strtok_r(rest, " ", &rest));) {
            size_t id = SPECIALS;
            while (id < c.vocab && strcmp(words[id], word)) id++;
            assert_true(id < WORDS_MOST && c.count < sentences * 40);
            if (id == c.vocab) snprintf(words[c.vocab++], sizeof *words, "%s", word);
            c.ids[c.count++] = (int32_t)id;
        }
    }
    c.begin[c.documents] = c.count;
    hd_text_release(&english);
    hd_text_release(&german);
    return c;
}

/* One document of ids, the small ones more often. */
CHECK_UNUSED static corpus zipf_corpus(size_t count, size_t vocab, uint64_t seed)
{
    corpus c = {.ids = malloc(count * sizeof(int32_t)),
                .begin = malloc(2 * sizeof(size_t)),
                .count = count,
                .documents = 1,
                .vocab = vocab};
    hd_rng rng = hd_rng_make(seed, 0);
    c.begin[0] = 0, c.begin[1] = count;
    for (size_t i = 0; i < count; i++)
        c.ids[i] = SPECIALS + (int32_t)pow((double)(vocab - SPECIALS), hd_rng_unit(&rng)) - 1;
    return c;
}

/* The characters, one document; ids by first use. No ids where there is no such file. */
CHECK_UNUSED static corpus shakespeare(void)
{
    corpus c = {.vocab = SPECIALS};
    hd_lines *l = NULL;
    hd_line line;
    int32_t id_of[256] = {0};
    if (hd_lines_open(&l, HEED_SHARED "/data/text/tinyshakespeare.txt.gz", NULL, NULL)) return c;
    size_t room = 4000000;
    c.ids = malloc(room * sizeof *c.ids);
    while (!hd_lines_next(l, &line, NULL) && line.text)
        for (size_t i = 0; i <= line.size; i++) {
            uint8_t byte = i < line.size ? (uint8_t)line.text[i] : '\n';
            assert_true(c.count < room);
            if (!id_of[byte]) id_of[byte] = (int32_t)c.vocab++;
            c.ids[c.count++] = id_of[byte];
        }
    hd_lines_close(l);
    return c;
}

CHECK_UNUSED static hd_ngram_opt opt_of(const corpus *c, int order, hd_smoothing smoothing)
{
    return (hd_ngram_opt){.vocab = c->vocab,
                          .order = order,
                          .smoothing = smoothing,
                          .k = 0.1,
                          .start = START,
                          .end = END,
                          .unk = 1};
}

CHECK_UNUSED static hd_ngram *model_of(const corpus *c, const hd_ngram_opt *o)
{
    hd_err err = {0};
    hd_ngram *m = NULL;
    hd_status s = hd_ngram_new(&m, o, &err);
    for (size_t i = 0; !s && i < c->documents; i++)
        s = hd_ngram_count(m, c->ids + c->begin[i], c->begin[i + 1] - c->begin[i], &err);
    if (!s) s = hd_ngram_finish(m, &err);
    if (s) fail_msg("%s", err.text);
    return m;
}

/* Up to `most` tokens from anywhere in the corpus, of which some are changed, so that some contexts are known
 * only in part or not at all. */
CHECK_UNUSED static size_t any_context(hd_rng *rng, const corpus *c, size_t most, int32_t *context)
{
    size_t n = hd_rng_below(rng, (uint32_t)most + 1), d = hd_rng_below(rng, (uint32_t)c->documents),
           length = c->begin[d + 1] - c->begin[d];
    if (n > length) n = length;
    if (!n) return 0;
    size_t at = c->begin[d] + hd_rng_below(rng, (uint32_t)(length - n + 1));
    memcpy(context, c->ids + at, n * sizeof *context);
    if (at == c->begin[d] && !hd_rng_below(rng, 2)) {
        memmove(context + 1, context, (n - 1) * sizeof *context);
        context[0] = START;
    }
    if (!hd_rng_below(rng, 4))
        context[hd_rng_below(rng, (uint32_t)n)] = (int32_t)hd_rng_below(rng, (uint32_t)c->vocab);
    return n;
}

#endif
