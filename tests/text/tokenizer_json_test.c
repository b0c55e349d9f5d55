/* Files of published tokenizers that are refused: with their name, the reason, and for lists the line. */
#include "data/fixture.h"
#include "text/published/bert_text.h"
#include "text/published/bpe/byte_level.h"
#include "text/character.h"

/* {"each byte": 0..255, then what is given} */
static const char *byte_vocab(const char *more)
{
    static char text[16384];
    size_t size = (size_t)snprintf(text, sizeof text, "{");
    for (int i = 0; i < 256; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s\"\\u%04x\": %d", i ? ", " : "",
                                 (unsigned)hd_byte_character((uint8_t)i), i);
    snprintf(text + size, sizeof text - size, "%s}", more);
    return text;
}

#define END ", \"<|endoftext|>\": 256"

static const char *whole_bpe(const char *parts, const char *model)
{
    static char text[32768];
    snprintf(text, sizeof text,
             "{\"added_tokens\": [], \"pre_tokenizer\": {\"type\": \"ByteLevel\"}%s, \"model\": {\"type\": "
             "\"BPE\", \"vocab\": %s, %s}}",
             parts, byte_vocab(END ", \"ab\": 257"), model);
    return text;
}

static void refused(hd_tokenizer_kind kind, const char *name, hd_status status, const char *message)
{
    hd_tokenizer *t = NULL;
    hd_err err = {0};
    hd_tokenizer_open(&t, kind, in_folder(name), &err);
    assert_error(&err, status, message);
    assert_non_null(strstr(err.text, folder));
    assert_null(t);
}

static void parts_that_are_not_known_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *parts, *model, *message;
    } cases[] = {
        {", \"normalizer\": {\"type\": \"NFKC\"}", "\"merges\": []",
         "normalizer \"NFKC\" of tokenizer.json is not known"},
        {", \"post_processor\": {\"type\": \"Odd\"}", "\"merges\": []",
         "post_processor \"Odd\" of tokenizer.json is not known"},
        {", \"post_processor\": {\"type\": \"Sequence\", \"processors\": [{\"type\": \"Odd\"}]}",
         "\"merges\": []", "post_processor \"Odd\" of tokenizer.json is not known"},
        {", \"post_processor\": {\"type\": \"BertProcessing\", \"cls\": [\"a\", 999], \"sep\": [\"a\", 1]}",
         "\"merges\": []", "an id is not in the vocabulary"},
        {"", "\"merges\": [], \"dropout\": 0.1", "\"dropout\" of the model BPE is not known"},
        {"", "\"merges\": [], \"ignore_merges\": 1", "\"ignore_merges\" is not true or false"},
        {"", "\"merges\": {}", "no list of merges"},
        {"", "\"merges\": [\"a\"]", "tokenizer.json:1: not a merge"},
        {"", "\"merges\": [[\"a\", \"b\"], [\"a\"]]", "merge 2 is not two pieces"},
        {"", "\"merges\": [\"a b\", \"a b\"]", "tokenizer.json:2: the merge is there twice"},
        {"", "\"merges\": [\"a zz\"]", "tokenizer.json:1: a merge names 'zz', which is not a token"},
        {"", "\"merges\": [\"b a\"]", "a merge names 'ba', which is not a token"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        put_text("tokenizer.json", whole_bpe(cases[i].parts, cases[i].model));
        refused(HD_TOKENIZER_bpe, "tokenizer.json", HD_EFORMAT, cases[i].message);
    }
    char *odd = strdup(whole_bpe("", "\"merges\": []")), *list = strstr(odd, "[]");
    memcpy(list, "17", 2);
    put_text("tokenizer.json", odd);
    refused(HD_TOKENIZER_bpe, "tokenizer.json", HD_EFORMAT, "\"added_tokens\" is not a list of tokens");
    free(odd);
    put_text("tokenizer.json", "{\"pre_tokenizer\": {\"type\": \"Odd\"}, \"model\": {\"type\": \"BPE\"}}");
    refused(HD_TOKENIZER_bpe, "tokenizer.json", HD_EFORMAT, "pre_tokenizer \"Odd\" of tokenizer.json is not");
    put_text("tokenizer.json",
             "{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"[a-z]+\"}},"
             " \"model\": {\"type\": \"BPE\"}}");
    refused(HD_TOKENIZER_bpe, "tokenizer.json", HD_EFORMAT, "the split pattern \"[a-z]+\" is not known");
    refused(HD_TOKENIZER_wordpiece, "tokenizer.json", HD_EFORMAT, "model \"BPE\" of tokenizer.json is not");
    hd_tokenizer *t = NULL;
    hd_err err = {0};
    put_text("tokenizer.json", whole_bpe("", "\"merges\": [\"a b\"]"));
    ASSERT_OK(hd_tokenizer_open(&t, HD_TOKENIZER_bpe, in_folder("tokenizer.json"), &err), err);
    hd_tokenizer_free(t);
}

