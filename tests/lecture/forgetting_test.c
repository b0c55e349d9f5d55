/* What the lectures say of memory: gradients through time are products of Jacobians, so they die or explode
   in a simple recurrent network, last longer behind gates and do not depend on the distance in
   self-attention; and a network forgets what it cannot learn to keep. Gates cost weights. */
#include "check.h"
#include "nn/layer.h"
#include "nn/recurrent.h"
#include "train/optimizer.h"

typedef enum kind { TANH, LOGISTIC, RELU, GRU, LSTM, ATTENTION, KINDS } kind;
static const char *const names[KINDS] = {"tanh", "logistic", "relu", "gru", "lstm", "attention"};

/* Words, one layer of any kind, and a choice of words from its last row. */
typedef struct net {
    hd_backend *backend;
    hd_run run;
    hd_params params;
    kind kind;
    hd_param *words;
    hd_recurrent cell;
    hd_mha attention;
    hd_dense out;
    hd_optimizer optimizer;
} net;

enum { WIDTH = 16 };

static hd_recurrent_opt cell_of(kind k)
{
    return (hd_recurrent_opt){.cell = k == GRU    ? HD_GRU
                                      : k == LSTM ? HD_LSTM
                                                  : HD_RNN,
                              .act = k == LOGISTIC ? HD_sigmoid
                                     : k == RELU   ? HD_relu
                                                   : HD_tanh,
                              .in = WIDTH,
                              .width = WIDTH,
                              .layers = 1,
                              .name = "rnn"};
}

/* Lives where it was opened. */
static void net_open(net *n, kind k, size_t words)
{
    hd_err err = {0};
    *n = (net){.backend = backend_of("cpu", 1), .kind = k};
    n->run = run_on(n->backend);
    hd_params_init(&n->params, n->backend);
    n->words = hd_param_add(&n->params, words, WIDTH, (hd_init){HD_INIT_NORMAL, 1, 0}, "words");
    hd_recurrent_opt o = cell_of(k);
    if (k == ATTENTION)
        n->attention = hd_mha_make(&n->params, &(hd_mha_opt){.width = WIDTH,
                                                             .heads = 1,
                                                             .init = {HD_INIT_XAVIER, 1, 0},
                                                             .name = "attention",
                                                             .query = "q",
                                                             .key = "k",
                                                             .value = "v",
                                                             .out = "out"});
    else
        n->cell = hd_recurrent_make(&n->params, &o);
    n->out = hd_dense_make(&n->params, WIDTH, words, &(hd_dense_opt){.init = {HD_INIT_XAVIER, 1, 0}}, "out");
    if (hd_params_ready(&n->params, true, &err) || hd_params_draw(&n->params, 1, &err))
        fail_msg("%s", err.text);
}

static void net_close(net *n)
{
    hd_optimizer_release(&n->optimizer);
    hd_params_release(&n->params);
    hd_run_release(&n->run);
    hd_backend_free(n->backend);
}

/* Adds to the biases of one gate. */
static void lean(net *n, size_t gate, hd_real by)
{
    hd_real *b = n->cell.pass[0][0].b->t.data;
    for (size_t i = 0; i < WIDTH; i++) b[gate * WIDTH + i] += by;
}

static hd_rows layer_of(net *n, hd_rows x)
{
    if (n->kind == ATTENTION) return hd_mha_of(&n->run, &n->attention, x, x, HD_FULL, NULL);
    return hd_recurrent_of(&n->run, &n->cell, x, NULL, NULL, NULL);
}

/* -- gradients through time -- */

enum { FAR = 40, KEEP = 1 }; /* the gate that keeps: z of a GRU, f of an LSTM */

/* Norms of the gradient of the last row's sum for the input K rows before it, K = 0 .. FAR. */
static void gradient_norms(net *n, const hd_real *in, double *norm)
{
    hd_run *r = &n->run;
    hd_run_begin(r, HD_TRAIN);
    hd_rows x = {hd_from(r, FAR + 1, WIDTH, in), hd_seg_of(r, (int32_t[]){FAR + 1}, 1, NULL)};
    x.t->wants_grad = true;
    hd_rows y = layer_of(n, x);
    hd_sum_loss(r, hd_reduce(r, y.t, y.seg, HD_LAST), 1);
    hd_backward(r);
    hd_real *g = host_copy(r, x.t->grad);
    for (size_t k = 0; k <= FAR; k++) {
        double squares = 0;
        for (size_t j = 0; j < WIDTH; j++) squares += pow((double)g[(FAR - k) * WIDTH + j], 2);
        norm[k] = sqrt(squares);
    }
    free(g);
}

