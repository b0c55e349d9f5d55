/* Models whose weights are not what they were: no verb answers with them, and the message names the file. */
#include "check.h"
#include "cli/kinds.h"
#include "spoil.h"

/* A question for every kind of model, and the tensor that the last of its layers reads. */
static const struct {
    const char *model, *command, *tensor;
} questions[] = {
    {"classifier", "echo 'the cat' | $HEED classify d --device cpu", "classifier.weight"},
    {"tagger", "echo 'the cat' | $HEED tag d --device cpu", "classifier.weight"},
    {"bert", "echo 'the [MASK] sat' | $HEED fill d --device cpu",
     "cls.predictions.transform.LayerNorm.weight"},
    {"bert", "$HEED explain d 'the [MASK] sat'", "cls.predictions.transform.LayerNorm.weight"},
    {"bert", "echo 'the cat' | $HEED embed d --device cpu", "bert.encoder.layer.0.output.LayerNorm.weight"},
    {"gpt", "$HEED generate d --prompt the --tokens 3 --json --device cpu", "ln_f.weight"},
    {"gpt", "$HEED explain d the", "ln_f.weight"},
    {"gpt", "echo 'the cat' | $HEED rank d --device cpu", "ln_f.weight"},
    {"gpt", "$HEED perplexity d text --device cpu", "ln_f.weight"},
    {"gpt", "$HEED compare d text --device cpu", "ln_f.weight"},
    {"translator", "echo 'the cat' | $HEED translate d --device cpu", "model.decoder.layer_norm.weight"},
};

static void fresh_copy(const char *model)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf d && cp -r %s d", model);
    must_run(command);
}

static void weights_that_are_no_numbers_are_refused_by_every_verb(void **state)
{
    (void)state;
    char parts[200];
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        fresh_copy(questions[i].model);
        must_run(questions[i].command);
        spoil(at("d/model.safetensors"), questions[i].tensor, 0, 1, i % 2 ? (double)NAN : (double)INFINITY);
        snprintf(parts, sizeof parts, "d/model.safetensors: tensor '%s' holds NaN or infinite numbers",
                 questions[i].tensor);
        assert_fails(questions[i].command, 1, parts);
    }
    fresh_copy("gpt");
    spoil(at("d/model.safetensors"), "ln_f.bias", 3, 1, (double)NAN);
    assert_fails("$HEED perplexity d text --device cpu", 1, "d/model.safetensors: tensor 'ln_f.bias'");
    assert_fails("$HEED train -q --from d --train text --task lm --steps 1 --out x", 1,
                 "d/model.safetensors: tensor 'ln_f.bias'");
}

/* Finite weights may still give no number. */
static void answers_that_are_no_numbers_are_refused_by_every_verb(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        fresh_copy(questions[i].model);
        spoil(at("d/model.safetensors"), questions[i].tensor, 0, 0, 3e38);
        assert_fails(questions[i].command, 1, "the model's output is not a number|model.safetensors");
    }
}

/* The same bytes under another type. */
static void integers_are_refused_as_weights(void **state)
{
    (void)state;
    fresh_copy("classifier");
    must_run("LC_ALL=C sed -i '1,/F32/s/\"F32\"/\"I32\"/' d/model.safetensors");
    assert_fails(questions[0].command, 1,
                 "d/model.safetensors: tensor '|' is of type I32, and weights are F32");
}

/* Whichever is wrong: one piece more than the model has, or one less. */
static void a_tokenizer_of_another_size_is_named_by_every_verb(void **state)
{
    (void)state;
    static const char *const change[] = {"echo @ >> d/tokenizer.txt", "sed -i '$d' d/tokenizer.txt"};
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        fresh_copy(questions[i].model);
        must_run("grep -v crc32c d/config.json | sed '$s/,$/}/' > x && mv x d/config.json");
        must_run(questions[i].command);
        must_run(change[i % 2]);
        assert_fails(questions[i].command, 1,
                     ": d/tokenizer.txt: has | pieces|, but \"|vocab|\" in config.json is |: the tokenizer "
                     "belongs to another model, or was cut short");
    }
}

/* A link that leads to itself is not a folder without a model. */
static void links_that_lead_nowhere_are_named(void **state)
{
    (void)state;
    fresh_copy("gpt");
    must_run("rm d/train/current; ln -s current d/train/current");
    assert_fails("$HEED train -q --resume --steps 4 --out d", 1, "train/current|symbolic links");
    must_run("rm d/config.json; ln -s config.json d/config.json");
    assert_fails("$HEED generate d", 1, "d/config.json|symbolic links");
}

/* -- checksums -- */

/* One bit of a file, at a place of 0 to 1 of its size. */
static void flip(const char *path, double place)
{
    size_t size;
    char *bytes = get_file(path, &size);
    bytes[(size_t)(place * (double)(size - 1))] ^= 4;
    put_bytes(path, bytes, size);
    free(bytes);
}

