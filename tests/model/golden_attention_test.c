/* The lectures' small examples of attention, by the names they have in golden.json, on the engine's own ops.
   float32 on numbers around 1: 1e-6. */
#include "model/golden.h"

#include <stdio.h>

#include "base/rng.h"
#include "nn/layer.h"

#include <stdio.h>

static const double tolerance = 1e-6;
static const double inf = INFINITY;

static void dot_product_score(void **state)
{
    (void)state;
    golden g = golden_start();
    hd_tensor *s = hd_linear(&g.run, golden_rows(&g.run, 1, 2, (double[]){0.7, 0.3}),
                             golden_rows(&g.run, 1, 2, (double[]){0.8, 0.2}), NULL, HD_IDENTITY);
    golden_check(&g.run, "dot_product_score", s, (double[]){0.62}, 1, tolerance);
    golden_stop(&g);
}

static void weighted_hidden_state(void **state)
{
    (void)state;
    golden g = golden_start();
    hd_tensor *y = hd_mul(&g.run, golden_rows(&g.run, 1, 2, (double[]){0.8, 0.2}),
                          golden_rows(&g.run, 1, 1, (double[]){0.7}));
    golden_check(&g.run, "weighted_hidden_state", y, (double[]){0.56, 0.14}, 2, tolerance);
    /* then the sum with the others: 0.7 (0.8, 0.2) + 0.2 (0.1, 0.9) + 0.1 (-0.4, 0.6), by weights that
       attention has from scores, their logarithms */
    const double states[] = {0.8, 0.2, 0.1, 0.9, -0.4, 0.6}, weights[] = {0.7, 0.2, 0.1};
    double scores[3];
    for (size_t i = 0; i < 3; i++) scores[i] = log(weights[i]);
    hd_rows one = golden_item(&g.run, golden_filled(&g.run, 1, 2, 0)),
            h = golden_item(&g.run, golden_rows(&g.run, 3, 2, states));
    hd_tensor *sum =
        hd_reduce(&g.run, hd_mul(&g.run, h.t, golden_rows(&g.run, 3, 1, weights)), h.seg, HD_SUM);
    golden_check(&g.run, "weighted states, summed", sum, (double[]){0.54, 0.38}, 2, tolerance);
    hd_attend_opt o = {.heads = 1, .ragged = golden_rows(&g.run, 3, 1, scores)};
    golden_check(&g.run, "weighted states by attention", hd_attend(&g.run, one, h, h, &o).t,
                 (double[]){0.54, 0.38}, 2, tolerance);
    golden_stop(&g);
}

/* Scores handed to the op: queries and keys are zero, the values are the unit matrix, so the result is the
 * weights. */
typedef struct handed {
    golden_catch caught;
    hd_real weights[64];
} handed;

static void attend_scores(hd_run *r, const double *scores, size_t n, const char *name, handed *out)
{
    double unit[64] = {0};
    for (size_t i = 0; i < n; i++) unit[i * n + i] = 1;
    hd_rows zero = golden_item(r, golden_filled(r, n, 1, 0)),
            v = hd_rows_with(zero, golden_rows(r, n, n, unit));
    hd_attend_opt o = {.heads = 1, .mask = HD_CAUSAL, .ragged = golden_rows(r, n * n, 1, scores)};
    hd_rows y = golden_attend(r, zero, zero, v, &o, &out->caught, name);
    assert_true(hd_read(r, y.t, out->weights));
}

static void look_ahead_mask_4(void **state)
{
    (void)state;
    golden g = golden_start();
    static handed h;
    const double expected[] = {0, -inf, -inf, -inf, 0, 0, -inf, -inf, 0, 0, 0, -inf, 0, 0, 0, 0};
    attend_scores(&g.run, (double[16]){0}, 4, "masked", &h);
    assert_int_equal(h.caught.count, 16);
    golden_numbers("look_ahead_mask_4", h.caught.value, expected, 16, 0);
    golden_stop(&g);
}

