/* What the lectures say of recurrent encoder-decoders, shown on small ones. */
#include "model/encdec_cases.h"

#define TOLERANCE 2e-6

static void open_case(toy *m, const char *encoder, const char *decoder, hd_recurrent_decoder_opt r)
{
    encdec_case c = {.name = decoder, .encoder = encoder, .decoder = decoder, .r = r, .untied = true};
    hd_encdec_opt o = encdec_opt(&c);
    encdec_open(m, &o, 1);
}

static hd_param *param(toy *m, const char *name)
{
    for (size_t i = 0; i < m->params->count; i++)
        if (m->params->list[i]->name && !strcmp(m->params->list[i]->name, name)) return m->params->list[i];
    fail_msg("there is no %s", name);
    return NULL;
}

static void fill(toy *m, const char *name, double x, size_t from, size_t count)
{
    hd_real *v = param(m, name)->t.data;
    for (size_t i = 0; i < count; i++) v[from + i] = (hd_real)x;
}

static void clear(toy *m, const char *name)
{
    fill(m, name, 0, 0, hd_count_of(&param(m, name)->t));
}

enum { W = 8 };

/* The decoder's rows where its GRU copies: update gates wide open to the past show the state it began with.
 */
static hd_real *copied_rows(toy *m, const toy_batch *b)
{
    fill(m, "model.decoder.rnn.bias_ih_l0", 100, W, W);
    hd_run_begin(&m->run, HD_INFERENCE);
    return host_copy(&m->run, toy_rows(m, b).t);
}

static void assert_rows(const hd_real *rows, const toy_batch *b, const hd_real *want, size_t stride)
{
    for (size_t i = 0, row = 0; i < b->items; i++)
        for (int32_t t = 0; t < b->target_len[i]; t++, row++)
            for (size_t k = 0; k < W; k++)
                assert_true(fabs((double)(rows[row * W + k] - want[i * stride + k])) < TOLERANCE);
}

static void the_decoder_begins_where_it_is_told_to(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 4);
    for (int k = 0; k < HD_BEGINNINGS; k++) {
        toy m;
        hd_real want[4 * W] = {0}, *last, *mean;
        open_case(&m, "gru:1", "gru:1", (hd_recurrent_decoder_opt){.begin = (hd_beginning)k});
        hd_real *rows = copied_rows(&m, &b);
        hd_run_begin(&m.run, HD_INFERENCE);
        hd_encoded e = toy_encode(&m, &b);
        last = host_copy(&m.run, e.last[0]),
        mean = host_copy(&m.run, hd_reduce(&m.run, e.rows.t, e.rows.seg, HD_MEAN));
        hd_real *of_rows = host_copy(&m.run, e.rows.t);
        for (size_t i = 0, end = 0; i < 4; i++) { /* the last state is that at the end of the source */
            end += (size_t)b.source_len[i];
            assert_memory_equal(last + i * W, of_rows + (end - 1) * W, W * sizeof *last);
        }
        if (k == HD_BEGINNING_final) memcpy(want, last, sizeof want);
        if (k == HD_BEGINNING_mean) memcpy(want, mean, sizeof want);
        for (size_t i = 0; i < 4 * W && k == HD_BEGINNING_ones; i++) want[i] = 1;
        for (size_t i = 0; i < 4 * W && k == HD_BEGINNING_learned; i++)
            want[i] =
                ((hd_real *)param(&m, "model.decoder.begin_l0")->t.data)[i % W]; /* whatever the source */
        bool map = k == HD_BEGINNING_map || k == HD_BEGINNING_maps, linear = k == HD_BEGINNING_linear;
        for (size_t i = 0; i < 4 * W && (map || linear); i++) {
            const hd_real *w = param(&m, "model.decoder.begin_l0.weight")->t.data,
                          *bias = map ? param(&m, "model.decoder.begin_l0.bias")->t.data : NULL;
            double sum = map ? (double)bias[i % W] : 0;
            for (size_t c = 0; c < W; c++) sum += (double)w[i % W * W + c] * (double)mean[i / W * W + c];
            want[i] = (hd_real)(map ? tanh(sum) : sum);
        }
        assert_rows(rows, &b, want, W);
        free(rows), free(last), free(mean), free(of_rows);
        toy_close(&m);
    }
}

