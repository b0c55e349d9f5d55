/* heed compare as a user meets it: a line for each model, with the numbers of heed perplexity, and a plot. */
#include "check.h"
#include "cli/shell.h"
#include "task/speaker.h"

#include <jansson.h>

static int make_models(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    speaker_folder(at("grams"), HD_LM_ngram, HD_TOKENISER_characters);
    speaker_folder(at("words"), HD_LM_ngram, HD_TOKENISER_words);
    speaker_folder(at("fresh"), HD_LM_gpt, HD_TOKENISER_characters);
    put_file(at("t"), "the cat is on the log\nthe dog sat\n");
    put_file(at("u"), "the zebra\n");
    return 0;
}

static void models_stand_in_the_order_given(void **state)
{
    (void)state;
    char out[SHELL_ROOM], model[64], kind[16], unit[16];
    snprintf(out, sizeof out, "%s", must_run("$HEED compare fresh grams words --text t"));
    static const char *const expected[][3] = {
        {"fresh", "gpt", "char"}, {"grams", "ngram", "char"}, {"words", "ngram", "word"}};
    char *line = strchr(out, '\n');
    assert_memory_equal(out, "model  kind    unit", 19);
    assert_null(strstr(out, "<unk>"));
    for (size_t i = 0; i < COUNT_OF(expected); i++, line = strchr(line + 1, '\n')) {
        double perplexity, bits;
        char size[32], rate[32];
        if (sscanf(line, "%63s %15s %15s %31s %lf %lf %31s", model, kind, unit, size, &perplexity, &bits,
                   rate) != 7)
            fail_msg("%s", out);
        assert_string_equal(model, expected[i][0]);
        assert_string_equal(kind, expected[i][1]);
        assert_string_equal(unit, expected[i][2]);
        assert_true(perplexity > 1 && bits > 0);
    }
    assert_string_equal(line, "\n");
    const char *unknown = must_run("$HEED compare grams words --text u");
    assert_non_null(strstr(unknown, "warning: words: 1 of 3 tokens are <unk>"));
    assert_non_null(strstr(unknown, "33.3%"));
}

static void numbers_are_those_of_perplexity(void **state)
{
    (void)state;
    json_error_t e;
    json_t *all = json_loads(must_run("$HEED compare grams fresh --text t --json"), 0, &e);
    json_t *one = json_loads(must_run("$HEED perplexity fresh --json < t"), 0, &e);
    json_t *fresh = json_array_get(json_object_get(all, "models"), 1);
    static const char *const keys[] = {"tokens", "perplexity", "bits_per_character", "characters", "nats"};
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        assert_true(json_equal(json_object_get(fresh, keys[i]), json_object_get(one, keys[i])));
    assert_string_equal(json_string_value(json_object_get(fresh, "model")), "fresh");
    assert_true(json_integer_value(json_object_get(fresh, "parameters")) > 1000);
    json_decref(all);
    json_decref(one);
}

static void the_ladder_is_drawn(void **state)
{
    (void)state;
    must_run("$HEED compare grams words --text u --plot l.svg -q");
    char *svg = get_file(at("l.svg"), NULL);
    assert_non_null(strstr(svg, ">grams<"));
    assert_non_null(strstr(svg, ">ngram, word, &lt;unk&gt; 33.3%<"));
    free(svg);
}

static void what_cannot_be_compared_is_said_once(void **state)
{
    (void)state;
    assert_fails("$HEED compare --text t", 2, "heed compare: ");
    assert_fails("$HEED compare grams", 2, "--text is missing");
    assert_fails("$HEED compare grams --text - < t", 2, "--text must be a file");
    assert_fails("$HEED compare grams nowhere --text t", 1, "heed compare: nowhere");
    assert_fails("$HEED compare grams --text nowhere", 1, "nowhere");
    assert_fails("$HEED compare grams --text t --plot l.gif", 1, "l.gif|.svg, .png or .pdf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_stand_in_the_order_given),
        cmocka_unit_test(numbers_are_those_of_perplexity),
        cmocka_unit_test(the_ladder_is_drawn),
        cmocka_unit_test(what_cannot_be_compared_is_said_once),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
