/* heed train as a user meets it: that a run in sittings ends with the bytes of one, what may change between
   them, what is refused, and that whatever goes wrong leaves the last checkpoint. */
#include "check.h"
#include "cli/shell.h"

#include <jansson.h>

#include "tensor/safetensors.h"

/* What "the same bytes" means; prints what differs. */
#define SAME                                                                                              \
    "same() { cmp $1/model.safetensors $2/model.safetensors && cmp $1/train/current $2/train/current && " \
    "diff -r $1/train/$(cat $1/train/current) $2/train/$(cat $2/train/current); }; "
#define DATA  "--train c/train.en c/train.de "
#define VALID "--valid c/valid.en c/valid.de "
#define TRAIN "$HEED train -q $TINY " DATA

static int make_corpus(void **state)
{
    if (scratch_make(state)) return -1;
    char out[SHELL_ROOM];
    return shell(out, "$HEED corpus -q --pairs 300 --valid 20 --test 10 --out c");
}

/* ---- sittings ---- */

static void limits_and_stops_leave_no_trace(void **state)
{
    (void)state;
    must_run(TRAIN VALID "--steps 26 --threads 1 --out whole");
    /* a time limit before the first update, then limits of steps, then alone; on two threads */
    must_run(TRAIN VALID "--steps 26 --minutes 1e-9 --threads 2 --out limited && cat limited/train/current");
    for (int steps = 1; steps < 26; steps += 6) {
        char command[256];
        snprintf(command, sizeof command, "$HEED train -q --resume --steps %d --threads %d --out limited",
                 steps, steps % 4 ? 2 : 1);
        must_run(command);
    }
    must_run("$HEED train -q --resume --out limited --report-every 3 --save-every 2");
    assert_prints(SAME "same whole limited", 0, "");
    /* stopped by signals of all kinds at moments of no one's choice, perhaps before heed listens */
    must_run(TRAIN VALID "--steps 26 --minutes 1e-9 --out stopped");
    must_run("n=0; while [ $n -lt 60 ] && [ \"$(cat stopped/train/current)\" != step-26 ]; do n=$((n + 1)); "
             "for s in TERM INT HUP; do "
             "timeout --preserve-status --signal=$s 0.0$((n % 8 + 1)) $HEED train -q --resume --out stopped; "
             "case $? in 0 | 129 | 130 | 143) ;; *) exit 1 ;; esac; done; done");
    must_run("$HEED train -q --resume --out stopped");
    assert_prints(SAME "same whole stopped", 0, "");
    assert_prints("find whole limited stopped -name '*.tmp.*'", 0, "");
}

static void counters_of_early_stopping_are_resumed(void **state)
{
    (void)state;
    /* a rate of 0 never gets better: the first validation is the best one */
    const char *options = TRAIN VALID "--lr 0 --valid-every 2 --patience 4 --ema 0 ";
    char command[1024];
    snprintf(command, sizeof command, "%s --out patient", options);
    must_run(command);
    snprintf(command, sizeof command, "%s --minutes 1e-9 --out resumed", options);
    must_run(command);
    for (int i = 1; i < 9; i++) {
        snprintf(command, sizeof command, "$HEED train -q --resume --steps %d --out resumed", i);
        must_run(command);
    }
    must_run("$HEED train -q --resume --out resumed");
    assert_prints(SAME "same patient resumed; cat patient/train/current; grep -o '\"worse.*' "
                       "patient/train/step-10/state.json",
                  0, "step-10\n\"worse\": \"4\",\n");
}

static void kills_leave_no_trace(void **state)
{
    (void)state;
    char out[SHELL_ROOM], command[512];
    snprintf(command, sizeof command, "TMPDIR=$PWD %s/tests/cli/kill.sh 8 5", HEED_SOURCE);
    if (shell(out, command)) fail_msg("%s", out);
    assert_int_equal(strncmp(out, "8 kills in ", 11), 0);
}

static void training_yml_begins_the_same_run(void **state)
{
    (void)state;
    must_run(TRAIN VALID "--steps 9 --out first && $HEED train -q --config first/training.yml --out second");
    assert_prints(SAME "same first second; cmp first/training.yml second/training.yml", 0, "");
}

/* Exit 130 after a save, which is said; the second signal does not wait: the update that it meets, and the
   save, take longer than what is between the two. */
static void the_first_interrupt_saves_and_the_second_ends(void **state)
{
    (void)state;
#define LARGE                                          \
    "env --default-signal=INT $HEED train $TINY " DATA \
    "--batch-tokens 20000 --steps 100000 --micro-batches 1 --threads 1 --out "
    char out[SHELL_ROOM];
    shell(out, LARGE
          "once --width 256 --ffn-size 1024 & p=$!; while [ ! -e once/training.yml ]; do sleep 0.02; done; "
          "kill -INT $p; wait $p; echo $?; "
          "ls -d once/train/step-*/state.json | wc -l");
    if (!strstr(out, "stopped (") || !strstr(out, "; everything is saved\n") ||
        !strstr(out, "continue with: heed train --resume --out once\n130\n1\n"))
        fail_msg("%s", out);
    assert_prints(LARGE "twice --width 512 --ffn-size 4096 -q & p=$!; while [ ! -e twice/training.yml ]; do "
                        "sleep 0.02; done; "
                        "kill -INT $p; sleep 0.02; kill -INT $p; wait $p; echo $?; ls twice/train/current",
                  2, "130\nls: cannot access 'twice/train/current': No such file or directory\n");
}

