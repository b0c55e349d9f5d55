/* heed generate as a user meets it: the prompt, then the text; the same for the same seed. */
#include "check.h"
#include "cli/shell.h"
#include "task/speaker.h"

#include <jansson.h>

static int make_models(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    speaker_folder(at("m"), HD_LM_ngram, HD_TOKENIZER_characters);
    speaker_folder(at("g"), HD_LM_gpt, HD_TOKENIZER_characters);
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
    const char *out = must_run("$HEED generate m -q --prompt 'a mat\\n' --stop '\\n' --seed 3");
    assert_memory_equal(out, "a mat\n", 6);
    assert_true(strlen(out) > 7);
    assert_ptr_equal(strchr(out + 6, '\n'), out + strlen(out) - 1); /* one line more */
    assert_prints(
        "$HEED generate m -q --prompt 'a\\\\b\\q\\t' --tokens 1 | head -c 6 | od -An -c | tr -d ' \\n'", 0,
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
    char *out = strdup(must_run("$HEED generate m p --samples 2 --tokens 9 --json"));
    static const char *const prompt[] = {"the cat", "", "a\nb"};
    char texts[6][64], *line = out;
    for (int i = 0; i < 6; i++) {
        json_t *o = parsed(line);
        assert_string_equal(json_string_value(json_object_get(o, "prompt")), prompt[i / 2]);
        assert_int_equal(json_integer_value(json_object_get(o, "sample")), i % 2 + 1);
        assert_int_equal(json_integer_value(json_object_get(o, "token_count")), 9);
        assert_true(json_number_value(json_object_get(o, "logprob")) < 0);
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
    assert_prints("$HEED generate m p --samples 2 --tokens 9", 0, expected);
}

/* More prompts than go side by side, with a model whose context is short: each line as it is without those
   behind it. */
static void more_prompts_change_none_before_them(void **state)
{
    (void)state;
    must_run("for i in $(seq 150); do echo \"the cat $i\" | cut -c 1-$((i % 9 + 1)); done > many");
    must_run("$HEED generate g many --device cpu --samples 2 --tokens 20 --json > all && test $(wc -l < all) "
             "= 300");
    must_run("head -n 70 many | $HEED generate g - --device cpu --samples 2 --tokens 20 --json > some && "
             "head -n 140 all | cmp - some");
    must_run("head -n 1 many | $HEED generate g - --device cpu --samples 1 --tokens 20 --json > one && "
             "head -n 1 all | cmp - one");
    must_run("printf 'a\\nb\\n\\377\\nc\\n' > bad; ! $HEED generate g bad --tokens 5 --json > out 2> "
             "why "
             "&& grep -q 'bad:3: not UTF-8' why && printf 'a\\nb\\nx\\nc\\n' | $HEED generate g - "
             "--tokens 5 --json | sed '3s/.*/{\"line\": 3, \"error\": \"not UTF-8: byte 0xff at offset "
             "0\"}/' | cmp - out");
    assert_prints("printf 'a\\n\\377\\n' | $HEED generate g - --tokens 1 --no-prompt 2>&1 > out | wc -l; "
                  "sed 1d out",
                  0, "2\n\n\n");
}

/* A stop may be typed as \n or be the line end itself. */
static void a_line_end_stops_however_it_is_typed(void **state)
{
    (void)state;
    must_run("printf 'the cat\\nthe d\\n' > two");
    must_run("$HEED generate m two --tokens 64 --stop \"\\n\" --samples 4 > a && "
             "$HEED generate m two --tokens 64 --stop '\n' --samples 4 | cmp - a && "
             "test $(grep -c '^the ' a) = 8 && test $(wc -l < a) = 15"); /* 8 texts, 7 empty lines */
}

/* Two tasks in one text, told apart by the word before the colon; the same words are answered by both. */
static void one_model_does_what_the_prefix_asks(void **state)
{
    (void)state;
    must_run("for i in $(seq 20); do for w in abc bca dab cad bdc adb; do "
             "echo \"copy: $w -> $w\"; echo \"reverse: $w -> $(echo $w | rev)\"; done; done | "
             "awk '{print (NR * 7919) % 241, $0}' | sort -n | cut -d' ' -f2- > tasks");
    must_run("$HEED train -q --task lm --model gpt --device cpu --layers 2 --width 32 --heads 2 --context 24 "
             "--batch-size 16 --lr 0.01 --warmup 20 --steps 700 --train tasks --out both");
    must_run("for w in abc dab bdc; do echo \"copy: $w ->\"; echo \"reverse: $w ->\"; done > ask");
    assert_prints("$HEED generate both --device cpu ask --tokens 64 --stop '\\n' --samples 5 "
                  "--temperature 0.7 --majority | cut -f1 | tr '\\n' ' '",
                  0, "abc cba dab bad bdc cdb ");
    assert_prints("$HEED generate both --device cpu ask --tokens 64 --stop '\\n' --greedy "
                  "--no-prompt | tr -d ' ' | tr -s '\\n' ' '",
                  0, "abc cba dab bad bdc cdb ");
}

static void a_prompt_can_be_left_out(void **state)
{
    (void)state;
    must_run("printf 'the cat\nthe d\n' > two; for n in 1 2; do "
             "$HEED generate m two --samples $n --tokens 9 --stop '\n' > with && "
             "$HEED generate m two --samples $n --tokens 9 --stop '\n' --no-prompt > without && "
             "sed 's/^the cat//; s/^the d//' with | cmp - without || exit 1; done");
    must_run("test \"$($HEED generate m --prompt 'the cat' --tokens 9 --greedy)\" = "
             "\"the cat$($HEED generate m --prompt 'the cat' --tokens 9 --greedy --no-prompt)\"");
}

static void repetition_can_be_discouraged(void **state)
{
    (void)state;
    must_run(
        "$HEED generate g --prompt 'the' --greedy --tokens 12 > plain && "
        "$HEED generate g --prompt 'the' --greedy --tokens 12 --repetition-penalty 1 | cmp - plain && "
        "! $HEED generate g --prompt 'the' --greedy --tokens 12 --repetition-penalty 50 | cmp -s - plain");
    assert_fails("$HEED generate g --repetition-penalty 0", 2, "--repetition-penalty");
}

/* What --majority says is what the texts of --json say. */
static void samples_vote(void **state)
{
    (void)state;
    put_file(at("q"), "the \nthe dog sat on the\n");
    static const char ask[] = "$HEED generate m q --samples 9 --tokens 4 --stop ' ' --temperature 0.7 ";
    char command[256];
    snprintf(command, sizeof command, "%s--json", ask);
    char *all = strdup(must_run(command)), *line = all;
    snprintf(command, sizeof command, "%s--majority --json", ask);
    char *votes = strdup(must_run(command)), *vote = votes;
    char expected[512] = "";
    for (int i = 0; i < 2; i++) {
        json_t *v = parsed(vote), *answers = json_object_get(v, "answers"), *a;
        size_t k, sum = 0;
        int mine = 0;
        for (int j = 0; j < 9; j++, line = strchr(line, '\n') + 1) {
            json_t *o = parsed(line);
            const char *text = json_string_value(json_object_get(o, "text"));
            text += strspn(text, " \n");
            size_t n = strlen(text);
            while (n && (text[n - 1] == ' ' || text[n - 1] == '\n')) n--;
            const char *answer = json_string_value(json_object_get(v, "answer"));
            mine += n == strlen(answer) && !memcmp(text, answer, n);
            json_decref(o);
        }
        double last = INFINITY;
        json_array_foreach(answers, k, a)
        {
            double count = json_number_value(json_object_get(a, "count"));
            assert_true(count <= last);
            last = count, sum += (size_t)count;
        }
        assert_int_equal(sum, 9);
        assert_true(json_array_size(answers) > 1);
        assert_int_equal(json_integer_value(json_object_get(json_array_get(answers, 0), "count")), mine);
        assert_true(fabs(json_number_value(json_object_get(v, "share")) - mine / 9.0) < 1e-6);
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s\t%.4g\n",
                 json_string_value(json_object_get(v, "answer")), mine / 9.0);
        json_decref(v);
        vote = strchr(vote, '\n') + 1;
    }
    assert_int_equal(*vote, 0);
    snprintf(command, sizeof command, "%s--majority", ask);
    assert_prints(command, 0, expected);
    free(all);
    free(votes);
    assert_fails("$HEED generate m --majority --no-prompt", 2, "--majority|--no-prompt");
}

static void what_was_attended_to_is_shown(void **state)
{
    (void)state;
    json_error_t e;
    must_run("$HEED generate g --prompt 'the' --tokens 3 --samples 2 --attention a.json");
    json_t *root = json_load_file(at("a.json"), JSON_REJECT_DUPLICATES, &e);
    assert_int_equal(json_array_size(json_object_get(root, "sentences")), 2);
    json_t *o = json_array_get(json_object_get(root, "sentences"), 1),
           *names = json_object_get(o, "input_tokens"), *says = json_object_get(o, "output_tokens"),
           *head = json_array_get(
               json_array_get(json_object_get(json_object_get(o, "attention"), "decoder"), 0), 1);
    assert_string_equal(json_string_value(json_object_get(o, "source")), "the");
    assert_int_equal(json_array_size(names), 7); /* what stands before a line, "the", three more */
    assert_string_equal(json_string_value(json_array_get(names, 0)), "</s>");
    assert_string_equal(json_string_value(json_array_get(names, 3)), "e");
    assert_string_equal(json_string_value(json_array_get(says, 2)), "e");
    assert_true(json_is_null(json_array_get(says, 6)));
    assert_int_equal(json_array_size(head), 7);
    for (size_t i = 0; i < 7; i++) {
        double sum = 0;
        for (size_t j = 0; j < 7; j++) {
            double w = json_number_value(json_array_get(json_array_get(head, i), j));
            if (j > i) assert_true(w == 0);
            sum += w;
        }
        assert_true(fabs(sum - 1) < 1e-6);
    }
    json_decref(root);
    must_run("for e in html svg; do $HEED generate g -p a -n 2 --attention b.$e > /dev/null && test -s "
             "b.$e || exit 1; done; grep -q '\"masked\":true' b.html");
    must_run(
        "$HEED generate g -p a -n 2 --view --head 2 | grep 'Decoder self-attention, layer 1 of 1, head 2'");
    assert_prints("$HEED generate g -p the -n 20 --attention c.html 2>&1 > /dev/null; ls c.html", 2,
                  "heed generate: attention: the text has 24 tokens, the model takes 8\n"
                  "ls: cannot access 'c.html': No such file or directory\n");
    assert_fails("$HEED generate m --attention c.html", 1, "kind ngram has no attention: use a gpt");
    assert_fails("$HEED generate g --majority --view", 2, "--majority and --view");
}

static void what_cannot_be_is_said_once(void **state)
{
    (void)state;
    assert_fails("$HEED generate", 2, "heed generate: ");
    assert_fails("$HEED generate nowhere", 1, "heed generate: nowhere");
    assert_fails("$HEED generate m --prompt a b", 2, "--prompt and files of prompts exclude");
    assert_fails("$HEED generate m --greedy --temperature 1", 2, "--greedy and --temperature");
    assert_fails("$HEED generate m --stop ''", 2, "--stop is empty");
    assert_fails("$HEED generate m nowhere", 1, "nowhere");
    assert_fails("$HEED generate m --prompts p --harmonise", 2, "--harmonise needs a model of music");
    assert_fails("$HEED generate m --prompt \"$(printf 'a\\377')\"", 1, "--prompt is not UTF-8");
    assert_fails("$HEED generate m --temperature -1", 2, "--temperature");
    assert_fails("$HEED generate m --tokens 10 > /dev/full", 1, "cannot write");
}

static void weights_can_be_of_bf16(void **state)
{
    (void)state;
    must_run("printf 'the\\na cat\\nthe dog\\n' > three && "
             "$HEED generate g --device cpu --precision bf16 three --greedy --tokens 20 > all && "
             "test $(wc -c < all) -gt 60 && "
             "$HEED generate g --device cpu --precision bf16 three --greedy --tokens 20 "
             "--threads 1 | cmp - all && "
             "$HEED generate g --device cpu --precision bf16 --prompt 'the' --greedy --tokens 20 > one && "
             "head -c $(wc -c < one) all | cmp - one");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_can_be_of_bf16),
        cmocka_unit_test(the_prompt_comes_first_and_the_seed_decides),
        cmocka_unit_test(escapes_are_meant_in_prompts_and_stops),
        cmocka_unit_test(several_prompts_and_samples_are_told_apart),
        cmocka_unit_test(more_prompts_change_none_before_them),
        cmocka_unit_test(a_line_end_stops_however_it_is_typed),
        cmocka_unit_test(one_model_does_what_the_prefix_asks),
        cmocka_unit_test(a_prompt_can_be_left_out),
        cmocka_unit_test(repetition_can_be_discouraged),
        cmocka_unit_test(samples_vote),
        cmocka_unit_test(what_was_attended_to_is_shown),
        cmocka_unit_test(what_cannot_be_is_said_once),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