static void vocabularies_must_be_dense_and_whole(void **state)
{
    (void)state;
    static const struct {
        const char *more, *message;
    } cases[] = {
        {", \"<|endoftext|>\": 255", "have the same id 255"},
        {", \"<|endoftext|>\": 257", "the id 257 of '<|endoftext|>' is not among those of 257 pieces"},
        {", \"<|endoftext|>\": -1", "the id -1 of"},
        {", \"<|endoftext|>\": 99999999999999", "the id 99999999999999 of"},
        {", \"<|endoftext|>\": 256.5", "the id of '<|endoftext|>' is not a whole number"},
        {", \"<|endoftext|>\": \"256\"", "is not a whole number"},
        {", \"<|endoftext|>\": 256, \"<|endoftext|>\": 257", "vocab.json:1: duplicate object key"},
        {", \"x\": 256", "vocab.json:1: duplicate object key"},
        {"", "no end token: one of </s>, [SEP] and <|endoftext|> is expected"},
        {END ", \"z", "vocab.json:1: "},
        {END ", \"\\u0000\": 257", "vocab.json:1: NUL byte in object key"},
        {END ", \"\\ud800\": 257", "vocab.json:1: invalid Unicode"},
        {END ", \"\xff\": 257", "vocab.json:1: not UTF-8: convert the file"},
    };
    put_text("merges.txt", "");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        put_text("vocab.json", byte_vocab(cases[i].more));
        refused(HD_TOKENIZER_bpe, "vocab.json", HD_EFORMAT, cases[i].message);
    }
    put_text("vocab.json", "{\"<|endoftext|>\": 0}");
    refused(HD_TOKENIZER_bpe, "vocab.json", HD_EFORMAT,
            "no piece for the byte 0x20: not a vocabulary of byte-level BPE");
    put_text("vocab.json", "[]");
    refused(HD_TOKENIZER_bpe, "vocab.json", HD_EFORMAT, "is not an object of pieces and ids");
    put_text("vocab.json", "");
    refused(HD_TOKENIZER_bpe, "vocab.json", HD_EFORMAT, "vocab.json:1: ");
}

static void merges_name_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"#version: 0.2\na b\nab\n", "merges.txt:3: not a merge: two tokens separated by a space"},
        {"a b c\n", "merges.txt:1: not a merge"},
        {"a b\n\n", "merges.txt:2: not a merge"},
        {" a\n", "merges.txt:1: not a merge"},
        {"a b\nqq b\n", "merges.txt:2: a merge names 'qq', which is not a token"},
        {"a b\nb a\n", "merges.txt:2: a merge names 'ba', which is not a token"},
        {"a b\na b\n", "merges.txt:2: the merge is there twice"},
        {"a b\n\xff b\n", "merges.txt:2: not UTF-8: convert the file"},
    };
    put_text("vocab.json", byte_vocab(END ", \"ab\": 257"));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        put_text("merges.txt", cases[i].text);
        refused(HD_TOKENIZER_bpe, "vocab.json", HD_EFORMAT, cases[i].message);
    }
    remove(in_folder("merges.txt"));
    refused(HD_TOKENIZER_bpe, "vocab.json", HD_EFILE, "merges.txt: cannot open: No such file");
}

static void deep_and_huge_files_are_refused(void **state)
{
    (void)state;
    enum { DEPTH = 100000, HUGE_BYTES = (1 << 26) + 1 };
    char *text = calloc(HUGE_BYTES, 1);
    memset(text, '[', DEPTH);
    put_file("tokenizer.json", text, DEPTH);
    refused(HD_TOKENIZER_bpe, "tokenizer.json", HD_EFORMAT,
            "tokenizer.json:1: maximum parsing depth reached");
    put_file("tokenizer.json", text, HUGE_BYTES);
    refused(HD_TOKENIZER_bpe, "tokenizer.json", HD_ELIMIT, "bytes are too many for a file of a tokenizer");
    remove(in_folder("tokenizer.json"));
    free(text);
}

