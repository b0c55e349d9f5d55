/* CTC in decoding, alone and mixed with other models: against all paths, counted one by one. */
#include "decode/babble.h"
#include "decode/joint/ctc.h"
#include "decode/joint/mix.h"

enum { CLASSES = 4, FRAMES = 5, BLANK = 0, ITEMS = 12, MOST = 6 };

static hd_real frame_logp[ITEMS * FRAMES * CLASSES];
static int32_t frames[ITEMS];

/* Items of 0 to FRAMES frames of random log-probabilities. */
static hd_ctc_said some_frames(double sharp, uint64_t seed)
{
    hd_rng rng = hd_rng_make(seed, 3);
    hd_real *at = frame_logp;
    for (size_t i = 0; i < ITEMS; i++) {
        frames[i] = (int32_t)(i % (FRAMES + 1));
        for (int32_t t = 0; t < frames[i]; t++, at += CLASSES) {
            double z[CLASSES], sum = 0;
            for (size_t c = 0; c < CLASSES; c++) sum += exp(z[c] = sharp * hd_rng_normal(&rng));
            for (size_t c = 0; c < CLASSES; c++) at[c] = (hd_real)(z[c] - log(sum));
        }
    }
    return (hd_ctc_said){frame_logp, frames, ITEMS, CLASSES, BLANK};
}

static const hd_real *frames_of(size_t item)
{
    const hd_real *at = frame_logp;
    for (size_t i = 0; i < item; i++) at += (size_t)frames[i] * CLASSES;
    return at;
}

/* Sentences by number: digits in base CLASSES, the first one lowest, without blanks. */
static size_t number_of(const int32_t *ids, size_t length)
{
    size_t n = 0;
    for (size_t i = length; i--;) n = n * CLASSES + (size_t)ids[i];
    return n;
}

enum { SENTENCES = CLASSES * CLASSES * CLASSES * CLASSES * CLASSES * CLASSES };

/* The probability of each sentence: every path adds to what it collapses to. */
static void all_sentences(size_t item, double *p)
{
    const hd_real *logp = frames_of(item);
    size_t paths = 1;
    memset(p, 0, SENTENCES * sizeof *p);
    for (int32_t t = 0; t < frames[item]; t++) paths *= CLASSES;
    for (size_t path = 0; path < paths; path++) {
        int32_t ids[FRAMES + 1], last = BLANK;
        size_t rest = path, length = 0;
        double sum = 0;
        for (int32_t t = 0; t < frames[item]; t++, rest /= CLASSES) {
            int32_t c = (int32_t)(rest % CLASSES);
            sum += (double)logp[(size_t)t * CLASSES + (size_t)c];
            if (c != BLANK && c != last) ids[length++] = c;
            last = c;
        }
        p[number_of(ids, length)] += exp(sum);
    }
}

static hd_found *search(hd_run *r, hd_stepper *s, const hd_search_opt *o)
{
    hd_err err = {0};
    hd_found *f = NULL;
    if (hd_search(&f, r, s, o, &err)) fail_msg("%s", err.text);
    hd_stepper_release(s);
    return f;
}

static hd_stepper ctc_of(const hd_ctc_said *said, int32_t end)
{
    hd_err err = {0};
    hd_stepper s = {0};
    if (hd_ctc_stepper(&s, said, end, &err)) fail_msg("%s", err.text);
    return s;
}

/* Scores of a guess are sums over its tokens: 1e-5 leaves room for the floats they come in. */
static void prefix_scores_are_those_of_all_paths(void **state)
{
    setting *set = *state;
    static double p[SENTENCES];
    for (uint64_t seed = 1; seed <= 3; seed++) {
        hd_ctc_said said = some_frames((double)seed, seed);
        hd_stepper s = ctc_of(&said, BLANK);
        hd_found *f =
            search(&set->r, &s, &(hd_search_opt){.kind = HD_SEARCH_EXHAUSTIVE, .end = BLANK, .best = 400});
        for (size_t i = 0; i < ITEMS; i++) {
            double sum = 0;
            all_sentences(i, p);
            for (size_t k = 0; k < hd_found_count(f, i); k++) {
                const hd_guess *g = &hd_found_at(f, i)[k];
                double is = exp(g->sum);
                if (!g->finished) continue;
                sum += is;
                double should = p[number_of(g->ids, g->length - 1)];
                if (!(fabs(is - should) < 1e-5 * (should + 1e-3)))
                    fail_msg("item %zu, guess %zu: %g, expected %g", i, k, is, should);
            }
            assert_true(fabs(sum - 1) < 1e-5); /* they are all sentences there are */
        }
        hd_found_free(f);
    }
}

