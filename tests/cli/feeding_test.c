/* What a recurrent decoder is fed in training, as a user asks for it: every kind trains, what should be the
   truth is it to the bit, and a run whose rate rises may be stopped anywhere. */
#include "check.h"
#include "cli/shell.h"

#define SAME                                                                                              \
    "same() { cmp $1/model.safetensors $2/model.safetensors && cmp $1/train/current $2/train/current && " \
    "diff -r $1/train/$(cat $1/train/current) $2/train/$(cat $2/train/current); }; "
#define DATA "--train c/train.en c/train.de --valid c/valid.en c/valid.de "
#define SMALL                                                                                               \
    "--device cpu --tokenizer words --batch-tokens 200 --max-length 40 --max-positions 64 --width 16 --lr " \
    "0.01 --dropout 0.2 --ema 0.9 --micro-batches 2 --valid-every 4 --bleu-sentences 5 --threads 1 "
#define TRAIN "$HEED train -q --task translate --overwrite " SMALL DATA
#define GRU   TRAIN "--encoder gru --decoder gru "

static int make_corpus(void **state)
{
    char out[SHELL_ROOM];
    if (scratch_make(state)) return -1;
    shell_prepare();
    return shell(out, "$HEED corpus -q --pairs 200 --valid 20 --test 3 --out c");
}

static const char *said(const char *format, ...)
{
    static char command[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    return command;
}

static void every_kind_trains(void **state)
{
    (void)state;
    static const char *const feedings[] = {
        "--decoder-input teacher",
        "--decoder-input free --temperature 0.5",
        "--decoder-input scheduled",
        "--decoder-input scheduled --sampling-rate 0.9 --sampling-decay 2",
        "--decoder-input gumbel",
        "--decoder-input gumbel --sampling-rate 0.3 --sampling-decay 3 --temperature 2 --source-dropout 0.1",
    };
    static const char *const models[] = {
        "--preset rnnsearch", "--preset luong", "--preset sutskever",
        "--encoder transformer:1 --decoder rnn --heads 2 --decoder-context mean"};
    for (size_t i = 0; i < COUNT_OF(feedings); i++) {
        const char *model = models[i % COUNT_OF(models)];
        must_run(said(TRAIN "%s %s --steps 3 --out m", model, feedings[i]));
        assert_prints("$HEED translate m <c/test.en | wc -l; ls m | grep -c safetensors", 0, "3\n1\n");
        must_run(said(TRAIN "%s %s --steps 3 --dry-run", model, feedings[i]));
    }
}

static void train(const char *feeding, const char *out)
{
    must_run(said(GRU "%s --steps 6 --out %s", feeding, out));
}

/* Each as one of the others, to the bit, or not. */
static void a_rate_is_what_it_says(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"", "--decoder-input teacher", true},
        {"--decoder-input teacher", "--decoder-input scheduled --sampling-rate 0", true},
        {"--decoder-input teacher", "--decoder-input gumbel --sampling-rate 0", true},
        {"--decoder-input teacher", "--decoder-input scheduled --sampling-rate 1 --sampling-decay 1000",
         true},
        {"--decoder-input teacher", "--decoder-input scheduled --sampling-rate 1 --sampling-decay 10", false},
        {"--decoder-input teacher", "--decoder-input scheduled --sampling-rate 0.01", false},
        {"--decoder-input free", "--decoder-input scheduled --sampling-rate 1", true},
        {"--decoder-input free", "--decoder-input scheduled --sampling-rate 1 --sampling-decay 1", false},
        {"--decoder-input free", "--decoder-input free --temperature 0.1", false},
        {"--decoder-input gumbel", "--decoder-input gumbel --sampling-rate 1", true},
        {"--decoder-input gumbel", "--decoder-input free", false},
        {"", "--source-dropout 0", true},
        {"", "--source-dropout 0.3", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (!i || strcmp(cases[i].a, cases[i - 1].a)) train(cases[i].a, "a");
        train(cases[i].b, "b");
        char out[SHELL_ROOM];
        if (!shell(out, SAME "same a b") != cases[i].same)
            fail_msg("'%s' and '%s' are%s the same", cases[i].a, cases[i].b, cases[i].same ? " not" : "");
    }
}

/* Weights that stay as they are have one loss, however they are trained. */
static void validations_are_fed_the_truth(void **state)
{
    (void)state;
    static const char *const feedings[] = {"teacher", "free", "scheduled", "gumbel"};
    for (size_t i = 0; i < COUNT_OF(feedings); i++)
        must_run(said(GRU "--decoder-input %s --lr 0 --source-dropout 0.5 --steps 4 --out v && "
                          "grep '\"valid\"' v/train/log.jsonl | grep -o '\"loss\": *[0-9.]*' >%s.loss && "
                          "test -s %s.loss",
                      feedings[i], feedings[i], feedings[i]));
    assert_prints("for f in free scheduled gumbel; do cmp teacher.loss $f.loss; done", 0, "");
}

