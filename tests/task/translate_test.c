/* Translating lines: each finds its way back to its place with the same bits, whatever surrounds it, and a
   bad one costs nobody else. The weights are random: what is said makes no sense, but it depends on every
   word. */
#include "task/small.h"

#include "model/prepare.h"

static const char *const texts[] = {
    "a b c",
    "d",
    "",
    "a b . c d e ! f g h",
    "h g f e d c b",
    "   ",
    "a \xfc b",
    "b",
    "e e e e e e e e e e e e e e e e e e e e e e e e e e e e e e e e e e e e e e e e",
    "c b a",
    "unheard of",
    "f g , h a",
    "a b c", /* as the first: but draws differ */
};
enum { LINES = COUNT_OF(texts) };

typedef struct bench {
    hd_backend *backend;
    hd_run run;
    hd_model_folder *t;
} bench;

static void bench_make(bench *b, int threads)
{
    hd_err err = {0};
    b->backend = backend_of("cpu", threads);
    b->run = run_on(b->backend);
    b->t = small_make(b->backend, HD_TOKENIZER_words, false, false);
    if (hd_encdec_prepare(hd_model_folder_encdec(b->t), HD_DECODING, &err)) fail_msg("%s", err.text);
}

static void bench_free(bench *b)
{
    folder_free(b->t);
    hd_run_release(&b->run);
    hd_backend_free(b->backend);
}

static hd_translate_opt greedy(void)
{
    return (hd_translate_opt){.search = {.kind = HD_SEARCH_GREEDY,
                                         .max_ratio = 2,
                                         .max_extra = 10,
                                         .length = {HD_LENGTH_AVERAGE, .alpha = 0}}};
}

static hd_translate_opt beam(size_t wide, size_t best)
{
    hd_translate_opt o = greedy();
    o.search.kind = HD_SEARCH_BEAM, o.search.beam = wide, o.search.best = best;
    return o;
}

static hd_translate_opt sampled(uint64_t seed, size_t best)
{
    hd_translate_opt o = greedy();
    o.search.kind = HD_SEARCH_SAMPLE, o.search.best = best, o.search.temperature = 1, o.search.seed = seed;
    return o;
}

static void translate(bench *b, hd_translations *out, const char *const *text, size_t count,
                      const hd_translate_opt *opt)
{
    hd_err err = {0};
    hd_line line[LINES];
    assert_in_range(count, 1, LINES);
    for (size_t i = 0; i < count; i++) line[i] = line_of(text[i]);
    if (hd_translate(out, &b->run, b->t, line, NULL, count, opt, &err)) fail_msg("%s", err.text);
    assert_int_equal(out->count, count);
}

static void assert_same(const hd_translation *a, const hd_translation *b)
{
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->parts, b->parts);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->cut, b->cut);
    if (a->parts) {
        assert_memory_equal(a->source_end, b->source_end, a->parts * sizeof *a->source_end);
        assert_memory_equal(a->source, b->source, a->source_end[a->parts - 1] * sizeof *a->source);
    }
    for (size_t i = 0; i < a->count; i++) {
        const hd_hypothesis *x = &a->hypothesis[i], *y = &b->hypothesis[i];
        assert_string_equal(x->text, y->text);
        assert_int_equal(x->length, y->length);
        assert_memory_equal(x->ids, y->ids, x->length * sizeof *x->ids);
        assert_memory_equal(x->logp, y->logp, x->length * sizeof *x->logp); /* to the bit */
        assert_memory_equal(x->end, y->end, a->parts * sizeof *x->end);
        assert_true(x->sum == y->sum && x->score == y->score && x->finished == y->finished);
    }
}

