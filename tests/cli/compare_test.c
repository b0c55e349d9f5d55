/* heed compare as a user meets it: a line for each model, with the numbers of heed perplexity, and a plot. */
#include "check.h"
#include "cli/shell.h"
#include "cli/translating.h"
#include "task/speaker.h"

#include <jansson.h>

static int make_models(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    speaker_folder(at("grams"), HD_LM_ngram, HD_TOKENIZER_characters);
    speaker_folder(at("words"), HD_LM_ngram, HD_TOKENIZER_words);
    speaker_folder(at("fresh"), HD_LM_gpt, HD_TOKENIZER_characters);
    put_file(at("t"), "the cat is on the log\nthe dog sat\n");
    put_file(at("u"), "the zebra\n");
    must_run(
        "for i in 1 2 3 4 5 6 7 8 9 10; do cat t; echo \"a mat $i and the cats, where is the log?\"; done > "
        "long");
    return 0;
}

static void models_stand_in_the_order_given(void **state)
{
    (void)state;
    char out[SHELL_ROOM], model[64], kind[16], unit[16];
    snprintf(out, sizeof out, "%s", must_run("$HEED compare fresh grams words t"));
    static const char *const expected[][3] = {
        {"fresh", "gpt", "char"}, {"grams", "ngram", "char"}, {"words", "ngram", "word"}};
    char *line = strchr(out, '\n');
    assert_memory_equal(out, "model  kind   unit", 18);
    assert_null(strstr(out, "<unk>"));
    for (size_t i = 0; i < COUNT_OF(expected); i++, line = strchr(line + 1, '\n')) {
        double perplexity, bits, nats;
        char size[32], trained[32], rate[32];
        if (sscanf(line, "%63s %15s %15s %31s %31s %lf %lf %lf %31s", model, kind, unit, size, trained,
                   &perplexity, &bits, &nats, rate) != 9)
            fail_msg("%s", out);
        assert_string_equal(trained, "-"); /* nobody knows */
        assert_true(fabs(exp(nats) / perplexity - 1) < 0.002);
        assert_string_equal(model, expected[i][0]);
        assert_string_equal(kind, expected[i][1]);
        assert_string_equal(unit, expected[i][2]);
        assert_true(perplexity > 1 && bits > 0);
    }
    assert_string_equal(line, "\n");
    const char *unknown = must_run("$HEED compare grams words u");
    assert_non_null(strstr(unknown, "warning: words: 1 of 3 tokens are <unk>"));
    assert_non_null(strstr(unknown, "33.3%"));
}

static void numbers_are_those_of_perplexity(void **state)
{
    (void)state;
    json_error_t e;
    json_t *all = json_loads(must_run("$HEED compare grams fresh t --json"), 0, &e);
    json_t *one = json_loads(must_run("$HEED perplexity fresh --json < t"), 0, &e);
    json_t *fresh = json_array_get(json_object_get(all, "models"), 1);
    static const char *const keys[] = {"token_count", "perplexity", "bits_per_character", "characters",
                                       "logprob"};
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        assert_true(json_equal(json_object_get(fresh, keys[i]), json_object_get(one, keys[i])));
    assert_string_equal(json_string_value(json_object_get(fresh, "model")), "fresh");
    assert_true(json_integer_value(json_object_get(fresh, "parameters")) > 1000);
    json_decref(all);
    json_decref(one);
}

static void a_text_from_a_pipe_is_read_once(void **state)
{
    (void)state;
    char file[SHELL_ROOM];
    snprintf(file, sizeof file, "%s",
             must_run("$HEED compare grams words fresh t | awk '{print $1, $6, $7, $8}'"));
    assert_string_equal(must_run("cat t | $HEED compare grams words fresh - | awk '{print $1, $6, $7, $8}'"),
                        file);
}

/* ---- models that are trained first ---- */

#define LADDER                                                                                              \
    "$HEED compare --task lm --unit char --device cpu --train long --out l --steps 12 --width 16 --layers " \
    "1 "                                                                                                    \
    "--context 8 --hash-buckets 500 "

