/* The recurrent decoders of lecture 000 as the program makes them (--encoder rnn --decoder rnn --context
   fixed --input-skips
   --readout sum), against the same in loops of double. Every layer reads the word and the layer below it; all
   layers add up to a predicted vector, which is compared with the vectors of all words: the table of words is
   one for input and output. */
#include "model/toy.h"

enum { LAYERS = 3, T = 4, SOURCE = 3, WORDS = 6, W = 5 };

static const int32_t source[SOURCE] = {3, 1, 4}, said[T] = {2, 0, 5, 1}, then[T] = {0, 5, 1, 3};

static void open_decoder(toy *m, int layers, hd_unary cell, bool tied)
{
    hd_err err = {0};
    char stages[16];
    hd_encdec_opt o = {.stack.width = W,
                       .stack.inner = 1,
                       .source_vocab = WORDS,
                       .target_vocab = WORDS,
                       .tied = tied,
                       .positions = 8,
                       .cell = cell,
                       .recurrent = {.context = HD_CONTEXT_fixed, .read = HD_READING_sum, .skips = true}};
    snprintf(stages, sizeof stages, "rnn:%d", layers);
    if (hd_stages_read(&o.encoder, stages, &err) || hd_stages_read(&o.decoder, stages, &err))
        fail_msg("%s", err.text);
    toy_open(m, 1, &o, NULL, NULL);
    for (size_t i = 0; i < m->params->trainable; i++) m->params->value[i] *= (hd_real)1.5;
}

static const hd_real *weight(const toy *m, const char *what, int layer)
{
    char name[64];
    snprintf(name, sizeof name, "model.%s", what);
    if (layer >= 0) snprintf(name, sizeof name, "model.decoder.%s_l%d", what, layer);
    const char *tail = strchr(what, '|'); /* "read|weight" is read_lN.weight */
    if (tail)
        snprintf(name, sizeof name, "model.decoder.%.*s_l%d.%s", (int)(tail - what), what, layer, tail + 1);
    const hd_param *p = hd_params_find(m->params, name);
    if (!p) fail_msg("there is no %s", name);
    return p->t.data;
}

/* Predicted vectors, and logits, of the words that follow `said`; both are the caller's to free. */
static hd_real *decode(toy *m, hd_real **predicted, hd_real *first)
{
    hd_run *r = &m->run;
    const int32_t from = SOURCE, to = T;
    hd_run_begin(r, HD_INFERENCE);
    hd_encoded e = hd_encdec_encode(
        r, m->t, &(hd_items){.seg = hd_seg_of(r, &from, 1, NULL), .ids = hd_ints(r, source, SOURCE)});
    for (int l = 0; first && l < m->t->opt.decoder.at[0].layers; l++) {
        hd_real *last = host_copy(r, e.last[l]);
        memcpy(first + l * W, last, W * sizeof *last);
        free(last);
    }
    hd_rows y = hd_encdec_decode(r, m->t, hd_ints(r, said, T), hd_seg_of(r, &to, 1, NULL), e, NULL);
    if (predicted) *predicted = host_copy(r, y.t);
    return host_copy(r, hd_encdec_logits(r, m->t, y));
}

static void add_product(double *y, const hd_real *w, const double *x)
{
    for (size_t i = 0; i < W; i++)
        for (size_t j = 0; j < W; j++) y[i] += (double)w[i * W + j] * x[j];
}

/* From the states of the encoder: `first`. */
static void decode_by_hand(const toy *m, int layers, bool sigmoid, const hd_real *first, double *predicted)
{
    double h[LAYERS][W];
    const hd_real *words = weight(m, "shared.weight", -1), *bias = weight(m, "read|bias", layers - 1);
    for (int i = 0; i < layers * W; i++) h[i / W][i % W] = (double)first[i];
    for (int t = 0; t < T; t++) {
        double y[W], *out = predicted + t * W;
        for (int j = 0; j < W; j++) y[j] = (double)words[said[t] * W + j], out[j] = (double)bias[j];
        for (int l = 0; l < layers; l++) {
            double z[W];
            for (int j = 0; j < W; j++)
                z[j] = (double)weight(m, "rnn.bias_ih", l)[j] + (double)weight(m, "rnn.bias_hh", l)[j];
            add_product(z, weight(m, "rnn.weight_ih", l), l ? h[l - 1] : y);
            if (l) add_product(z, weight(m, "rnn.weight_skip", l), y);
            add_product(z, weight(m, "rnn.weight_hh", l), h[l]);
            for (int j = 0; j < W; j++) h[l][j] = sigmoid ? 1 / (1 + exp(-z[j])) : tanh(z[j]);
            add_product(out, weight(m, "read|weight", l), h[l]);
        }
    }
}

