/* What is written for transformers: tokenizer.json gives the ids of the tokenizer it was made of. The tests
   know the file, by a digest, and what Hugging Face's tokenizers 0.23.3 made of 12,000 lines with it; both
   come from published/make.py --written FOLDER, where FOLDER is what this program wrote when called with it.
 */
#include "data/fixture.h"

#include <sys/stat.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/json.h"
#include "text/lines.h"
#include "text/sentencepiece/sentencepiece_view.h"
#include "text/published/tokenizer_json_write.h"
#include "text/unigram_model.h"

enum { LINES = 12000 };

static const uint64_t seed = 20261115, digest_start = 0xcbf29ce484222325u;

static void digest_byte(uint64_t *d, uint8_t byte)
{
    *d = (*d ^ byte) * 0x100000001b3u;
}

static void digest_add(uint64_t *d, uint32_t number)
{
    for (int i = 0; i < 32; i += 8) digest_byte(d, (uint8_t)(number >> i));
}

/* -- tokenizers -- */

static const char *lists_of(bool characters)
{
    static const char words[] =
        "<pad>\n<unk>\n<s>\n</s>\nthe\ncat\nsat\non\nmat\nwalking\nunbelievable\ndon't\n"
        "we'll\nI'm\nit's\ns\ne-mail\nStraße\nnaïve\nhello\nworld\n2026\n3\n14\n.\n,\n"
        "'\n-\n<\n>\n/\n|\n[\n]\nMASK\nSEP\npad\n☀\n";
    static const char letters[] =
        "<pad>\n<unk>\n<s>\n</s>\n\\x20\na\nb\nc\nd\ne\nf\ng\nh\ni\nm\nn\no\nr\ns\nt\nu\n"
        "ß\nï\n<\n>\n|\n[\n\\x0a\n\\x09\n\xcc\x81\n가\n😀\n";
    return characters ? letters : words;
}

/* The pieces of a model with scores as byte-pair encoding has them, no two the same. */
static hd_text ranked(hd_text model)
{
    hd_spm_view v;
    hd_err err = {0};
    hd_text out = {0};
    ASSERT_OK(hd_spm_view_read(&v, (hd_line){model.data, model.size}, &err), err);
    for (size_t i = 0; i < v.count; i++) {
        hd_text piece = {0};
        float score = -(float)i;
        unigram_field(&piece, 1,
                      &(hd_text){.data = (char *)v.piece[i].text.text, .size = v.piece[i].text.size});
        unigram_varint(&piece, 2 << 3 | 5);
        hd_text_add(&piece, (const char *)&score, sizeof score);
        unigram_varint(&piece, 3 << 3), unigram_varint(&piece, v.piece[i].type);
        unigram_field(&out, 1, &piece);
        hd_text_release(&piece);
    }
    unigram_settings(&out);
    hd_spm_view_release(&v);
    hd_text_release(&model);
    return out;
}

/* A SentencePiece model: that of unigram_model.h, with pieces for all bytes, and as byte-pair encoding. */
static hd_text spm_model(bool bytes, bool bpe)
{
    hd_text model = unigram_model(), trainer = {0};
    if (bpe) model = ranked(model);
    for (int i = 0; bytes && i < 256; i++) {
        hd_text piece = {0};
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)i);
        unigram_string(&piece, 1, name);
        unigram_varint(&piece, 3 << 3), unigram_varint(&piece, 6);
        unigram_field(&model, 1, &piece);
        hd_text_release(&piece);
    }
    unigram_varint(&trainer, 3 << 3), unigram_varint(&trainer, bpe ? 2 : 1);
    unigram_varint(&trainer, 35 << 3), unigram_varint(&trainer, bytes);
    unigram_field(&model, 2, &trainer);
    hd_text_release(&trainer);
    return model;
}

typedef enum sample { WORDS, CHARACTERS, UNIGRAM, UNIGRAM_BYTES, BPE_BYTES, SAMPLES } sample;

static const char *const sample_name[] = {"words", "characters", "unigram", "unigram-bytes", "bpe-bytes"};

static hd_tokenizer *tokenizer_of(sample which)
{
    hd_tokenizer *t = NULL;
    hd_err err = {0};
    const char *path = in_folder("tokenizer");
    if (which <= CHARACTERS) {
        put_file("tokenizer", lists_of(which == CHARACTERS), strlen(lists_of(which == CHARACTERS)));
    } else {
        hd_text model = spm_model(which >= UNIGRAM_BYTES, which == BPE_BYTES);
        put_file("tokenizer", model.data, model.size);
        hd_text_release(&model);
    }
    hd_tokenizer_kind kind = which == WORDS        ? HD_TOKENIZER_words
                             : which == CHARACTERS ? HD_TOKENIZER_characters
                                                   : HD_TOKENIZER_sentencepiece;
    ASSERT_OK(hd_tokenizer_open(&t, kind, path, &err), err);
    return t;
}