/* The run of the recipe ends without a false alarm; one that goes on behind its schedule, or ends within its
   warm-up, hears of it. */
static void the_rate_is_warned_of_where_it_teaches_nothing(void **state)
{
    (void)state;
#define RATE "$HEED train $TINY " DATA "--report-every 1 --warmup 0 --schedule linear "
    const char *out = must_run(RATE "--steps 4 --out falls");
    if (strstr(out, "warn") || strstr(out, "rate 0 ") || !strstr(out, "rate 0.002 ")) fail_msg("%s", out);
    out = must_run("$HEED train --resume --steps 5 --out falls");
    if (!strstr(out, "the learning rate has fallen to 0 after the 4 updates")) fail_msg("%s", out);
    out = must_run(RATE "--steps 101 --decay-steps 100 --out nearly"); /* as epochs differ by some updates */
    if (strstr(out, "fallen")) fail_msg("%s", out);
    out = must_run(RATE "--steps 2 --lr 0 --out still");
    if (strstr(out, "fallen")) fail_msg("%s", out);
    /* TINY says --warmup 5 and inverse_sqrt */
    out = must_run("$HEED train $TINY " DATA "--steps 2 --out short");
    if (!strstr(out,
                "the warm-up of 5 updates is longer than the run of 2: the learning rate only reaches 40 % "
                "of --lr. Give a smaller --warmup or more --steps"))
        fail_msg("%s", out);
    out = must_run(
        "$HEED train --device cpu --encoder-layers 1 --decoder-layers 1 --width 16 --ffn-size 32 --heads 2 "
        "--tokenizer words " DATA "--steps 8 --report-every 1 --out fitted");
    if (!strstr(out, "warm-up of 2 updates instead of 1,000, as the run has 8; --no-fit-warmup keeps it") ||
        !strstr(out, "step 2/8  epoch 2  loss ") || !strstr(out, "rate 0.005 "))
        fail_msg("%s", out);
}

/* What README promises: one set of instructions gives the same bits on any number of threads; the losses of
   different sets are those of different roundings (2e-3 after 8 updates; seen: 1e-6). */
static void an_instruction_set_has_its_bits(void **state)
{
    (void)state;
    assert_fails("HEED_ISA=abacus $HEED train -q $TINY " DATA "--steps 1 --out never", 1,
                 "HEED_ISA=abacus: this processor and build have ");
    assert_fails("$HEED train -q $TINY " DATA "--device cpu --precision int8 --steps 1 --out never", 1,
                 "int8 is for inference only: models are trained in f32 or bf16");
    must_run("HEED_ISA=abacus $HEED bench --device cpu 2>&1 | sed 's/.* have //' | tr ',' '\\n' | sed 's/^ "
             "//' >sets");
    must_run(SAME "n=0; while read -r set; do n=$((n + 1)); export HEED_ISA=\"$set\"; "
                  "$HEED info --devices | grep -q \"^cpu  .*$set, \" || exit 1; "
                  "for t in 1 2; do " TRAIN VALID
                  "--steps 8 --valid-every 8 --threads $t --out isa-$n-$t </dev/null || exit 1; done; "
                  "same isa-$n-1 isa-$n-2 || exit 1; "
                  "grep '\"valid\"' isa-$n-1/train/log.jsonl | sed 's/.*\"loss\":\\([0-9.]*\\).*/\\1/' "
                  ">>losses; done <sets; "
                  "test $n -ge 1 && awk '{ if (NR == 1) a = $1; d = $1 - a; if (d > 0.002 || d < -0.002) "
                  "exit 1 }' losses");
}

/* In bf16, by the machine's own products and by widened numbers: threads and sittings leave no trace, and the
   loss is near that of f32 (2 % after 26 updates; seen: 0.1 %). */
