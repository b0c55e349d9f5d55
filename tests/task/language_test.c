/* The folder of a language model, texts as streams, and judging: every token counts once, whatever the
   windows. */
#include "check.h"
#include "scratch.h"

#include "task/language/language.h"
#include "task/owned.h"
#include "unseal.h"

static const char words[] = "to be or\n\nnot to be\nthat is\nthe question für\n";

static hd_tokenizer *tokenizer_of(hd_tokenizer_kind kind)
{
    hd_err err = {0};
    hd_plain_text text = {0};
    hd_tokenizer *t = NULL;
    put_file(at("text"), words);
    if (hd_plain_text_read(&text, at("text"), &err)) fail_msg("%s", err.text);
    hd_plain_walk walk = {&text, 0};
    if (hd_tokenizer_train(&t, kind, hd_plain_feed(&walk), &(hd_tokenizer_opt){0}, &err))
        fail_msg("%s", err.text);
    hd_plain_text_release(&text);
    return t;
}

/* A small model of random weights, over characters. */
static hd_model_folder *small_of(hd_backend *b, hd_lm_kind kind, size_t context)
{
    hd_err err = {0};
    hd_model_folder *l = hd_mem_zero(sizeof *l);
    hd_lm *lm = NULL;
    l->tokenizer[0] = tokenizer_of(HD_TOKENIZER_characters);
    hd_special special = hd_tokenizer_special(l->tokenizer[0]);
    hd_lm_opt o = {.stack.pre_norm = true,
                   .kind = kind,
                   .vocab = hd_tokenizer_size(l->tokenizer[0]),
                   .start = special.start,
                   .end = special.end,
                   .unk = special.unk,
                   .order = 3,
                   .smoothing = HD_SMOOTHING_KNESER_NEY,
                   .buckets = 100,
                   .stack.layers = 1,
                   .stack.heads = 2,
                   .stack.width = 8,
                   .context = context,
                   .stack.act = HD_tanh};
    if (hd_lm_new(&lm, &o, b, false, &err)) fail_msg("%s", err.text);
    hd_model_folder_take(l, HD_TRAIN_LM, hd_lm_model(lm));
    if (lm->params && hd_params_draw(lm->params, 5, &err)) fail_msg("%s", err.text);
    return l;
}

static hd_stream_text stream_of(const hd_model_folder *l, const char *path)
{
    hd_err err = {0};
    hd_plain_text text = {0};
    hd_stream_text s = {0};
    if (hd_plain_text_read(&text, path, &err) || hd_stream_text_of(&s, &text, l->tokenizer[0], &err))
        fail_msg("%s", err.text);
    hd_plain_text_release(&text);
    return s;
}

/* ---- texts ---- */

static hd_plain_text plain_of(const char *words_of_it)
{
    hd_err err = {0};
    hd_plain_text text = {0};
    put_file(at("plain"), words_of_it);
    if (hd_plain_text_read(&text, at("plain"), &err)) fail_msg("%s", err.text);
    return text;
}

static void a_text_is_a_stream(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_tokenizer *t = tokenizer_of(HD_TOKENIZER_words);
    hd_plain_text text = plain_of(words);
    hd_stream_text s = {0};
    if (hd_stream_text_of(&s, &text, t, &err)) fail_msg("%s", err.text);
    assert_int_equal(s.lines, 5);
    assert_int_equal(s.characters, 9 + 1 + 10 + 8 + 17);
    assert_int_equal(s.count, 4 + 1 + 4 + 3 + 4);
    assert_int_equal(s.ids[3], hd_tokenizer_special(t).end);
    assert_int_equal(s.ids[4], hd_tokenizer_special(t).end);
    hd_stream_text_release(&s);
    hd_plain_text_release(&text);
    hd_tokenizer_free(t);
}

/* Wherever it is cut: as characters the two parts are the whole, and have the sizes asked for. */
static void a_text_is_cut_at_a_character(void **state)
{
    (void)state;
    enum { ALL = 45 }; /* characters of words */
    hd_err err = {0};
    hd_tokenizer *t = tokenizer_of(HD_TOKENIZER_characters);
    for (int tail_size = 1; tail_size < ALL; tail_size++) {
        hd_plain_text all = plain_of(words), head = plain_of(words), tail = {0};
        hd_stream_text whole = {0}, a = {0}, b = {0};
        if (hd_plain_text_split(&head, (double)tail_size / ALL, &tail, &err)) fail_msg("%s", err.text);
        if (hd_stream_text_of(&whole, &all, t, &err) || hd_stream_text_of(&a, &head, t, &err) ||
            hd_stream_text_of(&b, &tail, t, &err))
            fail_msg("%s", err.text);
        assert_int_equal(whole.count, ALL);
        assert_int_equal(b.count, tail_size);
        assert_int_equal(a.count, ALL - tail_size);
        assert_true(a.characters == a.count && b.characters == b.count);
        assert_memory_equal(a.ids, whole.ids, a.count * sizeof *a.ids);
        assert_memory_equal(b.ids, whole.ids + a.count, b.count * sizeof *b.ids);
        assert_true(a.hash != b.hash && a.hash != whole.hash);
        hd_stream_text_release(&whole), hd_stream_text_release(&a), hd_stream_text_release(&b);
        hd_plain_text_release(&all), hd_plain_text_release(&head), hd_plain_text_release(&tail);
    }
    hd_tokenizer_free(t);
}

