/* Recurrent layers against PyTorch and the lectures' examples; continued from a cache; the same bits on any
   number of threads and in any batch; on the null backend; and when memory runs out. */
#include "check.h"
#include "nn/recurrent.h"
#include "nn/recurrent_numbers.h"

typedef struct net {
    hd_backend *backend;
    hd_run run;
    hd_params params;
    hd_recurrent m;
} net;

static void net_ready(net *n, bool training)
{
    hd_err err = {0};
    if (hd_params_ready(&n->params, training, &err)) fail_msg("%s", err.text);
}

static net net_of(const hd_recurrent_opt *o, int threads, bool training)
{
    net n = {.backend = backend_of("cpu", threads)};
    n.run = run_on(n.backend);
    hd_params_init(&n.params, n.backend);
    n.m = hd_recurrent_make(&n.params, o);
    net_ready(&n, training);
    return n;
}

static void net_free(net *n)
{
    hd_params_release(&n->params);
    hd_run_release(&n->run);
    hd_backend_free(n->backend);
}

static void net_draw(net *n)
{
    hd_err err = {0};
    if (hd_params_draw(&n->params, 5, &err)) fail_msg("%s", err.text);
}

/* -- PyTorch -- */

/* Number k of the waves that weights, inputs, states and the loss are made of. */
static hd_real *wave(hd_real *x, size_t count, int k)
{
    for (size_t i = 0; i < count; i++) x[i] = (hd_real)(0.6 * sin(0.7 * (double)i + 1.3 * k + 0.2));
    return x;
}

static hd_tensor *wave_rows(hd_run *r, size_t rows, size_t cols, int k)
{
    hd_real x[256];
    assert_true(rows * cols <= COUNT_OF(x));
    return hd_from(r, rows, cols, wave(x, rows * cols, k));
}

enum { ITEMS = 3, ROWS = 8, IN = 3, WIDTH = 5 };
static const int32_t lens[ITEMS] = {3, 1, 4};

typedef struct torch_case {
    const char *name;
    hd_cell cell;
    hd_unary act;
    int layers;
    bool both_ways, no_bias, start;
    const double *rows, *last, *dx, *dw; /* dw: of weight_hh_l0 */
} torch_case;

#define NUMBERS(name) .rows = name##_rows, .last = name##_last, .dx = name##_dx, .dw = name##_dw
static const torch_case torch_cases[] = {
    {"rnn tanh", HD_RNN, HD_tanh, 1, NUMBERS(rnn_tanh)},
    {"rnn relu", HD_RNN, HD_relu, 2, .start = true, NUMBERS(rnn_relu)},
    {"gru", HD_GRU, 0, 1, NUMBERS(gru)},
    {"gru deep", HD_GRU, 0, 2, .both_ways = true, .start = true, NUMBERS(gru_deep)},
    {"gru no bias", HD_GRU, 0, 2, .no_bias = true, NUMBERS(gru_no_bias)},
    {"lstm", HD_LSTM, 0, 1, NUMBERS(lstm)},
    {"lstm deep", HD_LSTM, 0, 2, .both_ways = true, .start = true, NUMBERS(lstm_deep)},
    {"lstm no bias", HD_LSTM, 0, 1, .both_ways = true, .no_bias = true, .start = true, NUMBERS(lstm_no_bias)},
};

/* float32 sums of some dozen products of numbers below 1: 1e-6. */
static void assert_close(const char *name, const char *what, const hd_real *got, const double *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - want[i]) <= 1e-6 * (1 + fabs(want[i]))))
            fail_msg("%s: number %zu of %s is %.9g, expected %.9g", name, i, what, (double)got[i], want[i]);
}

static void assert_tensor(hd_run *r, const char *name, const char *what, const hd_tensor *t,
                          const double *want)
{
    hd_real *got = host_copy(r, t);
    assert_close(name, what, got, want, hd_count_of(t));
    free(got);
}