static void products_of_bf16_have_their_bits(void **state)
{
    (void)state;
    must_run(TRAIN VALID "--steps 26 --out in-f32");
    must_run(SAME "for form in '' widened; do export HEED_CPU=$form; " TRAIN VALID
                  "--steps 26 --precision bf16 --threads 1 --out bf16-$form-1 || exit 1; "
                  "for t in 2 4; do " TRAIN VALID
                  "--steps 26 --precision bf16 --minutes 1e-9 --threads $t --out bf16-$form-$t || exit 1; "
                  "for n in 1 9 26; do "
                  "$HEED train -q --resume --steps $n --threads $t --out bf16-$form-$t || exit 1; done; "
                  "same bf16-$form-1 bf16-$form-$t || exit 1; done; "
                  "cmp -s in-f32/model.safetensors bf16-$form-1/model.safetensors && exit 1; "
                  "for r in in-f32 bf16-$form-1; do "
                  "grep '\"valid\"' $r/train/log.jsonl | tail -1 | sed 's/.*\"loss\":\\([0-9.]*\\).*/\\1/'; "
                  "done | awk '{ if (NR == 1) a = $1; d = $1 / a; if (!(d < 1.02 && d > 0.98)) exit 1 } "
                  "END { if (NR != 2) exit 1 }' || exit 1; done");
}

/* ---- what may change ---- */

static void what_may_change_and_what_may_not(void **state)
{
    (void)state;
    must_run(TRAIN VALID "--steps 4 --out fixed");
    static const struct {
        const char *options;
        int status;
        const char *says;
    } cases[] = {
        {"--width 32", 2, "--width was 16 when the run began and is 32 now: leave it out to resume"},
        {"--lr 0.02", 2, "--lr was 0.01 when the run began and is 0.02 now"},
        {"--seed 2", 2, "--seed was 1 |is 2 now"},
        {"--tokenizer characters", 2, "--tokenizer was words |is characters now"},
        {"--recompute", 2, "--recompute was false |is true now"},
        {"--preset base", 2, "--preset was tiny |is base now"},
        {"--train c/valid.en c/valid.de", 2, "--train was [\"|c/train.de\"]|c/valid.de\"] now"},
        {"--freeze 'model.encoder.*'", 2, "--freeze was not given |is [\"model.encoder.*\"] now"},
        {"--valid-every 5", 2, "--valid-every was 4 |is 5 now"},
        {"--train c/nothing c/train.de", 1, "c/nothing: No such file"},
        {"--overwrite", 2, "--resume continues a run: --overwrite does not go with it"},
        {"--dry-run", 2, "--resume continues a run: --dry-run does not go with it"},
        {"--lr 0.01 --width 16 --train c/../c/train.en c/train.de", 0, NULL},
        {"--steps 5 --threads 2 --report-every 1 --save-every 1 --patience 9 --epochs 50", 0, NULL},
        {"--config fixed/training.yml", 0, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char command[512];
        snprintf(command, sizeof command, "$HEED train -q --resume --out fixed %s", cases[i].options);
        if (cases[i].says)
            assert_fails(command, cases[i].status, cases[i].says);
        else
            assert_prints(command, 0, "");
    }
}

static void folders_are_not_overwritten_unasked(void **state)
{
    (void)state;
    must_run(TRAIN "--steps 2 --out mine && mkdir theirs empty && echo x >theirs/notes && cp "
                   "mine/model.safetensors kept");
    assert_fails(TRAIN "--steps 2 --out mine", 1,
                 "mine: not empty: --resume goes on with the run in it, --overwrite begins anew");
    assert_fails(TRAIN "--steps 2 --out theirs", 1, "theirs: not empty");
    assert_fails(TRAIN "--steps 2 --overwrite --out theirs", 1,
                 "theirs: not a model's folder (no training.yml)");
    assert_prints("cat theirs/notes", 0, "x\n");
    assert_fails("$HEED train --resume --out theirs", 1,
                 "theirs: there is no checkpoint to resume from: begin anew");
    assert_fails("$HEED train --resume --out nowhere", 1,
                 "nowhere: there is no checkpoint to resume from (no such folder)");
    assert_fails(TRAIN "--steps 2 --out c/train.en", 1, "c/train.en: is a file, not a folder");
    assert_fails(TRAIN "--steps 2 --out c/train.en/x", 1, "c/train.en/x: |Not a directory");
    assert_fails(TRAIN "--steps 2 --out no/such", 1, "no/such: cannot make the folder: No such file");
    assert_fails(TRAIN "--steps 2", 2, "--out is required: the model folder to write");
    /* a run that cannot begin costs nothing */
    assert_fails("$HEED train -q $TINY --train c/train.en c/valid.de --steps 2 --overwrite --out mine", 1,
                 "300 lines");
    assert_prints("cmp kept mine/model.safetensors && ls -d mine/train/step-2", 0, "mine/train/step-2\n");
    assert_fails("$HEED train -q $TINY --train c/train.en c/valid.de --steps 2 --out unborn", 1, "300 lines");
    assert_prints("ls -d unborn", 2, "ls: cannot access 'unborn': No such file or directory\n");
    /* of what is there, only the run goes; an empty folder and what a kill left are no obstacle */
    must_run("echo mine >mine/notes.txt; mkdir mine/folder");
    must_run(TRAIN "--steps 3 --overwrite --out mine");
    assert_prints("cat mine/notes.txt mine/train/current; ls -d mine/folder mine/train/step-*", 0,
                  "mine\nstep-3\nmine/folder\nmine/train/step-3\n");
    must_run("touch empty/training.yml.tmp.12.0");
    must_run(TRAIN "--steps 2 --out empty");
    assert_prints("find empty -name '*.tmp.*'", 0, "");
}

static void changed_data_is_noticed(void **state)
{
    (void)state;
    must_run("mkdir own && cp c/*.en c/*.de own");
    must_run("$HEED train -q $TINY --train own/train.en own/train.de --valid own/valid.en own/valid.de "
             "--steps 4 --out data");
    must_run("$HEED train -q --resume --steps 5 --out data");
    static const char *const changes[] = {
        "sed -i '7s/ / a /' own/train.en",
        "head -299 c/train.en >own/train.en; head -299 c/train.de >own/train.de",
        "sed -i '3s/^[^ ]* /The /' own/valid.de"};
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        must_run(changes[i]);
        assert_fails("$HEED train -q --resume --steps 6 --out data", 1,
                     "data has changed since the run began: resume with the same files");
        must_run("cp c/*.en c/*.de own");
    }
    must_run("mv own/train.de own/gone");
    assert_fails("$HEED train -q --resume --steps 6 --out data", 1,
                 "own/train.de: cannot open: No such file");
    must_run("mv own/gone own/train.de && $HEED train -q --resume --steps 6 --out data");
    must_run("mv data/tokenizer.txt data/vanished");
    assert_fails("$HEED train -q --resume --steps 7 --out data", 1, "data/tokenizer.txt: ");
    must_run("mv data/vanished data/tokenizer.txt; echo nonsense >data/train/current");
    assert_fails("$HEED train -q --resume --steps 7 --out data", 1,
                 "data/train/current: does not name a checkpoint");
    must_run("echo step-6 >data/train/current; truncate -s 100 data/train/step-6/moments.safetensors");
    assert_fails("$HEED train -q --resume --steps 7 --out data", 1,
                 "data/train/step-6/moments.safetensors: ");
    must_run("echo 'steps: many' >data/training.yml");
    assert_fails("$HEED train -q --resume --out data", 2,
                 "data/training.yml:1: steps: 'many' is not a whole number");
}

