/* heed train --task multilabel as a user meets it: from a table to any number of labels of a text, from
   scratch and from a BERT, there and back through the format of transformers, and what does not fit is
   refused. */
#include "check.h"
#include "cli/shell.h"

#define SAME                                                                                              \
    "same() { cmp $1/model.safetensors $2/model.safetensors && cmp $1/train/current $2/train/current && " \
    "diff -r $1/train/$(cat $1/train/current) $2/train/$(cat $2/train/current); }; "
#define TRAIN "$HEED train -q --device cpu --task multilabel "
#define SMALL \
    "--unit word --model gru --pool max --width 24 --batch-size 16 --lr 0.02 --warmup 5 --dropout 0 "

/* Texts of other words with the names of colors among them: each color is a label, many texts have none. */
static int make_model(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    char out[SHELL_ROOM];
    return shell(out,
                 "awk 'BEGIN { srand(3); split(\"red green blue\", c, \" \"); print \"text\\tlabel\"; "
                 "for (i = 0; i < 400; i++) { s = \"\"; l = \"\"; for (k = 1; k <= 3; k++) { "
                 "s = s \"w\" int(12 * rand()) \" \"; if (rand() < 0.4) { s = s c[k] \" \"; "
                 "l = (i % 2 ? (l == \"\" ? c[k] : l \",\" c[k]) : (l == \"\" ? c[k] : c[k] \", \" l)) } } "
                 "print s \"w\" int(12 * rand()) \"\\t\" l } }' > table.tsv; " TRAIN SMALL
                 "--train table.tsv --epochs 6 --out model");
}

static double figure_of(const char *json, const char *name)
{
    char key[64];
    double value = -1;
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *at = strstr(json, key);
    if (!at || sscanf(at + strlen(key), "%lf", &value) != 1) fail_msg("%s: no %s", json, name);
    return value;
}

static void sets_of_labels_are_learned(void **state)
{
    (void)state;
    static const char *const names[] = {"micro_f1", "macro_f1", "exact_match", "average_precision"};
    char json[SHELL_ROOM];
    snprintf(json, sizeof json, "%s",
             must_run("$HEED classify model --confusion --json model/train/held-out.tsv"));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!(figure_of(json, names[i]) > 0.95)) fail_msg("%s: %s", names[i], json);
    assert_true(figure_of(json, "items") > 30);
    assert_true(figure_of(json, "cross_entropy") < 0.2);
    const char *out = must_run("$HEED classify model --confusion model/train/held-out.tsv");
    assert_non_null(strstr(out, "micro-F1 "));
    assert_non_null(strstr(out, " %, cross-entropy "));
    assert_non_null(strstr(out, " items\n"));
    must_run("grep '\"micro_f1\":' model/train/log.jsonl");
    assert_prints("cat model/labels.txt", 0, "blue\ngreen\nred\n");
    assert_prints("head -1 model/train/held-out.tsv; awk -F'\\t' 'NR > 1 && $1 == \"\" { n++ } END { print "
                  "(n > 0) }' model/train/held-out.tsv",
                  0, "label\ttext\n1\n");
    out = must_run("$HEED info model --json");
    assert_non_null(strstr(out, "\"task\": \"multilabel\", \"encoder\": \"gru:1\", \"pool\": \"max\""));
    assert_non_null(strstr(out, "\"best_micro_f1\": "));
}

static void every_label_over_the_threshold_is_written(void **state)
{
    (void)state;
    assert_prints("printf 'w1 red w2 blue\\nw1 w2\\n\\nw3 green\\n' | $HEED classify model | "
                  "awk -F'\\t' '{ n = split($0, f, FS); s = \"\"; for (i = 1; i < n; i += 2) a[f[i]] = 1; "
                  "for (k in a) s = s \" \" k; print n / 2 s; delete a }' | sed 's/ red blue/ blue red/'",
                  0, "2 blue red\n0\n0\n1 green\n");
    assert_prints("echo 'w1 red w2 blue' | $HEED classify model --threshold 0 | awk -F'\\t' '{ print NF }'",
                  0, "6\n");
    assert_prints("echo 'w1 red w2 blue' | $HEED classify model --threshold 1", 0, "\n");
    assert_prints("echo 'w1 red w2 blue' | $HEED classify model --top 1 | awk -F'\\t' '{ print NF }'", 0,
                  "2\n");
    assert_prints("echo 'w1 red' | $HEED classify model --json | grep -o '\"label\": \"[a-z]*\"' | head -1; "
                  "echo 'w1 red' | $HEED classify model --json | grep -o probability | wc -l",
                  0, "\"label\": \"red\"\n3\n");
    assert_prints(
        "echo 'w3 green' | $HEED classify model --json --threshold 0.5 | grep -o probability | wc -l", 0,
        "1\n");
    assert_fails("$HEED classify model --threshold 2 < /dev/null", 2, "--threshold");
    assert_fails("$HEED classify model --confusion --threshold 0.5 table.tsv", 2, "exclude each other");
    assert_fails("$HEED classify model --plot c.svg table.tsv", 1,
                 "the model predicts sets of labels: --plot is for one label of each text");
}

