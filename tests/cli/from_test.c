/* heed train --from as a user meets it: a model that is there goes on learning, from another text, in a
   folder of its own that needs the first one no more. */
#include "check.h"
#include "scratch.h"

#include "cli/shell.h"
#include "hub/publisher.h"

#include <jansson.h>

static int make_models(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    setenv("SMALL", "-q --device cpu --layers 1 --width 24 --batch-size 8", 1);
    must_run(
        "w='the a cat dog sat on mat log is here where big small red'; "
        "awk -v w=\"$w\" 'BEGIN {n = split(w, a, \" \"); for (i = 0; i < 300; i++) {s = \"\"; "
        "for (j = 0; j < 8; j++) s = s a[int(i * 7 + j * j * 3 + i * j) % n + 1] \" \"; print s}}' > all && "
        "head -n 200 all > one && tail -n 100 all > two && head -n 20 one > few");
    must_run("$HEED train $SMALL --task lm --context 24 --train one --steps 150 --lr 0.01 --out gpt");
    must_run("$HEED train $SMALL --task lm --model lstm --context 24 --train one --steps 40 --out lstm");
    must_run("$HEED train $SMALL --task mlm --unit word --context 24 --train one --steps 30 --out bert");
    must_run("$HEED train -q --task lm --model ngram --train one --out ngram");
    must_run(
        "$HEED corpus -q --pairs 200 --valid 10 --test 0 --out pairs && "
        "$HEED train $TINY -q --train pairs/train.en pairs/train.de --valid pairs/valid.en pairs/valid.de "
        "--steps 8 --out pair");
    return 0;
}

/* The loss of the first validation in a folder's log. */
static double first_loss(const char *folder)
{
    double loss = NAN;
    char *log = get_file(at("%s/train/log.jsonl", folder), &(size_t){0}), *next = NULL;
    for (char *line = strtok_r(log, "\n", &next); line && isnan(loss); line = strtok_r(NULL, "\n", &next)) {
        json_t *o = json_loads(line, 0, NULL);
        if (!strcmp(json_string_value(json_object_get(o, "kind")), "valid"))
            loss = json_number_value(json_object_get(o, "loss"));
        json_decref(o);
    }
    free(log);
    assert_false(isnan(loss));
    return loss;
}

/* The same data, rate and number of updates: what was learned before is worth something. */
static void what_was_learned_counts(void **state)
{
    (void)state;
    must_run("$HEED train -q --device cpu --task lm --from gpt --batch-size 8 --train two --valid few "
             "--steps 10 --lr "
             "0.001 --warmup 0 --valid-every 10 --out on");
    must_run(
        "$HEED train $SMALL --task lm --context 24 --train two --valid few --steps 10 --lr 0.001 --warmup 0 "
        "--valid-every 10 --out anew");
    print_message("from a model %.3f, from nothing %.3f\n", first_loss("on"), first_loss("anew"));
    assert_true(first_loss("on") < first_loss("anew") - 0.5);
    /* and what is not given is the model's */
    must_run("cmp gpt/tokenizer.txt on/tokenizer.txt && cmp gpt/config.json on/config.json");
}

static void a_rate_that_is_not_given_is_small(void **state)
{
    (void)state;
    must_run("$HEED train -q --device cpu --task lm --from gpt --train two --out calm && "
             "grep -qx 'epochs: 3' calm/training.yml && grep -qx 'lr: 0.0016' calm/training.yml && "
             "! grep -q '^unit\\|^vocab' calm/training.yml");
    must_run("$HEED train -q --device cpu --config calm/training.yml --out calm2 && "
             "cmp calm/model.safetensors calm2/model.safetensors"); /* the file says all of the run */
}

/* Runs that end early and are resumed twice end in the bytes of one that is not, without the model they began
   with. */
static void resuming_is_as_if_nothing_had_happened(void **state)
{
    (void)state;
    static const struct {
        const char *model, *options;
    } runs[] = {
        {"gpt", "--task lm --train two --valid few --dropout 0.1 --ema 0.9"},
        {"lstm", "--task lm --train two --valid few"},
        {"bert", "--task mlm --train two --valid few --context 16"},
        {"pair",
         "--train pairs/train.en pairs/train.de --valid pairs/valid.en pairs/valid.de --batch-tokens 300 "
         "--max-length 40 --freeze 'model.encoder.*' --select-by loss"},
    };
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        char command[1024];
        snprintf(
            command, sizeof command,
            "r=\"$HEED train -q --device cpu --from first --decay-steps 40 --seed 3 --save-every 2 %s\"; "
            "rm -rf first whole cut; cp -r %s first; eval \"$r --steps 12 --out whole\" && "
            "eval \"$r --steps 5 --out cut\" && rm -rf first && $HEED train -q --resume --steps 7 --out cut "
            "&& "
            "$HEED train -q --resume --steps 12 --out cut && cmp whole/model.safetensors "
            "cut/model.safetensors && diff -r whole/train/step-12 cut/train/step-12",
            runs[i].options, runs[i].model);
        must_run(command);
    }
}