static void numbers_are_those_of_pytorch(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(torch_cases); k++) {
        const torch_case *c = &torch_cases[k];
        hd_recurrent_opt o = {.cell = c->cell,
                              .act = c->act,
                              .in = IN,
                              .width = WIDTH,
                              .layers = c->layers,
                              .both_ways = c->both_ways,
                              .no_bias = c->no_bias,
                              .name = "rnn"};
        net n = net_of(&o, 2, true);
        hd_run *r = &n.run;
        for (size_t i = 0; i < n.params.count; i++) { /* PyTorch lists them in this order, too */
            hd_real x[512];
            assert_int_equal(hd_params_set(&n.params, n.params.list[i],
                                           wave(x, hd_count_of(&n.params.list[i]->t), (int)i)),
                             HD_OK);
        }
        size_t states = (size_t)(c->layers * n.m.directions), wide = hd_recurrent_state(&n.m);
        hd_tensor *start[4], *last[4];
        hd_run_begin(r, HD_TRAIN);
        for (size_t i = 0; i < states; i++) start[i] = wave_rows(r, ITEMS, wide, 30 + (int)i);
        hd_rows x = {wave_rows(r, ROWS, IN, 20), hd_seg_of(r, lens, ITEMS, NULL)};
        x.t->wants_grad = true;
        hd_rows y = hd_recurrent_of(r, &n.m, x, c->start ? start : NULL, last, NULL);
        assert_run_ok(r);
        assert_int_equal(hd_cols_of(y.t), hd_recurrent_out(&n.m));
        assert_tensor(r, c->name, "rows", y.t, c->rows);
        for (size_t i = 0; i < states; i++)
            assert_tensor(r, c->name, "last", last[i], c->last + i * ITEMS * wide);
        hd_sum_loss(r, hd_mul(r, y.t, wave_rows(r, ROWS, hd_cols_of(y.t), 40)), 1);
        for (size_t i = 0; i < states; i++)
            hd_sum_loss(r, hd_mul(r, last[i], wave_rows(r, ITEMS, wide, 50 + (int)i)), 1);
        hd_backward(r);
        assert_tensor(r, c->name, "dx", x.t->grad, c->dx);
        assert_tensor(r, c->name, "dw", n.m.pass[0][0].w->t.grad, c->dw);
        net_free(&n);
    }
}

static void parameters_have_pytorchs_names_and_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t rows, cols;
    } want[] = {
        {"encoder.gru.weight_ih_l0", 12, 3},         {"encoder.gru.weight_hh_l0", 12, 4},
        {"encoder.gru.bias_ih_l0", 1, 12},           {"encoder.gru.bias_hh_l0", 1, 12},
        {"encoder.gru.weight_ih_l0_reverse", 12, 3}, {"encoder.gru.weight_hh_l0_reverse", 12, 4},
        {"encoder.gru.bias_ih_l0_reverse", 1, 12},   {"encoder.gru.bias_hh_l0_reverse", 1, 12},
        {"encoder.gru.weight_ih_l1", 12, 8},         {"encoder.gru.weight_hh_l1", 12, 4},
        {"encoder.gru.bias_ih_l1", 1, 12},           {"encoder.gru.bias_hh_l1", 1, 12},
        {"encoder.gru.weight_ih_l1_reverse", 12, 8}, {"encoder.gru.weight_hh_l1_reverse", 12, 4},
        {"encoder.gru.bias_ih_l1_reverse", 1, 12},   {"encoder.gru.bias_hh_l1_reverse", 1, 12},
    };
    hd_recurrent_opt o = {
        .cell = HD_GRU, .in = 3, .width = 4, .layers = 2, .both_ways = true, .name = "encoder.gru"};
    net n = net_of(&o, 1, false);
    net_draw(&n);
    assert_int_equal(n.params.count, COUNT_OF(want));
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        const hd_param *p = n.params.list[i];
        assert_string_equal(p->name, want[i].name);
        assert_int_equal(hd_rows_of(&p->t), want[i].rows);
        assert_int_equal(hd_cols_of(&p->t), want[i].cols);
        double largest = 0; /* uniform in 1 / sqrt(width), biases too */
        for (size_t j = 0; j < hd_count_of(&p->t); j++)
            largest = fmax(largest, fabs((double)((hd_real *)p->t.data)[j]));
        assert_true(largest <= 0.5 && largest > 0.3);
    }
    net_free(&n);
}

/* -- the lectures' examples -- */

static hd_tensor *table(hd_run *r, size_t rows, size_t cols, const double *x)
{
    hd_real host[64];
    assert_true(rows * cols <= COUNT_OF(host));
    for (size_t i = 0; i < rows * cols; i++) host[i] = (hd_real)x[i];
    return hd_from(r, rows, cols, host);
}

