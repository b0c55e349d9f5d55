/* The lectures' small examples with words, word vectors and distributions over words, by the names they have
   in golden.json. float32 on numbers around 1: 1e-6. */
#include "model/golden.h"

#include "nn/param.h"

static const double tolerance = 1e-6;

enum { CAT, KITTEN, DOG, HOUSES, MAN, WOMAN, KING, QUEEN, WORDS, FEATURES = 7 };

static const double word_embedding_table[WORDS * FEATURES] = {
    0.6,  0.9,  0.1,  0.4,  -0.7, -0.3, -0.2, /* cat */
    0.5,  0.8,  -0.1, 0.2,  -0.6, -0.5, -0.1, /* kitten */
    0.7,  -0.1, 0.4,  0.3,  -0.4, -0.1, -0.3, /* dog */
    -0.8, -0.4, -0.5, 0.1,  -0.9, 0.3,  0.8,  /* houses */
    0.6,  -0.2, 0.8,  0.9,  -0.1, -0.9, -0.7, /* man */
    0.7,  0.3,  0.9,  -0.7, 0.1,  -0.5, -0.4, /* woman */
    0.5,  -0.4, 0.7,  0.8,  0.9,  -0.7, -0.6, /* king */
    0.8,  -0.1, 0.8,  -0.9, 0.8,  -0.5, -0.9, /* queen */
};

/* Rows of length 1: x * exp(-log(x . x) / 2). */
static hd_tensor *unit_rows(hd_run *r, hd_tensor *x)
{
    hd_tensor *squares = hd_matmul(r, hd_mul(r, x, x), golden_filled(r, hd_cols_of(x), 1, 1));
    return hd_mul(r, x, hd_apply(r, hd_scale(r, hd_apply(r, squares, HD_log), -0.5f), HD_exp));
}

static void word_embedding_cosines(void **state)
{
    (void)state;
    static const double expected[WORDS * WORDS] = {
        1,         0.960769,  0.611237,  -0.208201, 0.441999,  0.310851,  0.011979,  -0.043971,
        0.960769,  1,         0.485967,  -0.168822, 0.369324,  0.311477,  -0.049233, -0.032858,
        0.611237,  0.485967,  1,         -0.370258, 0.76686,   0.48552,   0.444994,  0.316475,
        -0.208201, -0.168822, -0.370258, 1,         -0.505869, -0.719718, -0.696842, -0.852622,
        0.441999,  0.369324,  0.76686,   -0.505869, 1,         0.433989,  0.823916,  0.38381,
        0.310851,  0.311477,  0.48552,   -0.719718, 0.433989,  1,         0.361233,  0.869315,
        0.011979,  -0.049233, 0.444994,  -0.696842, 0.823916,  0.361233,  1,         0.541995,
        -0.043971, -0.032858, 0.316475,  -0.852622, 0.38381,   0.869315,  0.541995,  1};
    golden g = golden_start();
    hd_tensor *u = unit_rows(&g.run, golden_rows(&g.run, WORDS, FEATURES, word_embedding_table));
    golden_check(&g.run, "word_embedding_cosines", hd_linear(&g.run, u, u, NULL, HD_IDENTITY), expected,
                 WORDS * WORDS, 2e-6);
    golden_stop(&g);
}

static int32_t nearest(hd_run *r, hd_tensor *to, hd_tensor *table, double *cosine)
{
    hd_tensor *best, *c = hd_linear(r, unit_rows(r, to), unit_rows(r, table), NULL, HD_IDENTITY);
    hd_tensor *ids = hd_top(r, c, 2, &best); /* a word of the table is nearest to itself */
    int32_t id[2];
    hd_real value[2];
    assert_non_null(ids);
    r->backend->download(r->backend, id, ids->data, sizeof id);
    assert_true(hd_read(r, best, value));
    int which = (double)value[0] > 0.99999;
    *cosine = (double)value[which];
    return id[which];
}

static void king_minus_man_plus_woman_is_queen(void **state)
{
    (void)state;
    golden g = golden_start();
    hd_run *r = &g.run;
    double cosine;
    hd_tensor *table = golden_rows(r, WORDS, FEATURES, word_embedding_table);
    assert_int_equal(nearest(r, hd_slice_rows(r, table, CAT, 1), table, &cosine), KITTEN);
    hd_tensor *king = hd_slice_rows(r, table, KING, 1), *man = hd_slice_rows(r, table, MAN, 1),
              *woman = hd_slice_rows(r, table, WOMAN, 1);
    assert_int_equal(nearest(r, hd_add(r, hd_sub(r, king, man), woman), table, &cosine), QUEEN);
    assert_true(fabs(cosine - 0.9209) < 5e-5);
    golden_stop(&g);
}