/* By what factor the gradient changes from one row to the next, over all but the last row; norms are means
   over many inputs. */
static double shrinkage(net *n)
{
    enum { MANY = 64 };
    hd_real x[(FAR + 1) * WIDTH];
    double one[FAR + 1], mean[FAR + 1] = {0};
    for (uint64_t i = 0; i < MANY; i++) {
        fill_normal(x, COUNT_OF(x), 1, 3 + i);
        gradient_norms(n, x, one);
        for (size_t k = 0; k <= FAR; k++) mean[k] += one[k] / MANY;
    }
    print_message("%-10s |d last / d input| at 1, 10, 20, 40 rows: %.1e %.1e %.1e %.1e\n", names[n->kind],
                  mean[1], mean[10], mean[20], mean[FAR]);
    return pow(mean[FAR] / mean[1], 1.0 / (FAR - 1));
}

/* A cell of relu whose matrices are multiples of one, on inputs above 0: the Jacobian of a step is a times
   the unit matrix. */
static void a_gradient_is_a_product_of_jacobians(void **state)
{
    (void)state;
    static const double a[] = {0.5, 1, 1.5};
    hd_real x[(FAR + 1) * WIDTH];
    double norm[FAR + 1];
    for (size_t i = 0; i < COUNT_OF(x); i++) x[i] = 1;
    net n;
    net_open(&n, RELU, 1);
    for (size_t c = 0; c < COUNT_OF(a); c++) {
        hd_real *in = n.cell.pass[0][0].w_in->t.data, *w = n.cell.pass[0][0].w->t.data;
        for (size_t i = 0; i < WIDTH * WIDTH; i++)
            in[i] = i % (WIDTH + 1) == 0, w[i] = i % (WIDTH + 1) ? 0 : (hd_real)a[c];
        for (size_t i = 0; i < WIDTH; i++)
            ((hd_real *)n.cell.pass[0][0].b->t.data)[i] = ((hd_real *)n.cell.pass[0][0].b_in->t.data)[i] = 0;
        gradient_norms(&n, x, norm);
        for (size_t k = 0; k <= FAR; k++)
            assert_true(fabs(norm[k] / (sqrt(WIDTH) * pow(a[c], (double)k)) - 1) < 1e-5);
    }
    net_close(&n);
}

static void gradients_die_in_simple_networks_and_not_in_attention(void **state)
{
    (void)state;
    double by[KINDS];
    for (kind k = 0; k < KINDS; k++) {
        net n;
        net_open(&n, k, 1);
        if (k == GRU || k == LSTM) lean(&n, KEEP, 3); /* as they are begun where memory matters */
        by[k] = shrinkage(&n);
        net_close(&n);
    }
    assert_true(by[TANH] < 0.8);
    assert_true(by[LOGISTIC] < 0.3); /* its slope is 1/4 at most */
    assert_true(by[GRU] > 0.85 && by[LSTM] > 0.85);
    assert_true(fabs(by[ATTENTION] - 1) < 0.01);
}

/* -- forgetting -- */

enum { SIGNALS = 4, NOISES = 4, ASK = SIGNALS + NOISES, WORDS, ITEMS = 32, LONGEST_GAP = 30 };

/* A signal, `gap` words of noise, the question: which signal was it? */
static void draw_items(int32_t *ids, int32_t *target, int gap, uint64_t seed)
{
    hd_rng rng = hd_rng_make(seed, 6);
    for (int i = 0; i < ITEMS; i++) {
        target[i] = (int32_t)hd_rng_below(&rng, SIGNALS);
        *ids++ = target[i];
        for (int k = 0; k < gap; k++) *ids++ = SIGNALS + (int32_t)hd_rng_below(&rng, NOISES);
        *ids++ = ASK;
    }
}

static hd_tensor *answers(net *n, const int32_t *ids, int gap)
{
    hd_run *r = &n->run;
    int32_t len[ITEMS];
    for (int i = 0; i < ITEMS; i++) len[i] = gap + 2;
    size_t rows = ITEMS * (size_t)(gap + 2);
    hd_rows x = {hd_embed(r, &n->words->t, hd_ints(r, ids, rows), rows, 1), hd_seg_of(r, len, ITEMS, NULL)};
    return hd_dense_of(r, &n->out, hd_reduce(r, layer_of(n, x).t, x.seg, HD_LAST), HD_IDENTITY);
}

