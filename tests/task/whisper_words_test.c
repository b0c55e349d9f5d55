/* Tokens as words, as transformers puts them together; how much tokens repeat themselves, as Python's zlib
   says; and names of languages. What is expected was printed by transformers 5.22
   (_combine_tokens_into_words). */
#include "check.h"
#include "scratch.h"

#include "base/file/packed.h"
#include "task/transcribe/whisper/align.h"
#include "task/whisper_tokens.h"
#include "text/language.h"

enum { MOST = 32 };

typedef struct split {
    const char *text;
    bool unspaced;
    struct {
        const char *text;
        size_t first, last;
    } word[10];
} split;

static const split splits[] = {
    {" the re, (in) \"he\" a. don't  -x",
     false,
     {{" the", 0, 0},
      {" re,", 1, 3},
      {" (in)", 4, 7},
      {" \"he\"", 8, 11},
      {" a.", 12, 13},
      {" don", 14, 17},
      {"'t", 18, 19},
      {"  -x", 20, 23}}},
    {"he\u2026 the\u2019s \u201ca\u201d!",
     false,
     {{"he\u2026", 0, 3}, {" the\u2019s", 4, 8}, {" \u201ca\u201d!", 9, 17}}},
    {" \u65e5\u672c\u3001he", true, {{" \u65e5", 0, 3}, {"\u672c\u3001", 4, 9}, {"he", 10, 10}}},
    {" ?! \u65e5\u672c\u3002", false, {{" ?!", 0, 2}, {" \u65e5\u672c\u3002", 3, 12}}},
};

static void check_split(const hd_tokenizer *t, const split *s)
{
    hd_err err = {0};
    hd_ids ids = {0};
    hd_arena memory;
    hd_spoken_word *word = NULL;
    size_t count = 0, want = 0;
    double begin[MOST], end[MOST];
    hd_arena_init(&memory, hd_allocator_host, 1 << 12);
    assert_int_equal(hd_tokenizer_encode_ids(t, s->text, strlen(s->text), &ids, &err), HD_OK);
    assert_in_range(ids.count, 1, MOST);
    for (size_t i = 0; i < ids.count; i++) begin[i] = (double)i, end[i] = (double)i + 0.5;
    if (hd_whisper_words(&word, &count, t, &(hd_word_split){ids.at, begin, end, ids.count, s->unspaced},
                         &memory, &err))
        fail_msg("%s", err.text);
    while (want < COUNT_OF(s->word) && s->word[want].text) want++;
    for (size_t i = 0; i < count && i < want; i++) {
        assert_string_equal(word[i].text, s->word[i].text);
        assert_true(word[i].begin == (double)s->word[i].first);
        assert_true(word[i].end == (double)s->word[i].last + 0.5);
    }
    assert_int_equal(count, want);
    hd_ids_release(&ids);
    hd_arena_release(&memory);
}

static void tokens_become_words(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    assert_int_equal(mkdir(at("tokens"), 0777), 0);
    wt_put("tokens", true);
    if (hd_tokenizer_open(&t, HD_TOKENIZER_bpe, at("tokens/vocab.json"), &err)) fail_msg("%s", err.text);
    assert_int_equal(hd_tokenizer_size(t), WT_BASE + 1 + WT_SPECIAL + WT_TIMES);
    assert_string_equal(hd_tokenizer_piece(t, WT_BASE), ""); /* a piece of no bytes */
    for (size_t i = 0; i < COUNT_OF(splits); i++) check_split(t, &splits[i]);
    hd_tokenizer_free(t);
}

static void bytes_are_packed_as_python_packs_them(void **state)
{
    (void)state;
    static uint8_t x[5000];
    hd_err err = {0};
    size_t size = 0;
    for (int i = 0; i < 280; i++) x[i] = (uint8_t)(i % 7);
    assert_int_equal(hd_packed_size(&size, x, 280, &err), HD_OK);
    assert_int_equal(size, 19);
    assert_int_equal(hd_packed_size(&size, x, 0, &err), HD_OK);
    assert_int_equal(size, 8);
    for (int i = 0; i < 5000; i++) x[i] = (uint8_t)((i * i * 7 + i / 3) % 251);
    assert_int_equal(hd_packed_size(&size, x, 5000, &err), HD_OK);
    assert_int_equal(size, 835);
}

static void languages_have_codes_and_names(void **state)
{
    (void)state;
    assert_string_equal(hd_language_code("GERMAN"), "de");
    assert_string_equal(hd_language_code("de"), "de");
    assert_string_equal(hd_language_code("Castilian"), "es");
    assert_string_equal(hd_language_name("yue"), "cantonese");
    assert_null(hd_language_code("klingon"));
    assert_true(hd_language_unspaced("ja") && !hd_language_unspaced("ko"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_become_words),
        cmocka_unit_test(bytes_are_packed_as_python_packs_them),
        cmocka_unit_test(languages_have_codes_and_names),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
