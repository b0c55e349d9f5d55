/* Ops with their gradients through the tape, on the device against the cpu, both in f32: they sum the same
   numbers in another order. One step holds every op, so that what one leaves behind (memory handed on,
   gradients moved instead of added, views) meets the next. */
#include "device.h"
#include "op/everything.h"

/* Of the norm of each gradient; the sums go through some thirty ops, each rounding by 6e-8. */
#define TOLERANCE 1e-4
/* Of the norm of all gradients: some are 0 but for rounding. */
#define FLOOR 1e-7

static const step_shape shapes[] = {
    {{3, 1, 4, 2, 5, 1}, 8, true},        {{9, 17, 2, 30, 1, 6}, 32, true},
    {{9, 17, 2, 30, 1, 6}, 20, true}, /* rows that are no multiple of 16 bytes in bf16 */
    {{33, 1, 70, 17, 130, 64}, 64, true}, {{150, 90, 31, 2, 64, 3}, 256, true},
};

/* Losses and gradients of a step, and ids of its choices. */
typedef struct outcome {
    hd_real *all;
    size_t count;
    int32_t *ids[3];
    hd_real *logp; /* of what was sampled */
    step s;
} outcome;

static outcome outcome_of(hd_run *r, const step_shape *shape)
{
    outcome o = {0};
    if (!step_forward(r, shape, &o.s)) fail_msg("%s: %s", r->backend->name, r->err.text);
    for (int i = 0; i < 3; i++) {
        size_t bytes = hd_count_of(o.s.ids[i]) * sizeof(int32_t);
        o.ids[i] = malloc(bytes);
        r->backend->download(r->backend, o.ids[i], o.s.ids[i]->data, bytes);
    }
    o.logp = host_copy(r, o.s.logp);
    o.all = step_numbers(r, &o.s, &o.count);
    assert_run_ok(r);
    assert_string_equal(r->backend->error, "");
    return o;
}

static void outcome_free(outcome *o)
{
    free(o->all);
    free(o->logp);
    for (int i = 0; i < 3; i++) free(o->ids[i]);
}

static void near(const char *what, size_t number, const hd_real *a, const hd_real *b, size_t n, double floor,
                 double *worst)
{
    double share = distance_between(a, b, n) / (TOLERANCE * norm_of(a, n) + floor);
    if (!(share <= 1))
        fail_msg("%s %zu of %zu numbers: off by %.3g of %.3g", what, number, n, distance_between(a, b, n),
                 norm_of(a, n));
    if (share > *worst) *worst = share;
}

static size_t different(const int32_t *a, const int32_t *b, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += a[i] != b[i];
    return count;
}

/* A draw walks by rank. Logits a rounding apart (tanh saturates) may change places, and then another column
   is drawn, but one as likely. */
static void check_draws(const outcome *a, const outcome *b)
{
    size_t n = hd_count_of(a->s.ids[2]), ties = 0;
    for (size_t i = 0; i < n; i++) {
        ties += a->ids[2][i] != b->ids[2][i];
        if (!(fabs((double)(a->logp[i] - b->logp[i])) <= 1e-4))
            fail_msg("row %zu: column %d is drawn (%g), on the cpu %d (%g)", i, b->ids[2][i],
                     (double)b->logp[i], a->ids[2][i], (double)a->logp[i]);
    }
    print_message("%zu of %zu draws are ties that went another way\n", ties, n);
}

static void every_op_has_the_values_and_gradients_of_the_cpu(void **state)
{
    (void)state;
    hd_backend *cpu = backend_of("cpu", 2), *device = device_new(HD_PRECISION_F32);
    hd_run here = run_on(cpu), there = run_on(device);
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (int again = 0; again < 2; again++) { /* the second time memory is used again */
            outcome a = outcome_of(&here, &shapes[i]), b = outcome_of(&there, &shapes[i]);
            double worst = 0, floor = FLOOR * norm_of(a.all, a.count);
            size_t at = 0;
            assert_int_equal(a.count, b.count);
            for (size_t k = 0; k < COUNT_OF(a.s.loss); k++) {
                size_t n = a.s.loss[k] ? hd_count_of(a.s.loss[k]) : 0;
                near("loss", k, a.all + at, b.all + at, n, floor, &worst);
                at += n;
            }
            for (size_t k = 0; k < a.s.leaves; k++) {
                size_t n = hd_count_of(a.s.leaf[k]);
                near("gradient", k, a.all + at, b.all + at, n, floor, &worst);
                at += n;
            }
            for (int k = 0; k < 2; k++) { /* but for ties */
                size_t n = hd_count_of(a.s.ids[k]), d = different(a.ids[k], b.ids[k], n);
                if (d > (n + 99) / 100) fail_msg("choice %d: %zu of %zu differ", k, d, n);
            }
            check_draws(&a, &b);
            print_message("%zu columns: at most %.2f of the limit\n", shapes[i].cols, worst);
            outcome_free(&a), outcome_free(&b);
        }
    hd_run_release(&here), hd_run_release(&there);
    hd_backend_free(cpu), hd_backend_free(device);
}

