/* heed train --task mlm and heed fill as a user meets them: from a text to words in its blanks, a run in
   sittings that ends with the bytes of one, and what does not fit refused in one line. */
#include "check.h"
#include "cli/shell.h"

#include <jansson.h>

#define SAME                                                                                              \
    "same() { cmp $1/model.safetensors $2/model.safetensors && cmp $1/train/current $2/train/current && " \
    "diff -r $1/train/$(cat $1/train/current) $2/train/$(cat $2/train/current); }; "
#define TRAIN "$HEED train -q --task mlm --device cpu --train text.gz "
#define SMALL                                                                                                \
    "--valid-fraction 0.2 --layers 2 --width 16 --heads 2 --context 16 --batch-size 4 --lr 0.01 --warmup 3 " \
    "--unit "                                                                                                \
    "word --valid-every 4 --save-every 3 --dropout 0.1 "

static int make_text(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    char out[SHELL_ROOM];
    return shell(
        out, "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "
             "echo 'the cat sat on the mat'; echo 'the dog ran in the park'; echo 'für Öl'; done > "
             "text; gzip -k text; $HEED train -q --task mlm --preset bert-tiny --device cpu --train text.gz "
             "--unit word --width 32 --context 16 --batch-size 8 --steps 150 --warmup 10 --lr 0.005 "
             "--valid-fraction 0.1 --valid-every 75 --out m");
}

static void blanks_are_filled_in(void **state)
{
    (void)state;
    const char *out = must_run("$HEED fill m 'the cat [MASK] on the mat' --device cpu --top 2");
    assert_memory_equal(out, "1  0.", 5);
    char first[64];
    snprintf(first, sizeof first, "%.*s", (int)(strchr(out, '\n') - out), out);
    assert_string_equal(strrchr(first, ' ') + 1, "sat");
    assert_prints("$HEED fill m --top 1 'the [MASK] ran in the [MASK]' | sed 's/  .*  / /'", 0,
                  "1 dog\n2 park\n");
    assert_prints("printf 'the dog [MASK] in the park\\n\\xc3\\xb6 [MASK]\\n' | $HEED fill m --top 1 | sed "
                  "'s/  .*  / /' | head -1",
                  0, "1 ran\n");
}

static void json_names_what_it_holds(void **state)
{
    (void)state;
    json_error_t e;
    json_t *o = json_loads(must_run("$HEED fill m --json --top 3 'the [MASK] sat \"on\" [MASK]'"),
                           JSON_REJECT_DUPLICATES, &e);
    assert_string_equal(json_string_value(json_object_get(o, "text")), "the [MASK] sat \"on\" [MASK]");
    json_t *masks = json_object_get(o, "masks");
    assert_int_equal(json_array_size(masks), 2);
    for (size_t i = 0; i < 2; i++) {
        double last = 1;
        assert_int_equal(json_array_size(json_array_get(masks, i)), 3);
        for (size_t k = 0; k < 3; k++) {
            json_t *one = json_array_get(json_array_get(masks, i), k);
            double p = json_number_value(json_object_get(one, "probability"));
            assert_true(p > 0 && p <= last);
            last = p;
            assert_true(json_string_length(json_object_get(one, "token")) > 0);
            assert_string_equal(json_string_value(json_object_get(one, "text")),
                                json_string_value(json_object_get(one, "token")));
        }
    }
    json_decref(o);
}

/* A file of attention; the sentence of this number. */
static json_t *attention_in(const char *name, size_t sentence, json_t **root)
{
    json_error_t e;
    *root = json_load_file(at("%s", name), JSON_REJECT_DUPLICATES, &e);
    if (!*root) fail_msg("%s: %s", name, e.text);
    json_t *all = json_object_get(*root, "sentences");
    assert_true(json_array_size(all) > sentence);
    return json_array_get(all, sentence);
}

static void what_was_attended_to_is_shown(void **state)
{
    (void)state;
    json_t *root, *o;
    must_run("$HEED fill m --attention a.json 'the cat [MASK] on the mat' 'the [MASK]'");
    o = attention_in("a.json", 0, &root);
    assert_string_equal(json_string_value(json_object_get(o, "source")), "the cat [MASK] on the mat");
    assert_true(json_is_null(json_object_get(o, "translation")) && json_is_null(json_object_get(o, "score")));
    json_t *names = json_object_get(o, "source_tokens"), *parts = json_object_get(o, "attention");
    assert_int_equal(json_array_size(names), 8);
    assert_string_equal(json_string_value(json_array_get(names, 3)), "[MASK]");
    assert_int_equal(json_object_size(parts), 1);
    json_t *layers = json_object_get(parts, "encoder");
    assert_int_equal(json_array_size(layers), 2);
    for (size_t l = 0; l < 2; l++)
        for (size_t h = 0; h < 2; h++)
            for (size_t i = 0; i < 8; i++) {
                json_t *row = json_array_get(json_array_get(json_array_get(layers, l), h), i);
                double sum = 0;
                for (size_t j = 0; j < 8; j++) sum += json_number_value(json_array_get(row, j));
                assert_true(fabs(sum - 1) < 1e-6);
            }
    json_decref(root);
    must_run("for e in html svg; do $HEED fill m --attention b.$e 'the [MASK]' > /dev/null && test -s "
             "b.$e || exit 1; done; grep -q '\"encoder\":{\"rows\":4' b.html");
    must_run("printf 'the cat\n\na dog [MASK]\n' | $HEED embed m --attention c.svg --layer 1 --head 2 && "
             "grep -q 'layer 1 of 2, head 2 of 2' c-1.svg && test -s c-2.svg && test ! -e c-3.svg");
    must_run(
        "$HEED fill m --view --layer 1 'the [MASK]' | grep 'Encoder self-attention, layer 1 of 2, mean'");
}