static void a_rising_rate_survives_stops(void **state)
{
    (void)state;
    static const char *const feedings[] = {
        "--decoder-input scheduled --sampling-rate 0.8 --sampling-decay 20",
        "--decoder-input gumbel --sampling-decay 30 --temperature 0.7 --source-dropout 0.1"};
    for (size_t i = 0; i < COUNT_OF(feedings); i++) {
        must_run(said(GRU "%s --steps 32 --save-every 32 --out whole", feedings[i]));
        must_run("rm -rf cut");
        must_run(said(GRU "%s --steps 32 --save-every 1 --out cut & p=$!; while kill -0 $p && ! test -e "
                          "cut/train/current; do sleep 0.01; done; kill -9 $p; wait $p; test $? = 137",
                      feedings[i]));
        must_run("$HEED train -q --resume --minutes 1e-9 --out cut");
        must_run("$HEED train -q --resume --steps 15 --threads 2 --out cut");
        must_run("$HEED train -q --resume --steps 32 --out cut");
        assert_prints(SAME "same whole cut", 0, "");
        must_run("$HEED train -q --config whole/training.yml --overwrite --out again");
        assert_prints(SAME "same whole again; diff whole/training.yml again/training.yml", 0, "");
        assert_fails("$HEED train --resume --sampling-decay 10 --out cut", 2, "--sampling-decay was ");
    }
}

static void what_has_no_effect_is_not_kept(void **state)
{
    (void)state;
    must_run(GRU "--steps 1 --out kept");
    assert_prints("grep -E '^(decoder-input|sampling|temperature|source-dropout)' kept/training.yml", 0,
                  "decoder-input: teacher\nsource-dropout: 0\n");
    must_run(GRU "--decoder-input gumbel --steps 1 --out kept");
    assert_prints("grep -E '^(decoder-input|sampling|temperature)' kept/training.yml", 0,
                  "decoder-input: gumbel\nsampling-rate: 1\nsampling-decay: 0\ntemperature: 1\n");
    must_run("$HEED train -q $TINY --source-dropout 0.2 " DATA "--steps 1 --overwrite --out kept");
    assert_prints("grep -E '^(decoder-input|sampling|temperature|source-dropout)' kept/training.yml", 0,
                  "source-dropout: 0.2\n");
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
#define CELLS "--encoder gru --decoder gru "
    static const char *const cases[][2] = {
        {"--decoder-input free", "--decoder-input needs a recurrent --decoder alone|--decoder transformer"},
        {"--encoder gru --decoder gru+transformer:1 --decoder-input gumbel",
         "--decoder-input needs a recurrent --decoder"},
        {CELLS "--decoder-context everywhere --no-feedback --decoder-input scheduled",
         "which reads the previous token"},
        {CELLS "--decoder-input always",
         "--decoder-input: 'always' is not one of teacher, free, scheduled, gumbel"},
        {CELLS "--sampling-rate 0.5", "--sampling-rate needs --decoder-input scheduled or gumbel"},
        {CELLS "--decoder-input free --sampling-rate 0.5",
         "--sampling-rate needs --decoder-input scheduled or gumbel"},
        {CELLS "--decoder-input free --sampling-decay 5",
         "--sampling-decay needs --decoder-input scheduled or gumbel"},
        {CELLS "--temperature 2", "--temperature needs --decoder-input free, scheduled or gumbel"},
        {CELLS "--decoder-input scheduled --sampling-rate 1.5",
         "--sampling-rate: 1.5 is not between 0 and 1"},
        {CELLS "--decoder-input scheduled --sampling-rate -0.1", "is not between 0 and 1"},
        {CELLS "--decoder-input scheduled --sampling-rate nan", "--sampling-rate: "},
        {CELLS "--decoder-input scheduled --sampling-decay -1", "--sampling-decay: "},
        {CELLS "--decoder-input gumbel --temperature 0", "a temperature of 0 is not above 0"},
        {CELLS "--source-dropout 1", "--source-dropout: 1 is not between 0 and 0.99"},
        {"--task lm --decoder-input free", "--decoder-input is an option of --task translate, not of lm"},
        {"--task tag --source-dropout 0.1", "--source-dropout is an option of --task translate, not of tag"},
    };
    must_run("printf '\\377\\n' >bad.en; cp bad.en bad.de"); /* what would be said if it was read */
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_fails(
            said("$HEED train --train bad.en bad.de %s --out no; r=$?; test ! -e no && exit $r", cases[i][0]),
            2, cases[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_trains),
        cmocka_unit_test(a_rate_is_what_it_says),
        cmocka_unit_test(validations_are_fed_the_truth),
        cmocka_unit_test(a_rising_rate_survives_stops),
        cmocka_unit_test(what_has_no_effect_is_not_kept),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, make_corpus, scratch_remove);
}