static json_t *ladder_of(const char *options)
{
    char command[1024];
    json_error_t e;
    snprintf(command, sizeof command, LADDER "%s --json -q", options);
    json_t *all = json_loads(must_run(command), 0, &e);
    if (!all) fail_msg("%s: %s", command, e.text);
    return all;
}

static const char *text_at(const json_t *all, size_t i, const char *key)
{
    return json_string_value(json_object_get(json_array_get(json_object_get(all, "models"), i), key));
}

static double number_at(const json_t *all, size_t i, const char *key)
{
    return json_number_value(json_object_get(json_array_get(json_object_get(all, "models"), i), key));
}

static void every_kind_is_trained_and_stands_in_its_row(void **state)
{
    (void)state;
    json_t *all =
        ladder_of("--models ngram,maxent,ffnn,rnn,gru,lstm,gpt,llama,moe,deepseek --plot ladder.svg");
    for (size_t i = 0; i < HD_LM_KINDS; i++) {
        assert_string_equal(text_at(all, i, "model"), hd_lm_names[i]);
        assert_string_equal(text_at(all, i, "kind"), hd_lm_names[i]);
        assert_int_equal(number_at(all, i, "token_count"), 74); /* a tenth of the characters */
        assert_true(number_at(all, i, "training_seconds") >= 0);
        assert_true(number_at(all, i, "perplexity") > 1);
    }
    assert_int_equal(json_array_size(json_object_get(all, "models")), HD_LM_KINDS);
    json_decref(all);
    must_run("grep -q '>lstm<' ladder.svg && grep -x 'width: 16' l/gpt/training.yml && "
             "grep -x 'valid-fraction: 0.1' l/ngram/training.yml && test -s l/rnn/model.safetensors");
}

/* The second time nothing is trained: the same numbers, times included. */
static void what_is_trained_is_not_trained_again(void **state)
{
    (void)state;
    json_t *first = ladder_of("--models ngram,ffnn"), *second = ladder_of("--models ngram,ffnn");
    for (size_t i = 0; i < 2; i++) {
        assert_true(number_at(first, i, "logprob") == number_at(second, i, "logprob"));
        assert_true(number_at(first, i, "training_seconds") == number_at(second, i, "training_seconds"));
    }
    json_decref(first);
    json_decref(second);
    const char *out = must_run(LADDER "--models ngram,ffnn");
    assert_non_null(strstr(out, "warning: --hash-buckets: none of these models has it"));
    assert_non_null(strstr(out, "l/ngram: already trained, used as it is"));
    assert_non_null(strstr(out, "l/ffnn: already trained, used as it is"));
    out = must_run(LADDER "--models ngram,ffnn --overwrite");
    assert_null(strstr(out, "already"));
    /* but not where another one is asked for, by what is given or by what is not any more */
    assert_fails(LADDER "--models ffnn --lr 0.1 -q", 1, "l/ffnn: --lr was |--overwrite");
    assert_fails("$HEED compare -q --models ffnn --train long --out l --device cpu", 1, "l/ffnn: --");
    assert_fails("$HEED compare -q --models ngram --train t --out l", 1, "l/ngram: --train was ");
}

static void an_unfinished_model_is_resumed(void **state)
{
    (void)state;
    must_run(LADDER "--models 'gru(seed=7)' -q && cp -r l/gru-seed=7 whole");
    must_run("sed 's/true/false/' whole/train/time.json > l/gru-seed=7/train/time.json");
    const char *out = must_run(LADDER "--models 'gru(seed=7)'");
    assert_non_null(strstr(out, "l/gru-seed=7: resuming"));
    must_run("rm -r l/gru-seed=7 && $HEED train -q --task lm --model gru --seed 7 --unit char --device cpu "
             "--train long --valid-fraction 0.1 --steps 12 --width 16 --layers 1 --context 8 --minutes 1e-9 "
             "--out l/gru-seed=7 && grep -q '\"finished\": false' l/gru-seed=7/train/time.json");
    out = must_run(LADDER "--models 'gru(seed=7)'");
    assert_non_null(strstr(out, "l/gru-seed=7: resuming"));
    must_run("cmp whole/model.safetensors l/gru-seed=7/model.safetensors && "
             "grep -q '\"finished\": true' l/gru-seed=7/train/time.json");
    must_run("rm -r l/gru-seed=7/train l/gru-seed=7/model.safetensors"); /* it never got anywhere */
    out = must_run(LADDER "--models 'gru(seed=7)'");
    assert_non_null(strstr(out, "l/gru-seed=7: training"));
    must_run("cmp whole/model.safetensors l/gru-seed=7/model.safetensors");
}