static const hd_text_form bert = {
    .native = HD_TOKENIZER_wordpiece, .lead = 0, .trail = 1, .mask = "[MASK]", .types = true, .longest = 77};
static const hd_text_form gpt = {.native = HD_TOKENIZER_bpe, .lead = 1, .trail = -1, .continues = true};

/* -- the same ids -- */

static uint64_t digest_of_ids(const hd_tokenizer *t)
{
    uint64_t d = digest_start, s = seed;
    hd_text line = {0};
    hd_ids ids = {0};
    hd_err err = {0};
    for (int i = 0; i < LINES; i++) {
        line_next(&line, &s);
        ids.count = 0;
        ASSERT_OK(hd_tokenizer_encode_ids(t, line.data, line.size, &ids, &err), err);
        digest_add(&d, (uint32_t)ids.count);
        for (size_t k = 0; k < ids.count; k++) digest_add(&d, (uint32_t)ids.at[k]);
    }
    hd_ids_release(&ids);
    hd_text_release(&line);
    return d;
}

static uint64_t digest_of_file(const char *path)
{
    hd_map map = {0};
    hd_err err = {0};
    uint64_t d = digest_start;
    ASSERT_OK(hd_map_open(&map, path, &err), err);
    for (size_t i = 0; i < map.size; i++) digest_byte(&d, map.data[i]);
    hd_map_close(&map);
    return d;
}

static void ids_are_those_of_tokenizers(void **state)
{
    (void)state;
    static const struct {
        uint64_t file, ids;
    } wanted[SAMPLES] = {
        {0x14d5a724163a99f3u, 0x40f1d74e2eb276d5u}, /* words */
        {0xaf702c18a3a0c054u, 0x51c71ae54d53a0f6u}, /* characters */
        {0x522500173b8d1f37u, 0xdf0b84388d851706u}, /* unigram */
        {0x71eb0f198a9d27b3u, 0x0913004d1011b538u}, /* unigram-bytes */
        {0x3e73229c68558f5fu, 0x0065aefed6ad3051u}, /* bpe-bytes */
    };
    for (sample which = 0; which < SAMPLES; which++) {
        hd_err err = {0};
        hd_tokenizer *t = tokenizer_of(which);
        ASSERT_OK(hd_tokenizer_json_save(t, &gpt, folder, &err), err);
        uint64_t file = digest_of_file(in_folder("tokenizer.json")), ids = digest_of_ids(t);
        hd_tokenizer_free(t);
        if (file != wanted[which].file)
            fail_msg("%s: tokenizer.json is not the one that was checked: 0x%016llx", sample_name[which],
                     (unsigned long long)file);
        if (ids != wanted[which].ids) fail_msg("%s: the ids differ", sample_name[which]);
    }
}

/* -- what stands beside -- */

typedef struct opened {
    hd_arena arena;
    json_t *root;
} opened;

static opened read_json(const char *name)
{
    opened o = {.root = NULL};
    hd_err err = {0};
    hd_arena_init(&o.arena, hd_allocator_host, 0);
    ASSERT_OK(hd_json_read(&o.root, &o.arena, in_folder(name), 1 << 24, &err), err);
    return o;
}

static void has_text(const opened *o, const char *key, const char *value)
{
    const char *text = json_string_value(json_object_get(o->root, key));
    if (!value ? text != NULL : !text || strcmp(text, value))
        fail_msg("%s is %s", key, text ? text : "absent");
}