static void a_part_has_at_least_a_character(void **state)
{
    (void)state;
    static const double shares[] = {1e-9, 0.999999};
    for (size_t i = 0; i < COUNT_OF(shares); i++) {
        hd_err err = {0};
        hd_plain_text head = plain_of("\xc3\xbc\xc3\xbc\n"), tail = {0};
        if (hd_plain_text_split(&head, shares[i], &tail, &err)) fail_msg("%s", err.text);
        assert_int_equal(head.size, i ? 2 : 4); /* whole characters */
        assert_int_equal(tail.size, i ? 2 : 0);
        assert_true(head.open && !tail.open && head.lines == 1 && tail.lines == 1);
        hd_plain_text_release(&tail);
        hd_plain_text_release(&head);
    }
    hd_err err = {0};
    hd_plain_text one = plain_of("\n"), tail = {0};
    assert_int_equal(hd_plain_text_split(&one, 0.5, &tail, &err), HD_EARG);
    assert_int_equal(hd_plain_text_split(&one, 1.5, &tail, &err), HD_EARG);
    hd_plain_text_release(&one);
}

/* ---- judging ---- */

/* Token by token, with all that stands before it, up to a context of just that length. */
static double slowly(hd_run *r, const hd_model_folder *l, const hd_stream_text *s, size_t before)
{
    double nats = 0;
    for (size_t i = 0; i < s->count; i++) {
        size_t from = i > before ? i - before : 0;
        hd_window w = {from, i - from + 1, i - from};
        hd_lm_batch batch;
        hd_run_begin(r, HD_INFERENCE);
        hd_windows_send(r, &batch, hd_model_folder_lm(l), s, &w, NULL, 1);
        nats += hd_loss_total(r, hd_model_folder_lm(l)->type->lm.loss(r, hd_model_folder_lm(l), &batch, NULL,
                                                                      &(hd_loss_opt){.coef = 1}));
        assert_run_ok(r);
    }
    return nats;
}

