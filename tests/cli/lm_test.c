/* heed train --task lm as a user meets it: every folder opens, a run in sittings ends with the bytes of one,
   and what does not fit is refused in one line. */
#include "check.h"
#include "cli/shell.h"

#include "task/language/language.h"
#include "task/owned.h"

#define SAME                                                                                              \
    "same() { cmp $1/model.safetensors $2/model.safetensors && cmp $1/train/current $2/train/current && " \
    "diff -r $1/train/$(cat $1/train/current) $2/train/$(cat $2/train/current); }; "
#define TRAIN "$HEED train -q --task lm --device cpu --train text.txt "
#define RECIPE \
    "--valid-fraction 0.2 --context 8 --batch-size 4 --lr 0.01 --warmup 3 --valid-every 4 --save-every 3 "
#define SHAPE "--layers 2 --width 16 --dropout 0.1 "
#define SMALL RECIPE SHAPE

static int make_text(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    char out[SHELL_ROOM];
    return shell(out, "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "
                      "echo \"the cat $i sat on the mat\"; echo; echo 'a dog and the cat, für Öl'; done > "
                      "text.txt; gzip -k text.txt");
}

static void assert_opens(const char *folder, hd_lm_kind kind)
{
    hd_err err = {0};
    hd_model_folder *l = NULL;
    hd_plain_text plain = {0};
    hd_stream_text text = {0};
    hd_fluency f;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    if (folder_open(&l, at("%s", folder), "lm", b, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    assert_int_equal(hd_model_folder_lm(l)->opt.kind, kind);
    if (hd_plain_text_read(&plain, at("text.txt"), &err) ||
        hd_stream_text_of(&text, &plain, l->tokenizer[0], &err))
        fail_msg("%s", err.text);
    hd_plain_text_release(&plain);
    if (hd_language_judge(&f, &r, l, &text, &err)) fail_msg("%s", err.text);
    assert_int_equal(f.tokens, text.count);
    assert_true(f.nats > 0 && f.nats / (double)f.tokens < log((double)hd_model_folder_lm(l)->opt.vocab));
    hd_stream_text_release(&text);
    folder_free(l);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Sizes of each kind, which refuses those of others. */
static const char *shape_of(hd_lm_kind kind)
{
    return kind == HD_LM_ngram    ? ""
           : kind == HD_LM_maxent ? "--hash-buckets 1000"
           : kind == HD_LM_ffnn   ? "--width 16 --dropout 0.1"
                                  : SHAPE;
}

static void every_model_and_unit_trains(void **state)
{
    (void)state;
    static const char *const units[] = {"word", "char", "subword"};
    for (int kind = 0; kind < HD_LM_KINDS; kind++)
        for (int unit = 0; unit < 3; unit++) {
            char command[512], folder[64];
            snprintf(folder, sizeof folder, "m-%s-%s", hd_lm_names[kind], units[unit]);
            snprintf(command, sizeof command,
                     TRAIN
                     "--model %s %s%s --unit %s --vocab-size 300 --out %s 2>&1 | grep -v pieces; test -e "
                     "%s/config.json",
                     hd_lm_names[kind], kind == HD_LM_ngram ? "" : RECIPE "--steps 12 ",
                     shape_of((hd_lm_kind)kind), units[unit], folder, folder);
            must_run(command);
            assert_opens(folder, (hd_lm_kind)kind);
            snprintf(command, sizeof command, "$HEED info %s --json | grep '\"model\": \"%s\"'", folder,
                     hd_lm_names[kind]);
            must_run(command);
        }
}

static void a_count_says_how_well_it_foresees(void **state)
{
    (void)state;
    const char *out = must_run("$HEED train --task lm --model ngram --order 6 --smoothing kneser-ney --unit "
                               "char --train text.txt.gz --valid-fraction 0.1 --out grams");
    assert_non_null(strstr(out, "ngram of order 6, kneser-ney"));
    assert_non_null(strstr(out, "held out: loss "));
    assert_non_null(strstr(out, "bits per character "));
    must_run("$HEED train -q --task lm --model ngram --unit word --train - --out stdin < text.txt");
    must_run("grep -x 'order: 3' stdin/training.yml && grep '\"order\": 3' stdin/config.json");
    assert_fails("$HEED train -q --resume --out grams", 1, "there is no checkpoint to resume from");
    must_run("$HEED train -q --overwrite --task lm --model gpt " SMALL
             "--steps 1 --train text.txt --out grams "
             "&& ! test -e grams/ngram.bin");
}

/* A save computes the last batch once more, to see that the weights are good, which must leave no trace: not
   even in the states that recurrent models carry from batch to batch. */
static void how_often_a_run_is_saved_changes_nothing(void **state)
{
    (void)state;
    static const char *const models[] = {"lstm", "gru --micro-batches 3", "gpt --heads 2"};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        char command[512];
        for (int every = 1; every < 100; every += 98) {
            snprintf(command, sizeof command,
                     "rm -rf every-%d; $HEED train -q --task lm --device cpu --train text.txt --unit char "
                     "--context 16 "
                     "--batch-size 4 --lr 0.01 --dropout 0.1 --layers 1 --width 16 --steps 12 --model %s "
                     "--save-every %d --out every-%d",
                     every, models[i], every, every);
            must_run(command);
        }
        assert_prints(SAME "same every-1 every-99", 0, "");
    }
}

static void sittings(const char *model)
{
    char command[512];
    snprintf(command, sizeof command,
             "rm -rf whole parts; " TRAIN RECIPE "--model %s --steps 26 --threads 1 --out whole", model);
    must_run(command);
    snprintf(command, sizeof command, TRAIN RECIPE "--model %s --steps 26 --minutes 1e-9 --out parts", model);
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
    sittings("gpt " SHAPE);
    sittings("gpt --optimizer muon " SHAPE);
    sittings("ffnn --width 16 --dropout 0.1");
    sittings("gru " SHAPE);
    sittings("lstm " SHAPE);
    sittings("rnn --micro-batches 3 " SHAPE);
    must_run("test -s parts/train/step-26/carried.safetensors");
}

/* Each of them changes the weights, and the rate of matrices is not that of AdamW. */
static void options_of_muon_have_an_effect(void **state)
{
    (void)state;
    static const char *const options[] = {"", "--muon-lr 0.04", "--muon-momentum 0.5", "--lr 0.02"};
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        char command[512];
        snprintf(command, sizeof command, TRAIN SMALL "--optimizer muon %s --steps 3 --out muon-%zu",
                 options[i], i);
        must_run(command);
        snprintf(command, sizeof command,
                 "for f in muon-*/model.safetensors; "
                 "do sha256sum < $f; done | sort -u | wc -l | grep -qx %zu",
                 i + 1);
        must_run(command);
    }
    assert_fails(
        "$HEED train -q --task lm --model lstm --train text.txt --unit char --optimizer muon --out none", 1,
        "muon: the model has no blocks of the Transformer");
}

static void training_yml_begins_the_same_run(void **state)
{
    (void)state;
    must_run(TRAIN SMALL "--steps 9 --out first && $HEED train -q --config first/training.yml --out second");
    assert_prints(SAME "same first second; cmp first/training.yml second/training.yml", 0, "");
    assert_prints("grep -c 'encoder-layers\\|preset' first/training.yml", 1, "0\n");
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        int status;
        const char *says;
    } cases[] = {
        {"--task lm --out x", 2, "--train is required"},
        {"--task lm --train text.txt nowhere.txt --out x", 1, "nowhere.txt: No such file"},
        {"--task lm --train text.txt --model bert --out x", 2, "bert|gpt"},
        {"--task lm --train text.txt --unit letter --out x", 2, "letter|subword"},
        {"--task lm --train text.txt --preset base --out x", 2,
         "--preset base is for --task translate; those of --task lm are gpt2, "},
        {"--task lm --train text.txt --encoder-layers 2 --out x", 2, "--encoder-layers is an option of"},
        {"--train text.txt --order 3 --out x", 2, "--order is an option of --task lm, not of translate"},
        {"--task lm --train text.txt --width 30 --heads 4 --out x", 2, "--width 30 cannot be split"},
        {"--task lm --train text.txt --model ngram --order 13 --out x", 2,
         "--order 13: an ngram has at most 12"},
        {"--task lm --train text.txt --model ffnn --order 1 --out x", 2, "--order 1|--order 2"},
        {"--task lm --train text.txt --model rnn --activation relu --out x", 2, "tanh or sigmoid"},
        {"--task lm --train text.txt --model lstm --heads 4 --out x", 2,
         "--heads needs transformer layers: here --model is lstm"},
        {"--task lm --train text.txt --model ngram --layers 2 --out x", 2,
         "--layers needs rnn, gru, lstm or transformer layers: here --model is ngram"},
        {"--task lm --train text.txt --order 3 --out x", 2,
         "--order needs --model ngram or maxent or ffnn: here --model is gpt"},
        {"--task lm --train text.txt --valid text.txt --valid-fraction 0.1 --out x", 2, "exclude each other"},
        {"--task lm --train text.txt --steps 0 --out x", 2, "no stopping condition"},
        {"--task lm --train nothing.txt --out x", 1, "nothing.txt: No such file"},
        {"--task lm --train /dev/null --model ngram --out x", 1, "/dev/null: there is no text in it"},
        {"--task lm --train one.txt --model ngram --valid-fraction 0.1 --out x", 1,
         "a text of one character"},
        {"--task lm --train broken.txt --model ngram --out x", 1, "broken.txt|UTF-8"},
        {"--task lm --train text.txt", 2, "--out is required"},
    };
    put_file(at("one.txt"), "\n");
    put_file(at("broken.txt"), "good\n\xff\xfe\n");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char command[512];
        snprintf(command, sizeof command, "$HEED train -q %s", cases[i].options);
        assert_fails(command, cases[i].status, cases[i].says);
    }
    assert_prints("ls -d x", 2, "ls: cannot access 'x': No such file or directory\n");
    must_run(TRAIN SMALL "--steps 2 --out fixed");
    assert_fails("$HEED train -q --resume --out fixed --model lstm", 2, "--model was gpt |is lstm now");
    assert_fails("$HEED train -q --resume --out fixed --task translate", 2,
                 "--task was lm |is translate now");
}

static void a_dry_run_writes_nothing(void **state)
{
    (void)state;
    const char *out = must_run("$HEED train --task lm --dry-run --train text.txt --valid-fraction 0.1");
    assert_non_null(strstr(out, "parameters "));
    assert_non_null(strstr(out, "batches an epoch "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_often_a_run_is_saved_changes_nothing),
        cmocka_unit_test(every_model_and_unit_trains),
        cmocka_unit_test(a_count_says_how_well_it_foresees),
        cmocka_unit_test(a_resumed_run_equals_a_whole_one),
        cmocka_unit_test(options_of_muon_have_an_effect),
        cmocka_unit_test(training_yml_begins_the_same_run),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_dry_run_writes_nothing),
    };
    return cmocka_run_group_tests(tests, make_text, scratch_remove);
}