static const double student[] = {0.7, 0.1, 0.1, 0.1, 0.1, 0.6, 0.2, 0.1,
                                 0.1, 0.3, 0.6, 0.1, 0.1, 0.3, 0.3, 0.3};
static const double student_masked[] = {0.7, -INFINITY, -INFINITY, -INFINITY, 0.1, 0.6, -INFINITY, -INFINITY,
                                        0.1, 0.3,       0.6,       -INFINITY, 0.1, 0.3, 0.3,       0.3};
static const double student_weights[] = {
    1,          0,          0,          0, 0.37754067, 0.62245933, 0,          0,
    0.25838965, 0.31559783, 0.42601251, 0, 0.21439866, 0.26186711, 0.26186711, 0.26186711};

static void masked_scores_I_am_a_student(void **state)
{
    (void)state;
    golden g = golden_start();
    static handed h;
    attend_scores(&g.run, student, 4, "masked", &h);
    golden_numbers("masked_scores_I_am_a_student", h.caught.value, student_masked, 16, tolerance);
    golden_stop(&g);
}

static void masked_softmax_I_am_a_student(void **state)
{
    (void)state;
    golden g = golden_start();
    static handed h;
    const double printed[] = {1, 0, 0, 0, 0.37, 0.62, 0, 0, 0.26, 0.3, 0.43, 0, 0.21, 0.26, 0.26, 0.26};
    attend_scores(&g.run, student, 4, "softmax", &h);
    golden_numbers("masked_softmax, offered", h.caught.value, student_weights, 16, tolerance);
    golden_numbers("masked_softmax, used", h.weights, student_weights, 16, tolerance);
    golden_numbers("masked_softmax, printed", h.weights, printed, 16,
                   0.016); /* the slide cuts, it does not round */
    hd_tensor *y = hd_softmax(&g.run, golden_rows(&g.run, 4, 4, student_masked));
    golden_check(&g.run, "masked_softmax, of -inf", y, student_weights, 16, tolerance);
    golden_stop(&g);
}

/* Each row divided by its sum: s * exp(-log(s . 1)). */
static hd_tensor *row_shares(hd_run *r, hd_tensor *s)
{
    hd_tensor *sum = hd_matmul(r, s, golden_filled(r, hd_cols_of(s), 1, 1));
    return hd_mul(r, s, hd_apply(r, hd_scale(r, hd_apply(r, sum, HD_log), -1), HD_exp));
}

/* Similarities of five words, the third and the fifth alike by x; and what becomes of them. */
static void fill_apple(double m[25], double own, double other, double unrelated, double lone, double rest)
{
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++) {
            bool pair = i == 2 || i == 4;
            m[i * 5 + j] = i == j                       ? (pair ? own : lone)
                           : pair && (j == 2 || j == 4) ? other
                           : pair                       ? unrelated
                                                        : rest;
        }
}

static void apple_normalized(void **state)
{
    (void)state;
    golden g = golden_start();
    double s[25], y[25];
    fill_apple(s, 1, 0.25, 0, 1, 0), fill_apple(y, 0.8, 0.2, 0, 1, 0);
    golden_check(&g.run, "apple_fruit_normalized", row_shares(&g.run, golden_rows(&g.run, 5, 5, s)), y, 25,
                 tolerance);
    fill_apple(s, 1, 0.11, 0, 1, 0), fill_apple(y, 0.9009009, 0.0990991, 0, 1, 0);
    golden_check(&g.run, "apple_brand_normalized", row_shares(&g.run, golden_rows(&g.run, 5, 5, s)), y, 25,
                 tolerance);
    golden_stop(&g);
}

/* Beside "orange" and beside "phone": the word's vector becomes the sum of all vectors, each times its share
   of the similarities. Fruits lie along the first axis, brands along the second, "apple" between them; other
   words are their own. */