static void lists_of_wordpiece_name_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *message;
    } cases[] = {
        {"[UNK]\n[SEP]\nthe\nthe\n", 0, "vocab.txt:4: 'the' is on line 3 too: remove one of them"},
        {"[UNK]\n[SEP]\n\xff\n", 0, "vocab.txt:3: not UTF-8"},
        {"[UNK]\n[SEP]\na\0b\n", 16, "vocab.txt:3: a zero byte"},
        {"[SEP]\nthe\n", 0, "no [UNK]: WordPiece needs one"},
        {"[UNK]\nthe\n", 0, "no end token"},
        {"", 0, "no end token"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        put_file("vocab.txt", cases[i].text, cases[i].size ? cases[i].size : strlen(cases[i].text));
        refused(HD_TOKENIZER_wordpiece, "vocab.txt", HD_EFORMAT, cases[i].message);
    }
    put_text("vocab.txt", "[UNK]\n[SEP]\nthe\n");
    put_text("tokenizer_config.json", "{\"do_lower_case\": 7}");
    refused(HD_TOKENIZER_wordpiece, "vocab.txt", HD_EFORMAT,
            "config.json: \"do_lower_case\" is not true or false");
    remove(in_folder("tokenizer_config.json"));
}

/* What stands in tokenizer_config.json decides about case. */
static void settings_beside_a_list_are_read(void **state)
{
    (void)state;
    put_text("vocab.txt", "[UNK]\n[CLS]\n[SEP]\nthe\nThe\n");
    for (int cased = 0; cased < 2; cased++) {
        hd_tokenizer *t = NULL;
        hd_err err = {0};
        hd_ids ids = {0};
        put_text("tokenizer_config.json", cased ? "{\"do_lower_case\": false}" : "{}");
        ASSERT_OK(hd_tokenizer_open(&t, HD_TOKENIZER_wordpiece, in_folder("vocab.txt"), &err), err);
        ASSERT_OK(hd_tokenizer_encode_ids(t, "The", 3, &ids, &err), err);
        assert_int_equal(ids.at[0], cased ? 4 : 3);
        hd_ids_release(&ids);
        hd_tokenizer_free(t);
    }
    remove(in_folder("tokenizer_config.json"));
}

/* added_tokens.json of older folders: tokens behind those of the vocabulary, found in normalized text. */
static void added_tokens_beside_a_list_are_read(void **state)
{
    (void)state;
    static const char text[] = "the Newtok, xnewtoky [Ent][UNK] the";
    static const int32_t wanted[] = {3, 4, 0, 0, 4, 0, 5, 0, 3}; /* the comma, x and y are unknown */
    hd_tokenizer *t = NULL, *again = NULL;
    hd_err err = {0};
    hd_ids ids = {0}, back = {0};
    put_text("vocab.txt", "[UNK]\n[CLS]\n[SEP]\nthe\n");
    put_text("added_tokens.json", "{\"[ENT]\": 5, \"NewTok\": 4, \"[UNK]\": 0}");
    ASSERT_OK(hd_tokenizer_open(&t, HD_TOKENIZER_wordpiece, in_folder("vocab.txt"), &err), err);
    assert_int_equal(hd_tokenizer_size(t), 6);
    assert_int_equal(hd_tokenizer_id(t, "NewTok"), 4);
    ASSERT_OK(hd_tokenizer_encode_ids(t, text, strlen(text), &ids, &err), err);
    assert_int_equal(ids.count, COUNT_OF(wanted));
    assert_memory_equal(ids.at, wanted, sizeof wanted);
    remove(in_folder("added_tokens.json"));
    ASSERT_OK(hd_tokenizer_save(t, in_folder("vocab.txt"), &err), err); /* with the file */
    ASSERT_OK(hd_tokenizer_open(&again, HD_TOKENIZER_wordpiece, in_folder("vocab.txt"), &err), err);
    ASSERT_OK(hd_tokenizer_encode_ids(again, text, strlen(text), &back, &err), err);
    assert_int_equal(back.count, ids.count);
    assert_memory_equal(back.at, ids.at, sizeof wanted);
    hd_ids_release(&ids);
    hd_ids_release(&back);
    hd_tokenizer_free(t);
    hd_tokenizer_free(again);
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"[]", "added_tokens.json: not an object"},
        {"{\"a\": \"4\"}", "added_tokens.json: the id of 'a' is not one of its own"},
        {"{\"a\": 3}", "added_tokens.json: the id of 'a' is not one of its own"},
        {"{\"a\": 5}", "added_tokens.json: the id of 'a' is not one of its own"},
        {"{\"a\": -9000000000000000000}", "added_tokens.json: the id of 'a' is not one of its own"},
        {"{\"a\": 4, \"b\": 4}", "added_tokens.json: the id of 'b' is not one of its own"},
        {"{\"the\": 4}", "added_tokens.json: the id of 'the' is not one of its own"},
        {"{\"\": 4}", "added_tokens.json: the id of '' is not one of its own"},
        {"{\"the\": 3, \"a\": 5}", "added_tokens.json: no token has the id 4"},
        {"{\"a\": 4", "added_tokens.json:1: "},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        put_text("added_tokens.json", bad[i].text);
        refused(HD_TOKENIZER_wordpiece, "vocab.txt", HD_EFORMAT, bad[i].message);
    }
    remove(in_folder("added_tokens.json"));
}

