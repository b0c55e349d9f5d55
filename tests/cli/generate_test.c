/* heed generate as a user meets it: the prompt, then the text; the same for the same seed. */
#include "check.h"
#include "cli/shell.h"
#include "task/speaker.h"

#include <jansson.h>

static int make_models(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    speaker_folder(at("m"), HD_LM_ngram, HD_TOKENISER_characters);
    speaker_folder(at("g"), HD_LM_gpt, HD_TOKENISER_characters);
    return 0;
}

static void the_prompt_comes_first_and_the_seed_decides(void **state)
{
    (void)state;
    char first[SHELL_ROOM];
    snprintf(first, sizeof first, "%s",
             must_run("$HEED generate m --prompt 'the d' --tokens 100 --temperature 0.8 --seed 1"));
    assert_memory_equal(first, "the d", 5);
    size_t size = strlen(first);
    assert_true(size == 105 || size == 106); /* a line end, unless the text ends in one */
    assert_int_equal(first[size - 1], '\n');
    assert_string_equal(
        must_run("$HEED generate m --prompt 'the d' --tokens 100 --temperature 0.8 --seed 1 --threads 2"),
        first);
    assert_string_not_equal(
        must_run("$HEED generate m --prompt 'the d' --tokens 100 --temperature 0.8 --seed 2"), first);
    char greedy[SHELL_ROOM];
    snprintf(greedy, sizeof greedy, "%s", must_run("$HEED generate m --prompt 'the d' --greedy --seed 1"));
    assert_string_equal(must_run("$HEED generate m --prompt 'the d' --temperature 0 --seed 2"), greedy);
    assert_string_equal(must_run("$HEED generate m --prompt 'the d' --top-k 1 --seed 3"), greedy);
}

static void escapes_are_meant_in_prompts_and_stops(void **state)
{
    (void)state;
    const char *out = must_run("$HEED generate m --prompt 'a mat\\n' --stop '\\n' --seed 3");
    assert_memory_equal(out, "a mat\n", 6);
    assert_true(strlen(out) > 7);
    assert_ptr_equal(strchr(out + 6, '\n'), out + strlen(out) - 1); /* one line more */
    assert_prints(
        "$HEED generate m --prompt 'a\\\\b\\q\\t' --tokens 1 | head -c 6 | od -An -c | tr -d ' \\n'", 0,
        "a\\b\\q\\t"); /* what is no escape stays */
}

static json_t *parsed(const char *line)
{
    json_error_t e;
    json_t *o = json_loads(line, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &e);
    if (!json_is_object(o)) fail_msg("%s: %s", line, e.text);
    return o;
}

static void several_prompts_and_samples_are_told_apart(void **state)
{
    (void)state;
    put_file(at("p"), "the cat\n\na\\nb\n");
    char *out = strdup(must_run("$HEED generate m --prompts p --samples 2 --tokens 9 --json"));
    static const char *const prompt[] = {"the cat", "", "a\nb"};
    char texts[6][64], *line = out;
    for (int i = 0; i < 6; i++) {
        json_t *o = parsed(line);
        assert_string_equal(json_string_value(json_object_get(o, "prompt")), prompt[i / 2]);
        assert_int_equal(json_integer_value(json_object_get(o, "sample")), i % 2 + 1);
        assert_int_equal(json_integer_value(json_object_get(o, "tokens")), 9);
        assert_true(json_number_value(json_object_get(o, "logp")) < 0);
        assert_true(json_is_false(json_object_get(o, "stopped")));
        snprintf(texts[i], sizeof texts[i], "%s", json_string_value(json_object_get(o, "text")));
        json_decref(o);
        line = strchr(line, '\n') + 1;
    }
    assert_int_equal(*line, 0);
    free(out);
    /* the same texts without JSON, an empty line between two */
    char expected[1024] = "";
    for (int i = 0; i < 6; i++) {
        size_t n = strlen(texts[i]);
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s%s%s%s", i ? "\n" : "",
                 prompt[i / 2], texts[i], n && texts[i][n - 1] == '\n' ? "" : "\n");
    }
    assert_prints("$HEED generate m --prompts p --samples 2 --tokens 9", 0, expected);
}

/* More prompts than go side by side, with a model whose context is short: each line as it is without those
   behind it. */
static void more_prompts_change_none_before_them(void **state)
{
    (void)state;
    must_run("for i in $(seq 150); do echo \"the cat $i\" | cut -c 1-$((i % 9 + 1)); done > many");
    must_run(
        "$HEED generate g --prompts many --samples 2 --tokens 20 --json > all && test $(wc -l < all) = 300");
    must_run("head -n 70 many | $HEED generate g --prompts - --samples 2 --tokens 20 --json > some && "
             "head -n 140 all | cmp - some");
    must_run("head -n 1 many | $HEED generate g --prompts - --samples 1 --tokens 20 --json > one && "
             "head -n 1 all | cmp - one");
    must_run("printf 'a\\nb\\n\\377\\n' > bad; ! $HEED generate g --prompts bad --tokens 5 > out 2> why && "
             "grep -q 'prompt 3 is not UTF-8' why && printf 'a\\nb\\n' | $HEED generate g --prompts - "
             "--tokens 5 | cmp - out");
}

static void what_cannot_be_is_said_once(void **state)
{
    (void)state;
    assert_fails("$HEED generate", 2, "heed generate: ");
    assert_fails("$HEED generate nowhere", 1, "heed generate: nowhere");
    assert_fails("$HEED generate m --prompt a --prompts b", 2, "--prompt and --prompts");
    assert_fails("$HEED generate m --greedy --temperature 1", 2, "--greedy and --temperature");
    assert_fails("$HEED generate m --stop ''", 2, "--stop is empty");
    assert_fails("$HEED generate m --prompts nowhere", 1, "nowhere");
    assert_fails("$HEED generate m --prompt \"$(printf 'a\\377')\"", 1, "prompt 1 is not UTF-8");
    assert_fails("$HEED generate m --temperature -1", 2, "--temperature");
    assert_fails("$HEED generate m --tokens 10 > /dev/full", 1, "cannot write");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_prompt_comes_first_and_the_seed_decides),
        cmocka_unit_test(escapes_are_meant_in_prompts_and_stops),
        cmocka_unit_test(several_prompts_and_samples_are_told_apart),
        cmocka_unit_test(more_prompts_change_none_before_them),
        cmocka_unit_test(what_cannot_be_is_said_once),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
