/* Optimizers against their formulas. Easy to get wrong: the reference must use the rates and betas as the
 * kernel gets them, which is as floats. */
#include "check.h"
#include "train/optimizer.h"

enum { ROWS = 3, COLS = 37, MATRIX = ROWS * COLS, VECTOR = 21, ALL = MATRIX + VECTOR }; /* no whole vectors */

typedef struct bench {
    hd_backend *backend;
    hd_run run;
    hd_params params;
    hd_param *matrix, *vector;
    hd_optimizer optimizer;
} bench;

static void bench_open(bench *b, int threads)
{
    *b = (bench){.backend = backend_of("cpu", threads)};
    b->run = run_on(b->backend);
    hd_params_init(&b->params, b->backend);
    b->matrix = hd_param_add(&b->params, ROWS, COLS, (hd_init){HD_INIT_NORMAL, 1, 0}, "matrix");
    b->vector = hd_param_add(&b->params, VECTOR, 0, (hd_init){HD_INIT_NORMAL, 1, 0}, "vector");
}

static void bench_ready(bench *b, const hd_optimizer_opt *opt)
{
    hd_err err = {0};
    if (hd_params_ready(&b->params, true, &err) || hd_params_draw(&b->params, 5, &err) ||
        hd_optimizer_init(&b->optimizer, &b->params, opt, &err))
        fail_msg("%s", err.text);
}

/* In place: the optimizer keeps the address of the parameters. */
static void bench_make(bench *b, const hd_optimizer_opt *opt)
{
    bench_open(b, 1);
    bench_ready(b, opt);
}

static void bench_close(bench *b)
{
    hd_optimizer_release(&b->optimizer);
    hd_params_release(&b->params);
    hd_run_release(&b->run);
    hd_backend_free(b->backend);
}

/* Values (or gradients) of matrix and vector, one after the other. */
static void get_all(const bench *b, bool gradients, hd_real *out)
{
    assert_int_equal(hd_params_get(&b->params, b->matrix, gradients ? &b->matrix->grad : &b->matrix->t, out),
                     HD_OK);
    assert_int_equal(
        hd_params_get(&b->params, b->vector, gradients ? &b->vector->grad : &b->vector->t, out + MATRIX),
        HD_OK);
}

static void set_values(bench *b, const hd_real *v)
{
    hd_params_set(&b->params, b->matrix, v);
    hd_params_set(&b->params, b->vector, v + MATRIX);
}

static void set_gradients(bench *b, const hd_real *g)
{
    b->backend->upload(b->backend, b->matrix->grad.data, g, MATRIX * sizeof *g);
    b->backend->upload(b->backend, b->vector->grad.data, g + MATRIX, VECTOR * sizeof *g);
}

/* One step; ends the test when it fails or is skipped. Returns the norm. */
static double step(bench *b, double rate, double weight)
{
    double norm = 0;
    bool skipped = true;
    hd_run_begin(&b->run, HD_TRAIN);
    hd_optimizer_step(&b->run, &b->optimizer, rate, weight, &norm, &skipped);
    assert_run_ok(&b->run);
    assert_false(skipped);
    return norm;
}

static void fill(hd_real *x, double value)
{
    for (size_t i = 0; i < ALL; i++) x[i] = (hd_real)value;
}

/* The larger of the two sizes; NaN wins. */
static double larger(double worst, double difference)
{
    return fabs(difference) <= worst ? worst : fabs(difference);
}

/* f(x) = x^2 / 2 from 1024: all iterates are multiples of a power of two below 2^24 of them, so float holds
 * them exactly. */
static void sgd_on_a_quadratic_gives_the_exact_iterates(void **state)
{
    (void)state;
    static const struct {
        float momentum;
        bool nesterov;
    } cases[] = {{0, false}, {0.5f, false}, {0.5f, true}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        bench b;
        bench_make(&b, &(hd_optimizer_opt){
                           .kind = HD_OPT_SGD, .momentum = cases[c].momentum, .nesterov = cases[c].nesterov});
        double x = 1024, u = 0, mu = (double)cases[c].momentum;
        hd_real value[ALL];
        fill(value, x);
        set_values(&b, value);
        for (int t = 0; t < 7; t++) {
            set_gradients(&b, value);
            double norm = step(&b, 0.25, 1);
            assert_true(fabs(norm - fabs(x) * sqrt(ALL)) <= 1e-6 * norm);
            u = mu * u + x;
            x -= 0.25 * (mu > 0 ? cases[c].nesterov ? x + mu * u : u : x);
            assert_true((double)(float)x == x);
            get_all(&b, false, value);
            for (size_t i = 0; i < ALL; i++) assert_true((double)value[i] == x);
        }
        bench_close(&b);
    }
}