static void a_line_gives_the_same_whatever_surrounds_it(void **state)
{
    (void)state;
    const hd_translate_opt opts[] = {greedy(), beam(4, 3), sampled(7, 2)};
    bench one, two;
    bench_make(&one, 1);
    bench_make(&two, 2);
    for (size_t k = 0; k < COUNT_OF(opts); k++) {
        hd_translations all, other, alone;
        hd_translate_opt o = opts[k];
        translate(&one, &all, texts, LINES, &o);
        for (size_t batch = 1; batch < 20; batch += 6) {
            o.batch = batch;
            translate(batch == 7 ? &two : &one, &other, texts, LINES, &o);
            for (size_t i = 0; i < LINES; i++) assert_same(&all.of[i], &other.of[i]);
            hd_translations_release(&other);
        }
        for (size_t i = 0; i < LINES; i++) {
            o.first = i; /* it is line i still: draws go by that */
            translate(&two, &alone, texts + i, 1, &o);
            assert_same(&all.of[i], &alone.of[0]);
            hd_translations_release(&alone);
        }
        hd_translations_release(&all);
    }
    bench_free(&one);
    bench_free(&two);
}

static void a_bad_line_costs_nobody_else(void **state)
{
    (void)state;
    bench b;
    hd_translations all;
    hd_translate_opt o = greedy();
    bench_make(&b, 1);
    translate(&b, &all, texts, LINES, &o);
    for (size_t i = 0; i < LINES; i++) {
        bool blank = i == 2 || i == 5, bad = i == 6;
        assert_int_equal(all.of[i].status, bad ? HD_EFORMAT : HD_OK);
        assert_int_equal(all.of[i].count, !blank && !bad);
    }
    assert_string_equal(all.of[6].why, "not UTF-8");
    assert_int_equal(all.of[8].parts, 6); /* 40 words by 7 */
    hd_translations_release(&all);
    bench_free(&b);
}

static bool says(const hd_hypothesis *h, const hd_hypothesis *x, const hd_hypothesis *y)
{
    return h->length == x->length + y->length && !memcmp(h->ids, x->ids, x->length * sizeof *x->ids) &&
           !memcmp(h->ids + x->length, y->ids, y->length * sizeof *y->ids);
}

/* Of the nine combinations of three guesses for each part the best are found: recomputed here by trying all.
 */
static void a_split_line_is_the_best_combinations_of_its_parts(void **state)
{
    (void)state;
    static const char *const line[] = {"a b .  c d e ! "}, *const parts[] = {"a b .", "c d e !"};
    static const hd_length_kind kinds[] = {HD_LENGTH_AVERAGE, HD_LENGTH_NONE};
    bench b;
    bench_make(&b, 1);
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        hd_translations whole, apart;
        hd_translate_opt o = beam(3, 3);
        o.search.length.kind = kinds[k];
        translate(&b, &whole, line, 1, &o);
        translate(&b, &apart, parts, 2, &o);
        assert_int_equal(whole.of[0].parts, 2);
        assert_int_equal(whole.of[0].count, 3);
        bool used[3][3] = {0};
        for (size_t n = 0; n < 3; n++) {
            const hd_hypothesis *h = &whole.of[0].hypothesis[n], *x = NULL, *y = NULL;
            double best = -INFINITY;
            for (size_t i = 0; i < 3; i++)
                for (size_t j = 0; j < 3; j++) { /* an end that was reached counts more than any score */
                    const hd_hypothesis *p = &apart.of[0].hypothesis[i], *q = &apart.of[1].hypothesis[j];
                    double score = p->score + q->score - 1e6 * (!p->finished + !q->finished);
                    if (!used[i][j] && score > best) best = score, x = p, y = q;
                }
            used[x - apart.of[0].hypothesis][y - apart.of[1].hypothesis] = true;
            char text[256];
            snprintf(text, sizeof text, "%s  %s", x->text, y->text); /* with the space that was there */
            assert_string_equal(h->text, text);
            assert_true(says(h, x, y) && h->end[0] == x->length && h->end[1] == h->length);
            assert_true(h->part[0].begin == 0 && h->part[0].end == strlen(x->text));
            assert_true(h->part[1].begin == h->part[0].end + 2 && h->part[1].end == strlen(text));
            assert_true(h->scores[0] == x->score && h->scores[1] == y->score);
            double share = kinds[k] == HD_LENGTH_NONE ? 1 : 0.5; /* the mean of the parts, or their sum */
            assert_true(h->score == share * (x->score + y->score));
            assert_true(h->sum == x->sum + y->sum && h->finished == (x->finished && y->finished));
        }
        hd_translations_release(&whole);
        hd_translations_release(&apart);
    }
    bench_free(&b);
}