static void apple_moves_to_its_neighbor(void **state)
{
    (void)state;
    golden g = golden_start();
    static const struct {
        const char *name;
        double similarity, own, other; /* shares of the row */
        double neighbor[2];
    } cases[] = {{"apple beside orange", 0.25, 0.8, 0.2, {2, 0}},
                 {"apple beside phone", 0.11, 0.9009009, 0.0990991, {0, 2}}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double s[25], words[10] = {5, 5, 6, 4, 1, 1, 4, 6, cases[k].neighbor[0], cases[k].neighbor[1]},
                      want[10];
        fill_apple(s, 1, cases[k].similarity, 0, 1, 0);
        memcpy(want, words, sizeof want);
        for (int c = 0; c < 2; c++) {
            want[4 + c] = cases[k].own * words[4 + c] + cases[k].other * words[8 + c];
            want[8 + c] = cases[k].other * words[4 + c] + cases[k].own * words[8 + c];
        }
        hd_tensor *moved = hd_matmul(&g.run, row_shares(&g.run, golden_rows(&g.run, 5, 5, s)),
                                     golden_rows(&g.run, 5, 2, words));
        golden_check(&g.run, cases[k].name, moved, want, 10, 1e-6);
        assert_true(k ? want[5] > want[4] : want[4] > want[5]); /* nearer to the axis of its neighbor */
    }
    golden_stop(&g);
}

static void apple_fruit_softmax(void **state)
{
    (void)state;
    golden g = golden_start();
    double s[25], y[25];
    fill_apple(s, 1, 0.25, 0, 1, 0),
        fill_apple(y, 0.38819802, 0.18337176, 0.14281007, 0.40460968, 0.14884758);
    golden_check(&g.run, "apple_fruit_softmax", hd_softmax(&g.run, golden_rows(&g.run, 5, 5, s)), y, 25,
                 tolerance);
    golden_stop(&g);
}

static hd_tensor *random_rows(hd_run *r, size_t rows, size_t cols, uint64_t seed)
{
    double x[GOLDEN_MOST];
    hd_rng rng = hd_rng_make(seed, 0);
    for (size_t i = 0; i < rows * cols; i++) x[i] = hd_rng_normal(&rng);
    return golden_rows(r, rows, cols, x);
}

/* softmax(X X^T) X, and rows in another order give the same rows in that order. */
static void self_attention_without_parameters(void **state)
{
    (void)state;
    golden g = golden_start();
    hd_run *r = &g.run;
    const int32_t order[] = {3, 0, 4, 2, 1};
    hd_real plain[20], moved[20];
    double expected[20];
    hd_rows x = golden_item(r, random_rows(r, 5, 4, 7)),
            z = hd_rows_with(x, hd_gather(r, x.t, hd_ints(r, order, 5), 5, 1));
    const hd_attend_opt o = {.heads = 1, .scale = 1};
    hd_tensor *by_hand = hd_matmul(r, hd_softmax(r, hd_linear(r, x.t, x.t, NULL, HD_IDENTITY)), x.t);
    assert_true(hd_read(r, by_hand, plain));
    for (int i = 0; i < 20; i++) expected[i] = (double)plain[i];
    golden_check(r, "softmax(X X^T) X", hd_attend(r, x, x, x, &o).t, expected, 20, tolerance);
    assert_true(hd_read(r, hd_attend(r, z, z, z, &o).t, moved));
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 4; j++) expected[i * 4 + j] = (double)plain[order[i] * 4 + j];
    golden_numbers("permutation", moved, expected, 20, tolerance);
    golden_stop(&g);
}