/* torch.optim's SGD, Adam and AdamW for one number, in double. */
static void reference(const hd_optimizer_opt *o, double rate, bool decays, int t, double g, double *w,
                      double *m, double *v)
{
    double b1 = (double)o->beta1, b2 = (double)o->beta2, decay = decays ? (double)o->decay : 0;
    if (o->kind == HD_OPT_ADAMW)
        *w *= 1 - rate * decay;
    else
        g += decay * *w;
    if (o->kind == HD_OPT_SGD) {
        double mu = (double)o->momentum;
        *m = mu * *m + g;
        *w -= rate * (mu <= 0 ? g : o->nesterov ? g + mu * *m : *m);
        return;
    }
    *m = b1 * *m + (1 - b1) * g;
    *v = b2 * *v + (1 - b2) * g * g;
    double step_size = rate / (1 - pow(b1, t));
    *w -= step_size * *m / (sqrt(*v) / sqrt(1 - pow(b2, t)) + (double)o->eps);
}

static void twenty_steps_follow_the_formulas_of_torch(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        hd_optimizer_opt opt;
        double weight;
    } cases[] = {
        {"sgd", {.kind = HD_OPT_SGD}, 1},
        {"sgd, decay", {.kind = HD_OPT_SGD, .decay = 0.1f}, 3},
        {"sgd, momentum, decay", {.kind = HD_OPT_SGD, .momentum = 0.9f, .decay = 0.1f}, 1},
        {"sgd, nesterov, decay", {.kind = HD_OPT_SGD, .momentum = 0.9f, .nesterov = true, .decay = 0.1f}, 7},
        {"adam of the paper", {.kind = HD_OPT_ADAM}, 1000},
        {"adam of torch", {.kind = HD_OPT_ADAM, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f}, 1},
        {"adam, large eps", {.kind = HD_OPT_ADAM, .beta1 = 0.5f, .beta2 = 0.9f, .eps = 0.5f}, 1},
        {"adam, decay added",
         {.kind = HD_OPT_ADAM, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .decay = 0.1f},
         5},
        {"adamw", {.kind = HD_OPT_ADAMW, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .decay = 0.1f}, 5},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        bench b;
        bench_make(&b, &cases[c].opt);
        hd_optimizer_opt opt = cases[c].opt;
        if (opt.kind != HD_OPT_SGD && opt.beta1 <= 0) opt.beta1 = 0.9f, opt.beta2 = 0.98f, opt.eps = 1e-9f;
        double w[ALL], m[ALL] = {0}, v[ALL] = {0}, worst = 0;
        hd_real value[ALL], grad[ALL];
        get_all(&b, false, value);
        for (size_t i = 0; i < ALL; i++) w[i] = (double)value[i];
        for (int t = 1; t <= 20; t++) {
            float rate = 0.01f * (float)t; /* the rate may change from step to step */
            fill_normal(grad, ALL, cases[c].weight, (uint64_t)(100 + t));
            set_gradients(&b, grad);
            step(&b, (double)rate, cases[c].weight);
            for (size_t i = 0; i < ALL; i++)
                reference(&opt, (double)rate, i < MATRIX, t, (double)grad[i] / cases[c].weight, &w[i], &m[i],
                          &v[i]);
        }
        get_all(&b, false, value);
        for (size_t i = 0; i < ALL; i++)
            worst = larger(worst, (double)value[i] - w[i]), assert_true(fabs(w[i]) < 8);
        /* values stay below 8 and change 20 times, each time by a rounding of up to 8 * 2^-24 and by a moment
           that is off by as much; a wrong factor in one of the formulas is worth more than 1e-3 */
        print_message("%-24s off by %.1e\n", cases[c].name, worst);
        if (!(worst <= 20 * 2 * 8 * 0x1p-24)) fail_msg("%s: off by %g", cases[c].name, worst);
        assert_int_equal(hd_optimizer_updates(&b.optimizer), 20);
        bench_close(&b);
    }
}

/* Without a gradient only the decay moves a weight: by w * rate * decay in SGD and AdamW; Adam makes the
 * added decay a step of the full rate. */
static void decay_moves_matrices_and_nothing_else(void **state)
{
    (void)state;
    static const hd_optimizer_kind kinds[] = {HD_OPT_SGD, HD_OPT_ADAMW, HD_OPT_ADAM};
    for (size_t c = 0; c < COUNT_OF(kinds); c++) {
        bench b;
        bench_make(&b, &(hd_optimizer_opt){.kind = kinds[c], .decay = 0.5f, .eps = 1e-9f});
        hd_real before[ALL], after[ALL];
        get_all(&b, false, before);
        step(&b, 0.125, 1);
        get_all(&b, false, after);
        assert_memory_equal(before + MATRIX, after + MATRIX, VECTOR * sizeof *after);
        for (size_t i = 0; i < MATRIX; i++) {
            double expected = kinds[c] == HD_OPT_ADAM ? (double)before[i] - (before[i] > 0 ? 0.125 : -0.125)
                                                      : (double)before[i] * (1 - 0.125 * 0.5);
            assert_true(fabs((double)after[i] - expected) <=
                        1e-6 * (fabs((double)before[i]) + 0.125)); /* a few float roundings */
        }
        bench_close(&b);
    }
}

