/* A tokenizer.json of T5 gives the ids of the SentencePiece model it was made of, comes back as it was, and
   is refused where it says what is not done here; a model file of XLM-R gives the ids that fairseq has for
   its pieces. */
#include "data/fixture.h"

#include "base/file/file.h"
#include "base/json.h"
#include "text/lines.h"
#include "text/sentencepiece/sentencepiece_view.h"
#include "text/tokenizer_find.h"
#include "text/unigram_model.h"

enum { LINES = 4000, SENTINELS = 100 };

#define CUT                                                                                     \
    "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"WhitespaceSplit\"}, {\"type\": " \
    "\"Metaspace\", \"replacement\": \"\xe2\x96\x81\", \"prepend_scheme\": \"always\", \"split\": true}]}"

/* As transformers 5 saves it: sentinels are pieces behind those of the model. */
static void put_whole(const hd_spm_view *v)
{
    hd_err err = {0};
    hd_text text = {0};
    hd_json_begin();
    json_t *root = json_object(), *vocab = json_array(), *added = json_array(), *model = json_object();
    for (size_t i = 0; i < v->count + SENTINELS; i++) {
        char name[32];
        bool own = i < v->count, special = !own || v->piece[i].type != HD_SPM_NORMAL;
        snprintf(name, sizeof name, "<extra_id_%zu>", v->count + SENTINELS - 1 - i);
        json_t *pair = json_array();
        hd_json_append(pair,
                       own ? json_stringn(v->piece[i].text.text, v->piece[i].text.size) : json_string(name));
        hd_json_append(pair, json_real(own ? (double)v->piece[i].score : 0));
        if (special)
            hd_json_append(added, json_pack("{s:i,s:O,s:b}", "id", (int)i, "content", json_array_get(pair, 0),
                                            "special", 1));
        hd_json_append(vocab, pair);
    }
    hd_json_set(model, "type", json_string("Unigram"));
    hd_json_set(model, "unk_id", json_integer(2));
    hd_json_set(model, "vocab", vocab);
    hd_json_set(root, "added_tokens", added);
    hd_json_set(root, "normalizer", json_null());
    hd_json_set(root, "pre_tokenizer", json_loads(CUT, 0, NULL));
    hd_json_set(root, "model", model);
    ASSERT_OK(hd_json_write(&text, root, JSON_REAL_PRECISION(17), &err), err);
    put_file("tokenizer.json", text.data, text.size);
    hd_text_release(&text);
}

static void ids_are_those_of_the_model(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_spm_view v;
    hd_tokenizer *whole = NULL, *parts = NULL;
    hd_text model = unigram_model(), line = {0};
    ASSERT_OK(hd_spm_view_read(&v, (hd_line){model.data, model.size}, &err), err);
    put_whole(&v);
    put_file("spiece.model", model.data, model.size);
    ASSERT_OK(hd_tokenizer_open(&parts, HD_TOKENIZER_t5, in_folder("spiece.model"), &err), err);
    assert_int_equal(unlink(in_folder("spiece.model")), 0);
    ASSERT_OK(hd_tokenizer_open_any(&whole, folder, false, &err), err);
    assert_int_equal(hd_tokenizer_kind_of(whole), HD_TOKENIZER_t5);
    assert_int_equal(hd_tokenizer_size(whole), hd_tokenizer_size(parts));
    hd_special a = hd_tokenizer_special(whole), b = hd_tokenizer_special(parts);
    assert_memory_equal(&a, &b, sizeof a);
    uint64_t seed = 11;
    for (int i = 0; i < LINES; i++) {
        hd_pieces p[2] = {{0}, {0}};
        hd_text back[2] = {{0}, {0}};
        line_next(&line, &seed);
        for (int k = 0; k < 2; k++) {
            hd_ids ids = {0};
            const hd_tokenizer *t = k ? parts : whole;
            ASSERT_OK(hd_tokenizer_encode(t, line.data, line.size, &p[k], &err), err);
            ASSERT_OK(hd_tokenizer_encode_ids(t, line.data, line.size, &ids, &err), err);
            ASSERT_OK(hd_tokenizer_decode(t, ids.at, ids.count, &back[k], &err), err);
            hd_ids_release(&ids);
        }
        assert_int_equal(p[0].count, p[1].count);
        if (p[0].count) assert_memory_equal(p[0].at, p[1].at, p[0].count * sizeof *p[0].at);
        assert_int_equal(back[0].size, back[1].size);
        if (back[0].size) assert_memory_equal(back[0].data, back[1].data, back[0].size);
        for (int k = 0; k < 2; k++) hd_pieces_release(&p[k]), hd_text_release(&back[k]);
    }
    assert_int_equal(hd_tokenizer_id(whole, "<extra_id_0>"), hd_tokenizer_size(parts) - 1);
    hd_tokenizer_free(whole);
    hd_tokenizer_free(parts);
    hd_spm_view_release(&v);
    hd_text_release(&model);
    hd_text_release(&line);
}