static void samples_of_parts_go_together_as_they_were_drawn(void **state)
{
    (void)state;
    static const char *const line[] = {"a b . c d e !"};
    hd_translations two, one;
    hd_translate_opt o = sampled(7, 2), p = sampled(7, 1);
    bench b;
    bench_make(&b, 1);
    translate(&b, &two, line, 1, &o);
    translate(&b, &one, line, 1, &p);
    assert_int_equal(two.of[0].count, 2);
    assert_string_equal(two.of[0].hypothesis[0].text, one.of[0].hypothesis[0].text);
    hd_translations_release(&two);
    hd_translations_release(&one);
    bench_free(&b);
}

static void kept_lines_are_translated_whole(void **state)
{
    (void)state;
    static const char *const line[] = {"a b . c d ."};
    hd_translations kept, split;
    hd_translate_opt o = greedy();
    bench b;
    bench_make(&b, 1);
    translate(&b, &split, line, 1, &o);
    o.sentences = HD_SENTENCES_KEEP;
    translate(&b, &kept, line, 1, &o);
    assert_int_equal(split.of[0].parts, 2);
    assert_int_equal(kept.of[0].parts, 1);
    assert_int_equal(kept.of[0].source_end[0], 7);
    hd_translations_release(&kept);
    hd_translations_release(&split);
    bench_free(&b);
}

static void beam_of_one_equals_greedy(void **state)
{
    (void)state;
    bench b;
    hd_translations x, y;
    hd_translate_opt o[2] = {greedy(), beam(1, 1)};
    bench_make(&b, 1);
    translate(&b, &x, texts, LINES, &o[0]);
    translate(&b, &y, texts, LINES, &o[1]);
    for (size_t i = 0; i < LINES; i++) assert_same(&x.of[i], &y.of[i]);
    hd_translations_release(&x);
    hd_translations_release(&y);
    bench_free(&b);
}

static void n_best_are_sorted_and_distinct(void **state)
{
    (void)state;
    bench b;
    hd_translations all;
    hd_translate_opt o = beam(5, 5);
    o.search.stop = HD_STOP_BEST; /* by score alone: else the finished come before the others */
    bench_make(&b, 1);
    translate(&b, &all, texts, LINES, &o);
    for (size_t i = 0; i < LINES; i++) {
        const hd_translation *t = &all.of[i];
        if (t->parts) assert_in_range(t->count, 2, 5);
        for (size_t n = 1; n < t->count; n++) {
            assert_true(t->hypothesis[n].score <= t->hypothesis[n - 1].score);
            for (size_t k = 0; k < n; k++) {
                const hd_hypothesis *x = &t->hypothesis[n], *y = &t->hypothesis[k];
                assert_false(x->length == y->length && !memcmp(x->ids, y->ids, x->length * sizeof *x->ids));
            }
        }
    }
    hd_translations_release(&all);
    bench_free(&b);
}