/* Gradients of norm 6 and 2: four numbers of 3, or of 1. */
static void a_norm_of_six_with_limit_three_is_halved_and_two_is_left(void **state)
{
    (void)state;
    static const struct {
        float limit;
        double each, weight, norm, factor;
    } cases[] = {{3, 3, 1, 6, 0.5}, {3, 1, 1, 2, 1},    {0, 3, 1, 6, 1},
                 {3, 1.5, 1, 3, 1}, {3, 12, 4, 6, 0.5}, {3, 6, 8, 1.5, 1}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        bench b;
        bench_make(&b, &(hd_optimizer_opt){.kind = HD_OPT_SGD, .clip = cases[c].limit});
        static const size_t where[] = {0, MATRIX - 1, MATRIX,
                                       ALL - 1}; /* the norm is that of all parameters together */
        hd_real grad[ALL] = {0}, value[ALL] = {0};
        for (int k = 0; k < 4; k++) grad[where[k]] = (hd_real)cases[c].each;
        set_values(&b, value);
        set_gradients(&b, grad);
        assert_true(step(&b, 1, cases[c].weight) == cases[c].norm); /* squares and roots here are exact */
        get_all(&b, false, value);
        for (size_t i = 0; i < ALL; i++)
            assert_true((double)value[i] == -(double)grad[i] / cases[c].weight * cases[c].factor);
        bench_close(&b);
    }
}

static void gradients_are_divided_by_the_weight(void **state)
{
    (void)state;
    bench b;
    bench_make(&b, &(hd_optimizer_opt){.kind = HD_OPT_SGD});
    hd_real grad[ALL], value[ALL] = {0};
    fill(grad, 24);
    set_values(&b, value);
    set_gradients(&b, grad);
    step(&b, 1, 8);
    get_all(&b, false, value);
    for (size_t i = 0; i < ALL; i++) assert_true(value[i] == -3);
    bench_close(&b);
}

static void the_step_clears_the_gradients(void **state)
{
    (void)state;
    static const hd_optimizer_kind kinds[] = {HD_OPT_SGD, HD_OPT_ADAM, HD_OPT_ADAMW};
    for (size_t c = 0; c < COUNT_OF(kinds); c++) {
        bench b;
        bench_make(&b, &(hd_optimizer_opt){.kind = kinds[c]});
        hd_real grad[ALL], zero[ALL] = {0};
        fill(grad, 1);
        set_gradients(&b, grad);
        step(&b, 0.1, 1);
        get_all(&b, true, grad);
        assert_memory_equal(grad, zero, sizeof grad);
        bench_close(&b);
    }
}

/* Bytes of everything an update may change. */
typedef struct snapshot {
    hd_real value[512], first[512], second[512], mean[512];
    uint32_t updates;
} snapshot;

static snapshot *snapshot_of(const bench *b)
{
    snapshot *s = calloc(1, sizeof *s);
    size_t bytes = b->params.trainable * sizeof(hd_real);
    assert_true(bytes <= sizeof s->value);
    b->backend->download(b->backend, s->value, b->params.value, bytes);
    if (b->optimizer.first) b->backend->download(b->backend, s->first, b->optimizer.first, bytes);
    if (b->optimizer.second) b->backend->download(b->backend, s->second, b->optimizer.second, bytes);
    if (b->optimizer.mean) b->backend->download(b->backend, s->mean, b->optimizer.mean, bytes);
    s->updates = hd_optimizer_updates(&b->optimizer);
    return s;
}

static void assert_same_state(const bench *b, snapshot *expected)
{
    snapshot *now = snapshot_of(b);
    assert_memory_equal(now, expected, sizeof *now);
    free(now), free(expected);
}

static const hd_optimizer_opt every_kind[] = {
    {.kind = HD_OPT_SGD, .average = 0.9f, .decay = 0.1f},
    {.kind = HD_OPT_SGD, .momentum = 0.9f, .average = 0.9f, .clip = 1},
    {.kind = HD_OPT_ADAM, .average = 0.9f, .clip = 1, .decay = 0.1f},
    {.kind = HD_OPT_ADAMW, .average = 0.9f, .decay = 0.1f},
};