static void it_comes_back_as_it_was(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    hd_map before = {0}, after = {0};
    ASSERT_OK(hd_tokenizer_open_any(&t, folder, false, &err), err);
    ASSERT_OK(hd_map_open(&before, in_folder("tokenizer.json"), &err), err);
    put_file("target.spiece.model", "old", 3);
    ASSERT_OK(hd_tokenizer_save(t, in_folder("target.spiece.model"), &err), err);
    ASSERT_OK(hd_map_open(&after, in_folder("target.tokenizer.json"), &err), err);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.data, after.data, after.size);
    assert_int_equal(access(in_folder("target.spiece.model"), F_OK), -1);
    hd_tokenizer_free(t);
    t = NULL;
    ASSERT_OK(hd_tokenizer_open(&t, HD_TOKENIZER_t5, in_folder("target.spiece.model"), &err), err);
    hd_tokenizer_free(t);
    hd_map_close(&before);
    hd_map_close(&after);
}

static void check_frame(const hd_tokenizer *t)
{
    hd_err err = {0};
    hd_pieces p = {0};
    const hd_line second = {"on <mask>", 9};
    ASSERT_OK(hd_tokenizer_encode_framed(t, (hd_line){"the", 3}, &second, &p, &err), err);
    const int32_t mask = (int32_t)hd_tokenizer_size(t) - 1, ends[] = {0, 2, 2, mask, 2};
    size_t found = 0;
    for (size_t i = 0; i < p.count; i++) {
        assert_int_equal(p.at[i].type, 0);
        if (p.at[i].id < 3 || p.at[i].id == mask) assert_int_equal(p.at[i].id, ends[found]), found++;
    }
    assert_int_equal(found, COUNT_OF(ends));
    hd_pieces_release(&p);
}

static void ids_of_fairseq_are_one_further(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_spm_view v;
    hd_tokenizer *t = NULL, *parts = NULL;
    hd_text model = unigram_model(), line = {0};
    uint64_t seed = 12;
    ASSERT_OK(hd_spm_view_read(&v, (hd_line){model.data, model.size}, &err), err);
    hd_text fairseq = unigram_pieces(true);
    put_file("sentencepiece.bpe.model", fairseq.data, fairseq.size);
    hd_text_release(&fairseq);
    put_file("spiece.model", model.data, model.size);
    ASSERT_OK(hd_tokenizer_open(&parts, HD_TOKENIZER_t5, in_folder("spiece.model"), &err), err);
    ASSERT_OK(hd_tokenizer_open_any(&t, in_folder("sentencepiece.bpe.model"), false, &err), err);
    hd_special special = hd_tokenizer_special(t);
    assert_int_equal(hd_tokenizer_size(t), v.count + 2);
    assert_int_equal(special.start, 0);
    assert_int_equal(special.pad, 1);
    assert_int_equal(special.end, 2);
    assert_int_equal(special.unk, 3);
    assert_int_equal(special.mask, v.count + 1);
    for (int i = 0; i < LINES; i++) {
        hd_ids a = {0}, b = {0};
        line_next(&line, &seed);
        if (memchr(line.data ? line.data : "", '<', line.size)) continue;
        ASSERT_OK(hd_tokenizer_encode_ids(t, line.data, line.size, &a, &err), err);
        ASSERT_OK(hd_tokenizer_encode_ids(parts, line.data, line.size, &b, &err), err);
        assert_int_equal(a.count, b.count);
        for (size_t k = 0; k < a.count; k++) assert_int_equal(a.at[k], b.at[k] + 1);
        hd_ids_release(&a), hd_ids_release(&b);
    }
    check_frame(t);
    ASSERT_OK(hd_tokenizer_save(t, in_folder("source.spiece.model"), &err), err);
    hd_tokenizer_free(t);
    t = NULL;
    ASSERT_OK(hd_tokenizer_open(&t, HD_TOKENIZER_t5, in_folder("source.spiece.model"), &err), err);
    assert_int_equal(hd_tokenizer_size(t), v.count + 2);
    hd_tokenizer_free(t), hd_tokenizer_free(parts);
    put_file("sentencepiece.bpe.model", model.data, model.size);
    assert_int_equal(hd_tokenizer_open_any(&t, in_folder("sentencepiece.bpe.model"), false, &err),
                     HD_EFORMAT);
    assert_non_null(strstr(err.text, "not a model of XLM-R"));
    hd_spm_view_release(&v);
    hd_text_release(&model), hd_text_release(&line);
}