/* What was offered as `name`, item after item in the order it came. */
typedef struct catch
{
    const char *name;
    hd_real value[2048];
    size_t count;
    hd_probe probe;
}
catch;

static void note(void *context, hd_run *r, const hd_offer *o)
{
    catch *c = context;
    size_t n = strlen(o->name), k = strlen(c->name);
    if (n < k || strcmp(o->name + n - k, c->name)) return;
    assert_true(c->count + hd_count_of(o->t) <= COUNT_OF(c->value) && hd_read(r, o->t, c->value + c->count));
    c->count += hd_count_of(o->t);
}

static void probe(toy *m, const toy_batch *b, catch *c, const char *name)
{
    *c = (catch){.name = name, .probe = {.take = note, .context = c}};
    m->run.probe = &c->probe;
    free(toy_logits(m, b));
    m->run.probe = NULL;
    assert_true(c->count > 0);
}

static void the_mean_is_the_same_at_every_step_and_attention_is_not(void **state)
{
    (void)state;
    static catch c;
    const toy_batch b = toy_range(2, 1);
    for (int k = 0; k < 2; k++) {
        toy m;
        open_case(&m, "gru:1", "gru:1",
                  (hd_recurrent_decoder_opt){.context = k ? HD_CONTEXT_attention : HD_CONTEXT_mean,
                                             .score = HD_SCORING_dot});
        probe(&m, &b, &c, ".context");
        assert_int_equal(c.count, b.target_rows * W);
        hd_run_begin(&m.run, HD_INFERENCE);
        hd_encoded e = toy_encode(&m, &b);
        hd_real *mean = host_copy(&m.run, hd_reduce(&m.run, e.rows.t, e.rows.seg, HD_MEAN));
        for (size_t t = 0; t < b.target_rows; t++)
            for (size_t i = 0; i < W && !k; i++)
                assert_true(fabs((double)(c.value[t * W + i] - mean[i])) < TOLERANCE);
        for (size_t t = 1; t < b.target_rows && k; t++)
            assert_memory_not_equal(c.value, c.value + t * W, W * sizeof *mean);
        free(mean);
        toy_close(&m);
    }
}

/* A state of zeros asks for nothing in particular. */
static void the_first_context_after_zeros_is_the_mean(void **state)
{
    (void)state;
    static catch c;
    const toy_batch b = toy_range(2, 1);
    toy m;
    open_case(&m, "gru:1", "gru:1",
              (hd_recurrent_decoder_opt){.begin = HD_BEGINNING_zeros, .score = HD_SCORING_dot});
    probe(&m, &b, &c, ".context");
    hd_run_begin(&m.run, HD_INFERENCE);
    hd_encoded e = toy_encode(&m, &b);
    hd_real *mean = host_copy(&m.run, hd_reduce(&m.run, e.rows.t, e.rows.seg, HD_MEAN));
    for (size_t i = 0; i < W; i++) assert_true(fabs((double)(c.value[i] - mean[i])) < TOLERANCE);
    free(mean);
    toy_close(&m);
}

/* The previous state asks: weights of a step do not depend on its token, those of later steps do. */
static void weights_do_not_know_the_token_of_their_step(void **state)
{
    (void)state;
    static catch before, after;
    toy_batch b = toy_range(2, 1);
    toy m;
    open_case(&m, "gru:1", "gru:1", (hd_recurrent_decoder_opt){.score = HD_SCORING_dot});
    probe(&m, &b, &before, ".softmax");
    b.input[1] = b.input[1] == 5 ? 6 : 5;
    probe(&m, &b, &after, ".softmax");
    size_t n = b.source_rows;
    assert_int_equal(before.count, n * b.target_rows);
    assert_memory_equal(before.value, after.value, 2 * n * sizeof(hd_real));
    assert_memory_not_equal(before.value + 2 * n, after.value + 2 * n, n * sizeof(hd_real));
    toy_close(&m);
}