/* Numbers that another checkpoint has, and options of which some are missing. */
static void files_of_a_run_fit_each_other(void **state)
{
    (void)state;
    must_run(TRAIN "--steps 4 --out fits && cp -r fits misfit");
    static const struct {
        const char *change, *says;
    } cases[] = {
        {"sed -i 's/\"step\": \"4\"/\"step\": \"5\"/' misfit/train/step-4/state.json",
         "misfit/train/step-4/state.json: its \"step\" is 5, but the folder is step-4"},
        {"mv misfit/train/step-4 misfit/train/step-3; echo step-3 >misfit/train/current",
         "misfit/train/step-3/state.json: its \"step\" is 4, but the folder is step-3"},
        {"sed -i 's/\"epoch\": \"0\"/\"epoch\": \"900\"/' misfit/train/step-4/state.json",
         "misfit/train/step-4/state.json: batch |of epoch 900 is not where 4 updates lead"},
        {"head -n -1 fits/training.yml >misfit/training.yml",
         "misfit/training.yml: cut short: its last line"},
        {"grep -v '^seed:' fits/training.yml | head -20 >misfit/training.yml",
         "misfit/training.yml: cut short"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        must_run("rm -rf misfit; cp -r fits misfit");
        must_run(cases[i].change);
        assert_fails("$HEED train -q --resume --steps 6 --out misfit", 1, cases[i].says);
    }
    must_run("$HEED train -q --resume --steps 6 --out fits");
}

/* ---- what goes wrong ---- */

static void bad_input_gives_one_clear_error(void **state)
{
    (void)state;
    must_run(
        "head -5 c/train.en >five.en; printf 'a b\\n\\374 c\\n' >latin; printf 'a b\\nb c\\n' >two; printf "
        "'a\\nb\\0c\\n' >zero;"
        "{ echo a; head -c 17000000 /dev/zero | tr '\\0' x; echo; } >huge; true >nothing; printf '\\n \\n' "
        ">blank;"
        "printf 'a\\tb\\nno tab\\n' >tabs; gzip -c c/train.en | head -c 1000 >cut.gz;"
        "echo 'width: 16.5' >a.yml; echo 'widht: 16' >b.yml; printf 'steps: 1\\nfreeze: [a\\nlr: 1\\n' "
        ">c.yml");
    static const struct {
        const char *options;
        int status;
        const char *says;
    } cases[] = {
        {"--train five.en c/train.de", 1, "five.en has 5 lines, |c/train.de has 300"},
        {"--train two latin", 1, "latin:2: not UTF-8: byte 0xfc at offset 0"},
        {"--train two zero", 1, "zero:2: a zero byte"},
        {"--train two huge", 1, "huge:2: the line is longer than 16777216 bytes"},
        {"--train nothing nothing", 1, "nothing: the file is empty"},
        {"--train blank blank", 1, "blank: none of its 2 lines can be used"},
        {"--train blank blank --on-empty error", 1, "blank:1: the line is empty"},
        {"--train tabs", 1, "tabs:2: no tab"},
        {"--train missing.en missing.de", 1, "missing.en: No such file"},
        {"--train c/train.en missing.de", 1, "missing.de: No such file"},
        {"--train c c/train.de", 1, "c: the files of a folder of sentence pairs must all end in .tsv"},
        {"--train cut.gz c/train.de", 1, "cut.gz: the gzip data is cut short"},
        {DATA "--valid two latin", 1, "latin:2: not UTF-8"},
        {DATA "--valid nothing nothing", 1, "nothing: the file is empty"},
        {"--train two two --valid-fraction 0.001", 1, "two: too few pairs to hold back a share of 0.001"},
        {"--train two two --max-length 1", 1, "two: none of its 2 lines can be used"},
        {"--train two two --max-length 1 --on-long error", 1, "two:1: 2 tokens, 1 are allowed"},
        {DATA "--widht 8", 2, "unknown option '--widht', did you mean '--width'?"},
        {DATA "--learning-rate 1", 2, "unknown option '--learning-rate', did you mean '--lr'? "},
        {DATA "--lerning-rate=1", 2, "unknown option '--lerning-rate', did you mean '--lr'? "},
        {DATA "--batch-size 8", 2, "--batch-size is an option of --task lm, not of translate"},
        {DATA "--hidden_size 8", 2, "'--hidden_size', did you mean '--width'? "},
        {DATA "--num-layers 8", 2, "'--num-layers', did you mean '--layers'? "},
        {DATA "--max-steps 8", 2, "'--max-steps', did you mean '--steps'? "},
        {DATA "--beam-size 8", 2, "unknown option '--beam-size' ("},
        {DATA "--preset huge", 2, "--preset: 'huge' is not one of tiny, small, base, big"},
        {DATA "--width x", 2, "--width: 'x' is not a whole number"},
        {DATA "--width 15", 2, "--width 15 cannot be split over --heads 2"},
        {DATA "--dropout 1", 2, "--dropout: 1 is not between 0 and 0.99"},
        {DATA "--beta1 1", 2, "--beta1: 1 is not between 0 and 0.9999999"},
        {DATA "--beta2 1", 2, "--beta2: 1 is not between 0 and 0.9999999"},
        {DATA "--momentum 1", 2, "--momentum: 1 is not between 0 and 0.9999999"},
        {DATA "--adam-eps 0", 2, "--adam-eps: 0 is not between 1e-30 and 1"},
        {DATA "--lr -1", 2, "--lr: -1 is not between 0 and 1000"},
        {DATA "--config a.yml", 2, "a.yml:1: width: '16.5' is not a whole number"},
        {DATA "--config b.yml", 2, "b.yml:1: unknown option 'widht', did you mean 'width'?"},
        {DATA "--config c.yml", 2, "c.yml:|: not YAML"},
        {DATA "--config d.yml", 1, "d.yml: cannot open: No such file"},
        {"", 2, "--train is required: the data to learn from"},
        {DATA "--steps 0", 2, "no stopping condition: give --epochs, --steps, --minutes or --patience"},
        {DATA "--patience 3", 2, "--patience needs --valid or --valid-fraction"},
        {DATA VALID "--valid-fraction 0.1", 2, "--valid and --valid-fraction exclude each other"},
        {DATA "--separate-vocab", 2, "--separate-vocab needs --untied"},
        {DATA "--max-positions 20", 2, "--max-positions 20 is too few for --max-length 40 and the end"},
        {DATA "--batch-tokens 40", 2,
         "--batch-tokens 40 is less than a sentence of --max-length 40 and its end"},
        {DATA "--freeze 'model.encodr.*'", 2, "no parameter matches 'model.encodr.*': nothing to freeze"},
        {DATA "--device tpu", 1, "tpu"},
        {DATA "--tokenizer-model two", 1, "two:1: "},
        {DATA "--steps 0 --minutes 1 --schedule linear", 1, "give --epochs, --steps or --decay-steps"},
        {DATA "word", 1, "word: No such file"},
        {DATA "--steps 5 word", 2, "unexpected argument 'word'"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "$HEED train -q $TINY --steps 2 %s --out bad; s=$?; rm -rf bad; exit $s", cases[i].options);
        assert_fails(command, cases[i].status, cases[i].says);
    }
    must_run("$HEED train -q $TINY --steps 2 --train two latin --on-invalid skip --out skipped"); /* one line
                                                                                                 is left */
}

/* Gradient descent with a rate of 1000 and nothing to hold it. */
static void numbers_that_run_away_end_the_run(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    must_run(TRAIN VALID "--steps 3 --optimizer sgd --lr 1e-6 --warmup 0 --clip 0 --save-every 1 --out wild");
    /* the first three were small steps; from a file of options that says otherwise, the next are not */
    must_run("cp -r wild/train/step-3 good; sed -i 's/^lr: .*/lr: 1000/' wild/training.yml");
    int status = shell(out, "$HEED train --resume --steps 100 --save-every 4 --out wild");
    assert_int_equal(status, 1);
    assert_non_null(strstr(out, "the gradient is not finite, this update is left out (1 so far)"));
    assert_non_null(strstr(out, "this update is left out (5 so far)"));
    assert_non_null(strstr(out, ": the last 5 updates were not finite, the run is stopped; the last good "
                                "checkpoint is that of step "));
    must_run(
        "ls wild/train/$(cat wild/train/current)/state.json && $HEED translate -d cpu -q wild --checkpoint "
        "last <c/test.en >translated");
}

/* The model is larger than 1 MiB: below that a sanitizer may not start (see corpus_test.c). */
/* Whatever a run that diverges has saved last gives numbers: an update may be finite and its weights useless,
   which the next one shows. By the numbers of the CPU: which update is the first useless one depends on them.
 */
static void a_run_that_diverges_keeps_a_model_that_works(void **state)
{
    (void)state;
#define DIVERGE                                                                                            \
    "--device cpu --optimizer sgd --clip 0 --ema 0 --warmup 1 --schedule constant --save-every 1 --steps " \
    "60 "
    for (int rate = 200; rate <= 1000; rate += 200) {
        char command[1024];
        snprintf(
            command, sizeof command,
            TRAIN DIVERGE
            "--lr %d --out divergent 2>said && echo trained; grep -c 'were not finite.*lower --lr' said; "
            "head -5 c/valid.en | $HEED translate -q --device cpu divergent | wc -l; $HEED train -q --resume "
            "--lr %d --steps 1 --out divergent; rm -r divergent",
            rate, rate);
        assert_prints(command, 0, "1\n5\n");
    }
    char out[SHELL_ROOM];
    int status = shell(out, TRAIN VALID DIVERGE "--lr 1000 --valid-every 1 --out watched");
    if (status != 1 || !strstr(out, "step ") || !strstr(out, " not finite, the run is stopped; ") ||
        !strstr(out, "the last good checkpoint is that of step ") || !strstr(out, "lower --lr"))
        fail_msg("%d: %s", status, out);
    must_run("head -5 c/valid.en | $HEED translate -q --device cpu watched");
}

static void a_full_disk_leaves_the_last_checkpoint(void **state)
{
    (void)state;
    must_run(TRAIN "--width 256 --ffn-size 512 --steps 1 --save-every 1 --out full && cp -r full intact");
    assert_fails("ulimit -f 2048; $HEED train -q --resume --steps 3 --out full", 1,
                 "full/|.safetensors: cannot write: File too large");
    assert_prints(
        "diff -r full/train/step-1 intact/train/step-1; cat full/train/current; ls -d full/train/step-*; "
        "find full -name '*.tmp.*'; cmp full/model.safetensors intact/model.safetensors",
        0, "step-1\nfull/train/step-1\n");
    must_run(
        "$HEED train -q --resume --steps 3 --out full && $HEED train -q --resume --steps 3 --out intact");
    assert_prints(SAME "same full intact", 0, "");
    assert_fails("ulimit -f 2048; " TRAIN "--width 256 --ffn-size 512 --steps 3 --out never", 1,
                 "never/|.safetensors: cannot write: File too large");
}

/* ---- what options do ---- */

/* The losses of a log of train/log.jsonl, one a step. */
static int losses_of(const char *folder, double loss[], int room)
{
    FILE *f = fopen(at("%s/train/log.jsonl", folder), "r");
    char line[4096];
    int count = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_error_t e;
        json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, &e);
        if (!o) fail_msg("%s: %s", e.text, line);
        if (!strcmp(json_string_value(json_object_get(o, "kind")), "train") && count < room)
            loss[count++] = json_number_value(json_object_get(o, "loss"));
        json_decref(o);
    }
    fclose(f);
    return count;
}

