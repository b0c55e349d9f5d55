/* Tokenizers by example, and Python's whitespace and lower case. What is expected was written by
 * sacreBLEU 2.6.0. */
#include "metric/corpus.h"

#include <utf8proc.h>

/* The tokens joined by single spaces, in UTF-8. */
static void assert_tokens(hd_bleu_tokenizer by, bool lowercase, const char *line, const char *expected)
{
    hd_bleu_words t = {0};
    hd_text text = {0};
    hd_err err = {0};
    assert_int_equal(hd_bleu_tokenize(&t, by, lowercase, line_of(line), &err), HD_OK);
    hd_text_put(&text, "");
    for (size_t i = 0; i < t.words.count; i++) {
        if (i) hd_text_put(&text, " ");
        for (size_t k = 0; k < t.words.word[i].count; k++) {
            uint8_t bytes[4];
            utf8proc_ssize_t used = utf8proc_encode_char((utf8proc_int32_t)t.words.word[i].at[k], bytes);
            hd_text_add(&text, (const char *)bytes, (size_t)used);
        }
    }
    assert_string_equal(text.data, expected);
    hd_text_release(&text);
    hd_bleu_words_release(&t);
}

static void tokens_of_13a(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"Hello, world!", "Hello , world !"},
        {",,7", ", ,7"},
        {"1..2", "1 . . 2"},
        {"...", ". . ."},
        {"3.14 1,000 .5 5.", "3.14 1,000 . 5 5 ."},
        {"10-20 -5 a-b 5-", "10 - 20 -5 a-b 5 -"},
        {"U.S. e.g.", "U . S . e . g ."},
        {"&quot;a&quot; &amp; &lt;b&gt; &apos;", "\" a \" & < b > & apos ;"},
        {"&amp;lt; &amp;amp;", "< & amp ;"},
        {"a<skipped>b <skip<skipped>ped>", "ab < skipped >"},
        {"co-\nop one\ntwo", "coop one two"},
        {"it's l'eau l’été", "it's l'eau l’été"},
        {"[a]{b}~c`d^e_f\\g|h", "[ a ] { b } ~ c ` d ^ e _ f \\ g | h"},
        {"50% $5 #1 a/b (x) *y+ =", "50 % $ 5 # 1 a / b ( x ) * y + ="},
        {"«a» “b” … — € ٣.٤", "«a» “b” … — € ٣ . ٤"},
        {"a\u00a0b\u3000c\u200bd \t", "a b c\u200bd"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_tokens(HD_BLEU_TOKENIZER_13a, false, cases[i][0], cases[i][1]);
}

static void tokens_of_the_others(void **state)
{
    (void)state;
    static const struct {
        hd_bleu_tokenizer by;
        const char *line, *tokens;
    } cases[] = {
        {HD_BLEU_TOKENIZER_intl, "Hello, «world»! 3.14 2019.", "Hello , « world » ! 3.14 2019."},
        {HD_BLEU_TOKENIZER_intl, "5€ a+b ½. “x”", "5 € a + b ½ . “ x ”"},
        {HD_BLEU_TOKENIZER_intl, "... ,,7", ". . . , ,7"},
        {HD_BLEU_TOKENIZER_char, "ab 日本 e\u0301", "a b 日 本 e \u0301"},
        {HD_BLEU_TOKENIZER_none, "Hello,  world!\t", "Hello, world!"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_tokens(cases[i].by, false, cases[i].line, cases[i].tokens);
}

static void lower_case_is_pythons(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"ÄÖÜ ẞ ß ÉŁŽ", "äöü ß ß éłž"},
        {"İ", "i\u0307"},
        {"ΑΣ", "ας"},
        {"Σ", "σ"},
        {"ΑΣΑ", "ασα"},
        {"ΑΣ'Α", "ασ'α"},
        {"ΑΣ'", "ας'"},
        {"ΑΣ1", "ας1"},
        {"1Σ", "1σ"},
        {"Α\u0301Σ", "α\u0301ς"},
        {"ΑΣ\u0301Α", "ασ\u0301α"},
        {"ΑΣΣ", "ασς"},
        {"ªΣ ⅠΣ ⒶΣ", "ªς ⅰς ⓐς"},
        {"ǅ Ⅷ Ⓩ", "ǆ ⅷ ⓩ"},
        {"K Å Ω", "k å ω"},
        {"日本", "日本"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_tokens(HD_BLEU_TOKENIZER_none, true, cases[i][0], cases[i][1]);
}

/* Each of these may stand inside a word: the sigma before it does not end one. */
static void signs_inside_words_are_known(void **state)
{
    (void)state;
    static const char *const signs[] = {"'",      ".",      ":",      "\u00b7", "\u0387", "\u055f",
                                        "\u05f4", "\u2018", "\u2019", "\u2024", "\u2027", "\ufe13",
                                        "\ufe52", "\ufe55", "\uff07", "\uff0e", "\uff1a"};
    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        char line[32], lower[32];
        snprintf(line, sizeof line, "ΑΣ%sΑ", signs[i]);
        snprintf(lower, sizeof lower, "ασ%sα", signs[i]);
        assert_tokens(HD_BLEU_TOKENIZER_none, true, line, lower);
    }
}

static void whitespace_is_pythons(void **state)
{
    (void)state;
    int count = 0;
    for (uint32_t c = 0; c <= 0x10ffff; c++) count += hd_rune_is_space(c);
    assert_int_equal(count, 29);
    static const uint32_t not_space[] = {0x1b, 0x200b, 0x180e, 0x2060, 0xfeff, 0xad, 0};
    for (size_t i = 0; i < COUNT_OF(not_space); i++) assert_false(hd_rune_is_space(not_space[i]));
    static const uint32_t space[] = {9,    0xd,    0x1c,   0x1f,   0x20,   0x85,
                                     0xa0, 0x1680, 0x2000, 0x200a, 0x2029, 0x3000};
    for (size_t i = 0; i < COUNT_OF(space); i++) assert_true(hd_rune_is_space(space[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_of_13a),         cmocka_unit_test(tokens_of_the_others),
        cmocka_unit_test(lower_case_is_pythons), cmocka_unit_test(signs_inside_words_are_known),
        cmocka_unit_test(whitespace_is_pythons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