static void a_text_is_explained(void **state)
{
    (void)state;
    json_error_t e;
    must_run("$HEED explain m 'the cat [MASK] on the mat' --json > shown.json");
    json_t *o = json_load_file(at("shown.json"), JSON_REJECT_DUPLICATES, &e);
    json_t *mask = json_array_get(json_object_get(o, "masks"), 0),
           *best = json_array_get(json_object_get(mask, "distribution"), 0);
    assert_int_equal(json_integer_value(json_object_get(mask, "place")), 3);
    assert_string_equal(json_string_value(json_object_get(best, "token")), "sat");
    assert_int_equal(json_object_size(json_object_get(o, "matrices")),
                     json_object_size(json_object_get(o, "formulas")));
    json_decref(o);
    must_run("$HEED explain m 'the cat' --only 'enc.1.self.softmax' --head 2 | grep '4 × 4, head 2 of 2'");
}

static void the_folder_says_what_it_is(void **state)
{
    (void)state;
    must_run("$HEED info m --json | grep '\"task\": \"mlm\", \"model\": \"bert\", \"layers\": 2'");
    must_run("$HEED info m --tensors | grep 'bert.encoder.layer.1.attention.self.query.weight  *32 x 32'");
    must_run("grep -q '\"accuracy\":[0-9]' m/train/log.jsonl && grep -x 'preset: bert-tiny' m/training.yml");
    assert_prints(
        "printf 'the cat\\n\\na [MASK]\\n' | $HEED embed m --pool first --device cpu | awk '{print NF}'", 0,
        "32\n0\n32\n");
    must_run("echo 'the [MASK]' | $HEED embed m --pool none --json | grep -F '[\"<s>\", \"the\", \"[MASK]\", "
             "\"</s>\"]'");
}

static void validation_says_loss_perplexity_and_accuracy(void **state)
{
    (void)state;
    const char *out =
        must_run("$HEED train --task mlm --device cpu --train text.gz " SMALL "--steps 4 --out told");
    assert_non_null(strstr(out, "bert of 2 layers of width 16"));
    assert_non_null(strstr(out, "valid loss "));
    assert_non_null(strstr(out, "  perplexity "));
    assert_non_null(strstr(out, "  accuracy "));
    assert_non_null(strstr(out, "heed fill told"));
    out = must_run(
        "$HEED train --task mlm --dry-run --train text --preset bert-base --unit char --batch-size 1");
    assert_non_null(strstr(out, "parameters         86,"));
    assert_non_null(strstr(out, "batches an epoch "));
}

static void every_unit_trains(void **state)
{
    (void)state;
    must_run(TRAIN SMALL "--unit char --whole-word-masking --steps 4 --out char && $HEED fill char 'the "
                         "c[MASK]t' | grep -c .");
    must_run(
        TRAIN SMALL
        "--unit subword --vocab-size 300 --whole-word-masking --steps 4 --out sub && $HEED fill sub --json "
        "'the [MASK]' | grep '\"token\"'");
}

static void sittings(const char *more)
{
    char command[640];
    snprintf(command, sizeof command,
             "rm -rf whole parts; " TRAIN SMALL "%s --steps 20 --threads 1 --out whole; " TRAIN SMALL
             "%s --steps 20 --minutes 1e-9 --out parts",
             more, more);
    must_run(command);
    must_run("for s in 1 7 13; do $HEED train -q --resume --steps $s --out parts || exit 1; done; "
             "$HEED train -q --resume --steps 20 --out parts --report-every 3 --save-every 2");
    assert_prints(SAME "same whole parts", 0, "");
}