/* Also where nobody asks whether it was skipped, and the host cannot know. */
static void a_gradient_that_is_not_finite_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        hd_real bad;
        double weight;
    } cases[] = {{NAN, 1}, {INFINITY, 1}, {-INFINITY, 1}, {1, 0}}; /* the last: no tokens at all */
    for (size_t c = 0; c < 2 * COUNT_OF(cases) * COUNT_OF(every_kind); c++) {
        const hd_optimizer_opt *kind = &every_kind[c / 2 % COUNT_OF(every_kind)];
        const size_t bad = c / 2 / COUNT_OF(every_kind);
        const bool told = c % 2;
        bench b, same;
        bench_make(&b, kind), bench_make(&same, kind);
        hd_real grad[ALL], zero[ALL] = {0};
        fill_normal(grad, ALL, 1, 9);
        set_gradients(&b, grad), set_gradients(&same, grad);
        step(&b, 0.1, 1), step(&same, 0.1, 1);
        snapshot *before = snapshot_of(&b);

        grad[bad % 2 ? 1 : ALL - 1] = cases[bad].bad;
        set_gradients(&b, grad);
        bool skipped = false;
        double norm = 0;
        hd_run_begin(&b.run, HD_TRAIN);
        assert_int_equal(hd_optimizer_step(&b.run, &b.optimizer, 0.1, cases[bad].weight, told ? &norm : NULL,
                                           told ? &skipped : NULL),
                         HD_OK);
        if (told && !skipped) fail_msg("case %zu: not skipped, norm %g", c, norm);
        assert_true(!told || !isfinite(norm));
        assert_same_state(&b, before);
        get_all(&b, true, grad);
        assert_memory_equal(grad, zero, sizeof grad);

        fill_normal(grad, ALL, 1, 10); /* what comes after is as if the bad step had never been */
        set_gradients(&b, grad), set_gradients(&same, grad);
        assert_true(step(&b, 0.1, 1) == step(&same, 0.1, 1));
        assert_same_state(&b, snapshot_of(&same));
        bench_close(&b), bench_close(&same);
    }
}

static void a_resumed_count_is_the_t_of_adam(void **state)
{
    (void)state;
    const hd_optimizer_opt opt = {.kind = HD_OPT_ADAM, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f};
    bench b;
    bench_make(&b, &opt);
    hd_real grad[ALL], value[ALL];
    fill_normal(grad, ALL, 1, 9);
    get_all(&b, false, value);
    double w = (double)value[0], m = 0, v = 0;
    reference(&opt, 0.125, true, 42, (double)grad[0], &w, &m, &v);
    hd_optimizer_resume(&b.optimizer, 41);
    set_gradients(&b, grad);
    step(&b, 0.125, 1);
    get_all(&b, false, value);
    assert_true(fabs((double)value[0] - w) <=
                1e-6); /* a few float roundings; a first update would be 0.04 further */
    assert_int_equal(hd_optimizer_updates(&b.optimizer), 42);
    bench_close(&b);
}

static void a_step_that_fails_changes_nothing_and_can_be_tried_again(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT_OF(every_kind); c++) {
        bench b, same;
        bench_make(&b, &every_kind[c]), bench_make(&same, &every_kind[c]);
        hd_real grad[ALL];
        fill_normal(grad, ALL, 1, 9);
        set_gradients(&b, grad), set_gradients(&same, grad);
        snapshot *before = snapshot_of(&b);
        hd_run_begin(&b.run, HD_TRAIN);
        hd_mem_fail_at(1); /* the first sum of squares needs scratch memory */
        assert_int_equal(hd_optimizer_step(&b.run, &b.optimizer, 0.1, 1, NULL, NULL), HD_ENOMEM);
        hd_mem_fail_at(0);
        assert_same_state(&b, before);
        assert_true(step(&b, 0.1, 1) == step(&same, 0.1, 1));
        assert_same_state(&b, snapshot_of(&same));
        bench_close(&b), bench_close(&same);
    }
}

static void the_average_follows_the_values_from_where_they_were(void **state)
{
    (void)state;
    bench b;
    bench_make(&b, &(hd_optimizer_opt){.kind = HD_OPT_SGD, .average = 0.75f});
    double mean[ALL];
    hd_real value[ALL], grad[ALL];
    get_all(&b, false, value);
    for (size_t i = 0; i < ALL; i++) mean[i] = (double)value[i];
    for (int t = 0; t < 20; t++) {
        fill_normal(grad, ALL, 1, (uint64_t)t);
        set_gradients(&b, grad);
        step(&b, 0.1, 1);
        get_all(&b, false, value);
        double early = (2. + t) / (11. + t), d = early < 0.75 ? early : 0.75;
        for (size_t i = 0; i < ALL; i++) mean[i] = d * mean[i] + (1 - d) * (double)value[i];
    }
    snapshot *s = snapshot_of(&b);
    double worst = 0;
    for (size_t i = 0; i < ALL; i++) {
        const hd_param *p = i < MATRIX ? b.matrix : b.vector;
        worst = larger(worst, (double)s->mean[p->at + (i < MATRIX ? i : i - MATRIX)] - mean[i]);
    }
    assert_true(worst <= 4 * 4 * 0x1p-24); /* values below 4; each rounding is forgotten by a quarter a step,
                                              so at most four add up */
    free(s);
    bench_close(&b);
}

