/* Mixture of experts: gradients of the whole of it, in the forms that published models have. */
#include "op/gradient.h"

enum { ROWS = 9, COLS = 5, EXPERTS = 6, INNER = 4, ITEMS = 3 };

static const int32_t lens[ITEMS] = {4, 2, 3};

/* Leaves: x, the router, weights of the experts in and out; then a bias that is fixed. */
static hd_tensor *experts(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    hd_tensor *ids = NULL;
    hd_dispatch d = {0};
    hd_rows rows = {x[0], hd_seg_of(r, lens, ITEMS, NULL)};
    hd_tensor *w = hd_route(r, rows, x[1], leaf_count(c) > 4 ? x[4] : NULL,
                            &(hd_route_opt){.how = *(const hd_routing *)c->opt}, &ids);
    if (!hd_dispatch_of(r, &d, ids, EXPERTS, NULL)) return NULL;
    hd_tensor *h = hd_grouped_linear(r, hd_dispatch_rows(r, x[0], &d), x[2], NULL, &d);
    h = hd_gated(r, h, HD_silu);
    return hd_combine_experts(r, hd_grouped_linear(r, h, x[3], NULL, &d), w, &d);
}

#define MIX(name_, routing, ...)                                               \
    CASE(name_, experts, .opt = &(const hd_routing)routing,                    \
         LEAVES_OF(LEAF("x", ROWS, COLS, 0), LEAF("router", EXPERTS, COLS, 0), \
                   LEAF("in", EXPERTS * 2 * INNER, COLS, 0),                   \
                   LEAF("out", EXPERTS * COLS, INNER, 0) __VA_ARGS__))
#define AS(...)     \
    {               \
        __VA_ARGS__ \
    }
#define BIAS , LEAF("bias", 1, EXPERTS, .fixed = true)

static const gradient_case cases[] = {
    MIX("Mixtral: softmax, 2, normalized", AS(.used = 2, .normalized = true, .scaling = 1)),
    MIX("OLMoE: softmax, 3, raw", AS(.used = 3, .scaling = 1)),
    MIX("all of them", AS(.used = EXPERTS, .scaling = 1)),
    MIX("one", AS(.used = 1, .scaling = 1)),
    MIX("V2: the best of groups, scaled",
        AS(.used = 2, .groups = 3, .groups_used = 2, .group_best = 1, .scaling = 16)),
    MIX("V3: sigmoid, groups, bias, scaled",
        AS(.router = HD_ROUTER_SIGMOID, .used = 3, .groups = 3, .groups_used = 2, .group_best = 2,
           .normalized = true, .scaling = 2.5f),
        BIAS),
    MIX("sigmoid, raw", AS(.router = HD_ROUTER_SIGMOID, .used = 2, .scaling = 1)),
};

static void gradients_are_right(void **state)
{
    (void)state;
    check_gradients(cases, COUNT_OF(cases));
}

/* -- the balance loss, whose load is a constant -- */

static double share_loss(const hd_real *x, const hd_real *w, const int32_t *load, size_t loads,
                         const int32_t *item, hd_router router)
{
    double loss = 0;
    for (size_t t = 0; t < ROWS; t++) {
        double s[EXPERTS], sum = 0, all = 0;
        const int32_t *l = load + (loads > 1 ? (size_t)item[t] * EXPERTS : 0);
        for (size_t e = 0; e < EXPERTS; e++) {
            double z = 0;
            for (size_t c = 0; c < COLS; c++) z += (double)(x[t * COLS + c] * w[e * COLS + c]);
            s[e] = router == HD_ROUTER_SOFTMAX ? exp(z) : 1 / (1 + exp(-z));
            sum += s[e], all += l[e];
        }
        for (size_t e = 0; e < EXPERTS; e++) loss += 0.7 * l[e] / all * s[e] / sum;
    }
    return loss;
}

static void balance_loss_is_that_of_the_formula(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (int how = 0; how < 4; how++) {
        hd_router router = how % 2 ? HD_ROUTER_SIGMOID : HD_ROUTER_SOFTMAX;
        size_t loads = how / 2 ? ITEMS : 1;
        hd_run_begin(&r, HD_TRAIN);
        const hd_seg *seg = hd_seg_of(&r, lens, ITEMS, NULL);
        hd_tensor *x = random_rows(&r, ROWS, COLS, 1, 1), *w = random_rows(&r, EXPERTS, COLS, 1, 2), *ids;
        int32_t load[ITEMS * EXPERTS] = {0}, item[ROWS];
        int32_t *on = hd_ints(&r, load, COUNT_OF(load));
        w->wants_grad = true;
        hd_route_opt o = {
            .how = {.router = router, .used = 2, .scaling = 1}, .load = on, .loads = loads, .coef = 0.7f};
        hd_tensor *weights = hd_route(&r, (hd_rows){x, seg}, w, NULL, &o, &ids);
        hd_sum_loss(&r, hd_scale(&r, weights, 0), 1);
        memcpy(load, on, sizeof load), memcpy(item, seg->item, sizeof item);
        int all = 0;
        for (size_t i = 0; i < COUNT_OF(load); i++) all += load[i];
        assert_int_equal(all, 2 * ROWS);
        hd_real *xs = host_copy(&r, x), *ws = host_copy(&r, w);
        hd_backward(&r);
        hd_real *dw = host_copy(&r, hd_grad(&r, w, NULL));
        for (size_t i = 0; i < EXPERTS * COLS; i++) {
            hd_real kept = ws[i];
            double at[2];
            for (int k = 0; k < 2; k++) {
                ws[i] = kept + (hd_real)((2 * k - 1) * 1e-5);
                at[k] = share_loss(xs, ws, load, loads, item, router);
            }
            ws[i] = kept;
            double want = (at[1] - at[0]) / 2e-5;
            /* the error of the two-point rule is 1e-10 of the third derivative; rounding 1e-16 / 1e-5 */
            if (fabs((double)dw[i] - want) > 1e-7)
                fail_msg("%d: %zu: %g, not %g", how, i, (double)dw[i], want);
        }
        free(xs), free(ws), free(dw);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_right),
        cmocka_unit_test(balance_loss_is_that_of_the_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
