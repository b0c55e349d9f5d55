/* What positions and the scale of scores are for: models without them, beside the usual ones. */
#include "model/toy.h"

/* Sums of some dozens of floats in another order: a few units of 1e-7, through four blocks. */
#define TOLERANCE 2e-5

static double farthest(const hd_real *a, const hd_real *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

/* The words of each source backwards, its end where it was. */
static toy_batch backwards(const toy_batch *b)
{
    toy_batch x = *b;
    for (size_t i = 0, at = 0; i < b->items; at += (size_t)b->source_len[i++])
        for (size_t j = 0, n = (size_t)b->source_len[i] - 1; j < n; j++)
            x.source[at + j] = b->source[at + n - 1 - j];
    return x;
}

/* How far the logits are from each other when the sources are read backwards. */
static double order_matters(bool no_positions)
{
    toy m;
    hd_encdec_opt o = toy_opt();
    const toy_batch b = toy_range(0, 8), other = backwards(&b);
    o.no_positions = no_positions;
    toy_open(&m, 1, &o, NULL, NULL);
    stir(m.params);
    hd_real *x = toy_logits(&m, &b), *y = toy_logits(&m, &other);
    double most = farthest(x, y, b.target_rows * TOY_VOCAB);
    assert_int_equal(!m.t->target.position, no_positions);
    free(x);
    free(y);
    toy_close(&m);
    return most;
}

static void without_positions_a_source_is_a_bag_of_words(void **state)
{
    (void)state;
    assert_true(order_matters(true) < TOLERANCE);
    assert_true(order_matters(false) > 1e-2);
}

static void scale_queries(hd_params *p, double factor)
{
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (!one->name || !strstr(one->name, ".q_proj.")) continue;
        size_t n = hd_count_of(&one->t);
        hd_real *x = malloc(n * sizeof *x);
        assert_int_equal(hd_params_get(p, one, &one->t, x), HD_OK);
        for (size_t k = 0; k < n; k++) x[k] = (hd_real)((double)x[k] * factor);
        hd_params_set(p, one, x);
        free(x);
    }
}

/* q k^T is what the usual model has of q * sqrt(columns of a head). */
static void without_scale_scores_are_products_alone(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 8);
    hd_real *logits[3];
    for (int i = 0; i < 3; i++) {
        toy m;
        hd_encdec_opt o = toy_opt();
        o.stack.unscaled_scores = i == 0;
        toy_open(&m, 1, &o, NULL, NULL);
        stir(m.params);
        if (i == 1) scale_queries(m.params, sqrt((double)o.stack.width / o.stack.heads));
        logits[i] = toy_logits(&m, &b);
        toy_close(&m);
    }
    assert_true(farthest(logits[0], logits[1], b.target_rows * TOY_VOCAB) < TOLERANCE);
    assert_true(farthest(logits[0], logits[2], b.target_rows * TOY_VOCAB) > 1e-2);
    for (int i = 0; i < 3; i++) free(logits[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_positions_a_source_is_a_bag_of_words),
        cmocka_unit_test(without_scale_scores_are_products_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