/* The context enters by its own weights: without them it is the decoder without attention. */
static void without_weights_for_the_context_it_is_a_plain_decoder(void **state)
{
    (void)state;
    toy with, without;
    const toy_batch b = toy_range(0, 3);
    open_case(&with, "gru:1", "gru:1",
              (hd_recurrent_decoder_opt){.query = HD_QUERY_current, .read = HD_READING_tanh});
    open_case(&without, "gru:1", "gru:1",
              (hd_recurrent_decoder_opt){.context = HD_CONTEXT_fixed, .read = HD_READING_tanh});
    for (size_t i = 0; i < without.params->count; i++) {
        hd_param *to = without.params->list[i];
        if (to->name && !to->alias) hd_params_set(without.params, to, param(&with, to->name)->t.data);
    }
    hd_real *x = toy_logits(&with, &b), *y = toy_logits(&without, &b);
    assert_memory_not_equal(x, y, b.target_rows * TOY_VOCAB * sizeof *x);
    free(x);
    clear(&with, "model.decoder.read_context.weight");
    x = toy_logits(&with, &b);
    for (size_t i = 0; i < b.target_rows * TOY_VOCAB; i++)
        assert_true(fabs((double)(x[i] - y[i])) < TOLERANCE);
    free(x), free(y);
    toy_close(&with), toy_close(&without);
}

/* --attention-projections with unit matrices: keys and values are the states themselves, and the query is the
 * state. */
static void unit_matrices_for_keys_and_values_are_none(void **state)
{
    (void)state;
    static const char *const maps[] = {"query", "key", "value"};
    const toy_batch b = toy_range(0, 3);
    for (int late = 0; late < 2; late++) {
        toy plain, projected;
        hd_recurrent_decoder_opt o = {.score = HD_SCORING_dot};
        if (late) o.query = HD_QUERY_current, o.read = HD_READING_tanh;
        open_case(&plain, "gru:1", "gru:1", o);
        o.project = true;
        open_case(&projected, "gru:1", "gru:1", o);
        for (size_t i = 0; i < plain.params->count; i++) {
            const hd_param *from = plain.params->list[i];
            if (from->name && !from->alias)
                hd_params_set(projected.params, param(&projected, from->name), from->t.data);
        }
        hd_real *want = toy_logits(&plain, &b), *drawn = toy_logits(&projected, &b);
        assert_memory_not_equal(want, drawn, b.target_rows * TOY_VOCAB * sizeof *want);
        for (size_t k = 0; k < COUNT_OF(maps); k++) {
            char name[64];
            snprintf(name, sizeof name, "model.decoder.attention.%s.bias", maps[k]);
            clear(&projected, name);
            snprintf(name, sizeof name, "model.decoder.attention.%s.weight", maps[k]);
            clear(&projected, name);
            for (size_t i = 0; i < W; i++) fill(&projected, name, 1, i * W + i, 1);
        }
        hd_real *got = toy_logits(&projected, &b);
        for (size_t i = 0; i < b.target_rows * TOY_VOCAB; i++)
            assert_true(fabs((double)(got[i] - want[i])) < TOLERANCE);
        free(want), free(drawn), free(got);
        toy_close(&plain), toy_close(&projected);
    }
}

/* Embedding, then dropout, then GRU, and nothing behind it: in training the encoder's rows are those of cells
   without dropout over vectors of which some numbers are 0 and the others larger. */
static void dropout_stands_between_embedding_and_cells(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 32);
    encdec_case c = {.name = "", .encoder = "gru:1", .decoder = "gru:1", .untied = true};
    hd_encdec_opt o = encdec_opt(&c);
    toy m;
    o.stack.dropout = 0.1f;
    encdec_open(&m, &o, 1);
    hd_run *r = &m.run;
    const hd_encoder *e = &m.t->encoder;
    for (int mode = HD_INFERENCE; mode <= HD_TRAIN; mode++) {
        size_t zeros = 0;
        r->now.number = 3;
        hd_run_begin(r, (hd_mode)mode);
        hd_real *rows = host_copy(r, toy_encode(&m, &b).rows.t);
        hd_run_begin(r,
                     (hd_mode)mode); /* the same draws again: the first of the step is that of the vectors */
        hd_seg *seg = hd_seg_of(r, b.source_len, b.items, b.key);
        hd_rows x =
            hd_front_rows(r, &e->front, &(hd_items){.seg = seg, .ids = hd_ints(r, b.source, b.source_rows)});
        hd_real *in = host_copy(r, x.t), *want;
        hd_recurrent cells = e->stage[0].cells;
        cells.dropout = 0;
        r->training = false;
        want = host_copy(r, hd_recurrent_of(r, &cells, x, NULL, NULL, NULL).t);
        assert_memory_equal(rows, want, b.source_rows * W * sizeof *rows);
        const hd_real *table = e->front.table->t.data;
        for (size_t i = 0; i < b.source_rows * W; i++) {
            double plain = (double)table[(size_t)b.source[i / W] * W + i % W];
            zeros += in[i] == 0;
            assert_true(in[i] == 0 || fabs((double)in[i] - plain / (mode == HD_TRAIN ? 0.9 : 1)) < 1e-4);
        }
        double share = (double)zeros / (double)(b.source_rows * W);
        assert_true(mode == HD_TRAIN ? fabs(share - 0.1) < 0.03 : !zeros);
        free(rows), free(in), free(want);
    }
    toy_close(&m);
}