static void simple_rnn_cell(void **state)
{
    (void)state;
    static const double w[] = {0.1, 0.43, 0.21, 0.09, -0.15, 0.29, -0.12, 0.78, 0.93},
                        u[] = {-0.23, 0.58, 0.06, 0.14, 0.85, -0.86},
                        s[] = {-0.83, -0.96, 0.67, 0.56, 0.74, 0.96, 0.6, -0.08, 0.56, -0.76, 0.28, -0.71},
                        before[] = {0.89, 0.04, -0.17}, word[] = {-0.47, 0.55},
                        h[] = {0.62189516, 0.5183917, 0.24858},
                        p[] = {0.08127228, 0.50049287, 0.30367437, 0.11456049};
    hd_backend *b = backend_of("cpu", 1);
    hd_run run = run_on(b), *r = &run;
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *z = hd_linear(r, table(r, 1, 2, word), table(r, 3, 2, u), NULL, HD_IDENTITY), *last = NULL;
    hd_rows y = hd_recur(r, (hd_rows){z, hd_seg_of(r, (const int32_t[]){1}, 1, NULL)}, table(r, 3, 3, w),
                         NULL, table(r, 1, 3, before), &(hd_recur_opt){HD_RNN, HD_sigmoid, false}, &last);
    assert_tensor(r, "simple_rnn_cell", "h", y.t, h);
    assert_tensor(r, "simple_rnn_cell", "last", last, h);
    hd_tensor *logits = hd_linear(r, y.t, table(r, 4, 3, s), NULL, HD_IDENTITY);
    assert_tensor(r, "simple_rnn_cell", "softmax", hd_softmax(r, logits), p);
    hd_run_release(r);
    hd_backend_free(b);
}

static void fill(net *n, const double *const *from)
{
    for (size_t i = 0; i < n->params.count; i++) {
        hd_real x[64];
        size_t count = hd_count_of(&n->params.list[i]->t);
        assert_true(count <= COUNT_OF(x));
        for (size_t j = 0; j < count; j++) x[j] = (hd_real)from[i][j];
        assert_int_equal(hd_params_set(&n->params, n->params.list[i], x), HD_OK);
    }
}

/* Two sentences; the encoder's last state starts the decoder, which is fed relu of its target's embeddings.
 */
static void gru_encoder_decoder(void **state)
{
    (void)state;
    static const int32_t source[] = {2, 3, 1, 4, 5, 1}, target[] = {0, 3, 2, 0, 4, 4}, len[] = {3, 3};
    hd_recurrent_opt o = {.cell = HD_GRU, .in = 3, .width = 3, .layers = 1, .name = "gru"};
    net e = net_of(&o, 1, false), d = net_of(&o, 1, false);
    fill(&e, (const double *const[]){golden_encoder_gru_ih_l0, golden_encoder_gru_hh_l0,
                                     golden_encoder_gru_bias_ih_l0, golden_encoder_gru_bias_hh_l0});
    fill(&d, (const double *const[]){golden_decoder_gru_ih_l0, golden_decoder_gru_hh_l0,
                                     golden_decoder_gru_bias_ih_l0, golden_decoder_gru_bias_hh_l0});
    hd_run *r = &e.run;
    hd_run_begin(r, HD_INFERENCE);
    const hd_seg *seg = hd_seg_of(r, len, 2, NULL);
    hd_tensor *last = NULL, *end = NULL;
    hd_tensor *in = hd_embed(r, table(r, 6, 3, golden_encoder_embedding), hd_ints(r, source, 6), 6, 1);
    hd_rows x = hd_recurrent_of(r, &e.m, (hd_rows){in, seg}, NULL, &last, NULL);
    assert_tensor(r, "gru_encoder_decoder", "encoder_output", x.t, golden_encoder_output);
    in = hd_embed(r, table(r, 5, 3, golden_decoder_embedding), hd_ints(r, target, 6), 6, 1);
    hd_rows y = hd_recurrent_of(r, &d.m, (hd_rows){hd_apply(r, in, HD_relu), seg}, &last, &end, NULL);
    hd_tensor *logits = hd_linear(r, y.t, table(r, 5, 3, golden_decoder_out),
                                  table(r, 1, 5, golden_decoder_out_bias), HD_IDENTITY);
    assert_tensor(r, "gru_encoder_decoder", "log_probs", hd_log_softmax(r, logits), golden_log_probs);
    assert_tensor(r, "gru_encoder_decoder", "hidden", end, golden_hidden);
    net_free(&e), net_free(&d);
}

/* -- continued from a cache -- */

enum { WIDE = 37, DEEP = 2, LONG = 11 };

static hd_recurrent_opt some_net(hd_cell cell)
{
    return (hd_recurrent_opt){
        .cell = cell, .act = HD_tanh, .in = IN, .width = WIDE, .layers = DEEP, .name = "rnn"};
}

