/* --documents as a user meets it: the loss of documents together is that of each alone, what separates them,
   runs that are resumed, and what does not go with it. */
#include <math.h>

#include "check.h"
#include "cli/shell.h"

#define ONCE \
    "$HEED train -q --task lm --device cpu --dropout 0 --batch-size 40 --steps 1 --report-every 1 --from "
#define LOSS                                                                                                 \
    "grep '\"train\"' o/train/log.jsonl | sed 's/.*\"loss\":\\([0-9.e-]*\\).*\"tokens\":\\([0-9]*\\).*/\\1 " \
    "\\2/'"

static const char *const lines[] = {"the cat sat", "a dog ran on and on", "on", "the dog sat on the cat"};

static int make_models(void **state)
{
    char text[512] = "";
    if (scratch_make(state)) return -1;
    shell_prepare();
    for (size_t i = 0; i < COUNT_OF(lines); i++) strcat(strcat(text, lines[i]), "\n");
    put_file(at("t"), text);
    put_file(at("b"), "the cat sat\na dog ran on and on\n\n\non\n\nthe dog sat on the cat\n");
    put_file(at("m"),
             "the cat sat\n\na dog ran on and on\n<|endoftext|>\nthe dog sat on the cat\n<|endoftext|>\n");
    must_run("for m in gpt llama moe deepseek; do $HEED train -q --task lm --model $m --train t --unit char "
             "--layers 2 --width "
             "16 --heads 2 --context 32 --device cpu --steps 20 --out $m || exit 1; done");
    return 0;
}

static double loss_of(const char *model, const char *options, double *tokens)
{
    char line[1024], *end;
    snprintf(line, sizeof line, "rm -rf o; " ONCE "%s %s --out o && " LOSS, model, options);
    const char *out = must_run(line);
    double loss = strtod(out, &end);
    *tokens = strtod(end, NULL);
    return loss;
}

/* In floats, whose sums go in another order. */
static void the_loss_is_that_of_each_document_alone(void **state)
{
    (void)state;
    static const char *const models[] = {"gpt", "llama", "moe", "deepseek"};
    for (size_t m = 0; m < COUNT_OF(models); m++) {
        double all, sum = 0, count = 0, together = loss_of(models[m], "--train t --documents line", &all);
        for (size_t i = 0; i < COUNT_OF(lines); i++) {
            char text[64];
            double n;
            snprintf(text, sizeof text, "%s\n", lines[i]);
            put_file(at("one"), text);
            double loss = loss_of(models[m], "--train one --documents line", &n);
            sum += n * loss, count += n;
        }
        assert_true(all >= count && all <= count);
        if (!(fabs(together - sum / count) < 2e-6))
            fail_msg("%s: %g, alone %g", models[m], together, sum / count);
        double parts = loss_of(models[m], "--train t --documents line --micro-batches 3", &all);
        assert_true(fabs(together - parts) < 2e-6);
    }
}

/* Characters with an end behind each line, and a second one behind documents of lines. */
static void documents_end_as_it_is_said(void **state)
{
    (void)state;
    double n;
    loss_of("llama", "--train t --documents line", &n);
    assert_int_equal((int)n, 11 + 19 + 2 + 22 + 4);
    loss_of("llama", "--train b --documents line", &n);
    assert_int_equal((int)n, 11 + 19 + 2 + 22 + 4);
    loss_of("llama", "--train b --documents blank", &n);
    assert_int_equal((int)n, 11 + 19 + 2 + 22 + 4 + 3);
    loss_of("llama", "--train m --documents mark", &n);
    assert_int_equal((int)n, 11 + 19 + 22 + 4 + 2);
    assert_non_null(strstr(
        must_run(
            "$HEED train --task lm --from llama --train b --documents blank --steps 1 --out p 2>&1; rm -r p"),
        "documents: 3"));
}

static void a_run_that_was_interrupted_gives_the_same_bytes(void **state)
{
    (void)state;
#define RUN                                                                                              \
    "$HEED train -q --task lm --device cpu --from gpt --train t --documents line --valid-fraction 0.25 " \
    "--batch-size 1 --dropout 0.1 --warmup 2 --schedule constant --save-every 3 "
    must_run("rm -rf w r; " RUN "--steps 13 --threads 1 --out w && " RUN
             "--steps 13 --threads 3 --minutes 1e-9 --out r");
    must_run("$HEED train -q --resume --steps 7 --out r && $HEED train -q --resume --steps 13 --out r");
    must_run("cmp w/model.safetensors r/model.safetensors && diff -r w/train/step-13 r/train/step-13");
}

static void what_does_not_go_with_it_is_said(void **state)
{
    (void)state;
    put_file(at("d.jsonl"), "{}\n");
    put_file(at("e"), "\n\n");
    assert_fails(ONCE "gpt --train d.jsonl --documents line --out x", 2, "--documents is for texts");
    assert_fails(ONCE "gpt --train t --documents line --line-windows --out x", 2, "exclude each other");
    assert_fails(ONCE "gpt --train t --documents line --shards y --out x", 2, "--documents is for texts");
    assert_fails(ONCE "gpt --train e --documents line --out x", 1, "e: there is no document in it");
    assert_fails("$HEED train -q --task lm --model lstm --train t --documents line --steps 1 --out x", 2,
                 "--documents needs transformer layers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_is_that_of_each_document_alone),
        cmocka_unit_test(documents_end_as_it_is_said),
        cmocka_unit_test(a_run_that_was_interrupted_gives_the_same_bytes),
        cmocka_unit_test(what_does_not_go_with_it_is_said),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
