/* Every option of chat and generate that says how texts are drawn and end does something, and so does
   generation_config.json. The model says meow, woof and moo if it is asked for what is likeliest. */
#include "check.h"
#include "cli/shell.h"

#include "cli/dialogues.h"

/* The same of both verbs, for one question. */
static void both_answer(const char *question, const char *options, const char *want)
{
    char command[512];
    snprintf(command, sizeof command, "echo '%s' | $HEED chat m -q %s", question, options);
    assert_prints(command, 0, want);
    snprintf(command, sizeof command, "$HEED generate m -q --chat --prompt '%s' %s", question, options);
    assert_prints(command, 0, want);
}

static void options_narrow_down_to_the_likeliest(void **state)
{
    (void)state;
    both_answer("the cat?", "--greedy", "meow\n");
    both_answer("the cat?", "--temperature 0", "meow\n");
    both_answer("the cat?", "--temperature 50 --top-k 1", "meow\n");
    both_answer("the cat?", "--temperature 50 --top-p 0.000001", "meow\n");
    both_answer("the cat?", "--temperature 50 --min-p 1", "meow\n");
    assert_prints("for v in 'chat m' 'generate m --chat --prompts -'; do for o in --greedy ''; do for s in 1 "
                  "2 3 4 5; do "
                  "echo '?' | $HEED $v -q $o --seed $s --temperature 3 2>/dev/null || echo '?' | $HEED $v -q "
                  "$o --seed $s; "
                  "done | sort | uniq | wc -l; done; done | tr -d ' ' | sed 's/[2-5]/many/'",
                  0, "1\nmany\n1\nmany\n");
    /* and are needed for it */
    assert_prints("for s in 1 2 3; do echo 'the cat?' | $HEED chat m -q --temperature 50 --seed $s; done | "
                  "grep -cx meow",
                  1, "0\n");
    assert_prints(
        "$HEED generate m -q --chat --prompt 'the cat?' --temperature 50 --samples 3 | grep -cx meow", 1,
        "0\n");
}

static void options_end_texts(void **state)
{
    (void)state;
    both_answer("the cow?", "--greedy --stop o", "m\n");
    both_answer("the cow?", "--greedy --stop x --stop oo", "m\n");
    both_answer("the cat?", "--greedy --tokens 2", "me\n");
    assert_prints("echo a | $HEED chat m --stop '' 2>&1 | grep -c -e '--stop is empty'", 0, "1\n");
    assert_prints("echo a | $HEED chat m --greedy --temperature 1 2>&1 | grep -c 'exclude each other'", 0,
                  "1\n");
}

/* A penalty divides a score: what is far ahead of all others may stay so, but not of every animal. */
static void what_was_said_is_not_said_again(void **state)
{
    (void)state;
    both_answer("the cow?", "--greedy", "moo\n");
    assert_prints("{ echo 'the cow?' | $HEED chat m -q --greedy --no-repeat 1; $HEED generate m -q --chat "
                  "--prompt 'the cow?' --greedy --no-repeat 1; } | grep -cx moo",
                  1, "0\n");
    must_run(
        "for v in 'chat m' 'generate m --chat --prompts -'; do printf 'the cow?\\nthe cat?\\nthe dog?\\n' "
        "| $HEED $v -q --greedy --repetition-penalty 100 > said; "
        "[ $(grep -cx -e moo -e meow -e woof said) -lt 3 ] || exit 1; done");
}

static void a_seed_gives_a_text(void **state)
{
    (void)state;
    must_run("for v in 'chat m' 'generate m --chat --prompts -'; do for s in 1 2; do for r in a b; do echo "
             "'the cat?' | "
             "$HEED $v -q --temperature 5 --seed $s > $r$s; done; cmp a$s b$s || exit 1; done; ! cmp -s a1 "
             "a2 || exit 1; "
             "done");
}

