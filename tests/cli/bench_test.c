/* heed bench as a user meets it: the rows that were asked for, and one message for what cannot be. */
#include "check.h"
#include "cli/shell.h"

static void a_row_is_measured(void **state)
{
    (void)state;
    const char *out = must_run("$HEED bench --device cpu --only 'tiny train' --rounds 1");
    double product, tokens, ms, tflops, share;
    char threads[64];
    int end = 0;
    if (sscanf(out,
               "cpu, %63[^\n]\nlargest product: %lf TFLOP/s\nrow tokens/s ms TFLOP/s share GiB\ntiny train "
               "%lf %lf "
               "%lf %lf%% -\n%n",
               threads, &product, &tokens, &ms, &tflops, &share, &end) != 6 ||
        !end || out[end])
        fail_msg("%s", out);
    assert_true(product > 0 && share > 0);
    if (!(fabs(tokens * ms - 2000 * 1e3) < 0.01 * 2000 * 1e3)) fail_msg("%s", out); /* 100 sentences of 20 */
}

/* Rows of cells and of attention at two lengths: their wall times are told, and how they grow is for whoever
   reads them on an idle machine (docs/benchmarks.md). */
static void sentences_are_read_by_cells_and_by_attention(void **state)
{
    (void)state;
    static const char *const rows[] = {"lstm 32", "lstm 512", "attention 32", "attention 512"};
    const char *out = must_run("$HEED bench --device cpu --only ' words' --rounds 1");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *at = strstr(out, rows[i]);
        double tokens = 0, ms = 0;
        if (!at || sscanf(at + strlen(rows[i]), " words %lf %lf", &tokens, &ms) != 2) fail_msg("%s", out);
        assert_true(tokens > 0 && fabs(tokens * ms - (i % 2 ? 512e3 : 32e3)) < 0.05 * (i % 2 ? 512e3 : 32e3));
    }
}

static void speech_is_measured_in_frames(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        double frames;
    } rows[] = {{"speech-ctc train", 3200}, {"sound features", 3000}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char command[128];
        double rate = 0, ms = 0;
        snprintf(command, sizeof command, "$HEED bench --device cpu --only '%s' --rounds 1", rows[i].row);
        const char *out = must_run(command), *at = strstr(out, rows[i].row);
        if (!at || sscanf(at + strlen(rows[i].row), "%lf %lf", &rate, &ms) != 2) fail_msg("%s", out);
        assert_true(fabs(rate * ms - 1e3 * rows[i].frames) < 0.01 * 1e3 * rows[i].frames);
    }
}

static void what_cannot_be_measured_is_said_once(void **state)
{
    (void)state;
    assert_fails("$HEED bench --device cpu --only nothing", 1, "heed bench: no row is called 'nothing'");
    assert_fails("$HEED bench --device abacus", 1, "heed bench: there is no device 'abacus' in this build");
    assert_fails("$HEED bench --device null", 1, "heed bench: device 'null' does not compute");
    assert_fails("$HEED bench --device cpu --precision int8", 1, "int8 is for inference only");
    assert_fails("$HEED bench --precision f8", 2, "--precision: 'f8' is not one of auto, f32, bf16");
    assert_fails("$HEED bench --rounds -1", 2, "--rounds: -1 is not between 0 and 200");
    assert_fails("$HEED bench tiny", 2, "unexpected argument 'tiny'");
    /* hidden from it, a card is not there either */
    assert_fails("CUDA_VISIBLE_DEVICES= $HEED bench --device cuda", 1,
                 HEED_CUDA ? "no CUDA device was found: " : "there is no device 'cuda' in this build");
}

int main(void)
{
    shell_prepare();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_measured),
        cmocka_unit_test(sentences_are_read_by_cells_and_by_attention),
        cmocka_unit_test(speech_is_measured_in_frames),
        cmocka_unit_test(what_cannot_be_measured_is_said_once),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
