/* A Llama's folder with a tokenizer.model alone: it is cut as the SentencePiece library cuts, begins with a
   start, and knows the tokens that were added to it. */
#include "check.h"
#include "scratch.h"

#include "hub/decoders.h"
#include "text/tokenizer_find.h"

enum { LETTERS = 9, ALL = 420, DEFINED = 260, LINES = 4000 };

/* -- a model file -- */

static void put_number(hd_text *to, unsigned n)
{
    for (; n > 127; n >>= 7) hd_text_add(to, &(char){(char)(n | 128)}, 1);
    hd_text_add(to, &(char){(char)n}, 1);
}

static void put_field(hd_text *to, int field, const char *bytes, size_t size)
{
    put_number(to, (unsigned)field << 3 | 2);
    put_number(to, (unsigned)size);
    hd_text_add(to, bytes, size);
}

static void put_value(hd_text *to, int field, unsigned value)
{
    put_number(to, (unsigned)field << 3);
    put_number(to, value);
}

static void put_piece(hd_text *to, const char *text, float score, unsigned type)
{
    hd_text one = {0};
    put_field(&one, 1, text, strlen(text));
    put_number(&one, 2 << 3 | 5);
    hd_text_add(&one, (const char *)&score, sizeof score);
    put_value(&one, 3, type);
    put_field(to, 1, one.data, one.size);
    hd_text_release(&one);
}

static const char *const letters[LETTERS] = {"\xe2\x96\x81", "a", "b", "c", "d", "e", "<", "s", ">"};

/* <unk>, <s>, </s>, 256 bytes, one piece that its user may have defined, letters and pieces of two others. */
static void put_model(const char *path, bool tidy, bool defined)
{
    hd_text all = {0}, part = {0};
    char made[ALL][64];
    int count = 0;
    put_piece(&all, "<unk>", 0, 2), put_piece(&all, "<s>", 0, 3), put_piece(&all, "</s>", 0, 3);
    for (unsigned b = 0; b < 256; b++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", b);
        put_piece(&all, name, 0, 6);
    }
    put_piece(&all, "\xe2\x96\x81\xe2\x96\x81\xe2\x96\x81", -1000, defined ? 4 : 1);
    for (; count < LETTERS; count++) strcpy(made[count], letters[count]);
    for (uint32_t seed = 1; count + DEFINED < ALL;) {
        seed = seed * 1664525 + 1013904223;
        int left = (int)(seed >> 8) % count, right = (int)(seed >> 20) % count, same = 0;
        char joint[64];
        snprintf(joint, sizeof joint, "%.20s%.20s", made[left], made[right]);
        strcpy(made[count], joint);
        while (strcmp(made[same], made[count])) same++;
        count += same == count && strlen(made[count]) < 20 && !strstr(made[count], "<s>");
    }
    for (int i = LETTERS; i < count; i++) put_piece(&all, made[i], (float)-i, 1);
    for (int i = 0; i < LETTERS; i++) put_piece(&all, made[i], (float)-count - (float)i, 1);
    put_value(&part, 3, 2), put_value(&part, 35, 1);
    put_field(&all, 2, part.data, part.size);
    part.size = 0;
    put_field(&part, 1, "identity", 8);
    put_value(&part, 3, 1), put_value(&part, 4, tidy), put_value(&part, 5, 1);
    put_field(&all, 3, part.data, part.size);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(all.data, 1, all.size, f), all.size);
    fclose(f);
    hd_text_release(&all), hd_text_release(&part);
}

static void put_folder(const char *name, bool tidy, bool defined)
{
    put_decoder(&shapes[0], name);
    assert_int_equal(unlink(at("%s/tokenizer.json", name)), 0);
    put_model(at("%s/tokenizer.model", name), tidy, defined);
}

static hd_tokenizer *opened(const char *path)
{
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    if (hd_tokenizer_open_any(&t, path, false, &err)) fail_msg("%s", err.text);
    return t;
}