static void the_prefix_begins_the_translation(void **state)
{
    (void)state;
    static const char *const beginnings[] = {"A", "H G F", "", "unheard",
                                             "B B B B B B B B B B B B B B B B B B"};
    hd_line line[5], prefix[5];
    const hd_translate_opt opts[] = {greedy(), beam(3, 2), sampled(3, 2)};
    bench b;
    bench_make(&b, 1);
    for (size_t i = 0; i < 5; i++) line[i] = line_of("a b c"), prefix[i] = line_of(beginnings[i]);
    for (size_t k = 0; k < COUNT_OF(opts); k++) {
        hd_err err = {0};
        hd_translations out;
        if (hd_translate(&out, &b.run, b.t, line, prefix, 5, &opts[k], &err)) fail_msg("%s", err.text);
        for (size_t i = 0; i < 4; i++) {
            hd_ids ids = {0};
            assert_int_equal(out.of[i].status, HD_OK);
            hd_tokenizer_encode_ids(b.t->tokenizer[1], prefix[i].text, prefix[i].size, &ids, &err);
            for (size_t n = 0; n < out.of[i].count; n++) {
                const hd_hypothesis *h = &out.of[i].hypothesis[n];
                assert_true(h->length > ids.count);
                if (ids.count) assert_memory_equal(h->ids, ids.at, ids.count * sizeof *ids.at);
            }
            hd_ids_release(&ids);
        }
        assert_int_equal(out.of[4].status,
                         HD_ELIMIT); /* 18 words, where 2 * 4 + 10 would do but 16 positions not */
        hd_translations_release(&out);
    }
    bench_free(&b);
}