static void the_config_names_the_tokens(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_tokenizer *t = tokenizer_of(WORDS);
    ASSERT_OK(hd_tokenizer_json_save(t, &bert, folder, &err), err);
    opened c = read_json("tokenizer_config.json"), j = read_json("tokenizer.json");
    has_text(&c, "tokenizer_class", "PreTrainedTokenizerFast");
    has_text(&c, "pad_token", "<pad>");
    has_text(&c, "unk_token", "<unk>");
    has_text(&c, "cls_token", "<pad>"); /* the lead of this form */
    has_text(&c, "sep_token", "<unk>");
    has_text(&c, "mask_token", "[MASK]");
    assert_int_equal(json_integer_value(json_object_get(c.root, "model_max_length")), 77);
    assert_true(json_is_false(json_object_get(c.root, "split_special_tokens")));
    assert_int_equal(json_array_size(json_object_get(c.root, "model_input_names")), 3);
    const json_t *added = json_object_get(j.root, "added_tokens"), *mask = json_array_get(added, 4);
    assert_int_equal(json_array_size(added), 5);
    assert_int_equal(json_integer_value(json_object_get(mask, "id")), hd_tokenizer_size(t));
    assert_string_equal(json_string_value(json_object_get(mask, "content")), "[MASK]");
    const json_t *pair = json_object_get(json_object_get(j.root, "post_processor"), "pair");
    assert_int_equal(json_array_size(pair), 5); /* lead A trail B trail */
    const json_t *last = json_object_get(json_array_get(pair, 4), "SpecialToken");
    assert_int_equal(json_integer_value(json_object_get(last, "type_id")), 1);
    hd_arena_release(&c.arena);
    hd_arena_release(&j.arena);

    ASSERT_OK(hd_tokenizer_json_save(t, &gpt, folder, &err), err);
    c = read_json("tokenizer_config.json");
    has_text(&c, "bos_token", "<unk>");
    has_text(&c, "mask_token", NULL);
    has_text(&c, "cls_token", NULL);
    assert_true(json_is_true(json_object_get(c.root, "split_special_tokens")));
    assert_int_equal(json_array_size(json_object_get(c.root, "model_input_names")), 2);
    hd_arena_release(&c.arena);
    hd_tokenizer_free(t);
}

static void native_files_are_left_alone(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_tokenizer *t = tokenizer_of(WORDS);
    unlink(in_folder("tokenizer.json"));
    const hd_text_form words = {.native = HD_TOKENIZER_words, .lead = -1, .trail = -1};
    ASSERT_OK(hd_tokenizer_json_save(t, &words, folder, &err), err);
    assert_int_equal(access(in_folder("tokenizer.json"), F_OK), -1);
    hd_tokenizer_free(t);
}

/* With the normalization that models learned here have. */
static bool one_line(void *context, hd_line *line)
{
    static const char text[] = "a cat sat on a mat";
    *line = (hd_line){text, strlen(text)};
    return ++*(int *)context < 50;
}

static void models_learned_here_compose_characters(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    ASSERT_OK(hd_tokenizer_train(&t, HD_TOKENIZER_sentencepiece, (hd_feed){one_line, &(int){0}},
                                 &(hd_tokenizer_opt){.vocab = 275}, &err),
              err);
    ASSERT_OK(hd_tokenizer_json_save(t, &gpt, folder, &err), err);
    opened j = read_json("tokenizer.json");
    const json_t *steps = json_object_get(json_object_get(j.root, "normalizer"), "normalizers");
    static const char *const wanted[] = {"Replace", "Replace", "NFKC",    "Replace", "Replace", "Precompiled",
                                         "Replace", "Replace", "Prepend", "Replace", "Replace"};
    assert_int_equal(json_array_size(steps), COUNT_OF(wanted));
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(steps, i), "type")), wanted[i]);
    assert_true(json_string_length(json_object_get(json_array_get(steps, 5), "precompiled_charsmap")) >
                100000);
    hd_arena_release(&j.arena);
    hd_tokenizer_free(t);
}

static void what_cannot_be_written_is_refused(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    hd_text model = spm_model(false, true), piece = {0};
    unigram_string(&piece, 1, (char[]){"symbol"});
    unigram_varint(&piece, 3 << 3), unigram_varint(&piece, 4);
    unigram_field(&model, 1, &piece);
    put_file("tokenizer", model.data, model.size);
    ASSERT_OK(hd_tokenizer_open(&t, HD_TOKENIZER_sentencepiece, in_folder("tokenizer"), &err), err);
    hd_tokenizer_json_save(t, &gpt, folder, &err);
    assert_error(&err, HD_EARG, "pieces its user defined");
    hd_tokenizer_free(t);
    hd_text_release(&piece);
    hd_text_release(&model);
}

/* For published/make.py: a folder for each. */
static int write_samples(const char *to)
{
    for (sample which = 0; which < SAMPLES; which++) {
        char path[512];
        hd_err err = {0};
        snprintf(path, sizeof path, "%s/%s", to, sample_name[which]);
        hd_tokenizer *t = tokenizer_of(which);
        if (hd_folder_make(path, NULL, &err) || hd_tokenizer_json_save(t, &gpt, path, &err))
            return fprintf(stderr, "%s\n", err.text), 1;
        hd_tokenizer_free(t);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_those_of_tokenizers),
        cmocka_unit_test(the_config_names_the_tokens),
        cmocka_unit_test(native_files_are_left_alone),
        cmocka_unit_test(models_learned_here_compose_characters),
        cmocka_unit_test(what_cannot_be_written_is_refused),
    };
    if (argc > 1) return make_folder(NULL) || write_samples(argv[1]) || remove_folder(NULL);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
