/* Vocabulary files: what is read, and what is refused with file, line and remedy. */
#include "data/fixture.h"

#define HEAD "<pad>\n<unk>\n<s>\n</s>\n"

static void pieces_may_be_anything_but_nothing(void **state)
{
    (void)state;
    hd_tokenizer *t = NULL;
    hd_err err = {0};
    put_text("vocab.txt", HEAD "a\n\\x20\n\\\\\n\\x0a\nä\r\n\\xe6\\x97\\xa5");
    ASSERT_OK(hd_tokenizer_open(&t, HD_TOKENIZER_characters, in_folder("vocab.txt"), &err), err);
    static const char *const piece[] = {"a", " ", "\\", "\n", "ä", "日"};
    assert_int_equal(hd_tokenizer_size(t), HD_SPECIALS + COUNT_OF(piece));
    for (size_t i = 0; i < COUNT_OF(piece); i++)
        assert_string_equal(hd_tokenizer_piece(t, (int32_t)(HD_SPECIALS + i)), piece[i]);
    hd_tokenizer_free(t);
}

static void a_vocabulary_of_specials_alone_is_one(void **state)
{
    (void)state;
    hd_tokenizer *t = NULL;
    hd_err err = {0};
    put_text("vocab.txt", "<pad>\n<unk>\n<s>\n</s>");
    ASSERT_OK(hd_tokenizer_open(&t, HD_TOKENIZER_words, in_folder("vocab.txt"), &err), err);
    assert_int_equal(hd_tokenizer_size(t), HD_SPECIALS);
    hd_tokenizer_free(t);
}

static void bad_files_are_refused_with_line_and_remedy(void **state)
{
    (void)state;
    static const struct {
        hd_tokenizer_kind kind;
        const char *text;
        size_t size; /* 0: up to the zero byte */
        const char *message;
    } cases[] = {
        {HD_TOKENIZER_words, "", 0,
         "vocab.txt: 0 lines: a vocabulary starts with the lines <pad>, <unk>, <s> and </s>"},
        {HD_TOKENIZER_words, "<pad>\n<unk>\n", 0, "vocab.txt: 2 lines: a vocabulary starts with"},
        {HD_TOKENIZER_words, "<unk>\n<pad>\n", 0, "vocab.txt:1: a vocabulary starts with the lines"},
        {HD_TOKENIZER_words, "the\n", 0, "vocab.txt:1: a vocabulary starts with the lines"},
        {HD_TOKENIZER_words, HEAD "dog\n\ncat\n", 0, "vocab.txt:6: empty: remove the line"},
        {HD_TOKENIZER_words, HEAD "dog\ncat\ndog\n", 0,
         "vocab.txt:7: 'dog' is on line 5 too: remove one of them"},
        {HD_TOKENIZER_words, HEAD "<s>\n", 0, "vocab.txt:5: is not one word"},
        {HD_TOKENIZER_words, HEAD "two words\n", 0,
         "vocab.txt:5: is not one word: write one word or punctuation mark a line"},
        {HD_TOKENIZER_words, HEAD "\\x20\n", 0, "vocab.txt:5: is not one word"},
        {HD_TOKENIZER_words, HEAD "caf\xe9\n", 0, "vocab.txt:5: not UTF-8: convert the file"},
        {HD_TOKENIZER_words, HEAD "a\0b\n", 25, "vocab.txt:5: a zero byte"},
        {HD_TOKENIZER_words, HEAD "\\x00\n", 0, "vocab.txt:5: a zero byte"},
        {HD_TOKENIZER_words, HEAD "a\\b\n", 0, "vocab.txt:5: a backslash is written \\\\"},
        {HD_TOKENIZER_words, HEAD "\\x4\n", 0, "vocab.txt:5: a backslash is written \\\\"},
        {HD_TOKENIZER_words, HEAD "\\", 0, "vocab.txt:5: a backslash is written \\\\"},
        {HD_TOKENIZER_characters, HEAD "ab\n", 0, "vocab.txt:5: is not one character: write one a line"},
        {HD_TOKENIZER_characters, HEAD "a\n\\x61\n", 0, "vocab.txt:6: 'a' is on line 5 too"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_tokenizer *t = NULL;
        hd_err err = {0};
        put_file("vocab.txt", cases[i].text, cases[i].size ? cases[i].size : strlen(cases[i].text));
        assert_int_equal(hd_tokenizer_open(&t, cases[i].kind, in_folder("vocab.txt"), &err), HD_EFORMAT);
        assert_error(&err, HD_EFORMAT, cases[i].message);
        assert_null(t);
    }
}

static void files_that_cannot_be_read_are_named(void **state)
{
    (void)state;
    for (int kind = 0; kind < HD_TOKENIZERS; kind++) {
        hd_tokenizer *t = NULL;
        hd_err err = {0};
        hd_tokenizer_open(&t, (hd_tokenizer_kind)kind, in_folder("none.txt"), &err);
        assert_error(&err, HD_EFILE, "none.txt: cannot open: No such file");
        err = (hd_err){0};
        hd_tokenizer_open(&t, (hd_tokenizer_kind)kind, folder, &err);
        assert_error(&err, HD_EFILE, "is a folder, not a file");
        assert_null(t);
    }
}

/* Cut and changed at random: an answer each time, and nothing that a sanitizer sees. */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    char text[400];
    uint32_t random = 7;
    for (int i = 0; i < 500; i++) {
        size_t size = (size_t)snprintf(text, sizeof text, HEAD "dog\ncat\n\\x41bc\nmouse\n\\\\\nä\n.\n,\n");
        for (int k = 0; k < 3; k++) {
            random = random * 1664525 + 1013904223;
            text[(random >> 8) % size] = (char)(random >> 24);
        }
        hd_tokenizer *t = NULL;
        hd_err err = {0};
        put_file("vocab.txt", text, size - (random >> 4) % 8);
        hd_status s = hd_tokenizer_open(&t, HD_TOKENIZER_words, in_folder("vocab.txt"), &err);
        assert_int_equal(s == HD_OK, t != NULL);
        assert_int_equal(s == HD_OK, err.text[0] == 0);
        hd_tokenizer_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_may_be_anything_but_nothing),
        cmocka_unit_test(a_vocabulary_of_specials_alone_is_one),
        cmocka_unit_test(bad_files_are_refused_with_line_and_remedy),
        cmocka_unit_test(files_that_cannot_be_read_are_named),
        cmocka_unit_test(damaged_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