static void each_group_has_its_own_learning_rate(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, 1);
    hd_param *slow = hd_param_add(&b.params, 5, 3, (hd_init){HD_INIT_NORMAL, 1, 0}, "slow"),
             *still = hd_param_add(&b.params, 4, 0, (hd_init){HD_INIT_NORMAL, 1, 0}, "still");
    slow->group = 1, still->group = 7;
    b.params.factor[1] = 0.25f, b.params.factor[7] = 0;
    bench_ready(&b, &(hd_optimizer_opt){.kind = HD_OPT_SGD});
    hd_real one[ALL], before[4], value[ALL] = {0};
    fill(one, 1);
    set_values(&b, value);
    hd_params_set(&b.params, slow, value);
    hd_params_get(&b.params, still, &still->t, before);
    set_gradients(&b, one);
    b.backend->upload(b.backend, slow->grad.data, one, 15 * sizeof *one);
    b.backend->upload(b.backend, still->grad.data, one, 4 * sizeof *one);
    step(&b, 0.5, 1);
    get_all(&b, false, value);
    for (size_t i = 0; i < ALL; i++) assert_true(value[i] == -0.5f);
    hd_params_get(&b.params, slow, &slow->t, value);
    for (size_t i = 0; i < 15; i++) assert_true(value[i] == -0.125f);
    hd_params_get(&b.params, still, &still->t, value);
    assert_memory_equal(value, before, sizeof before);
    bench_close(&b);
}

/* y = (x w^T + b) scaled by a frozen gain: a loss of which w and b are parts. */
static void frozen_parameters_have_no_gradient_and_never_change(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, 1);
    hd_init normal = {HD_INIT_NORMAL, 1, 0};
    hd_param *frozen = hd_param_add(&b.params, COLS, COLS, normal, "body.frozen.weight"),
             *free_one = hd_param_add(&b.params, COLS, 0, normal, "head.bias");
    hd_err err = {0};
    assert_int_equal(hd_params_freeze(&b.params, (hd_frozen){(const char *const[]){"body.*"}, 1}, &err),
                     HD_OK);
    assert_int_equal(hd_params_freeze(&b.params, (hd_frozen){(const char *const[]){"nothing.*"}, 1}, &err),
                     HD_EARG);
    assert_non_null(strstr(err.text, "nothing.*"));
    bench_ready(&b, &(hd_optimizer_opt){.kind = HD_OPT_ADAMW, .decay = 0.5f, .average = 0.5f});
    assert_null(frozen->t.grad);
    assert_null(frozen->grad.data);
    assert_false(frozen->t.wants_grad);
    hd_real *before = malloc(COLS * COLS * sizeof *before), *after = malloc(COLS * COLS * sizeof *after),
            bias[COLS], bias_after[COLS];
    hd_params_get(&b.params, frozen, &frozen->t, before);
    hd_params_get(&b.params, free_one, &free_one->t, bias);
    for (int t = 0; t < 3; t++) {
        hd_run_begin(&b.run, HD_TRAIN);
        hd_tensor *x = hd_linear(&b.run, &b.matrix->t, &frozen->t, &free_one->t, HD_tanh);
        hd_sum_loss(&b.run, x, 1);
        hd_backward(&b.run);
        hd_optimizer_step(&b.run, &b.optimizer, 0.1, 1, NULL, NULL);
        assert_run_ok(&b.run);
    }
    hd_params_get(&b.params, frozen, &frozen->t, after);
    hd_params_get(&b.params, free_one, &free_one->t, bias_after);
    assert_memory_equal(before, after, COLS * COLS * sizeof *after);
    for (size_t i = 0; i < COLS; i++) assert_true(bias[i] != bias_after[i]);
    free(before), free(after);
    bench_close(&b);
}

static void freezing_one_name_freezes_its_whole_storage(void **state)
{
    (void)state;
    static const char *const patterns[] = {"attention.q", "tied.name", "table"};
    for (size_t c = 0; c < COUNT_OF(patterns); c++) {
        bench b;
        bench_open(&b, 1);
        hd_init normal = {HD_INIT_NORMAL, 1, 0};
        hd_param *qkv = hd_param_hidden(&b.params, 6, 4, normal),
                 *table = hd_param_add(&b.params, 5, 4, normal, "table");
        hd_param *q = hd_param_part(&b.params, qkv, 0, 2, normal, "attention.q"),
                 *k = hd_param_part(&b.params, qkv, 2, 4, normal, "attention.kv");
        hd_param *tied = hd_param_alias(&b.params, table, "tied.name"),
                 *view = hd_param_view(&b.params, qkv, 2, 4);
        assert_int_equal(hd_params_freeze(&b.params, (hd_frozen){&patterns[c], 1}, NULL), HD_OK);
        bench_ready(&b, &(hd_optimizer_opt){.kind = HD_OPT_SGD});
        bool parts = c == 0;
        assert_int_equal(qkv->t.wants_grad, !parts);
        assert_int_equal(q->t.wants_grad, !parts);
        assert_int_equal(k->t.wants_grad, !parts);
        assert_int_equal(view->t.wants_grad, !parts);
        assert_int_equal(table->t.wants_grad, parts);
        assert_int_equal(tied->t.wants_grad, parts);
        bench_close(&b);
    }
}

