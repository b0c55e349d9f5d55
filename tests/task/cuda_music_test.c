/* Models of music on the device against the cpu: computed positions, relative attention, pieces longer than a
   window. */
#include "device.h"

#include "task/language/language.h"
#include "task/pieces.h"

static double judged(hd_backend *b, size_t context, hd_gpt_position position, int relative)
{
    hd_err err = {0};
    hd_run r = run_on(b);
    hd_model_folder *l = musician(b, context, position, relative);
    hd_stream_text text = stream_of_pieces();
    hd_fluency f;
    if (hd_language_judge(&f, &r, l, &text, &err)) fail_msg("%s", err.text);
    hd_stream_text_release(&text);
    folder_free(l);
    hd_run_release(&r);
    return f.nats / (double)f.tokens;
}

/* Rounded to bf16, a mean of 248 tokens of about 5 nats stays within 1 %. */
static void nats_are_those_of_the_cpu(void **state)
{
    (void)state;
    hd_backend *cpu = backend_of("cpu", 1);
    for (const hd_precision *p = device_precisions(); *p; p++) {
        hd_backend *b = device_new(*p);
        for (hd_gpt_position k = 0; k < HD_GPT_POSITIONS; k++)
            for (int relative = 0; relative <= 48; relative += 48) {
                double expected = judged(cpu, 144, k, relative), got = judged(b, 144, k, relative);
                if (fabs(got - expected) > (*p == HD_PRECISION_F32 ? 1e-4 : 0.05))
                    fail_msg("%s, %d distances: %.9g, not %.9g", hd_gpt_position_names[k], relative, got,
                             expected);
            }
        hd_backend_free(b);
    }
    hd_backend_free(cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nats_are_those_of_the_cpu),
    };
    return device_missing() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
