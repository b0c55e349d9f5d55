/* Folders of Whisper, multilingual and of English alone, become transcribers that give its log-probabilities,
   detect its languages, write what it writes, with its times, and become the same folders again.
   published/make_whisper.py says what transformers saves and gives. */
#include "check.h"
#include "scratch.h"

#include "hub/imported_pictures.h"
#include "model/encdec/encdec.h"
#include "nn/frames.h"
#include "task/transcribe/whisper/whisper.h"
#include "task/whisper_tokens.h"

enum { KINDS = 3, STRIDE = 11, WINDOW = 100, BINS = 12, LONG = 230 };

static bool multilingual; /* of the kind that was put last */

static void put_files(const char *folder)
{
    char line[LINE];
    line_to(at("%s/generation_config.json", folder), line);
    multilingual = strstr(line, "\"is_multilingual\": true");
    wt_put(folder, multilingual);
}

/* Positions matter more, as in the file: texts are less dull then. */
static void stretch(hd_tensor *t, const char *name)
{
    for (size_t i = 0; !strcmp(name, "model.decoder.embed_positions.weight") && i < hd_count_of(t); i++)
        ((float *)t->data)[i] *= 4;
}

static const float *sound_of(int frames)
{
    static float x[LONG * BINS];
    char name[32];
    snprintf(name, sizeof name, "sound.%d", frames);
    draw(x, (size_t)frames * BINS, name, 2, false);
    return x;
}

static hd_status read_sound(void *context, size_t first, size_t count, float *to, hd_err *err)
{
    (void)err;
    memcpy(to, (const float *)context + first * BINS, count * BINS * sizeof *to);
    return HD_OK;
}

static void check_rows(hd_run *r, const hd_encdec *m)
{
    int32_t target[32], to = next_ids(&e, target);
    const int32_t frames = WINDOW;
    hd_frames sent;
    hd_run_begin(r, HD_INFERENCE);
    hd_frames_send(r, &sent,
                   &(hd_frames_host){
                       .value = sound_of(WINDOW), .frames = &frames, .items = 1, .bins = BINS, .grid = true});
    hd_encoded memory = hd_encdec_encode(r, m, &(hd_items){.frames = &sent});
    hd_rows x =
        hd_encdec_decode(r, m, hd_ints(r, target, (size_t)to), hd_seg_of(r, &to, 1, NULL), memory, NULL);
    hd_real *logp = host_copy(r, hd_log_softmax(r, hd_encdec_logits(r, m, x)));
    check_logits(&e, logp, (size_t)to, m->opt.target_vocab, STRIDE);
    free(logp);
}

static hd_transcript hear(hd_whisper *w, hd_run *r, int frames, const hd_whisper_opt *o)
{
    hd_err err = {0};
    hd_transcript t;
    const hd_whisper_source from = {(size_t)frames, (size_t)frames, read_sound, (void *)sound_of(frames)};
    hd_transcript_init(&t);
    if (hd_whisper_transcribe(&t, w, r, &from, o, &err)) fail_msg("%s", err.text);
    return t;
}

/* The next line: a list of numbers, of which all segments have some each. */
static void check_tokens(const hd_transcript *t)
{
    size_t at = 0;
    next(&e);
    for (size_t i = 0; i < t->count; i++)
        for (size_t k = 0; k < t->segment[i].length; k++, at++) {
            if (at < (size_t)e.count && t->segment[i].ids[k] == (int32_t)e.value[at]) continue;
            fail_msg("token %zu of %d is %d, not %g", at, e.count, t->segment[i].ids[k], e.value[at]);
        }
    assert_int_equal(at, e.count);
}

static void check_times(const hd_transcript *t)
{
    size_t at = 0;
    next(&e);
    assert_int_equal(2 * t->count, e.count);
    for (size_t i = 0; i < t->count; i++) {
        assert_true(fabs(t->segment[i].begin - e.value[2 * i]) < 1e-5);
        assert_true(fabs(t->segment[i].end - e.value[2 * i + 1]) < 1e-5);
    }
    next(&e);
    for (size_t i = 0; i < t->count; i++)
        for (size_t k = 0; k < t->segment[i].length; k++, at++)
            if (!(fabs(t->segment[i].times[k] - e.value[at]) < 1e-5))
                fail_msg("token %zu is spoken at %g, not at %g", at, t->segment[i].times[k], e.value[at]);
    assert_int_equal(at, e.count);
}

static void check_texts(hd_whisper *w, hd_run *r)
{
    hd_whisper_opt o = {.language = multilingual ? "German" : NULL,
                        .least_logprob = -INFINITY,
                        .most_compression = INFINITY,
                        .most_no_speech = INFINITY,
                        .forgets = true};
    for (int beams = 1; beams <= 4; beams += 3) {
        o.beam = (size_t)beams;
        hd_transcript t = hear(w, r, WINDOW, &o);
        check_tokens(&t);
        hd_transcript_release(&t);
    }
    o.beam = 1, o.forgets = false, o.timestamps = o.words = true;
    hd_transcript t = hear(w, r, LONG, &o);
    check_tokens(&t);
    check_times(&t);
    hd_transcript_release(&t);
}