/* Loss and gradients of x, w and bias of act(x w^T + bias) with dropout, one after the other. Of log all
   numbers are above 0. */
static hd_real *bent(hd_run *r, hd_unary f, float p, size_t cols, size_t *count)
{
    enum { ROWS = 37, OUT = 24 };
    const int32_t len[] = {20, 0, 16, 1}, key[] = {3, 9, 4, 100};
    const size_t rows[] = {ROWS, OUT, 1}, wide[] = {cols, cols, OUT};
    hd_tensor *leaf[3];
    size_t n = 1;
    hd_run_begin(r, HD_TRAIN);
    for (int i = 0; i < 3; i++) {
        hd_real host[4096];
        hd_rng rng = hd_rng_make(5, (uint64_t)i);
        for (size_t k = 0; k < rows[i] * wide[i]; k++)
            host[k] = (hd_real)((f == HD_log ? 0.1 : -0.1) + 0.2 * hd_rng_unit(&rng));
        leaf[i] = hd_from(r, rows[i], wide[i], host);
        if (leaf[i]) leaf[i]->wants_grad = true;
        n += rows[i] * wide[i];
    }
    hd_real *all = calloc(n, sizeof *all);
    hd_tensor *y = hd_linear_dropout(r, leaf[0], leaf[1], leaf[2], f, p, hd_seg_of(r, len, 4, key));
    y = hd_add(r, y,
               hd_apply(r, hd_scale(r, hd_mul(r, y, y), 1e-3f),
                        f == HD_log ? HD_IDENTITY : f)); /* log of what was dropped */
    hd_tensor *loss = hd_sum_loss(r, hd_mul(r, y, random_rows(r, ROWS, OUT, 1, 8)), 0.5f);
    hd_read(r, loss, all);
    hd_backward(r);
    *count = 1;
    for (int i = 0; i < 3; *count += hd_count_of(leaf[i]), i++)
        hd_read(r, hd_grad(r, leaf[i], NULL), all + *count);
    assert_run_ok(r);
    return all;
}

static void every_function_bends_as_on_the_cpu(void **state)
{
    (void)state;
    hd_backend *cpu = backend_of("cpu", 2), *device = device_new(HD_PRECISION_F32);
    hd_run here = run_on(cpu), there = run_on(device);
    double worst = 0;
    for (int f = 0; f < HD_UNARIES; f++)
        for (int how = 0; how < 4; how++) {
            size_t n = 0, m = 0;
            float p = how % 2 ? 0.3f : 0;
            hd_real *a = bent(&here, (hd_unary)f, p, how / 2 ? 33 : 40, &n),
                    *b = bent(&there, (hd_unary)f, p, how / 2 ? 33 : 40, &m);
            assert_int_equal(n, m);
            near(hd_unary_name((hd_unary)f), (size_t)how, a, b, n, 0, &worst);
            free(a), free(b);
        }
    print_message("%d functions: at most %.2f of the limit\n", (int)HD_UNARIES, worst);
    hd_run_release(&here), hd_run_release(&there);
    hd_backend_free(cpu), hd_backend_free(device);
}

/* Same step, same bits: nothing depends on where memory lies or on what it held. */
static void a_step_has_the_same_bits_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        hd_backend *b[2] = {device_new(HD_PRECISION_F32), device_new(HD_PRECISION_F32)};
        hd_run r[2] = {run_on(b[0]), run_on(b[1])};
        outcome before = outcome_of(&r[1], &shapes[(i + 1) % COUNT_OF(shapes)]), o[2];
        for (int k = 0; k < 2; k++) o[k] = outcome_of(&r[k], &shapes[i]);
        assert_int_equal(o[0].count, o[1].count);
        assert_memory_equal(o[0].all, o[1].all, o[0].count * sizeof(hd_real));
        for (int k = 0; k < 3; k++)
            assert_memory_equal(o[0].ids[k], o[1].ids[k], hd_count_of(o[0].s.ids[k]) * sizeof(int32_t));
        outcome_free(&before), outcome_free(&o[0]), outcome_free(&o[1]);
        for (int k = 0; k < 2; k++) hd_run_release(&r[k]), hd_backend_free(b[k]);
    }
}

int main(void)
{
    if (device_missing()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_the_values_and_gradients_of_the_cpu),
        cmocka_unit_test(every_function_bends_as_on_the_cpu),
        cmocka_unit_test(a_step_has_the_same_bits_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