static void other_verbs_know_it(void **state)
{
    (void)state;
    assert_prints("echo 'w1 red' | $HEED embed model | awk '{ print NF }'", 0, "24\n");
    const char *out = must_run("$HEED explain model 'w1 red'");
    static const char *const said[] = {"Classifier, gru:1", "pooled  1 ", "  red  "};
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (!strstr(out, said[i])) fail_msg("'%s' does not say '%s'", out, said[i]);
    out = must_run("$HEED compare model model table.tsv");
    assert_non_null(strstr(out, "micro-F1"));
    assert_non_null(strstr(out, "average precision"));
    must_run("printf 'text\\tlabel\\nw1\\tred\\nw2\\tblue\\nw3\\tred\\n' > one.tsv; "
             "$HEED train -q --device cpu --task classify --train one.tsv --steps 2 --out one");
    assert_fails("$HEED compare model one one.tsv", 1, "model predicts sets of labels, one labels");
    assert_fails("$HEED tag model < /dev/null", 1, "which `heed classify` reads");
}

static void a_resumed_run_equals_a_whole_one(void **state)
{
    (void)state;
    must_run(TRAIN SMALL
             "--train table.tsv --steps 20 --valid-every 4 --save-every 3 --out whole && " TRAIN SMALL
             "--train table.tsv --steps 20 --valid-every 4 --save-every 3 --minutes 1e-9 --out parts");
    must_run("for n in 3 7 8; do $HEED train -q --resume --steps $n --threads 1 --out parts; done; "
             "$HEED train -q --resume --steps 20 --out parts");
    assert_prints(SAME "same whole parts", 0, "");
    must_run(TRAIN SMALL "--train table.tsv --steps 20 --valid-every 4 --save-every 3 --label-smoothing 0.2 "
                         "--out smooth");
    assert_prints("cmp -s whole/model.safetensors smooth/model.safetensors", 1, "");
}

/* A BERT of a few words, fine-tuned, exported and imported again answers as before. */
static void a_bert_is_fine_tuned_and_exported(void **state)
{
    (void)state;
    must_run(
        "cut -f1 table.tsv > plain; $HEED train -q --device cpu --task mlm --unit word --layers 1 --width 32 "
        "--heads 2 --ffn-size 64 --context 16 --steps 100 --warmup 20 --lr 0.003 --dropout 0 --train plain "
        "--out bert && " TRAIN "--from bert --train table.tsv --epochs 30 --lr 0.003 --out tuned");
    const char *json = must_run("$HEED classify tuned --confusion --json tuned/train/held-out.tsv");
    if (!(figure_of(json, "micro_f1") > 0.95)) fail_msg("%s", json);
    must_run(
        "$HEED export tuned hf && grep '\"problem_type\": \"multi_label_classification\"' hf/config.json && "
        "$HEED import hf back");
    must_run("cut -f1 table.tsv | $HEED classify tuned --json > a; cut -f1 table.tsv | $HEED classify back "
             "--json > "
             "b; cmp a b; grep multilabel back/config.json");
    must_run(TRAIN "--from tuned --train table.tsv --steps 1 --lr 0 --out again && "
                   "cut -f1 table.tsv | $HEED classify again --json | cmp - a");
    assert_fails("sed 's/multi_label/wrong/' hf/config.json > c; cp -r hf bad; cp c bad/config.json; "
                 "$HEED import bad no",
                 1, "\"single_label_classification\" or \"multi_label_classification\"");
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "t.tsv:0: the first line must name the columns"},
        {"label\\ttext\\n", "there is no item in it"},
        {"label\\ttext\\na,b,a\\tx\\n", "t.tsv:2: a label is there twice"},
        {"label\\ttext\\na,,b\\tx\\n", "t.tsv:2: a label between commas is empty"},
        {"label\\ttext\\na,\\tx\\n", "t.tsv:2: a label between commas is empty"},
        {"label\\ttext\\n\\tx\\n\\ty\\n", "there is no label in it"},
        {"label\\ttext\\na,\\377\\tx\\n", "t.tsv:2: not UTF-8"},
        {"label\\ttext\\na,b\\t\\n", "t.tsv:2: the text is empty"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "printf '%s' > t.tsv; " TRAIN SMALL "--train t.tsv --steps 1 --out no", bad[i].text);
        assert_fails(command, 1, bad[i].says);
    }
    must_run("printf 'label\\ttext\\nred,pink\\tx\\n' > t.tsv");
    assert_fails("$HEED classify model --confusion t.tsv", 1,
                 "t.tsv:2: the label \"pink\" is none of the 3 that are known");
    assert_fails(TRAIN SMALL "--train table.tsv --valid t.tsv --steps 1 --out no", 1, "the label \"pink\"");
    assert_fails(TRAIN "--train-dir . --out no", 2, "--train-dir is an option of --task classify");
    /* one label is enough, and the same set in another order is the same item */
    must_run("printf 'label\\ttext\\na\\tx\\n\\ty\\na\\tz\\n' > t.tsv; " TRAIN SMALL
             "--train t.tsv --steps 1 --valid-fraction 0 --out single; echo x | $HEED classify single");
    assert_prints(
        "printf 'label\\ttext\\na,b\\tx\\nb, a\\tx\\n\\ty\\n' > t.tsv; $HEED train --task multilabel "
        "--train t.tsv --valid-fraction 0 --dry-run | grep -o '1 that repeat others'",
        0, "1 that repeat others\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_of_labels_are_learned),
        cmocka_unit_test(every_label_over_the_threshold_is_written),
        cmocka_unit_test(other_verbs_know_it),
        cmocka_unit_test(a_resumed_run_equals_a_whole_one),
        cmocka_unit_test(a_bert_is_fine_tuned_and_exported),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, make_model, scratch_remove);
}
