/* heed quantise: what it writes answers as the model does with --precision int8, to the last digit, on every
   instruction set, and is smaller; broken files and trainings are refused. */
#include "check.h"
#include "cli/kinds.h"
#include "spoil.h"

/* A question for every kind of model; $M is it. */
static const struct {
    const char *model, *command;
} questions[] = {
    {"classifier", "echo 'the cat' | $HEED classify $M --json"},
    {"tagger", "echo 'the cat' | $HEED tag $M --json"},
    {"bert", "echo 'the [MASK] sat' | $HEED fill $M --json"},
    {"bert", "echo 'the cat' | $HEED embed $M"},
    {"gpt", "$HEED generate $M --prompt the --tokens 9 --json"},
    {"gpt", "echo 'the cat' | $HEED rank $M"},
    {"gpt", "$HEED perplexity $M text --json | sed 's/\"seconds.*//'"},
    {"llama", "$HEED generate $M --prompt the --tokens 9 --json"},
    {"deepseek", "$HEED generate $M --prompt the --tokens 9 --json"},
    {"moe", "$HEED generate $M --prompt the --tokens 9 --json"},
    {"lstm", "$HEED generate $M --prompt the --tokens 9 --json"},
    {"vit", "$HEED classify $M p.png --json"},
    {"detr", "$HEED detect $M p.png --threshold 0 --json"},
    {"translator", "echo 'the cat' | $HEED translate $M --beam 3 --json"},
    {"luong", "echo 'the cat' | $HEED translate $M --json"},
};

#define LM KINDS_TRAIN "--task lm --train text --unit char --layers 2 --heads 2 --context 64 "

static int more_kinds(void **state)
{
    char out[SHELL_ROOM];
    if (kinds_make(state)) return -1;
    int status = shell(
        out,
        "set -e; " LM "--model llama --qk-norm head --kv-heads 1 --out llama; " LM
        "--model deepseek --out deepseek; " LM
        "--model moe --experts 4 --shared-experts 1 --out moe; " KINDS_TRAIN
        "--task lm --model lstm --train text --unit char --out lstm; "
        "$HEED train -q --device cpu --preset luong --width 16 --tokenizer words --train text other "
        "--steps 2 --out luong; $HEED train -q --device cpu --task lm --model ngram --train text --out "
        "ngram; $HEED shapes -q --out p --images 40 --size 16; cp $(find p/test -name '*.png' | head -n 1) "
        "p.png; "
        "$HEED train -q --device cpu --task classify --model vit --train-dir p/train --image-size 16 "
        "--patch-size 8 --conv-stem 0 --layers 2 --heads 2 --width 16 --ffn-size 32 --batch-size 4 --steps "
        "2 --out vit; $HEED train -q --device cpu --task detect --train p/boxes.csv --images p --width 32 "
        "--heads 2 --encoder-layers 1 --decoder-layers 1 --steps 2 --batch-size 4 --out detr");
    if (status) fprintf(stderr, "%s", out);
    return status;
}

/* Makes d a copy of a model whose token vectors are numbers of bf16, which is what they become, and q d in
   int8. */
