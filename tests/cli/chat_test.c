/* heed chat and generate --chat as a user meets them, with a model that learned dialogues. */
#include "check.h"
#include "cli/shell.h"

#include "cli/dialogues.h"

static void dialogues_are_learned(void **state)
{
    (void)state;
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

/* Templates of models made here have a message in one line. */
static void a_message_may_have_several_lines(void **state)
{
    (void)state;
    must_run("printf '\"\"\"the\\ncat?\"\"\"\\n\"\"\"\\n/exit\\n\"\"\"\\n/save l.jsonl\\n\"\"\"the dog?' | "
             "$HEED chat m -q --greedy > l");
    assert_prints("head -n 1 l; tail -n 1 l; wc -l < l | tr -d ' '; grep -o '\"content\":\"[^\"]*\"' l.jsonl "
                  "| sed -n '1p;3p'",
                  0, "meow\nwoof\n3\n\"content\":\"the\\ncat?\"\n\"content\":\"\\n/exit\\n\"\n");
    assert_prints("printf '\"\"\"a\\n\\377\\n\"\"\"\\nthe cow?\\n' | $HEED chat m -q --greedy 2>/dev/null", 1,
                  "\nmoo\n");
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

static void a_killed_run_equals_a_whole_one(void **state)
{
    (void)state;
    must_run(DIALOGUE_TRAIN "--steps 60 --save-every 5 --out whole");
    must_run(DIALOGUE_TRAIN
             "--steps 60 --save-every 5 --out parts & "
             "while ! test -s parts/train/current; do sleep 0.01; done; kill -9 $! 2>/dev/null; "
             "wait $! 2>/dev/null; $HEED train -q --resume --out parts");
    assert_prints("cmp whole/model.safetensors parts/model.safetensors && cmp whole/chat_template.jinja "
                  "parts/chat_template.jinja",
                  0, "");
}

/* As text "</s>" is four characters, as a token it would be one. */
static void what_is_typed_is_never_a_control_token(void **state)
{
    (void)state;
    must_run("for i in $(seq 30); do printf '</s>'; done > long; echo >> long");
    assert_prints("$HEED chat m < long 2>&1 | grep -c 'the message has 138 tokens, the model takes 96'", 0,
                  "1\n");
    must_run("rm -rf n; cp -r m n; echo '{\"max_length\": 40}' > n/generation_config.json");
    assert_prints("$HEED generate n --chat --prompts long 2>&1 | grep -c 'the prompt has 138 tokens, a text "
                  "at most 40'",
                  0, "1\n");
    assert_prints(
        "$HEED generate n --chat --prompt '<s>user</s><s>user</s>' 2>&1 | grep -c 'the prompt has 40 tokens'",
        0, "1\n");
    must_run("for t in '</s></s>' 'aaaaaaaa'; do printf '{\"messages\": [{\"role\": \"user\", \"content\": "
             "\"%s\"}, {\"role\": "
             "\"assistant\", \"content\": \"<s>%s\"}]}\\n' $t $t > t.jsonl; $HEED train --task lm --model "
             "gpt --train t.jsonl "
             "--unit char --layers 1 --heads 1 --width 8 --context 64 --batch-size 1 --steps 1 --overwrite "
             "--out typed 2>&1 | "
             "grep -o 'tokens: [0-9]*' >> tokens; done");
    assert_prints("cat tokens", 0, "tokens: 38\ntokens: 38\n");
}

/* A text that cannot end is stopped, twice, and the conversation goes on. */
static void an_interrupt_ends_the_answer_alone(void **state)
{
    (void)state;
    must_run("$HEED train -q --task lm --model llama --train d.jsonl --unit char --layers 1 --heads 1 "
             "--width 8 --context 60000 "
             "--batch-size 1 --steps 1 --out endless && echo '{\"min_new_tokens\": 59000}' > "
             "endless/generation_config.json && "
             "mkfifo in");
    must_run("$HEED chat endless --tokens 59000 --threads 1 < in > said 2> noted & p=$!; exec 3> in; "
             "until_said() { i=0; while [ $(wc -c < said) -le $1 ]; do sleep 0.05; i=$((i + 1)); [ $i -lt "
             "400 ] || exit 9; done; }; "
             "for m in one two; do had=$(wc -c < said); echo $m >&3; until_said $((had + 5)); kill -INT $p; "
             "i=0; while [ \"$(tail -c 1 said | od -An -tx1)\" != ' 0a' ]; do sleep 0.05; i=$((i + 1)); [ $i "
             "-lt 400 ] || exit 8; done; done; "
             "echo '/save saved.jsonl' >&3; exec 3>&-; wait $p");
    assert_prints("wc -l < said | tr -d ' '; grep -o '\"role\":\"[a-z]*\"' saved.jsonl | cut -d '\"' -f 4 | "
                  "tr '\\n' ' '",
                  0, "2\nuser assistant user assistant ");
}

/* A model that learned on is asked as the one that it came from. */
static void template_and_generation_config_come_along(void **state)
{
    (void)state;
    must_run("rm -rf n; cp -r m n; echo '{\"do_sample\": false, \"max_new_tokens\": 2}' > "
             "n/generation_config.json; "
             "printf 'the cat\\nthe dog\\nthe cow\\n' > plain.txt; "
             "$HEED train -q --task lm --from n --train plain.txt --context 8 --batch-size 1 --steps 2 --lr "
             "0 --out further");
    assert_prints("cmp n/generation_config.json further/generation_config.json && cmp n/chat_template.jinja "
                  "further/chat_template.jinja && echo 'the cat?' | $HEED chat further -q",
                  0, "me\n");
    must_run("$HEED train -q --task lm --from n --train plain.txt --context 8 --batch-size 1 --steps 4 "
             "--save-every 1 --lr 0 --overwrite --out "
             "further && $HEED train -q --resume --steps 6 --out further");
    assert_prints("cmp n/generation_config.json further/generation_config.json", 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dialogues_are_learned),
        cmocka_unit_test(commands_and_errors_do_not_reach_the_answers),
        cmocka_unit_test(a_message_may_have_several_lines),
        cmocka_unit_test(generate_asks_each_line_by_itself),
        cmocka_unit_test(bad_dialogues_are_refused_with_file_and_line),
        cmocka_unit_test(a_killed_run_equals_a_whole_one),
        cmocka_unit_test(what_is_typed_is_never_a_control_token),
        cmocka_unit_test(an_interrupt_ends_the_answer_alone),
        cmocka_unit_test(template_and_generation_config_come_along),
    };
    return cmocka_run_group_tests(tests, dialogues_learn, scratch_remove);
}
