/* The gradient of encoder-decoders of every kind against differences, in double: some numbers of every tensor
   a file holds, items of different lengths in one batch. Dropout is on: its masks are fixed by the step, so
   the loss is as smooth as without. */
#include "model/encdec_cases.h"

/* As in transformer_grad_test.c. */
#define H         5e-4
#define FLOOR     1e-3
#define TOLERANCE 1e-7

/* Two steps of differences this close to each other have met no corner and no jump between them. */
#define SMOOTH 1e-6

enum { SAMPLES = 3, TRIES = 20, SEEN = 3 };

/* The penalty of attention weights is a loss of its own, which a probe sees. */
static void take_penalty(void *context, hd_run *r, const hd_offer *offer)
{
    if (!strcmp(offer->name, "dec.0.penalty")) *(double *)context += hd_loss_total(r, offer->t);
}

static double loss_at(toy *m, const toy_batch *b)
{
    double penalty = 0, lambda = (double)(m->t->opt.recurrent.penalty + m->t->opt.recurrent.order);
    hd_probe probe = {.take = take_penalty, .context = &penalty};
    m->run.now.number = SEEN;
    hd_run_begin(&m->run, HD_TRAIN);
    m->run.taping = false;
    if (lambda > 0) m->run.probe = &probe;
    double loss = hd_loss_total(&m->run, toy_loss(m, b, 0.1f));
    m->run.probe = NULL;
    assert_run_ok(&m->run);
    assert_true(lambda == 0 || penalty > 0);
    return loss + lambda * penalty;
}

static double slope(toy *m, const toy_batch *b, hd_real *x, double h)
{
    hd_real kept = *x;
    double at[4];
    for (int k = 0; k < 4; k++) {
        *x = kept + (hd_real)((k < 2 ? k - 2 : k - 1) * h);
        at[k] = loss_at(m, b);
    }
    *x = kept;
    return (at[0] - at[3] + 8 * (at[2] - at[1])) / (12 * h);
}

static double apart(double a, double b, double largest)
{
    return fabs(a - b) / (fabs(a) + fabs(b) + FLOOR * largest);
}

/* A word that was drawn, the edge of a window or a relu may change within a step of differences: such a
   number says nothing of the gradient. Differences of two sizes tell it by themselves. */
static bool smooth(toy *m, const toy_batch *b, hd_real *x, double largest, double *numeric)
{
    double wide = slope(m, b, x, H);
    for (double h = H / 8; h > H / 100; h /= 8, wide = *numeric) {
        *numeric = slope(m, b, x, h);
        if (apart(wide, *numeric, largest) <= SMOOTH) return true;
    }
    return false;
}

static bool ends(const char *name, const char *tail)
{
    size_t n = strlen(name), k = strlen(tail);
    return n >= k && !strcmp(name + n - k, tail);
}

/* What has no say by its nature: softmax does not see what all keys have in common, and tokens that are not
   read teach nothing. */
static bool silent(const encdec_case *c, const char *name)
{
    bool learned = c->r.score == HD_SCORING_additive || c->r.score == HD_SCORING_mlp;
    if (ends(name, "k_proj.bias") || (!learned && ends(name, "key.bias"))) return true;
    return c->r.no_feedback &&
           (ends(name, "decoder.rnn.weight_ih_l0") || ends(name, "decoder.embed_tokens.weight"));
}

/* The numbers with a gradient come first. */
static size_t place(size_t k, const hd_real *grad, size_t n, hd_rng *rng)
{
    size_t at = hd_rng_below(rng, (uint32_t)n);
    for (size_t i = 0; k && i < n && grad[at] == 0; i++) at = (at + 1) % n;
    return at;
}