static void quantise(const char *model)
{
    char line[256];
    hd_err err = {0};
    hd_safetensors *q = NULL, *d = NULL;
    snprintf(line, sizeof line, "rm -rf d q; cp -r %s d; $HEED quantise -q d q", model);
    must_run(line);
    if (hd_safetensors_open(&q, at("q/model.safetensors"), &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < hd_safetensors_count(q); i++) {
        const hd_entry *e = hd_safetensors_at(q, i), *of;
        if (e->dtype != HD_BF16) continue;
        long to = spoil_at(&d, &of, at("d/model.safetensors"), e->name);
        FILE *f = fopen(at("d/model.safetensors"), "r+b");
        assert_non_null(f);
        assert_int_equal(fseek(f, to, SEEK_SET), 0);
        for (size_t j = 0; j < of->count; j++) {
            float x;
            hd_convert(&x, HD_F32, e->data + 2 * j, HD_BF16, 1);
            assert_int_equal(fwrite(&x, sizeof x, 1, f), 1);
        }
        assert_int_equal(fclose(f), 0);
        hd_safetensors_free(d);
    }
    hd_safetensors_free(q);
    must_run("rm -r q; $HEED quantise -q d q");
}

static void all_answer_as_with_precision_int8(void **state)
{
    (void)state;
    char line[1024], expected[SHELL_ROOM];
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        const char *ask = questions[i].command;
        quantise(questions[i].model);
        snprintf(line, sizeof line, "M='d --precision int8 --device cpu'; %s", ask);
        strcpy(expected, must_run(line));
        snprintf(line, sizeof line, "M='q --device cpu'; %s", ask);
        assert_prints(line, 0, expected);
        snprintf(line, sizeof line, "M='q --device cpu --threads 3'; export HEED_CPU=plain; %s", ask);
        assert_prints(line, 0, expected);
        snprintf(line, sizeof line, "M='q --device cpu --precision f32'; %s", ask);
        must_run(line);
        snprintf(line, sizeof line, "M='q --device cpu --precision bf16'; %s", ask);
        must_run(line);
    }
}

static void files_are_smaller(void **state)
{
    (void)state;
    must_run("rm -rf q; $HEED quantise -q tagger q; "
             "test $(( $(stat -c %s q/model.safetensors) * 2 )) -lt $(( $(stat -c %s "
             "tagger/model.safetensors) ))");
    must_run("$HEED info q");
}

static void an_export_has_f32(void **state)
{
    (void)state;
    quantise("gpt");
    must_run("rm -rf e i; $HEED export -q q e && $HEED import -q e i");
    const char *of_q = must_run("$HEED perplexity q text --precision f32 --json | sed 's/\"seconds.*//'");
    char expected[SHELL_ROOM];
    strcpy(expected, of_q);
    assert_prints("$HEED perplexity i text --precision f32 --json | sed 's/\"seconds.*//'", 0, expected);
    assert_fails("$HEED export gpt x --precision int8", 2, "--precision int8|`heed quantise MODEL MODEL2`");
    must_run("test ! -e x");
}

static void what_cannot_be_done_is_refused(void **state)
{
    (void)state;
    quantise("gpt");
    assert_fails("$HEED quantise q x", 1, "q: its weights are int8 already");
    assert_fails("$HEED quantise ngram x", 1, "ngram: |no weights that could be int8");
    assert_fails("$HEED quantise gpt q", 1, "q");
    assert_fails("$HEED quantise gpt", 2, "MODEL2");
    assert_fails("$HEED train -q --device cpu --task lm --from q --train text --steps 1 --out x", 1,
                 "q/model.safetensors: weights of int8 are for inference only: train the model that was");
    assert_fails("$HEED train -q --resume --out q", 1, "q: there is no checkpoint");
    must_run("test ! -e x");
}

#define ASK "$HEED perplexity b text --device cpu"