/* 100,000 numbers are more than one chunk for each of four threads. */
static void updates_have_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    enum { MANY = 100003 };
    hd_real *grad = malloc(MANY * sizeof *grad), *first = malloc(MANY * sizeof *first),
            *value = malloc(MANY * sizeof *value);
    for (int threads = 1; threads <= 4; threads++) {
        bench b;
        bench_open(&b, threads);
        hd_param *large = hd_param_add(&b.params, MANY, 1, (hd_init){HD_INIT_NORMAL, 1, 0}, "large");
        bench_ready(&b, &(hd_optimizer_opt){.kind = HD_OPT_ADAM, .clip = 1, .average = 0.5f, .decay = 0.01f});
        for (int t = 0; t < 3; t++) {
            fill_normal(grad, MANY, 1, (uint64_t)t);
            b.backend->upload(b.backend, large->grad.data, grad, MANY * sizeof *grad);
            step(&b, 0.1, 1);
        }
        hd_params_get(&b.params, large, &large->t, threads == 1 ? first : value);
        if (threads > 1) assert_memory_equal(first, value, MANY * sizeof *value);
        bench_close(&b);
    }
    free(grad), free(first), free(value);
}

static void a_model_that_is_not_for_training_is_refused(void **state)
{
    (void)state;
    hd_err err = {0};
    bench b;
    bench_open(&b, 1);
    assert_int_equal(hd_params_ready(&b.params, false, &err), HD_OK);
    assert_int_equal(hd_optimizer_init(&b.optimizer, &b.params, &(hd_optimizer_opt){0}, &err), HD_EARG);
    assert_string_equal(err.text, "the model was opened for inference only");
    bench_close(&b);
}

/* The paper's numbers stand where none are given, and only there. */
static void betas_of_0_are_obeyed_where_eps_is_given(void **state)
{
    (void)state;
    static const struct {
        hd_optimizer_opt opt;
        float beta1, beta2, eps;
    } cases[] = {{{.kind = HD_OPT_ADAM}, 0.9f, 0.98f, 1e-9f},
                 {{.kind = HD_OPT_ADAM, .eps = 1e-8f}, 0, 0, 1e-8f},
                 {{.kind = HD_OPT_ADAMW, .beta2 = 0.5f}, 0, 0.5f, 1e-9f}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        bench b;
        bench_make(&b, &cases[i].opt);
        const hd_optimizer_opt *o = &b.optimizer.opt;
        assert_true(o->beta1 == cases[i].beta1 && o->beta2 == cases[i].beta2 && o->eps == cases[i].eps);
        bench_close(&b);
    }
}

/* -- muon -- */

/* What five steps of the iteration make of u [rows, cols] over its norm, in double, by the formula: x
   = 3.4445 x + (-4.7750 y + 2.0315 y y) x, y = x x^T. */
static void orthogonal(double *x, size_t rows, size_t cols)
{
    double sum = 0, y[ALL], next[ALL];
    assert_true(rows * rows <= ALL && rows * cols <= ALL);
    for (size_t i = 0; i < rows * cols; i++) sum += x[i] * x[i];
    for (size_t i = 0; i < rows * cols; i++) x[i] /= sqrt(sum) + 1e-7;
    for (int t = 0; t < 5; t++) {
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < rows; j++) {
                y[i * rows + j] = 0;
                for (size_t k = 0; k < cols; k++) y[i * rows + j] += x[i * cols + k] * x[j * cols + k];
            }
        for (size_t i = 0; i < rows; i++)
            for (size_t k = 0; k < cols; k++) {
                double z = 3.4445 * x[i * cols + k];
                for (size_t j = 0; j < rows; j++) {
                    double yy = 0;
                    for (size_t l = 0; l < rows; l++) yy += y[i * rows + l] * y[l * rows + j];
                    z += (-4.7750 * y[i * rows + j] + 2.0315 * yy) * x[j * cols + k];
                }
                next[i * cols + k] = z;
            }
        memcpy(x, next, rows * cols * sizeof *x);
    }
}

/* The move of a [rows, cols] matrix by the direction u, which is lost. */
static void muon_move(double *w, double *u, size_t rows, size_t cols, double rate, double decay)
{
    double turned[ALL];
    bool high = rows > cols;
    for (size_t i = 0; i < rows * cols; i++) turned[high ? i % cols * rows + i / cols : i] = u[i];
    orthogonal(turned, high ? cols : rows, high ? rows : cols);
    for (size_t i = 0; i < rows * cols; i++)
        w[i] = (1 - rate * decay) * w[i] - rate * (high ? sqrt((double)rows / (double)cols) : 1) *
                                               turned[high ? i % cols * rows + i / cols : i];
}

/* A wide matrix, and a high parameter that is two matrices of 3 rows and then 2 again and again: 3, 2, 3, 1.
   The vector beside them moves by AdamW. */
