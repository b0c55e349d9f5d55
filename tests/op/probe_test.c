/* Probes: what is offered, under which names and in which shapes; and that looking changes nothing, on the
 * way there and back. */
#include "op/everything.h"

enum { OFFERS = 64 };

typedef struct seen {
    char name[64];
    size_t rows, cols;
    bool has_keys, gradient;
    const hd_seg *seg;
    hd_real *data;
} seen;

typedef struct notes {
    seen at[OFFERS];
    size_t count;
} notes;

static void note(void *context, hd_run *r, const hd_offer *o)
{
    notes *n = context;
    assert_true(n->count < OFFERS);
    seen *s = &n->at[n->count++];
    snprintf(s->name, sizeof s->name, "%s", o->name);
    s->rows = hd_rows_of(o->t), s->cols = hd_cols_of(o->t);
    s->has_keys = o->keys, s->gradient = o->gradient, s->seg = o->seg;
    s->data = malloc((s->rows * s->cols + 1) * sizeof *s->data);
    assert_true(hd_read(r, o->t, s->data));
}

static void forget(notes *n)
{
    for (size_t i = 0; i < n->count; i++) free(n->at[i].data);
    n->count = 0;
}

static const seen *find(const notes *n, const char *name)
{
    for (size_t i = 0; i < n->count; i++)
        if (!strcmp(n->at[i].name, name)) return &n->at[i];
    fail_msg("nothing was offered as %s", name);
    return NULL;
}

static const step_shape shape = {.len = {5, 3, 7, 1, 0, 2}, .cols = 16, .host_segments = true};

