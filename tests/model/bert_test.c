/* BERT: its numbers are those of a second computation written out here, every row sees all of its item, the
   loss is of the rows asked for alone, and it learns what only both sides together tell. */
#include "check.h"
#include "model/bert_toy.h"
#include "train/optimizer.h"

/* -- a second computation, in double and without any of the engine's layers -- */

enum { MOST = BT_ROWS * 32 };

static double *values(const hd_bert *m, const char *name)
{
    hd_param *one = hd_params_find(&m->params, name);
    if (!one) fail_msg("there is no %s", name);
    size_t n = hd_count_of(&one->t);
    hd_real *x = malloc(n * sizeof *x);
    double *y = malloc(n * sizeof *y);
    assert_int_equal(hd_params_get(&m->params, one, &one->t, x), HD_OK);
    for (size_t i = 0; i < n; i++) y[i] = (double)x[i];
    free(x);
    return y;
}

static double *named(const hd_bert *m, int layer, const char *name, const char *last)
{
    char whole[160];
    if (layer < 0)
        snprintf(whole, sizeof whole, "%s.%s", name, last);
    else
        snprintf(whole, sizeof whole, "bert.encoder.layer.%d.%s.%s", layer, name, last);
    return values(m, whole);
}

static void dense(double *y, const double *x, size_t rows, size_t in, size_t out, const hd_bert *m, int layer,
                  const char *name, bool gelu)
{
    double *w = named(m, layer, name, "weight"), *b = named(m, layer, name, "bias");
    for (size_t i = 0; i < rows; i++)
        for (size_t o = 0; o < out; o++) {
            double sum = b[o];
            for (size_t k = 0; k < in; k++) sum += x[i * in + k] * w[o * in + k];
            y[i * out + o] = gelu ? 0.5 * sum * (1 + erf(sum / sqrt(2))) : sum;
        }
    free(w), free(b);
}

static void normalize(double *x, size_t rows, const hd_bert *m, int layer, const char *name)
{
    double *g = named(m, layer, name, "weight"), *b = named(m, layer, name, "bias");
    for (size_t i = 0; i < rows; i++) {
        double *v = x + i * BT_WIDTH, mean = 0, square = 0;
        for (size_t c = 0; c < BT_WIDTH; c++) mean += v[c] / BT_WIDTH;
        for (size_t c = 0; c < BT_WIDTH; c++) square += (v[c] - mean) * (v[c] - mean) / BT_WIDTH;
        for (size_t c = 0; c < BT_WIDTH; c++) v[c] = (v[c] - mean) / sqrt(square + 1e-12) * g[c] + b[c];
    }
    free(g), free(b);
}

static void attend(double *y, const double *q, const double *k, const double *v, size_t rows, size_t heads)
{
    size_t d = BT_WIDTH / heads;
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < rows; i++) {
            double weight[BT_ROWS], sum = 0;
            for (size_t j = 0; j < rows; j++) {
                double score = 0;
                for (size_t c = h * d; c < (h + 1) * d; c++)
                    score += q[i * BT_WIDTH + c] * k[j * BT_WIDTH + c];
                sum += weight[j] = exp(score / sqrt((double)d));
            }
            for (size_t c = h * d; c < (h + 1) * d; c++) {
                y[i * BT_WIDTH + c] = 0;
                for (size_t j = 0; j < rows; j++)
                    y[i * BT_WIDTH + c] += weight[j] / sum * v[j * BT_WIDTH + c];
            }
        }
}

static void block(double *x, size_t rows, const hd_bert *m, int layer)
{
    double q[MOST], k[MOST], v[MOST], a[MOST], y[MOST];
    dense(q, x, rows, BT_WIDTH, BT_WIDTH, m, layer, "attention.self.query", false);
    dense(k, x, rows, BT_WIDTH, BT_WIDTH, m, layer, "attention.self.key", false);
    dense(v, x, rows, BT_WIDTH, BT_WIDTH, m, layer, "attention.self.value", false);
    attend(a, q, k, v, rows, (size_t)m->opt.stack.heads);
    dense(y, a, rows, BT_WIDTH, BT_WIDTH, m, layer, "attention.output.dense", false);
    for (size_t i = 0; i < rows * BT_WIDTH; i++) x[i] += y[i];
    normalize(x, rows, m, layer, "attention.output.LayerNorm");
    dense(a, x, rows, BT_WIDTH, m->opt.stack.inner, m, layer, "intermediate.dense", true);
    dense(y, a, rows, m->opt.stack.inner, BT_WIDTH, m, layer, "output.dense", false);
    for (size_t i = 0; i < rows * BT_WIDTH; i++) x[i] += y[i];
    normalize(x, rows, m, layer, "output.LayerNorm");
}