static void muon_moves_matrices_as_its_formula_says_and_the_rest_by_adamw(void **state)
{
    (void)state;
    enum { HIGH_ROWS = 9, HIGH_COLS = 2, HIGH = HIGH_ROWS * HIGH_COLS };
    static const size_t cut[] = {3, 2, 3, 1};
    const hd_optimizer_opt opt = {.kind = HD_OPT_MUON,
                                  .muon = {.momentum = 0.9f, .ratio = 8},
                                  .beta1 = 0.9f,
                                  .beta2 = 0.99f,
                                  .eps = 1e-8f,
                                  .decay = 0.5f};
    bench b;
    bench_open(&b, 2);
    hd_param *high = hd_param_add(&b.params, HIGH_ROWS, HIGH_COLS, (hd_init){HD_INIT_NORMAL, 1, 0}, "high");
    hd_param_matrices(b.matrix, ROWS, 0, 0), hd_param_matrices(high, 3, 2, 0);
    bench_ready(&b, &opt);
    hd_real value[ALL], grad[ALL], high_value[HIGH], high_grad[HIGH];
    double w[ALL], m[ALL] = {0}, v[ALL] = {0}, hw[HIGH], hm[HIGH] = {0}, u[ALL], rate = 0.0625, keep = 0.9f;
    get_all(&b, false, value);
    hd_params_get(&b.params, high, &high->t, high_value);
    for (size_t i = 0; i < ALL; i++) w[i] = (double)value[i];
    for (size_t i = 0; i < HIGH; i++) hw[i] = (double)high_value[i];
    for (int t = 1; t <= 4; t++) {
        for (size_t i = 0; i < ALL; i++) grad[i] = (hd_real)sin((double)i * 1.7 + t);
        for (size_t i = 0; i < HIGH; i++) high_grad[i] = (hd_real)cos((double)i * 2.3 + t);
        set_gradients(&b, grad);
        b.backend->upload(b.backend, high->grad.data, high_grad, sizeof high_grad);
        step(&b, rate, 2);
        for (size_t i = 0; i < MATRIX; i++) {
            m[i] = keep * m[i] + (1 - keep) * (double)grad[i] / 2;
            u[i] = keep * m[i] + (1 - keep) * (double)grad[i] / 2;
        }
        muon_move(w, u, ROWS, COLS, 8 * rate, 0.5);
        for (size_t i = 0; i < HIGH; i++) {
            hm[i] = keep * hm[i] + (1 - keep) * (double)high_grad[i] / 2;
            u[i] = keep * hm[i] + (1 - keep) * (double)high_grad[i] / 2;
        }
        for (size_t c = 0, at = 0; c < COUNT_OF(cut); at += cut[c++] * HIGH_COLS)
            muon_move(hw + at, u + at, cut[c], HIGH_COLS, 8 * rate, 0.5);
        hd_optimizer_opt adamw = opt;
        adamw.kind = HD_OPT_ADAMW;
        for (size_t i = MATRIX; i < ALL; i++)
            reference(&adamw, rate, false, t, (double)grad[i] / 2, &w[i], &m[i], &v[i]);
    }
    double worst = 0;
    get_all(&b, false, value);
    hd_params_get(&b.params, high, &high->t, high_value);
    for (size_t i = 0; i < ALL; i++) worst = larger(worst, (double)value[i] - w[i]);
    for (size_t i = 0; i < HIGH; i++) worst = larger(worst, (double)high_value[i] - hw[i]);
    assert_true(worst <= 2e-5); /* the iteration multiplies what rounding makes of small singular values by up
                                   to 3.4445^5 = 485; moves of 0.5 at 2^-24 */
    get_all(&b, true, grad);
    for (size_t i = 0; i < ALL; i++) assert_true(grad[i] == 0);
    bench_close(&b);
}

/* What the iteration makes of 1 is known; a step that is not finite moves nothing, nor the momentum. */
static void muon_brings_a_single_number_to_its_known_size(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, 1);
    hd_param *one = hd_param_add(&b.params, 1, 1, (hd_init){HD_INIT_NORMAL, 1, 0}, "one");
    hd_param_matrices(one, 1, 0, 0);
    bench_ready(
        &b, &(hd_optimizer_opt){.kind = HD_OPT_MUON, .muon = {.momentum = 0.95f, .ratio = 1}, .eps = 1e-8f});
    hd_real start = 0, bad = NAN, g = 3, now;
    hd_params_set(&b.params, one, &start);
    b.backend->upload(b.backend, one->grad.data, &bad, sizeof bad);
    hd_run_begin(&b.run, HD_TRAIN);
    bool skipped = false;
    hd_optimizer_step(&b.run, &b.optimizer, 1, 1, NULL, &skipped);
    assert_true(skipped);
    hd_params_get(&b.params, one, &one->t, &now);
    assert_true(now == 0);
    b.backend->upload(b.backend, one->grad.data, &g, sizeof g);
    step(&b, 1, 1);
    hd_params_get(&b.params, one, &one->t, &now);
    assert_true(fabs((double)now + 0.69644) <= 1e-5);
    bench_close(&b);
}

