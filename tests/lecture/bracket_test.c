/* Parsing as translation: a tiny Transformer learns to put brackets around the phrases of a small language,
   and does so for sentences it has never seen. "of" belongs to the noun before it, "with" to the verb. */
#include "decode/search.h"
#include "model/toy.h"

enum {
    DET = TOY_END + 1, /* words, some of each kind */
    DETS = 2,
    ADJ = DET + DETS,
    ADJS = 3,
    NOUN = ADJ + ADJS,
    NOUNS = 4,
    VERB = NOUN + NOUNS,
    VERBS = 3,
    OF = VERB + VERBS,
    WITH,
    OPEN_S, /* brackets; a word stands as WORD between them */
    OPEN_NP,
    OPEN_VP,
    OPEN_PP,
    CLOSE,
    WORD,
    VOCAB,
    LONGEST = 64
};

typedef struct sentence {
    hd_rng rng;
    int32_t word[LONGEST], sign[LONGEST];
    int32_t words, signs;
} sentence;

static bool chance(sentence *s, uint32_t of_ten)
{
    return hd_rng_below(&s->rng, 10) < of_ten;
}

static void say(sentence *s, int32_t first, uint32_t kinds)
{
    s->word[s->words++] = first + (int32_t)hd_rng_below(&s->rng, kinds);
    s->sign[s->signs++] = WORD;
}

static void noun_phrase(sentence *s, bool long_one);

static void with_or_of(sentence *s, int32_t word)
{
    s->sign[s->signs++] = OPEN_PP;
    say(s, word, 1);
    noun_phrase(s, false);
    s->sign[s->signs++] = CLOSE;
}

static void noun_phrase(sentence *s, bool long_one)
{
    s->sign[s->signs++] = OPEN_NP;
    say(s, DET, DETS);
    if (chance(s, 4)) say(s, ADJ, ADJS);
    say(s, NOUN, NOUNS);
    if (long_one && chance(s, 4)) with_or_of(s, OF);
    s->sign[s->signs++] = CLOSE;
}

static void verb_phrase(sentence *s)
{
    s->sign[s->signs++] = OPEN_VP;
    say(s, VERB, VERBS);
    if (chance(s, 6)) noun_phrase(s, true);
    if (chance(s, 4)) with_or_of(s, WITH);
    s->sign[s->signs++] = CLOSE;
}

/* A fifth of all sentences is never learned from. */
static bool is_unseen(const sentence *s)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < s->words; i++) sum += s->word[i] * (i + 1);
    return sum % 5 == 0;
}

static sentence draw_sentence(hd_rng *rng, bool unseen)
{
    sentence s;
    do {
        s = (sentence){.rng = *rng};
        s.sign[s.signs++] = OPEN_S;
        noun_phrase(&s, true);
        verb_phrase(&s);
        s.sign[s.signs++] = CLOSE;
        *rng = s.rng;
    } while (is_unseen(&s) != unseen);
    return s;
}

/* As many sentences as fit. */
static toy_batch draw_batch(uint64_t number, bool unseen)
{
    toy_batch b = {0};
    hd_rng rng = hd_rng_make(11, number);
    for (;;) {
        sentence s = draw_sentence(&rng, unseen);
        if (b.items == TOY_ITEMS || b.target_rows + (size_t)s.signs + 1 > TOY_ROWS) return b;
        size_t i = b.items++;
        b.key[i] = (int32_t)i, b.source_len[i] = s.words + 1, b.target_len[i] = s.signs + 1;
        for (int32_t j = 0; j <= s.words; j++) b.source[b.source_rows++] = j < s.words ? s.word[j] : TOY_END;
        for (int32_t j = 0; j <= s.signs; j++) {
            b.input[b.target_rows] = j ? s.sign[j - 1] : TOY_BEGIN;
            b.target[b.target_rows++] = j < s.signs ? s.sign[j] : TOY_END;
        }
    }
}

/* Sentences of the batch that greedy search brackets without a fault. */
static size_t bracketed(toy *m, const toy_batch *b)
{
    hd_stepper st = {0};
    hd_found *f = NULL;
    hd_err err = {0};
    hd_search_opt o = {.kind = HD_SEARCH_GREEDY, .end = TOY_END, .max_length = LONGEST};
    size_t right = 0;
    if (hd_encdec_stepper(&st, m->t, b->source, b->source_len, b->items, TOY_BEGIN, &err) ||
        hd_search(&f, &m->run, &st, &o, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0, at = 0; i < b->items; at += (size_t)b->target_len[i++])
        right += f->guess[i].length == (size_t)b->target_len[i] &&
                 !memcmp(f->guess[i].ids, b->target + at, f->guess[i].length * sizeof *b->target);
    hd_stepper_release(&st);
    hd_found_free(f);
    return right;
}

static void a_transformer_learns_to_bracket_sentences(void **state)
{
    (void)state;
    enum { STEPS = 700, TESTS = 8 };
    const hd_optimizer_opt adam = {
        .kind = HD_OPT_ADAM, .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-9f, .clip = 1};
    hd_encdec_opt o = toy_opt();
    o.source_vocab = o.target_vocab = VOCAB;
    toy m;
    toy_open(&m, 1, &o, NULL, &adam);
    for (uint32_t step = 1; step <= STEPS; step++) {
        toy_batch b = draw_batch(step, false);
        double rate = 0.005 * (step < 20 ? step / 20.0 : 1) * (step > STEPS * 3 / 4 ? 0.3 : 1);
        double loss = toy_step(&m, &b, 0, rate, step);
        if (step % 100 == 0) print_message("step %u: loss %.4f\n", (unsigned)step, loss);
    }
    size_t right = 0, all = 0;
    for (uint64_t i = 0; i < TESTS; i++) {
        toy_batch b = draw_batch(1000000 + i, true);
        right += bracketed(&m, &b), all += b.items;
    }
    print_message("%zu of %zu unseen sentences are bracketed right\n", right, all);
    assert_true(right * 10 >= all * 9);
    toy_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_transformer_learns_to_bracket_sentences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