static void what_contradicts_the_model_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *options, *why;
    } bad[] = {
        {"--task lm --from gpt --width 32", "--width is 32|--from gpt|it is 24"},
        {"--task lm --from gpt --heads 1", "--heads is 1|--from gpt|it is 4"},
        {"--task lm --from gpt --model lstm", "--model is lstm|--from gpt|it is gpt"},
        {"--task lm --from gpt --norm post", "--norm is post|--from gpt|it is pre"},
        {"--task lm --from gpt --untied", "--untied is true|--from gpt|it is false"},
        {"--task lm --from gpt --context 25", "--context is 25|--from gpt|24 tokens"},
        {"--task lm --from gpt --unit word", "--unit|--from gpt"},
        {"--task lm --from gpt --vocab-size 100", "--vocab-size|--from gpt"},
        {"--task lm --from gpt --tokenizer-model one", "--tokenizer-model|--from gpt"},
        {"--task lm --from gpt --preset gpt2", "--preset gpt2|--layers 12|--from gpt|it is 1"},
        {"--task lm --from ngram", "--from ngram|counts"},
        {"--task lm --from gpt --overwrite --out gpt", "--from and --out"},
        {"--task mlm --from bert --layers 2", "--layers is 2|--from bert|it is 1"},
        {"--task mlm --from bert --subwords unigram", "--subwords|--from bert"},
        {"--task mlm --from bert --context 99", "--context is 99|--from bert|24 tokens"},
        {"--task mlm --from bert --preset bert-base", "--preset bert-base|--layers 12|--from bert"},
        {"--from pair --width 32", "--width is 32|--from pair|it is 16"},
        {"--from pair --encoder gru", "--encoder|--from pair"},
        {"--from pair --tokenizer words", "--tokenizer|--from pair"},
        {"--task lm --preset base", "--preset|gpt2"},
        {"--task lm --model lstm --preset gpt2", "--model lstm|--preset"},
        {"--task mlm --preset gpt2", "--preset|bert-tiny"},
        {"--preset gpt2", "--preset|lm"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char command[256];
        snprintf(command, sizeof command, "$HEED train -q --train two --out new %s", bad[i].options);
        assert_fails(command, 2, bad[i].why);
    }
    assert_false(is_there(at("new")));
    assert_fails("$HEED train -q --task lm --from bert --train two --out new", 1,
                 "bert|masked language model");
    assert_fails("$HEED train -q --task lm --from nowhere --train two --out new", 1, "nowhere");
    must_run("$HEED train -q --device cpu --task lm --model gpt --layers 1 --width 24 --heads 4 --from gpt "
             "--train two "
             "--steps 1 --out agreed"); /* what agrees may be said */
}

/* Ends of lines are characters of its text, and <|endoftext|> is one token wherever it stands. */
static void an_imported_model_goes_on_learning(void **state)
{
    (void)state;
    put_gpt2("gpt2");
    must_run("$HEED import gpt2 imported");
    must_run(
        "{ echo; cat few; } > rest; { cat two; printf '<|endoftext|>'; cat rest; } > documents; "
        "count() { $HEED train --task lm --from imported --train $1 --dry-run | sed -n 's/^tokens *//p' | tr "
        "-d ,; }; test $(count documents) = $(($(count two) + 1 + $(count rest)))");
    must_run("$HEED train -q --device cpu --task lm --from imported --train documents --valid few --steps 60 "
             "--valid-every 15 --warmup 5 --lr 0.003 --context 12 --out tuned");
    must_run("cmp imported/vocab.json tuned/vocab.json && cmp imported/merges.txt tuned/merges.txt && "
             "cmp imported/config.json tuned/config.json");
    char *before = strdup(must_run("$HEED perplexity imported --device cpu --json few")),
         *after = strdup(must_run("$HEED perplexity tuned --device cpu --json few"));
    json_t *a = json_loads(before, JSON_DISABLE_EOF_CHECK, NULL),
           *b = json_loads(after, JSON_DISABLE_EOF_CHECK, NULL);
    double from = -json_number_value(json_object_get(a, "logprob")),
           to = -json_number_value(json_object_get(b, "logprob"));
    print_message("%.1f nats before, %.1f after\n", from, to);
    assert_true(from > 0 && to > 0 && to < 0.8 * from);
    json_decref(a), json_decref(b);
    free(before), free(after);
    must_run("$HEED export tuned back && test -e back/merges.txt && grep -q '\"gpt2\"' back/config.json");
}