/* -- tests -- */

static void texts_are_cut_as_the_library_cuts(void **state)
{
    (void)state;
    static const char *const parts[] = {"a", "b", "c", "d",    "e",        " ",  "  ",    "    ",
                                        "<", ">", "s", "0x0A", "\xc3\xa9", "\t", "<unk>", "ab cd"};
    put_folder("pieces", false, false);
    pass_well(hd_import, "pieces", "pieces.heed");
    hd_tokenizer *library = opened(at("pieces/tokenizer.model")), *made = opened(at("pieces.heed"));
    assert_int_equal(hd_tokenizer_kind_of(library), HD_TOKENIZER_sentencepiece);
    assert_int_equal(hd_tokenizer_kind_of(made), HD_TOKENIZER_bpe);
    uint32_t seed = 7;
    for (int i = 0; i < LINES; i++) {
        hd_text line = {0};
        hd_err err = {0};
        hd_ids want = {0}, got = {0};
        for (int k = i % 40; k >= 0; k--) {
            seed = seed * 1664525 + 1013904223;
            hd_text_put(&line, parts[(seed >> 16) % COUNT_OF(parts)]);
        }
        if (!strstr(line.data, "<s>")) { /* which is a token there, and a text to the library */
            if (hd_tokenizer_encode_ids(library, line.data, line.size, &want, &err)) fail_msg("%s", err.text);
            if (hd_tokenizer_encode_ids(made, line.data, line.size, &got, &err)) fail_msg("%s", err.text);
            if (want.count != got.count || memcmp(want.at, got.at, want.count * sizeof *want.at))
                fail_msg("'%s' is cut otherwise", line.data);
        }
        hd_ids_release(&want), hd_ids_release(&got), hd_text_release(&line);
    }
    assert_int_equal(hd_tokenizer_lead(made), 1);
    assert_int_equal(hd_tokenizer_special(made).end, 2);
    hd_tokenizer_free(library), hd_tokenizer_free(made);
}

static void added_tokens_come_along(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_ids ids = {0};
    put_folder("added", false, false);
    char config[400];
    snprintf(config, sizeof config,
             "{\"add_bos_token\": false, \"eos_token\": \"<|end|>\", \"added_tokens_decoder\": {\"%d\": "
             "{\"content\": "
             "\"<|end|>\", \"special\": true, \"normalized\": false, \"lstrip\": false, \"rstrip\": false, "
             "\"single_word\": false}}}",
             ALL);
    put_file(at("added/tokenizer_config.json"), config);
    pass_well(hd_import, "added", "added.heed");
    hd_tokenizer *t = opened(at("added.heed"));
    assert_int_equal(hd_tokenizer_size(t), ALL + 1);
    assert_int_equal(hd_tokenizer_special(t).end, ALL);
    assert_int_equal(hd_tokenizer_lead(t), -1);
    if (hd_tokenizer_encode_ids(t, "a<|end|>", 8, &ids, &err)) fail_msg("%s", err.text);
    assert_int_equal(ids.at[ids.count - 1], ALL);
    hd_ids_release(&ids);
    hd_tokenizer_free(t);
}

static void what_has_no_tokenizer_json_says_so(void **state)
{
    (void)state;
    static const char *const messages[] = {"pieces of spaces", "pieces of spaces", "tokenizer.model"};
    for (int i = 0; i < 3; i++) {
        hd_err err = {0};
        char from[16];
        snprintf(from, sizeof from, "other%d", i);
        put_folder(from, i == 0, i == 1);
        if (i == 2) put_file(at("%s/tokenizer.model", from), "no model");
        assert_int_not_equal(pass(hd_import, from, "bad.heed", &err), HD_OK);
        if (!strstr(err.text, messages[i])) fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_cut_as_the_library_cuts),
        cmocka_unit_test(added_tokens_come_along),
        cmocka_unit_test(what_has_no_tokenizer_json_says_so),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
