/* Scores of given texts: those of a plain forward pass, by any model, whatever is scored beside them. */
#include "task/rank.h"

#include "task/readers.h"

enum { TEXTS = 9 };

/* Neighbors share a source; the model of words knows both languages' letters only where it should. */
static const char *const sources[TEXTS] = {"a b c", "a b c", "a b c", "d", "d", "a b c", "e f g h", "d", "d"};
static const char *const targets[TEXTS] = {"A B", "", "C C C C", "A B", "H ö", "A B", "A B", "D !", "D !"};
static const char *const texts[TEXTS] = {"the cat", "",   "the dog sat on the log", "a mat",  "the zebra",
                                         "the cat", "on", "a dog and a cat",        "mat the"};

typedef struct subject {
    hd_backend *backend;
    hd_run run;
    hd_model_folder model;
    hd_line source[TEXTS], text[TEXTS];
} subject;

static subject subject_of(size_t which)
{
    subject s = {.backend = backend_of("cpu", 2)};
    s.run = run_on(s.backend);
    s.model = reader_of(s.backend, which);
    for (size_t i = 0; i < TEXTS; i++) {
        s.source[i] = line_of(sources[i]);
        s.text[i] = line_of(is_language(&s.model) ? texts[i] : targets[i]);
    }
    return s;
}

static void subject_free(subject *s)
{
    hd_model_folder_release(&s->model);
    hd_run_release(&s->run);
    hd_backend_free(s->backend);
}

static void judge(subject *s, hd_verdict *v, size_t from, size_t count, hd_rank_opt opt)
{
    hd_err err = {0};
    if (hd_rank_judge(v, &s->run, &s->model, s->source + from, s->text + from, count, &opt, &err))
        fail_msg("%s", err.text);
}

/* The decoder over all tokens at once, without a cache. */
static double forward_pass(hd_run *r, const hd_model_folder *t, hd_line source, hd_line text, size_t *tokens)
{
    hd_err err = {0};
    hd_ids in = {0}, out = {0};
    hd_tokenizer_encode_ids(t->tokenizer[0], source.text, source.size, &in, &err);
    hd_tokenizer_encode_ids(t->tokenizer[1], text.text, text.size, &out, &err);
    assert_int_equal(hd_ids_reserve(&in, 1, &err) || hd_ids_reserve(&out, 1, &err), 0);
    in.at[in.count++] = hd_tokenizer_special(t->tokenizer[0]).end;
    out.at[out.count++] = hd_tokenizer_special(t->tokenizer[1]).end;
    int32_t read[32] = {hd_tokenizer_special(t->tokenizer[1]).start};
    memcpy(read + 1, out.at, (out.count - 1) * sizeof *read);
    const int32_t from = (int32_t)in.count, to = (int32_t)out.count;
    hd_run_begin(r, HD_INFERENCE);
    hd_encoded memory = hd_encdec_encode(
        r, hd_model_folder_encdec(t),
        &(hd_items){.seg = hd_seg_of(r, &from, 1, NULL), .ids = hd_ints(r, in.at, in.count)});
    hd_rows x = hd_encdec_decode(r, hd_model_folder_encdec(t), hd_ints(r, read, out.count),
                                 hd_seg_of(r, &to, 1, NULL), memory, NULL);
    hd_tensor *y = hd_log_softmax(r, hd_encdec_logits(r, hd_model_folder_encdec(t), x));
    hd_real *p = host_copy(r, y);
    double sum = 0;
    for (size_t i = 0; i < out.count; i++) sum += (double)p[i * hd_cols_of(y) + (size_t)out.at[i]];
    *tokens = out.count;
    free(p);
    hd_ids_release(&in);
    hd_ids_release(&out);
    return sum;
}

