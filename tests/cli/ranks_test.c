/* heed train as several processes, as a user meets it: the same run as that of one process up to rounding,
   the same bytes however it was cut into sittings, one voice, and no process left waiting for another. */
#include "check.h"
#include "cli/shell.h"
#include "processes.h"

#include <jansson.h>

#define SAME                                                                                              \
    "same() { cmp $1/model.safetensors $2/model.safetensors && cmp $1/train/current $2/train/current && " \
    "diff -r $1/train/$(cat $1/train/current) $2/train/$(cat $2/train/current); }; "
#define RUN   "timeout 100 mpirun -n "
#define TRAIN " $HEED train $TINY --report-every 1 --threads 1 --valid c/valid.en c/valid.de "
#define DATA  "--train c/train.en c/train.de "
#define CARD \
    "$HEED info --devices --json | grep -q '\"cuda\", \"usable\": true' || exit 99; CUDA_VISIBLE_DEVICES=0 "

enum { NO_CARD = 99 };

static int make_corpus(void **state)
{
    char out[SHELL_ROOM];
    if (scratch_make(state)) return -1;
    shell_prepare();
    return shell(
        out,
        "$HEED corpus -q --pairs 300 --valid 20 --test 0 --out c && $HEED corpus -q --pairs 200 --valid 0 "
        "--test 0 --out d");
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text++) n++;
    return n;
}

/* ---- numbers ---- */

static double number(const json_t *line, const char *key)
{
    const json_t *v = json_object_get(line, key);
    if (!json_is_number(v)) fail_msg("no %s in the log", key);
    return json_number_value(v);
}

/* Sums over other shares are rounded otherwise; after a dozen updates that is still below this. */
static void assert_same_log(const char *a, const char *b)
{
    char *x = get_file(at("%s/train/log.jsonl", a), NULL), *y = get_file(at("%s/train/log.jsonl", b), NULL);
    char *rest[2] = {x, y}, *line[2];
    int lines = 0;
    while ((line[0] = strsep(&rest[0], "\n")) && (line[1] = strsep(&rest[1], "\n")) && *line[0] && *line[1]) {
        json_t *p = json_loads(line[0], 0, NULL), *q = json_loads(line[1], 0, NULL);
        const char *kind = json_string_value(json_object_get(p, "kind"));
        assert_non_null(p), assert_non_null(q), assert_non_null(kind);
        assert_string_equal(json_string_value(json_object_get(q, "kind")), kind);
        bool train = !strcmp(kind, "train");
        const char *const exact[] = {"step", train ? "tokens" : "best", train ? "rate" : "bleu",
                                     train ? "flops" : "best"};
        for (size_t i = 0; i < COUNT_OF(exact); i++)
            if (fabs(number(p, exact[i]) - number(q, exact[i])) > 0) fail_msg("%s\n%s", line[0], line[1]);
        if (fabs(number(p, "loss") / number(q, "loss") - 1) > 1e-5) fail_msg("%s\n%s", line[0], line[1]);
        if (train && fabs(number(p, "gradient_norm") / number(q, "gradient_norm") - 1) > 1e-4)
            fail_msg("%s\n%s", line[0], line[1]);
        json_decref(p), json_decref(q);
        lines++;
    }
    assert_int_equal(lines, 12 + 3);
    free(x), free(y);
}

static void processes_train_as_one(void **state)
{
    (void)state;
    must_run(TRAIN DATA "--steps 12 -q --out one");
    must_run(RUN "1" TRAIN DATA "--steps 12 -q --out launched");
    assert_prints(SAME "same one launched", 0, "");
    must_run(RUN "2" TRAIN DATA "--steps 12 -q --out two");
    must_run(RUN "3" TRAIN DATA "--steps 12 -q --out three");
    assert_same_log("one", "two");
    assert_same_log("one", "three");
    /* batches of one or two sentences: somebody has nothing to do */
    must_run(TRAIN DATA "--batch-tokens 25 --max-length 24 --steps 12 -q --out few");
    must_run(RUN "3" TRAIN DATA "--batch-tokens 25 --max-length 24 --steps 12 -q --out few_each");
    assert_same_log("few", "few_each");
}

/* Rows that are made one after the other, as many as the longest sentence of a share has: what is drawn for
   a sentence must not depend on the others. */