static const double h_dec[] = {-0.09, 0.14, -0.96};
static const double h_enc[] = {0.24, 0.22, 0.23, 0.89, 0.36, -0.28, -0.13, 0.4, -0.88, 0.33, 0.34, -0.58};
static const double w_a[] = {-0.74, -0.37, -0.27, 0.14, -0.12, 0.98, -0.8, -0.58, -0.68};
static const double w_a2[] = {0.31,  -0.49, -0.07, -0.51, -0.68, -0.78, 0.31,  -0.72, -0.61, -0.26,
                              0.64,  -0.81, 0.68,  -0.81, 0.95,  -0.06, 0.95,  0.21,  0.48,  -0.92,
                              -0.43, -0.76, -0.41, -0.76, -0.36, -0.17, -0.87, 0.38,  0.13,  -0.47};
static const double w_a1[] = {0.05, -0.81, 0.15, 0.86, -0.36};

typedef struct option {
    const char *name;
    double scores[4], weights[4], context[3];
} option;

/* The op offers "scaled" as what the softmax is taken of. */
static void check_option(hd_run *r, const option *e, hd_tensor *q, hd_tensor *k, hd_tensor *v,
                         const hd_attend_opt *o)
{
    static golden_catch c;
    hd_rows qs = golden_item(r, q), ks = golden_item(r, k), vs = hd_rows_with(ks, v);
    golden_attend(r, qs, ks, vs, o, &c, "scaled");
    assert_int_equal(c.count, 4);
    golden_numbers(e->name, c.value, e->scores, 4, tolerance);
    hd_rows y = golden_attend(r, qs, ks, vs, o, &c, "softmax");
    golden_numbers(e->name, c.value, e->weights, 4, tolerance);
    golden_check(r, e->name, y.t, e->context, 3, tolerance);
}

static void attention_score_options(void **state)
{
    (void)state;
    static const option dot = {"dot",
                               {-0.2116, 0.2391, 0.9125, 0.5747},
                               {0.12751662, 0.2001259, 0.39242549, 0.27993199},
                               {0.25007829, 0.35224605, -0.53440142}};
    static const option scaled = {"scaled_dot",
                                  {-0.12216732, 0.13804445, 0.52683212, 0.3318032},
                                  {0.17284945, 0.22422113, 0.33076905, 0.27216037},
                                  {0.28785362, 0.34358863, -0.47195633}};
    static const option bilinear = {"bilinear",
                                    {0.518423, 0.738622, -0.59831, 0.004514},
                                    {0.3152759, 0.39293615, 0.10320478, 0.18858317},
                                    {0.47419522, 0.3162179, -0.23770711}};
    static const option mlp = {"mlp",
                               {-0.82225634, -1.2284913, -0.52668926, -0.80772889},
                               {0.24846725, 0.16551736, 0.33391221, 0.25210319},
                               {0.24672805, 0.33352901, -0.42925999}};
    golden g = golden_start();
    hd_run *r = &g.run;
    hd_tensor *q = golden_rows(r, 1, 3, h_dec), *h = golden_rows(r, 4, 3, h_enc),
              *w2 = golden_rows(r, 5, 6, w_a2);
    check_option(r, &dot, q, h, h, &(hd_attend_opt){.heads = 1, .scale = 1});
    check_option(r, &scaled, q, h, h, &(hd_attend_opt){.heads = 1});
    check_option(r, &bilinear, hd_matmul(r, q, golden_rows(r, 3, 3, w_a)), h, h,
                 &(hd_attend_opt){.heads = 1, .scale = 1});
    /* W [h_dec; h_enc] is the sum of two products, one for each half of W's columns */
    hd_tensor *left = hd_linear(r, q, hd_slice_cols(r, w2, 0, 3), NULL, HD_IDENTITY),
              *right = hd_linear(r, h, hd_slice_cols(r, w2, 3, 3), NULL, HD_IDENTITY);
    check_option(r, &mlp, left, right, h,
                 &(hd_attend_opt){.heads = 1, .score = HD_ADDITIVE, .additive = golden_rows(r, 1, 5, w_a1)});
    hd_rows all = golden_item(r, h);
    golden_check(r, "mean_of_states", hd_reduce(r, h, all.seg, HD_MEAN), (double[]){0.3325, 0.33, -0.3775}, 3,
                 tolerance);
    golden_stop(&g);
}

