/* Words that a model's vocabulary lacks, as a user meets them: one warning a run that counts them, in every
   verb that reads text, and the word itself where tokens are shown. */
#include "check.h"
#include "cli/shell.h"

#include <jansson.h>

static int make_models(void **state)
{
    char out[SHELL_ROOM];
    shell_prepare();
    if (scratch_make(state)) return -1;
    int s = shell(
        out,
        "$HEED corpus -q --pairs 300 --valid 20 --test 0 --out c; { printf 'label\\ttext\\n'; for i in 1 2 3 "
        "4 5 "
        "6 7 8; do printf \"A\\tthe cat sat $i\\nB\\tthe dog ran $i\\n\"; done; } >labels.tsv; for i in 1 2 "
        "3 4; do "
        "printf \"the\\tD\\ncat\\tN\\n$i\\tX\\n\\nthe\\tD\\ndog\\tN\\n$i\\tX\\n\\n\"; done >tags.tsv; "
        "for i in 1 2 3 4 5 6 7 8 9; do echo 'the cat sat on a mat'; done >text; "
        "$HEED train -q $TINY --train c/train.en c/train.de --steps 2 --out t && "
        "$HEED train -q --task lm --model gpt --unit word --width 16 --layers 1 --heads 2 "
        "--ffn-size 32 --train text --steps 2 --out l && "
        "$HEED train -q --task mlm --preset bert-tiny --unit word --train text --steps 2 --out b && "
        "$HEED train -q --task classify --model gru --unit word --train labels.tsv --steps 2 --out k && "
        "$HEED train -q --task tag --model gru --unit word --train tags.tsv --steps 2 --out g");
    if (s) print_error("%s\n", out);
    return s;
}

/* The verb, and how many of how many tokens it must count. */
static void every_verb_warns_once(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        int unknown, tokens;
    } cases[] = {
        {"printf 'I xyzzy . I xyzzy .\\nplugh .\\n' | $HEED translate -d cpu t", 3, 8},
        {"printf 'I xyzzy .\\n' | $HEED translate -d cpu t --max-source 1", 1, 3},
        {"printf 'I xyzzy .\\tich plugh .\\n' | $HEED rank t", 2, 6},
        {"echo 'the xyzzy sat' | $HEED perplexity l", 1, 3},
        {"echo 'the xyzzy [MASK]' | $HEED fill b", 1, 2},
        {"echo 'the xyzzy [MASK]' | $HEED fill b --attention a.json", 1, 2},
        {"printf 'the xyzzy\\nplugh cat\\n' | $HEED embed b", 2, 4},
        {"printf 'the xyzzy cat\\n' | $HEED classify k", 1, 3},
        {"printf 'the\\nxyzzy\\n\\n' | $HEED tag g", 1, 2},
        {"$HEED generate l --prompt 'the xyzzy' --tokens 2", 1, 2},
        {"$HEED generate l --prompt 'the xyzzy' --tokens 2 --samples 3", 1, 2},
        {"$HEED explain t 'I xyzzy .'", 1, 3},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char command[512], said[256] = "", expected[128];
        snprintf(command, sizeof command, "{ %s; } 2>said >/dev/null", cases[i].command);
        must_run(command);
        FILE *f = fopen(at("said"), "r");
        assert_non_null(f);
        size_t size = fread(said, 1, sizeof said - 1, f);
        fclose(f);
        said[size] = 0;
        snprintf(expected, sizeof expected,
                 "heed: warning: %d of %d tokens are not in the model's vocabulary and read as <unk>: '",
                 cases[i].unknown, cases[i].tokens);
        const char *end = strchr(said, '\n');
        if (strncmp(said, expected, strlen(expected)) || !end || end[1])
            fail_msg("%s: says '%s'", cases[i].command, said);
        assert_non_null(strstr(said, "'xyzzy'"));
    }
    must_run("echo 'the cat sat' | $HEED perplexity l 2>said >/dev/null; [ ! -s said ]"); /* none: no word */
    must_run("printf 'a1 a2 a3 a4 a5' | $HEED perplexity l 2>said >/dev/null; grep -q \"'a1', 'a2', 'a3', "
             "...$\" said");
}

/* Where tokens are shown the word stands, marked; JSON has it as it is and says which it is. */
static void the_word_itself_is_shown(void **state)
{
    (void)state;
    must_run("echo 'I xyzzy .' | $HEED translate -d cpu t -q --max-length 3 --view >v; grep -q 'xyzzy\\*' v; "
             "grep -q 'not in the vocabulary' v; ! grep -q '<unk> ' v");
    must_run(
        "echo 'I see .' | $HEED translate -d cpu t -q --max-length 3 --view >v; ! grep -q 'not in the' v");
    must_run("for f in svg html; do echo 'I xyzzy .' | $HEED translate -d cpu t -q --attention a.$f "
             ">/dev/null; done; "
             "grep -q 'xyzzy\\*' a.svg && grep -q 'not in the vocabulary' a.svg && grep -q "
             "'\"source_unknown\":\\[1\\]' "
             "a.html");
    must_run(
        "printf 'I .\\tich xyzzy .\\n' | $HEED translate -d cpu t -q --force --attention a.json >/dev/null; "
        "grep "
        "-q '\"output_tokens\":\\[[^]]*\"xyzzy\"' a.json && grep -q '\"output_unknown\":\\[1\\]' a.json");
    must_run("echo 'the xyzzy [MASK] plugh' | $HEED fill b -q --attention a.json >/dev/null; grep -q "
             "'\"source_tokens\":\\[\"<s>\",\"the\",\"xyzzy\",\"\\[MASK\\]\",\"plugh\",\"</s>\"\\]' a.json "
             "&& grep -q "
             "'\"source_unknown\":\\[2,4\\]' a.json");
    must_run("$HEED generate l -q --prompt 'the xyzzy' --tokens 2 --attention a.json >/dev/null; grep -q "
             "'\"input_unknown\":\\[2\\]' a.json");
    must_run("$HEED explain t 'I xyzzy .' >v 2>/dev/null; grep -q 'xyzzy\\* 1 ' v && grep -q 'not in the' v");
    must_run("$HEED explain t 'I xyzzy .' --json >v.json 2>/dev/null");
    must_run("$HEED explain l 'the xyzzy cat' >v 2>/dev/null; grep -q 'xyzzy\\* 1 ' v");
    must_run("$HEED explain b 'the xyzzy [MASK]' >v 2>/dev/null; grep -q 'xyzzy\\* 1 ' v");
    json_t *o = json_load_file(at("v.json"), 0, NULL), *tokens = json_object_get(o, "tokens");
    assert_string_equal(json_string_value(json_array_get(json_object_get(tokens, "source"), 1)), "xyzzy");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(tokens, "source_unknown"), 0)), 1);
    json_decref(o);
    assert_prints("echo 'I xyzzy .' | $HEED translate -d cpu t -q --json | sed 's/.*\\(\"unknown\": "
                  "[^]]*\\]\\).*/\\1/'",
                  0, "\"unknown\": [{\"token\": 1, \"word\": \"xyzzy\"}]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_warns_once),
        cmocka_unit_test(the_word_itself_is_shown),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