static void broken_files_are_refused(void **state)
{
    (void)state;
    const char *path = at("b/model.safetensors"), *w = "h.0.mlp.c_fc.weight",
               *scale = "h.0.mlp.c_fc.weight_scale";
    quantise("gpt");
    for (int half = 0; half < 2; half++) {
        must_run("rm -rf b; cp -r q b");
        spoil(path, scale, 3, 1, half ? (double)NAN : -1.0);
        assert_fails(ASK, 1, "b/model.safetensors: tensor 'h.0.mlp.c_fc.weight_scale': scale 3 is");
    }
    must_run("rm -rf b; cp -r q b");
    spoil(path, w, 5, 1, -128);
    assert_fails(ASK, 1, "b/model.safetensors: tensor 'h.0.mlp.c_fc.weight' holds -128");
    assert_fails("$HEED perplexity b text --device cpu --precision f32", 1, "holds -128");
    must_run("rm -rf b; cp -r q b; LC_ALL=C sed -i 's/h.0.mlp.c_fc.weight_scale/h.0.mlp.c_fc.weight_scald/' "
             "b/model.safetensors");
    assert_fails(ASK, 1, "tensor 'h.0.mlp.c_fc.weight' is int8, but there is no 'h.0.mlp.c_fc.weight_scale'");
    must_run("rm -rf b; cp -r q b");
    spoil(path, "h.0.mlp.c_fc.weight_column_scale", 2, 1, 0);
    assert_fails(ASK, 1, "b/model.safetensors: tensor 'h.0.mlp.c_fc.weight_column_scale': scale 2 is 0");
    must_run(
        "rm -rf b; cp -r q b; LC_ALL=C sed -i 's/\"I8\",\"shape\":\\[64,16\\]/\"I8\",\"shape\":[16,64]/' "
        "b/model.safetensors; ! cmp -s b/model.safetensors q/model.safetensors");
    assert_fails(ASK, 1, "of int8 is not [64,16]");
    must_run("rm -rf b; cp -r q b; head -c 9000 q/model.safetensors > b/model.safetensors");
    assert_fails(ASK, 1, "b/model.safetensors");
}

/* Files that were written before columns had scales: numbers are those of the bytes and the rows. */
static void columns_may_have_no_scales(void **state)
{
    (void)state;
    const char *path = at("b/model.safetensors");
    quantise("bert");
    must_run("rm -rf b; cp -r q b; LC_ALL=C sed -i s/_column_scale/_column_scald/g b/model.safetensors; "
             "echo 'the cat' | $HEED embed b --device cpu > old; echo 'the cat' | $HEED embed q --device cpu "
             "> new; ! cmp -s old new");
    must_run("rm -rf b; cp -r q b");
    spoil(path, "bert.encoder.layer.0.attention.self.key.weight_column_scale", 0, 1, 0.75);
    assert_fails("echo 'the cat' | $HEED embed b --device cpu", 1,
                 "b/model.safetensors: tensors that are read as one product are not of one type, or scales");
}

/* Narrow models that answer with vectors have second lines, and others have not. */
static void vectors_have_weights_of_two_lines(void **state)
{
    (void)state;
    const char *path = at("b/model.safetensors"),
               *rest = "bert.encoder.layer.0.attention.self.key.weight_rest";
    quantise("bert");
    must_run(
        "rm -rf b; cp -r q b; LC_ALL=C sed -i 's/_rest\"/_resd\"/g' b/model.safetensors; "
        "echo 'the cat' | $HEED embed b --device cpu > one; echo 'the cat' | $HEED embed q --device cpu > "
        "two; ! cmp -s one two");
    must_run("rm -rf b; cp -r q b");
    spoil(path, rest, 3, 1, -128);
    assert_fails("echo 'the cat' | $HEED embed b --device cpu", 1, "self.key.weight_rest' holds -128");
    must_run("rm -rf b; cp -r q b; LC_ALL=C sed -i s/0.attention.self.key.weight_rest/"
             "0.attention.self.key.weight_resd/ b/model.safetensors");
    assert_fails("echo 'the cat' | $HEED embed b --device cpu", 1, "or not all have second lines");
    quantise("gpt");
    must_run("! grep -q _rest q/model.safetensors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_answer_as_with_precision_int8),
        cmocka_unit_test(files_are_smaller),
        cmocka_unit_test(an_export_has_f32),
        cmocka_unit_test(what_cannot_be_done_is_refused),
        cmocka_unit_test(broken_files_are_refused),
        cmocka_unit_test(columns_may_have_no_scales),
        cmocka_unit_test(vectors_have_weights_of_two_lines),
    };
    return cmocka_run_group_tests(tests, more_kinds, scratch_remove);
}