/* y = b + sum over layers of W_l h_l: the part of a layer goes with its weights, and one layer is the sum. */
static void the_output_is_a_sum_over_layers(void **state)
{
    (void)state;
    static catch h0, h1;
    toy m;
    const toy_batch b = toy_range(1, 1);
    open_case(&m, "gru:1", "gru:2",
              (hd_recurrent_decoder_opt){.context = HD_CONTEXT_fixed, .read = HD_READING_sum, .skips = true});
    probe(&m, &b, &h0, "layer0.h"), probe(&m, &b, &h1, "layer1.h");
    for (int without = -1; without < 2; without++) {
        if (without >= 0)
            clear(&m, without ? "model.decoder.read_l1.weight" : "model.decoder.read_l0.weight");
        hd_run_begin(&m.run, HD_INFERENCE);
        hd_real *y = host_copy(&m.run, toy_rows(&m, &b).t);
        const hd_real *w0 = param(&m, "model.decoder.read_l0.weight")->t.data,
                      *w1 = param(&m, "model.decoder.read_l1.weight")->t.data,
                      *bias = param(&m, "model.decoder.read_l1.bias")->t.data;
        for (size_t i = 0; i < b.target_rows * W; i++) {
            double sum = (double)bias[i % W];
            for (size_t k = 0; k < W; k++)
                sum += (double)w0[i % W * W + k] * (double)h0.value[i / W * W + k] +
                       (double)w1[i % W * W + k] * (double)h1.value[i / W * W + k];
            assert_true(fabs((double)y[i] - sum) < TOLERANCE);
        }
        free(y);
    }
    toy_close(&m);
}

/* How much rows change when the encoder's last state is moved a little. */
static void reach_of_last_state(toy *m, const toy_batch *b, double *moved)
{
    hd_real *y[2];
    for (int k = 0; k < 2; k++) {
        hd_run_begin(&m->run, HD_INFERENCE);
        hd_encoded e = toy_encode(m, b);
        hd_real push[W];
        for (size_t i = 0; i < W; i++) push[i] = (hd_real)(k ? 1e-2 : 0);
        e.last[0] = hd_add(&m->run, e.last[0], hd_from(&m->run, 1, W, push));
        hd_rows x = hd_encdec_decode(&m->run, m->t, hd_ints(&m->run, b->input, b->target_rows),
                                     hd_seg_of(&m->run, b->target_len, 1, NULL), e, NULL);
        y[k] = host_copy(&m->run, x.t);
    }
    for (size_t t = 0; t < b->target_rows; t++) {
        moved[t] = 0;
        for (size_t i = 0; i < W; i++) moved[t] += pow((double)(y[1][t * W + i] - y[0][t * W + i]), 2);
    }
    free(y[0]), free(y[1]);
}

static void what_is_given_once_is_diluted_and_what_is_given_always_is_not(void **state)
{
    (void)state;
    toy_batch b = {.items = 1,
                   .source_rows = 4,
                   .target_rows = 24,
                   .source_len = {4},
                   .target_len = {24},
                   .source = {3, 4, 5, 2}};
    for (size_t t = 0; t < b.target_rows; t++) b.input[t] = 3 + (int32_t)(t * 7 % 10);
    for (int always = 0; always < 2; always++) {
        toy m;
        double moved[24];
        open_case(&m, "gru:1", "gru:1",
                  (hd_recurrent_decoder_opt){.context = always ? HD_CONTEXT_everywhere : HD_CONTEXT_fixed});
        reach_of_last_state(&m, &b, moved);
        print_message("%s: %.1e at first, %.1e in the end\n", always ? "everywhere" : "fixed", moved[0],
                      moved[23]);
        assert_true(always ? moved[23] > 0.1 * moved[0] : moved[23] < 1e-3 * moved[0]);
        toy_close(&m);
    }
}

