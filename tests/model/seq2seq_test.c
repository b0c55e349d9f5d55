/* Sequences in, sequences out, of lengths that have nothing to do with each other: small tasks that an
   encoder-decoder learns and says by greedy search, on sources it has never seen. */
#include "decode/search.h"
#include "model/encdec_cases.h"
#include "model/stepper.h"

enum { FIRST = 3, KINDS = 3, YES = 6, NO = 7, MOST = TOY_LONGEST + 1 };

typedef struct pair {
    int32_t source[MOST], target[MOST], from, to; /* without their ends */
} pair;

static int32_t word(hd_rng *rng, int32_t least)
{
    return least + (int32_t)hd_rng_below(rng, (uint32_t)(TOY_VOCAB - least));
}

static void draw_source(pair *p, hd_rng *rng, int32_t most)
{
    p->from = 2 + (int32_t)hd_rng_below(rng, (uint32_t)most - 1);
    for (int32_t i = 0; i < p->from; i++) p->source[i] = word(rng, FIRST);
}

static void copy(pair *p, hd_rng *rng)
{
    draw_source(p, rng, 6);
    p->to = p->from;
    memcpy(p->target, p->source, sizeof p->target);
}

static void reverse(pair *p, hd_rng *rng)
{
    draw_source(p, rng, 6);
    p->to = p->from;
    for (int32_t i = 0; i < p->to; i++) p->target[i] = p->source[p->from - 1 - i];
}

/* Every word twice. */
static void expand(pair *p, hd_rng *rng)
{
    draw_source(p, rng, 4);
    p->to = 2 * p->from;
    for (int32_t i = 0; i < p->to; i++) p->target[i] = p->source[i / 2];
}

/* The first word is a question about the three behind it: which is the first, what are they backwards, are
   the first two the same? Answers have one word, three words, and a word that is not in the source. */
static void question_and_answer(pair *p, hd_rng *rng)
{
    int32_t kind = (int32_t)hd_rng_below(rng, KINDS), *w = p->source + 1;
    p->from = 4, p->source[0] = FIRST + kind;
    for (int i = 0; i < 3; i++) w[i] = word(rng, NO + 1);
    if (kind == 2 && hd_rng_below(rng, 2)) w[1] = w[0];
    p->to = kind == 1 ? 3 : 1;
    for (int32_t i = 0; i < p->to; i++)
        p->target[i] = kind == 0 ? w[0] : kind == 1 ? w[2 - i] : w[0] == w[1] ? YES : NO;
}

typedef void task(pair *p, hd_rng *rng);

static toy_batch batch_of(task *draw, uint64_t seed)
{
    toy_batch b = {0};
    hd_rng rng = hd_rng_make(seed, 12);
    for (; b.items < TOY_ITEMS; b.items++) {
        pair p = {0};
        draw(&p, &rng);
        b.key[b.items] = (int32_t)b.items, b.source_len[b.items] = p.from + 1,
        b.target_len[b.items] = p.to + 1;
        for (int32_t i = 0; i <= p.from; i++) b.source[b.source_rows++] = i < p.from ? p.source[i] : TOY_END;
        for (int32_t i = 0; i <= p.to; i++) {
            b.input[b.target_rows] = i ? p.target[i - 1] : TOY_BEGIN;
            b.target[b.target_rows++] = i < p.to ? p.target[i] : TOY_END;
        }
    }
    return b;
}

/* Whole answers that are right, to the end token. */
static double share_right(toy *m, task *draw)
{
    size_t right = 0, all = 0;
    for (uint64_t k = 0; k < 4; k++) {
        hd_err err = {0};
        hd_stepper st = {0};
        hd_found *f = NULL;
        const toy_batch b = batch_of(draw, 1000000 + k);
        hd_search_opt o = {.kind = HD_SEARCH_GREEDY, .end = TOY_END, .max_length = MOST};
        if (hd_encdec_stepper(&st, m->t, b.source, b.source_len, b.items, TOY_BEGIN, &err) ||
            hd_search(&f, &m->run, &st, &o, &err))
            fail_msg("%s", err.text);
        for (size_t i = 0, at = 0; i < b.items; at += (size_t)b.target_len[i++]) {
            const hd_guess *g = hd_found_at(f, i);
            bool same = g->length == (size_t)b.target_len[i];
            all++, right += same && !memcmp(g->ids, b.target + at, g->length * sizeof *g->ids);
        }
        hd_found_free(f);
        hd_stepper_release(&st);
    }
    return (double)right / (double)all;
}

static void learn(const char *name, task *draw, uint32_t steps)
{
    static const hd_optimizer_opt adam = {
        .kind = HD_OPT_ADAM, .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-9f, .clip = 1};
    static const encdec_case c =
        MODEL("", "bi-gru:1", "gru:1", .r = {.begin = HD_BEGINNING_map, .read = HD_READING_deep});
    toy m;
    hd_encdec_opt o = encdec_opt(&c);
    o.stack.width = 24;
    toy_open(&m, 1, &o, NULL, &adam);
    double before = share_right(&m, draw);
    for (uint32_t step = 1; step <= steps; step++) {
        const toy_batch b = batch_of(draw, step);
        toy_step(&m, &b, 0, 0.01 * (1 - (double)step / (steps + 1)), step);
    }
    double after = share_right(&m, draw);
    print_message("%-20s %.3f right at first, %.3f after %u updates\n", name, before, after, steps);
    assert_true(before < 0.1 && after > 0.95);
    toy_close(&m);
}

static void copying_is_learned(void **state)
{
    (void)state;
    learn("copy", copy, 250);
}

static void reversing_is_learned(void **state)
{
    (void)state;
    learn("reverse", reverse, 250);
}

static void expanding_is_learned(void **state)
{
    (void)state;
    learn("expand", expand, 250);
}

static void answering_is_learned(void **state)
{
    (void)state;
    learn("question and answer", question_and_answer, 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copying_is_learned), cmocka_unit_test(reversing_is_learned),
        cmocka_unit_test(expanding_is_learned), cmocka_unit_test(answering_is_learned)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