static void bert_normalizes_in_four_steps(void **state)
{
    (void)state;
    static const struct {
        hd_bert_rules rules; /* clean, chinese, unaccent, lower */
        const char *text, *normal;
    } cases[] = {
        {{false, false, false, false}, "A\t\xc3\x89 \xe4\xb8\x80", "A\t\xc3\x89 \xe4\xb8\x80"},
        {{true, false, false, false}, "a\t\x01\xc2\xa0\xef\xbf\xbd\xe2\x80\x8b\xffz", "a  z"},
        {{false, true, false, false}, "a\xe4\xb8\x80z", "a \xe4\xb8\x80 z"},
        {{false, true, false, false}, "\xe3\x90\x80\xe3\x8f\xbf", " \xe3\x90\x80 \xe3\x8f\xbf"},
        {{false, false, true, false}, "\xc3\x89z\xcc\x81", "Ez"},
        {{false, false, false, true}, "\xc3\x89\xc4\xb0", "\xc3\xa9i\xcc\x87"},
        {{false, false, true, true}, "\xc4\xb0\xe2\x84\xab", "ia"},
    };
    hd_bert_text t = {0};
    hd_err err = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        ASSERT_OK(hd_bert_text_set(&t, &cases[i].rules, cases[i].text, strlen(cases[i].text), &err), err);
        assert_string_equal(t.text.data, cases[i].normal);
        assert_int_equal(t.from[t.text.size - 1].end, strlen(cases[i].text) - (i == 4 ? 2 : 0));
    }
    hd_bert_text_release(&t);
}

/* As Rust and Python replace: one U+FFFD for each beginning that no character follows. */
static void broken_bytes_are_replaced(void **state)
{
    (void)state;
#define X "\xef\xbf\xbd"
    static const char *const cases[][2] = {
        {"a\xffz", "a" X "z"},   {"\xe4\xb8", X},           {"\xe4\xb8z", X "z"},
        {"\xf0\x9f\x99", X},     {"\xf0\x9f\x99\xf0", X X}, {"\xc3\xc3\xa9", X "\xc3\xa9"},
        {"\xe0\x80\x80", X X X}, {"\xed\xa0\x80", X X X},   {"\xf4\x90\x80\x80", X X X X},
        {"\x80\x80", X X},       {"\xc0\xaf", X X},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_text t = {0};
        hd_text_add_lossy(&t, cases[i][0], strlen(cases[i][0]));
        assert_string_equal(t.data, cases[i][1]);
        hd_text_release(&t);
    }
#undef X
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_that_are_not_known_are_named),
        cmocka_unit_test(vocabularies_must_be_dense_and_whole),
        cmocka_unit_test(merges_name_their_line),
        cmocka_unit_test(deep_and_huge_files_are_refused),
        cmocka_unit_test(lists_of_wordpiece_name_their_line),
        cmocka_unit_test(settings_beside_a_list_are_read),
        cmocka_unit_test(added_tokens_beside_a_list_are_read),
        cmocka_unit_test(bert_normalizes_in_four_steps),
        cmocka_unit_test(broken_bytes_are_replaced),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
