/* A language model in a search: it decides what the sound leaves open, whatever numbers its tokens have. */
#include "check.h"
#include "scratch.h"

#include "decode/joint/ctc.h"
#include "decode/search.h"
#include "task/fusion.h"
#include "task/speaker.h"

enum { MOST = 40 };

/* The same characters in another order. */
static hd_tokenizer *writer_of(const char *text)
{
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    speaker_lines lines = {text};
    if (hd_tokenizer_train(&t, HD_TOKENIZER_characters, (hd_feed){speaker_next, &lines},
                           &(hd_tokenizer_opt){0}, &err))
        fail_msg("%s", err.text);
    return t;
}

/* Frames that say `text`, and at place `open` rather `other`. */
static hd_ctc_said frames_of(const hd_tokenizer *t, const char *text, size_t open, const char *other,
                             hd_real *logp, int32_t *frames)
{
    size_t classes = hd_tokenizer_size(t);
    hd_ids ids = {0}, more = {0};
    hd_err err = {0};
    assert_int_equal(hd_tokenizer_encode_ids(t, text, strlen(text), &ids, &err), HD_OK);
    assert_int_equal(hd_tokenizer_encode_ids(t, other, strlen(other), &more, &err), HD_OK);
    assert_true(2 * ids.count <= MOST);
    for (size_t i = 0; i < 2 * ids.count; i++) /* a blank behind each */
        for (size_t c = 0; c < classes; c++) {
            int32_t said = i % 2 ? HD_PAD_ID : ids.at[i / 2];
            double p = (int32_t)c == said ? 0.9 : 0.1 / (double)(classes - 1);
            if (i == 2 * open && (int32_t)c == said) p = 0.4;
            if (i == 2 * open && (int32_t)c == more.at[more.count - 1]) p = 0.5;
            logp[i * classes + c] = (hd_real)log(p);
        }
    *frames = (int32_t)(2 * ids.count);
    hd_ids_release(&ids), hd_ids_release(&more);
    return (hd_ctc_said){logp, frames, 1, classes, HD_PAD_ID};
}

static void assert_found(hd_run *r, const hd_fusion *f, const hd_tokenizer *t, const hd_ctc_said *said,
                         double weight, const char *expected)
{
    hd_err err = {0};
    hd_mix_part part[2] = {{.weight = 1}};
    hd_stepper s = {0};
    hd_found *found = NULL;
    hd_text text = {0};
    if (hd_ctc_stepper(&part[0].stepper, said, HD_END_ID, &err) ||
        hd_fusion_part(&part[1], f, 1, weight, &err) || hd_mix_stepper(&s, part, 2, &err) ||
        hd_search(&found, r, &s, &(hd_search_opt){.kind = HD_SEARCH_BEAM, .beam = 8, .end = HD_END_ID}, &err))
        fail_msg("%s", err.text);
    const hd_guess *g = hd_found_at(found, 0);
    assert_true(g->finished);
    assert_int_equal(hd_tokenizer_decode(t, g->ids, g->length - 1, &text, &err), HD_OK);
    assert_string_equal(text.data, expected);
    hd_text_release(&text);
    hd_found_free(found);
    hd_stepper_release(&s);
}

static void it_decides_what_the_sound_leaves_open(void **state)
{
    (void)state;
    const char *folder = at("speaker");
    assert_int_equal(mkdir(folder, 0777), 0);
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    hd_err err = {0};
    hd_tokenizer *t =
        writer_of("where is the dog? the dog is on the log\nthe mat, the cat sat on a mat\nz\n");
    const hd_lm_kind kinds[] = {HD_LM_ngram, HD_LM_gpt, HD_LM_lstm};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        hd_model_folder *l = speaker(b, kinds[k], HD_TOKENIZER_characters);
        hd_fusion f;
        if (hd_model_folder_write(l, folder, &err) || hd_fusion_open(&f, folder, t, b, &err))
            fail_msg("%s", err.text);
        assert_int_not_equal(hd_tokenizer_id(t, "c"), f.token[hd_tokenizer_id(t, "c")]);
        assert_int_equal(f.token[hd_tokenizer_id(t, "z")], HD_UNK_ID); /* nobody there says z */
        hd_real logp[MOST * 64];
        int32_t frames;
        hd_ctc_said said = frames_of(t, "the cat sat", 5, "g", logp, &frames);
        assert_found(&r, &f, t, &said, 0, "the cgt sat");
        if (kinds[k] == HD_LM_ngram) assert_found(&r, &f, t, &said, 0.5, "the cat sat");
        if (kinds[k] != HD_LM_ngram) assert_found(&r, &f, t, &said, 1e-6, "the cgt sat"); /* untrained */
        hd_fusion_release(&f);
        folder_free(l);
    }
    hd_tokenizer_free(t);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void a_model_of_other_tokens_is_refused(void **state)
{
    (void)state;
    const char *folder = at("other");
    char expected[256];
    assert_int_equal(mkdir(folder, 0777), 0);
    hd_backend *b = backend_of("cpu", 1);
    hd_err err = {0};
    hd_tokenizer *t = writer_of("xyz xyz\n");
    hd_model_folder *l = speaker(b, HD_LM_ngram, HD_TOKENIZER_words);
    hd_fusion f;
    assert_int_equal(hd_model_folder_write(l, folder, &err), HD_OK);
    assert_int_equal(hd_fusion_open(&f, folder, t, b, &err), HD_EARG);
    snprintf(expected, sizeof expected,
             "%s: the language model knows 0 of the model's %zu tokens: train it with the model's tokenizer "
             "(--tokenizer-model)",
             folder, hd_tokenizer_size(t) - HD_SPECIALS);
    assert_string_equal(err.text, expected);
    hd_fusion_release(&f);
    folder_free(l);
    hd_tokenizer_free(t);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_decides_what_the_sound_leaves_open),
        cmocka_unit_test(a_model_of_other_tokens_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
