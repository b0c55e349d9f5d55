/* Mixture of experts: what is chosen, what is computed, and that neither threads nor neighbors change a bit.
 */
#include "check.h"

enum { COLS = 37, INNER = 29, EXPERTS = 8, ROWS = 333 };

typedef struct layer {
    hd_tensor *router, *in, *out, *bias;
} layer;

static layer layer_of(hd_run *r)
{
    return (layer){random_rows(r, EXPERTS, COLS, 0.3, 1), random_rows(r, EXPERTS * 2 * INNER, COLS, 0.2, 2),
                   random_rows(r, EXPERTS * COLS, INNER, 0.2, 3), NULL};
}

static hd_tensor *experts(hd_run *r, hd_tensor *x, const layer *l, hd_routing how, hd_tensor **ids)
{
    hd_dispatch d = {0};
    hd_tensor *w = hd_route(r, (hd_rows){x, NULL}, l->router, l->bias, &(hd_route_opt){.how = how}, ids);
    if (!hd_dispatch_of(r, &d, *ids, EXPERTS, NULL)) return NULL;
    hd_tensor *h = hd_grouped_linear(r, hd_dispatch_rows(r, x, &d), l->in, NULL, &d);
    h = hd_mul(r, hd_apply(r, hd_slice_cols(r, h, 0, INNER), HD_silu), hd_slice_cols(r, h, INNER, INNER));
    return hd_combine_experts(r, hd_grouped_linear(r, h, l->out, NULL, &d), w, &d);
}

static hd_tensor *dense_expert(hd_run *r, hd_tensor *x, const layer *l, size_t e)
{
    hd_tensor *h = hd_linear(r, x, hd_slice_rows(r, l->in, e * 2 * INNER, 2 * INNER), NULL, HD_IDENTITY);
    h = hd_mul(r, hd_apply(r, hd_slice_cols(r, h, 0, INNER), HD_silu), hd_slice_cols(r, h, INNER, INNER));
    return hd_linear(r, h, hd_slice_rows(r, l->out, e * COLS, COLS), NULL, HD_IDENTITY);
}

static void all_experts_equal_the_dense_sum(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_INFERENCE);
    layer l = layer_of(&r);
    hd_tensor *x = random_rows(&r, ROWS, COLS, 1, 9), *ids, *sum = NULL;
    hd_tensor *y = experts(&r, x, &l, (hd_routing){.used = EXPERTS, .scaling = 1}, &ids);
    hd_tensor *p = hd_softmax(&r, hd_linear(&r, x, l.router, NULL, HD_IDENTITY));
    for (size_t e = 0; e < EXPERTS; e++) {
        hd_tensor *one = hd_mul(&r, dense_expert(&r, x, &l, e), hd_slice_cols(&r, p, e, 1));
        sum = sum ? hd_add(&r, sum, one) : one;
    }
    hd_real *have = host_copy(&r, y), *want = host_copy(&r, sum);
    for (size_t i = 0; i < ROWS * COLS; i++) /* sums of 8 numbers near 1 in another order: a few 1e-7 */
        if (fabs((double)(have[i] - want[i])) > 2e-6)
            fail_msg("%zu: %g, not %g", i, (double)have[i], (double)want[i]);
    free(have), free(want);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void rows_do_not_depend_on_threads_or_neighbors(void **state)
{
    (void)state;
    hd_real *whole = NULL, *all = malloc(ROWS * COLS * sizeof *all);
    fill_normal(all, ROWS * COLS, 1, 9);
    const hd_routing how = {.used = 3, .normalized = true, .scaling = 1};
    for (int threads = 1; threads <= 4; threads++) {
        hd_backend *b = backend_of("cpu", threads);
        hd_run r = run_on(b);
        hd_tensor *ids;
        hd_run_begin(&r, HD_INFERENCE);
        layer l = layer_of(&r);
        hd_real *y = host_copy(&r, experts(&r, hd_from(&r, ROWS, COLS, all), &l, how, &ids));
        if (whole) assert_memory_equal(whole, y, ROWS * COLS * sizeof *y);
        static const size_t at[] = {0, 17, 100, ROWS - 3}, count[] = {1, 2, 60, 3};
        for (size_t i = 0; i < COUNT_OF(at); i++) {
            hd_real *few =
                host_copy(&r, experts(&r, hd_from(&r, count[i], COLS, all + at[i] * COLS), &l, how, &ids));
            assert_memory_equal(few, y + at[i] * COLS, count[i] * COLS * sizeof *few);
            free(few);
        }
        if (whole)
            free(y);
        else
            whole = y;
        hd_run_release(&r);
        hd_backend_free(b);
    }
    free(whole), free(all);
}

