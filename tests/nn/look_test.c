/* A look at a memory: the lectures' scores and Bahdanau's module by way of the layer, and what holds of every
   score and window. */
#include "check.h"
#include "nn/look.h"

/* Contexts are convex sums of numbers around 1, of weights rounded by 6e-8. */
#define TOLERANCE 1e-6

typedef struct view {
    hd_backend *backend;
    hd_run run;
    hd_params params;
    hd_look look;
} view;

static void view_open(view *v, const hd_look_opt *o)
{
    hd_err err = {0};
    hd_look_opt named = *o;
    named.name = "look", named.positions = 64;
    *v = (view){.backend = backend_of("cpu", 2)};
    v->run = run_on(v->backend);
    hd_params_init(&v->params, v->backend);
    v->look = hd_look_make(&v->params, &named);
    if (hd_params_ready(&v->params, false, &err) || hd_params_draw(&v->params, 3, &err) ||
        hd_look_fill(&v->params, &v->look, &err))
        fail_msg("%s", err.text);
    hd_run_begin(&v->run, HD_INFERENCE);
}

static void view_close(view *v)
{
    hd_params_release(&v->params);
    hd_run_release(&v->run);
    hd_backend_free(v->backend);
}

static void set(view *v, hd_param *p, const double *x)
{
    hd_real host[64];
    size_t n = hd_count_of(&p->t);
    assert_true(n <= COUNT_OF(host));
    for (size_t i = 0; i < n; i++) host[i] = (hd_real)x[i];
    assert_int_equal(hd_params_set(&v->params, p, host), HD_OK);
}

static hd_tensor *rows_of(hd_run *r, size_t rows, size_t cols, const double *x)
{
    hd_real host[64];
    for (size_t i = 0; i < rows * cols; i++) host[i] = (hd_real)x[i];
    return hd_from(r, rows, cols, host);
}

/* Contexts of one query an item. */
static hd_real *contexts(view *v, hd_tensor *q, hd_tensor *h, const int32_t *len, size_t items)
{
    hd_run *r = &v->run;
    int32_t pos[8] = {0}, one[8];
    for (size_t i = 0; i < items; i++) one[i] = 1, pos[i] = (int32_t)i;
    hd_seen m = hd_look_memory(r, &v->look, (hd_rows){h, hd_seg_of(r, len, items, NULL)}, NULL);
    hd_tensor *places = hd_look_places(r, &v->look, hd_ints(r, pos, items), items);
    return host_copy(r,
                     hd_look_of(r, &v->look, (hd_rows){q, hd_seg_of(r, one, items, NULL)}, &m, places, NULL));
}

static void assert_near(const char *name, const hd_real *x, const double *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)x[i] - want[i]) <= TOLERANCE))
            fail_msg("%s: %g, not %g", name, (double)x[i], want[i]);
}

