/* heed train --task classify and heed classify as a user meets them: from a folder or a table to labels, a
   run in sittings ends with the bytes of one, and what does not fit is refused in one line. */
#include "check.h"
#include "cli/shell.h"
#include "outcome.h"

#define SAME                                                                                              \
    "same() { cmp $1/model.safetensors $2/model.safetensors && cmp $1/train/current $2/train/current && " \
    "diff -r $1/train/$(cat $1/train/current) $2/train/$(cat $2/train/current); }; "
#define TRAIN "$HEED train -q --task classify --device cpu "
#define SMALL "--width 16 --batch-size 8 --lr 0.02 --warmup 3 --dropout 0.1 "

/* Words that end in a, and words that end in o; some are there twice. */
static int make_names(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    char out[SHELL_ROOM];
    return shell(
        out, "mkdir names; for x in b c d f g h k l m n p r s t v w; do for y in e i u or; do "
             "echo \"$x${y}la\" >> names/A.txt; echo \"$x${y}mo\" >> names/Ö.txt; done; done; "
             "head -7 names/A.txt >> names/A.txt; "
             "{ printf 'id\\ttext\\tlabel\\n'; for f in A Ö; do sed \"s/.*/1\\t&\\t$f/\" names/$f.txt; "
             "done; } > names.tsv; "
             "$HEED train -q --task classify --device cpu --model gru --unit char --train-dir names/ " SMALL
             "--epochs 8 --out model");
}

static void a_folder_of_classes_is_learned(void **state)
{
    (void)state;
    const char *out = must_run("$HEED train --task classify --model rnn --unit char --train-dir names/ " SMALL
                               "--epochs 5 --device cpu --out rnn");
    static const char *const said[] = {"rnn:1, width 16, pool last: 978 parameters",
                                       "vocabulary: 25; labels: 2; items: 115, 13 to validate; ",
                                       "left out: 7 that repeat others; batches an epoch: 15\n",
                                       "accuracy ",
                                       "held out: accuracy ",
                                       "heed classify rnn < FILE"};
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (!strstr(out, said[i])) fail_msg("'%s' does not say '%s'", out, said[i]);
    assert_prints("printf 'lila\\nlimo\\n' | $HEED classify model | cut -f1", 0, "A\nÖ\n");
    assert_prints("cat model/labels.txt; ls model", 0,
                  "A\nÖ\nconfig.json\nlabels.txt\nmodel.safetensors\ntokenizer.txt\ntrain\ntraining.yml\n");
    out = must_run("$HEED info model --json");
    assert_non_null(strstr(out, "\"task\": \"classify\", \"encoder\": \"gru:1\", \"pool\": \"last\""));
    assert_non_null(strstr(out, "\"best_accuracy\": "));
    must_run("grep '\"accuracy\":' model/train/log.jsonl");
    assert_prints("sort model/train/held-out.tsv | uniq -d", 0, "");
}

static void every_unit_encoder_and_pooling_trains(void **state)
{
    (void)state;
    must_run(
        TRAIN
        "--train names.tsv --unit subword --vocab-size 300 --encoder bi-lstm+transformer --pool max " SMALL
        "--steps 3 --out m1 2>&1 | grep -v pieces; echo lila | $HEED classify m1");
    must_run(TRAIN
             "--train names.tsv --unit word --model transformer " SMALL
             "--steps 3 --out m2; echo lila | $HEED classify m2; grep '\"pool\": \"mean\"' m2/config.json");
    must_run(TRAIN "--train names.tsv --valid names.tsv --model lstm --pool first " SMALL
                   "--steps 3 --out m3; test $(wc -l < m3/train/held-out.tsv) = 136");
    must_run(TRAIN "--train names.tsv --valid-fraction 0 --encoder none " SMALL
                   "--steps 3 --out m4; ! test -e m4/train/held-out.tsv; echo lila | $HEED classify m4");
    assert_prints("gzip -k names.tsv; " TRAIN "--train - " SMALL "--steps 3 --out m5 < names.tsv.gz", 0, "");
}