/* Share of right answers to questions never seen, after `steps` updates. */
static double learned(kind k, int gap, int steps)
{
    int32_t ids[ITEMS * (LONGEST_GAP + 2)], target[ITEMS], said[ITEMS], right = 0;
    hd_err err = {0};
    net n;
    net_open(&n, k, WORDS);
    if (k == LSTM) lean(&n, KEEP, 3);
    hd_optimizer_opt adam = {.kind = HD_OPT_ADAM, .clip = 1};
    if (hd_optimizer_init(&n.optimizer, &n.params, &adam, &err)) fail_msg("%s", err.text);
    for (int t = 1; t <= steps; t++) {
        draw_items(ids, target, gap, (uint64_t)t);
        hd_run_begin(&n.run, HD_TRAIN);
        hd_cross_entropy(&n.run, answers(&n, ids, gap), hd_ints(&n.run, target, ITEMS),
                         &(hd_loss_opt){.coef = 1});
        hd_backward(&n.run);
        hd_optimizer_step(&n.run, &n.optimizer, 0.01, ITEMS, NULL, NULL);
        assert_run_ok(&n.run);
    }
    for (uint64_t b = 0; b < 8; b++) {
        draw_items(ids, target, gap, 100000 + b);
        hd_run_begin(&n.run, HD_INFERENCE);
        hd_tensor *best = hd_argmax(&n.run, answers(&n, ids, gap));
        assert_run_ok(&n.run);
        n.backend->download(n.backend, said, best->data, sizeof said);
        for (int i = 0; i < ITEMS; i++) right += said[i] == target[i];
    }
    net_close(&n);
    return right / (8.0 * ITEMS);
}

static void a_simple_network_forgets_over_a_gap(void **state)
{
    (void)state;
    static const kind kinds[] = {TANH, LSTM, ATTENTION};
    static const int gaps[] = {2, LONGEST_GAP};
    double right[2][KINDS];
    for (size_t g = 0; g < COUNT_OF(gaps); g++)
        for (size_t i = 0; i < COUNT_OF(kinds); i++) {
            double *at = &right[g][kinds[i]];
            *at = learned(kinds[i], gaps[g], 200);
            print_message("%-10s gap %2d: %5.1f %% right\n", names[kinds[i]], gaps[g], 100 * *at);
        }
    for (size_t i = 0; i < COUNT_OF(kinds); i++) assert_true(right[0][kinds[i]] > 0.95);
    assert_true(right[1][TANH] < 0.6); /* 0.25 is chance */
    assert_true(right[1][LSTM] > 0.95 && right[1][ATTENTION] > 0.95);
}

/* -- gates -- */

/* An open forget gate and a closed input gate keep c of an LSTM, an update gate of 1 keeps h of a GRU. */
static void gates_keep_what_they_are_told_to(void **state)
{
    (void)state;
    for (kind k = GRU; k <= LSTM; k++) {
        net n;
        net_open(&n, k, 1);
        hd_run *r = &n.run;
        size_t wide = hd_recurrent_state(&n.cell);
        lean(&n, KEEP, 100);
        if (k == LSTM) lean(&n, 0, -100); /* nothing comes in */
        hd_run_begin(r, HD_INFERENCE);
        hd_tensor *start = random_rows(r, 1, wide, 0.5, 4), *last = NULL;
        hd_rows x = {random_rows(r, FAR, WIDTH, 1, 5), hd_seg_of(r, (int32_t[]){FAR}, 1, NULL)};
        hd_recurrent_of(r, &n.cell, x, &start, &last, NULL);
        hd_real *a = host_copy(r, start), *b = host_copy(r, last);
        for (size_t i = wide - WIDTH; i < wide; i++) /* c stands behind h */
            assert_true(fabs((double)(a[i] - b[i])) < 1e-5);
        free(a), free(b);
        net_close(&n);
    }
}

static size_t numbers_of(kind k)
{
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_recurrent_opt o = cell_of(k);
    hd_params p;
    hd_params_init(&p, b);
    hd_recurrent_make(&p, &o);
    if (hd_params_ready(&p, false, &err)) fail_msg("%s", err.text);
    size_t n = hd_params_size(&p);
    hd_params_release(&p);
    hd_backend_free(b);
    return n;
}

static void gates_cost_three_and_four_times_the_weights(void **state)
{
    (void)state;
    assert_int_equal(numbers_of(TANH), 2 * WIDTH * (WIDTH + 1));
    assert_int_equal(numbers_of(GRU), 3 * numbers_of(TANH));
    assert_int_equal(numbers_of(LSTM), 4 * numbers_of(TANH));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gradient_is_a_product_of_jacobians),
        cmocka_unit_test(gradients_die_in_simple_networks_and_not_in_attention),
        cmocka_unit_test(a_simple_network_forgets_over_a_gap),
        cmocka_unit_test(gates_keep_what_they_are_told_to),
        cmocka_unit_test(gates_cost_three_and_four_times_the_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