static void a_decoder_predicts_a_vector_by_hand(void **state)
{
    (void)state;
    for (int layers = 1; layers <= LAYERS; layers++)
        for (int sigmoid = 0; sigmoid < 2; sigmoid++) {
            toy m;
            double want[T * W];
            hd_real first[LAYERS * W], *predicted;
            open_decoder(&m, layers, sigmoid ? HD_sigmoid : HD_tanh, true);
            hd_real *logits = decode(&m, &predicted, first);
            const hd_real *words = weight(&m, "shared.weight", -1);
            decode_by_hand(&m, layers, sigmoid, first, want);
            for (size_t i = 0; i < T * W; i++) /* float32 on sums of some dozen products: 1e-5 */
                if (!(fabs((double)predicted[i] - want[i]) < 1e-5))
                    fail_msg("%d layers, number %zu: %g, expected %g", layers, i, (double)predicted[i],
                             want[i]);
            for (size_t i = 0; i < T * WORDS; i++) { /* logits = E y */
                double sum = 0;
                for (size_t j = 0; j < W; j++)
                    sum += (double)words[i % WORDS * W + j] * want[i / WORDS * W + j];
                assert_true(fabs((double)logits[i] - sum) < 1e-5);
            }
            free(logits), free(predicted);
            toy_close(&m);
        }
}

/* Layers whose part of the prediction is 0 are not there: what is left is the decoder of one layer. */
static void a_layer_without_output_takes_no_part(void **state)
{
    (void)state;
    toy one, all;
    open_decoder(&one, 1, HD_tanh, true), open_decoder(&all, LAYERS, HD_tanh, true);
    for (size_t i = 0; i < one.params->count; i++) {
        hd_param *p = one.params->list[i];
        if (p->name && !p->alias && !strstr(p->name, "read_l0.bias"))
            hd_params_set(one.params, p, hd_params_find(all.params, p->name)->t.data);
    }
    hd_params_set(one.params, hd_params_find(one.params, "model.decoder.read_l0.bias"),
                  weight(&all, "read|bias", LAYERS - 1));
    hd_real *single = decode(&one, NULL, NULL), *whole = decode(&all, NULL, NULL);
    assert_memory_not_equal(single, whole, T * WORDS * sizeof *whole);
    for (int l = 1; l < LAYERS; l++)
        memset((void *)weight(&all, "read|weight", l), 0, W * W * sizeof(hd_real));
    hd_real *muted = decode(&all, NULL, NULL);
    for (size_t i = 0; i < T * WORDS; i++) assert_true(fabs((double)(single[i] - muted[i])) < 1e-6);
    free(single), free(whole), free(muted);
    toy_close(&one), toy_close(&all);
}

static toy_batch one_pair(void)
{
    toy_batch b = {
        .items = 1, .source_rows = SOURCE, .target_rows = T, .source_len = {SOURCE}, .target_len = {T}};
    memcpy(b.source, source, sizeof source), memcpy(b.input, said, sizeof said),
        memcpy(b.target, then, sizeof then);
    return b;
}

/* The gradient of the one table is the sum of those of three tables with the same values: of the words that
   are read on either side, and of the words that are compared with the prediction. */
static void the_table_learns_from_both_sides(void **state)
{
    (void)state;
    static const char *const tables[] = {"model.encoder.embed_tokens.weight",
                                         "model.decoder.embed_tokens.weight", "lm_head.weight"};
    const toy_batch b = one_pair();
    toy tied, apart;
    open_decoder(&tied, 2, HD_tanh, true), open_decoder(&apart, 2, HD_tanh, false);
    for (size_t i = 0; i < apart.params->count; i++) {
        hd_param *p = apart.params->list[i];
        const hd_param *from = p->name ? hd_params_find(tied.params, p->name) : NULL;
        if (from) hd_params_set(apart.params, p, from->t.data);
    }
    const hd_param *one = hd_params_find(tied.params, "model.shared.weight");
    for (int k = 0; k < 3; k++)
        hd_params_set(apart.params, hd_params_find(apart.params, tables[k]), one->t.data);
    assert_true(fabs(toy_back(&tied, &b, 0, 1) - toy_back(&apart, &b, 0, 1)) < 1e-5);
    for (size_t i = 0; i < WORDS * W; i++) {
        double sum = 0;
        for (int k = 0; k < 3; k++)
            sum += (double)((hd_real *)hd_params_find(apart.params, tables[k])->grad.data)[i];
        assert_true(fabs((double)((hd_real *)one->grad.data)[i] - sum) < 1e-5);
    }
    for (int k = 0; k < 3; k++) { /* each has a say */
        double most = 0;
        for (size_t i = 0; i < WORDS * W; i++)
            most =
                fmax(most, fabs((double)((hd_real *)hd_params_find(apart.params, tables[k])->grad.data)[i]));
        assert_true(most > 1e-2);
    }
    toy_close(&tied), toy_close(&apart);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_decoder_predicts_a_vector_by_hand),
        cmocka_unit_test(a_layer_without_output_takes_no_part),
        cmocka_unit_test(the_table_learns_from_both_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