/* Two models are asked for: the signal meets the first, and there is no second. */
static void a_signal_ends_all_and_says_so(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    shell(out,
          "$HEED compare --task lm --unit char --device cpu --train long --out s --steps 1000000 --width 16 "
          "--models gru,lstm -q & p=$!; while [ ! -e s/gru/training.yml ]; do sleep 0.02; done; "
          "kill -TERM $p; wait $p; echo $?; ls s");
    const char *says =
        "heed compare: stopped; everything is saved: give the same command to continue\n143\ngru\n";
    if (strcmp(out, says)) fail_msg("%s", out);
}

static void a_model_may_have_settings_of_its_own(void **state)
{
    (void)state;
    must_run("rm -r l");
    json_t *all = ladder_of(
        "--models 'ngram(order=2 smoothing=add-k), ngram(order=4),ffnn(order=3,steps=5),maxent' --order 5");
    static const char *const names[] = {"ngram-order=2-smoothing=add-k", "ngram-order=4",
                                        "ffnn-order=3-steps=5", "maxent"};
    for (size_t i = 0; i < COUNT_OF(names); i++) assert_string_equal(text_at(all, i, "model"), names[i]);
    assert_string_equal(text_at(all, 0, "folder"), "l/ngram-order=2-smoothing=add-k");
    json_decref(all);
    must_run("grep -x 'smoothing: add-k' l/ngram-order=2-smoothing=add-k/training.yml && "
             "grep -x 'order: 3' l/ffnn-order=3-steps=5/training.yml && "
             "grep -x 'steps: 5' l/ffnn-order=3-steps=5/training.yml && "
             "grep -x 'order: 5' l/maxent/training.yml && grep -x 'steps: 12' l/maxent/training.yml");
}

static void models_that_cannot_be_meant_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"--models ngram,bert", "--models: 'bert' is not one of ngram, maxent"},
        {"--models ''", "--models: '' is not one of"},
        {"--models gpt,", "--models: '' is not one of"},
        {"--models 'ngram(order=3'", "'ngram(order=3' is not MODEL or MODEL(NAME=VALUE ...)"},
        {"--models 'ngram(order=3)x'", "is not MODEL or MODEL(NAME=VALUE ...)"},
        {"--models 'ngram(order)'", "'order' in ngram(...) is not NAME=VALUE"},
        {"--models 'ngram(order=)'", "'order=' in ngram(...) is not NAME=VALUE"},
        {"--models 'ngram(ordre=3)'", "ngram has no setting 'ordre', did you mean 'order'?"},
        {"--models 'ngram(layers=3)'", "ngram has no setting 'layers'"},
        {"--models 'ngram(order=x)'", "ngram(order=x): 'x' is not a whole number"},
        {"--models 'ngram(order=3 order=4)'", "ngram has 'order' twice"},
        {"--models ngram,ngram", "ngram is there twice"},
        {"--models gpt --steps many", "--steps: 'many' is not a whole number"},
        {"--models gpt,ngram grams", "leave out grams"},
        {"--models gpt t --train t", "leave out t"},
        {"--models gpt --train -", "--train must be a file"},
        {"--models gpt --train nowhere", "heed compare: nowhere: |No such file"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char command[512];
        snprintf(command, sizeof command, "$HEED compare -q --out x --train t %s", cases[i][0]);
        assert_fails(command, i + 1 < COUNT_OF(cases) ? 2 : 1, cases[i][1]);
    }
    must_run("! test -e x");
    assert_fails("$HEED compare --models gpt --train t", 2, "--out is required");
    assert_fails("$HEED compare --models gpt --out x", 2, "--train is required");
    assert_fails("$HEED compare grams t --order 3", 2, "--order needs --models");
    assert_fails("$HEED compare grams t --train t", 2, "--train needs --models");
    assert_fails("$HEED compare --models gpt --train t --out x --plot l.gif", 1, ".svg, .png or .pdf");
}