static void parts_of_an_update_add_up(void **state)
{
    (void)state;
    double loss[2][8];
    must_run(TRAIN "--steps 5 --report-every 1 --micro-batches 1 --out whole-1");
    must_run(TRAIN "--steps 5 --report-every 1 --micro-batches 3 --out parts-3");
    assert_int_equal(losses_of("whole-1", loss[0], 8), 5);
    assert_int_equal(losses_of("parts-3", loss[1], 8), 5);
    for (int i = 0; i < 5; i++) /* sums in another order; dropout goes by the sentence, not by its place */
        if (!(fabs(loss[1][i] - loss[0][i]) < 1e-5 * loss[0][i]))
            fail_msg("%.9g %.9g", loss[0][i], loss[1][i]);
    assert_true(loss[0][4] < loss[0][0]);
}

static void recomputation_gives_the_same_bits(void **state)
{
    (void)state;
    must_run(TRAIN VALID "--steps 5 --out once-only && " TRAIN VALID
                         "--steps 5 --recompute --out recomputed");
    must_run(
        "sed -i '/flops/d' once-only/train/step-5/state.json recomputed/train/step-5/state.json"); /* four
                                                                                                 passes, not
                                                                                                 three */
    assert_prints(SAME "same once-only recomputed", 0, "");
}