static void bahdanau_module(void **state)
{
    (void)state;
    static const double wa[] = {0.54277045, 0.23996971,  -0.04690054, 0.48583758, 0.16745943,
                                0.33618863, -0.37111362, -0.17192611, 0.0939244};
    static const double ba[] = {-0.24452413, -0.05442237, -0.37319976},
                        bu[] = {0.20408076, -0.45063891, 0.02742652},
                        va[] = {-0.31636462, 0.06725331, 0.10106974};
    static const double ua[] = {-0.16712355, 0.14076406, -0.02095966, -0.0683577, -0.10706202,
                                -0.34013021, 0.19056967, 0.32894405,  -0.33443999};
    static const double query[] = {-0.02087947, -0.71848004, 0.51863675, -1.31252196, 0.19199507, 0.54277135};
    static const double keys[] = {-0.00944628, -1.21768778, -1.26546531, -1.11953518, 1.16648572,
                                  0.92623246,  0.79701002,  0.21166418,  -0.07441945, 0.86538971,
                                  0.99455293,  0.11494421,  0.14466901,  1.07417172,  -1.12879864,
                                  -0.09376858, 0.05837477,  -1.001669,   0.83514757,  -0.29286147,
                                  -0.57874361, -3.47963524, 0.74948833,  -0.56055521};
    static const double weights[] = {0.26730198, 0.21624604, 0.26011084, 0.25634114,
                                     0.26195309, 0.26190847, 0.26827262, 0.20786582};
    static const double context[] = {0.18452587,  0.23675854, -0.12785966,
                                     -0.48591229, 0.37389774, -0.82981922};
    static golden_catch c;
    golden g = golden_start();
    hd_run *r = &g.run;
    hd_tensor *k = golden_rows(r, 8, 3, keys);
    hd_rows q = {hd_linear(r, golden_rows(r, 2, 3, query), golden_rows(r, 3, 3, wa), golden_rows(r, 1, 3, ba),
                           HD_IDENTITY),
                 hd_seg_of(r, (int32_t[]){1, 1}, 2, NULL)};
    hd_rows ks = {hd_linear(r, k, golden_rows(r, 3, 3, ua), golden_rows(r, 1, 3, bu), HD_IDENTITY),
                  hd_seg_of(r, (int32_t[]){4, 4}, 2, NULL)};
    /* the module's Va.bias moves all scores alike and changes no weight */
    hd_attend_opt o = {.heads = 1, .score = HD_ADDITIVE, .additive = golden_rows(r, 1, 3, va)};
    hd_rows y = golden_attend(r, q, ks, hd_rows_with(ks, k), &o, &c, "softmax");
    golden_numbers("bahdanau_module, weights", c.value, weights, 8, tolerance);
    golden_check(r, "bahdanau_module, context", y.t, context, 6, tolerance);
    golden_stop(&g);
}

/* Why scores are divided by sqrt(d): those of random vectors vary by d. */
static void scaling_keeps_the_variance_at_one(void **state)
{
    (void)state;
    static golden_catch c;
    golden g = golden_start();
    hd_run *r = &g.run;
    enum { ROWS = 60, D = 64 };
    hd_rows q = golden_item(r, random_rows(r, ROWS, D, 1)), k = golden_item(r, random_rows(r, ROWS, D, 2));
    const struct {
        const char *name;
        double variance;
    } cases[] = {{"scores", D}, {"scaled", 1}};
    for (int i = 0; i < 2; i++) {
        double sum = 0, squares = 0;
        golden_attend(r, q, k, k, &(hd_attend_opt){.heads = 1}, &c, cases[i].name);
        assert_int_equal(c.count, ROWS * ROWS);
        for (size_t j = 0; j < c.count; j++)
            sum += (double)c.value[j], squares += (double)c.value[j] * (double)c.value[j];
        double n = (double)c.count, variance = squares / n - sum / n * (sum / n);
        assert_true(fabs(variance / cases[i].variance - 1) < 0.1);
    }
    golden_stop(&g);
}

