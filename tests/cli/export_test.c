/* Whatever heed trains and exports, it imports again: the same weights, settings and tokens, and so the same
   answers. One line for each kind of model that transformers has, and for each tokenizer learned here. */
#include "check.h"
#include "cli/shell.h"

#define TRAIN "$HEED train -q --device cpu --steps 2 --width 16 --heads 2 "
#define PAIRS TRAIN "--task translate --encoder-layers 1 --decoder-layers 1 --ffn-size 24 "
#define TEXT  TRAIN "--train text --layers 1 --ffn-size 24 "

static int make_texts(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    put_file(at("pairs.tsv"),
             "the cat sat\tdie Katze sass\na dog ran\tein Hund lief\nthe dog sat\tder Hund sass\n"
             "a cat ran\teine Katze lief\n");
    put_file(at("letters.tsv"), "a b c\tx y z\nb c a\ty z x\n");
    put_file(at("text"), "the cat sat on the mat\na dog ran to the cat\nthe dog sat on a mat\n");
    put_file(at("labels.tsv"),
             "text\tlabel\nthe cat sat\tcat\na dog ran\tdog\nthe dog sat\tdog\na cat ran\tcat\n"
             "cat cat\tcat\ndog dog\tdog\n");
    put_file(at("numbers.tsv"),
             "text\tlabel\nthe cat sat\t1\na dog ran\t2.5\nthe dog sat\t3\na cat ran\t-1\n");
    put_file(at("asked"), "the cat\na dog sat\n");
    return 0;
}

/* Keys that are of n-grams and stand in config.json of every language model may differ, and checksums with
   them. ask: what is asked of
 * the model $M; both must say the same. files: of the tokenizer. */
static void check_back(const char *train, const char *ask, const char *files)
{
    char command[2048];
    must_run("rm -rf model hf again");
    snprintf(command, sizeof command,
             "%s --out model && $HEED export -q model hf && $HEED import -q hf again", train);
    must_run(command);
    snprintf(
        command, sizeof command,
        "for M in model again; do grep -vE '\"(order|add_k|smoothing|crc32c)\"' $M/config.json > $M.json; "
        "done; cmp model.json again.json && cmp model/model.safetensors again/model.safetensors && "
        "for f in %s; do cmp model/$f again/$f; done; for M in model again; do %s > $M.out; done; cmp "
        "model.out again.out && test -s model.out && echo same",
        files, ask);
    assert_prints(command, 0, "same\n");
}

static void every_translator(void **state)
{
    (void)state;
    static const char ask[] = "$HEED translate $M --device cpu --beam 2 --json < asked";
    static const struct {
        const char *options, *files, *pairs;
    } cases[] = {
        {"--norm post --tokenizer words", "tokenizer.txt", "pairs.tsv"},
        {"--norm post --tokenizer characters --activation gelu", "tokenizer.txt", "pairs.tsv"},
        {"--norm post --vocab-size 290", "tokenizer.model", "pairs.tsv"},
        {"--norm post --vocab-size 290 --separate-vocab --untied", "source.model target.model", "pairs.tsv"},
        {"--norm post --tokenizer words --separate-vocab --untied", "source.txt target.txt", "pairs.tsv"},
        {"--norm pre --tokenizer words", "tokenizer.txt", "pairs.tsv"},
        {"--norm pre --vocab-size 290 --activation silu", "tokenizer.model", "pairs.tsv"},
        {"--norm post --tokenizer words", "tokenizer.txt", "letters.tsv"}, /* words of one character */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char train[512];
        snprintf(train, sizeof train, PAIRS "%s --train %s", cases[i].options, cases[i].pairs);
        check_back(train, ask, cases[i].files);
    }
    assert_prints("grep -o '\"model_type\": \"[a-z0-9]*\"' hf/config.json", 0,
                  "\"model_type\": \"marian\"\n");
}