static void a_resumed_run_equals_a_whole_one(void **state)
{
    (void)state;
    sittings("");
    sittings("--whole-word-masking --micro-batches 3 --ema 0.9");
    must_run("rm -rf cut; { " TRAIN SMALL
             "--steps 100000 --out cut & p=$!; while ! test -s cut/train/current; do "
             "sleep 0.01; done; kill -9 $p; wait $p; test $? = 137; } 2>&1 && n=$(cut -d- -f2 "
             "cut/train/current) && "
             "n=$((n + 5)) && $HEED train -q --resume --steps $n --out cut && rm -rf whole && " TRAIN SMALL
             "--steps 100000 --minutes 1e-9 --out whole && $HEED train -q --resume --steps $n --out whole");
    assert_prints(SAME "same whole cut", 0, "");
}

static void training_yml_begins_the_same_run(void **state)
{
    (void)state;
    must_run(TRAIN SMALL
             "--steps 6 --whole-word-masking --out first && $HEED train -q --config first/training.yml --out "
             "second");
    assert_prints(SAME "same first second; cmp first/training.yml second/training.yml", 0, "");
    assert_prints("grep -c 'encoder-layers\\|^norm\\|^model:' first/training.yml", 1, "0\n");
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        int status;
        const char *says;
    } cases[] = {
        {"train -q --task mlm --out x", 2, "--train is required"},
        {"train -q --task mlm --train text nowhere --out x", 1, "nowhere: No such file"},
        {"train -q --task mlm --preset tiny --train text --out x", 2, "--preset|bert-tiny"},
        {"train -q --preset bert-tiny --train text text --out x", 2, "--preset|--task mlm"},
        {"train -q --task lm --whole-word-masking --train text --out x", 2,
         "--whole-word-masking is an option of --task mlm"},
        {"train -q --task mlm --model gpt --train text --out x", 2,
         "--model is an option of --task lm, not of mlm"},
        {"train -q --task mlm --norm pre --train text --out x", 2, "--norm is an option of"},
        {"train -q --task mlm --width 30 --heads 4 --train text --out x", 2, "--width 30 cannot be split"},
        {"train -q --task mlm --context 2 --train text --out x", 2, "--context"},
        {"train -q --task mlm --context long --train text --out x", 2, "--context"},
        {"train -q --task mlm --train nothing --out x", 1, "nothing: No such file"},
        {"train -q --task mlm --unit word --train blank --out x", 1, "there is no text"},
        {"train -q --task mlm --unit word --train text --valid blank --out x", 1,
         "no token that could be masked"},
        {"train -q --task mlm --train broken --out x", 1, "broken|UTF-8"},
        {"fill m 'the cat'", 1, "there is no [MASK] in the text"},
        {"fill m 'a a a a a a a a a a a a a a a [MASK]'", 1, "the text has 18 tokens: the model takes 16"},
        {"fill m --attention x.html 'a a a a a a a a a a a a a a a [MASK]'", 1,
         "18 tokens: the model takes 16"},
        {"fill m --attention x.txt '[MASK]'", 1, "x.txt|.json, .html, .svg, .png or .pdf"},
        {"fill m --attention x.html --layer 3 '[MASK]'", 1, "no layer 3|1 to 2"},
        {"embed m --attention x.html --nearest the", 2, "--attention is of lines"},
        {"explain m 'a a a a a a a a a a a a a a a'", 1, "the text has 17 tokens, the model takes 16"},
        {"explain m 'a' --step 2", 2, "--step: the model reads a text at once"},
        {"fill", 2, "MODEL"},
        {"fill m --top 0 '[MASK]'", 2, "--top"},
        {"fill nowhere '[MASK]'", 1, "nowhere: there is no such folder"},
        {"generate m", 1, "this is a masked language model, which `heed fill` reads"},
        {"perplexity m < text", 1, "this is a masked language model, which `heed fill` reads"},
        {"translate m < text", 1, "this is a masked language model, which `heed fill` reads"},
        {"classify m < text", 1, "this is a masked language model, which `heed fill` reads"},
        {"rank m < text", 1, "a masked language model gives no probability of a text"},
    };
    put_file(at("blank"), "\n\n");
    put_file(at("broken"), "good\n\xff\xfe\n");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char command[512];
        snprintf(command, sizeof command, "$HEED %s", cases[i].command);
        assert_fails(command, cases[i].status, cases[i].says);
    }
    assert_prints("ls x.html", 2, "ls: cannot access 'x.html': No such file or directory\n");
    assert_prints("ls -d x", 2, "ls: cannot access 'x': No such file or directory\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blanks_are_filled_in),
        cmocka_unit_test(json_names_what_it_holds),
        cmocka_unit_test(what_was_attended_to_is_shown),
        cmocka_unit_test(a_text_is_explained),
        cmocka_unit_test(the_folder_says_what_it_is),
        cmocka_unit_test(validation_says_loss_perplexity_and_accuracy),
        cmocka_unit_test(every_unit_trains),
        cmocka_unit_test(a_resumed_run_equals_a_whole_one),
        cmocka_unit_test(training_yml_begins_the_same_run),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, make_text, scratch_remove);
}