/* Weights of experts that no row goes to are never read, and their gradients stay as they are. */
static void unselected_experts_are_not_touched(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    hd_tensor *ids;
    hd_run_begin(&r, HD_TRAIN);
    layer l = layer_of(&r);
    hd_real far[EXPERTS] = {0};
    for (size_t e = 0; e < EXPERTS; e++) far[e] = e % 2 ? -100 : 0;
    l.bias = hd_from(&r, 1, EXPERTS, far);
    for (size_t e = 1; e < EXPERTS; e += 2)
        for (size_t i = 0; i < 2 * INNER * COLS; i++)
            ((hd_real *)l.in->data)[e * 2 * INNER * COLS + i] = (hd_real)NAN;
    l.in->wants_grad = l.out->wants_grad = true;
    hd_tensor *x = random_rows(&r, ROWS, COLS, 1, 9);
    hd_tensor *y = experts(&r, x, &l, (hd_routing){.used = 2, .normalized = true, .scaling = 1}, &ids);
    assert_true(isfinite(hd_loss_total(&r, hd_sum_loss(&r, y, 1))));
    hd_backward(&r);
    hd_real *din = host_copy(&r, hd_grad(&r, l.in, NULL)), *dout = host_copy(&r, hd_grad(&r, l.out, NULL));
    for (size_t e = 0; e < EXPERTS; e++) {
        double sum = 0;
        for (size_t i = 0; i < 2 * INNER * COLS; i++) sum += fabs((double)din[e * 2 * INNER * COLS + i]);
        for (size_t i = 0; i < INNER * COLS; i++) sum += fabs((double)dout[e * INNER * COLS + i]);
        if (e % 2 ? sum != 0 : !(sum > 0)) fail_msg("expert %zu: gradients of %g", e, sum);
    }
    free(din), free(dout);
    hd_run_release(&r);
    hd_backend_free(b);
}

typedef struct choice {
    const char *name;
    hd_routing how;
    double logit[8], bias[8];
    int32_t ids[4];
    double weights[4];
} choice;

/* By hand: exp of the logits is 1, 2, 3, ... */
static const choice choices[] = {
    {"softmax, raw", {.used = 2, .scaling = 1}, {1, 2, 5, 3, 1, 4, 2, 2}, {0}, {2, 5}, {.25, .2}},
    {"softmax, normalized",
     {.used = 2, .normalized = true, .scaling = 1},
     {1, 2, 5, 3, 1, 4, 2, 2},
     {0},
     {2, 5},
     {5 / 9., 4 / 9.}},
    {"equal ones by number",
     {.used = 3, .scaling = 1},
     {2, 2, 2, 2, 2, 2, 2, 2},
     {0},
     {0, 1, 2},
     {.125, .125, .125}},
    {"a bias changes the choice and no weight",
     {.used = 2, .normalized = true, .scaling = 2},
     {1, 2, 5, 3, 1, 4, 2, 2},
     {.9, 0, 0, 0, 0, 0, 0, 0},
     {0, 2},
     {2 / 6., 10 / 6.}},
    {"the best of groups by their best",
     {.used = 2, .groups = 4, .groups_used = 2, .group_best = 1, .scaling = 20},
     {1, 2, 5, 3, 1, 4, 2, 2},
     {0},
     {2, 5},
     {5, 4}},
    {"... by their two best",
     {.used = 3, .groups = 4, .groups_used = 1, .group_best = 2, .scaling = 20},
     {6, 1, 4, 4, 0.5, 0.5, 2, 2},
     {0},
     {-1},
     {0}},
    {"sigmoid of groups by two",
     {.router = HD_ROUTER_SIGMOID,
      .used = 2,
      .groups = 4,
      .groups_used = 1,
      .group_best = 2,
      .normalized = true,
      .scaling = 1},
     {9, 0.1, 4, 3, 0.5, 0.5, 2, 2},
     {0},
     {2, 3},
     {.8 / 1.55, .75 / 1.55}},
};