static void layers_are_those_of_both_sides(void **state)
{
    (void)state;
#define LAYERS "$HEED train -q --device cpu --width 16 --tokenizer words " DATA "--steps 1 "
    static const struct {
        const char *options, *encoder, *decoder;
    } cases[] = {{"--layers 2", "2", "2"},
                 {"--layers 2 --heads 2 --decoder-layers 1", "2", "1"},
                 {"--layers 1 --encoder gru --decoder gru --encoder-layers 3", "3", "1"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char command[512], expected[128];
        snprintf(command, sizeof command,
                 LAYERS "%s --overwrite --out layers && grep layers: layers/training.yml", cases[i].options);
        snprintf(expected, sizeof expected, "encoder-layers: %s\ndecoder-layers: %s\n", cases[i].encoder,
                 cases[i].decoder);
        assert_prints(command, 0, expected);
    }
    must_run(LAYERS "--layers 2 --overwrite --out layers && $HEED train -q --resume --layers 2 --out layers");
    assert_fails("$HEED train -q --resume --layers 3 --out layers", 2,
                 "--encoder-layers was 2 when the run began and is 3 now");
}

static void what_is_frozen_stays_as_drawn(void **state)
{
    (void)state;
    must_run(TRAIN "--untied --ema 0 --steps 0 --minutes 1e-9 --freeze 'model.encoder.*' --out frozen && cp "
                   "-r frozen drawn");
    must_run("$HEED train -q --resume --minutes 0 --steps 6 --out frozen");
    hd_err err = {0};
    hd_safetensors *before = NULL, *after = NULL;
    if (hd_safetensors_open(&before, at("drawn/model.safetensors"), &err) ||
        hd_safetensors_open(&after, at("frozen/model.safetensors"), &err))
        fail_msg("%s", err.text);
    size_t frozen = 0, moved = 0;
    for (size_t i = 0; i < hd_safetensors_count(before); i++) {
        const hd_entry *a = hd_safetensors_at(before, i), *b = hd_safetensors_find(after, a->name);
        bool encoder = !strncmp(a->name, "model.encoder.", 14), same = !memcmp(a->data, b->data, a->bytes);
        if (encoder != same) fail_msg("%s", a->name);
        frozen += encoder, moved += !encoder;
    }
    assert_true(frozen > 10 && moved > 10);
    hd_safetensors_free(before);
    hd_safetensors_free(after);
}

/* One corpus in every form it may have, and part of it held back. */
static void a_corpus_is_the_same_in_every_form(void **state)
{
    (void)state;
    must_run("paste c/train.en c/train.de >c/train.tsv; gzip -kf c/train.en c/train.de c/train.tsv");
    must_run(TRAIN "--steps 3 --out plain");
    static const char *const forms[] = {"--train c/train.tsv", "--train c/train.tsv.gz",
                                        "--train c/train.en.gz c/train.de.gz",
                                        "--train c/train.en.gz c/train.de", "--train - <c/train.tsv"};
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        char command[512];
        snprintf(command, sizeof command,
                 SAME "$HEED train -q $TINY --steps 3 --out form %s && same plain form && rm -r form",
                 forms[i]);
        must_run(command);
    }
    must_run(
        TRAIN
        "--valid-fraction 0.1 --steps 5 --out held && grep -q '\"kind\":\"valid\"' held/train/log.jsonl");
    must_run(TRAIN "--valid-fraction 0.1 --steps 5 --out held-2");
    assert_prints(SAME "same held held-2", 0, "");
    assert_prints(SAME "same held plain >/dev/null || echo others", 0, "others\n");
}

