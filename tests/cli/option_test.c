/* The option parser, with every type of option. The program's own sources are not in the library: they are
 * included. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "cli/frame/names.c"
#include "cli/frame/option.c"

struct values {
    bool flag, other;
    int number, choice;
    double rate;
    int64_t steps;
    const char *text, *file;
    hd_texts pair, names, each;
};

static const char *const colors[] = {"red", "green", "blue", NULL};

static const hd_option table[] = {
    {"flag", 'f', NULL, NULL, "", HD_FLAG_INTO(struct values, flag)},
    {"other", 'o', NULL, NULL, "", HD_FLAG_INTO(struct values, other)},
    {"number", 'n', "N", "7", "", HD_INT_INTO(struct values, number, -5, 10)},
    {"color", 0, "COLOR", "green", "", HD_CHOICE_INTO(struct values, choice, colors)},
    {"rate", 'r', "RATE", "0.5", "", HD_FLOAT_INTO(struct values, rate, 0, 1)},
    {"text", 't', "TEXT", NULL, "", HD_TEXT_INTO(struct values, text)},
    {"steps", 's', "N", "100000", "", HD_LONG_INTO(struct values, steps, 0, 9007199254740992)},
    {"pair", 'p', "FILE", NULL, "", HD_FILES_AT_ONCE_INTO(struct values, pair, 2)},
    {"names", 0, "NAME", NULL, "", HD_TEXTS_AT_ONCE_INTO(struct values, names, 3)},
    {"each", 0, "FILE", NULL, "", .most = 2, HD_FILES_INTO(struct values, each)},
    {"input", 'i', .gone = "give files after MODEL"},
    {0},
};
static const hd_option common[] = {
    {"file", 0, "FILE", "none", "", HD_FILE_INTO(struct values, file)},
    {0},
};

enum { ROWS = sizeof table / sizeof *table - 1 };

static hd_given given[ROWS + 1]; /* the last is of the one common row */

/* Parses a line split at spaces; what is left over is in *words. */
static hd_status parse(struct values *v, const char *line, bool leading, hd_words *words, hd_err *err)
{
    static char copy[256], *word[32];
    *v = (struct values){0};
    *err = (hd_err){0};
    *words = (hd_words){word, 0};
    snprintf(copy, sizeof copy, "%s", line);
    for (char *w = strtok(copy, " "); w; w = strtok(NULL, " ")) word[words->count++] = w;
    memset(given, 0, sizeof given);
    const hd_option_set others = {common, v, given + ROWS, NULL}, set = {table, v, given, &others};
    return hd_option_parse(&set, words, leading, err);
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
    assert_int_equal(parse(&v, "a --number -3 --color=blue -r1e-1 b -fot x=y --file=p - --text= -- -f", false,
                           &words, &err),
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
        {"--color pink", "--color: 'pink' is not one of red, green, blue"},
        {"--flag=1", "--flag takes no value"},
        {"-fx", "unknown option '-x'"},
        {"--numbre 3", "unknown option '--numbre', did you mean '--number'?"},
        {"--=3", "unknown option '--'"},
        {"--no-flag=1", "--no-flag takes no value"},
        {"--no-number", "unknown option '--no-number', did you mean '--number'?"},
        {"--no-", "unknown option '--no-'"},
        {"--steps 9007199254740993", "--steps: 9007199254740993 is not between 0 and 9007199254740992"},
        {"--steps 99999999999999999999",
         "--steps: 99999999999999999999 is not between 0 and 9007199254740992"},
        {"--steps -1", "--steps: -1 is not between 0 and 9007199254740992"},
        {"--steps 1e3", "--steps: '1e3' is not a whole number"},
        {"--pair", "--pair needs a value FILE"},
        {"--pair -f", "--pair needs a value FILE"},
        {"--pair -- a", "--pair needs a value FILE"},
        {"--pair a --pair b", "--pair: given twice; its values follow one another: -p, --pair FILE [FILE]"},
        {"--pair=a -pb", "--pair: given twice; its values follow one another: -p, --pair FILE [FILE]"},
    };
    struct values v;
    hd_words words;
    hd_err err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse(&v, cases[i].line, false, &words, &err), HD_EARG);
        assert_string_equal(err.text, cases[i].text);
    }
}

