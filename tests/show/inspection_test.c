/* What is said of a text: by a translator, language models of every kind and a BERT. */
#include "one_run.h"

#include "show/live/inspection.h"
#include "task/language/generate.h"
#include "task/small.h"
#include "task/speaker.h"

static hd_line line_from(const char *text)
{
    return (hd_line){text, strlen(text)};
}

static hd_inspection *inspected(const hd_model_folder *f, hd_inspect_ask ask)
{
    hd_err err = {0};
    hd_inspection *x = NULL;
    if (hd_inspect(&x, &run, f, &ask, &err)) fail_msg("%s", err.text);
    return x;
}

static const hd_search_opt beam = {
    .kind = HD_SEARCH_BEAM, .beam = 3, .best = 3, .length = {.kind = HD_LENGTH_AVERAGE}, .max_ratio = 2};

/* The likeliest come first, and tokens write the text piece by piece. */
static void check_tokens(const hd_inspect_token *t, size_t count, const char *text)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (t[i].end > t[i].begin) {
            assert_int_equal(t[i].begin, at);
            at = t[i].end;
        }
        for (size_t k = 1; k < t[i].tops; k++) assert_true(t[i].top[k - 1].logp >= t[i].top[k].logp);
        if (t[i].rank && t[i].rank <= t[i].tops) assert_true(t[i].top[t[i].rank - 1].logp == t[i].logp);
    }
    assert_int_equal(at, strlen(text));
}

static void a_translation_read_again_is_the_one_that_was_searched(void **state)
{
    (void)state;
    hd_model_folder *t = small_make(backend, HD_TOKENIZER_words, false, false);
    const hd_inspect_ask ask = {.text = line_from("a b c ."), .top = 4, .search = beam};
    hd_inspection *x = inspected(t, ask);
    check_tokens(x->target, x->targets, x->written);
    assert_true(x->guesses == 3 && x->guess[0].sum == x->sum && x->guess[0].score == x->score);
    assert_string_equal(x->guess[0].text, x->written);
    for (size_t i = 0; i < x->targets; i++) { /* rows of attention, and a way through the beam */
        double sum = 0;
        for (size_t k = 0; k < x->sources; k++) sum += (double)x->alignment[i * x->sources + k];
        assert_true(fabs(sum - 1) < 1e-5);
    }
    /* all of it forced gives the same numbers */
    int32_t ids[64];
    for (size_t i = 0; i < x->targets; i++) ids[i] = x->target[i].token.id;
    hd_inspect_ask again = ask;
    again.forced = ids, again.forced_count = x->targets, again.whole = true;
    hd_inspection *y = inspected(t, again);
    assert_true(y->sum == x->sum && y->score == x->score && !y->steps);
    /* heads that are off change them, and only while they are */
    hd_inspect_ask off = again;
    off.heads = "dec.*.cross.*=0";
    hd_inspection *z = inspected(t, off);
    assert_true(z->sum != x->sum && !run.heads);
    hd_inspection_free(x), hd_inspection_free(y), hd_inspection_free(z);
    folder_free(t);
}

static bool is_over(void *left)
{
    return --*(int *)left < 0;
}

static void who_has_gone_is_not_computed_for(void **state)
{
    (void)state;
    hd_model_folder *t = small_make(backend, HD_TOKENIZER_words, false, false);
    for (int looks = 0; looks < 8; looks++) {
        int left = looks;
        hd_inspection *x = NULL;
        hd_err err = {0};
        const hd_inspect_ask ask = {
            .text = line_from("a b c d e f ."), .search = beam, .over = is_over, .context = &left};
        assert_int_equal(hd_inspect(&x, &run, t, &ask, &err), HD_ELIMIT);
        assert_true(left >= -9); /* a beam of three looks a few times more until its step is over */
    }
    folder_free(t);
}

static void language_models_foresee_what_they_write(void **state)
{
    (void)state;
    static const hd_lm_kind kinds[] = {HD_LM_gpt, HD_LM_ngram, HD_LM_ffnn};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        hd_model_folder *l = speaker(backend, kinds[i], HD_TOKENIZER_words);
        hd_line text = line_from("the cat");
        hd_err err = {0};
        hd_generated g = {0};
        hd_inspection *x = inspected(l, (hd_inspect_ask){.text = text, .top = 3, .tokens = 4});
        check_tokens(x->target, x->targets, x->written);
        if (hd_generate(&g, &run, l, &text, 1, &(hd_generate_opt){.tokens = 4}, &err))
            fail_msg("%s", err.text);
        assert_int_equal(x->targets, g.ids.count);
        double sum = 0;
        for (size_t k = 0; k < x->targets; k++) {
            assert_int_equal(x->target[k].token.id, g.ids.at[k]);
            assert_int_equal(x->target[k].given, k < g.ids.count - 4);
            if (!x->target[k].given) sum += x->target[k].logp;
        }
        assert_true(fabs(sum - g.logp) < 1e-4); /* a prompt is read at once there */
        assert_int_equal(x->nexts, 3);
        /* another token in place of the third one */
        int32_t forced[] = {x->target[3].token.id, x->next[2].token.id};
        hd_inspection *y = inspected(
            l, (hd_inspect_ask){.text = text, .top = 3, .tokens = 1, .forced = forced, .forced_count = 2});
        assert_int_equal(y->targets, x->targets - 1);
        assert_true(y->target[4].given && y->target[4].token.id == forced[1] && !y->target[5].given);
        hd_inspection_free(x), hd_inspection_free(y);
        hd_generated_release(&g);
        folder_free(l);
    }
}

static void masks_are_filled_as_heed_fill_does(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_bert *bert = NULL;
    hd_filled filled = {0};
    hd_model_folder *l = speaker(backend, HD_LM_ngram, HD_TOKENIZER_words);
    hd_model_folder m = {.tokenizer = {l->tokenizer[0], l->tokenizer[0]}};
    const hd_bert_opt o = {.stack.layers = 1,
                           .stack.heads = 2,
                           .stack.width = 16,
                           .stack.inner = 16,
                           .stack.act = HD_gelu,
                           .stack.eps = 1e-5f,
                           .types = 2,
                           .vocab = hd_masked_vocab(l->tokenizer[0]),
                           .positions = 16};
    if (hd_bert_new(&bert, backend, &o, false, &err) || hd_params_draw(&bert->params, 3, &err))
        fail_msg("%s", err.text);
    hd_model_folder_take(&m, HD_TRAIN_MLM, hd_bert_model(bert));
    const hd_line text = line_from("the [MASK] sat on [MASK] mat");
    hd_inspection *x = inspected(&m, (hd_inspect_ask){.text = text, .top = 3});
    if (hd_masked_fill(&filled, &run, &m, text, 3, &err)) fail_msg("%s", err.text);
    size_t mask = 0;
    for (size_t i = 0; i < x->sources; i++) {
        if (!x->source[i].tops) continue;
        assert_int_equal(x->source[i].end - x->source[i].begin, strlen(HD_MASK_TEXT));
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(x->source[i].top[k].token.id, filled.choice[mask * 3 + k].id);
        mask++;
    }
    assert_int_equal(mask, 2);
    hd_filled_release(&filled);
    hd_inspection_free(x);
    m.tokenizer[0] = m.tokenizer[1] = NULL;
    hd_model_folder_release(&m);
    folder_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_translation_read_again_is_the_one_that_was_searched),
        cmocka_unit_test(who_has_gone_is_not_computed_for),
        cmocka_unit_test(language_models_foresee_what_they_write),
        cmocka_unit_test(masks_are_filled_as_heed_fill_does),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
