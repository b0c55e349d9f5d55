/* heed train --task tag and heed tag as a user meets them: a label that hangs on the token behind is learned
   by an encoder that reads both ways, and by no other. */
#include "check.h"
#include "cli/shell.h"

#define TRAIN "$HEED train -q --task tag --device cpu --train tags.tsv --width 16 --batch-size 8 --warmup 3 "
#define FAST  "--lr 0.02 "

/* Each token is "up" when the one behind it is `x`. */
static int make_tags(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    char out[SHELL_ROOM];
    return shell(out, "awk 'BEGIN { srand(1); for (s = 0; s < 200; s++) { n = 3 + int(rand() * 5); "
                      "for (i = 0; i < n; i++) w[i] = rand() < 0.5 ? \"x\" : \"y\"; w[n] = \"y\"; "
                      "for (i = 0; i < n; i++) print w[i] \"\\t\" (w[i + 1] == \"x\" ? \"up\" : \"down\"); "
                      "print \"\" } }' > tags.tsv; " TRAIN FAST "--encoder bi-gru --epochs 12 --out model");
}

static double accuracy_of(const char *model)
{
    char command[256];
    double share = 0;
    snprintf(command, sizeof command, "$HEED tag %s --confusion %s/train/held-out.tsv | tail -1", model,
             model);
    assert_int_equal(sscanf(must_run(command), "accuracy %lf", &share), 1);
    return share;
}

static void tokens_get_labels(void **state)
{
    (void)state;
    const char *out = must_run("$HEED explain model 'y x y'");
    if (!strstr(out, "Tagger, bi-gru:1") || !strstr(out, "3. y, token 3")) fail_msg("%s", out);
    assert_prints("printf 'y x y\\n\\n  x\\tx \\n' | $HEED tag model", 0,
                  "y\tup\nx\tdown\ny\tdown\n\n\nx\tup\nx\tdown\n\n");
    assert_prints(
        "printf 'y x\\n\\n' | $HEED tag model --json", 0,
        "{\"tokens\": [{\"token\": \"y\", \"label\": \"up\"}, {\"token\": \"x\", \"label\": \"down\"}]}\n"
        "{\"tokens\": []}\n");
    assert_prints("$HEED tag model < /dev/null; printf '\\n' | $HEED tag model", 0, "\n");
    assert_prints("grep -o '\"task\": \"tag\"\\|\"pool\": \"each\"' model/config.json; cat model/labels.txt",
                  0, "\"task\": \"tag\"\n\"pool\": \"each\"\ndown\nup\n");
    must_run("$HEED info model | grep '^task  *tag$'");
}

static void what_is_behind_is_seen_by_both_ways_alone(void **state)
{
    (void)state;
    must_run(TRAIN FAST "--model gru --epochs 12 --out forth");
    must_run(TRAIN "--model transformer --heads 2 --lr 0.005 --dropout 0 --epochs 30 --out blocks");
    assert_true(accuracy_of("model") > 97);
    assert_true(accuracy_of("blocks") > 97);
    assert_true(accuracy_of("forth") < 80);
}

static void tokens_of_several_pieces_have_one_label(void **state)
{
    (void)state;
    must_run(
        "sed 's/^x/xenon/; s/^y/yttrium/' tags.tsv > long.tsv; $HEED train -q --task tag --device cpu "
        "--train "
        "long.tsv --unit char --encoder bi-gru --width 16 --batch-size 8 --lr 0.02 --epochs 15 --out chars");
    assert_true(accuracy_of("chars") > 97);
    assert_prints("echo 'yttrium xenon yttrium' | $HEED tag chars", 0,
                  "yttrium\tup\nxenon\tdown\nyttrium\tdown\n\n");
    /* longer than the model has positions: every token still has its label */
    const char *shown = must_run("$HEED explain chars 'yttrium xenon'"); /* more rows than labels */
    if (!strstr(shown, "logits  2 ") || !strstr(shown, "2. x, token 8")) fail_msg("%s", shown);
    must_run("$HEED train --task tag --device cpu --train tags.tsv --width 16 --heads 2 --model transformer "
             "--max-length 3 --epochs 1 --out short 2>&1 | grep 'longer than 3'");
    assert_prints("echo 'x y x y x y x' | $HEED tag short | wc -l", 0, "8\n");
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    assert_fails("$HEED train -q --task tag --train-dir . --out x", 2,
                 "--train-dir is an option of --task classify, not of tag");
    assert_fails(TRAIN "--pool mean --out x", 2, "--pool is an option of --task classify, not of tag");
    assert_fails("$HEED train -q --task tag --out x", 2, "--train is required");
    must_run("printf 'a b\\n' > bad; printf 'a\\tX\\n\\nb\\tX\\n' > one");
    assert_fails("$HEED train -q --task tag --train bad --out x", 1, "bad:1: no tab");
    assert_fails("$HEED train -q --task tag --train one --out x", 1, "all of it has the label \"X\"");
    assert_fails("$HEED classify model < /dev/null", 1, "this is a tagger, which `heed tag` reads");
    assert_fails("printf 'x\\tside\\n' | $HEED tag model --confusion", 1,
                 "the label \"side\" is none of the 2");
    assert_prints("printf '\\377\\ny\\n' | $HEED tag model -q", 1,
                  "\ny\tdown\n\nheed: error: 1 of 2 lines could not be answered\n");
}

static void a_resumed_run_equals_a_whole_one(void **state)
{
    (void)state;
    must_run(TRAIN FAST "--encoder bi-lstm --steps 30 --valid-every 7 --out whole && " TRAIN FAST
                        "--encoder bi-lstm --steps 30 --valid-every 7 --minutes 1e-9 --out parts");
    must_run(
        "$HEED train -q --resume --steps 11 --out parts && $HEED train -q --resume --threads 1 --steps 30 "
        "--out parts");
    assert_prints("cmp whole/model.safetensors parts/model.safetensors && diff -r whole/train/step-30 "
                  "parts/train/step-30",
                  0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_get_labels),
        cmocka_unit_test(what_is_behind_is_seen_by_both_ways_alone),
        cmocka_unit_test(tokens_of_several_pieces_have_one_label),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_resumed_run_equals_a_whole_one),
    };
    return cmocka_run_group_tests(tests, make_tags, scratch_remove);
}