/* Keras' MultiHeadAttention on (None, 6, 16): sizes of all weights together, of the result and of the scores.
 */
static void keras_mha_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int heads;
        size_t key_dim, numbers;
    } cases[] = {{"keras_mha_shapes_h1_k2", 1, 2, 150},
                 {"keras_mha_shapes_h3_k2", 3, 2, 418},
                 {"keras_mha_shapes_h3_k5", 3, 5, 1021}};
    static golden_catch c;
    golden g = golden_start();
    hd_run *r = &g.run;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_err err = {0};
        hd_params p;
        hd_params_init(&p, g.backend);
        hd_mha m = hd_mha_make(&p, &(hd_mha_opt){.width = 16,
                                                 .head_width = cases[i].key_dim,
                                                 .heads = cases[i].heads,
                                                 .init = {HD_INIT_XAVIER, 1, 0},
                                                 .name = "mha",
                                                 .query = "query",
                                                 .key = "key",
                                                 .value = "value",
                                                 .out = "output"});
        assert_int_equal(hd_params_ready(&p, false, &err), HD_OK);
        assert_int_equal(hd_params_draw(&p, 1, &err), HD_OK);
        if (hd_params_size(&p) != cases[i].numbers)
            fail_msg("%s: %zu parameters", cases[i].name, hd_params_size(&p));
        /* Keras: kernels (d, h, k) and biases (h, k) of query, key and value; of the output (h, k, d) and (d)
         */
        static const char *const parts[] = {"query", "key", "value", "output"};
        size_t inner = (size_t)cases[i].heads * cases[i].key_dim;
        for (size_t k = 0; k < 4; k++) {
            char name[32];
            snprintf(name, sizeof name, "mha.%s.weight", parts[k]);
            const hd_tensor *w = &hd_params_find(&p, name)->t;
            assert_int_equal(hd_rows_of(w), k < 3 ? inner : 16);
            assert_int_equal(hd_cols_of(w), k < 3 ? 16 : inner);
            snprintf(name, sizeof name, "mha.%s.bias", parts[k]);
            assert_int_equal(hd_count_of(&hd_params_find(&p, name)->t), k < 3 ? inner : 16);
        }
        c = (golden_catch){.name = "softmax", .probe = {.take = golden_take, .context = &c}};
        r->probe = &c.probe;
        hd_rows x = golden_item(r, random_rows(r, 6, 16, 3)), y = hd_mha_of(r, &m, x, x, HD_FULL, NULL);
        r->probe = NULL;
        assert_non_null(y.t);
        assert_int_equal(hd_rows_of(y.t), 6);
        assert_int_equal(hd_cols_of(y.t), 16);
        assert_int_equal(c.count, (size_t)cases[i].heads * 36);
        assert_int_equal(c.columns, cases[i].heads);
        hd_params_release(&p);
    }
    golden_stop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dot_product_score),
        cmocka_unit_test(weighted_hidden_state),
        cmocka_unit_test(look_ahead_mask_4),
        cmocka_unit_test(masked_scores_I_am_a_student),
        cmocka_unit_test(masked_softmax_I_am_a_student),
        cmocka_unit_test(apple_normalized),
        cmocka_unit_test(apple_moves_to_its_neighbor),
        cmocka_unit_test(apple_fruit_softmax),
        cmocka_unit_test(self_attention_without_parameters),
        cmocka_unit_test(attention_score_options),
        cmocka_unit_test(bahdanau_module),
        cmocka_unit_test(scaling_keeps_the_variance_at_one),
        cmocka_unit_test(keras_mha_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