/* The lecture's network and its loop by options of the program. */
static void one_hot_letters_and_the_sum_of_losses(void **state)
{
    (void)state;
    must_run(TRAIN "--train-dir names/ --model rnn --one-hot --optimizer sgd --sum-loss --clip 3 --width 16 "
                   "--batch-size 8 "
                   "--lr 0.02 --warmup 0 --weight-decay 0 --dropout 0 --epochs 30 --out letters");
    assert_prints("printf 'lila\\nlimo\\n' | $HEED classify letters | cut -f1", 0, "A\nÖ\n");
    assert_prints("grep one_hot letters/config.json; grep -e one-hot -e sum-loss letters/training.yml", 0,
                  " \"one_hot\": true,\none-hot: true\nsum-loss: true\n");
    const char *out = must_run("$HEED info letters --tensors");
    assert_null(strstr(out, "embed_tokens"));
    if (!strstr(out, "one_hot               yes") || !strstr(out, "16 x 25")) fail_msg("%s", out);
    must_run(TRAIN "--train-dir names/ --model rnn --activation sigmoid " SMALL "--steps 3 --out gentle; "
                   "$HEED info gentle | grep 'cell  *sigmoid'");
    assert_fails(TRAIN "--train-dir names/ --model gru --activation sigmoid --out no", 2,
                 "--activation needs layers that have it");
    assert_fails(TRAIN "--train-dir names/ --model transformer --one-hot --out no", 2,
                 "--one-hot needs an encoder that begins with rnn, gru or lstm");
    assert_fails("$HEED train --train names.tsv --one-hot --out no", 2,
                 "--one-hot is an option of --task classify, not of translate");
}

static void tokenizers_that_are_there_are_taken(void **state)
{
    (void)state;
    must_run("t=" HEED_SOURCE "/tests/text/published; " TRAIN "--train names.tsv " SMALL
             "--steps 3 --tokenizer-model $t/gpt2/vocab.json $t/gpt2/merges.txt --out bpe && " TRAIN
             "--train names.tsv " SMALL "--steps 3 --tokenizer-model $t/bert --out wordpiece && "
             "cmp bpe/vocab.json $t/gpt2/vocab.json && cmp wordpiece/vocab.txt $t/bert/vocab.txt && "
             "for m in bpe wordpiece; do echo lila | $HEED classify $m && echo lila | $HEED embed $m; done");
    must_run(TRAIN "--train names.tsv --unit char " SMALL
                   "--steps 3 --tokenizer-model model/tokenizer.txt --out same && cmp "
                   "same/tokenizer.txt model/tokenizer.txt");
}

static void lines_get_labels(void **state)
{
    (void)state;
    const char *out = must_run("printf 'lila\\n\\nlimo' | $HEED classify model --top 2");
    char label[4][16];
    double p[4];
    assert_int_equal(
        sscanf(out, "%15s %lf %15s %lf\n\n%15s %lf", label[0], &p[0], label[1], &p[1], label[2], &p[2]), 6);
    assert_string_equal(label[0], "A");
    assert_true(fabs(p[0] + p[1] - 1) < 2e-4 && p[0] > 0.5);
    assert_prints("printf 'lila\\n\\nlimo' | $HEED classify model --top 9 | awk -F'\\t' '{print NF}'", 0,
                  "4\n0\n4\n"); /* an empty line has no label */
    assert_prints("printf ' \\n' | $HEED classify model; echo | $HEED classify model --json", 0,
                  "\n{\"text\": \"\", \"labels\": []}\n");
    assert_prints("printf 'li\"la\\n' | $HEED classify model --json | cut -d, -f1-2", 0,
                  "{\"text\": \"li\\\"la\", \"labels\": [{\"label\": \"A\"\n");
    must_run(
        "for i in $(seq 1100); do echo lila; echo limo; done > many; $HEED classify model many | cut -f1 | "
        "sort | uniq -c | tr -s ' ' > counts; printf ' 1100 A\\n 1100 Ö\\n' | cmp - counts");
    assert_prints("$HEED classify model < /dev/null", 0, "");
    assert_prints("echo lila | $HEED classify model --threshold 1; "
                  "echo lila | $HEED classify model --top 2 --threshold 0.5 | awk -F'\\t' '{ print NF }'",
                  0, "\n2\n");
}