static hd_real *encoded(toy *m, const toy_batch *b)
{
    hd_run_begin(&m->run, HD_INFERENCE);
    return host_copy(&m->run, toy_encode(m, b).rows.t);
}

/* States of one direction know what came before; those of both know all. The same weights in both directions
   and the source read backwards: the halves change places. */
static void both_directions_know_later_words(void **state)
{
    (void)state;
    toy_batch b = toy_range(2, 1), last = b, back = b;
    size_t n = b.source_rows;
    last.source[n - 1] = 7;
    for (size_t i = 0; i < n; i++) back.source[i] = b.source[n - 1 - i];
    for (int both = 0; both < 2; both++) {
        toy m;
        size_t cols = both ? 2 * W : W;
        open_case(&m, both ? "bi-gru:1" : "gru:1", "gru:1", (hd_recurrent_decoder_opt){0});
        hd_real *x = encoded(&m, &b), *y = encoded(&m, &last);
        assert_int_equal(!memcmp(x, y, W * sizeof *x), 1);
        assert_int_equal(!memcmp(x, y, cols * sizeof *x), !both);
        free(y);
        if (both) {
            static const char *const names[] = {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"};
            for (size_t i = 0; i < COUNT_OF(names); i++) {
                char from[64], to[80];
                snprintf(from, sizeof from, "model.encoder.rnn.%s", names[i]),
                    snprintf(to, sizeof to, "%s_reverse", from);
                hd_params_set(m.params, param(&m, to), param(&m, from)->t.data);
            }
            free(x);
            x = encoded(&m, &b), y = encoded(&m, &back);
            for (size_t i = 0; i < n; i++) {
                assert_memory_equal(x + i * cols, y + (n - 1 - i) * cols + W, W * sizeof *x);
                assert_memory_equal(x + i * cols + W, y + (n - 1 - i) * cols, W * sizeof *x);
            }
            free(y);
        }
        free(x);
        toy_close(&m);
    }
}

/* Reversing the source inside is reversing it outside, and leaves the target alone. */
static void a_reversed_source_is_read_from_its_end(void **state)
{
    (void)state;
    encdec_case c = {.name = "",
                     .encoder = "lstm:2",
                     .decoder = "lstm:2",
                     .r = {.context = HD_CONTEXT_fixed},
                     .reverse_source = true};
    toy_batch b = toy_range(2, 1), back = b;
    for (size_t i = 0; i < b.source_rows; i++) back.source[i] = b.source[b.source_rows - 1 - i];
    toy inside, outside;
    hd_encdec_opt o = encdec_opt(&c);
    encdec_open(&inside, &o, 1);
    o.reverse_source = false;
    encdec_open(&outside, &o, 1);
    hd_real *x = toy_logits(&inside, &b), *y = toy_logits(&outside, &back);
    assert_memory_equal(x, y, b.target_rows * TOY_VOCAB * sizeof *x);
    free(x), free(y);
    toy_close(&inside), toy_close(&outside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_decoder_begins_where_it_is_told_to),
        cmocka_unit_test(the_mean_is_the_same_at_every_step_and_attention_is_not),
        cmocka_unit_test(the_first_context_after_zeros_is_the_mean),
        cmocka_unit_test(weights_do_not_know_the_token_of_their_step),
        cmocka_unit_test(without_weights_for_the_context_it_is_a_plain_decoder),
        cmocka_unit_test(unit_matrices_for_keys_and_values_are_none),
        cmocka_unit_test(dropout_stands_between_embedding_and_cells),
        cmocka_unit_test(the_output_is_a_sum_over_layers),
        cmocka_unit_test(what_is_given_once_is_diluted_and_what_is_given_always_is_not),
        cmocka_unit_test(both_directions_know_later_words),
        cmocka_unit_test(a_reversed_source_is_read_from_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
