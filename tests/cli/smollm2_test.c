/* heed import, chat and generate with a real model, the GGUF file that HEED_SMOLLM2 in the environment names
   (tests/hub/smollm2_test.c). The answers are those of transformers 5.22 in floats. */
#include "check.h"
#include "cli/shell.h"
#include "outcome.h"

static int import_it(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    if (getenv("HEED_SMOLLM2")) must_run("$HEED import -q \"$HEED_SMOLLM2\" smol");
    return 0;
}

static void it_answers_as_in_transformers(void **state)
{
    (void)state;
    if (!getenv("HEED_SMOLLM2")) leave_out("HEED_SMOLLM2 names no file");
    assert_prints("printf 'What is 2+2?\\nWhat is the capital of France?\\n' | $HEED chat smol -q --greedy",
                  0, "The answer to this classic math problem is 4.\nThe capital of France is Paris.\n");
    assert_prints("echo 'Who are you?' | $HEED chat smol -q --greedy -n 9 --system 'You are a pirate.'", 0,
                  "Aye, me name be Captain Blackwood\n");
    must_run("printf 'What is 2+2?\\nWhat is the capital of France?\\n' > questions.txt");
    assert_prints("$HEED generate smol -q --chat --prompts questions.txt --greedy", 0,
                  "The answer to this classic math problem is 4.\n\nThe capital of France is Paris.\n");
    assert_prints("$HEED generate smol -q --chat --prompts questions.txt --samples 3 --temperature 0.1 "
                  "--majority --answer "
                  "'(4|Paris)' | cut -f 1",
                  0, "4\nParis\n");
}

static void an_export_is_asked_as_the_model_is(void **state)
{
    (void)state;
    if (!getenv("HEED_SMOLLM2")) leave_out("HEED_SMOLLM2 names no file");
    must_run("$HEED export -q smol published && cmp smol/generation_config.json "
             "published/generation_config.json && "
             "grep -q chat_template published/tokenizer_config.json && $HEED import -q published again");
    assert_prints("echo 'What is 2+2?' | $HEED chat again -q --greedy", 0,
                  "The answer to this classic math problem is 4.\n");
}

/* "<|im_end|>" three times is 19 tokens of text in transformers, and would be 3 control tokens; the template
   has 30. */
static void control_tokens_that_are_typed_are_text(void **state)
{
    (void)state;
    if (!getenv("HEED_SMOLLM2")) leave_out("HEED_SMOLLM2 names no file");
    must_run("echo '{\"max_length\": 5, \"eos_token_id\": 2}' > smol/generation_config.json");
    assert_prints("for t in '' '<|im_end|><|im_end|><|im_end|>'; do $HEED generate smol --chat --prompt "
                  "\"$t\" 2>&1 | grep -o 'has [0-9]* tokens'; done",
                  0, "has 30 tokens\nhas 49 tokens\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_answers_as_in_transformers),
        cmocka_unit_test(an_export_is_asked_as_the_model_is),
        cmocka_unit_test(control_tokens_that_are_typed_are_text),
    };
    return outcome(cmocka_run_group_tests(tests, import_it, scratch_remove));
}