static void muon_needs_matrices(void **state)
{
    (void)state;
    bench b;
    hd_err err = {0};
    bench_open(&b, 1);
    assert_int_equal(hd_params_ready(&b.params, true, &err), HD_OK);
    assert_int_equal(
        hd_optimizer_init(&b.optimizer, &b.params, &(hd_optimizer_opt){.kind = HD_OPT_MUON}, &err), HD_EARG);
    assert_non_null(strstr(err.text, "no blocks"));
    bench_close(&b);
}

/* As on a card that computes in bf16; the kernels of updates are the cpu's. */
static void small_make(bench *b, int threads, const hd_optimizer_opt *opt)
{
    bench_open(b, threads);
    b->backend->compute = HD_BF16, b->backend->small_weights = true;
    hd_param_matrices(b->matrix, ROWS, 0, 0);
    bench_ready(b, opt);
    assert_int_equal(b->matrix->t.dtype, HD_BF16);
    assert_int_equal(b->vector->t.dtype, HD_REAL);
    assert_true(b->params.small >= MATRIX && b->params.small < b->params.trainable);
}

/* Steps of a fiftieth of what bf16 can tell apart: rounded to the nearest, nothing would move. */
static void weights_in_bf16_move_on_average(void **state)
{
    (void)state;
    static const hd_optimizer_kind kinds[] = {HD_OPT_SGD, HD_OPT_ADAMW};
    enum { TIMES = 400 };
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        const hd_optimizer_opt opt = {.kind = kinds[k]};
        hd_real last[2][ALL];
        for (int turn = 0; turn < 2; turn++) { /* other threads: the same bits */
            bench b;
            hd_real ones[ALL], got[ALL];
            double sum = 0, moved = 0;
            small_make(&b, turn ? 3 : 1, &opt);
            for (size_t i = 0; i < ALL; i++) ones[i] = 1;
            set_values(&b, ones);
            get_all(&b, false, got);
            assert_memory_equal(got, ones, sizeof got);
            for (int t = 0; t < TIMES; t++) {
                set_gradients(&b, ones);
                step(&b, 1.0 / 256 / 50, 1);
            }
            get_all(&b, false, last[turn]);
            for (size_t i = 0; i < MATRIX; i++) sum += 1 - (double)last[turn][i];
            moved = sum / MATRIX;
            const double want = TIMES / 256.0 / 50;
            if (!turn) print_message("kind %d: moved by %.5f, exactly %.5f\n", (int)kinds[k], moved, want);
            /* a walk of steps of 2^-8 (below 1) with a chance of 1/25 has a deviation of 0.016; the mean of
               111 a tenth of it */
            assert_true(fabs(moved - want) < 0.006);
            b.vector->t.prepared = NULL; /* which a cpu would free */
            bench_close(&b);
        }
        assert_memory_equal(last[0], last[1], sizeof last[0]);
    }
}

static void an_average_needs_weights_in_f32(void **state)
{
    (void)state;
    bench b;
    hd_err err = {0};
    bench_open(&b, 1);
    b.backend->compute = HD_BF16, b.backend->small_weights = true;
    hd_param_matrices(b.matrix, ROWS, 0, 0);
    assert_int_equal(hd_params_ready(&b.params, true, &err), HD_OK);
    const hd_optimizer_opt opt = {.kind = HD_OPT_ADAM, .average = 0.9f};
    assert_int_equal(hd_optimizer_init(&b.optimizer, &b.params, &opt, &err), HD_EARG);
    b.optimizer = (hd_optimizer){0};
    b.vector->t.prepared = NULL;
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sgd_on_a_quadratic_gives_the_exact_iterates),
        cmocka_unit_test(twenty_steps_follow_the_formulas_of_torch),
        cmocka_unit_test(decay_moves_matrices_and_nothing_else),
        cmocka_unit_test(a_norm_of_six_with_limit_three_is_halved_and_two_is_left),
        cmocka_unit_test(gradients_are_divided_by_the_weight),
        cmocka_unit_test(the_step_clears_the_gradients),
        cmocka_unit_test(a_gradient_that_is_not_finite_changes_nothing),
        cmocka_unit_test(a_resumed_count_is_the_t_of_adam),
        cmocka_unit_test(a_step_that_fails_changes_nothing_and_can_be_tried_again),
        cmocka_unit_test(the_average_follows_the_values_from_where_they_were),
        cmocka_unit_test(each_group_has_its_own_learning_rate),
        cmocka_unit_test(frozen_parameters_have_no_gradient_and_never_change),
        cmocka_unit_test(freezing_one_name_freezes_its_whole_storage),
        cmocka_unit_test(updates_have_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(betas_of_0_are_obeyed_where_eps_is_given),
        cmocka_unit_test(a_model_that_is_not_for_training_is_refused),
        cmocka_unit_test(muon_moves_matrices_as_its_formula_says_and_the_rest_by_adamw),
        cmocka_unit_test(muon_brings_a_single_number_to_its_known_size),
        cmocka_unit_test(weights_in_bf16_move_on_average),
        cmocka_unit_test(an_average_needs_weights_in_f32),
        cmocka_unit_test(muon_needs_matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
