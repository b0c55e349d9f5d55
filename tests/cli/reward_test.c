/* Learning from rewards as a user meets it: sums, a start, rewards, and a run that goes on bit for bit. */
#include "check.h"
#include "cli/shell.h"

/* A start that knows how sums of one digit look. */
static int prepare(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    must_run("$HEED sums -q --digits 1 --out sums && $HEED train -q --task lm --train sums/text.txt "
             "--line-windows "
             "--layers 1 --width 16 --heads 2 --context 8 --batch-size 32 --steps 60 --lr 0.01 --warmup 5 "
             "--device cpu --out start");
    setenv("GRPO",
           "train -q --task reward --from start --prompts sums/train.tsv --valid sums/val.tsv --reward exact "
           "--tokens 3 --group-size 8 --batch-size 4 --valid-prompts 4 --valid-samples 4 --valid-every 4 "
           "--report-every 2 --save-every 3 --device cpu",
           1);
    return 0;
}

static void rewards_rise(void **state)
{
    (void)state;
    must_run("$HEED $GRPO --steps 40 --lr 0.01 --reward 0.5*format:^[0-9]{2}$ --out up --threads 2");
    /* most texts have the form in the end, and the log says so */
    const char *first =
        must_run("grep '\"kind\":\"train\"' up/train/log.jsonl | head -1 | sed 's/.*\"reward\":"
                 "\\([^,]*\\).*/\\1/'");
    double before = atof(first);
    double after = atof(must_run("grep '\"kind\":\"train\"' up/train/log.jsonl | tail -1 | sed "
                                 "'s/.*\"reward\":\\([^,]*\\).*/\\1/'"));
    if (!(after > before + 0.1)) fail_msg("from %g to %g", before, after);
    for (const char *const *name = (const char *const[]){"pass@1", "entropy", "dead_groups", "length", NULL};
         *name; name++) {
        char line[128];
        snprintf(line, sizeof line, "grep '\"kind\":\"train\"' up/train/log.jsonl | grep -c '\"%s\"'", *name);
        assert_prints(line, 0, "20\n");
    }
    must_run("grep '\"kind\":\"valid\"' up/train/log.jsonl | grep '\"pass@4\"' | grep '\"majority\"' | grep "
             "'\"greedy\"' | grep -q '\"kl\"'");
    must_run(
        "$HEED plot up --metric reward > /dev/null && $HEED generate up --prompts sums/test.tsv --samples 2 "
        "--tokens 3 --stop '\\n' --json | $HEED score --pass 1,2 --majority --ref sums/test.tsv");
}

/* The model, the reference and the log are the same bytes, whoever was interrupted and with how many threads.
 */
static void assert_same_run(const char *options)
{
    char line[2048];
    snprintf(
        line, sizeof line,
        "rm -rf a b && $HEED $GRPO %s --steps 7 --out a --threads 1 && "
        "$HEED $GRPO %s --steps 5 --out b --threads 3 && $HEED train -q --resume --steps 7 --out b --threads "
        "4 && "
        "cmp a/model.safetensors b/model.safetensors && "
        "cmp a/train/step-7/weights.safetensors b/train/step-7/weights.safetensors && "
        "cmp a/train/step-7/moments.safetensors b/train/step-7/moments.safetensors && "
        "{ for r in a b; do grep '\"kind\":\"train\"' $r/train/log.jsonl | sed 's/,.*\"reward\"/ "
        "\"reward\"/' "
        "> $r.log; "
        "done; cmp a.log b.log; }",
        options, options);
    must_run(line);
}

static void a_run_goes_on_bit_for_bit(void **state)
{
    (void)state;
    assert_same_run("");
    assert_same_run("--rollout-updates 3 --kl 0.1"); /* stopped among the updates of a rollout */
    must_run("test -s b/train/step-7/rollout.safetensors");
    assert_same_run("--variant dapo --rollout-updates 2 --micro-batches 3");
    assert_same_run("--variant dr-grpo --reward '0.1*command:awk \"{ print length % 7 }\"'");
}