static void every_token_counts_once(void **state)
{
    (void)state;
    static const hd_lm_kind kinds[] = {HD_LM_maxent, HD_LM_ffnn, HD_LM_rnn, HD_LM_gru, HD_LM_lstm, HD_LM_gpt};
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        hd_err err = {0};
        /* a gpt whose context holds all; the others have windows of 4, and know the same */
        hd_model_folder *l = small_of(b, kinds[i], kinds[i] == HD_LM_gpt ? 64 : 4);
        hd_stream_text s = stream_of(l, at("text"));
        hd_fluency f;
        if (hd_language_judge(&f, &r, l, &s, &err)) fail_msg("%s", err.text);
        assert_int_equal(f.tokens, s.count);
        assert_int_equal(f.characters, s.characters);
        double expected = slowly(&r, l, &s, 64);
        if (fabs(f.nats - expected) > 1e-4 * expected)
            fail_msg("%s: %.9g, not %.9g", hd_lm_names[kinds[i]], f.nats, expected);
        hd_stream_text_release(&s);
        folder_free(l);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

/* With a context of 1, nothing but the last token is seen, overlap or not. */
static void overlaps_count_nothing_twice(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    static const size_t contexts[] = {1, 2, 3, 5, 8, 44, 46};
    for (size_t i = 0; i < COUNT_OF(contexts); i++) {
        hd_model_folder *l = small_of(b, HD_LM_gpt, contexts[i]);
        hd_stream_text s = stream_of(l, at("text"));
        hd_fluency f, fast;
        double mean = log((double)hd_model_folder_lm(l)->opt.vocab) * (double)s.count;
        if (hd_language_judge(&f, &r, l, &s, &err) || hd_language_judge_fast(&fast, &r, l, &s, &err))
            fail_msg("%s", err.text);
        assert_true(fabs(f.nats / mean - 1) < 0.2 && fabs(fast.nats / mean - 1) < 0.2);
        if (contexts[i] == 1) assert_true(fabs(f.nats - slowly(&r, l, &s, 0)) < 1e-3);
        hd_stream_text_release(&s);
        folder_free(l);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Long texts are judged in parts beside each other: nearly the same. */
static void a_long_text_is_judged_in_parts(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder *l = small_of(b, HD_LM_gru, 8);
    FILE *f = fopen(at("long"), "w");
    for (int i = 0; i < 40; i++) fputs(words, f);
    fclose(f);
    hd_stream_text s = stream_of(l, at("long"));
    hd_fluency got;
    if (hd_language_judge(&got, &r, l, &s, &err)) fail_msg("%s", err.text);
    double expected = slowly(&r, l, &s, 40);
    if (fabs(got.nats - expected) > 1e-3 * expected) fail_msg("%.9g, not %.9g", got.nats, expected);
    hd_stream_text_release(&s);
    folder_free(l);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* ---- the folder ---- */

static void what_is_saved_opens(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (int kind = 0; kind < HD_LM_KINDS; kind++) {
        hd_err err = {0};
        hd_model_folder *l = small_of(b, (hd_lm_kind)kind, 6), *back = NULL;
        hd_stream_text s = stream_of(l, at("text"));
        hd_fluency x, y;
        mkdir(at("model"), 0777);
        if (!hd_model_folder_lm(l)->params &&
            hd_model_folder_lm(l)->type->lm.count(hd_model_folder_lm(l), s.ids, s.count, &err))
            fail_msg("%s", err.text);
        if (hd_model_folder_write(l, at("model"), &err) ||
            folder_open(&back, at("model"), "lm", b, HD_WEIGHTS_BEST, &err))
            fail_msg("%s: %s", hd_lm_names[kind], err.text);
        if (hd_language_judge(&x, &r, l, &s, &err) || hd_language_judge(&y, &r, back, &s, &err))
            fail_msg("%s", err.text);
        assert_true(x.nats == y.nats);
        assert_int_equal(hd_model_folder_lm(back)->opt.context, 6);
        assert_int_equal(hd_lm_size(hd_model_folder_lm(l)), hd_lm_size(hd_model_folder_lm(back)));
        if (hd_model_folder_remove(at("model"), &err)) fail_msg("%s", err.text);
        assert_int_equal(entries_in(at("model")), 0);
        folder_free(back);
        folder_free(l);
        hd_stream_text_release(&s);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Puts `to` for `from` in a good config.json, once. */
static void assert_refused(hd_backend *b, const char *good, const char *from, const char *to,
                           const char *says)
{
    char text[4096];
    hd_err err = {0};
    hd_model_folder *l = NULL;
    const char *place = strstr(good, from);
    assert_non_null(place);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(place - good), good, to, place + strlen(from));
    put_file(at("model/config.json"), text);
    hd_status s = folder_open(&l, at("model"), "lm", b, HD_WEIGHTS_BEST, &err);
    if (s == HD_OK || !strstr(err.text, says)) fail_msg("'%s' for '%s': %d '%s'", to, from, s, err.text);
}

static void a_hostile_config_is_refused(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_model_folder *l = small_of(b, HD_LM_gpt, 6);
    mkdir(at("model"), 0777);
    if (hd_model_folder_write(l, at("model"), &err)) fail_msg("%s", err.text);
    unseal(at("model"));
    char *good = get_file(at("model/config.json"), NULL);
    assert_refused(b, good, "\"format\": 1", "\"format\": 2", "newer heed");
    assert_refused(b, good, "\"lm\"", "\"translate\"", "this is a translator, which `heed translate` reads");
    assert_refused(b, good, "\"gpt\"", "\"bert\"", "there is no model \"bert\"");
    assert_refused(b, good, "\"heads\": 2", "\"heads\": 3", "cannot be split over 3 heads");
    assert_refused(b, good, "\"heads\": 2", "\"heads\": 0", "\"heads\" is 0, which no model has");
    assert_refused(b, good, "\"width\": 8", "\"width\": 1e9", "\"width\" is not a whole number");
    assert_refused(b, good, "\"width\": 8", "\"width\": 8888888888", "which no model has");
    assert_refused(b, good, "\"context\": 6", "\"context\": -6", "\"context\" is -6");
    assert_refused(b, good, "\"context\": 6", "\"contents\": 6", "\"context\" is missing");
    assert_refused(b, good, "\"dropout\": 0", "\"dropout\": 7", "\"dropout\" is 7");
    assert_refused(b, good, "\"tied\": false", "\"tied\": 0", "\"tied\" is not true or false");
    assert_refused(b, good, "\"characters\"", "\"runes\"", "there is no tokenizer \"runes\"");
    assert_refused(b, good, "\"kneser-ney\"", "\"none\"", "there is no smoothing \"none\"");
    assert_refused(b, good, "\"vocabulary\": ", "\"vocabulary\": 1", "tokenizer.txt: has ");
    assert_refused(b, good, "\"width\": 8", "\"width\": 10", "model.safetensors");
    assert_refused(b, good, "{", "[", "config.json");
    put_file(at("model/config.json"), good);
    unlink(at("model/model.safetensors"));
    hd_model_folder *back = NULL;
    assert_int_equal(folder_open(&back, at("model"), "lm", b, HD_WEIGHTS_BEST, &err), HD_EFILE);
    assert_int_equal(folder_open(&back, at("nothing"), "lm", b, HD_WEIGHTS_BEST, &err), HD_EFILE);
    free(good);
    folder_free(l);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_a_stream),
        cmocka_unit_test(a_text_is_cut_at_a_character),
        cmocka_unit_test(a_part_has_at_least_a_character),
        cmocka_unit_test(every_token_counts_once),
        cmocka_unit_test(overlaps_count_nothing_twice),
        cmocka_unit_test(a_long_text_is_judged_in_parts),
        cmocka_unit_test(what_is_saved_opens),
        cmocka_unit_test(a_hostile_config_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