static void a_beam_over_prefixes_finds_the_likeliest_sentence(void **state)
{
    setting *set = *state;
    static double p[SENTENCES];
    size_t greedy_wrong = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        hd_ctc_said said = some_frames(1, seed);
        hd_err err = {0};
        hd_found *path = NULL;
        if (hd_ctc_greedy(&path, &said, &err)) fail_msg("%s", err.text);
        hd_stepper s = ctc_of(&said, BLANK);
        hd_found *f = search(&set->r, &s, &(hd_search_opt){.kind = HD_SEARCH_BEAM, .beam = 20, .end = BLANK});
        for (size_t i = 0; i < ITEMS; i++) {
            const hd_guess *g = hd_found_at(f, i), *b = hd_found_at(path, i);
            double best = 0;
            all_sentences(i, p);
            for (size_t k = 0; k < SENTENCES; k++) best = fmax(best, p[k]);
            assert_true(fabs(exp(g->sum) - best) < 1e-5);
            assert_true(p[number_of(b->ids, b->length)] <= best);
            greedy_wrong += p[number_of(b->ids, b->length)] < best - 1e-6;
        }
        hd_found_free(f), hd_found_free(path);
    }
    assert_true(greedy_wrong > 5); /* one path is not a sentence */
}

static void greedy_collapses_repeats_and_drops_blanks(void **state)
{
    (void)state;
    const int32_t said_columns[] = {0, 1, 1, 0, 1, 2, 2, 0, 0, 3}, count[] = {10, 0, 2};
    hd_real logp[12 * CLASSES];
    for (size_t t = 0; t < 12; t++)
        for (size_t c = 0; c < CLASSES; c++)
            logp[t * CLASSES + c] = t < 10 && (int32_t)c == said_columns[t] ? -0.25f : c ? -3 : -2;
    hd_found *f = NULL;
    hd_err err = {0};
    assert_int_equal(hd_ctc_greedy(&f, &(hd_ctc_said){logp, count, 3, CLASSES, BLANK}, &err), HD_OK);
    const hd_guess *g = hd_found_at(f, 0);
    const int32_t ids[] = {1, 1, 2, 3};
    const hd_real sums[] = {-1, -0.25f, -1, -0.25f};
    assert_int_equal(g->length, 4);
    assert_memory_equal(g->ids, ids, sizeof ids);
    assert_memory_equal(g->logp, sums, sizeof sums);
    assert_true(g->sum == -2.5 && g->finished);
    assert_int_equal(hd_found_at(f, 1)->length, 0);
    assert_int_equal(hd_found_at(f, 2)->length, 0);
    assert_true(hd_found_at(f, 2)->sum == -4);
    hd_found_free(f);
}

/* A table as language model; its tokens have other numbers. */
static const int32_t renamed[CLASSES] = {3, 2, 0, 1};

static double table_logp(const babble *b, size_t item, const int32_t *ids, size_t length)
{
    double sum = 0;
    uint64_t history = 7;
    for (size_t t = 0; t < length; t++) {
        hd_real row[BABBLE_VOCAB];
        babble_row(b, (int32_t)item, history, 0, row);
        sum += (double)row[renamed[ids[t]]];
        history = babble_hash(history, renamed[ids[t]]);
    }
    return sum;
}

static void a_language_model_and_a_bonus_count_as_they_are_weighted(void **state)
{
    setting *set = *state;
    static double p[SENTENCES];
    const double weight = 0.7, bonus = 0.9;
    babble lm = {.vocab = CLASSES, .seed = 5, .sharp = 1};
    hd_ctc_said said = some_frames(1, 11);
    hd_err err = {0};
    hd_stepper s;
    const hd_mix_part parts[] = {{ctc_of(&said, BLANK), 1, NULL}, {babble_open(&lm, ITEMS), weight, renamed}};
    assert_int_equal(hd_mix_stepper(&s, parts, 2, &err), HD_OK);
    hd_search_opt o = {.kind = HD_SEARCH_BEAM, .beam = 400, .end = BLANK, .length = {.bonus = bonus}};
    hd_found *f = search(&set->r, &s, &o);
    for (size_t i = 0; i < ITEMS; i++) {
        const hd_guess *g = hd_found_at(f, i);
        double best = -INFINITY;
        all_sentences(i, p);
        for (size_t k = 0; k < SENTENCES; k++) {
            int32_t ids[MOST + 1];
            size_t length = 0;
            if (!(p[k] > 0)) continue;
            for (size_t rest = k; rest; rest /= CLASSES) ids[length++] = (int32_t)(rest % CLASSES);
            ids[length++] = BLANK;
            best = fmax(best, log(p[k]) + weight * table_logp(&lm, i, ids, length) + bonus * (double)length);
        }
        if (!(fabs(g->score - best) < 2e-5)) fail_msg("item %zu: %g, expected %g", i, g->score, best);
        assert_true(fabs(g->score - g->sum - bonus * (double)g->length) < 1e-12);
    }
    hd_found_free(f);
}