static void an_option_that_is_gone_says_what_to_do(void **state)
{
    (void)state;
    struct values v;
    hd_words words;
    hd_err err;
    static const char *const lines[] = {"--input x", "--input=x", "--input", "-i x", "-fix"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(parse(&v, lines[i], false, &words, &err), HD_EARG);
        assert_string_equal(err.text, "--input is gone: give files after MODEL");
    }
    assert_int_equal(parse(&v, "--inptu x", false, &words, &err), HD_EARG);
    assert_string_equal(err.text, "unknown option '--inptu'");
}

static void whole_numbers_are_exact(void **state)
{
    (void)state;
    struct values v;
    hd_words words;
    hd_err err;
    assert_int_equal(parse(&v, "--steps 9007199254740991", false, &words, &err), HD_OK);
    assert_true(v.steps == 9007199254740991);
    assert_int_equal(parse(&v, "-s 9007199254740992", false, &words, &err), HD_OK);
    assert_true(v.steps == 9007199254740992);
    assert_int_equal(parse(&v, "", false, &words, &err), HD_OK);
    assert_true(v.steps == 100000);
}

static void assert_texts(const hd_texts *t, const char *expected)
{
    char joined[128] = "";
    for (int i = 0; i < t->count; i++) {
        size_t used = strlen(joined);
        snprintf(joined + used, sizeof joined - used, "%s%s", i ? " " : "", t->text[i]);
    }
    assert_string_equal(joined, expected);
}

static void several_values_follow_one_option(void **state)
{
    (void)state;
    static const struct {
        const char *line, *pair, *names, *each, *rest;
    } cases[] = {
        {"--pair a b", "a b", "", "", ""},
        {"--pair a b c", "a b", "", "", "c"},
        {"--pair a -f", "a", "", "", ""},
        {"--pair a", "a", "", "", ""},
        {"--pair=a b", "a", "", "", "b"},
        {"-p a b", "a b", "", "", ""},
        {"-pa b", "a", "", "", "b"},
        {"-fp a b", "a b", "", "", ""},
        {"--pair - a", "- a", "", "", ""},
        {"--pair a -- b", "a", "", "", "b"},
        {"x --names a b --pair c d", "c d", "a b", "", "x"},
        {"--names a b c d", "", "a b c", "", "d"},
        {"--each a b --each c --each=d e", "", "", "a b c d", "e"},
    };
    struct values v;
    hd_words words;
    hd_err err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_texts rest = {0};
        assert_int_equal(parse(&v, cases[i].line, false, &words, &err), HD_OK);
        for (; rest.count < words.count; rest.count++) rest.text[rest.count] = words.word[rest.count];
        assert_texts(&v.pair, cases[i].pair);
        assert_texts(&v.names, cases[i].names);
        assert_texts(&v.each, cases[i].each);
        assert_texts(&rest, cases[i].rest);
    }
}

static void what_was_given_is_marked(void **state)
{
    (void)state;
    struct values v;
    hd_words words;
    hd_err err;
    assert_int_equal(parse(&v, "--number 7 --pair a b --file x --no-other -f x", false, &words, &err), HD_OK);
    for (int i = 0; i < ROWS; i++) {
        static const char *const names[] = {"flag", "other", "number", "pair"};
        bool expected = false;
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            expected |= !strcmp(table[i].name, names[k]);
        if (hd_option_given(&given[i]) != expected) fail_msg("--%s", table[i].name);
    }
    assert_true(given[ROWS]);
    assert_int_equal(parse(&v, "", false, &words, &err), HD_OK);
    for (int i = 0; i <= ROWS; i++) assert_false(given[i]);
}

