/* The gradient of every language model against differences, in double: some numbers of every tensor a file
   holds. Dropout is on: its masks are fixed by the step, so the loss is as smooth as without. */
#include "model/llama_toy.h"

/* The five-point rule: the rounding of a loss around 100 (1.4e-14) over 12 H, times 18, is 1e-10; the fifth
   derivative adds H^4/30 of itself. Gradients much smaller than the model's largest are measured against
   FLOOR of it. */
#define H         2.5e-4
#define FLOOR     1e-3
#define TOLERANCE 1e-7

enum { SAMPLES = 24, SEEN = 3 };

static const lm_windows windows = {.items = 3, .from = {0, 20, 9}, .len = {7, 9, 1}};

static double loss_at(lm_toy *t, const int32_t *text, bool back)
{
    t->run.now.number = SEEN;
    hd_run_begin(&t->run, HD_TRAIN);
    t->run.taping = back;
    double loss = hd_loss_total(&t->run, lm_loss(t, text, LM_TEXT, &windows, NULL));
    if (back) hd_backward(&t->run);
    assert_run_ok(&t->run);
    return loss;
}

static double slope(lm_toy *t, const int32_t *text, hd_real *x)
{
    hd_real kept = *x;
    double at[4];
    for (int k = 0; k < 4; k++) {
        *x = kept + (hd_real)((k < 2 ? k - 2 : k - 1) * H);
        at[k] = loss_at(t, text, false);
    }
    *x = kept;
    return (at[0] - at[3] + 8 * (at[2] - at[1])) / (12 * H);
}

/* The numbers with a gradient come first: most of a table of contexts has none. */
static size_t place(size_t k, const hd_real *grad, size_t n, hd_rng *rng)
{
    size_t at = hd_rng_below(rng, (uint32_t)n);
    for (size_t i = 0; k % 4 && i < n && grad[at] == 0; i++) at = (at + 1) % n;
    return at;
}

/* RMS norms of vectors as short as drawn weights make them bend too much within H. */
static void widen(hd_params *p)
{
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (!one->name || one->alias || one->t.rank != 2) continue;
        size_t n = hd_count_of(&one->t);
        hd_real *x = malloc(n * sizeof *x);
        fill_normal(x, n, i ? 0.4 : 1, 50 + i);
        hd_params_set(p, one, x);
        free(x);
    }
}

static void check_model(const char *name, const hd_lm_opt *o)
{
    hd_rng rng = hd_rng_make(8, 8);
    int32_t text[LM_TEXT];
    double largest = 0, worst = 0;
    const char *where = "-";
    lm_toy t;
    lm_text(text, LM_TEXT, 3);
    lm_open(&t, o, 1, true);
    hd_params *p = t.m->params;
    if (o->lora.rank) { /* the weights that stay are drawn, too */
        p->files = HD_FILES_ALL;
        assert_int_equal(hd_params_draw(p, 1, NULL), HD_OK);
        stir(p);
    }
    if (o->kind >= HD_LM_llama || o->lora.rank) widen(p);
    loss_at(&t, text, true);
    for (size_t i = 0; i < p->trainable; i++) largest = fmax(largest, fabs((double)p->grad[i]));
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (!one->name || one->alias) continue;
        assert_int_equal(one->t.grad != NULL, !o->lora.rank || one->adapter);
        if (!one->t.grad) continue;
        const hd_real *grad = one->grad.data;
        size_t n = hd_count_of(&one->t);
        bool flows = false;
        for (size_t k = 0; k < n; k++) flows = flows || fabs((double)grad[k]) > 1e-6 * largest;
        if (!flows) fail_msg("%s: nothing flows to %s", name, one->name);
        for (size_t k = 0; k < SAMPLES; k++) {
            size_t at = place(k, grad, n, &rng);
            double a = (double)grad[at], numeric = slope(&t, text, (hd_real *)one->t.data + at);
            double error = fabs(a - numeric) / (fabs(a) + fabs(numeric) + FLOOR * largest);
            if (!(error <= worst)) worst = error, where = one->name;
        }
    }
    print_message("%-20s worst %.1e (%s)\n", name, worst, where);
    if (!(worst < TOLERANCE)) fail_msg("%s: %g at %s", name, worst, where);
    lm_close(&t);
}

static void every_model_goes_back_as_it_went_forward(void **state)
{
    (void)state;
    for (hd_lm_kind kind = HD_LM_maxent; kind < HD_LM_KINDS; kind++)
        for (int tied = 0; tied < 2; tied++) {
            char name[32];
            hd_lm_opt o = lm_opt(kind);
            o.stack.width = 6, o.tied = tied, o.stack.dropout = 0.1f, o.stack.pre_norm = !tied;
            if (kind == HD_LM_rnn && tied) o.stack.act = HD_sigmoid;
            if (kind >= HD_LM_llama) o.stack.head_width = 4;
            if (kind == HD_LM_ffnn) o.order = tied ? 2 : 4, o.stack.inner = tied ? 0 : 10;
            snprintf(name, sizeof name, "%s%s", hd_lm_names[kind], tied ? ", tied" : "");
            check_model(name, &o);
        }
}

/* All options of modern blocks. */
static void every_family_goes_back_as_it_went_forward(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(llama_cases); k++) {
        hd_lm_opt o = llama_opt(&llama_cases[k]);
        o.stack.layers = 2, o.stack.width = 8, o.stack.inner = 6,
        o.stack.head_width = o.stack.latent.rank ? 0 : 4;
        o.stack.query_scale = 0, o.stack.dropout = o.stack.attention_dropout = 0.1f;
        if (o.stack.window) o.stack.window = 3;
        o.stack.window_from = 0;
        check_model(llama_cases[k].name, &o);
    }
    hd_lm_opt o = llama_opt(&llama_cases[0]);
    o.stack.layers = 1, o.stack.width = 8, o.stack.inner = 6, o.stack.qk_norm = HD_QK_NORM_WHOLE;
    o.stack.rotary.kind = HD_ROTARY_INTERLEAVED, o.stack.head_width = 6, o.stack.rotary.columns = 4;
    check_model("whole norms, pairs", &o);
    o.stack.recompute = true;
    check_model("recomputed", &o);
}

/* What LoRA adds, with its own dropout; nothing else has a gradient. */
static void adapters_go_back_as_they_went_forward(void **state)
{
    (void)state;
    const hd_lora_opt lora = {.rank = 2, .alpha = 3, .dropout = 0.2f, .targets = "all"};
    for (hd_lm_kind kind = HD_LM_gpt; kind < HD_LM_KINDS; kind++) {
        hd_lm_opt o = lm_opt(kind);
        o.stack.width = 6, o.stack.dropout = 0.1f, o.lora = lora;
        if (kind >= HD_LM_llama) o.stack.head_width = 4;
        check_model(hd_lm_names[kind], &o);
    }
    for (size_t k = 0; k < COUNT_OF(llama_cases); k++) {
        hd_lm_opt o = llama_opt(&llama_cases[k]);
        o.stack.layers = 1, o.stack.width = 8, o.stack.inner = 6, o.lora = lora;
        o.stack.head_width = o.stack.latent.rank ? 0 : 4, o.stack.query_scale = 0, o.stack.recompute = k % 2;
        check_model(llama_cases[k].name, &o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_model_goes_back_as_it_went_forward),
                                       cmocka_unit_test(every_family_goes_back_as_it_went_forward),
                                       cmocka_unit_test(adapters_go_back_as_they_went_forward)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