/* Rows [from, from + count[i]) of item i, of items that lie LONG rows apart in `all`. */
static hd_rows taken(hd_run *r, const hd_real *all, const int32_t *count, const int32_t *from, size_t items)
{
    hd_real x[ITEMS * LONG * IN];
    size_t rows = 0;
    for (size_t i = 0; i < items; i++)
        for (int32_t j = 0; j < count[i]; j++, rows++)
            memcpy(x + rows * IN, all + (i * LONG + (size_t)(from[i] + j)) * IN, IN * sizeof *x);
    return (hd_rows){hd_from(r, rows, IN, x), hd_seg_of(r, count, items, NULL)};
}

static void steps_with_a_cache_have_the_bits_of_the_whole(void **state)
{
    (void)state;
    static hd_real all[ITEMS * LONG * IN];
    fill_normal(all, COUNT_OF(all), 1, 3);
    static const int32_t whole[ITEMS] = {11, 7, 9}, zero[ITEMS] = {0};
    static const hd_slot_kind kinds[DEEP] = {HD_STATE, HD_STATE};
    for (hd_cell cell = HD_RNN; cell <= HD_LSTM; cell++)
        for (int prepared = 0; prepared < 2; prepared++)
            for (int32_t chunk = 1; chunk <= 5; chunk += 2) {
                hd_recurrent_opt o = some_net(cell);
                net n = net_of(&o, 2, false);
                net_draw(&n);
                hd_run *r = &n.run;
                hd_run_begin(r, HD_INFERENCE);
                hd_real *want = host_copy(
                    r, hd_recurrent_of(r, &n.m, taken(r, all, whole, zero, ITEMS), NULL, NULL, NULL).t);
                for (size_t i = 0; prepared && i < n.params.count; i++)
                    if (n.params.list[i]->t.rank == 2)
                        assert_int_equal(n.backend->prepare(n.backend, &n.params.list[i]->t, HD_DECODING),
                                         HD_OK);
                hd_err err = {0};
                hd_cache *c = NULL;
                assert_int_equal(hd_cache_new(&c, kinds, DEEP, ITEMS, &err), HD_OK);
                int32_t at[ITEMS] = {0}, count[ITEMS];
                for (int32_t t = 0; t < LONG; t += chunk) {
                    for (int i = 0; i < ITEMS; i++) {
                        count[i] = whole[i] - at[i] < chunk ? whole[i] - at[i] : chunk;
                    }
                    hd_run_begin(r, HD_INFERENCE);
                    hd_real *got = host_copy(r, hd_recurrent_of(r, &n.m, taken(r, all, count, at, ITEMS),
                                                                NULL, NULL, hd_cache_slot(c, 0))
                                                    .t);
                    const hd_real *g = got, *w = want;
                    for (int i = 0; i < ITEMS; w += whole[i++] * WIDE) {
                        assert_memory_equal(g, w + at[i] * WIDE, (size_t)(count[i] * WIDE) * sizeof *g);
                        g += count[i] * WIDE, at[i] += count[i];
                    }
                    free(got);
                }
                assert_int_equal(c->length[0], 11), assert_int_equal(c->length[1], 7);
                hd_cache_free(c);
                free(want);
                net_free(&n);
            }
}

/* A hypothesis that is repeated goes on from its parent's state. */
static void picked_states_go_on(void **state)
{
    (void)state;
    hd_real all[ITEMS * LONG * IN], *row[2];
    fill_normal(all, COUNT_OF(all), 1, 3);
    for (size_t j = 0; j < IN; j++)
        all[3 * IN + j] = all[(LONG + 3) * IN + j]; /* items 0 and 1 go on alike */
    hd_recurrent_opt o = some_net(HD_LSTM);
    net n = net_of(&o, 1, false);
    net_draw(&n);
    hd_run *r = &n.run;
    hd_err err = {0};
    for (int picked = 0; picked < 2; picked++) {
        hd_cache *c = NULL;
        assert_int_equal(hd_cache_new(&c, (const hd_slot_kind[]){HD_STATE, HD_STATE}, DEEP, 2, &err), HD_OK);
        hd_run_begin(r, HD_INFERENCE);
        static const int32_t three[] = {3, 3}, one[] = {1, 1}, none[] = {0, 0};
        hd_recurrent_of(r, &n.m, taken(r, all, three, none, 2), NULL, NULL, hd_cache_slot(c, 0));
        hd_run_begin(r, HD_INFERENCE);
        if (picked) assert_int_equal(hd_cache_pick(r, c, (const int32_t[]){1, 1}, 2), HD_OK);
        row[picked] = host_copy(
            r, hd_recurrent_of(r, &n.m, taken(r, all, one, three, 2), NULL, NULL, hd_cache_slot(c, 0)).t);
        hd_cache_free(c);
    }
    assert_memory_equal(row[1], row[0] + WIDE, WIDE * sizeof *row[0]);
    assert_memory_equal(row[1] + WIDE, row[0] + WIDE, WIDE * sizeof *row[0]);
    assert_memory_not_equal(row[0], row[0] + WIDE, WIDE * sizeof *row[0]);
    free(row[0]), free(row[1]);
    net_free(&n);
}

