/* The option parser, with every type of option. The program's own sources are not in the library: they are
 * included. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "cli/option.c"
#include "cli/spelling.c"

struct values {
    bool flag, other;
    int number, choice;
    double rate;
    const char *text, *file;
};

static const char *const colours[] = {"red", "green", "blue", NULL};

static const hd_option table[] = {
    {"flag", 'f', NULL, NULL, "", HD_FLAG_INTO(struct values, flag)},
    {"other", 'o', NULL, NULL, "", HD_FLAG_INTO(struct values, other)},
    {"number", 'n', "N", "7", "", HD_INT_INTO(struct values, number, -5, 10)},
    {"colour", 0, "COLOUR", "green", "", HD_CHOICE_INTO(struct values, choice, colours)},
    {"rate", 'r', "RATE", "0.5", "", HD_FLOAT_INTO(struct values, rate, 0, 1)},
    {"text", 't', "TEXT", NULL, "", HD_TEXT_INTO(struct values, text)},
    {0},
};
static const hd_option common[] = {
    {"file", 0, "FILE", "none", "", HD_FILE_INTO(struct values, file)},
    {0},
};

/* Parses a line split at spaces; what is left over is in *words. */
static hd_status parse(struct values *v, const char *line, bool leading, hd_words *words, hd_err *err)
{
    static char copy[256], *word[32];
    *v = (struct values){0};
    *err = (hd_err){0};
    *words = (hd_words){word, 0};
    snprintf(copy, sizeof copy, "%s", line);
    for (char *w = strtok(copy, " "); w; w = strtok(NULL, " ")) word[words->count++] = w;
    const hd_option_set sets[2] = {{table, v}, {common, v}};
    return hd_option_parse(sets, words, leading, err);
}

static void defaults_are_set(void **state)
{
    (void)state;
    struct values v;
    hd_words words;
    hd_err err;
    assert_int_equal(parse(&v, "", false, &words, &err), HD_OK);
    assert_true(!v.flag && v.number == 7 && v.choice == 1 && v.rate == 0.5 && !v.text);
    assert_string_equal(v.file, "none");
}

static void every_form_is_read(void **state)
{
    (void)state;
    struct values v;
    hd_words words;
    hd_err err;
    assert_int_equal(parse(&v, "a --number -3 --colour=blue -r1e-1 b -fot x=y --file=p - --text= -- -f",
                           false, &words, &err),
                     HD_OK);
    assert_true(v.flag && v.other && v.number == -3 && v.choice == 2 && v.rate == 0.1);
    assert_string_equal(v.text, "");
    assert_string_equal(v.file, "p");
    assert_int_equal(words.count, 4);
    assert_string_equal(words.word[1], "b");
    assert_string_equal(words.word[2], "-");
    assert_string_equal(words.word[3], "-f");
}

static void leading_options_end_at_the_first_word(void **state)
{
    (void)state;
    struct values v;
    hd_words words;
    hd_err err;
    assert_int_equal(parse(&v, "-f verb -o --unknown", true, &words, &err), HD_OK);
    assert_true(v.flag && !v.other);
    assert_int_equal(words.count, 3);
    assert_string_equal(words.word[2], "--unknown");
}

static void wrong_values_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *line, *text;
    } cases[] = {
        {"--rate x", "--rate: 'x' is not a number"},
        {"--rate nan", "--rate: 'nan' is not a number"},
        {"--rate inf", "--rate: inf is not between 0 and 1"},
        {"-r 1.01", "--rate: 1.01 is not between 0 and 1"},
        {"-n11", "--number: 11 is not between -5 and 10"},
        {"-n", "--number needs a value N"},
        {"-fn", "--number needs a value N"},
        {"--colour pink", "--colour: 'pink' is not one of red, green, blue"},
        {"--flag=1", "--flag takes no value"},
        {"-fx", "unknown option '-x'"},
        {"--numbre 3", "unknown option '--numbre', did you mean '--number'?"},
        {"--=3", "unknown option '--'"},
    };
    struct values v;
    hd_words words;
    hd_err err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse(&v, cases[i].line, false, &words, &err), HD_EARG);
        assert_string_equal(err.text, cases[i].text);
    }
}

static void near_words_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *typed, *match;
    } cases[] = {{"trian", "train"}, {"tran", "train"}, {"trainn", "train"}, {"translat", "translate"},
                 {"tr", "train"},    {"x", NULL},       {"zebra", NULL},     {"", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_spelling s = hd_spelling_of(cases[i].typed);
        hd_spelling_try(&s, "train");
        hd_spelling_try(&s, "translate");
        if (cases[i].match)
            assert_string_equal(s.match, cases[i].match);
        else
            assert_null(s.match);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_set),
        cmocka_unit_test(every_form_is_read),
        cmocka_unit_test(leading_options_end_at_the_first_word),
        cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(near_words_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