static void a_flipped_bit_in_a_small_file_is_seen_by_every_verb(void **state)
{
    (void)state;
    static const struct {
        const char *model, *file, *command;
    } cases[] = {
        {"classifier", "tokenizer.txt", "echo the cat | $HEED classify d"},
        {"classifier", "labels.txt", "echo the cat | $HEED classify d"},
        {"tagger", "labels.txt", "echo the cat | $HEED tag d"},
        {"bert", "tokenizer.txt", "echo 'the [MASK]' | $HEED fill d"},
        {"bert", "tokenizer.txt", "$HEED info d"},
        {"gpt", "tokenizer.txt", "$HEED generate d"},
        {"gpt", "tokenizer.txt", "echo the | $HEED tokenize d"},
        {"translator", "tokenizer.txt", "echo the | $HEED translate d"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int k = 0; k < 8; k++) {
            char name[64], parts[200];
            fresh_copy(cases[i].model);
            snprintf(name, sizeof name, "d/%s", cases[i].file);
            flip(at("%s", name), k / 7.0);
            snprintf(parts, sizeof parts,
                     "%s: was changed since heed wrote it|copy the folder again|remove the line", name);
            assert_fails(cases[i].command, 1, parts);
        }
}

/* Of config.json, too: where it is still JSON, by its own checksum. */
static void an_edited_file_says_what_to_do_and_that_helps(void **state)
{
    (void)state;
    static const char *const ask = "echo 'the [MASK]' | $HEED fill d -d cpu > /dev/null";
    fresh_copy("bert");
    must_run("sed -i 's/\"layers\": 1/\"layers\": 2/' d/config.json");
    assert_fails(
        ask, 1,
        "d/config.json: was changed since heed wrote it|remove the line \"crc32c\" and the comma before it");
    must_run("sed -i 's/\"layers\": 2/\"layers\": 1/' d/config.json");
    must_run(ask);
    must_run("sed -i 's/^mat$/hat/' d/tokenizer.txt");
    assert_fails(ask, 1, "d/tokenizer.txt: was changed since heed wrote it");
    must_run("grep -v crc32c d/config.json | sed '$s/,$/}/' > x && mv x d/config.json");
    must_run(ask);
    assert_prints("$HEED info d --verify | grep verified", 0, "verified              yes\n");
}

static void every_flipped_bit_in_weights_is_found_by_verify(void **state)
{
    (void)state;
    fresh_copy("gpt");
    assert_prints("$HEED info d --verify --json | grep -o '\"verified\": \"yes\"'", 0,
                  "\"verified\": \"yes\"\n");
    size_t size;
    char *whole = get_file(at("d/model.safetensors"), &size);
    for (size_t k = 0; k < 60; k++) {
        char out[SHELL_ROOM];
        size_t place = k < 20 ? 8 + k * 20 : k * (size - 1) / 59;
        whole[place] ^= 1;
        put_bytes(at("d/model.safetensors"), whole, size);
        whole[place] ^= 1;
        int status = shell(out, "$HEED info d --verify");
        if (status != 1 || !strstr(out, "d/model.safetensors"))
            fail_msg("byte %zu: %d: %s", place, status, out);
    }
    free(whole);
    must_run("sed -i 's/\"crc32c\":\"[0-9a-f]*\"/\"crc32x\":\"00000000\"/' d/model.safetensors");
    assert_prints("$HEED info d --verify | grep verified", 0,
                  "verified              no: the weights were written without a checksum\n");
}

/* A checkpoint is checked before a run goes on with it, each of its files. */
static void a_run_does_not_go_on_with_a_damaged_checkpoint(void **state)
{
    (void)state;
    static const char *const files[] = {"weights.safetensors", "moments.safetensors", "average.safetensors"};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char parts[200];
        fresh_copy("translator");
        flip(at("d/train/step-2/%s", files[i]), 0.7);
        snprintf(parts, sizeof parts, "train/step-2/%s: is damaged: its checksum is", files[i]);
        assert_fails("$HEED train -q --resume --steps 4 --out d", 1, parts);
    }
    fresh_copy("translator");
    must_run("$HEED train -q --resume --steps 4 --out d && $HEED info d --verify");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_that_are_no_numbers_are_refused_by_every_verb),
        cmocka_unit_test(answers_that_are_no_numbers_are_refused_by_every_verb),
        cmocka_unit_test(integers_are_refused_as_weights),
        cmocka_unit_test(a_tokenizer_of_another_size_is_named_by_every_verb),
        cmocka_unit_test(links_that_lead_nowhere_are_named),
        cmocka_unit_test(a_flipped_bit_in_a_small_file_is_seen_by_every_verb),
        cmocka_unit_test(an_edited_file_says_what_to_do_and_that_helps),
        cmocka_unit_test(every_flipped_bit_in_weights_is_found_by_verify),
        cmocka_unit_test(a_run_does_not_go_on_with_a_damaged_checkpoint),
    };
    return cmocka_run_group_tests(tests, kinds_make, scratch_remove);
}