/* As heed perplexity measures a text of that one line. */
static double as_judged(hd_run *r, const hd_model_folder *l, hd_line text, size_t *tokens)
{
    hd_err err = {0};
    char whole[64];
    snprintf(whole, sizeof whole, "%s\n", text.text);
    hd_ids ids = speaker_ids(l->tokenizer[0], whole);
    const hd_stream_text t = {.ids = ids.at, .count = ids.count, .lines = 1, .characters = text.size + 1};
    hd_fluency f;
    if (hd_language_judge(&f, r, l, &t, &err)) fail_msg("%s", err.text);
    hd_ids_release(&ids);
    *tokens = f.tokens;
    return -f.nats;
}

static void scores_are_those_of_a_forward_pass(void **state)
{
    (void)state;
    for (size_t which = 0; which < READERS; which++) {
        subject s = subject_of(which);
        hd_verdict v[TEXTS];
        judge(&s, v, 0, TEXTS, (hd_rank_opt){0});
        for (size_t i = 0; i < TEXTS; i++) {
            size_t tokens;
            double sum = is_language(&s.model)
                             ? as_judged(&s.run, &s.model, s.text[i], &tokens)
                             : forward_pass(&s.run, &s.model, s.source[i], s.text[i], &tokens);
            assert_int_equal(v[i].status, HD_OK);
            assert_int_equal(v[i].tokens, tokens);
            assert_int_equal(v[i].place, i);
            if (!(fabs(v[i].logp - sum) < 1e-4)) /* float32 sums of up to 8 tokens in other orders */
                fail_msg("model %zu, text %zu: %g, not %g", which, i, v[i].logp, sum);
            assert_true(!(v[i].score < v[i].logp || v[i].score > v[i].logp));
        }
        subject_free(&s);
    }
}

static void a_text_has_its_score_whatever_surrounds_it(void **state)
{
    (void)state;
    for (size_t which = 0; which < READERS; which++) {
        subject s = subject_of(which);
        hd_verdict all[TEXTS], some[TEXTS], one;
        judge(&s, all, 0, TEXTS, (hd_rank_opt){0});
        judge(&s, some, 0, TEXTS, (hd_rank_opt){.batch = 2});
        for (size_t i = 0; i < TEXTS; i++) {
            judge(&s, &one, i, 1, (hd_rank_opt){0});
            assert_memory_equal(&one.logp, &all[i].logp, sizeof one.logp);
            assert_memory_equal(&some[i].logp, &all[i].logp, sizeof one.logp);
        }
        subject_free(&s);
    }
}

static void a_normalized_score_is_that_of_a_token(void **state)
{
    (void)state;
    subject s = subject_of(0);
    hd_verdict v[TEXTS];
    judge(&s, v, 0, TEXTS, (hd_rank_opt){.normalize = true});
    for (size_t i = 0; i < TEXTS; i++)
        assert_true(fabs(v[i].score - v[i].logp / (double)v[i].tokens) < 1e-12);
    assert_true(v[0].score > v[0].logp);
    subject_free(&s);
}

/* Place by place: as many better ones, and equal ones that came earlier, stand before it. */
static void sorting_is_by_score_and_stable(void **state)
{
    (void)state;
    static const double score[] = {-3, -1, -INFINITY, -2, -1, NAN, -INFINITY, -3, -0.5};
    enum { N = sizeof score / sizeof *score };
    static const size_t expected[N] = {8, 1, 4, 3, 0, 7, 2, 6, 5};
    hd_verdict v[N];
    for (size_t i = 0; i < N; i++) v[i] = (hd_verdict){.place = i, .score = score[i]};
    hd_rank_sort(v, N);
    for (size_t i = 0; i < N; i++) assert_int_equal(v[i].place, expected[i]);
    hd_rank_sort(NULL, 0);
}