/* Its own tokenizers, and <pad> before every translation. */
static void an_imported_translator_goes_on_learning(void **state)
{
    (void)state;
    put_marian("marian");
    must_run("$HEED import marian opus && head -n 40 one | sed 's/here/there/' > left && tac left > right");
    must_run(
        "$HEED train -q --device cpu --from opus --train left right --valid left right --lr 0.003 --warmup 2 "
        "--batch-tokens 200 --steps 30 --valid-every 10 --bleu-sentences 0 --out specialist");
    char *log = get_file(at("specialist/train/log.jsonl"), &(size_t){0});
    double first = first_loss("specialist"), last = first;
    for (const char *c = log; (c = strstr(c, "\"kind\":\"valid\"")); c++)
        last = strtod(strstr(c, "\"loss\":") + 7, NULL);
    free(log);
    print_message("%.2f after 10 updates, %.2f after 30\n", first, last);
    assert_true(last < first - 0.1);
    must_run("cmp opus/source.spm specialist/source.spm && cmp opus/vocab.json specialist/vocab.json && "
             "$HEED export specialist exported && $HEED import exported again && "
             "cmp again/model.safetensors specialist/model.safetensors");
    must_run("echo 'the cat sat' | $HEED translate specialist --device cpu");
}

/* Numbers of the published models, less what a smaller vocabulary has fewer rows. */
static void presets_have_the_published_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t parameters, width;
    } presets[] = {{"gpt2", 124439808, 768},
                   {"gpt2-medium", 354823168, 1024},
                   {"gpt2-large", 774030080, 1280},
                   {"gpt2-xl", 1557611200, 1600}};
    for (size_t i = 0; i < COUNT_OF(presets); i++) {
        char command[512], expected[32];
        snprintf(
            command, sizeof command,
            "$HEED train -q --task lm --preset %s --train two --context 16 --batch-size 1 --micro-batches 1 "
            "--tokenizer-model " TOKENIZER "vocab.json " TOKENIZER
            "merges.txt --dry-run | sed -n 's/^parameters *//p' | tr -d ','",
            presets[i].name);
        snprintf(expected, sizeof expected, "%zu\n",
                 presets[i].parameters - (50257 - GPT_VOCAB + 1024 - 16) * presets[i].width);
        assert_prints(command, 0, expected);
    }
}

static void a_tokenizer_is_what_its_files_say(void **state)
{
    (void)state;
    must_run("t=" TOKENIZER "; r=\"$HEED train $SMALL --task lm --context 16 --steps 2 --train two\"; "
             "$r --tokenizer-model $t/vocab.json $t/merges.txt --out files && $r --tokenizer-model $t --out "
             "folder && "
             "$r --tokenizer-model $t/vocab.json --out file && cmp files/model.safetensors "
             "folder/model.safetensors && "
             "cmp files/model.safetensors file/model.safetensors && grep -q '\"bpe\"' files/config.json && "
             "cmp $t/merges.txt files/merges.txt");
    must_run("$HEED train $SMALL --task mlm --context 16 --steps 2 --train two --tokenizer-model " HEED_SOURCE
             "/tests/text/published/bert/vocab.txt --out pieces && grep -q wordpiece pieces/config.json");
    must_run(
        "$HEED train $SMALL --task lm --context 16 --steps 2 --train two --tokenizer-model gpt --out same && "
        "cmp gpt/tokenizer.txt same/tokenizer.txt");
    assert_fails("$HEED train -q --task lm --train two --out new --tokenizer-model one two", 2,
                 "--tokenizer-model|merges.txt");
    assert_fails(
        "mkdir -p x y && touch x/vocab.json y/merges.txt && $HEED train -q --task lm --train two --out new "
        "--tokenizer-model x/vocab.json y/merges.txt",
        2, "x/vocab.json|y/merges.txt|one folder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_learned_counts),
        cmocka_unit_test(a_rate_that_is_not_given_is_small),
        cmocka_unit_test(resuming_is_as_if_nothing_had_happened),
        cmocka_unit_test(what_contradicts_the_model_is_refused),
        cmocka_unit_test(an_imported_model_goes_on_learning),
        cmocka_unit_test(an_imported_translator_goes_on_learning),
        cmocka_unit_test(presets_have_the_published_sizes),
        cmocka_unit_test(a_tokenizer_is_what_its_files_say),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