static void the_lectures_scores(void **state)
{
    (void)state;
    static const double q[] = {-0.09, 0.14, -0.96},
                        h[] = {0.24, 0.22, 0.23, 0.89, 0.36, -0.28, -0.13, 0.4, -0.88, 0.33, 0.34, -0.58};
    /* W_a transposed: (W q) . k is h_dec W_a h_enc; the lecture's "mlp" is the additive score, W_a2 in halves
     */
    static const double matrix[] = {-0.74, 0.14, -0.8, -0.37, -0.12, -0.58, -0.27, 0.98, -0.68};
    static const double left[] = {0.31, -0.49, -0.07, 0.31,  -0.72, -0.61, 0.68, -0.81,
                                  0.95, 0.48,  -0.92, -0.43, -0.36, -0.17, -0.87};
    static const double right[] = {-0.51, -0.68, -0.78, -0.26, 0.64, -0.81, -0.06, 0.95,
                                   0.21,  -0.76, -0.41, -0.76, 0.38, 0.13,  -0.47};
    static const struct {
        hd_scoring score;
        double context[3];
    } cases[] = {
        {HD_SCORING_dot, {0.25007829, 0.35224605, -0.53440142}},
        {HD_SCORING_scaled, {0.28785362, 0.34358863, -0.47195633}},
        {HD_SCORING_bilinear, {0.47419522, 0.3162179, -0.23770711}},
        {HD_SCORING_additive, {0.24672805, 0.33352901, -0.42925999}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        view v;
        bool own = cases[i].score == HD_SCORING_additive;
        view_open(&v,
                  &(hd_look_opt){
                      .query = 3, .memory = 3, .width = own ? 5 : 3, .heads = 1, .score = cases[i].score});
        if (cases[i].score == HD_SCORING_bilinear) set(&v, v.look.q.w, matrix);
        if (own)
            set(&v, v.look.q.w, left), set(&v, v.look.k.w, right),
                set(&v, v.look.score, (double[]){0.05, -0.81, 0.15, 0.86, -0.36});
        hd_real *c = contexts(&v, rows_of(&v.run, 1, 3, q), rows_of(&v.run, 4, 3, h), (int32_t[]){4}, 1);
        assert_near(hd_scoring_names[cases[i].score], c, cases[i].context, 3);
        free(c);
        view_close(&v);
    }
}

static void bahdanaus_module(void **state)
{
    (void)state;
    static const double wa[] = {0.54277045, 0.23996971,  -0.04690054, 0.48583758, 0.16745943,
                                0.33618863, -0.37111362, -0.17192611, 0.0939244};
    static const double ua[] = {-0.16712355, 0.14076406, -0.02095966, -0.0683577, -0.10706202,
                                -0.34013021, 0.19056967, 0.32894405,  -0.33443999};
    static const double query[] = {-0.02087947, -0.71848004, 0.51863675, -1.31252196, 0.19199507, 0.54277135};
    static const double keys[] = {-0.00944628, -1.21768778, -1.26546531, -1.11953518, 1.16648572,
                                  0.92623246,  0.79701002,  0.21166418,  -0.07441945, 0.86538971,
                                  0.99455293,  0.11494421,  0.14466901,  1.07417172,  -1.12879864,
                                  -0.09376858, 0.05837477,  -1.001669,   0.83514757,  -0.29286147,
                                  -0.57874361, -3.47963524, 0.74948833,  -0.56055521};
    static const double want[] = {0.18452587, 0.23675854, -0.12785966, -0.48591229, 0.37389774, -0.82981922};
    view v;
    view_open(&v, &(hd_look_opt){.query = 3, .memory = 3, .width = 3, .heads = 1});
    set(&v, v.look.q.w, wa), set(&v, v.look.k.w, ua);
    set(&v, v.look.q.b, (double[]){-0.24452413, -0.05442237, -0.37319976});
    set(&v, v.look.k.b, (double[]){0.20408076, -0.45063891, 0.02742652});
    set(&v, v.look.score, (double[]){-0.31636462, 0.06725331, 0.10106974});
    hd_real *c =
        contexts(&v, rows_of(&v.run, 2, 3, query), rows_of(&v.run, 8, 3, keys), (int32_t[]){4, 4}, 2);
    assert_near("context", c, want, 6);
    free(c);
    view_close(&v);
}

enum { WIDTH = 4, ITEMS = 3, ROWS = 12 };
static const int32_t lens[ITEMS] = {5, 1, 6};

typedef struct weights { /* of a probe: those of each item one after the other */
    hd_real all[64];
    size_t count;
} weights;

static void note(void *context, hd_run *r, const hd_offer *o)
{
    weights *w = context;
    size_t n = strlen(o->name);
    if (n < 8 || strcmp(o->name + n - 8, ".softmax")) return;
    w->count = hd_count_of(o->t);
    assert_true(w->count <= COUNT_OF(w->all) && hd_read(r, o->t, w->all));
}

/* A distribution over the rows of an item, nothing outside the window; rows that are all alike are the
   context. */
static void every_kind_gives_weights_that_sum_to_one(void **state)
{
    (void)state;
    for (int score = 0; score < HD_SCORINGS; score++)
        for (int local = 0; local < HD_LOCALITIES; local++) {
            if (local && score == HD_SCORING_mlp) continue;
            view v;
            weights w = {0};
            hd_probe probe = {.take = note, .context = &w};
            view_open(&v, &(hd_look_opt){.query = WIDTH,
                                         .memory = WIDTH,
                                         .width = WIDTH,
                                         .heads = 1,
                                         .score = (hd_scoring)score,
                                         .locality = (hd_locality)local,
                                         .window = 1});
            v.run.probe = &probe;
            hd_real same[ROWS * WIDTH];
            for (size_t i = 0; i < ROWS * WIDTH; i++) same[i] = (hd_real)(0.3 * (double)(i % WIDTH) - 0.5);
            hd_real *c = contexts(&v, random_rows(&v.run, ITEMS, WIDTH, 1, 5),
                                  hd_from(&v.run, ROWS, WIDTH, same), lens, ITEMS);
            for (size_t i = 0; i < ITEMS * WIDTH; i++)
                assert_true(fabs((double)(c[i] - same[i % WIDTH])) < TOLERANCE);
            free(c);
            assert_int_equal(w.count, ROWS);
            for (size_t i = 0, at = 0; i < ITEMS; at += (size_t)lens[i++]) {
                double sum = 0;
                size_t seen = 0;
                for (size_t j = 0; j < (size_t)lens[i]; j++) {
                    hd_real x = w.all[at + j];
                    assert_true(x >= 0 && x <= 1 + TOLERANCE);
                    bool far = local == HD_LOCALITY_MONOTONE && (j > i + 1 || j + 1 < i) && lens[i] > 1;
                    assert_true(!far || x == 0); /* query i stands at place i */
                    sum += (double)x, seen += x > 0;
                }
                assert_true(fabs(sum - 1) < TOLERANCE);
                assert_true(seen <= (local ? 3 : (size_t)lens[i]));
            }
            v.run.probe = NULL;
            view_close(&v);
        }
}

static void a_window_over_everything_is_none(void **state)
{
    (void)state;
    hd_real *c[2];
    for (int k = 0; k < 2; k++) {
        view v;
        view_open(&v, &(hd_look_opt){.query = WIDTH,
                                     .memory = WIDTH,
                                     .width = WIDTH,
                                     .heads = 1,
                                     .locality = k ? HD_LOCALITY_MONOTONE : HD_LOCALITY_GLOBAL,
                                     .window = 6});
        c[k] = contexts(&v, random_rows(&v.run, ITEMS, WIDTH, 1, 5), random_rows(&v.run, ROWS, WIDTH, 1, 6),
                        lens, ITEMS);
        view_close(&v);
    }
    for (size_t i = 0; i < ITEMS * WIDTH; i++) assert_true(fabs((double)(c[0][i] - c[1][i])) < TOLERANCE);
    free(c[0]), free(c[1]);
}

/* A query of zeros scores all keys alike: the context is the mean. */
static void a_query_of_zeros_gets_the_mean(void **state)
{
    (void)state;
    view v;
    view_open(&v, &(hd_look_opt){
                      .query = WIDTH, .memory = WIDTH, .width = WIDTH, .heads = 1, .score = HD_SCORING_dot});
    hd_tensor *h = random_rows(&v.run, ROWS, WIDTH, 1, 6);
    hd_real *c = contexts(&v, hd_from(&v.run, ITEMS, WIDTH, (hd_real[ITEMS * WIDTH]){0}), h, lens, ITEMS);
    hd_real *mean = host_copy(&v.run, hd_reduce(&v.run, h, hd_seg_of(&v.run, lens, ITEMS, NULL), HD_MEAN));
    for (size_t i = 0; i < ITEMS * WIDTH; i++) assert_true(fabs((double)(c[i] - mean[i])) < TOLERANCE);
    free(c), free(mean);
    view_close(&v);
}

/* Each half of the contexts of two heads is that of one head with this half of the weights. */
static void heads_look_each_for_itself(void **state)
{
    (void)state;
    for (int score = 0; score < 2; score++) {
        view both, one;
        hd_look_opt o = {.query = WIDTH,
                         .memory = WIDTH,
                         .width = WIDTH,
                         .heads = 2,
                         .project = true,
                         .score = score ? HD_SCORING_scaled : HD_SCORING_additive};
        view_open(&both, &o);
        hd_real *c = contexts(&both, random_rows(&both.run, ITEMS, WIDTH, 1, 5),
                              random_rows(&both.run, ROWS, WIDTH, 1, 6), lens, ITEMS);
        for (size_t half = 0; half < 2; half++) {
            o.heads = 1, o.width = WIDTH / 2;
            view_open(&one, &o);
            for (size_t k = 0; k < both.params.count; k++) { /* the rows of a half follow each other */
                const hd_param *from = both.params.list[k];
                hd_param *to = one.params.list[k];
                hd_params_set(&one.params, to, (const hd_real *)from->t.data + half * hd_count_of(&to->t));
            }
            hd_real *d = contexts(&one, random_rows(&one.run, ITEMS, WIDTH, 1, 5),
                                  random_rows(&one.run, ROWS, WIDTH, 1, 6), lens, ITEMS);
            for (size_t i = 0; i < ITEMS * WIDTH / 2; i++)
                assert_true(fabs((double)(d[i] - c[i / 2 * WIDTH + half * WIDTH / 2 + i % 2])) < TOLERANCE);
            free(d);
            view_close(&one);
        }
        free(c);
        view_close(&both);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lectures_scores),
        cmocka_unit_test(bahdanaus_module),
        cmocka_unit_test(every_kind_gives_weights_that_sum_to_one),
        cmocka_unit_test(a_window_over_everything_is_none),
        cmocka_unit_test(a_query_of_zeros_gets_the_mean),
        cmocka_unit_test(heads_look_each_for_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