static void the_last_word_on_a_flag_counts(void **state)
{
    (void)state;
    struct values v;
    hd_words words;
    hd_err err;
    assert_int_equal(parse(&v, "-fo --no-flag", false, &words, &err), HD_OK);
    assert_true(!v.flag && v.other);
    assert_int_equal(parse(&v, "--no-flag --flag", false, &words, &err), HD_OK);
    assert_true(v.flag);
}

static void forms_show_how_many_values(void **state)
{
    (void)state;
    char form[80];
    const hd_option *pair = &table[7], *names = &table[8];
    assert_string_equal(hd_option_form(&table[2], form, sizeof form), "-n, --number N");
    assert_string_equal(hd_option_form(pair, form, sizeof form), "-p, --pair FILE [FILE]");
    assert_string_equal(hd_option_form(names, form, sizeof form), "--names NAME...");
}

/* Options of the library have fields of other types: a row reads, copies and writes each by its size. */
static void fields_of_other_types_are_read_and_written(void **state)
{
    (void)state;
    struct others {
        float rate;
        int after;
        size_t count;
        uint64_t seed;
        enum { RED, GREEN, BLUE } color;
        int last;
    } v = {.after = -1, .last = -1}, copy = {0};
    static const hd_option rows[] = {
        {"rate", 0, "X", "0.25", "", HD_FLOAT_INTO(struct others, rate, 0, 1)},
        {"count", 0, "N", "3", "", HD_COUNT_INTO(struct others, count, 0, 1 << 30)},
        {"seed", 0, "N", "9007199254740992", "", HD_COUNT_INTO(struct others, seed, 0, 9007199254740992)},
        {"color", 0, "COLOR", "blue", "", HD_CHOICE_INTO(struct others, color, colors)},
        {0},
    };
    hd_err err = {0};
    hd_text t = {0};
    assert_int_equal(hd_option_set_defaults(&(hd_option_set){.table = rows, .into = &v}, &err), HD_OK);
    for (const hd_option *o = rows; o->name; o++) {
        hd_option_copy(o, &copy, &v);
        hd_option_value(&t, o, &copy);
        hd_text_put(&t, " ");
    }
    assert_string_equal(t.data, "0.25 3 9007199254740992 blue ");
    assert_true(v.rate == 0.25f && v.count == 3 && v.seed == 9007199254740992 && v.color == BLUE);
    assert_true(v.after == -1 && v.last == -1 && !copy.after && !copy.last);
    hd_text_release(&t);
    assert_int_equal(hd_option_count(table), ROWS);
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

/* A list that is broken in the middle of a name would have two wrong ones; one that is there twice would be
   answered by its first row alone. */
static void foreign_names_are_whole_and_there_once(void **state)
{
    (void)state;
    char all[8192] = " ";
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        assert_true(synonyms[i].ours[0] && *synonyms[i].theirs);
        for (const char *at = synonyms[i].theirs; *at; at += strspn(at, " ")) {
            char word[64];
            int length = (int)strcspn(at, " ");
            snprintf(word, sizeof word, " %.*s ", length, at);
            if (length > LONGEST || *at == '-' || at[length - 1] == '-') fail_msg("'%s'", word);
            if (strstr(all, word)) fail_msg("'%s' is there twice", word);
            assert_true(strlen(all) + strlen(word) < sizeof all);
            strcat(all, word + 1);
            at += length;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_set),
        cmocka_unit_test(every_form_is_read),
        cmocka_unit_test(leading_options_end_at_the_first_word),
        cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(an_option_that_is_gone_says_what_to_do),
        cmocka_unit_test(whole_numbers_are_exact),
        cmocka_unit_test(several_values_follow_one_option),
        cmocka_unit_test(what_was_given_is_marked),
        cmocka_unit_test(the_last_word_on_a_flag_counts),
        cmocka_unit_test(forms_show_how_many_values),
        cmocka_unit_test(fields_of_other_types_are_read_and_written),
        cmocka_unit_test(near_words_are_found),
        cmocka_unit_test(foreign_names_are_whole_and_there_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