/* The decoder's sentences of MOST tokens at most, each with both opinions. */
static double best_joint(const babble *b, size_t item, const double *p, double share, int32_t *ids,
                         size_t length)
{
    double best = -INFINITY, ctc = p[number_of(ids, length)];
    ids[length] = BLANK;
    if (ctc > 0) best = (1 - share) * table_logp(b, item, ids, length + 1) + share * log(ctc);
    for (int32_t c = 1; length < (size_t)frames[item] && c < CLASSES; c++) {
        ids[length] = c;
        best = fmax(best, best_joint(b, item, p, share, ids, length + 1));
    }
    return best;
}

static void a_decoder_and_ctc_are_searched_together(void **state)
{
    setting *set = *state;
    static double p[SENTENCES];
    for (int share = 0; share <= 10; share += 5) {
        double l = share / 10.0;
        babble decoder = {.vocab = CLASSES, .seed = 9, .sharp = 2};
        hd_ctc_said said = some_frames(1.5, 4);
        hd_err err = {0};
        hd_stepper s, none = babble_open(&decoder, ITEMS);
        const hd_mix_part parts[] = {{ctc_of(&said, BLANK), l, NULL}, {none, 1 - l, renamed}};
        assert_int_equal(hd_mix_stepper(&s, parts, 2, &err), HD_OK);
        hd_found *f =
            search(&set->r, &s, &(hd_search_opt){.kind = HD_SEARCH_BEAM, .beam = 400, .end = BLANK});
        for (size_t i = 0; share && i < ITEMS; i++) {
            int32_t ids[MOST + 1];
            all_sentences(i, p);
            double is = hd_found_at(f, i)->score, should = best_joint(&decoder, i, p, l, ids, 0);
            if (!(fabs(is - should) < 2e-5)) fail_msg("%d, item %zu: %g, expected %g", share, i, is, should);
        }
        if (!share) assert_true(decoder.steps > 0);
        if (share == 10) assert_int_equal(decoder.steps, 0); /* nobody asks who has no say */
        hd_found_free(f);
    }
}

static void what_is_found_depends_neither_on_threads_nor_on_the_batch(void **state)
{
    (void)state;
    hd_found *first = NULL;
    for (int threads = 1; threads <= 4; threads++)
        for (size_t seats = 0; seats <= 8; seats += 4) {
            hd_backend *b = backend_of("cpu", threads);
            hd_run r = run_on(b);
            hd_ctc_said said = some_frames(1, 2);
            hd_stepper s = ctc_of(&said, BLANK);
            hd_found *f = search(
                &r, &s,
                &(hd_search_opt){.kind = HD_SEARCH_BEAM, .beam = 3, .best = 3, .end = BLANK, .seats = seats});
            if (first) assert_same_found(first, f);
            if (first)
                hd_found_free(f);
            else
                first = f;
            hd_run_release(&r);
            hd_backend_free(b);
        }
    hd_found_free(first);
}

static void what_cannot_be_is_told(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_stepper s = {0};
    hd_ctc_said said = some_frames(1, 1), bad = said;
    bad.blank = CLASSES;
    assert_int_equal(hd_ctc_stepper(&s, &bad, 0, &err), HD_EARG);
    assert_string_equal(err.text, "ctc: blank 4 of 4 columns");
    err = (hd_err){0};
    assert_int_equal(hd_ctc_stepper(&s, &said, -1, &err), HD_EARG);
    assert_string_equal(err.text, "ctc: end token -1 of 4 columns");
    err = (hd_err){0};
    babble few = {.vocab = CLASSES};
    hd_mix_part parts[] = {{ctc_of(&said, 0), 1, NULL}, {babble_open(&few, ITEMS - 1), 1, NULL}};
    assert_int_equal(hd_mix_stepper(&s, parts, 2, &err), HD_EARG);
    assert_string_equal(err.text, "mix: 12 items and 11");
    err = (hd_err){0};
    parts[1].stepper.items = ITEMS, parts[1].weight = -1;
    assert_int_equal(hd_mix_stepper(&s, parts, 2, &err), HD_EARG);
    assert_string_equal(err.text, "mix: a weight of -1");
    err = (hd_err){0};
    parts[1].weight = 1, parts[1].stepper.vocab = 3;
    assert_int_equal(hd_mix_stepper(&s, parts, 2, &err), HD_EARG);
    assert_string_equal(err.text, "mix: token 3 of 4 is 3 of 3");
    err = (hd_err){0};
    hd_stepper_release(&parts[0].stepper);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefix_scores_are_those_of_all_paths),
        cmocka_unit_test(a_beam_over_prefixes_finds_the_likeliest_sentence),
        cmocka_unit_test(greedy_collapses_repeats_and_drops_blanks),
        cmocka_unit_test(a_language_model_and_a_bonus_count_as_they_are_weighted),
        cmocka_unit_test(a_decoder_and_ctc_are_searched_together),
        cmocka_unit_test(what_is_found_depends_neither_on_threads_nor_on_the_batch),
        cmocka_unit_test(what_cannot_be_is_told),
    };
    return cmocka_run_group_tests(tests, setting_open, setting_close);
}