/* Truncated backpropagation: the gradient of a chunk is that of the same chunk from a start that is given. */
static void a_carried_state_gives_the_gradient_of_a_given_start(void **state)
{
    (void)state;
    hd_real all[ITEMS * LONG * IN];
    fill_normal(all, COUNT_OF(all), 1, 3);
    static const int32_t four[ITEMS] = {4, 4, 4}, none[ITEMS] = {0};
    for (hd_cell cell = HD_RNN; cell <= HD_LSTM; cell++) {
        hd_recurrent_opt o = some_net(cell);
        net n = net_of(&o, 2, true);
        net_draw(&n);
        hd_run *r = &n.run;
        hd_err err = {0};
        hd_cache *c = NULL;
        assert_int_equal(hd_cache_new(&c, (const hd_slot_kind[]){HD_STATE, HD_STATE}, DEEP, ITEMS, &err),
                         HD_OK);
        hd_real *begin[DEEP], *grad[2];
        hd_tensor *last[DEEP], *start[DEEP];
        hd_run_begin(r, HD_TRAIN);
        hd_recurrent_of(r, &n.m, taken(r, all, four, none, ITEMS), NULL, last, hd_cache_slot(c, 0));
        for (int l = 0; l < DEEP; l++) begin[l] = host_copy(r, last[l]);
        for (int given = 0; given < 2; given++) {
            hd_run_begin(r, HD_TRAIN);
            n.backend->clear(n.backend, n.params.grad, n.params.trainable * sizeof(hd_real));
            for (int l = 0; l < DEEP; l++) start[l] = hd_from(r, ITEMS, hd_recurrent_state(&n.m), begin[l]);
            hd_tensor *y = hd_recurrent_of(r, &n.m, taken(r, all, four, four, ITEMS), given ? start : NULL,
                                           NULL, given ? NULL : hd_cache_slot(c, 0))
                               .t;
            hd_sum_loss(r, hd_mul(r, y, y), 1);
            hd_backward(r);
            assert_run_ok(r);
            grad[given] = malloc(n.params.trainable * sizeof(hd_real));
            memcpy(grad[given], n.params.grad, n.params.trainable * sizeof(hd_real));
        }
        assert_memory_equal(grad[0], grad[1], n.params.trainable * sizeof(hd_real));
        free(grad[0]), free(grad[1]);
        for (int l = 0; l < DEEP; l++) free(begin[l]);
        hd_cache_free(c);
        net_free(&n);
    }
}

/* -- threads and batches -- */

enum { BATCH = 50, MOST = 24, COLS = 29 };

/* y and dx of items [from, from + n) of a corpus, at their places in it; dw if it is not NULL. */
static void run_items(hd_run *r, hd_cell cell, bool reverse, size_t from, size_t n, hd_real *y, hd_real *dx,
                      hd_real *dw)
{
    static hd_real all[BATCH * MOST * 4 * COLS];
    int32_t len[BATCH];
    size_t wide = hd_cell_gates(cell) * COLS, at = 0, first = 0, rows = 0;
    for (size_t i = 0; i < BATCH; i++) {
        len[i] = (int32_t)(i * 7 % MOST);
        if (i < from) first += (size_t)len[i];
        if (i >= from && i < from + n) rows += (size_t)len[i];
        at += (size_t)len[i];
    }
    fill_normal(all, at * wide, 1, 11);
    hd_run_begin(r, HD_TRAIN);
    hd_rows z = {hd_from(r, rows, wide, all + first * wide), hd_seg_of(r, len + from, n, NULL)};
    hd_tensor *w = random_rows(r, wide, COLS, 0.3, 12), *start = random_rows(r, BATCH, COLS, 1, 14), *last;
    start = hd_slice_rows(r, start, from, n);
    z.t->wants_grad = w->wants_grad = true;
    hd_rows h = hd_recur(r, z, w, random_rows(r, 1, wide, 0.3, 13), start,
                         &(hd_recur_opt){cell, HD_tanh, reverse}, &last);
    assert_run_ok(r);
    hd_sum_loss(r, hd_mul(r, h.t, h.t), 1);
    hd_sum_loss(r, hd_mul(r, last, last), 1);
    assert_true(hd_read(r, h.t, y + first * COLS));
    hd_backward(r);
    assert_true(hd_read(r, z.t->grad, dx + first * wide));
    if (dw) assert_true(hd_read(r, w->grad, dw));
}