static void a_dry_run_writes_nothing(void **state)
{
    (void)state;
    const char *out = must_run("mkdir dry && cd dry && $HEED train -q $TINY --train ../c/train.en "
                               "../c/train.de --steps 9 --dry-run --out m; ls");
    static const char *const says[] = {
        "parameters ",         "vocabulary         920\n", "pairs              300\n",
        "batches an epoch   ", "memory             ",      "work               "};
    for (size_t i = 0; i < COUNT_OF(says); i++)
        if (!strstr(out, says[i])) fail_msg("%s", out);
    assert_prints("ls dry", 0, "");
    assert_prints(
        "cd dry; "
        "$HEED train -q $TINY --train ../c/train.en ../c/train.de --steps 9 --dry-run >/dev/null; ls",
        0, "");
}

static double mebibytes(const char *command)
{
    const char *out = must_run(command), *at = strstr(out, "memory             ");
    return at ? strtod(at + strlen("memory"), NULL) : NAN;
}

/* A card computes in bf16, and is planned for so, whether there is one here or not: of the smallest possible
   model little more than activations is half as large. */
static void a_dry_run_counts_as_its_device_does(void **state)
{
    (void)state;
    must_run("cat c/train.en c/train.de >text; awk '{ print (NR % 2 ? \"a\" : \"b\") \"\\t\" $0 }' "
             "c/train.en >rows; "
             "{ printf 'label\\ttext\\n'; cat rows; } >labels.tsv");
    static const char *const tasks[] = {
        ("$TINY --steps 1 " DATA), "--task lm --unit word --batch-size 64 --steps 1 --train text",
        "--task mlm --unit word --layers 1 --width 16 --heads 2 --ffn-size 32 --batch-size 64 --steps 1 "
        "--train text",
        "--task classify --model transformer --train labels.tsv --batch-size 256 --steps 1"};
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        char command[1024];
        double f32, bf16;
        snprintf(command, sizeof command, "$HEED train %s --dry-run --device cpu", tasks[i]);
        f32 = mebibytes(command);
        snprintf(command, sizeof command, "$HEED train %s --dry-run --device cuda", tasks[i]);
        bf16 = mebibytes(command);
        if (!(bf16 > 0 && bf16 < f32)) fail_msg("%s: %g MiB, on the cpu %g", tasks[i], bf16, f32);
    }
}

