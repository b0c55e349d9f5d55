/* Gradients of what a translator says: where they are, and that those of heads are those of differences. */
#include "show/backward/gradients.h"
#include "task/small.h"

static const hd_line sentence = {"a b c", 5};

static double loss_of(const hd_gradients *g)
{
    double sum = 0;
    for (size_t i = 0; i < g->reads; i++) sum += g->loss[i];
    return sum;
}

static void layers_and_positions_have_gradients(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    static const char *const stages[][2] = {{"transformer:1", "transformer:1"}, {"bi-gru:1", "gru:1"}};
    for (size_t k = 0; k < COUNT_OF(stages); k++) {
        hd_model_folder *f = small_staged(b, HD_TOKENIZER_words, false, false, stages[k][0], stages[k][1],
                                          &(hd_recurrent_decoder_opt){0});
        hd_gradients g;
        if (hd_gradients_of(&g, &r, f, sentence, &err)) fail_msg("%s", err.text);
        assert_int_equal(g.sources, 4);
        assert_string_equal(g.source[1].piece, "b");
        assert_true(g.reads && g.layers >= 2 && loss_of(&g) > 0);
        bool source = false, read = false;
        for (size_t i = 0; i < g.layers; i++) {
            const hd_gradient_layer *l = &g.layer[i];
            double sum = 0;
            for (size_t j = 0; j < (l->source ? g.sources : g.reads); j++) sum += l->norm[j];
            print_message("%s: %g\n", l->name, sum);
            assert_true(isfinite(sum) && sum > 0);
            source = source || l->source, read = read || !l->source;
        }
        assert_true(source && read);
        hd_gradients_release(&g);
        folder_free(f);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

/* d loss / d factor is the slope between factors a little below and above 1. */
static void heads_are_as_steep_as_differences(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_model_folder *f = small_make(b, HD_TOKENIZER_words, false, false);
    hd_gradients g, moved[2];
    const hd_real step = (hd_real)1e-3;
    if (hd_gradients_of(&g, &r, f, sentence, &err)) fail_msg("%s", err.text);
    assert_true(g.heads.layers == 3);
    for (size_t i = 0; i < g.heads.layers; i++) {
        for (int k = 0; k < 2; k++) {
            hd_heads h;
            char list[HD_HEAD_NAME + 16], name[HD_HEAD_NAME];
            if (hd_heads_init(&h, &f->model, &err)) fail_msg("%s", err.text);
            snprintf(list, sizeof list, "%s=%g", hd_head_name(&h.layer[i], 1, name),
                     1 + (k ? (double)step : -(double)step));
            if (hd_heads_set(&h, list, &err) || hd_gradients_with(&moved[k], &r, f, &h, sentence, &err))
                fail_msg("%s", err.text);
        }
        double slope = (loss_of(&moved[1]) - loss_of(&moved[0])) / (2 * (double)step);
        print_message("%s: %g by differences, %g\n", g.heads.layer[i].name, slope, g.heads.layer[i].slope[1]);
        /* losses in f32 differ in the seventh digit, which the step makes 500 times as large; corners of relu
           between the two factors do as much */
        assert_true(fabs(slope - g.heads.layer[i].slope[1]) < 2e-3);
        hd_gradients_release(&moved[0]), hd_gradients_release(&moved[1]);
    }
    hd_gradients_release(&g);
    folder_free(f);
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_and_positions_have_gradients),
        cmocka_unit_test(heads_are_as_steep_as_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
