/* Samples and their answers: heed score --pass --majority, and what heed generate writes for it. */
#include "check.h"
#include "cli/shell.h"
#include "task/speaker.h"

/* Two problems of four samples each: one and three of them are right. */
static const char samples[] = "{\"prompt\":\"1+1=\",\"sample\":1,\"text\":\"2\"}\n"
                              "{\"prompt\":\"1+1=\",\"sample\":2,\"text\":\"3\"}\n"
                              "{\"prompt\":\"1+1=\",\"sample\":3,\"text\":\"4\"}\n"
                              "{\"prompt\":\"1+1=\",\"sample\":4,\"text\":\" 3\\n\"}\n"
                              "{\"prompt\":\"2+2=\",\"text\":\"4\"}\n{\"prompt\":\"2+2=\",\"text\":\"x=4\"}\n"
                              "{\"prompt\":\"2+2=\",\"text\":\"5\"}\n{\"prompt\":\"2+2=\",\"text\":\"4 \"}\n";

static int prepare(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    put_file(at("samples"), samples);
    put_file(at("refs"), "2\n4\n");
    put_file(at("refs.tsv"), "1+1=\t2\n2+2=\t4\n");
    speaker_folder(at("m"), HD_LM_ngram, HD_TOKENIZER_characters);
    return 0;
}

static void samples_are_scored(void **state)
{
    (void)state;
    assert_prints("$HEED score --pass 1,2 --majority --ref refs < samples", 0,
                  "pass@1         50.00 %\npass@2         75.00 %\nmajority       50.00 %\n"
                  "2 problems, 4 samples each\n");
    assert_prints(
        "$HEED score --pass 1,2 --majority --ref refs.tsv samples --json", 0,
        "{\"problems\": 2, \"least_samples\": 4, \"most_samples\": 4, \"pass@1\": 0.5, \"pass@2\": 0.75, "
        "\"majority\": 0.5}\n");
    /* alone; and where a text has no answer, it does not vote */
    assert_prints("$HEED score --task answers --ref refs samples | head -1", 0, "pass@1         50.00 %\n");
    assert_prints("$HEED score --majority --answer '[23]' --ref refs samples | head -1", 0,
                  "majority        0.00 %\n");
}

static void ties_go_to_the_likelier_then_to_the_first(void **state)
{
    (void)state;
    must_run("printf '%s\\n' '{\"prompt\":\"\",\"text\":\"a\",\"logprob\":-2}' "
             "'{\"prompt\":\"\",\"text\":\"b\",\"logprob\":-1}' > tie; echo b > b; "
             "printf '%s\\n' '{\"prompt\":\"\",\"text\":\"a\"}' '{\"prompt\":\"\",\"text\":\"b\"}' > first; "
             "echo a > a");
    assert_prints("$HEED score --majority --ref b tie | head -1", 0, "majority      100.00 %\n");
    assert_prints("$HEED score --majority --ref a first | head -1", 0, "majority      100.00 %\n");
}

static void what_generate_writes_is_read(void **state)
{
    (void)state;
    put_file(at("p.tsv"), "the \ta\nthe dog sat on the\tb\nthe \tc\n");
    static const char ask[] = "$HEED generate m --prompts p.tsv --samples 9 --tokens 4 --temperature 0.7";
    char line[512], all[SHELL_ROOM];
    snprintf(line, sizeof line, "%s --json > s && %s --majority --json > v && %s --majority > m.txt", ask,
             ask, ask);
    must_run(line);
    must_run("cut -f1 m.txt > best");
    assert_prints("wc -l < s; wc -l < v; wc -l < best", 0, "27\n3\n3\n");
    snprintf(all, sizeof all, "%s", must_run("$HEED score --pass 1,9 --majority --ref best s"));
    assert_non_null(strstr(all, "majority      100.00 %\n3 problems, 9 samples each\n"));
    assert_prints("$HEED score --pass 1,9 --majority --ref best v", 0, all);
    snprintf(line, sizeof line, "%s --vote | cmp - m.txt", ask); /* its name before */
    must_run(line);
    must_run("$HEED generate m --prompts - --tokens 1 < p.tsv | head -1 | grep -q '^the '");
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *command;
        int status;
        const char *parts;
    } cases[] = {
        {"$HEED score --pass 5 --ref refs samples", 1, "--pass 5: samples:1: the problem has 4 samples"},
        {"$HEED score --pass 0 --ref refs samples", 2, "--pass: '0' is not a list"},
        {"$HEED score --pass 1,x --ref refs samples", 2, "--pass: '1,x' is not a list"},
        {"$HEED score --pass 1 --answer '(' --ref refs samples", 2, "--answer: '(' is no regular expression"},
        {"$HEED score --pass 1 < samples", 2, "--ref is required: the right answers"},
        {"$HEED score --pass 1 --bootstrap 3 --ref refs samples", 2,
         "--bootstrap does not go with --task answers"},
        {"$HEED score --pass 1 --task caption --ref refs samples", 2,
         "--pass does not go with --task caption"},
        {"head -1 refs > few; $HEED score --pass 1 --ref few samples", 1,
         "few has 1 answers, but samples has more problems: that of line 5"},
        {"cat refs refs > many; $HEED score --pass 1 --ref many samples", 1,
         "samples has 2 problems, but many has more answers"},
        {"printf '1+1=\\t2\\n3\\t4\\n' > other; $HEED score --pass 1 --ref other samples", 1,
         "other:2: the prompt is '3', in samples:5 it is '2+2='"},
        {"echo '{\"prompt\": 1}' > bad; $HEED score --pass 1 --ref refs bad", 1, "bad:1: not a sample"},
        {"echo '{\"prompt\":\"a\",\"answers\":[{\"text\":\"a\",\"count\":-1}]}' > bad; $HEED score --pass 1 "
         "--ref refs bad",
         1, "bad:1: not a sample"},
        {"echo '[[[' > bad; $HEED score --pass 1 --ref refs bad", 1, "bad:1: not a sample"},
        {": > empty; $HEED score --pass 1 --ref refs empty", 1, "empty has no lines"},
        {"$HEED generate m --answer a", 2, "--answer needs --majority"},
        {"$HEED generate m --majority --answer '['", 2, "--answer: '[' is no regular expression"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(cases[i].command, cases[i].status, cases[i].parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_scored),
        cmocka_unit_test(ties_go_to_the_likelier_then_to_the_first),
        cmocka_unit_test(what_generate_writes_is_read),
        cmocka_unit_test(what_is_wrong_is_named),
    };
    return cmocka_run_group_tests(tests, prepare, scratch_remove);
}