static void recurrent_models_train_as_one(void **state)
{
    (void)state;
    static const char *const models[] = {"--preset rnnsearch", "--preset luong"};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        char command[1024];
        for (int ranks = 1; ranks <= 3; ranks++) {
            snprintf(
                command, sizeof command,
                "timeout 100 mpirun -n %d $HEED train -q --device cpu --width 16 --tokenizer words "
                "--batch-tokens 200 --max-length 40 --max-positions 64 --dropout 0.2 --attention-dropout 0.1 "
                "--valid-every 4 --bleu-sentences 10 --report-every 1 --threads 1 --valid c/valid.en "
                "c/valid.de " DATA "%s --steps 12 --overwrite --out r%d",
                ranks, models[i], ranks);
            must_run(command);
        }
        assert_same_log("r1", "r2");
        assert_same_log("r1", "r3");
    }
}

/* Nothing is learned at a rate of 0, so that all judge the same weights: only the order of sums differs. */
static void processes_validate_as_one(void **state)
{
    (void)state;
    static const char *const runs[] = {
        "--task lm --model gpt --layers 1 --width 16 --heads 2 --train c/train.en --valid c/train.de",
        "--task lm --model gru --width 16 --context 4 --train c/train.en --valid c/train.de",
        ("--task mlm --unit word --layers 1 --width 16 --heads 2 --context 16 --train c/train.en "
         "--valid c/train.de"),
        "--task classify --width 16 --train names.tsv --valid-fraction 0.5 --max-length 300",
        "--task regress --width 16 --train numbers.tsv --valid-fraction 0.5 --max-length 300"};
    must_run("awk 'BEGIN { print \"label\\ttext\" } { print (NR % 3) \"\\t\" $0 }' c/train.en > names.tsv");
    must_run(
        "awk 'BEGIN { print \"label\\ttext\" } { print (NR % 7) / 7 \"\\t\" $0 }' c/train.en > numbers.tsv");
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        double loss[3], score[3];
        for (int ranks = 1; ranks <= 3; ranks++) {
            char command[1024];
            snprintf(command, sizeof command,
                     RUN "%d $HEED train -q --device cpu --threads 1 --lr 0 --steps 1 --overwrite --out v %s",
                     ranks, runs[i]);
            must_run(command);
            char *log = get_file(at("v/train/log.jsonl"), NULL),
                 *line = strstr(log, "{\"step\":1,\"kind\":\"valid\"");
            if (line) line[strcspn(line, "\n")] = 0;
            json_t *found = line ? json_loads(line, 0, NULL) : NULL;
            if (!found) fail_msg("%s: no validation in %s", runs[i], log);
            loss[ranks - 1] = number(found, "loss");
            const json_t *share = json_object_get(found, i == 4 ? "pearson" : "accuracy");
            score[ranks - 1] = json_is_number(share) ? json_number_value(share) : 0;
            json_decref(found);
            free(log);
        }
        for (int k = 1; k < 3; k++)
            if (fabs(loss[k] / loss[0] - 1) > 1e-12 || fabs(score[k] - score[0]) > 1e-12)
                fail_msg("%s: %.17g and %.17g, %.17g and %.17g", runs[i], loss[0], loss[k], score[0],
                         score[k]);
    }
}

static void sittings_of_processes_leave_no_trace(void **state)
{
    (void)state;
    must_run(RUN "2" TRAIN DATA "--steps 20 -q --out whole");
    must_run(RUN "2" TRAIN DATA "--steps 20 --minutes 1e-9 -q --out parts");
    for (int steps = 2; steps < 20; steps += 7) {
        char command[256];
        snprintf(command, sizeof command, RUN "2 $HEED train -q --resume --steps %d --threads 1 --out parts",
                 steps);
        must_run(command);
    }
    must_run(RUN "2 $HEED train -q --resume --threads 1 --out parts");
    assert_prints(SAME "same whole parts", 0, "");
    assert_prints("find whole parts -name '*.tmp.*'", 0, "");
    /* by another number of them it goes on, too */
    must_run(TRAIN DATA "--steps 4 -q --out mixed");
    must_run(RUN "3 $HEED train -q --resume --steps 8 --threads 1 --out mixed");
    must_run(RUN "2 $HEED train -q --resume --steps 12 --threads 1 --out mixed");
    assert_same_log("one", "mixed");
}

/* ---- words ---- */