static void a_step_has_the_same_bits_with_a_probe(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    notes *n = calloc(1, sizeof *n);
    hd_real *all[3];
    size_t count[3];
    for (int k = 0; k < 3; k++) {
        const hd_probe probe = {.take = note, .context = n, .gradients = k == 2};
        step s;
        r.probe = k ? &probe : NULL;
        step_forward(&r, &shape, &s);
        assert_run_ok(&r);
        all[k] = step_numbers(&r, &s, &count[k]);
        assert_run_ok(&r);
        assert_int_equal(n->count > 0, k > 0);
        forget(n);
    }
    for (int k = 1; k < 3; k++) {
        assert_int_equal(count[0], count[k]);
        assert_memory_equal(all[0], all[k], count[0] * sizeof **all);
    }
    for (int k = 0; k < 3; k++) free(all[k]);
    free(n);
    r.probe = NULL;
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Two items of 3 and 2 queries over 4 and 2 keys, two heads. */
static void attention_offers_its_scores(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    notes n = {.count = 0};
    const hd_probe probe = {.take = note, .context = &n};
    r.probe = &probe;
    hd_run_begin(&r, HD_INFERENCE);
    const hd_seg *qs = hd_seg_of(&r, (const int32_t[]){3, 2}, 2, NULL),
                 *ks = hd_seg_of(&r, (const int32_t[]){4, 2}, 2, NULL);
    hd_rows q = {random_rows(&r, 5, 6, 1, 1), qs}, k = {random_rows(&r, 6, 6, 1, 2), ks},
            v = {random_rows(&r, 6, 6, 1, 3), ks};
    hd_probe_enter(&r, "enc");
    hd_probe_enter(&r, "%d", 0);
    hd_probe_enter(&r, "self");
    hd_attend(&r, q, k, v, &(hd_attend_opt){.heads = 2, .mask = HD_CAUSAL, .dropout = 0.5f});
    assert_run_ok(&r);
    const char *names[] = {"enc.0.self.scores", "enc.0.self.scaled", "enc.0.self.masked",
                           "enc.0.self.softmax"};
    assert_int_equal(n.count, 4);
    const seen *s[4];
    for (int i = 0; i < 4; i++) {
        s[i] = find(&n, names[i]);
        assert_int_equal(s[i]->rows, 3 * 4 + 2 * 2);
        assert_int_equal(s[i]->cols, 2);
        assert_true(s[i]->has_keys && s[i]->seg == qs);
    }
    for (size_t pair = 0; pair < 16; pair++)
        for (size_t h = 0; h < 2; h++) {
            size_t at = pair * 2 + h, i = pair >= 12, a = i ? (pair - 12) / 2 : pair / 4,
                   j = i ? (pair - 12) % 2 : pair % 4;
            const hd_real *x = (hd_real *)q.t->data + ((i ? 3 : 0) + a) * 6 + h * 3,
                          *y = (hd_real *)k.t->data + ((i ? 4 : 0) + j) * 6 + h * 3;
            double dot = 0;
            for (int c = 0; c < 3; c++) dot += (double)x[c] * (double)y[c];
            bool visible = i ? j <= a : j <= a + 1; /* the last query meets the last key */
            assert_true(fabs((double)s[0]->data[at] - dot) < 1e-6);
            assert_true(fabs((double)s[1]->data[at] - dot / sqrt(3)) < 1e-6);
            assert_true(visible ? s[2]->data[at] == s[1]->data[at] : s[2]->data[at] == -INFINITY);
            assert_true(visible ? s[3]->data[at] > 0 : s[3]->data[at] == 0);
        }
    for (size_t first = 0; first < 16; first += first < 12 ? 4 : 2) /* weights of a query sum to one */
        for (size_t h = 0; h < 2; h++) {
            double sum = 0;
            for (size_t j = 0; j < (first < 12 ? 4 : 2); j++) sum += (double)s[3]->data[(first + j) * 2 + h];
            assert_true(fabs(sum - 1) < 1e-6);
        }
    forget(&n);
    r.probe = NULL;
    hd_run_release(&r);
    hd_backend_free(b);
}

static void norm_offers_sum_mean_and_deviation(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    notes n = {.count = 0};
    const hd_probe probe = {.take = note, .context = &n};
    r.probe = &probe;
    hd_run_begin(&r, HD_INFERENCE);
    const hd_real x[] = {1, 2, 3, 4, 0, 0, 0, 2}, branch[] = {1, 0, 1, 0, 0, 2, 0, 0};
    const hd_seg *seg = hd_seg_of(&r, (const int32_t[]){2}, 1, NULL);
    hd_norm_residual(&r, hd_from(&r, 2, 4, x), hd_from(&r, 2, 4, branch), NULL, NULL,
                     &(hd_norm_opt){.eps = 0, .seg = seg}, NULL);
    assert_run_ok(&r);
    assert_int_equal(n.count, 3);
    const seen *sum = find(&n, "sum"), *mean = find(&n, "mean"), *sd = find(&n, "inverse_sd");
    assert_true(sum->rows == 2 && sum->cols == 4 && sum->seg == seg && !sum->has_keys);
    for (int i = 0; i < 8; i++) assert_true(sum->data[i] == x[i] + branch[i]);
    assert_true(mean->rows == 2 && mean->cols == 1 && sd->rows == 2 && sd->cols == 1);
    assert_true(mean->data[0] == 3 && mean->data[1] == 1); /* rows 2 2 4 4 and 0 2 0 2 */
    assert_true(fabs((double)sd->data[0] - 1) < 1e-6 && fabs((double)sd->data[1] - 1) < 1e-6);
    forget(&n);
    r.probe = NULL;
    hd_run_release(&r);
    hd_backend_free(b);
}

/* What is offered where it is made is seen again on the way back with its whole gradient. */
static void gradients_of_offers_come_on_the_way_back(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    notes n = {.count = 0};
    hd_probe probe = {.take = note, .context = &n, .gradients = true};
    r.probe = &probe;
    hd_run_begin(&r, HD_TRAIN);
    hd_tensor *x = random_rows(&r, 3, 2, 1, 1);
    x->wants_grad = true;
    hd_tensor *y = hd_probe_offer(&r, "twice", hd_scale(&r, x, 2), NULL),
              *fixed = hd_probe_offer(&r, "fixed", random_rows(&r, 3, 2, 1, 2), NULL);
    hd_sum_loss(&r, hd_add(&r, hd_mul(&r, y, fixed), y), 1); /* dy = fixed + 1 */
    assert_int_equal(n.count, 2);
    assert_true(!n.at[0].gradient && !n.at[1].gradient);
    hd_real f[6];
    hd_read(&r, fixed, f);
    hd_backward(&r);
    assert_run_ok(&r);
    assert_int_equal(n.count, 3); /* nothing flows to what is fixed */
    assert_string_equal(n.at[2].name, "twice");
    assert_true(n.at[2].gradient && n.at[2].rows == 3 && n.at[2].cols == 2);
    for (int i = 0; i < 6; i++) assert_true(fabs((double)(n.at[2].data[i] - (f[i] + 1))) < 1e-6);
    for (int i = 0; i < 6; i++)
        assert_true(fabs((double)(((hd_real *)x->grad->data)[i] - 2 * (f[i] + 1))) < 1e-5);
    forget(&n);
    r.probe = NULL;
    hd_run_release(&r);
    hd_backend_free(b);
}

static hd_tensor *inner_forward(hd_run *r, const void *context, hd_tensor *const *in)
{
    (void)context;
    hd_probe_enter(r, "inner");
    hd_tensor *y = hd_probe_offer(r, "tanh", hd_apply(r, in[0], HD_tanh), NULL);
    hd_probe_leave(r);
    return hd_mul(r, y, y);
}

static hd_tensor *outer_forward(hd_run *r, const void *context, hd_tensor *const *in)
{
    (void)context;
    hd_tensor *y = hd_probe_offer(r, "exp", hd_apply(r, in[0], HD_exp), NULL);
    return hd_recompute(r, inner_forward, NULL, &y, 1);
}

/* Values once, on the way there; gradients under the same names, though the function ran again after its
 * layer was left. */
static void a_recomputed_function_offers_as_a_recorded_one(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    notes n[2] = {{.count = 0}, {.count = 0}};
    for (int k = 0; k < 2; k++) {
        hd_probe probe = {.take = note, .context = &n[k], .gradients = true};
        r.probe = &probe;
        hd_run_begin(&r, HD_TRAIN);
        hd_tensor *x = random_rows(&r, 3, 2, 1, 1);
        x->wants_grad = true;
        hd_probe_enter(&r, "enc");
        hd_tensor *y =
            k ? hd_recompute(&r, outer_forward, NULL, &x, 1)
              : inner_forward(&r, NULL,
                              (hd_tensor *[]){hd_probe_offer(&r, "exp", hd_apply(&r, x, HD_exp), NULL)});
        hd_probe_leave(&r);
        hd_sum_loss(&r, y, 1);
        hd_backward(&r);
        assert_run_ok(&r);
    }
    const char *names[] = {"enc.exp", "enc.inner.tanh", "enc.inner.tanh", "enc.exp"};
    assert_int_equal(n[0].count, 4);
    assert_int_equal(n[1].count, 4);
    for (int i = 0; i < 4; i++) {
        const seen *recorded = &n[0].at[i], *recomputed = &n[1].at[i];
        assert_string_equal(recorded->name, names[i]);
        assert_string_equal(recomputed->name, recorded->name);
        assert_int_equal(recomputed->gradient, i >= 2);
        assert_memory_equal(recomputed->data, recorded->data, 6 * sizeof(hd_real));
    }
    forget(&n[0]), forget(&n[1]);
    r.probe = NULL;
    hd_run_release(&r);
    hd_backend_free(b);
}

static void scopes_nest_and_cost_nothing_without_a_probe(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_probe_enter(&r, "enc");
    assert_string_equal(r.scope, "");
    notes n = {.count = 0};
    const hd_probe probe = {.take = note, .context = &n};
    r.probe = &probe;
    hd_run_begin(&r, HD_INFERENCE);
    hd_probe_enter(&r, "dec");
    hd_probe_enter(&r, "%d", 12);
    assert_string_equal(r.scope, "dec.12");
    hd_probe_enter(&r, "self");
    assert_string_equal(r.scope, "dec.12.self");
    hd_probe_leave(&r);
    assert_string_equal(r.scope, "dec.12");
    hd_probe_leave(&r);
    hd_probe_enter(&r, "norm");
    assert_string_equal(r.scope, "dec.norm");
    hd_probe_offer(&r, "x", random_rows(&r, 1, 1, 1, 1), NULL);
    assert_string_equal(n.at[0].name, "dec.norm.x");
    hd_probe_leave(&r);
    hd_probe_leave(&r);
    hd_probe_leave(&r); /* one too many does no harm */
    assert_string_equal(r.scope, "");
    for (int i = 0; i < 100; i++) hd_probe_enter(&r, "a_name_that_does_not_end");
    assert_true(strlen(r.scope) < sizeof r.scope);
    hd_probe_offer(&r, "x", random_rows(&r, 1, 1, 1, 1), NULL);
    hd_probe_offer(&r, "nothing", NULL, NULL);
    assert_int_equal(n.count, 2);
    hd_run_begin(&r, HD_INFERENCE); /* a step begins without a scope */
    assert_string_equal(r.scope, "");
    forget(&n);
    r.probe = NULL;
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_the_same_bits_with_a_probe),
        cmocka_unit_test(attention_offers_its_scores),
        cmocka_unit_test(norm_offers_sum_mean_and_deviation),
        cmocka_unit_test(gradients_of_offers_come_on_the_way_back),
        cmocka_unit_test(a_recomputed_function_offers_as_a_recorded_one),
        cmocka_unit_test(scopes_nest_and_cost_nothing_without_a_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