static void labeled_input_is_judged(void **state)
{
    (void)state;
    const char *out = must_run("$HEED classify model --confusion names --plot c.svg");
    assert_non_null(strstr(out, "accuracy "));
    assert_non_null(strstr(out, "of 135), macro-F1 "));
    must_run("grep -q '>Ö<' c.svg");
    must_run(
        "$HEED classify model --confusion < names.tsv > a; $HEED classify model --confusion names.tsv > b; "
        "$HEED classify model --confusion names > c; cmp a b && cmp a c");
    must_run("$HEED classify model --confusion --json names.tsv | grep '\"macro_f1\"'");
    must_run("$HEED classify model --confusion model/train/held-out.tsv | grep 'of 13)'");
    assert_fails("printf 'label\\ttext\\nB\\tx\\n' | $HEED classify model --confusion", 1,
                 "standard input:2: the label \"B\" is none of the 2 that are known");
    assert_fails("echo x | $HEED classify model --confusion", 1, "the first line must name the columns");
    assert_fails("$HEED classify model --confusion nothing", 1, "nothing: cannot open");
    assert_fails("$HEED classify model --plot c.txt names.tsv", 1, "c.txt: a plot file must end in .svg");
    assert_fails("$HEED classify model --dir names", 2, "--dir is gone: give the folder after MODEL");
    assert_fails("$HEED classify model x names --confusion", 2, "'names' is one too many");
    assert_fails("$HEED classify model --confusion --top 2", 2, "--top and --confusion exclude each other");
    assert_fails("$HEED classify model --confusion --threshold 0.5", 2,
                 "--threshold and --confusion exclude each other");
}

static void bad_lines_are_named(void **state)
{
    (void)state;
    assert_prints("printf 'lila\\n\\377\\n' | $HEED classify model 2>err | cut -f1; cat err", 0,
                  "A\n\nheed: warning: standard input:2: not UTF-8: byte 0xff at offset 0: answered with an "
                  "empty line\nheed: error: 1 of 2 lines could not be answered\n");
    assert_prints("printf 'a\\0b\\n' | $HEED classify model --json -q", 1,
                  "{\"line\": 1, \"error\": \"a zero byte at offset 1: is this a text file?\"}\n"
                  "heed: error: 1 of 1 lines could not be answered\n");
    assert_fails("$HEED classify nothing < /dev/null", 1, "nothing: there is no such folder");
    assert_fails("$HEED classify names < /dev/null", 1, "names: holds no model");
}

static void other_verbs_say_who_reads_it(void **state)
{
    (void)state;
    static const char *const verbs[] = {"translate model", "generate model", "perplexity model", "tag model"};
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        char command[128];
        snprintf(command, sizeof command, "$HEED %s < /dev/null", verbs[i]);
        assert_fails(command, 1, "this is a classifier, which `heed classify` reads");
    }
    must_run("$HEED train -q --task lm --model ngram --train names/A.txt --out lm");
    assert_fails("$HEED compare -q lm model names.tsv", 1,
                 "this is a classifier, which `heed classify` reads");
    assert_fails("$HEED classify lm < /dev/null", 1, "this is a language model, which `heed generate` reads");
}

static void vectors_of_a_classifier_can_be_had(void **state)
{
    (void)state;
    assert_prints("printf 'lila\\n\\nlimo\\n' | $HEED embed model | awk '{ print NF }'", 0, "16\n0\n16\n");
    assert_prints("echo lila | $HEED embed model --pool none --json | grep -o '\"tokens\": [^]]*]'", 0,
                  "\"tokens\": [\"<s>\", \"l\", \"i\", \"l\", \"a\", \"</s>\"]\n");
    assert_prints("printf 'lila\\nlila\\n' | $HEED embed model --similar lila | grep -c '1.00  1.00'", 0,
                  "2\n");
    must_run("$HEED embed model --nearest a --top 3");
    assert_fails("echo lila | $HEED embed model --layer 2", 2, "there is no layer 2: the model has 1");
    assert_fails("echo lila | $HEED embed model --pool pooler", 2, "there is no pooler in this model");
    assert_fails("echo lila | $HEED rank model", 1, "a classifier or tagger gives no probability of a text");
    const char *out = must_run("$HEED explain model lila");
    static const char *const said[] = {"Classifier, gru:1", "enc.0.z  6 ", "pooled  1 ", "the last row",
                                       "  A  "};
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (!strstr(out, said[i])) fail_msg("'%s' does not say '%s'", out, said[i]);
}