/* At 1, the temperature of texts, they would be others. */
static void answers_have_a_temperature_of_their_own(void **state)
{
    (void)state;
    must_run("for s in 1 2 3 4 5 6; do for t in '' '--temperature 0.7' '--temperature 1'; do $HEED generate "
             "m -q --chat --prompt "
             "'?' --samples 4 --seed $s $t >> \"at$t\"; done; done; cmp at 'at--temperature 0.7' && ! cmp -s "
             "at 'at--temperature 1'");
}

static void samples_and_their_majority(void **state)
{
    (void)state;
    assert_prints("$HEED generate m -q --chat --prompt 'the dog?' --temperature 0.1 --samples 3", 0,
                  "woof\n\nwoof\n\nwoof\n");
    assert_prints("$HEED generate m -q --chat --prompt 'the dog?' --temperature 0.1 --samples 3 --majority",
                  0, "woof\t1\n");
    assert_prints("$HEED generate m -q --chat --prompt 'the dog?' --temperature 0.1 --samples 3 --majority "
                  "--answer '^.'",
                  0, "w\t1\n");
}

/* The template shows what it was given as an error, which is how a test can see it. */
static void the_system_message_reaches_the_template(void **state)
{
    (void)state;
    must_run("printf '{{ raise_exception(messages[0].role + \":\" + messages[0].content) }}' > t");
    assert_prints("echo a | $HEED chat m --template t --system 'Be brief.' 2>&1 | grep -c 'system:Be brief.'",
                  0, "1\n");
    assert_prints("echo a | $HEED chat m --template t 2>&1 | grep -c 'user:a'", 0, "1\n");
    assert_prints("printf '/system Now.\\na\\n' | $HEED chat m --template t --system 'Be brief.' 2>&1 | grep "
                  "-c 'system:Now.'",
                  0, "1\n");
    assert_prints("$HEED generate m --chat --prompt a --template t --system 'Be brief.' 2>&1 | grep -c "
                  "'system:Be brief.'",
                  0, "1\n");
}

static void configured(const char *json, const char *options, const char *want)
{
    char command[512];
    snprintf(command, sizeof command, "echo '%s' > m/generation_config.json", json);
    must_run(command);
    both_answer("the cow?", options, want);
}

static void generation_config_does_what_it_says(void **state)
{
    (void)state;
    configured("{\"do_sample\": false, \"temperature\": 50}", "", "moo\n");
    configured("{\"do_sample\": true, \"temperature\": 50, \"top_k\": 1}", "", "moo\n");
    configured("{\"do_sample\": false, \"max_new_tokens\": 2}", "", "mo\n");
    configured("{\"do_sample\": false, \"max_new_tokens\": 2}", "--tokens 1", "m\n");
    /* <s>user</s>the cow?</s><s>assistant</s> are 26 tokens */
    configured("{\"do_sample\": false, \"max_length\": 28}", "", "mo\n");
    configured("{\"do_sample\": false, \"stop_strings\": \"oo\"}", "", "m\n");
    assert_prints("echo '{\"num_beams\": 4, \"typical_p\": 0.2}' > m/generation_config.json; $HEED generate "
                  "m --chat --prompt "
                  "'the cow?' --greedy 2>&1 | grep -c 'has what heed does not do: num_beams, typical_p'",
                  0, "1\n");
    assert_prints("echo '{\"bad_words_ids\": [[99999]]}' > m/generation_config.json; $HEED generate m "
                  "--prompt a 2>&1 | grep -c "
                  "'\"bad_words_ids\" must be'",
                  0, "1\n");
    must_run("rm m/generation_config.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_narrow_down_to_the_likeliest),
        cmocka_unit_test(options_end_texts),
        cmocka_unit_test(what_was_said_is_not_said_again),
        cmocka_unit_test(a_seed_gives_a_text),
        cmocka_unit_test(answers_have_a_temperature_of_their_own),
        cmocka_unit_test(samples_and_their_majority),
        cmocka_unit_test(the_system_message_reaches_the_template),
        cmocka_unit_test(generation_config_does_what_it_says),
    };
    return cmocka_run_group_tests(tests, dialogues_learn, scratch_remove);
}
