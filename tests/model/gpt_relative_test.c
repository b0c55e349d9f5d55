/* A gpt with relative attention: what it predicts a token at a time is what it predicts of the whole text,
   far beyond its context; a shift of the text changes nothing it can see. */
#include "model/lm/gpt.h"
#include "model/lm_toy.h"

enum { LONG = 3 * LM_TEXT, CONTEXT = 16 };

static hd_lm_opt relative_opt(int span, int block)
{
    hd_lm_opt o = lm_opt(HD_LM_gpt);
    o.stack.relative_span = span, o.stack.local_block = block, o.no_positions = true, o.context = CONTEXT;
    return o;
}

/* Log-probabilities [n, vocab] of what follows each of the first tokens, in new memory. */
static hd_real *whole(lm_toy *t, const int32_t *ids, int32_t n)
{
    hd_run *r = &t->run;
    hd_run_begin(r, HD_INFERENCE);
    const hd_seg *seg = hd_seg_of(r, &n, 1, NULL);
    hd_rows x = hd_gpt_forward(r, t->m->model, hd_ints(r, ids, (size_t)n), seg, NULL);
    return host_copy(r, hd_log_softmax(r, hd_gpt_logits(r, t->m->model, x)));
}

static void a_token_at_a_time_is_the_whole_text(void **state)
{
    (void)state;
    const struct {
        int span, block;
    } cases[] = {{LONG, 0}, {7, 0}, {1, 0}, {16, 8}, {0, 5}};
    int32_t ids[LONG], prompt = 5;
    lm_text(ids, LONG, 3);
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        lm_toy t;
        hd_err err = {0};
        hd_lm_opt o = relative_opt(cases[k].span, cases[k].block);
        lm_open(&t, &o, 2, false);
        hd_real *want = whole(&t, ids, LONG);
        hd_stepper s = {0};
        if (t.m->type->stepper(&s, t.m, ids, &prompt, 1, 0, &err)) fail_msg("%s", err.text);
        assert_null(s.room);
        for (int32_t at = prompt - 1; at < LONG; at++) {
            hd_run_begin(&t.run, HD_INFERENCE);
            hd_tensor *y =
                at < prompt ? s.join(&t.run, s.context, 1) : s.step(&t.run, s.context, &ids[at], 1);
            hd_real *got = host_copy(&t.run, y);
            for (size_t c = 0; c < LM_VOCAB; c++)
                assert_true(fabs((double)got[c] - (double)want[(size_t)at * LM_VOCAB + c]) < 1e-5);
            free(got);
        }
        hd_stepper_release(&s);
        free(want);
        lm_close(&t);
    }
}

/* Behind what two layers can reach back, it does not matter where a text stands. */
static void only_distances_count(void **state)
{
    (void)state;
    enum { BLOCK = 4, SHIFT = 4 * BLOCK };
    int32_t ids[LONG + SHIFT];
    lm_text(ids, LONG + SHIFT, 4);
    lm_toy t;
    hd_lm_opt o = relative_opt(2 * BLOCK, BLOCK);
    lm_open(&t, &o, 1, false);
    hd_real *a = whole(&t, ids, LONG + SHIFT), *b = whole(&t, ids + SHIFT, LONG);
    for (size_t i = 4 * BLOCK * LM_VOCAB; i < LONG * LM_VOCAB; i++)
        assert_true(fabs((double)a[i + SHIFT * LM_VOCAB] - (double)b[i]) < 1e-5);
    assert_true(fabs((double)a[SHIFT * LM_VOCAB] - (double)b[0]) > 1e-5); /* but before it does */
    free(a), free(b);
    lm_close(&t);
}

static void impossible_options_are_errors(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    const int cases[][2] = {{-1, 0}, {0, -1}, {(1 << 20) + 1, 0}};
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        hd_err err = {0};
        hd_lm *m = NULL;
        hd_lm_opt o = relative_opt(cases[k][0], cases[k][1]);
        assert_int_equal(hd_lm_new(&m, &o, b, false, &err), HD_EARG);
        assert_non_null(strstr(err.text, "relative attention"));
    }
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_at_a_time_is_the_whole_text),
        cmocka_unit_test(only_distances_count),
        cmocka_unit_test(impossible_options_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