/* Logits of all rows of one item. */
static void reference(double *logits, const hd_bert *m, const int32_t *ids, const int32_t *type, size_t rows)
{
    double x[MOST], y[MOST];
    double *word = values(m, "bert.embeddings.word_embeddings.weight"),
           *place = values(m, "bert.embeddings.position_embeddings.weight"),
           *kind = values(m, "bert.embeddings.token_type_embeddings.weight"),
           *bias = values(m, "cls.predictions.bias");
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < BT_WIDTH; c++)
            x[i * BT_WIDTH + c] = word[(size_t)ids[i] * BT_WIDTH + c] + place[i * BT_WIDTH + c] +
                                  kind[(size_t)type[i] * BT_WIDTH + c];
    normalize(x, rows, m, -1, "bert.embeddings.LayerNorm");
    for (int l = 0; l < m->opt.stack.layers; l++) block(x, rows, m, l);
    dense(y, x, rows, BT_WIDTH, BT_WIDTH, m, -1, "cls.predictions.transform.dense", true);
    normalize(y, rows, m, -1, "cls.predictions.transform.LayerNorm");
    for (size_t i = 0; i < rows; i++)
        for (size_t o = 0; o < BT_VOCAB; o++) {
            logits[i * BT_VOCAB + o] = bias[o];
            for (size_t c = 0; c < BT_WIDTH; c++)
                logits[i * BT_VOCAB + o] += y[i * BT_WIDTH + c] * word[o * BT_WIDTH + c];
        }
    free(word), free(place), free(kind), free(bias);
}

static hd_real *logits_of(bert_toy *t, const int32_t *ids)
{
    hd_run_begin(&t->run, HD_INFERENCE);
    hd_bert_batch b = bt_batch(&t->run, ids);
    return host_copy(&t->run, hd_bert_logits(&t->run, t->m, &b));
}

static void its_numbers_are_those_of_the_paper(void **state)
{
    (void)state;
    bert_toy t;
    hd_bert_opt o = bt_opt();
    bt_open(&t, &o, 2);
    hd_real *got = logits_of(&t, bt_ids);
    double want[BT_ROWS * BT_VOCAB];
    for (size_t i = 0, row = 0; i < BT_ITEMS; row += (size_t)bt_len[i++])
        reference(want + row * BT_VOCAB, t.m, bt_ids + row, bt_type + row, (size_t)bt_len[i]);
    for (size_t i = 0; i < BT_ASKED; i++)
        for (size_t o2 = 0; o2 < BT_VOCAB; o2++) {
            double a = (double)got[i * BT_VOCAB + o2], b = want[(size_t)bt_place[i] * BT_VOCAB + o2];
            if (!(fabs(a - b) < 2e-5 * (1 + fabs(b)))) fail_msg("row %zu, %zu: %g, not %g", i, o2, a, b);
        }
    free(got);
    bt_close(&t);
}

/* -- what it sees -- */

static hd_real *rows_of(bert_toy *t, const int32_t *ids)
{
    hd_run *r = &t->run;
    hd_run_begin(r, HD_INFERENCE);
    hd_bert_batch b = bt_batch(r, ids);
    return host_copy(r, hd_bert_rows(r, t->m, &(hd_items){.seg = b.seg, .ids = b.ids, .type = b.type}).t);
}

static void a_token_changes_every_row_of_its_item_and_no_other(void **state)
{
    (void)state;
    bert_toy t;
    hd_bert_opt o = bt_opt();
    bt_open(&t, &o, 1);
    hd_real *before = rows_of(&t, bt_ids);
    for (size_t i = 0, begin = 0; i < BT_ITEMS; begin += (size_t)bt_len[i++])
        for (size_t j = begin, end = begin + (size_t)bt_len[i]; j < end; j++) {
            int32_t ids[BT_ROWS];
            memcpy(ids, bt_ids, sizeof ids);
            ids[j] = 14;
            hd_real *after = rows_of(&t, ids);
            for (size_t k = 0; k < BT_ROWS; k++)
                assert_int_equal(
                    memcmp(before + k * BT_WIDTH, after + k * BT_WIDTH, BT_WIDTH * sizeof *after) != 0,
                    k >= begin && k < end);
            free(after);
        }
    free(before);
    bt_close(&t);
}

/* -- what it learns -- */

static double loss_of(bert_toy *t, const int32_t *place, const int32_t *target, size_t count)
{
    hd_run *r = &t->run;
    hd_run_begin(r, HD_INFERENCE);
    hd_bert_batch b = bt_batch(r, bt_ids);
    b.place = hd_ints(r, place, count), b.target = hd_ints(r, target, count), b.count = count;
    double loss = hd_loss_total(r, hd_bert_loss(r, t->m, &b, &(hd_loss_opt){.coef = 1}));
    assert_run_ok(r);
    return loss;
}