/* Thresholds that every text misses, and none. */
static void check_thresholds(hd_whisper *w, hd_run *r)
{
    hd_whisper_opt o = hd_whisper_opt_usual();
    static const struct {
        double logprob, compression, no_speech,
            temperature; /* that is left in the end; below 0: nothing is */
    } cases[] = {
        {-INFINITY, INFINITY, INFINITY, 0}, {1, INFINITY, INFINITY, 1},
        {-INFINITY, 0, INFINITY, 1},        {1, INFINITY, -1, -1},
        {-INFINITY, INFINITY, -1, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        o.least_logprob = cases[i].logprob, o.most_compression = cases[i].compression;
        o.most_no_speech = cases[i].no_speech, o.timestamps = true;
        hd_transcript t = hear(w, r, WINDOW, &o), again = hear(w, r, WINDOW, &o);
        assert_int_equal(t.count > 0, cases[i].temperature >= 0);
        assert_int_equal(t.count, again.count);
        for (size_t k = 0; k < t.count; k++) {
            assert_true(fabs(t.segment[k].temperature - cases[i].temperature) < 1e-6);
            assert_string_equal(t.segment[k].text, again.segment[k].text); /* draws are the same draws */
            assert_in_range(t.segment[k].no_speech * 1e6, 0, 1000000);
        }
        hd_transcript_release(&t);
        hd_transcript_release(&again);
    }
}

static void check_kind(const char *folder)
{
    hd_err err = {0};
    hd_model_folder m;
    hd_whisper w;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_whisper_opt o = {.least_logprob = -INFINITY, .most_compression = INFINITY, .most_no_speech = INFINITY};
    if (hd_model_folder_open(&m, at("%s", folder), "transcribe", b, HD_WEIGHTS_BEST, &err) ||
        hd_whisper_open(&w, hd_model_folder_encdec(&m), m.tokenizer[1], at("%s", folder), &err))
        fail_msg("%s", err.text);
    check_rows(&r, hd_model_folder_encdec(&m));
    int32_t id = (int32_t)next(&e)[0];
    hd_transcript t = hear(&w, &r, WINDOW, &o);
    const char *code = multilingual ? hd_whisper_language_code(&w.rules, id) : "en";
    assert_string_equal(t.language, code);
    assert_int_equal(t.detected, multilingual);
    hd_transcript_release(&t);
    check_texts(&w, &r);
    check_thresholds(&w, &r);
    hd_whisper_release(&w);
    hd_model_folder_release(&m);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void all_kinds_give_what_transformers_gives(void **state)
{
    (void)state;
    check_kinds("whisper", KINDS, check_kind);
}

static void what_is_exported_is_what_was_imported(void **state)
{
    (void)state;
    static const char *const files[] = {"vocab.json", "merges.txt", "added_tokens.json",
                                        "generation_config.json", NULL};
    check_rounds("whisper", KINDS, files);
}

static void refuse(const char *from, const char *to, const char *why)
{
    refuse_in("whisper", from, to, why);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    refuse("\"decoder_attention_heads\": 4", "\"decoder_attention_heads\": 2", "decoder_attention_heads");
    refuse("\"decoder_ffn_dim\": 40", "\"decoder_ffn_dim\": 41", "decoder_ffn_dim");
    refuse("\"num_mel_bins\": 12", "\"num_mel_bins\": 13", "feature_size");
    refuse("\"max_source_positions\": 50", "\"max_source_positions\": 51", "chunk_length");
    refuse("\"d_model\": 16", "\"d_model\": 18", "split over 4 heads");
    refuse("\"decoder_layers\": 2", "\"decoder_layers\": 4", "model.decoder.layers.2");
    refuse("\"vocab_size\": 326", "\"vocab_size\": 325", "vocab_size");
    refuse("\"vocab_size\": 326", "\"vocab_size\": 90000000", "");
    refuse("WhisperForConditionalGeneration", "WhisperForAudioClassification",
           "WhisperForConditionalGeneration");
}

/* generation_config.json is an index into everything. */
static void wrong_rules_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{\"suppress_tokens\": [1, 400]}", "suppress_tokens"},
        {"{\"suppress_tokens\": [-1]}", "suppress_tokens"},
        {"{\"begin_suppress_tokens\": 3}", "begin_suppress_tokens"},
        {"{\"alignment_heads\": [[2, 0]]}", "alignment_heads"},
        {"{\"alignment_heads\": [[0, 4]]}", "alignment_heads"},
        {"{\"alignment_heads\": [[0]]}", "alignment_heads"},
        {"{\"lang_to_id\": {\"<|en|>\": 4000}, \"is_multilingual\": true}", "lang_to_id"},
        {"{\"lang_to_id\": {\"en\": 4}, \"is_multilingual\": true}", "language"},
        {"{\"no_timestamps_token_id\": \"x\"}", "no_timestamps_token_id"},
        {"{\"max_length\": 0}", "max_length"},
        {"[]", "object"},
        {"{", "generation_config.json"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        char name[16];
        snprintf(name, sizeof name, "rules%zu", i);
        begin("whisper");
        put_kind(name);
        put_file(at("%s/generation_config.json", name), cases[i].text);
        assert_int_not_equal(pass(hd_import, name, "refused", &err), HD_OK);
        if (!strstr(err.text, cases[i].why)) fail_msg("'%s' does not say '%s'", err.text, cases[i].why);
    }
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    begin("whisper");
    check_memory(put_kind, "memory", "memory.heed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_give_what_transformers_gives),
        cmocka_unit_test(what_is_exported_is_what_was_imported),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(wrong_rules_are_refused),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    put_beside = put_files, draw_more = stretch;
    return cmocka_run_group_tests(tests, scratch_make, close_file);
}