static void one_process_speaks(void **state)
{
    (void)state;
    const char *out = must_run(RUN "3" TRAIN DATA "--steps 4 --out spoken");
    if (count(out, "3 processes share every batch\n") != 1 || count(out, "step 4/4") != 2 ||
        count(out, "the model is in spoken") != 1)
        fail_msg("%s", out);
    out = must_run(RUN "2" TRAIN DATA "--steps 4 --dry-run");
    if (count(out, "parameters ") != 1) fail_msg("%s", out);
}

static void failures_end_all_and_are_said_once(void **state)
{
    (void)state;
    static const struct {
        const char *command, *says;
    } cases[] = {
        {RUN "2" TRAIN "--steps 9 --out bad --train", "heed train: --train"},
        {RUN "2" TRAIN "--train c/nothing c/train.de --steps 9 --out bad",
         "heed train: c/nothing: No such file"},
        {RUN "2" TRAIN DATA "--steps 9 --out c", "heed train: c: not empty"},
        {RUN "1" TRAIN DATA "--steps 9 --out bad : -n 1" TRAIN
             "--train d/train.en d/train.de --steps 9 --out bad",
         "heed train: process 1: the data or the model is not that of process 0"},
        {RUN "1" TRAIN DATA "--steps 9 --out bad : -n 1" TRAIN
             "--train d/nothing d/train.de --steps 9 --out bad",
         "heed train: process 1: d/nothing: No such file"},
        {RUN "2" TRAIN DATA "--steps 9 --out bad : -n 1" TRAIN DATA "--heads 3 --steps 9 --out bad",
         "heed train: process 2: --width 16 cannot be split over --heads 3"},
        {"CUDA_VISIBLE_DEVICES= " RUN "2" TRAIN DATA "--device cuda --steps 9 --out bad",
         HEED_CUDA ? "heed train: no CUDA device was found" : "heed train: there is no device 'cuda'"},
        /* where there is a card: one for two of them, and one that only one of them wants */
        {CARD RUN "2" TRAIN DATA "--device cuda --steps 9 --out bad",
         HEED_NCCL ? "heed train: 2 processes share this card" : "this build is without"},
        {CARD RUN "1" TRAIN DATA "--device cuda --steps 9 --out bad : -n 1" TRAIN DATA "--steps 9 --out bad",
         "heed train: the processes are on different kinds of devices"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char out[SHELL_ROOM];
        int status = shell(out, cases[i].command);
        if (status == NO_CARD) continue;
        if (status <= 0 || status == 124 || count(out, "heed train: ") != 1 || !strstr(out, cases[i].says))
            fail_msg("%s: status %d: %s", cases[i].command, status, out);
    }
    assert_prints("ls -d bad 2>/dev/null | wc -l", 0, "0\n");
}

/* ---- signals ---- */

/* Starts a run without end, whose processes leave their numbers; waits for its first checkpoint; sends a
   signal to process 1. */
#define SIGNAL(name, signal)                                                         \
    "{ timeout 100 mpirun -n 2 sh -c 'echo $$ >" name                                \
    ".${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exec " TRAIN DATA                          \
    "--steps 100000000 --report-every 1000000 --out " name "'; echo status $?; } & " \
    "until [ -e " name "/train/current ]; do sleep 0.05; done; kill -" signal " $(cat " name ".1); wait; "

static void a_signal_to_one_stops_all(void **state)
{
    (void)state;
    const char *out = must_run(SIGNAL("stopped", "TERM"));
    if (!strstr(out, "; everything is saved\n") || !strstr(out, "status 143\n")) fail_msg("%s", out);
    out = must_run(SIGNAL("killed", "KILL"));
    if (!strstr(out, "status ") || strstr(out, "status 0\n") || strstr(out, "status 124\n"))
        fail_msg("%s", out);
    must_run(RUN "2 $HEED train -q --resume --threads 1 --steps 1 --out killed");
}

int main(void)
{
    if (!processes_prepare()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_train_as_one),    cmocka_unit_test(recurrent_models_train_as_one),
        cmocka_unit_test(processes_validate_as_one), cmocka_unit_test(sittings_of_processes_leave_no_trace),
        cmocka_unit_test(one_process_speaks),        cmocka_unit_test(failures_end_all_and_are_said_once),
        cmocka_unit_test(a_signal_to_one_stops_all),
    };
    return cmocka_run_group_tests(tests, make_corpus, scratch_remove);
}