static void sittings(const char *options)
{
    char command[1024];
    snprintf(command, sizeof command,
             "rm -rf whole parts; " TRAIN SMALL
             "--train-dir names %s --steps 26 --valid-every 4 --save-every 3 "
             "--threads 1 --out whole && " TRAIN SMALL "--train-dir names %s --steps 26 --valid-every 4 "
             "--save-every 3 --minutes 1e-9 --out parts",
             options, options);
    must_run(command);
    for (int steps = 1; steps < 26; steps += 6) {
        snprintf(command, sizeof command, "$HEED train -q --resume --steps %d --threads %d --out parts",
                 steps, steps % 4 ? 2 : 1);
        must_run(command);
    }
    must_run("$HEED train -q --resume --out parts --report-every 3 --save-every 2");
    assert_prints(SAME "same whole parts", 0, "");
}

static void a_resumed_run_equals_a_whole_one(void **state)
{
    (void)state;
    sittings("--model rnn --micro-batches 3");
    sittings("--encoder bi-gru+transformer --ema 0.9 --pool mean");
}

static void a_killed_run_equals_a_whole_one(void **state)
{
    (void)state;
    must_run("rm -rf whole parts; " TRAIN SMALL "--train-dir names --epochs 40 --save-every 5 --out whole");
    must_run(TRAIN SMALL
             "--train-dir names --epochs 40 --save-every 5 --out parts & "
             "while ! test -s parts/train/current; do sleep 0.01; done; sleep 0.1; kill -9 $! 2>/dev/null; "
             "wait $! 2>/dev/null; $HEED train -q --resume --out parts");
    assert_prints(SAME "same whole parts", 0, "");
}

static void training_yml_begins_the_same_run(void **state)
{
    (void)state;
    must_run("rm -rf a b; " TRAIN SMALL "--train-dir names --encoder bi-rnn --steps 9 --out a && "
             "$HEED train -q --config a/training.yml --out b");
    assert_prints(SAME "same a b; cmp a/training.yml b/training.yml", 0, "");
    assert_prints("grep -c 'encoder-layers\\|preset\\|order\\|context' a/training.yml", 1, "0\n");
    must_run(TRAIN SMALL "--overwrite --train-dir names --steps 3 --seed 2 --out b");
    assert_prints("cmp -s a/train/held-out.tsv b/train/held-out.tsv", 1,
                  ""); /* the seed says what is held back */
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        int status;
        const char *says;
    } cases[] = {
        {"--out x", 2, "--train or --train-dir is required"},
        {"--train names.tsv --train-dir names --out x", 2, "exclude each other"},
        {"--train names.tsv names.tsv --out x", 2, "one file: --train has several"},
        {"--train-dir names --model gpt --out x", 2, "--model gpt is for --task lm|transformer"},
        {"--train-dir names --encoder bi-transformer --out x", 2, "\"bi-transformer\" is not a stage"},
        {"--train-dir names --encoder rnn:17 --out x", 2, "17 recurrent layers: at most 16"},
        {"--train-dir names --model transformer --width 30 --heads 4 --out x", 2,
         "--width 30 cannot be split"},
        {"--train-dir names --model lstm --heads 4 --out x", 2,
         "--heads needs transformer layers: here the encoder is lstm"},
        {"--train-dir names --encoder bi-gru --ffn-size 64 --out x", 2,
         "--ffn-size needs transformer layers|bi-gru"},
        {"--train-dir names --norm post --out x", 2,
         "--norm needs transformer layers: here the encoder is gru"},
        {"--train-dir names --pool each --out x", 2, "--task tag"},
        {"--train-dir names --order 3 --out x", 2, "--order is an option of --task lm, not of classify"},
        {"--train-dir names --preset base --out x", 2,
         "--preset base is for --task translate; those of --task classify are vit-tiny, vit-lite, vit-b16"},
        {"--train-dir names --max-length 2 --out x", 2, "--max-length 2: at least 3"},
        {"--train-dir nowhere --out x", 1, "nowhere: No such file"},
        {"--train-dir one --out x", 1, "one: all of it has the label \"A\": there is nothing to tell apart"},
        {"--train-dir empty --out x", 1, "B.txt: there is no item in it"},
        {"--train-dir broken --out x", 1, "B.txt:2: not UTF-8"},
        {"--train names.tsv --valid pair.tsv --out x", 1, "pair.tsv: a column text2, but|names.tsv has none"},
        {"--train names.tsv --freeze 'model.encodr.*' --out x", 2, "no parameter matches 'model.encodr.*'"},
        {"--train names.tsv --tokenizer-model a b --out x", 2, "--tokenizer-model has two files"},
        {"--train names.tsv --scratch --out x", 2, "--scratch needs --from"},
        {"--train names.tsv --lm-loss 1 --out x", 2, "--lm-loss needs --from"},
        {"--train names.tsv --valid other.tsv --out x", 1, "other.tsv:2: the label \"C\" is none of the 2"},
    };
    must_run("for d in one empty broken; do mkdir $d; cp names/A.txt $d; done; : > empty/B.txt; "
             "printf 'x\\n\\377\\n' > broken/B.txt; printf 'label\\ttext\\ttext2\\nA\\tb\\tc\\n' > pair.tsv; "
             "printf 'label\\ttext\\nC\\tx\\n' > other.tsv");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char command[512];
        snprintf(command, sizeof command, TRAIN "%s", cases[i].options);
        assert_fails(command, cases[i].status, cases[i].says);
    }
    assert_prints("ls -d x", 2, "ls: cannot access 'x': No such file or directory\n");
    assert_fails("$HEED train -q --task lm --train names.tsv --model transformer --out x", 2, "gpt");
    assert_fails("$HEED train -q --train names.tsv --pool mean --out x", 2,
                 "--pool is an option of --task classify, not of translate");
    assert_fails("$HEED train -q --resume --out model --model lstm", 2, "--model was gru |is lstm now");
}