static void what_has_no_place_there_says_what_to_train(void **state)
{
    (void)state;
    must_run(PAIRS
             "--norm pre --tokenizer words --untied --train pairs.tsv --out untied && " PAIRS
             "--tokenizer words --position-kind learned --train pairs.tsv --out learned && $HEED train "
             "-q --device cpu --steps 2 --width 16 --encoder gru --decoder gru --tokenizer words --train "
             "pairs.tsv --out gru");
    assert_fails("$HEED export untied out", 1, "cannot become a Pegasus|--norm post");
    assert_fails("$HEED export learned out", 1, "--position-kind sinusoidal");
    must_run(PAIRS "--tokenizer words --position-kind none --train pairs.tsv --out nowhere && " PAIRS
                   "--tokenizer words --unscaled-attention --train pairs.tsv --out raw");
    assert_fails("$HEED export nowhere out", 1, "it has no positions");
    assert_fails("$HEED export raw out", 1, "train without --unscaled-attention");
    assert_fails("$HEED export gru out", 1, "it is no Transformer");
}

static void every_language_model(void **state)
{
    (void)state;
    static const char ask[] = "$HEED perplexity $M --device cpu --json < text | sed 's/\"seconds.*//'";
    check_back(TEXT "--task lm --model gpt --unit word --context 12", ask, "tokenizer.txt");
    check_back(TEXT "--task lm --model gpt --unit char --context 30 --untied", ask, "tokenizer.txt");
    check_back(TEXT "--task lm --model gpt --unit subword --vocab-size 290 --context 30", ask,
               "tokenizer.model");
    check_back(TEXT "--task lm --model llama --unit word --context 12", ask, "tokenizer.txt");
    check_back(TEXT "--task lm --preset deepseek-nano --layers 2 --unit word --context 12 --experts 4", ask,
               "tokenizer.txt");
    check_back(TEXT
               "--task lm --model deepseek --layers 2 --unit word --context 12 --experts 4 --query-rank 6 "
               "--shared-experts 2 --router softmax --router-raw --balance sequence",
               ask, "tokenizer.txt");
}

static void every_masked_model_and_classifier(void **state)
{
    (void)state;
    static const char ask[] = "$HEED classify $M --device cpu --json < asked";
    check_back(TEXT "--task mlm --unit word --context 16", "$HEED fill $M --json 'the [MASK] sat'",
               "tokenizer.txt");
    must_run(TEXT "--task mlm --vocab-size 290 --context 16 --out bert");
    check_back(
        "$HEED train -q --device cpu --steps 2 --task classify --from bert --train labels.tsv --batch-size 4",
        ask, "tokenizer.model labels.txt");
    check_back(
        "$HEED train -q --device cpu --steps 2 --task regress --from bert --train numbers.tsv --batch-size 4",
        ask, "tokenizer.model");
}

/* The bias of a head goes into the last norm: the answers are the same up to rounding, and from then on all
   bytes. */
static void a_classifier_with_a_gpt(void **state)
{
    (void)state;
    must_run(TEXT "--task lm --model gpt --unit word --context 12 --out gpt");
    static const char *const kinds[] = {"classify --train labels.tsv", "regress --train numbers.tsv"};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        char command[512];
        must_run("rm -rf model hf again hf2 twice");
        snprintf(command, sizeof command,
                 "$HEED train -q --device cpu --steps 20 --lr 0.05 --batch-size 4 --from gpt --task %s --out "
                 "model",
                 kinds[i]);
        must_run(command);
        must_run("$HEED export -q model hf && $HEED import -q hf again && $HEED export -q again hf2 && $HEED "
                 "import -q hf2 twice");
        assert_prints(
            "grep -c GPT2ForSequenceClassification hf/config.json; cmp again/model.safetensors "
            "twice/model.safetensors; cmp -s model/model.safetensors again/model.safetensors || echo other; "
            "for M in model again; do $HEED classify $M --device cpu --json < asked | sed "
            "'s/\\(\\.[0-9]\\{4\\}\\)[0-9e-]*/\\1/g' > $M.out; done; cmp model.out again.out && echo same",
            0, "1\nother\nsame\n");
    }
    must_run(
        "$HEED train -q --device cpu --steps 2 --batch-size 4 --from gpt --task classify --train labels.tsv "
        "--pool mean --out mean");
    assert_fails("$HEED export mean out", 1, "reads the last row of one text; this model has another --pool");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_translator),
        cmocka_unit_test(what_has_no_place_there_says_what_to_train),
        cmocka_unit_test(every_language_model),
        cmocka_unit_test(every_masked_model_and_classifier),
        cmocka_unit_test(a_classifier_with_a_gpt),
    };
    return cmocka_run_group_tests(tests, make_texts, scratch_remove);
}