/* What is learned is not what is learned without it. Ratios leave 1 in the second update of a rollout. */
static void every_option_counts(void **state)
{
    (void)state;
    static const char *const options[] = {"--variant dr-grpo", "--variant dapo", "--clip-low 0.001",
                                          "--clip-high 0.001", "--kl 1",         "--resample 3",
                                          "--length-slack 2",  "--answer '^.'",  NULL};
    must_run("rm -rf a; $HEED $GRPO --lr 0.03 --rollout-updates 4 --steps 4 --out a");
    for (const char *const *o = options; *o; o++) {
        char line[512];
        snprintf(line, sizeof line,
                 "rm -rf b; $HEED $GRPO --lr 0.03 --rollout-updates 4 --steps 4 %s --out b && ! cmp -s "
                 "a/model.safetensors b/model.safetensors || { echo \"%s does nothing\"; exit 1; }",
                 *o, *o);
        must_run(line);
    }
    must_run("rm -rf b; $HEED $GRPO --lr 0.03 --rollout-updates 4 --steps 4 --valid-prompts 2 --out b && for "
             "r in a b; "
             "do grep '\"valid\"' $r/train/log.jsonl | sed 's/.*\"entropy/entropy/' > $r.log; done && ! cmp "
             "-s a.log b.log");
}

static void a_run_goes_on_without_the_model_it_began_with(void **state)
{
    (void)state;
    must_run("cp -r start gone && $HEED $GRPO --from gone --kl 0.1 --steps 3 --out c && rm -r gone && "
             "$HEED train -q --resume --steps 6 --out c");
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *command;
        int status;
        const char *parts;
    } cases[] = {
        {"$HEED train --task reward --prompts sums/train.tsv --reward exact --out x", 2,
         "--from is required"},
        {"$HEED train --task reward --from start --reward exact --out x", 2, "--prompts is required"},
        {"$HEED train --task reward --from start --prompts sums/train.tsv --out x", 2,
         "--reward is required"},
        {"$HEED $GRPO --reward wrong --out x", 2, "--reward: 'wrong' is not exact"},
        {"$HEED $GRPO --answer '(' --out x", 2, "--answer: '(' is no regular expression"},
        {"$HEED $GRPO --tokens 9 --out x", 1, "--tokens 9: prompt 1 has 4 tokens, and the model sees 8"},
        {"$HEED $GRPO --length-slack 4 --out x", 2, "--length-slack 4 is more than --tokens 3"},
        {"$HEED $GRPO --width 7 --out x", 2, "--width is 7, but in the model of --from"},
        {"$HEED $GRPO --train sums/text.txt --out x", 2,
         "--train is an option of --task translate, not of reward"},
        {"$HEED train --task lm --train sums/text.txt --kl 1 --out x", 2,
         "--kl is an option of --task reward"},
        {": > none; $HEED $(echo $GRPO | sed s:sums/train.tsv:none:) --out x", 1, "none has no prompts"},
        {"echo 1+1= > bare; $HEED $(echo $GRPO | sed s:sums/train.tsv:bare:) --out x", 1,
         "bare:1: not PROMPT<tab>ANSWER"},
        {"$HEED $(echo $GRPO | sed s:sums/train.tsv:nowhere:) --out x", 1, "nowhere"},
        {"$HEED $GRPO --reward command:false --steps 1 --out x", 1, "--reward: 'false' ended with status 1"},
        {"rm -rf x; $HEED $GRPO --reward 'command:echo 1' --steps 1 --out x", 1,
         "prints 1 numbers for 32 texts"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(cases[i].command, cases[i].status, cases[i].parts);
    must_run("$HEED $GRPO --steps 2 --dry-run --out x | grep -q 'group-size: 8'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rewards_rise),
        cmocka_unit_test(a_run_goes_on_bit_for_bit),
        cmocka_unit_test(every_option_counts),
        cmocka_unit_test(a_run_goes_on_without_the_model_it_began_with),
        cmocka_unit_test(what_is_wrong_is_named),
    };
    return cmocka_run_group_tests(tests, prepare, scratch_remove);
}