static double check_param(toy *m, const toy_batch *b, hd_param *p, double largest, hd_rng *rng)
{
    double worst = 0;
    const hd_real *grad = p->grad.data;
    size_t checked = 0;
    for (size_t k = 0; k < TRIES && checked < SAMPLES; k++) {
        double numeric;
        size_t at = place(checked, grad, hd_count_of(&p->t), rng);
        if (!smooth(m, b, (hd_real *)p->t.data + at, largest, &numeric)) continue;
        double error = apart((double)grad[at], numeric, largest);
        if (!(error <= worst)) worst = error;
        checked++;
    }
    return checked == SAMPLES ? worst : INFINITY;
}

static bool check_all(const encdec_case *c, toy *m, const toy_batch *b, const char *fed)
{
    hd_rng rng = hd_rng_make(8, 8);
    double largest = 0, worst = 0;
    const char *where = "-";
    bool good = true;
    toy_back(m, b, 0.1f, SEEN);
    for (size_t i = 0; i < m->params->trainable; i++)
        largest = fmax(largest, fabs((double)m->params->grad[i]));
    for (size_t i = 0; i < m->params->count; i++) {
        hd_param *p = m->params->list[i];
        if (!p->name || p->alias) continue;
        bool flows = false;
        for (size_t k = 0; k < hd_count_of(&p->t); k++)
            flows |= fabs((double)((hd_real *)p->grad.data)[k]) > 1e-6 * largest;
        bool as_expected = flows != silent(c, p->name);
        if (!as_expected)
            print_message("%s: %s to %s\n", c->name, flows ? "something flows" : "nothing flows", p->name);
        double error = check_param(m, b, p, largest, &rng);
        if (!(error <= worst)) worst = error, where = p->name;
        good &= as_expected;
    }
    print_message("%-32s %-10s worst %.1e (%s)\n", c->name, fed, worst, where);
    return good && worst < TOLERANCE;
}

static toy_batch short_batch(void)
{
    toy_batch b = {0};
    static const int32_t keys[] = {0, 3, 5};
    for (size_t i = 0; i < COUNT_OF(keys); i++) toy_add(&b, keys[i]);
    assert_true(b.target_len[0] != b.target_len[1] && b.target_len[1] != b.target_len[2]);
    return b;
}

static void every_model_goes_back_as_it_went_forward(void **state)
{
    (void)state;
    const toy_batch b = short_batch();
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT_OF(encdec_cases); i++) {
        toy m;
        hd_encdec_opt o = encdec_opt(&encdec_cases[i]);
        o.stack.dropout = o.stack.attention_dropout = o.stack.inner_dropout = 0.1f;
        o.source_dropout = i % 2 ? 0.2f : 0;
        encdec_open(&m, &o, 1);
        wrong += !check_all(&encdec_cases[i], &m, &b, "");
        toy_close(&m);
    }
    assert_int_equal(wrong, 0);
}

/* Noise and coins are fixed by the step; where a word that was drawn would become another, see `smooth`. */
static void words_of_its_own_go_back_as_they_went_forward(void **state)
{
    (void)state;
    static const hd_feeding kinds[] = {{HD_FEEDING_gumbel, 1, 0.7f},
                                       {HD_FEEDING_gumbel, 0.5f, 1.5f},
                                       {HD_FEEDING_free, 0, 1},
                                       {HD_FEEDING_scheduled, 0.5f, 1}};
    const toy_batch b = short_batch();
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT_OF(encdec_cases); i++) {
        toy m;
        hd_err err = {0};
        hd_encdec_opt o = encdec_opt(&encdec_cases[i]);
        const hd_feeding *f = &kinds[(i + 3) % COUNT_OF(kinds)];
        o.stack.dropout = 0.1f;
        encdec_open(&m, &o, 1);
        if (!hd_encdec_feed(m.t, f, &err))
            wrong += !check_all(&encdec_cases[i], &m, &b, hd_feeding_names[f->kind]);
        toy_close(&m);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_model_goes_back_as_it_went_forward),
                                       cmocka_unit_test(words_of_its_own_go_back_as_they_went_forward)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