/* The same word has the same vector wherever it stands (a slide shows two for one index). */
static void word_indices(void **state)
{
    (void)state;
    golden g = golden_start();
    hd_run *r = &g.run;
    enum { VOCAB = 11443, D = 5 };
    const int32_t ids[] = {11442, 3582, 882, 3582}; /* where there is there */
    static hd_real table[VOCAB * D];
    hd_real y[4 * D];
    for (size_t i = 0; i < VOCAB * D; i++) table[i] = (hd_real)i;
    assert_true(hd_read(r, hd_embed(r, hd_from(r, VOCAB, D, table), hd_ints(r, ids, 4), 4, 1), y));
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < D; j++) assert_true(y[i * D + j] == (hd_real)(ids[i] * D + j));
    golden_stop(&g);
}

/* On the null backend, whose memory is not real. */
static void gpt3_embedding_parameters(void **state)
{
    (void)state;
    hd_backend *null = NULL;
    hd_err err = {0};
    hd_params p;
    assert_int_equal(hd_backend_new(&null, "null", NULL, &err), HD_OK);
    hd_params_init(&p, null);
    assert_non_null(hd_param_add(&p, 50257, 12288, (hd_init){HD_INIT_NORMAL, 0.02f, 0}, "wte.weight"));
    assert_int_equal(hd_params_ready(&p, true, &err), HD_OK);
    assert_int_equal(hd_params_size(&p), 617558016);
    hd_params_release(&p);
    hd_backend_free(null);
}

static void gumbel_softmax(void **state)
{
    (void)state;
    golden g = golden_start();
    hd_run *r = &g.run;
    hd_tensor *z = hd_add(r, hd_apply(r, golden_rows(r, 1, 3, (double[]){0.5, 0.3, 0.2}), HD_log),
                          golden_rows(r, 1, 3, (double[]){0.2, 1.1, -0.4}));
    golden_check(r, "gumbel_softmax", hd_softmax(r, z), (double[]){0.37101807, 0.54753432, 0.08144761}, 3,
                 tolerance);
    hd_tensor *best = hd_argmax(r, z);
    int32_t id = -1;
    r->backend->download(r->backend, &id, best->data, sizeof id);
    assert_int_equal(id, 1);
    golden_stop(&g);
}

static void temperature_softmax(void **state)
{
    (void)state;
    static const struct {
        double temperature, expected[3], tolerance;
    } cases[] = {{0.5, {0.86681333, 0.11731043, 0.01587624}, 1e-6},
                 {1, {0.66524096, 0.24472847, 0.09003057}, 1e-6},
                 {2, {0.50648039, 0.30719589, 0.18632372}, 1e-6},
                 {0.01, {1, 0, 0}, 1e-6},                   /* towards 0: greedy */
                 {1e5, {1.0 / 3, 1.0 / 3, 1.0 / 3}, 1e-5}}; /* towards infinity: all alike */
    golden g = golden_start();
    hd_tensor *z = golden_rows(&g.run, 1, 3, (double[]){2, 1, 0});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        golden_check(&g.run, "temperature_softmax",
                     hd_softmax(&g.run, hd_scale(&g.run, z, (float)(1 / cases[i].temperature))),
                     cases[i].expected, 3, cases[i].tolerance);
    golden_stop(&g);
}

/* h = sigmoid(W h + U w), p = softmax(S h). */
static void simple_rnn_cell(void **state)
{
    (void)state;
    static const double w[] = {0.1, 0.43, 0.21, 0.09, -0.15, 0.29, -0.12, 0.78, 0.93},
                        u[] = {-0.23, 0.58, 0.06, 0.14, 0.85, -0.86};
    static const double s[] = {-0.83, -0.96, 0.67, 0.56, 0.74, 0.96, 0.6, -0.08, 0.56, -0.76, 0.28, -0.71};
    golden g = golden_start();
    hd_run *r = &g.run;
    hd_tensor *both = hd_concat_cols(r,
                                     (hd_tensor *[]){golden_rows(r, 1, 3, (double[]){0.89, 0.04, -0.17}),
                                                     golden_rows(r, 1, 2, (double[]){-0.47, 0.55})},
                                     2);
    hd_tensor *wu = hd_concat_cols(r, (hd_tensor *[]){golden_rows(r, 3, 3, w), golden_rows(r, 3, 2, u)}, 2);
    hd_tensor *h = hd_linear(r, both, wu, NULL, HD_sigmoid);
    golden_check(r, "simple_rnn_cell, h", h, (double[]){0.62189516, 0.5183917, 0.24858}, 3, tolerance);
    golden_check(r, "simple_rnn_cell, p",
                 hd_softmax(r, hd_linear(r, h, golden_rows(r, 4, 3, s), NULL, HD_IDENTITY)),
                 (double[]){0.08127228, 0.50049287, 0.30367437, 0.11456049}, 4, tolerance);
    golden_stop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(word_embedding_cosines), cmocka_unit_test(king_minus_man_plus_woman_is_queen),
        cmocka_unit_test(word_indices),           cmocka_unit_test(gpt3_embedding_parameters),
        cmocka_unit_test(gumbel_softmax),         cmocka_unit_test(temperature_softmax),
        cmocka_unit_test(simple_rnn_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