static void choices_are_those_by_hand(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        const choice *c = &choices[i];
        hd_real one = 1, logit[8], bias[8];
        hd_tensor *ids = NULL;
        hd_run_begin(&r, HD_INFERENCE);
        for (int e = 0; e < 8; e++) logit[e] = (hd_real)log(c->logit[e]), bias[e] = (hd_real)c->bias[e];
        hd_tensor *w = hd_route(&r, (hd_rows){hd_from(&r, 1, 1, &one), NULL}, hd_from(&r, 8, 1, logit),
                                hd_from(&r, 1, 8, bias), &(hd_route_opt){.how = c->how}, &ids);
        if (c->ids[0] < 0) { /* impossible: 1 group of 2 cannot give 3 */
            assert_null(w);
            continue;
        }
        assert_run_ok(&r);
        for (int k = 0; k < c->how.used; k++) {
            assert_int_equal(((int32_t *)ids->data)[k], c->ids[k]);
            double have = (double)((hd_real *)w->data)[k];
            if (fabs(have - c->weights[k]) > 1e-6 * 20)
                fail_msg("%s: weight %d is %g, not %g", c->name, k, have, c->weights[k]);
        }
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

static void rows_of_no_item_go_nowhere(void **state)
{
    (void)state;
    static const int32_t begin[] = {1, 4}, len[] = {2, 1};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_tensor *ids;
    hd_dispatch d;
    hd_run_begin(&r, HD_INFERENCE);
    hd_tensor *x = random_rows(&r, 6, COLS, 1, 9), *load = hd_new_reals(&r, 1, EXPERTS);
    layer l = layer_of(&r);
    hd_clear(&r, load);
    hd_tensor *w = hd_route(&r, (hd_rows){x, seg_at(&r, begin, len, 2, 6, false)}, l.router, NULL,
                            &(hd_route_opt){.how = {.used = 2, .scaling = 1}}, &ids);
    assert_true(hd_dispatch_of(&r, &d, ids, EXPERTS, load));
    assert_int_equal(d.begin[EXPERTS], 6);
    for (int i = 0; i < 6; i++) {
        bool owned = i == 1 || i == 2 || i == 4;
        for (int k = 0; k < 2; k++) {
            int32_t at = d.place[2 * i + k];
            assert_int_equal(at >= 0, owned);
            if (owned) assert_int_equal(d.token[at], i);
        }
    }
    double all = 0;
    for (int e = 0; e < EXPERTS; e++) {
        all += (double)((hd_real *)load->data)[e];
        for (int32_t p = d.begin[e]; p + 1 < d.begin[e + 1]; p++) assert_true(d.token[p] < d.token[p + 1]);
    }
    assert_true(all == 6);
    hd_real *y = host_copy(&r, hd_combine_experts(&r, hd_dispatch_rows(&r, x, &d), w, &d));
    for (int c = 0; c < COLS; c++) assert_true(y[c] == 0 && y[3 * COLS + c] == 0 && y[5 * COLS + c] == 0);
    free(y);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void balance_moves_the_bias_by_the_sign(void **state)
{
    (void)state;
    hd_real load[] = {4, 0, 2, 2}, bias[] = {0, 0, 1, 0}, was[4] = {0};
    hd_tensor t[3] = {hd_matrix(load, 1, 4), hd_matrix(bias, 1, 4), hd_matrix(was, 1, 4)};
    hd_step step = {0};
    hd_backend *b = backend_of("cpu", 1);
    const hd_balance_args a = {.bias = &t[1], .load = &t[0], .was = &t[2], .rate = 0.5f, .step = &step};
    assert_int_equal(b->kernel.balance(b, &a), HD_OK);
    const hd_real want[] = {-.5f, .5f, 1, 0}, loads[] = {4, 0, 2, 2}, none[4] = {0};
    assert_memory_equal(bias, want, sizeof want);
    assert_memory_equal(was, loads, sizeof loads);
    assert_memory_equal(load, none, sizeof none);
    step.settled = 0.75f; /* the schedule is at a quarter of its peak, and so are the biases' moves */
    load[0] = 4;
    assert_int_equal(b->kernel.balance(b, &a), HD_OK);
    assert_true(bias[0] == -.625f && bias[1] == .625f);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_experts_equal_the_dense_sum),
        cmocka_unit_test(rows_do_not_depend_on_threads_or_neighbors),
        cmocka_unit_test(unselected_experts_are_not_touched),
        cmocka_unit_test(choices_are_those_by_hand),
        cmocka_unit_test(rows_of_no_item_go_nowhere),
        cmocka_unit_test(balance_moves_the_bias_by_the_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