static void an_item_has_the_same_bits_on_any_threads_and_in_any_batch(void **state)
{
    (void)state;
    enum { Y = BATCH * MOST * COLS, DX = 4 * Y, DW = 4 * COLS * COLS };
    static hd_real y[2][Y], dx[2][DX], dw[2][DW];
    for (hd_cell cell = HD_RNN; cell <= HD_LSTM; cell++)
        for (int reverse = 0; reverse < 2; reverse++)
            for (int threads = 1; threads <= 5; threads++) {
                hd_backend *b = backend_of("cpu", threads);
                hd_run r = run_on(b);
                run_items(&r, cell, reverse, 0, BATCH, y[threads > 1], dx[threads > 1], dw[threads > 1]);
                if (threads > 1) {
                    assert_memory_equal(y[0], y[1], sizeof y[0]);
                    assert_memory_equal(dx[0], dx[1], sizeof dx[0]);
                    assert_memory_equal(dw[0], dw[1], sizeof dw[0]);
                }
                static const size_t sizes[] = {1, 7, 20};
                for (size_t s = 0; s < COUNT_OF(sizes); s++) {
                    memset(y[1], 0, sizeof y[1]), memset(dx[1], 0, sizeof dx[1]);
                    for (size_t i = 0; i < BATCH; i += sizes[s])
                        run_items(&r, cell, reverse, i, BATCH - i < sizes[s] ? BATCH - i : sizes[s], y[1],
                                  dx[1], NULL);
                    assert_memory_equal(y[0], y[1], sizeof y[0]);
                    assert_memory_equal(dx[0], dx[1], sizeof dx[0]);
                }
                hd_run_release(&r);
                hd_backend_free(b);
            }
}

/* Rows that fill up a batch: NaN in, zeros out, and no part in any gradient. */
static void rows_of_no_item_take_no_part(void **state)
{
    (void)state;
    enum { FILLED = ROWS + 3 };
    for (hd_cell cell = HD_RNN; cell <= HD_LSTM; cell++) {
        size_t wide = hd_cell_gates(cell) * WIDTH;
        hd_real *dw[2];
        hd_backend *b = backend_of("cpu", 2);
        hd_run r = run_on(b);
        for (int filled = 0; filled < 2; filled++) {
            hd_run_begin(&r, HD_TRAIN);
            poison_step(&r, 1 << 16);
            hd_tensor *z = random_rows(&r, filled ? FILLED : ROWS, wide, 1, 1);
            for (size_t i = ROWS * wide; i < hd_count_of(z); i++) ((hd_real *)z->data)[i] = (hd_real)NAN;
            hd_bounds bounds = {ITEMS + 2, FILLED, 9};
            const hd_seg *seg =
                filled ? hd_seg_within(&r, lens, ITEMS, NULL, bounds) : hd_seg_of(&r, lens, ITEMS, NULL);
            hd_tensor *w = random_rows(&r, wide, WIDTH, 0.3, 2), *last = NULL;
            z->wants_grad = w->wants_grad = true;
            hd_rows y =
                hd_recur(&r, (hd_rows){z, seg}, w, NULL, NULL, &(hd_recur_opt){cell, HD_tanh, false}, &last);
            hd_sum_loss(&r, y.t, 1);
            assert_run_ok(&r);
            for (size_t i = ROWS; i < hd_rows_of(y.t); i++)
                for (size_t j = 0; j < WIDTH; j++) assert_true(((hd_real *)y.t->data)[i * WIDTH + j] == 0);
            for (size_t i = ITEMS; i < hd_rows_of(last); i++)
                assert_true(((hd_real *)last->data)[i * hd_cols_of(last)] == 0);
            poison_step(&r, 1 << 16);
            hd_backward(&r);
            dw[filled] = host_copy(&r, w->grad);
            for (size_t i = ROWS * wide; i < hd_count_of(z); i++)
                assert_true(((hd_real *)z->grad->data)[i] == 0);
        }
        assert_memory_equal(dw[0], dw[1], wide * WIDTH * sizeof *dw[0]);
        free(dw[0]), free(dw[1]);
        hd_run_release(&r);
        hd_backend_free(b);
    }
}

/* -- the rest -- */