static void a_dry_run_writes_nothing(void **state)
{
    (void)state;
    const char *out = must_run("$HEED train --task classify --train-dir names --dry-run");
    assert_non_null(strstr(out, "model              gru:1, width "));
    assert_non_null(strstr(out, "items              115, 13 to validate\n"));
    out = must_run("$HEED help classify && $HEED help train");
    assert_non_null(strstr(out, "--confusion"));
    assert_non_null(strstr(out, "Model:"));
}

/* Two epochs of the surnames; docs/classification.md has the whole run. */
static void names_of_18_languages_are_told_apart(void **state)
{
    (void)state;
    const char *folder = HEED_SHARED "/data/names";
    char command[512];
    if (access(folder, R_OK)) leave_out("%s is not there", folder);
    snprintf(command, sizeof command,
             TRAIN "--model rnn --unit char --train-dir %s --epochs 2 --out languages && "
                   "$HEED classify languages --confusion languages/train/held-out.tsv | tail -1",
             folder);
    const char *out = must_run(command);
    double accuracy = 0;
    assert_int_equal(sscanf(out, "accuracy %lf", &accuracy), 1);
    print_message("%s", out);
    assert_true(accuracy > 70); /* 76.5 measured; Russian alone is 51 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_of_classes_is_learned),
        cmocka_unit_test(every_unit_encoder_and_pooling_trains),
        cmocka_unit_test(one_hot_letters_and_the_sum_of_losses),
        cmocka_unit_test(tokenizers_that_are_there_are_taken),
        cmocka_unit_test(lines_get_labels),
        cmocka_unit_test(labeled_input_is_judged),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(other_verbs_say_who_reads_it),
        cmocka_unit_test(vectors_of_a_classifier_can_be_had),
        cmocka_unit_test(a_resumed_run_equals_a_whole_one),
        cmocka_unit_test(a_killed_run_equals_a_whole_one),
        cmocka_unit_test(training_yml_begins_the_same_run),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_dry_run_writes_nothing),
        cmocka_unit_test(names_of_18_languages_are_told_apart),
    };
    return outcome(cmocka_run_group_tests(tests, make_names, scratch_remove));
}