static void the_ladder_is_drawn(void **state)
{
    (void)state;
    must_run("$HEED compare grams words u --plot l.svg -q");
    char *svg = get_file(at("l.svg"), NULL);
    assert_non_null(strstr(svg, ">grams<"));
    assert_non_null(strstr(svg, ">ngram, word, &lt;unk&gt; 33.3%<"));
    free(svg);
}

static void what_cannot_be_compared_is_said_once(void **state)
{
    (void)state;
    assert_fails("$HEED compare t", 2, "no models: give their folders");
    assert_fails("$HEED compare grams --text t", 2, "--text is gone: give the text after the models");
    assert_prints("$HEED compare grams t > a; $HEED compare grams < t | cut -f1-60 | wc -l", 0, "2\n");
    assert_fails("$HEED compare grams nowhere t", 1, "heed compare: nowhere");
    assert_fails("$HEED compare grams nowhere", 1, "nowhere");
    assert_fails("$HEED compare grams t --plot l.gif", 1, "l.gif|.svg, .png or .pdf");
}

/* Their numbers are those of `heed translate` and `heed score`. */
static void translators_are_compared_by_what_they_translate(void **state)
{
    (void)state;
    json_error_t e;
    translating_folder(at("first"));
    translating_folder(at("second"));
    put_file(at("a"), "i ate an apple .\ni ate .\n");
    put_file(at("b"), "ich habe einen apfel gegessen .\nich habe gegessen .\n");
    must_run("paste a b > both.tsv");
    json_t *all = json_loads(must_run("$HEED compare first second a b --json"), 0, &e);
    json_t *models = json_object_get(all, "models");
    assert_int_equal(json_array_size(models), 2);
    assert_int_equal(json_integer_value(json_object_get(all, "pairs")), 2);
    json_t *one = json_array_get(models, 0);
    assert_string_equal(json_string_value(json_object_get(one, "model")), "first");
    must_run("$HEED translate first --beam 1 < a > said");
    json_t *score = json_loads(must_run("$HEED score --ref b said --json"), 0, &e);
    double bleu = json_number_value(json_object_get(score, "bleu"));
    assert_true(fabs(json_number_value(json_object_get(one, "bleu")) - bleu) < 0.01);
    assert_true(json_number_value(json_object_get(one, "nats_per_token")) > 0);
    assert_true(json_number_value(json_object_get(one, "flops_per_pair")) > 1000);
    json_t *same = json_loads(must_run("$HEED compare first both.tsv --json"), 0, &e);
    json_t *again = json_array_get(json_object_get(same, "models"), 0);
    assert_true(json_equal(json_object_get(one, "nats_per_token"), json_object_get(again, "nats_per_token")));
    json_decref(all), json_decref(same), json_decref(score);
    assert_non_null(strstr(must_run("$HEED compare first second a b"), "transformer:"));
    assert_fails("$HEED compare first second", 2, "pairs are required");
    assert_fails("$HEED compare first a b --plot x.svg", 2, "is a translator");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_stand_in_the_order_given),
        cmocka_unit_test(numbers_are_those_of_perplexity),
        cmocka_unit_test(a_text_from_a_pipe_is_read_once),
        cmocka_unit_test(the_ladder_is_drawn),
        cmocka_unit_test(every_kind_is_trained_and_stands_in_its_row),
        cmocka_unit_test(what_is_trained_is_not_trained_again),
        cmocka_unit_test(an_unfinished_model_is_resumed),
        cmocka_unit_test(a_signal_ends_all_and_says_so),
        cmocka_unit_test(a_model_may_have_settings_of_its_own),
        cmocka_unit_test(translators_are_compared_by_what_they_translate),
        cmocka_unit_test(models_that_cannot_be_meant_are_refused),
        cmocka_unit_test(what_cannot_be_compared_is_said_once),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
