/* What the lectures claim of attention without giving numbers, on the engine's own ops. float32 on numbers
   around 1: 1e-6, unless the bits must agree. */
#include "check.h"
#include "nn/front.h"
#include "nn/layer.h"
#include "nn/position.h"
#include "nn/recurrent.h"

enum { N = 5, D = 4 };

static hd_backend *backend;
static hd_run run, *const r = &run;

static int begin(void **state)
{
    (void)state;
    hd_run_begin(r, HD_INFERENCE);
    return 0;
}

static int open_all(void **state)
{
    (void)state;
    backend = backend_of("cpu", 1), run = run_on(backend);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    hd_run_release(r);
    hd_backend_free(backend);
    return 0;
}

/* One item of all rows. */
static hd_rows item(hd_tensor *t)
{
    return (hd_rows){t, t ? hd_seg_of(r, (int32_t[]){(int32_t)hd_rows_of(t)}, 1, NULL) : NULL};
}

static void assert_near(const hd_tensor *got, const hd_tensor *want, double tolerance)
{
    hd_real *a = host_copy(r, got), *b = host_copy(r, want);
    assert_int_equal(hd_count_of(got), hd_count_of(want));
    for (size_t i = 0; i < hd_count_of(got); i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= tolerance))
            fail_msg("number %zu is %.9g, expected %.9g", i, (double)a[i], (double)b[i]);
    free(a), free(b);
}

static double distance(const hd_tensor *a, const hd_tensor *b)
{
    hd_real *x = host_copy(r, a), *y = host_copy(r, b);
    double most = 0;
    for (size_t i = 0; i < hd_count_of(a); i++) most = fmax(most, fabs((double)x[i] - (double)y[i]));
    free(x), free(y);
    return most;
}

static hd_tensor *unit_matrix(size_t n)
{
    hd_real x[64] = {0};
    assert_true(n * n <= COUNT_OF(x));
    for (size_t i = 0; i < n; i++) x[i * n + i] = 1;
    return hd_from(r, n, n, x);
}

static hd_tensor *mean_of(hd_tensor *x)
{
    return hd_reduce(r, x, item(x).seg, HD_MEAN);
}

/* -- context -- */

/* The printed 1/N in front of the sum would make it h / N. */
static void equal_states_are_their_own_context(void **state)
{
    (void)state;
    hd_tensor *h = random_rows(r, 1, D, 1, 1), *all = hd_gather(r, h, hd_ints(r, (int32_t[N]){0}, N), N, 1);
    hd_rows c =
        hd_attend(r, item(random_rows(r, 1, D, 1, 2)), item(all), item(all), &(hd_attend_opt){.heads = 1});
    assert_near(c.t, h, 1e-6);
}

/* Weights are above 0 and add up to 1; the context is none of the states, and another one for each query. */
static void a_context_is_a_mixture_and_no_choice(void **state)
{
    (void)state;
    hd_tensor *h = random_rows(r, N, D, 1, 3), *q = random_rows(r, 2, D, 1, 4);
    const hd_attend_opt o = {.heads = 1};
    hd_real *w = host_copy(r, hd_attend(r, item(q), item(h), item(unit_matrix(N)), &o).t);
    for (int i = 0; i < 2; i++) {
        double sum = 0;
        for (int j = 0; j < N; j++) assert_true(w[i * N + j] > 0), sum += (double)w[i * N + j];
        assert_true(fabs(sum - 1) < 1e-6);
    }
    free(w);
    hd_tensor *c = hd_attend(r, item(q), item(h), item(h), &o).t;
    hd_tensor *first = hd_slice_rows(r, c, 0, 1);
    assert_true(distance(first, hd_slice_rows(r, c, 1, 1)) > 0.1);
    for (size_t j = 0; j < N; j++) assert_true(distance(first, hd_slice_rows(r, h, j, 1)) > 0.1);
}

