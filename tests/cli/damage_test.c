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
    {"gpt", "$HEED compare d --text text --device cpu", "ln_f.weight"},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_that_are_no_numbers_are_refused_by_every_verb),
        cmocka_unit_test(answers_that_are_no_numbers_are_refused_by_every_verb),
        cmocka_unit_test(integers_are_refused_as_weights),
    };
    return cmocka_run_group_tests(tests, kinds_make, scratch_remove);
}