static void the_loss_is_of_the_rows_asked_for_alone(void **state)
{
    (void)state;
    static const int32_t filled[] = {2, 6, 7, 11, 1, -1, -1}, nothing[] = {8, 4, 5, 13, 10, -1, -1};
    bert_toy t;
    hd_bert_opt o = bt_opt();
    bt_open(&t, &o, 1);
    double all = loss_of(&t, bt_place, bt_target, BT_ASKED), sum = 0;
    for (size_t i = 0; i < BT_ASKED; i++) sum += loss_of(&t, bt_place + i, bt_target + i, 1);
    assert_true(fabs(all - sum) < 1e-4 * all);
    assert_true(fabs(all - loss_of(&t, filled, nothing, COUNT_OF(filled))) < 1e-5 * all);
    hd_real *logits = logits_of(&t, bt_ids);
    double expected = 0;
    for (size_t i = 0; i < BT_ASKED; i++) {
        double z = 0;
        for (size_t v = 0; v < BT_VOCAB; v++) z += exp((double)logits[i * BT_VOCAB + v]);
        expected += log(z) - (double)logits[i * BT_VOCAB + (size_t)bt_target[i]];
    }
    assert_true(fabs(all - expected) < 1e-4 * expected);
    free(logits);
    bt_close(&t);
}

/* a MASK b, where the masked one is (a + b) mod 5: neither side alone tells. */
static void it_learns_what_only_both_sides_tell(void **state)
{
    (void)state;
    enum { N = 25, BASE = 4 };
    static const hd_optimizer_opt adam = {
        .kind = HD_OPT_ADAM, .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-8f, .clip = 1};
    hd_err err = {0};
    bert_toy t = {.backend = backend_of("cpu", 2)};
    hd_optimizer optimizer;
    hd_bert_opt o = {
        .stack.layers = 2, .stack.heads = 2, .stack.width = 32, .vocab = BT_VOCAB, .positions = 4};
    t.run = run_on(t.backend);
    if (hd_bert_new(&t.m, t.backend, &o, true, &err) || hd_params_draw(&t.m->params, 1, &err) ||
        hd_optimizer_init(&optimizer, &t.m->params, &adam, &err))
        fail_msg("%s", err.text);
    int32_t ids[3 * N], type[3 * N] = {0}, len[N], place[N], target[N];
    for (int32_t i = 0; i < N; i++) {
        ids[3 * i] = BASE + i / 5, ids[3 * i + 1] = BT_VOCAB - 1, ids[3 * i + 2] = BASE + 5 + i % 5;
        len[i] = 3, place[i] = 3 * i + 1, target[i] = BASE + (i / 5 + i % 5) % 5;
    }
    double first = 0, loss = 0;
    for (uint32_t step = 1; step <= 150; step++) {
        hd_run *r = &t.run;
        r->now.number = step;
        hd_run_begin(r, HD_TRAIN);
        hd_bert_batch b = {hd_seg_of(r, len, N, NULL), hd_ints(r, ids, 3 * N), hd_ints(r, type, 3 * N),
                           hd_ints(r, place, N),       hd_ints(r, target, N),  N};
        loss = hd_loss_total(r, hd_bert_loss(r, t.m, &b, &(hd_loss_opt){.coef = 1})) / N;
        hd_backward(r);
        hd_optimizer_step(r, &optimizer, 0.003, N, NULL, NULL);
        assert_run_ok(r);
        if (step == 1) first = loss;
    }
    print_message("%.4f to %.4f\n", first, loss);
    assert_true(first > 2);
    assert_true(loss < 0.1);
    hd_optimizer_release(&optimizer);
    bt_close(&t);
}

static void what_is_no_model_is_refused(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_bert_opt bad[] = {bt_opt(), bt_opt(), bt_opt(), bt_opt(), bt_opt()};
    bad[0].stack.heads = 5, bad[1].stack.layers = 0, bad[2].vocab = 0, bad[3].positions = 0,
    bad[4].stack.dropout = 1;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hd_err err = {0};
        hd_bert *m = NULL;
        assert_int_equal(hd_bert_new(&m, b, &bad[i], false, &err), HD_EARG);
        assert_null(m);
    }
    hd_backend_free(b);
}

static void no_allocation_that_fails_leaks(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_bert_opt o = bt_opt();
    size_t blocks = hd_mem_now().blocks;
    bool done = false;
    for (size_t n = 1; !done && n < 1000; n++) {
        hd_err err = {0};
        hd_bert *m = NULL;
        hd_mem_fail_at(n);
        hd_status s = hd_bert_new(&m, b, &o, true, &err);
        hd_mem_fail_at(0);
        done = !s;
        assert_true(!s || s == HD_ENOMEM);
        hd_bert_free(m);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_true(done);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_numbers_are_those_of_the_paper),
        cmocka_unit_test(a_token_changes_every_row_of_its_item_and_no_other),
        cmocka_unit_test(the_loss_is_of_the_rows_asked_for_alone),
        cmocka_unit_test(it_learns_what_only_both_sides_tell),
        cmocka_unit_test(what_is_no_model_is_refused),
        cmocka_unit_test(no_allocation_that_fails_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