static void what_cannot_be_scored_costs_nobody_else(void **state)
{
    (void)state;
    static const char longest[] = "A A A A A A A A A A A A A A A"; /* and the end: all positions */
    static const struct {
        hd_line source, text;
        hd_status status;
        const char *why;
    } cases[] = {
        {{"a", 1}, {"A", 1}, HD_OK, NULL},
        {{"\xff", 1}, {"A", 1}, HD_EFORMAT, "not UTF-8"},
        {{"a", 1}, {"\xff", 1}, HD_EFORMAT, "its given translation is not UTF-8"},
        {{"a", 1}, {NULL, 0}, HD_EFORMAT, "no tab: a source, a tab and its translation are expected"},
        {{"", 0}, {"A", 1}, HD_EFORMAT, "its source is empty"},
        {{"a", 1}, {longest, sizeof longest - 1}, HD_OK, NULL},
        {{"a", 1}, {"A A A A A A A A A A A A A A A A", 31}, HD_ELIMIT, "the given translation is longer"},
        {{"a a a a a a a a a a a a a a a a", 31}, {"A", 1}, HD_ELIMIT, "longer than the model can take"},
    };
    subject s = subject_of(0);
    hd_err err = {0};
    hd_verdict v[COUNT_OF(cases)], alone;
    hd_line source[COUNT_OF(cases)], text[COUNT_OF(cases)];
    for (size_t i = 0; i < COUNT_OF(cases); i++) source[i] = cases[i].source, text[i] = cases[i].text;
    if (hd_rank_judge(v, &s.run, &s.model, source, text, COUNT_OF(cases), &(hd_rank_opt){0}, &err) ||
        hd_rank_judge(&alone, &s.run, &s.model, source, text, 1, &(hd_rank_opt){0}, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(v[i].status, cases[i].status);
        assert_true(isfinite(v[i].score) == !cases[i].status);
        if (cases[i].why && !strstr(v[i].why, cases[i].why)) fail_msg("%zu: %s", i, v[i].why);
    }
    assert_memory_equal(&alone.logp, &v[0].logp, sizeof alone.logp);
    hd_verdict none;
    assert_int_equal(hd_rank_judge(&none, &s.run, &s.model, source, text, 0, &(hd_rank_opt){0}, &err), HD_OK);
    subject_free(&s);
}

/* Longer than the context of 8: what lies before it is forgotten, and every token still counts. */
static void a_long_text_has_a_score_too(void **state)
{
    (void)state;
    for (size_t which = TRANSLATING_READERS; which < READERS; which++) {
        subject s = subject_of(which);
        hd_err err = {0};
        hd_verdict v[2];
        hd_line text[2] = {line_of("the cat sat on the mat, the dog sat on the log and a cat and a dog"),
                           line_of("bad \xff")};
        if (hd_rank_judge(v, &s.run, &s.model, NULL, text, 2, &(hd_rank_opt){0}, &err))
            fail_msg("%s", err.text);
        assert_true(isfinite(v[0].score) && v[0].tokens > 15);
        assert_int_equal(v[1].status, HD_EFORMAT);
        subject_free(&s);
    }
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    for (size_t which = 0; which < READERS; which += TRANSLATING_READERS) {
        subject s = subject_of(which);
        hd_verdict v[TEXTS];
        const hd_rank_opt opt = {.batch = 2};
        judge(&s, v, 0, 4, opt); /* the run has its memory */
        size_t blocks = hd_mem_now().blocks, n = 1;
        for (hd_status st = HD_ENOMEM; st; n++) {
            hd_err why = {0};
            hd_mem_fail_at(n);
            st = hd_rank_judge(v, &s.run, &s.model, s.source, s.text, 4, &opt, &why);
            hd_mem_fail_at(0);
            assert_int_equal(st, why.status);
            if (hd_mem_now().blocks > blocks) fail_msg("blocks are left by failure %zu", n);
        }
        assert_in_range(n, 10, 10000);
        subject_free(&s);
        assert_int_equal(hd_mem_now().blocks, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_a_forward_pass),
        cmocka_unit_test(a_text_has_its_score_whatever_surrounds_it),
        cmocka_unit_test(a_normalized_score_is_that_of_a_token),
        cmocka_unit_test(sorting_is_by_score_and_stable),
        cmocka_unit_test(what_cannot_be_scored_costs_nobody_else),
        cmocka_unit_test(a_long_text_has_a_score_too),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