static void dropout_falls_between_layers_only(void **state)
{
    (void)state;
    hd_real *y[2][2];
    for (int layers = 1; layers <= 2; layers++)
        for (int k = 0; k < 2; k++) {
            hd_recurrent_opt o = some_net(HD_GRU);
            o.layers = layers, o.dropout = k ? 0.5f : 0;
            net n = net_of(&o, 1, true);
            net_draw(&n);
            hd_run_begin(&n.run, HD_TRAIN);
            hd_rows x = {random_rows(&n.run, ROWS, IN, 1, 2), hd_seg_of(&n.run, lens, ITEMS, NULL)};
            y[layers - 1][k] = host_copy(&n.run, hd_recurrent_of(&n.run, &n.m, x, NULL, NULL, NULL).t);
            net_free(&n);
        }
    assert_memory_equal(y[0][0], y[0][1], ROWS * WIDE * sizeof(hd_real));
    assert_memory_not_equal(y[1][0], y[1][1], ROWS * WIDE * sizeof(hd_real));
    for (int i = 0; i < 4; i++) free(y[i / 2][i % 2]);
}

typedef struct seen {
    char names[512];
} seen;

static void see(void *context, hd_run *r, const hd_offer *offer)
{
    seen *s = context;
    (void)r;
    assert_int_equal(hd_rows_of(offer->t), ROWS);
    strncat(s->names, offer->name, sizeof s->names - strlen(s->names) - 2);
    strcat(s->names, " ");
}

static void a_probe_sees_the_gates(void **state)
{
    (void)state;
    hd_recurrent_opt o = some_net(HD_GRU);
    o.layers = 1, o.both_ways = true;
    net n = net_of(&o, 1, false);
    net_draw(&n);
    seen s = {{0}};
    hd_probe probe = {.take = see, .context = &s};
    hd_run_begin(&n.run, HD_INFERENCE);
    n.run.probe = &probe;
    hd_rows x = {random_rows(&n.run, ROWS, IN, 1, 2), hd_seg_of(&n.run, lens, ITEMS, NULL)};
    hd_recurrent_of(&n.run, &n.m, x, NULL, NULL, NULL);
    n.run.probe = NULL;
    assert_run_ok(&n.run);
    assert_string_equal(s.names, "0.r 0.z 0.n 0.hidden_n 0.reverse.r 0.reverse.z 0.reverse.n "
                                 "0.reverse.hidden_n 0.h ");
    net_free(&n);
}

typedef struct wrong {
    const char *text;
    size_t z, w[2], bias, start[2];
    hd_cell cell;
    hd_unary act;
} wrong;

static void shapes_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const wrong cases[] = {
        {"recur: z has 14 columns, w is 15 x 5, the cell has 3 gates", 14, {15, 5}, 15, {3, 5}, HD_GRU, 0},
        {"recur: z has 15 columns, w is 20 x 5, the cell has 3 gates", 15, {20, 5}, 15, {3, 5}, HD_GRU, 0},
        {"recur: bias has 5, w gives 15 columns", 15, {15, 5}, 5, {3, 5}, HD_GRU, 0},
        {"recur: a state of 2 x 5 for 3 items of width 5", 15, {15, 5}, 15, {2, 5}, HD_GRU, 0},
        {"recur: a state of 3 x 10 for 3 items of width 5", 15, {15, 5}, 15, {3, 10}, HD_GRU, 0},
        {"recur: a state of 3 x 4 for 3 items of width 5", 20, {20, 5}, 20, {3, 4}, HD_LSTM, 0},
        {"recur: a cell of gelu, not of tanh, sigmoid or relu", 5, {5, 5}, 5, {3, 5}, HD_RNN, HD_gelu},
    };
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    for (size_t i = 0; i <= COUNT_OF(cases); i++) {
        const wrong *c = &cases[i < COUNT_OF(cases) ? i : 0];
        hd_run_begin(&r, HD_TRAIN);
        bool overlap = i == COUNT_OF(cases);
        const hd_seg *seg = overlap ? seg_at(&r, (const int32_t[]){0, 1, 4}, lens, ITEMS, ROWS, true)
                                    : hd_seg_of(&r, lens, ITEMS, NULL);
        hd_tensor *last = (hd_tensor *)1;
        hd_rows y = hd_recur(&r, (hd_rows){random_rows(&r, ROWS, overlap ? 15 : c->z, 1, 1), seg},
                             random_rows(&r, c->w[0], c->w[1], 1, 2), random_rows(&r, 1, c->bias, 1, 3),
                             random_rows(&r, c->start[0], c->start[1], 1, 4),
                             &(hd_recur_opt){c->cell, c->act, false}, &last);
        assert_null(y.t);
        assert_null(last);
        assert_string_equal(r.err.text, overlap ? "recur: segments overlap" : c->text);
    }
    hd_run_release(&r);
    hd_backend_free(b);
    hd_recurrent_opt o = some_net(HD_GRU);
    o.both_ways = true;
    net n = net_of(&o, 1, false);
    hd_err err = {0};
    hd_cache *c = NULL;
    assert_int_equal(hd_cache_new(&c, (const hd_slot_kind[]){HD_STATE, HD_STATE}, DEEP, ITEMS, &err), HD_OK);
    hd_run_begin(&n.run, HD_INFERENCE);
    hd_rows x = {random_rows(&n.run, ROWS, IN, 1, 2), hd_seg_of(&n.run, lens, ITEMS, NULL)};
    assert_null(hd_recurrent_of(&n.run, &n.m, x, NULL, NULL, hd_cache_slot(c, 0)).t);
    assert_string_equal(n.run.err.text, "recurrent: a layer that goes both ways cannot be continued");
    hd_cache_free(c);
    net_free(&n);
    hd_params p;
    b = backend_of("cpu", 1);
    hd_params_init(&p, b);
    o.layers = 17;
    hd_recurrent_make(&p, &o);
    assert_string_equal(p.err.text, "rnn: 17 recurrent layers of 37 from 3; 1 to 16 can be stacked");
    hd_params_release(&p);
    hd_backend_free(b);
}