/* Scores of a sixty-fourth have no rounding beside 1000: the bits agree, and exp(1000) is never taken. */
static void a_thousand_more_changes_no_weight(void **state)
{
    (void)state;
    hd_real score[2][N * N];
    hd_tensor *zero = hd_from(r, N, D, (hd_real[N * D]){0}), *w[2];
    hd_rng rng = hd_rng_make(5, 5);
    for (size_t i = 0; i < N * N; i++) {
        score[0][i] = (hd_real)hd_rng_below(&rng, 200) / 64;
        score[1][i] = score[0][i] + 1000;
    }
    for (int i = 0; i < 2; i++) {
        hd_attend_opt o = {.heads = 1, .ragged = hd_from(r, N * N, 1, score[i])};
        w[i] = hd_attend(r, item(zero), item(zero), item(unit_matrix(N)), &o).t;
    }
    assert_near(w[1], w[0], 0);
    assert_near(hd_softmax(r, hd_from(r, N, N, score[1])), hd_softmax(r, hd_from(r, N, N, score[0])), 0);
    assert_near(w[0], hd_softmax(r, hd_from(r, N, N, score[0])), 1e-6);
}

/* The decoder's first query is 0. */
static void a_query_of_zeros_gives_the_mean_of_the_values(void **state)
{
    (void)state;
    hd_tensor *k = random_rows(r, N, D, 1, 6), *v = random_rows(r, N, D, 1, 7),
              *q = hd_from(r, 1, D, (hd_real[D]){0});
    assert_near(hd_attend(r, item(q), item(k), item(v), &(hd_attend_opt){.heads = 1}).t, mean_of(v), 1e-6);
}

/* Keys, values and queries by maps of their own; by the unit matrix they are the states themselves. */
static void states_are_a_special_case_of_keys_and_values(void **state)
{
    (void)state;
    hd_tensor *h = random_rows(r, N, D, 1, 8), *s = random_rows(r, 1, D, 1, 9), *c[2];
    const hd_attend_opt o = {.heads = 1};
    hd_tensor *plain = hd_attend(r, item(s), item(h), item(h), &o).t;
    for (int i = 0; i < 2; i++) {
        hd_tensor *w[3];
        for (uint64_t j = 0; j < 3; j++) w[j] = i ? random_rows(r, D, D, 1, 10 + j) : unit_matrix(D);
        c[i] = hd_attend(r, item(hd_matmul(r, s, w[0])), item(hd_matmul(r, h, w[1])),
                         item(hd_matmul(r, h, w[2])), &o)
                   .t;
    }
    assert_near(c[0], plain, 0);
    assert_true(distance(c[1], plain) > 0.1);
}

/* Scores far apart: what was a mixture is a lookup of the best key's value. */
static void a_sharp_softmax_looks_up(void **state)
{
    (void)state;
    hd_tensor *k = unit_matrix(N), *v = random_rows(r, N, D, 1, 12);
    for (size_t i = 0; i < N; i++) {
        hd_tensor *q = hd_slice_rows(r, unit_matrix(N), i, 1);
        hd_attend_opt o = {.heads = 1, .scale = 100};
        assert_near(hd_attend(r, item(q), item(k), item(v), &o).t, hd_slice_rows(r, v, i, 1), 1e-6);
    }
}

static void two_words_alike_meet_in_the_middle(void **state)
{
    (void)state;
    hd_real alike[2 * 2] = {0};
    hd_tensor *v = random_rows(r, 2, D, 1, 13), *zero = hd_from(r, 2, D, (hd_real[2 * D]){0});
    hd_attend_opt o = {.heads = 1, .ragged = hd_from(r, 4, 1, alike)};
    hd_tensor *y = hd_attend(r, item(zero), item(zero), item(v), &o).t;
    for (size_t i = 0; i < 2; i++) assert_near(hd_slice_rows(r, y, i, 1), mean_of(v), 1e-7);
}

/* One lecture writes keys in rows and queries in columns, and takes the softmax of columns. */
static void columns_are_rows_transposed(void **state)
{
    (void)state;
    hd_tensor *q = random_rows(r, 3, D, 1, 14), *k = random_rows(r, N, D, 1, 15);
    hd_tensor *rows = hd_softmax(r, hd_linear(r, q, k, NULL, HD_IDENTITY)),
              *scores = hd_linear(r, k, q, NULL, HD_IDENTITY),
              *columns = hd_segment_softmax(r, scores, item(scores).seg);
    hd_real *a = host_copy(r, rows), *b = host_copy(r, columns);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < N; j++) assert_true(fabs((double)(a[i * N + j] - b[j * 3 + i])) < 1e-6);
    free(a), free(b);
}

/* -- order -- */

