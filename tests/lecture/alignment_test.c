/* Where a model looks is where the word comes from: a small Transformer learns to turn sentences round, and
   the largest weight of its attention lies on the word it says next. */
#include "model/toy.h"

/* The target is the source backwards. */
static toy_batch turned(int32_t first)
{
    toy_batch b = toy_range(first, TOY_ITEMS);
    for (size_t i = 0, at = 0; i < b.items; at += (size_t)b.target_len[i++]) {
        int32_t n = b.target_len[i] - 1;
        for (int32_t j = 0; j < n; j++)
            b.target[at + (size_t)j] = b.input[at + (size_t)j + 1] = b.source[at + (size_t)(n - 1 - j)];
    }
    return b;
}

/* Keeps the weights of the attention to the source, item after item, query after query. */
typedef struct weights {
    hd_real w[TOY_ITEMS * (TOY_LONGEST + 1) * (TOY_LONGEST + 1)];
    size_t count;
} weights;

static void take(void *context, hd_run *r, const hd_offer *offer)
{
    weights *w = context;
    if (strcmp(offer->name, "dec.0.cross.softmax")) return;
    assert_int_equal(hd_cols_of(offer->t), 1);
    assert_true(hd_count_of(offer->t) <= COUNT_OF(w->w));
    if (hd_read(r, offer->t, w->w)) w->count = hd_count_of(offer->t);
}

static void the_largest_weight_lies_on_the_word_that_is_said(void **state)
{
    (void)state;
    enum { STEPS = 1200 };
    static weights kept;
    const hd_optimizer_opt adam = {
        .kind = HD_OPT_ADAM, .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-9f, .clip = 1};
    hd_encdec_opt o = toy_opt();
    o.encoder_layers = o.decoder_layers = o.stack.heads = 1;
    toy m;
    toy_open(&m, 1, &o, NULL, &adam);
    for (uint32_t step = 1; step <= STEPS; step++) {
        toy_batch b = turned((int32_t)step * TOY_ITEMS);
        double loss = toy_step(&m, &b, 0, 0.005 * (step < 20 ? step / 20.0 : 1), step);
        if (step % 100 == 0) print_message("step %u: loss %.4f\n", (unsigned)step, loss);
    }
    const toy_batch b = turned(0);
    m.run.probe = &(hd_probe){.take = take, .context = &kept};
    free(toy_logits(&m, &b));
    m.run.probe = NULL;
    size_t right = 0, all = 0;
    const hd_real *w = kept.w;
    for (size_t i = 0; i < b.items; i++) {
        int32_t keys = b.source_len[i], n = b.target_len[i] - 1;
        for (int32_t t = 0; t <= n; t++, w += keys) {
            int32_t best = 0;
            for (int32_t j = 1; j < keys; j++)
                if (w[j] > w[best]) best = j;
            if (t < n) all++, right += best == n - 1 - t;
        }
    }
    assert_int_equal((size_t)(w - kept.w), kept.count);
    print_message("%zu of %zu words are looked at when they are said\n", right, all);
    assert_true(right * 10 >= all * 9);
    toy_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_largest_weight_lies_on_the_word_that_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