static hd_status train_step(net *n, const char *backend, size_t *need)
{
    hd_err err = {0};
    hd_backend *b = backend ? backend_of(backend, 2) : n->backend;
    hd_run r = {0};
    hd_status s = hd_run_init(&r, b, &err);
    if (!s) {
        hd_run_begin(&r, HD_TRAIN);
        hd_tensor *w = random_rows(&r, 4 * WIDE, WIDE, 0.2, 2), *z = random_rows(&r, ROWS, 4 * WIDE, 1, 1),
                  *last;
        if (w && z) w->wants_grad = z->wants_grad = true;
        hd_rows y = hd_recur(&r, (hd_rows){z, hd_seg_of(&r, lens, ITEMS, NULL)}, w, NULL, NULL,
                             &(hd_recur_opt){.cell = HD_LSTM}, &last);
        hd_sum_loss(&r, y.t, 1);
        hd_sum_loss(&r, last, 1);
        hd_backward(&r);
        s = r.err.status;
        if (need) need[0] = r.step.peak, need[1] = r.grads.peak, need[2] = r.host.peak;
        hd_run_release(&r);
    }
    if (backend) hd_backend_free(b);
    return s;
}

static void a_dry_run_measures_the_real_one(void **state)
{
    (void)state;
    size_t real[3], dry[3];
    assert_int_equal(train_step(NULL, "cpu", real), HD_OK);
    assert_int_equal(train_step(NULL, "null", dry), HD_OK);
    assert_memory_equal(real, dry, sizeof real);
}

static void memory_that_runs_out_is_an_error_and_nothing_leaks(void **state)
{
    (void)state;
    size_t failed = 0;
    for (size_t at = 1;; at++) {
        net n = {.backend = backend_of("cpu", 2)};
        size_t blocks = hd_mem_now().blocks;
        hd_mem_fail_at(at);
        hd_status s = train_step(&n, NULL, NULL);
        hd_mem_fail_at(0);
        assert_true(s == HD_OK || s == HD_ENOMEM);
        assert_true(hd_mem_now().blocks <= blocks + 2); /* the backend keeps its scratch */
        hd_backend_free(n.backend);
        failed += s != HD_OK;
        if (!s && at > 20) break;
    }
    assert_true(failed > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_pytorch),
        cmocka_unit_test(parameters_have_pytorchs_names_and_shapes),
        cmocka_unit_test(simple_rnn_cell),
        cmocka_unit_test(gru_encoder_decoder),
        cmocka_unit_test(steps_with_a_cache_have_the_bits_of_the_whole),
        cmocka_unit_test(picked_states_go_on),
        cmocka_unit_test(a_carried_state_gives_the_gradient_of_a_given_start),
        cmocka_unit_test(an_item_has_the_same_bits_on_any_threads_and_in_any_batch),
        cmocka_unit_test(rows_of_no_item_take_no_part),
        cmocka_unit_test(dropout_falls_between_layers_only),
        cmocka_unit_test(a_probe_sees_the_gates),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
        cmocka_unit_test(a_dry_run_measures_the_real_one),
        cmocka_unit_test(memory_that_runs_out_is_an_error_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