static hd_tensor *positions(void)
{
    hd_real p[N * D];
    hd_sinusoid_fill(p, N, D, &(hd_sinusoid){0});
    return hd_from(r, N, D, p);
}

static hd_tensor *attended(hd_tensor *x)
{
    return hd_attend(r, item(x), item(x), item(x), &(hd_attend_opt){.heads = 2}).t;
}

/* Padded to 20 rows whose keys are masked: the rows that count are as they were. */
static void padding_that_is_masked_changes_nothing(void **state)
{
    (void)state;
    enum { PADDED = 20 };
    hd_real score[PADDED * PADDED];
    for (size_t i = 0; i < PADDED * PADDED; i++) score[i] = i % PADDED < N ? 0 : (hd_real)-INFINITY;
    hd_tensor *x = random_rows(r, N, D, 1, 30), *fill = random_rows(r, PADDED - N, D, 5, 31),
              *padded = hd_concat_rows(r, (hd_tensor *[]){x, fill}, 2);
    hd_attend_opt masked = {.heads = 1, .ragged = hd_from(r, PADDED * PADDED, 1, score)},
                  plain = {.heads = 1};
    hd_tensor *y = hd_attend(r, item(padded), item(padded), item(padded), &masked).t,
              *seen = hd_attend(r, item(padded), item(padded), item(padded), &plain).t,
              *want = hd_attend(r, item(x), item(x), item(x), &plain).t;
    assert_near(hd_slice_rows(r, y, 0, N), want, 1e-6);
    assert_true(distance(hd_slice_rows(r, seen, 0, N), want) > 0.1); /* without a mask they are not */
}

/* Words in another order give the same rows in that order, unless they know their positions. */
static void only_positions_tell_order(void **state)
{
    (void)state;
    static const int32_t order[N] = {3, 0, 4, 2, 1};
    hd_tensor *x = random_rows(r, N, D, 1, 16), *p = positions();
    const int32_t *index = hd_ints(r, order, N);
    hd_tensor *moved = hd_gather(r, x, index, N, 1);
    assert_near(attended(moved), hd_gather(r, attended(x), index, N, 1), 1e-6);
    assert_true(
        distance(attended(hd_add(r, moved, p)), hd_gather(r, attended(hd_add(r, x, p)), index, N, 1)) > 0.1);
}

static void a_word_that_comes_again_weighs_the_same_at_any_distance(void **state)
{
    (void)state;
    hd_tensor *x =
                  hd_gather(r, random_rows(r, N, D, 1, 17), hd_ints(r, (int32_t[N]){0, 1, 2, 0, 3}, N), N, 1),
              *placed = hd_add(r, x, positions());
    const hd_attend_opt o = {.heads = 1};
    hd_real *w = host_copy(r, hd_attend(r, item(x), item(x), item(unit_matrix(N)), &o).t),
            *far = host_copy(r, hd_attend(r, item(placed), item(placed), item(unit_matrix(N)), &o).t);
    for (int i = 0; i < N; i++) {
        assert_true(w[i * N] == w[i * N + 3]);
        assert_true(fabs((double)(far[i * N] - far[i * N + 3])) > 1e-3);
    }
    free(w), free(far);
}

/* -- layers -- */

static hd_mha_opt attention_opt(size_t width, int heads, size_t head_width)
{
    return (hd_mha_opt){.width = width,
                        .heads = heads,
                        .head_width = head_width,
                        .init = {HD_INIT_XAVIER, 1, 0},
                        .name = "mha",
                        .query = "q",
                        .key = "k",
                        .value = "v",
                        .out = "out"};
}

static void ready(hd_params *p, bool training)
{
    hd_err err = {0};
    if (hd_params_ready(p, training, &err) || hd_params_draw(p, 1, &err)) fail_msg("%s", err.text);
}

static void eight_heads_of_four_go_from_4_to_32_to_4(void **state)
{
    (void)state;
    hd_params p;
    hd_mha_opt o = attention_opt(4, 8, 4);
    hd_params_init(&p, backend);
    hd_mha m = hd_mha_make(&p, &o);
    ready(&p, false);
    assert_int_equal(hd_rows_of(&hd_params_find(&p, "mha.q.weight")->t), 32);
    assert_int_equal(hd_cols_of(&m.out.w->t), 32);
    hd_rows x = item(random_rows(r, N, 4, 1, 18)), y = hd_mha_of(r, &m, x, x, HD_FULL, NULL);
    assert_run_ok(r);
    assert_int_equal(hd_rows_of(y.t), N), assert_int_equal(hd_cols_of(y.t), 4);
    hd_params_release(&p);
}

