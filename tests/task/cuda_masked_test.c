/* BERT on the device against the cpu: the loss and gradients of updates as training sends them, filled up,
   captured and replayed. */
#include "device.h"

#include "op/replay.h"
#include "task/masked/training.h"
#include "task/speaker.h"

/* As in cuda_model_test.c: f32 sums in another order, bf16 rounds every activation by 2^-9. */
#define TOLERANCE      1e-4
#define TOLERANCE_BF16 2e-2
#define COSINE_BF16    0.98

enum { STEPS = 5, ITEMS = 6, CONTEXT = 20 };

static hd_tokenizer *tokenizer;
static hd_ids text;

typedef struct result {
    double loss[STEPS];
    hd_real *grad; /* of all steps together */
    size_t count;
} result;

/* The losses and gradients of a few updates, each with masks of its own. Takes the backend over. */
static result steps_on(hd_backend *b, bool capture)
{
    hd_err err = {0};
    hd_bert *m = NULL;
    hd_masked_rows rows;
    hd_masking how = {tokenizer, false};
    hd_run run = run_on(b), *r = &run;
    hd_bert_opt o = {.stack.layers = 2,
                     .stack.heads = 2,
                     .stack.width = 32,
                     .vocab = hd_masked_vocab(tokenizer),
                     .positions = CONTEXT,
                     .stack.dropout = 0.1f};
    result y = {0};
    run.captures = capture;
    if (hd_bert_new(&m, b, &o, true, &err) || hd_params_draw(&m->params, 1, &err) ||
        hd_masked_rows_init(&rows, ITEMS, CONTEXT, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < STEPS; i++) {
        hd_rng rng = hd_rng_make(1, (uint64_t)i);
        hd_bert_batch sent;
        hd_masked_rows_clear(&rows);
        for (size_t k = 0; k < ITEMS; k++)
            hd_masked_rows_add(&rows, &how, text.at + 3 * k, CONTEXT - 1 - k % 3, &rng);
        r->now.number = (uint32_t)i;
        hd_run_begin(r, HD_TRAIN);
        uint64_t shape = hd_masked_rows_send(r, &sent, &rows, 0, ITEMS);
        if (!capture || !hd_replay(r, m->params.serial, shape, NULL)) {
            if (capture) hd_capture(r, m->params.serial, shape);
            hd_loss_put(r, hd_bert_loss(r, m, &sent, &(hd_loss_opt){.coef = 1}));
            hd_backward(r);
            if (capture) hd_captured(r, NULL);
        }
        assert_run_ok(r);
        hd_step block;
        b->download(b, &block, r->block, sizeof block);
        y.loss[i] = (double)block.loss;
    }
    y.count = m->params.trainable;
    y.grad = malloc(y.count * sizeof *y.grad);
    b->download(b, y.grad, m->params.grad, y.count * sizeof *y.grad);
    assert_string_equal(b->error, "");
    hd_masked_rows_release(&rows);
    hd_bert_free(m);
    hd_run_release(r);
    hd_backend_free(b);
    return y;
}

static void updates_have_the_losses_and_gradients_of_the_cpu(void **state)
{
    (void)state;
    result want = steps_on(backend_of("cpu", 2), false);
    for (const hd_precision *p = device_precisions(); *p; p++)
        for (int capture = 0; capture < 2; capture++) {
            bool f32 = *p == HD_PRECISION_F32;
            hd_backend *b = device_new(*p);
            device_count_replays(b);
            bool captures = capture && b->capture;
            result got = steps_on(b, capture);
            size_t replays = device_replays();
            double apart = distance_between(want.grad, got.grad, want.count) / norm_of(want.grad, want.count);
            print_message("%s, %zu replays: gradients off by %.1e\n", f32 ? "f32" : "bf16", replays, apart);
            for (int i = 0; i < STEPS; i++)
                assert_true(fabs(got.loss[i] - want.loss[i]) <=
                            (f32 ? TOLERANCE : TOLERANCE_BF16) * want.loss[i]);
            if (f32)
                assert_true(apart <= TOLERANCE);
            else
                assert_true(cosine_of(want.grad, got.grad, want.count) > COSINE_BF16);
            assert_true(captures == (replays > 0)); /* few shapes, though the masks differ */
            free(got.grad);
        }
    free(want.grad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(updates_have_the_losses_and_gradients_of_the_cpu)};
    hd_err err = {0};
    speaker_lines lines = {speaker_text};
    if (device_missing()) return 77;
    if (hd_tokenizer_train(&tokenizer, HD_TOKENIZER_words, (hd_feed){speaker_next, &lines},
                           &(hd_tokenizer_opt){0}, &err))
        return 1;
    text = speaker_ids(tokenizer, speaker_text);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    hd_ids_release(&text);
    hd_tokenizer_free(tokenizer);
    return failed;
}
