/* Classifiers: probabilities, what each pooling reads, items that do not see each other, and faults. */
#include "model/classifier_toy.h"

static const char *const all_stages[] = {"rnn",     "gru:2",         "lstm",        "bi-rnn",
                                         "bi-lstm", "transformer:2", "lstm+bi-gru", "bi-gru+transformer",
                                         "none",    "conv:2",        "conv5",       "bi-gru+conv3"};

/* Log-probabilities of items from .. to-1; the caller frees them. */
static hd_real *logp_of(classifier_toy *t, size_t from, size_t to)
{
    hd_run_begin(&t->run, HD_INFERENCE);
    hd_class_batch b = ct_batch(t, from, to, false);
    return host_copy(&t->run, hd_classifier_logp(&t->run, t->m, &b));
}

static void probabilities_sum_to_one_whatever_is_beside_an_item(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(all_stages); k++)
        for (int pool = 0; pool < HD_POOL_each; pool++) {
            classifier_toy t;
            hd_classifier_opt o = ct_opt(all_stages[k], (hd_pool_kind)pool);
            ct_open(&t, &o, false);
            hd_real *all = logp_of(&t, 0, CT_ITEMS);
            for (size_t i = 0; i < CT_ITEMS; i++) {
                hd_real *one = logp_of(&t, i, i + 1);
                double sum = 0;
                for (size_t c = 0; c < CT_CLASSES; c++) sum += exp((double)all[i * CT_CLASSES + c]);
                assert_true(fabs(sum - 1) < 1e-5);
                assert_memory_equal(one, all + i * CT_CLASSES, CT_CLASSES * sizeof *one); /* bit for bit */
                free(one);
            }
            free(all);
            ct_close(&t);
        }
}

/* By hand: h_t = tanh(W_ih x_t + b_ih + W_hh h_t-1 + b_hh), log-softmax(W h_T + b), as PyTorch's nn.RNN,
   linear layer and LogSoftmax. */
static const double *value(const hd_params *p, const char *name, double *room)
{
    const hd_param *one = hd_params_find(p, name);
    assert_non_null(one);
    for (size_t i = 0; i < hd_count_of(&one->t); i++) room[i] = (double)((const hd_real *)one->t.data)[i];
    return room;
}

/* Letters as learned vectors or one-hot, cells of tanh or of sigmoid. */
static void check_character_network(bool one_hot, hd_unary cell)
{
    enum { W = 6 };
    double table[CT_VOCAB * CT_VOCAB], w_in[W * CT_VOCAB], w[W * W], b_in[W], b[W], out[CT_CLASSES * W],
        out_b[CT_CLASSES];
    classifier_toy t;
    hd_classifier_opt o = ct_opt("rnn", HD_POOL_last);
    o.body.one_hot = one_hot, o.body.cell = cell;
    int in = one_hot ? CT_VOCAB : W;
    ct_open(&t, &o, false);
    for (int i = 0; i < CT_VOCAB * CT_VOCAB; i++) table[i] = i / CT_VOCAB == i % CT_VOCAB;
    if (!one_hot) value(t.m->params, "model.encoder.embed_tokens.weight", table);
    assert_int_equal(!hd_params_find(t.m->params, "model.encoder.embed_tokens.weight"), one_hot);
    value(t.m->params, "model.encoder.rnn.weight_ih_l0", w_in);
    value(t.m->params, "model.encoder.rnn.weight_hh_l0", w);
    value(t.m->params, "model.encoder.rnn.bias_ih_l0", b_in);
    value(t.m->params, "model.encoder.rnn.bias_hh_l0", b);
    value(t.m->params, "classifier.weight", out);
    value(t.m->params, "classifier.bias", out_b);
    hd_real *got = logp_of(&t, 0, CT_ITEMS);
    for (size_t i = 0, row = 0; i < CT_ITEMS; i++) {
        double h[W] = {0}, y[CT_CLASSES], sum = 0;
        for (int32_t s = 0; s < ct_len[i]; s++, row++) {
            double next[W];
            for (int j = 0; j < W; j++) {
                next[j] = b_in[j] + b[j];
                for (int k = 0; k < in; k++) next[j] += w_in[j * in + k] * table[ct_ids[row] * in + k];
                for (int k = 0; k < W; k++) next[j] += w[j * W + k] * h[k];
            }
            for (int j = 0; j < W; j++) h[j] = cell == HD_sigmoid ? 1 / (1 + exp(-next[j])) : tanh(next[j]);
        }
        for (int c = 0; c < CT_CLASSES; c++) {
            y[c] = out_b[c];
            for (int j = 0; j < W; j++) y[c] += out[c * W + j] * h[j];
            sum += exp(y[c]);
        }
        for (int c = 0; c < CT_CLASSES; c++)
            assert_true(fabs((double)got[i * CT_CLASSES + (size_t)c] - (y[c] - log(sum))) < 1e-5); /* f32 */
    }
    free(got);
    ct_close(&t);
}

static void rnn_is_the_lecture_s_character_network(void **state)
{
    (void)state;
    for (int one_hot = 0; one_hot < 2; one_hot++)
        for (int cell = 0; cell < 2; cell++) check_character_network(one_hot, cell ? HD_sigmoid : HD_tanh);
}