/* What a layer makes of a word from the word alone, before any attention. */
static void a_feed_forward_layer_knows_one_word_at_a_time(void **state)
{
    (void)state;
    hd_params p;
    hd_params_init(&p, backend);
    const hd_dense_opt o = {.init = {HD_INIT_XAVIER, 1, 0}};
    hd_ffn f = {
        .in = hd_dense_make(&p, D, 7, &o, "in"), .out = hd_dense_make(&p, 7, D, &o, "out"), .act = HD_relu};
    ready(&p, false);
    hd_rows x = item(random_rows(r, N, D, 1, 22)), y = hd_ffn_of(r, &f, x);
    assert_int_equal(hd_rows_of(y.t), N), assert_int_equal(hd_cols_of(y.t), D);
    for (size_t i = 0; i < N; i++) {
        hd_rows one = item(hd_slice_rows(r, x.t, i, 1));
        assert_near(hd_ffn_of(r, &f, one).t, hd_slice_rows(r, y.t, i, 1), 0);
    }
    hd_params_release(&p);
}

/* x + attention(x): what attention has nothing to say to stays as it is. */
/* The first representation of a sentence: each word's vector through a layer of its own. A word that comes
   again has the same one, and another word changes no row but its own. */
static void the_first_representation_is_of_each_word_alone(void **state)
{
    (void)state;
    hd_params p;
    hd_params_init(&p, backend);
    const hd_dense_opt o = {.init = {HD_INIT_XAVIER, 1, 0}};
    hd_front e = hd_tokens_make(
        &p, &(hd_tokens_opt){.vocab = 9, .width = D, .init = {HD_INIT_NORMAL, 1, 0}, .table_name = "table"});
    hd_ffn f = {
        .in = hd_dense_make(&p, D, 7, &o, "in"), .out = hd_dense_make(&p, 7, D, &o, "out"), .act = HD_relu};
    ready(&p, false);
    hd_tensor *h[2];
    for (int k = 0; k < 2; k++) {
        const int32_t words[N] = {3, 8, k ? 5 : 4, 8, 1};
        const hd_seg *seg = hd_seg_of(r, (int32_t[]){N}, 1, NULL);
        h[k] = hd_ffn_of(r, &f, hd_front_rows(r, &e, &(hd_items){.seg = seg, .ids = hd_ints(r, words, N)})).t;
    }
    assert_near(hd_slice_rows(r, h[0], 1, 1), hd_slice_rows(r, h[0], 3, 1), 0);
    for (size_t i = 0; i < N; i++) {
        double far = distance(hd_slice_rows(r, h[0], i, 1), hd_slice_rows(r, h[1], i, 1));
        assert_true(i == 2 ? far > 1e-3 : far == 0);
    }
    hd_params_release(&p);
}

static void without_values_the_stream_goes_on_unchanged(void **state)
{
    (void)state;
    hd_params p;
    hd_mha_opt o = attention_opt(8, 2, 0);
    hd_params_init(&p, backend);
    hd_mha m = hd_mha_make(&p, &o);
    ready(&p, false);
    hd_rows x = item(random_rows(r, N, 8, 1, 19));
    hd_tensor *before = hd_add(r, x.t, hd_mha_of(r, &m, x, x, HD_FULL, NULL).t);
    assert_true(distance(before, x.t) > 0.1);
    assert_int_equal(hd_params_set(&p, hd_params_find(&p, "mha.v.weight"), (hd_real[64]){0}), HD_OK);
    assert_near(hd_add(r, x.t, hd_mha_of(r, &m, x, x, HD_FULL, NULL).t), x.t, 0);
    hd_params_release(&p);
}