static void what_is_not_known_is_refused(void **state)
{
    (void)state;
#define VOCAB "[[\"<pad>\", 0], [\"</s>\", 0], [\"<unk>\", 0], [\"a\", -1]]"
#define MODEL "{\"type\": \"Unigram\", \"unk_id\": 2, \"vocab\": " VOCAB "}"
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"{\"pre_tokenizer\": " CUT ", \"normalizer\": {\"type\": \"NFKC\"}, \"model\": " MODEL "}",
         "normalizer \"NFKC\" of tokenizer.json is not known"},
        {"{\"pre_tokenizer\": " CUT ", \"normalizer\": {\"type\": \"Precompiled\"}, \"model\": " MODEL "}",
         "has no \"precompiled_charsmap\""},
        {"{\"pre_tokenizer\": " CUT
         ", \"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"!\"}, "
         "\"model\": " MODEL "}",
         "is not base64"},
        {"{\"pre_tokenizer\": " CUT
         ", \"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"AAEAAAAA\"}, "
         "\"model\": " MODEL "}",
         "normalization table"},
        {"{\"model\": " MODEL "}", "no pre_tokenizer"},
        {"{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"model\": " MODEL "}",
         "pre_tokenizer \"ByteLevel\" of tokenizer.json is not known"},
        {"{\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"_\"}, \"model\": " MODEL "}",
         "with U+2581 before every word only"},
        {"{\"pre_tokenizer\": " CUT ", \"model\": {\"type\": \"Unigram\", \"unk_id\": 9, \"vocab\": " VOCAB
         "}}",
         "\"unk_id\" is no piece"},
        {"{\"pre_tokenizer\": " CUT
         ", \"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[1, 2]]}}",
         "piece 0 is not a text and a score"},
        {"{\"pre_tokenizer\": " CUT
         ", \"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"a\", -1e300]]}}",
         "the score of piece 0 is too large"},
        {"{\"pre_tokenizer\": " CUT
         ", \"model\": {\"type\": \"Unigram\", \"unk_id\": 2, \"byte_fallback\": true, "
         "\"vocab\": " VOCAB "}}",
         "\"byte_fallback\" of the model Unigram"},
        {"{\"pre_tokenizer\": " CUT ", \"added_tokens\": [{\"id\": 3, \"content\": \"b\"}], \"model\": " MODEL
         "}",
         "'b' is not the piece of its id"},
        {"{\"pre_tokenizer\": " CUT
         ", \"added_tokens\": [{\"id\": 99, \"content\": \"b\"}], \"model\": " MODEL "}",
         "'b' is not the piece of its id"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hd_tokenizer *t = NULL;
        hd_err err = {0};
        put_file("tokenizer.json", bad[i].text, strlen(bad[i].text));
        hd_tokenizer_open_any(&t, in_folder("tokenizer.json"), false, &err);
        assert_null(t);
        assert_error(&err, HD_EFORMAT, bad[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_those_of_the_model),
        cmocka_unit_test(it_comes_back_as_it_was),
        cmocka_unit_test(ids_of_fairseq_are_one_further),
        cmocka_unit_test(what_is_not_known_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
