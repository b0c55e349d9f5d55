/* Signals and broken pipes that meet a training, from its first moment on. A shell ignores SIGINT for what it
   starts in the background; `env --default-signal` undoes that. */
#include "check.h"
#include "cli/shell.h"

/* One thread: two wait long for each other on a busy machine. */
#define DATA    "--threads 1 --train c/train.en c/train.de "
#define CATCH   "env --default-signal=INT,TERM,HUP "
#define STARTED "while [ ! -e $o/train/current ]; do sleep 0.02; done; "

static int make_corpus(void **state)
{
    char out[SHELL_ROOM];
    if (scratch_make(state)) return -1;
    return shell(out, "$HEED corpus -q --pairs 300 --valid 20 --test 10 --out c");
}

static void what_was_ignored_stays_ignored(void **state)
{
    (void)state;
    static const char *const signals[] = {"HUP", "INT", "TERM"};
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        char command[1024];
        snprintf(command, sizeof command,
                 "o=ignored-%s; (trap '' %s; exec $HEED train -q $TINY " DATA
                 "--steps 400 --out $o) & p=$!; " STARTED
                 "kill -%s $p; wait $p; echo $?; cat $o/train/current",
                 signals[i], signals[i], signals[i]);
        assert_prints(command, 0, "0\nstep-400\n");
    }
}

static void what_was_not_ignored_saves_and_ends(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int status;
    } signals[] = {{"HUP", 129}, {"INT", 130}, {"TERM", 143}};
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        char command[1024], expected[64];
        snprintf(command, sizeof command,
                 "o=caught-%s; " CATCH "$HEED train -q $TINY " DATA "--minutes 0.3 --out $o & p=$!; " STARTED
                 "kill -%s $p; wait $p; echo $?; ls -d $o/train/step-*/state.json | wc -l; ls $o | grep lock",
                 signals[i].name, signals[i].name);
        snprintf(expected, sizeof expected, "%d\n1\n", signals[i].status);
        assert_prints(command, 1, expected); /* 1: no lock is left to be found */
    }
}

/* What would be read comes from a pipe into which nobody writes: the run waits for it until the signal. */
#define WAITING                                                                               \
    "mkfifo pipe; sleep 30 >pipe & s=$!; " CATCH "$HEED train $TINY --train - --out $o $how " \
    "<pipe & p=$!; while [ ! -s $o/heed.lock ]; do sleep 0.02; done; "                        \
    "kill -$signal $p; wait $p; echo $?; kill $s; rm pipe; "

static void before_the_first_update_a_signal_ends_at_once(void **state)
{
    (void)state;
    assert_prints("o=unborn how='--steps 2' signal=INT; " WAITING "ls -d unborn", 2,
                  "heed: stopped before the first update: there is nothing to save\n130\n"
                  "ls: cannot access 'unborn': No such file or directory\n");
    assert_prints("o=unborn how='--task lm --model ngram -q' signal=TERM; TINY='--unit char'; " WAITING
                  "ls -d unborn",
                  2, "143\nls: cannot access 'unborn': No such file or directory\n");
    /* what is there already stays, also where it would have been overwritten */
    must_run("$HEED train -q $TINY " DATA "--steps 2 --out old && cp -r old copy");
    assert_prints("o=old how='--overwrite -q --steps 2' signal=HUP; " WAITING "diff -r old copy", 0, "129\n");
}

static void a_reader_that_goes_away_ends_nothing(void **state)
{
    (void)state;
    must_run("$HEED train -q $TINY " DATA "--steps 40 --out quiet");
    assert_prints("{ $HEED train $TINY " DATA
                  "--steps 40 --report-every 1 --out piped 2>&1; echo $? >status; } | "
                  "head -1 >/dev/null; cat status piped/train/current; cmp quiet/model.safetensors "
                  "piped/model.safetensors",
                  0, "0\nstep-40\n");
}

int main(void)
{
    shell_prepare();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_ignored_stays_ignored),
        cmocka_unit_test(what_was_not_ignored_saves_and_ends),
        cmocka_unit_test(before_the_first_update_a_signal_ends_at_once),
        cmocka_unit_test(a_reader_that_goes_away_ends_nothing),
    };
    return cmocka_run_group_tests(tests, make_corpus, scratch_remove);
}
