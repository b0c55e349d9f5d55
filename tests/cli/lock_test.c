/* One folder, one writer: several runs of the program with the same folder, at the same time. */
#include "check.h"
#include "cli/shell.h"

#define DATA  "--train c/train.en c/train.de --valid c/valid.en c/valid.de "
#define TRAIN "$HEED train -q $TINY " DATA

static int make_corpus(void **state)
{
    char out[SHELL_ROOM];
    if (scratch_make(state)) return -1;
    return shell(out, "$HEED corpus -q --pairs 300 --valid 20 --test 10 --out c; "
                      "$HEED corpus -q --seed 9 --pairs 300 --valid 20 --test 10 --out d; "
                      "cat c/train.en >t.txt");
}

/* Started at the same moment, as a script's fault would: one trains, the other says who does; the model is
   that of one of the two, whole. Vocabularies differ, so weights of one under the other's would not fit. */
static void of_two_runs_that_begin_together_one_trains(void **state)
{
    (void)state;
    must_run(TRAIN "--steps 6 --out first && "
                   "$HEED train -q $TINY --train d/train.en d/train.de --steps 6 --out second");
    for (int i = 0; i < 6; i++) {
        const char *out = must_run(
            "rm -rf both; "
            "(" TRAIN "--steps 6 --out both 2>e1; echo $? >s1) & "
            "($HEED train -q $TINY --train d/train.en d/train.de --steps 6 --out both 2>e2; echo $? >s2) & "
            "wait; cat s1 s2; cat e1 e2; "
            "if [ $(cat s1) = 0 ]; then w=first; else w=second; fi; "
            "cmp $w/model.safetensors both/model.safetensors && cmp $w/tokenizer.txt both/tokenizer.txt && "
            "cmp $w/training.yml both/training.yml && diff -r $w/train/step-6 both/train/step-6 && ls both");
        if ((strncmp(out, "0\n1\n", 4) && strncmp(out, "1\n0\n", 4)) ||
            !(strstr(out, "both: process ") || strstr(out, "both: not empty")) || strstr(out, "heed.lock"))
            fail_msg("%s", out);
    }
}

/* One that trains until it is stopped, and the process that it is. */
#define LONG                                                         \
    "$HEED train -q $TINY " DATA "--minutes 0.3 --out busy & p=$!; " \
    "while [ ! -e busy/train/current ]; do sleep 0.02; done; "
#define REFUSED "case \"$(cat e)\" in *\"busy: process $p is writing to this folder\"*) ;; *) cat e ;; esac; "

static void who_would_write_is_refused_while_a_run_lasts(void **state)
{
    (void)state;
    static const char *const writers[] = {"train --resume --out busy",
                                          "train $TINY " DATA "--steps 2 --overwrite --out busy",
                                          "train $TINY " DATA "--steps 2 --out busy"};
    char command[2048], out[SHELL_ROOM];
    for (size_t i = 0; i < COUNT_OF(writers); i++) {
        snprintf(command, sizeof command,
                 "rm -rf busy; " LONG "timeout 15 $HEED %s 2>e; echo $?; " REFUSED
                 "kill -9 $p; wait $p 2>/dev/null; "
                 "ls busy/heed.lock",
                 writers[i]);
        shell(out, command);
        if (strcmp(out, "1\nbusy/heed.lock\n")) fail_msg("%s: %s", writers[i], out);
    }
    /* a killed one keeps nobody out */
    must_run("$HEED train -q --resume --steps 3 --out busy");
    assert_prints("ls busy | grep lock", 1, "");
}

static void readers_are_not_kept_out(void **state)
{
    (void)state;
    assert_prints("rm -rf busy; " LONG "head -2 c/valid.en | $HEED translate -q busy | wc -l; "
                  "$HEED info busy >/dev/null; echo $?; kill -9 $p",
                  0, "2\n0\n");
}

static void imports_and_exports_hold_their_folders(void **state)
{
    (void)state;
    must_run("$HEED train -q --task lm --model gpt --layers 1 --heads 1 --width 8 --context 8 --batch-size 2 "
             "--steps 1 "
             "--unit char --device cpu --train t.txt --out gpt && $HEED export -q gpt out");
    /* both begin at once, and one of them alone can end */
    for (int i = 0; i < 5; i++) {
        const char *out = must_run("rm -rf in; ($HEED import -q out in 2>e1; echo $? >s1) & "
                                   "($HEED import -q out in 2>e2; echo $? >s2) & wait; cat s1 s2; cat e1 e2; "
                                   "ls -d in.tmp* 2>/dev/null; ls in");
        bool one = !strncmp(out, "0\n1\n", 4) || !strncmp(out, "1\n0\n", 4);
        if (!one || !(strstr(out, "in: ") || strstr(out, "/in: ")) || strstr(out, "lock") ||
            strstr(out, ".tmp"))
            fail_msg("%s", out);
    }
    assert_prints("rm -rf busy; " LONG
                  "$HEED import -q out busy 2>e; echo $?; grep -c \"busy: process $p is\" e; "
                  "$HEED export -q gpt busy 2>e; echo $?; grep -c \"busy: process $p is\" e; kill -9 $p",
                  0, "1\n1\n1\n1\n");
}

/* The folder that a link leads to is the place, and what a killed import left beside it goes. */
static void imports_follow_links_and_tidy_up(void **state)
{
    (void)state;
    must_run("rm -rf in; mkdir real real.tmp.77.0 && touch real.tmp.77.0/x && ln -s real in && $HEED import "
             "-q out in && "
             "$HEED info in >/dev/null");
    assert_prints("ls -d real* in; ls real/config.json", 0, "in\nreal\nreal/config.json\n");
    must_run("touch a.html.tmp.77.0 && head -1 c/valid.en | $HEED translate -q first --attention a.html "
             ">/dev/null");
    assert_prints("ls a.html*", 0, "a.html\n");
}

static void compared_models_are_trained_by_one(void **state)
{
    (void)state;
#define COMPARE                                                                                             \
    "$HEED compare -q --models 'gpt(layers=1 heads=1 width=8 context=8)' --device cpu --train t.txt --out " \
    "ladder "
    char out[SHELL_ROOM];
    shell(out, COMPARE "--steps 20000 & p=$!; "
                       "while [ ! -e ladder/*/training.yml ]; do sleep 0.02; done; timeout 15 " COMPARE
                       "--steps 20000 2>e; echo $?; grep -c \"process $p is writing\" e; kill -9 $p");
    assert_string_equal(out, "1\n1\n");
}

int main(void)
{
    shell_prepare();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_two_runs_that_begin_together_one_trains),
        cmocka_unit_test(who_would_write_is_refused_while_a_run_lasts),
        cmocka_unit_test(readers_are_not_kept_out),
        cmocka_unit_test(imports_and_exports_hold_their_folders),
        cmocka_unit_test(imports_follow_links_and_tidy_up),
        cmocka_unit_test(compared_models_are_trained_by_one),
    };
    return cmocka_run_group_tests(tests, make_corpus, scratch_remove);
}
