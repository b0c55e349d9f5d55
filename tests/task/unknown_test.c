/* Unknown words are found again in the text they stood in, and counted once. */
#include "task/small.h"

#include "task/unknown.h"

static const char *const vocabulary[] = {"the cat sat", NULL};

/* The words behind the ids, with a space between; "-" of a known one. */
static const char *words_of(const hd_tokenizer *t, const int32_t *ids, size_t count, const char *text,
                            bool masks)
{
    static char out[256];
    hd_err err = {0};
    hd_line word[16];
    size_t at = 0;
    assert_in_range(count, 0, 16);
    hd_line line = text ? line_of(text) : (hd_line){NULL, 0};
    if (hd_unknown_words(word, t, ids, count, line, masks, &err)) fail_msg("%s", err.text);
    *out = 0;
    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(out + at, sizeof out - at, "%s%.*s", i ? " " : "",
                               word[i].text ? (int)word[i].size : 1, word[i].text ? word[i].text : "-");
    return out;
}

static void words_are_found_again(void **state)
{
    (void)state;
    enum { U = HD_UNK_ID, K = HD_UNK_ID + 4, S = HD_START_ID, E = HD_END_ID };
    hd_tokenizer *words = small_tokenizer(HD_TOKENIZER_words, vocabulary),
                 *letters = small_tokenizer(HD_TOKENIZER_characters, vocabulary);
    static const int32_t one[] = {K, U, K, U, E}, framed[] = {S, U, K, U, E}, cut[] = {K, U};
    assert_string_equal(words_of(words, one, 5, "the dog sat down", false), "- dog - down -");
    assert_string_equal(words_of(words, framed, 5, "Dog [MASK] Ende", true), "- Dog - Ende -");
    assert_string_equal(words_of(words, cut, 2, "the dog sat down", false), "- dog"); /* read in part */
    assert_string_equal(words_of(words, one, 5, "the dog sat", false), "- - - - -");  /* another text */
    assert_string_equal(words_of(words, one, 5, NULL, false), "- - - - -");
    assert_string_equal(words_of(letters, cut, 2, "t\xc3\xb6", false), "- \xc3\xb6");
    assert_string_equal(words_of(NULL, one, 5, "the dog sat down", false), "- - - - -");
    hd_tokenizer_free(words);
    hd_tokenizer_free(letters);
}

static void what_is_encoded_is_counted_once(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_pieces piece = {0};
    hd_ids ids = {0};
    hd_tokenizer *t = small_tokenizer(HD_TOKENIZER_words, vocabulary);
    static const char text[] = "the dog sat down , dog";
    hd_unknown u = hd_tokenizer_unknown(t);
    assert_true(!u.tokens && !u.unknown && !u.words);
    hd_tokenizer_encode_again(t, text, strlen(text), &piece, &err);
    assert_int_equal(hd_tokenizer_unknown(t).tokens, 0);
    hd_tokenizer_encode(t, text, strlen(text), &piece, &err);
    hd_tokenizer_encode_ids(t, text, strlen(text), &ids, &err);
    u = hd_tokenizer_unknown(t);
    assert_true(u.tokens == 12 && u.unknown == 8);
    assert_int_equal(u.words, 3); /* different ones, in their order */
    assert_string_equal(u.word[0], "dog");
    assert_string_equal(u.word[1], "down");
    assert_string_equal(u.word[2], ",");
    hd_pieces_release(&piece);
    hd_ids_release(&ids);
    hd_tokenizer_free(t);
}

/* A word longer than there is room for is cut between characters. */
static void long_words_are_cut(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_ids ids = {0};
    hd_tokenizer *t = small_tokenizer(HD_TOKENIZER_words, vocabulary);
    static const char text[] = "xöööööööööööööööööööööööööööööööööööööööööööööööööö";
    hd_tokenizer_encode_ids(t, text, strlen(text), &ids, &err);
    hd_unknown u = hd_tokenizer_unknown(t);
    assert_int_equal(u.words, 1);
    assert_int_equal(strlen(u.word[0]), 39);
    assert_int_equal(hd_utf8_good(u.word[0], 39), 39);
    hd_ids_release(&ids);
    hd_tokenizer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_found_again),
        cmocka_unit_test(what_is_encoded_is_counted_once),
        cmocka_unit_test(long_words_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
