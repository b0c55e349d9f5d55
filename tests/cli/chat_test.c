/* heed chat and generate --chat as a user meets them, with a model that learned dialogues. */
#include "check.h"
#include "cli/shell.h"

static int make_model(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    FILE *f = fopen(at("d.jsonl"), "w");
    static const char *const animal[][2] = {{"cat", "meow"}, {"dog", "woof"}, {"cow", "moo"}};
    for (int i = 0; i < 60; i++) {
        const char *const *a = animal[i % 3], *const *b = animal[i / 3 % 3];
        fprintf(f,
                "{\"messages\": [{\"role\": \"user\", \"content\": \"the %s?\"}, {\"role\": \"assistant\", "
                "\"content\": "
                "\"%s\"}, {\"role\": \"user\", \"content\": \"the %s?\"}, {\"role\": \"assistant\", "
                "\"content\": \"%s\"}]}\n",
                a[0], a[1], b[0], b[1]);
    }
    fclose(f);
    return 0;
}

static void dialogues_are_learned(void **state)
{
    (void)state;
    must_run("$HEED train -q --task lm --model gpt --train d.jsonl --unit char --layers 2 --heads 2 "
             "--width 32 "
             "--context 96 --batch-size 16 --steps 150 --lr 0.01 --warmup 10 --dropout 0 --seed 1 --out m");
    must_run("grep -q generation m/chat_template.jinja");
    assert_prints("printf 'the cat?\\nthe dog?\\n/clear\\nthe cow?\\n' | $HEED chat m --greedy -q", 0,
                  "meow\nwoof\nmoo\n");
}

static void commands_and_errors_do_not_reach_the_answers(void **state)
{
    (void)state;
    assert_prints(
        "printf '/help\\nthe cat?\\n/nosuch\\n/clear\\n\\nthe cow?\\n/save c.jsonl\\n/exit\\nthe dog?\\n' | "
        "$HEED chat m --greedy 2>/dev/null",
        0, "meow\n\nmoo\n");
    assert_prints("cat c.jsonl", 0,
                  "{\"messages\":[{\"role\":\"user\",\"content\":\"the "
                  "cow?\"},{\"role\":\"assistant\",\"content\":\"moo\"}]}\n");
    assert_prints(
        "printf '{{ nothing.x }}' > t; echo a | $HEED chat m --template t 2>&1 | grep -c 't, line 1'", 0,
        "1\n");
    assert_prints("echo a | $HEED chat m --template none 2>&1 | grep -c none", 0, "1\n");
    must_run("rm -rf n; cp -r m n; rm n/chat_template.jinja");
    assert_prints("echo a | $HEED chat n 2>&1 | grep -c 'no chat template: give one with --template'", 0,
                  "1\n");
    assert_prints("echo 'the dog?' | $HEED chat n --greedy --template m/chat_template.jinja", 0, "woof\n");
}

static void generate_asks_each_line_by_itself(void **state)
{
    (void)state;
    must_run("printf 'the cat?\\nthe dog?\\n' > q");
    assert_prints("$HEED generate m --chat --prompts q --greedy", 0, "meow\n\nwoof\n");
    assert_prints("$HEED generate m --chat --prompts q --samples 4 --majority --temperature 0.2 | cut -f 1",
                  0, "meow\nwoof\n");
    assert_prints("$HEED generate m --chat --prompt 'the cow?' --greedy --json | grep -c '\"text\": \"moo\", "
                  "\"token_count\": 4'",
                  0, "1\n");
    assert_prints("$HEED generate m --system x 2>/dev/null; echo $?", 0, "2\n");
}

static void bad_dialogues_are_refused_with_file_and_line(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"messages\": []}", "b.jsonl:1: a dialogue is"},
        {"{", "b.jsonl:1: not JSON"},
        {"{\"messages\": [{\"role\": \"user\"}]}", "b.jsonl:1: message 1 needs"},
        {"{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}", "there is no answer to learn from"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "echo '%s' > b.jsonl; $HEED train --task lm --model gpt --train b.jsonl --steps 1 --out x "
                 "2>&1 | grep -c '%s'",
                 cases[i][0], cases[i][1]);
        assert_prints(command, 0, "1\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dialogues_are_learned),
        cmocka_unit_test(commands_and_errors_do_not_reach_the_answers),
        cmocka_unit_test(generate_asks_each_line_by_itself),
        cmocka_unit_test(bad_dialogues_are_refused_with_file_and_line),
    };
    return cmocka_run_group_tests(tests, make_model, scratch_remove);
}