/* A recurrent layer both ways, self-attention, a recurrent layer: every weight takes part. */
static void recurrent_and_attention_layers_stack(void **state)
{
    (void)state;
    hd_params p;
    hd_mha_opt o = attention_opt(8, 2, 0);
    hd_params_init(&p, backend);
    hd_recurrent in = hd_recurrent_make(
        &p, &(hd_recurrent_opt){
                .cell = HD_GRU, .in = D, .width = 4, .layers = 1, .both_ways = true, .name = "in"});
    hd_mha m = hd_mha_make(&p, &o);
    hd_recurrent out = hd_recurrent_make(
        &p, &(hd_recurrent_opt){.cell = HD_LSTM, .in = 8, .width = 3, .layers = 1, .name = "out"});
    ready(&p, true);
    hd_run_begin(r, HD_TRAIN);
    hd_rows x = hd_recurrent_of(r, &in, item(random_rows(r, N, D, 1, 20)), NULL, NULL, NULL);
    x = hd_recurrent_of(r, &out, hd_mha_of(r, &m, x, x, HD_FULL, NULL), NULL, NULL, NULL);
    hd_sum_loss(r, x.t, 1);
    hd_backward(r);
    assert_run_ok(r);
    for (size_t i = 0; i < p.count; i++) {
        if (!p.list[i]->name || strstr(p.list[i]->name, "k.bias")) continue; /* moves all scores alike */
        const hd_real *g = p.list[i]->grad.data;
        double most = 0;
        for (size_t j = 0; j < hd_count_of(&p.list[i]->t); j++) most = fmax(most, fabs((double)g[j]));
        if (!(most > 1e-6)) fail_msg("nothing flows to %s", p.list[i]->name);
    }
    hd_params_release(&p);
}

/* A layer that reads both ways: where both directions have the same weights, turning the
   sentence round turns the rows round and exchanges their halves. */
static void a_sentence_turned_round_exchanges_the_directions(void **state)
{
    (void)state;
    enum { WIDE = 3 };
    static const int32_t back[N] = {4, 3, 2, 1, 0};
    hd_params p;
    hd_params_init(&p, backend);
    hd_recurrent m = hd_recurrent_make(
        &p, &(hd_recurrent_opt){
                .cell = HD_GRU, .in = D, .width = WIDE, .layers = 1, .both_ways = true, .name = "rnn"});
    ready(&p, false);
    const hd_recurrent_pass *there = &m.pass[0][0], *again = &m.pass[0][1];
    hd_param *const from[] = {there->w_in, there->w, there->b_in, there->b}, *const to[] = {
                                                                                 again->w_in, again->w,
                                                                                 again->b_in, again->b};
    for (size_t i = 0; i < COUNT_OF(from); i++)
        assert_int_equal(hd_params_set(&p, to[i], from[i]->t.data), HD_OK);
    hd_rows x = item(random_rows(r, N, D, 1, 21));
    const int32_t *index = hd_ints(r, back, N);
    hd_tensor *y = hd_recurrent_of(r, &m, x, NULL, NULL, NULL).t,
              *z =
                  hd_recurrent_of(r, &m, hd_rows_with(x, hd_gather(r, x.t, index, N, 1)), NULL, NULL, NULL).t;
    z = hd_gather(r, z, index, N, 1);
    assert_near(hd_slice_cols(r, z, 0, WIDE), hd_slice_cols(r, y, WIDE, WIDE), 0);
    assert_near(hd_slice_cols(r, z, WIDE, WIDE), hd_slice_cols(r, y, 0, WIDE), 0);
    hd_params_release(&p);
}

#define CLAIM(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(equal_states_are_their_own_context),
        CLAIM(a_context_is_a_mixture_and_no_choice),
        CLAIM(a_thousand_more_changes_no_weight),
        CLAIM(a_query_of_zeros_gives_the_mean_of_the_values),
        CLAIM(states_are_a_special_case_of_keys_and_values),
        CLAIM(a_sharp_softmax_looks_up),
        CLAIM(two_words_alike_meet_in_the_middle),
        CLAIM(columns_are_rows_transposed),
        CLAIM(padding_that_is_masked_changes_nothing),
        CLAIM(only_positions_tell_order),
        CLAIM(a_word_that_comes_again_weighs_the_same_at_any_distance),
        CLAIM(eight_heads_of_four_go_from_4_to_32_to_4),
        CLAIM(a_feed_forward_layer_knows_one_word_at_a_time),
        CLAIM(the_first_representation_is_of_each_word_alone),
        CLAIM(without_values_the_stream_goes_on_unchanged),
        CLAIM(recurrent_and_attention_layers_stack),
        CLAIM(a_sentence_turned_round_exchanges_the_directions),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
