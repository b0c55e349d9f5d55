/* Models asked on the CPU with weights of bf16 and int8: close to f32, the same bits whatever the threads and
   the batch, and nothing of it left behind. */
#include "check.h"
#include "model/bert_toy.h"
#include "model/prepare.h"
#include "model/toy.h"

static hd_backend *backend_with(hd_precision precision, int threads)
{
    hd_err err = {0};
    hd_backend *b = NULL;
    if (hd_backend_new(&b, "cpu", &(hd_backend_opt){.threads = threads, .precision = precision}, &err))
        fail_msg("%s", err.text);
    return b;
}

typedef enum asked { GPT, TRANSFORMER, RECURRENT, MODELS } asked;
static const char *const names[MODELS] = {"gpt", "transformer", "recurrent"};
static const hd_precision rounded[] = {HD_PRECISION_BF16, HD_PRECISION_INT8};

static void open_with(toy *m, asked what, hd_precision precision, int threads)
{
    hd_err err = {0};
    hd_gpt_opt g = toy_gpt_opt();
    hd_encdec_opt t = toy_opt();
    if (what == RECURRENT)
        t = (hd_encdec_opt){.encoder = {.at = {{.kind = HD_STAGE_lstm, .layers = 1}}, .count = 1},
                            .decoder = {.at = {{.kind = HD_STAGE_lstm, .layers = 1}}, .count = 1},
                            .stack.heads = 4,
                            .stack.width = 32,
                            .stack.inner = 64,
                            .source_vocab = TOY_VOCAB,
                            .target_vocab = TOY_VOCAB,
                            .positions = 64};
    *m = (toy){.backend = backend_with(precision, threads)};
    m->run = run_on(m->backend);
    if (what == GPT)
        m->g = toy_gpt(m->backend, &g, false), m->params = &m->g->params;
    else
        m->t = toy_transformer(m->backend, &t, false), m->params = &m->t->params;
    stir(m->params);
    if (m->g ? hd_gpt_prepare(m->g, HD_PREDICTING, &err) : hd_encdec_prepare(m->t, HD_DECODING, &err))
        fail_msg("%s", err.text);
}

/* A number of bf16 has 8 bits: each product of a sum errs by 0.4 % at most, by chance in both directions. One
   of int8 errs by a 254th of the largest of its row. */
static void assert_close(const char *name, hd_precision precision, const hd_real *x, const hd_real *y,
                         size_t count)
{
    double error = relative_error(x, y, count);
    print_message("%s: logits in %s are %.2g of their length from those in f32\n", name,
                  hd_precision_names[precision], error);
    assert_true(error > 1e-5); /* the weights were rounded */
    assert_true(error < (precision == HD_PRECISION_INT8 ? 0.04 : 0.02));
}

static void logits_are_close_to_those_in_f32(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 12);
    size_t blocks = hd_mem_now().blocks;
    for (int i = 0; i < 2 * MODELS; i++) {
        const asked what = (asked)(i / 2);
        toy f32, small;
        open_with(&f32, what, HD_PRECISION_F32, 2);
        open_with(&small, what, rounded[i % 2], 2);
        hd_real *x = toy_logits(&f32, &b), *y = toy_logits(&small, &b);
        assert_close(names[what], rounded[i % 2], x, y, b.target_rows * TOY_VOCAB);
        free(x), free(y);
        toy_close(&f32), toy_close(&small);
    }
    assert_int_equal(hd_mem_now().blocks, blocks);
}

static void an_item_has_the_same_bits_alone_and_on_any_threads(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 12);
    for (int k = 0; k < 2 * MODELS; k++) {
        const asked what = (asked)(k / 2);
        toy all;
        open_with(&all, what, rounded[k % 2], 1);
        hd_real *together = toy_logits(&all, &b);
        for (int threads = 1; threads <= 3; threads++) {
            toy m;
            open_with(&m, what, rounded[k % 2], threads);
            for (size_t i = 0, row = 0; i < b.items; row += (size_t)b.target_len[i], i++) {
                const toy_batch one = toy_range((int32_t)i, 1);
                hd_real *alone = toy_logits(&m, &one);
                assert_memory_equal(alone, together + row * TOY_VOCAB,
                                    one.target_rows * TOY_VOCAB * sizeof *alone);
                free(alone);
            }
            toy_close(&m);
        }
        free(together);
        toy_close(&all);
    }
}

static hd_real *bert_logits(bert_toy *t, hd_precision precision)
{
    hd_err err = {0};
    hd_bert_opt o = bt_opt();
    bt_open_on(t, &o, backend_with(precision, 2));
    if (hd_bert_prepare(t->m, HD_PREDICTING, &err)) fail_msg("%s", err.text);
    hd_run_begin(&t->run, HD_INFERENCE);
    hd_bert_batch b = bt_batch(&t->run, bt_ids);
    return host_copy(&t->run, hd_bert_logits(&t->run, t->m, &b));
}

static void a_bert_fills_in_nearly_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        bert_toy f32, small;
        hd_real *x = bert_logits(&f32, HD_PRECISION_F32), *y = bert_logits(&small, rounded[i]);
        assert_close("bert", rounded[i], x, y, BT_ASKED * BT_VOCAB);
        free(x), free(y);
        bt_close(&f32), bt_close(&small);
    }
}

static void another_instance_has_the_same_weights_and_int8_trains_none(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *again = NULL, *b = NULL;
    for (int i = 0; i < 2; i++) {
        b = backend_with(rounded[i], 1);
        assert_int_equal(hd_backend_again(&again, b, 1, &err), HD_OK);
        assert_int_equal(again->weights, i ? HD_I8 : HD_BF16);
        assert_int_equal(again->compute, HD_REAL);
        hd_backend_free(again), hd_backend_free(b);
    }
    b = backend_with(HD_PRECISION_AUTO, 1);
    assert_int_equal(b->weights, HD_REAL);
    hd_backend_free(b);
    hd_backend_opt opt = {.threads = 1, .precision = HD_PRECISION_BF16, .training = true};
    b = NULL;
    assert_int_equal(hd_backend_new(&b, "cpu", &opt, &err), HD_OK);
    assert_int_equal(b->weights, HD_BF16);
    assert_int_equal(b->compute, HD_REAL);
    hd_backend_free(b), b = NULL;
    opt.precision = HD_PRECISION_INT8;
    assert_int_equal(hd_backend_new(&b, "cpu", &opt, &err), HD_EARG);
    assert_string_equal(err.text, "int8 is for inference only: models are trained in f32 or bf16");
    assert_null(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_close_to_those_in_f32),
        cmocka_unit_test(an_item_has_the_same_bits_alone_and_on_any_threads),
        cmocka_unit_test(a_bert_fills_in_nearly_the_same),
        cmocka_unit_test(another_instance_has_the_same_weights_and_int8_trains_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