/* The states as the recurrent layers hand them out: h of each direction of the last layer, in front of c. */
static void last_reads_where_each_direction_ended(void **state)
{
    (void)state;
    static const char *const stages[] = {"bi-rnn", "bi-gru:2", "bi-lstm", "lstm"};
    enum { W = 6 };
    for (size_t k = 0; k < COUNT_OF(stages); k++) {
        double out[CT_CLASSES * 2 * W], out_b[CT_CLASSES];
        classifier_toy t;
        hd_classifier_opt o = ct_opt(stages[k], HD_POOL_last);
        ct_open(&t, &o, false);
        value(t.m->params, "classifier.weight", out);
        value(t.m->params, "classifier.bias", out_b);
        hd_real *got = logp_of(&t, 0, CT_ITEMS), *h[2] = {NULL, NULL};
        hd_run_begin(&t.run, HD_INFERENCE);
        hd_class_batch b = ct_batch(&t, 0, CT_ITEMS, false);
        const hd_encoder_model *own = t.m->body.self;
        hd_encoded e = hd_encoder_of(&t.run, &own->encoder, &b.in);
        int ways = e.cells->directions;
        size_t wide = hd_recurrent_state(e.cells);
        for (int d = 0; d < ways; d++) h[d] = host_copy(&t.run, e.last[(e.cells->layers - 1) * ways + d]);
        for (size_t i = 0; i < CT_ITEMS; i++) {
            double y[CT_CLASSES], sum = 0;
            for (int c = 0; c < CT_CLASSES; c++) {
                y[c] = out_b[c];
                for (int j = 0; j < ways * W; j++)
                    y[c] += out[c * ways * W + j] * (double)h[j / W][i * wide + (size_t)(j % W)];
                sum += exp(y[c]);
            }
            for (int c = 0; c < CT_CLASSES; c++)
                assert_true(fabs((double)got[i * CT_CLASSES + (size_t)c] - (y[c] - log(sum))) < 1e-5);
        }
        free(got);
        free(h[0]);
        free(h[1]);
        ct_close(&t);
    }
}

/* What a tagger says of row `row` of the last item, when its row `other` has another token. */
static bool sees(const char *stages, size_t row, size_t other)
{
    classifier_toy t;
    int32_t ids[CT_ROWS];
    hd_classifier_opt o = ct_opt(stages, HD_POOL_each);
    hd_real *y[2];
    ct_open(&t, &o, false);
    for (int turn = 0; turn < 2; turn++) {
        memcpy(ids, ct_ids, sizeof ids);
        if (turn) ids[5 + other] = ids[5 + other] ? 0 : 1;
        hd_run_begin(&t.run, HD_INFERENCE);
        hd_class_batch b = {.in.seg = hd_seg_of(&t.run, ct_len, CT_ITEMS, NULL),
                            .in.ids = hd_ints(&t.run, ids, CT_ROWS)};
        y[turn] = host_copy(&t.run, hd_classifier_logp(&t.run, t.m, &b));
    }
    bool differs =
        memcmp(y[0] + (5 + row) * CT_CLASSES, y[1] + (5 + row) * CT_CLASSES, CT_CLASSES * sizeof **y);
    assert_memory_equal(y[0], y[1], 5 * CT_CLASSES * sizeof **y); /* other items see nothing of it */
    free(y[0]);
    free(y[1]);
    ct_close(&t);
    return differs;
}

static void a_tagger_sees_what_its_encoder_sees(void **state)
{
    (void)state;
    assert_true(sees("none", 2, 2) && !sees("none", 2, 1) && !sees("none", 2, 3));
    assert_true(sees("rnn", 2, 1) && !sees("rnn", 2, 3));
    assert_true(sees("bi-rnn", 2, 1) && sees("bi-rnn", 2, 3));
    assert_true(sees("transformer", 2, 1) && sees("transformer", 2, 3));
}

static void impossible_options_are_refused(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    for (int k = 0; k < 7; k++) {
        hd_err err = {0};
        hd_classifier *m = NULL;
        hd_classifier_opt o = ct_opt(k == 4 ? "rnn:17" : k == 6 ? "rnn" : "transformer", HD_POOL_mean);
        static const char *const says[] = {"at least 2 classes",
                                           "split over 4 heads",
                                           "needs an encoder",
                                           "at least 1 layer",
                                           "recurrent layers",
                                           "begins with rnn, gru or lstm",
                                           "is too large for one-hot tokens"};
        if (k == 0) o.classes = 1;
        if (k == 1) o.body.stack.heads = 4;
        if (k == 2) o.body.encoder.count = 0;
        if (k == 3) o.body.encoder.at[0].layers = 0;
        if (k >= 5) o.body.one_hot = true, o.body.vocab = k == 6 ? 5000 : CT_VOCAB;
        assert_int_equal(hd_classifier_new(&m, b, &o, false, &err), HD_EARG);
        if (!strstr(err.text, says[k])) fail_msg("'%s' does not say '%s'", err.text, says[k]);
    }
    hd_backend_free(b);
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_classifier_opt o = ct_opt("transformer+bi-lstm", HD_POOL_last);
    size_t blocks = hd_mem_now().blocks, n = 1;
    for (hd_status s = HD_ENOMEM; s; n++) {
        hd_err err = {0};
        hd_classifier *m = NULL;
        hd_mem_fail_at(n);
        s = hd_classifier_new(&m, b, &o, true, &err);
        hd_mem_fail_at(0);
        assert_int_equal(s, err.status);
        hd_classifier_free(m);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_in_range(n, 10, 400);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_sum_to_one_whatever_is_beside_an_item),
        cmocka_unit_test(rnn_is_the_lecture_s_character_network),
        cmocka_unit_test(last_reads_where_each_direction_ended),
        cmocka_unit_test(a_tagger_sees_what_its_encoder_sees),
        cmocka_unit_test(impossible_options_are_refused),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