/* What search found, given back as a translation to score, has the score search gave it. Returns how many. */
static size_t force_what_was_found(bench *b, hd_length length)
{
    hd_line line[LINES], prefix[LINES];
    hd_err err = {0};
    hd_translations found, forced;
    hd_translate_opt o = beam(4, 1);
    size_t scored = 0;
    o.search.length = length;
    translate(b, &found, texts, LINES, &o);
    for (size_t i = 0; i < LINES; i++) {
        const hd_translation *t = &found.of[i];
        line[i] = line_of(texts[i]);
        prefix[i] = line_of(t->count && t->hypothesis[0].finished ? t->hypothesis[0].text : "A");
    }
    o.force = true;
    if (hd_translate(&forced, &b->run, b->t, line, prefix, LINES, &o, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < LINES; i++) {
        const hd_translation *t = &found.of[i], *f = &forced.of[i];
        if (!f->count) continue;
        assert_int_equal(f->count, 1);
        assert_true(f->hypothesis[0].finished);
        assert_string_equal(f->hypothesis[0].text, prefix[i].text);
        if (t->parts > 1 || !t->hypothesis[0].finished) continue;
        scored++;
        assert_int_equal(f->hypothesis[0].length, t->hypothesis[0].length);
        assert_true(fabs(f->hypothesis[0].score - t->hypothesis[0].score) < 1e-5); /* sums of floats */
        for (size_t k = 0; k < f->hypothesis[0].length; k++)
            assert_true(fabsf(f->hypothesis[0].logp[k] - t->hypothesis[0].logp[k]) < 1e-5f);
    }
    assert_int_equal(forced.of[8].status,
                     HD_ELIMIT); /* 40 words: a translation of all of them has no parts */
    hd_translations_release(&found);
    hd_translations_release(&forced);
    return scored;
}

static void a_forced_translation_has_the_score_it_was_found_with(void **state)
{
    (void)state;
    static const hd_length lengths[] = {
        {.kind = HD_LENGTH_NONE}, {.kind = HD_LENGTH_AVERAGE}, {HD_LENGTH_GNMT, 0.6, 0.1}};
    size_t scored = 0;
    bench b;
    bench_make(&b, 1);
    for (size_t i = 0; i < COUNT_OF(lengths); i++) scored += force_what_was_found(&b, lengths[i]);
    assert_in_range(scored, 6, 3 * LINES);
    bench_free(&b);
}

static bool same_texts(const hd_translations *a, const hd_translations *b)
{
    for (size_t i = 0; i < a->count; i++)
        for (size_t n = 0; n < a->of[i].count; n++)
            if (strcmp(a->of[i].hypothesis[n].text, b->of[i].hypothesis[n].text)) return false;
    return true;
}

static void samples_follow_the_seed_and_the_line_number(void **state)
{
    (void)state;
    bench b;
    hd_translations first, again, other;
    hd_translate_opt o = sampled(1, 2), p = sampled(2, 2);
    bench_make(&b, 1);
    translate(&b, &first, texts, LINES, &o);
    translate(&b, &again, texts, LINES, &o);
    translate(&b, &other, texts, LINES, &p);
    assert_true(same_texts(&first, &again));
    assert_false(same_texts(&first, &other));
    const hd_translation *x = &first.of[0], *y = &first.of[LINES - 1]; /* the same text in two lines */
    assert_int_not_equal(strcmp(x->hypothesis[0].text, y->hypothesis[0].text), 0);
    assert_int_not_equal(strcmp(x->hypothesis[0].text, x->hypothesis[1].text), 0);
    hd_translations_release(&first);
    hd_translations_release(&again);
    hd_translations_release(&other);
    bench_free(&b);
}

typedef struct count {
    size_t calls, done, of;
} count;

static void note(void *context, size_t done, size_t of)
{
    count *c = context;
    assert_true(done > c->done && done <= of && (!c->of || of == c->of));
    c->calls++, c->done = done, c->of = of;
}

static void progress_is_told_as_sentences_are_done(void **state)
{
    (void)state;
    bench b;
    hd_translations all;
    count seen = {0};
    hd_translate_opt o = greedy();
    o.batch = 4, o.tell = note, o.context = &seen;
    bench_make(&b, 1);
    translate(&b, &all, texts, LINES, &o);
    assert_true(seen.of == 8 + 6 + 3 && seen.done == seen.of); /* lines 8 and 3 in parts */
    assert_in_range(seen.calls, 5, 17);                        /* four at a time */
    hd_translations_release(&all);
    bench_free(&b);
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    static const char *const some[] = {"a b . c d e ! f g h", "d", "\xfc"};
    hd_line line[3] = {line_of(some[0]), line_of(some[1]), line_of(some[2])};
    hd_translate_opt o = beam(2, 2);
    bench b;
    hd_err err = {0};
    hd_translations out;
    bench_make(&b, 1);
    if (hd_translate(&out, &b.run, b.t, line, NULL, 3, &o, &err))
        fail_msg("%s", err.text); /* the run has its memory */
    hd_translations_release(&out);
    size_t blocks = hd_mem_now().blocks, n = 1;
    for (hd_status s = HD_ENOMEM; s; n++) {
        hd_err why = {0};
        hd_mem_fail_at(n);
        s = hd_translate(&out, &b.run, b.t, line, NULL, 3, &o, &why);
        hd_mem_fail_at(0);
        if (!s) hd_translations_release(&out);
        assert_int_equal(s, why.status);
        if (hd_mem_now().blocks > blocks)
            fail_msg("%zu blocks are left by failure %zu", hd_mem_now().blocks - blocks, n);
    }
    assert_in_range(n, 30, 10000);
    bench_free(&b);
    assert_int_equal(hd_mem_now().blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_gives_the_same_whatever_surrounds_it),
        cmocka_unit_test(a_bad_line_costs_nobody_else),
        cmocka_unit_test(a_split_line_is_the_best_combinations_of_its_parts),
        cmocka_unit_test(samples_of_parts_go_together_as_they_were_drawn),
        cmocka_unit_test(kept_lines_are_translated_whole),
        cmocka_unit_test(beam_of_one_equals_greedy),
        cmocka_unit_test(n_best_are_sorted_and_distinct),
        cmocka_unit_test(the_prefix_begins_the_translation),
        cmocka_unit_test(a_forced_translation_has_the_score_it_was_found_with),
        cmocka_unit_test(samples_follow_the_seed_and_the_line_number),
        cmocka_unit_test(progress_is_told_as_sentences_are_done),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