static void a_dry_run_says_what_does_not_fit(void **state)
{
    (void)state;
    const char *out = must_run("$HEED train $TINY " DATA "--steps 1 --dry-run --device cpu");
    double left = 0, all = 0;
    const char *at = strstr(out, "\ndevice             cpu, ");
    if (!at || sscanf(at, "\ndevice cpu, %lf of %lf GiB free\n", &left, &all) != 2) fail_msg("%s", out);
    assert_true(left > 0 && left <= all && !strstr(out, "needs"));
    /* eight times 2^20 numbers of 4 bytes and more: no machine has so many */
    out = must_run("$HEED train $TINY " DATA
                   "--steps 1 --dry-run --device cpu --width 65536 --ffn-size 1048576 --encoder-layers 100");
    if (!strstr(out, " GiB, and the cpu has ") ||
        !strstr(out, " GiB free: give a smaller --batch-tokens, --micro-batches N or --recompute\n"))
        fail_msg("%s", out);
}

/* The log goes on where the checkpoint was, without gaps and without lines twice. */
static void the_log_is_whole_after_stops(void **state)
{
    (void)state;
    must_run(TRAIN "--steps 9 --report-every 1 --save-every 4 --out logged");
    must_run(
        "sed -i 's/.*/step-8/' logged/train/current; cp -r logged/train/step-9 logged/train/step-8; "
        "sed -i 's/\"step\": \"9\"/\"step\": \"8\"/' logged/train/step-8/state.json"); /* as if step 9 was
                                                                                          never saved */
    must_run("$HEED train -q --resume --steps 12 --out logged");
    assert_prints(
        "sed 's/.*\"step\":\\([0-9]*\\),\"kind\":\"train\".*/\\1/' logged/train/log.jsonl | tr '\\n' ' '", 0,
        "1 2 3 4 5 6 7 8 9 10 11 12 ");
}

int main(void)
{
    shell_prepare();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_and_stops_leave_no_trace),
        cmocka_unit_test(counters_of_early_stopping_are_resumed),
        cmocka_unit_test(kills_leave_no_trace),
        cmocka_unit_test(training_yml_begins_the_same_run),
        cmocka_unit_test(the_first_interrupt_saves_and_the_second_ends),
        cmocka_unit_test(the_rate_is_warned_of_where_it_teaches_nothing),
        cmocka_unit_test(an_instruction_set_has_its_bits),
        cmocka_unit_test(products_of_bf16_have_their_bits),
        cmocka_unit_test(what_may_change_and_what_may_not),
        cmocka_unit_test(folders_are_not_overwritten_unasked),
        cmocka_unit_test(changed_data_is_noticed),
        cmocka_unit_test(files_of_a_run_fit_each_other),
        cmocka_unit_test(bad_input_gives_one_clear_error),
        cmocka_unit_test(numbers_that_run_away_end_the_run),
        cmocka_unit_test(a_run_that_diverges_keeps_a_model_that_works),
        cmocka_unit_test(a_full_disk_leaves_the_last_checkpoint),
        cmocka_unit_test(parts_of_an_update_add_up),
        cmocka_unit_test(recomputation_gives_the_same_bits),
        cmocka_unit_test(layers_are_those_of_both_sides),
        cmocka_unit_test(what_is_frozen_stays_as_drawn),
        cmocka_unit_test(a_corpus_is_the_same_in_every_form),
        cmocka_unit_test(a_dry_run_writes_nothing),
        cmocka_unit_test(a_dry_run_counts_as_its_device_does),
        cmocka_unit_test(a_dry_run_says_what_does_not_fit),
        cmocka_unit_test(the_log_is_whole_after_stops),
    };
    return cmocka_run_group_tests(tests, make_corpus, scratch_remove);
}
