/* Generation on the device against the cpu: penalties are of logits, which steps then give, captured and
   replayed as well. */
#include "device.h"

#include "task/language/generate.h"
#include "task/speaker.h"

static void write_on(hd_backend *b, hd_model_folder *l, float penalty, char text[256], double *logp)
{
    hd_err err = {0};
    hd_generated g[2] = {0};
    hd_run r = run_on(b);
    const hd_line prompts[] = {{"the", 3}, {"a", 1}};
    hd_generate_opt o = {.tokens = 20, .repetition = penalty};
    if (hd_generate(g, &r, l, prompts, 2, &o, &err)) fail_msg("%s", err.text);
    snprintf(text, 256, "%s|%s", g[0].text.data, g[1].text.data);
    *logp = g[0].logp + g[1].logp;
    for (int i = 0; i < 2; i++) hd_generated_release(&g[i]);
    hd_run_release(&r);
}

/* With and without a penalty in turn, so that neither meets a step that the other has captured. */
static void penalties_are_those_of_the_cpu(void **state)
{
    (void)state;
    static const float penalty[] = {0, 1.3f, 0, 1.3f};
    for (int kind = 0; kind < HD_LM_KINDS; kind++) {
        hd_backend *cpu = backend_of("cpu", 1), *b = device_new(HD_PRECISION_F32);
        hd_model_folder *there = speaker(cpu, (hd_lm_kind)kind, HD_TOKENIZER_characters),
                        *here = speaker(b, (hd_lm_kind)kind, HD_TOKENIZER_characters);
        for (size_t i = 0; i < COUNT_OF(penalty); i++) {
            char expected[256], text[256];
            double sum, logp;
            write_on(cpu, there, penalty[i], expected, &sum);
            write_on(b, here, penalty[i], text, &logp);
            if (strcmp(text, expected))
                fail_msg("%s, penalty %g: '%s', not '%s'", hd_lm_names[kind], (double)penalty[i], text,
                         expected);
            assert_true(fabs(logp - sum) < 1e-3);
        }
        folder_free(there);
        folder_free(here);
        hd_backend_free(cpu);
        hd_backend_free(b);
    }
}

/* The logits -1, -1.5 and -1.75 of a, d and c, -9 of all others: bf16 holds them as they are. After "a" the
   penalty makes them -2, -1.5, -1.75, then -2, -3, -1.75, then -2, -3, -3.5. */
static void every_precision_knows_the_sign(void **state)
{
    (void)state;
    for (const hd_precision *p = device_precisions(); *p; p++) {
        hd_backend *b = device_new(*p);
        hd_model_folder *l = speaker(b, HD_LM_maxent, HD_TOKENIZER_characters);
        size_t v = hd_tokenizer_size(l->tokenizer[0]);
        hd_real *bias = malloc(v * sizeof *bias);
        for (size_t i = 0; i < v; i++) bias[i] = -9;
        bias[hd_tokenizer_id(l->tokenizer[0], "a")] = -1, bias[hd_tokenizer_id(l->tokenizer[0], "d")] = -1.5f;
        bias[hd_tokenizer_id(l->tokenizer[0], "c")] = -1.75f;
        assert_int_equal(hd_params_set(hd_model_folder_lm(l)->params,
                                       hd_params_find(hd_model_folder_lm(l)->params, "features.bias"), bias),
                         HD_OK);
        free(bias);
        char text[256];
        double logp;
        write_on(b, l, 2, text, &logp);
        assert_non_null(strchr(text, '|'));
        assert_memory_equal(strchr(text, '|') + 1, "dcaaa", 5);
        folder_free(l);
        hd_backend_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(penalties_are_those_of_the_cpu),
        cmocka_unit_test(every_precision_knows_the_sign),
    };
    return device_missing() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
