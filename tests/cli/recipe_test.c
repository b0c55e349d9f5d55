/* The options of `heed train` as they are shown: help of a task, and the recipe of a dry run; and options by
   their earlier names. */
#include "check.h"
#include "cli/shell.h"

static int prepare(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    char out[SHELL_ROOM];
    return shell(out, "for i in 1 2 3 4 5 6 7 8 9; do echo \"the cat $i sat on the mat\"; done >text");
}

/* The words of help in one line, so that they can be found wherever they are wrapped. */
static char *help_of(const char *options)
{
    char command[256];
    snprintf(command, sizeof command, "$HEED help train %s | tr -s ' \\n' ' '", options);
    return (char *)must_run(command);
}

static void help_shows_the_options_of_a_task_with_its_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        const char *shown, *absent;
    } cases[] = {
        {"--task lm", "hidden size (d_model) (default 128)|peak learning rate (default 0.002)",
         "--encoder-layers|--pool"},
        {"--task lm --model lstm", "(d_model) (default 256)|(default 0.004)", "--max-length"},
        {"--task lm --preset gpt2",
         "(d_model) (default 768)|window; the model never sees more of them (default 1024)", "--pool"},
        {"--task mlm", "(d_model) (default 128)|--whole-word-masking", "--norm"},
        {"--task mlm -p bert-base", "(d_model) (default 768)", "--freeze"},
        {"--task classify", "--train-dir|peak learning rate (default 0.002)|--preset NAME", "--decoder"},
        {"--task classify --preset vit-b16", "(d_model) (default 768)|--flip|--conv-stem", "--decoder"},
        {"--task classify --preset vit-lite --device cpu", "(d_model) (default 64)|(default 5500)",
         "--decoder"},
        {"--task classify --preset vit-lite --steps 9", "(d_model) (default 128)", "--decoder"},
        {"--task tag", "--unit UNIT tokens: word, char or subword (default word)", "--train-dir|--lm-loss"},
        {"--task translate", "--encoder-layers|peak learning rate (default 0.005)", "--order|--unit"},
        {"--preset base", "(d_model) (default 512)|(default 100000)", "--order"},
        {"", "--order|--encoder-layers|--pool|(default depends on --task and --preset)", "(default 0.005)"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char parts[256];
        char *page = help_of(cases[i].options);
        snprintf(parts, sizeof parts, "%s", cases[i].shown);
        for (char *part = strtok(parts, "|"); part; part = strtok(NULL, "|"))
            if (!strstr(page, part)) fail_msg("%s: no '%s'", cases[i].options, part);
        page = strstr(page, "Options:");
        *strstr(page, "Examples:") = 0;
        snprintf(parts, sizeof parts, "%s", cases[i].absent);
        for (char *part = strtok(parts, "|"); part; part = strtok(NULL, "|"))
            if (strstr(page, part)) fail_msg("%s: '%s'", cases[i].options, part);
    }
    must_run("$HEED train --task lm --help >a; $HEED help train --task lm | cmp - a");
    assert_fails("$HEED help train --task lm --order 3", 2, "--order needs --model ngram");
}

static void a_dry_run_prints_the_recipe(void **state)
{
    (void)state;
    const char *out =
        must_run("echo 'lr: 0.5' >o.yml; $HEED train --task lm --preset gpt2 --layers 1 --width 16 --heads 2 "
                 "--unit char --batch-size 2 --steps 3 --context 8 --config o.yml --train text --device cpu "
                 "--dry-run | tr "
                 "-s ' '");
    static const char *const lines[] = {"\n task: lm # command line\n",
                                        "\n preset: gpt2 # command line\n",
                                        "\n lr: 0.5 # --config\n",
                                        "\n warmup: 2000 # --preset\n",
                                        "\n ffn-size: 64 # derived\n",
                                        "\n schedule: cosine # default\n",
                                        "\n steps: 3 # command line\n",
                                        "\nmemory ",
                                        "\ndevice cpu, ",
                                        "\ntime at least 0:0"};
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (!strstr(out, lines[i])) fail_msg("no '%s' in:\n%s", lines[i], out);
    assert_null(strstr(out, "momentum")); /* has no effect on adamw */
    assert_null(strstr(out, "order"));
    assert_non_null(strstr(out, "for 3 updates: "));
    /* it is a file of options */
    must_run("$HEED train --task lm --layers 1 --train text --steps 3 --device cpu --dry-run >plan && "
             "sed -n 's/^  //p' plan >again.yml && $HEED train --config again.yml --dry-run | grep -v "
             "'^time\\|^device' | sed 's/#.*//' >b && "
             "grep -v '^time\\|^device' plan | sed 's/#.*//' | diff - b");
}

static void an_earlier_name_is_answered_with_the_new_one(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"--floor 0.1", "--floor is now called --min-lr-ratio"},
        {"--best loss", "--best is now called --select-by"},
        {"--broken skip", "--broken is now called --on-invalid"},
        {"--context fixed", "--context fixed is now called --decoder-context fixed"},
        {"--attention local-m", "--attention is now called --attention-span"},
        {"--tokeniser words", "--tokeniser is now called --tokenizer"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char command[128];
        snprintf(command, sizeof command, "$HEED train %s", cases[i][0]);
        assert_fails(command, 2, cases[i][1]);
    }
    /* in a file it is read as what it is called today */
    must_run("printf 'task: lm\\ntrain: [text]\\nfloor: 0.25\\nbatch: 3\\nvocab: 99\\nunit: word\\n' "
             ">old.yml; $HEED train --config "
             "old.yml --dry-run >plan 2>/dev/null; grep -q ' min-lr-ratio: 0.25 ' plan && grep -q ' "
             "batch-size: 3 ' plan && grep -q ' "
             "vocab-size: 99 ' plan");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_shows_the_options_of_a_task_with_its_defaults),
        cmocka_unit_test(a_dry_run_prints_the_recipe),
        cmocka_unit_test(an_earlier_name_is_answered_with_the_new_one),
    };
    return cmocka_run_group_tests(tests, prepare, scratch_remove);
}
