/* The decoder-only model: it learns, sees only what came before, and gives the same bits whatever the threads
   and the batch. Decoding with a cache is in nn/cache_test.c, gradients in transformer_grad_test.c. */
#include "model/toy.h"

static const hd_optimizer_opt adamw = {
    .kind = HD_OPT_ADAMW, .beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f, .clip = 1, .decay = 0.01f};

/* Counting: each word is the one before plus the item's own stride, so that from the third token on all is
 * decided. */
static toy_batch counting(void)
{
    toy_batch b = {.items = 24};
    for (size_t i = 0; i < b.items; i++) {
        int32_t n = 5 + (int32_t)(i % 5), word = (int32_t)i % TOY_VOCAB, stride = 1 + (int32_t)(i / 5);
        b.key[i] = (int32_t)i, b.target_len[i] = n;
        for (int32_t j = 0; j < n; j++) {
            b.input[b.target_rows] = word;
            word = (word + stride) % TOY_VOCAB;
            b.target[b.target_rows++] = j ? word : -1; /* the stride cannot be known from one word */
        }
    }
    return b;
}

static void both_kinds_of_norm_learn_to_count(void **state)
{
    (void)state;
    const toy_batch b = counting();
    for (int post = 0; post < 2; post++) {
        toy m;
        hd_gpt_opt o = toy_gpt_opt();
        o.stack.pre_norm = !post;
        toy_open(&m, 2, NULL, &o, &adamw);
        double first = 0, loss = 0;
        for (int t = 1; t <= 200; t++) {
            loss = toy_step(&m, &b, 0, 0.005 * (t < 20 ? t / 20.0 : 1), (uint32_t)t);
            if (t == 1) first = loss;
        }
        print_message("%s: %.4f to %.4f\n", post ? "post-norm" : "pre-norm", first, loss);
        assert_true(first > 1.5);
        assert_true(loss < 0.05);
        toy_close(&m);
    }
}

static void a_token_changes_no_earlier_row_and_every_later_one(void **state)
{
    (void)state;
    for (int post = 0; post < 2; post++) {
        toy m;
        hd_gpt_opt o = toy_gpt_opt();
        o.stack.pre_norm = !post;
        toy_open(&m, 2, NULL, &o, NULL);
        stir(m.params);
        const toy_batch b = toy_range(0, 6);
        hd_real *before = toy_logits(&m, &b);
        for (size_t i = 0, begin = 0; i < b.items; begin += (size_t)b.target_len[i], i++)
            for (size_t j = begin, end = begin + (size_t)b.target_len[i]; j < end; j++) {
                toy_batch other = b;
                other.input[j] = other.input[j] == 5 ? 6 : 5;
                hd_real *after = toy_logits(&m, &other);
                for (size_t k = 0; k < b.target_rows; k++)
                    assert_int_equal(
                        memcmp(before + k * TOY_VOCAB, after + k * TOY_VOCAB, TOY_VOCAB * sizeof *after) != 0,
                        k >= j && k < end);
                free(after);
            }
        free(before);
        toy_close(&m);
    }
}

static void an_item_has_the_same_bits_whatever_else_is_in_the_batch(void **state)
{
    (void)state;
    static const int32_t keys[] = {9, 2, 2, 14, 0, 7, 31, 5, 11};
    toy m;
    hd_gpt_opt o = toy_gpt_opt();
    toy_open(&m, 3, NULL, &o, NULL);
    stir(m.params);
    toy_batch b = {0};
    for (size_t i = 0; i < COUNT_OF(keys); i++) toy_add(&b, keys[i]);
    hd_real *all = toy_logits(&m, &b), *at = all;
    for (size_t i = 0; i < b.items; at += b.target_len[i] * TOY_VOCAB, i++) {
        toy_batch alone = toy_range(keys[i], 1);
        hd_real *one = toy_logits(&m, &alone);
        assert_memory_equal(at, one, alone.target_rows * TOY_VOCAB * sizeof *one);
        free(one);
    }
    free(all);
    toy_close(&m);
}

enum { STEPS = 20 };

static void training_gives_the_same_bits_on_any_number_of_threads_and_every_time(void **state)
{
    (void)state;
    static const int threads[] = {1, 1, 2, 3, 4, 4};
    double loss[COUNT_OF(threads)][STEPS];
    hd_real *value[COUNT_OF(threads)];
    for (size_t c = 0; c < COUNT_OF(threads); c++) {
        toy m;
        hd_gpt_opt o = toy_gpt_opt();
        o.stack.dropout = o.stack.attention_dropout = 0.1f;
        toy_open(&m, threads[c], NULL, &o, &adamw);
        for (int t = 0; t < STEPS; t++) {
            toy_batch b = toy_range(t, 32 - t);
            loss[c][t] = toy_step(&m, &b, 0.1f, 0.003, (uint32_t)t);
        }
        value[c] = toy_copy(&m, m.params->value);
        assert_memory_equal(loss[0], loss[c], sizeof *loss);
        assert_memory_equal(value[0], value[c], m.params->trainable * sizeof(hd_real));
        toy_close(&m);
    }
    assert_true(loss[0][STEPS - 1] < loss[0][0] - 0.1);
    for (size_t c = 0; c < COUNT_OF(threads); c++) free(value[c]);
}

static void operations_are_two_for_each_weight_and_token(void **state)
{
    (void)state;
    toy m;
    hd_gpt_opt o = toy_gpt_opt();
    toy_open(&m, 1, NULL, &o, NULL);
    double weights = 0;
    for (size_t i = 0; i < m.params->count; i++) {
        const hd_param *p = m.params->list[i];
        if (p->name && !p->alias && p->t.rank == 2 && p != m.g->front.position)
            weights += (double)hd_count_of(&p->t);
    }
    double attention = 2 * 2 * 2 * 32; /* layers, products, multiply and add */
    assert_true(hd_gpt_flops(m.g, 1, 1) == 2 * weights + attention);
    assert_true(hd_gpt_flops(m.g, 5, 3) == 5 * 3 * (2 * weights + 3 * attention));
    toy_close(&m);
}

/* Copies the weights of `few` heads of keys and values to a model that has one for every query. */
static void repeat_heads(toy *many, const toy *few, size_t heads, size_t kv_heads, size_t head)
{
    for (size_t i = 0; i < few->params->count; i++) {
        const hd_param *from = few->params->list[i];
        hd_param *to = from->name && !from->alias ? hd_params_find(many->params, from->name) : NULL;
        if (!to) continue;
        size_t rows = hd_rows_of(&from->t), cols = hd_cols_of(&from->t), q = heads * head,
               kv = kv_heads * head;
        bool joint = strstr(from->name, "c_attn");
        if (joint && from->t.rank == 1) rows = hd_count_of(&from->t), cols = 1;
        hd_real *x = calloc(hd_count_of(&from->t), sizeof *x), *y = calloc(hd_count_of(&to->t), sizeof *y);
        assert_int_equal(hd_params_get(few->params, from, &from->t, x), HD_OK);
        size_t total = joint ? 3 * q : rows;
        for (size_t j = 0; j < total; j++) {
            size_t k = j < q ? 0 : (j - q) % q, part = j < q ? 0 : (j - q) / q;
            size_t row =
                !joint || j < q ? j : q + part * kv + k / head / (heads / kv_heads) * head + k % head;
            memcpy(y + j * cols, x + row * cols, cols * sizeof *y);
        }
        assert_int_equal(hd_params_set(many->params, to, y), HD_OK);
        free(x);
        free(y);
    }
}

static void heads_that_share_keys_equal_heads_with_copies_of_them(void **state)
{
    (void)state;
    for (int kv = 1; kv <= 2; kv++) {
        toy few, many;
        hd_gpt_opt o = toy_gpt_opt();
        toy_open(&many, 2, NULL, &o, NULL);
        o.stack.kv_heads = kv;
        toy_open(&few, 2, NULL, &o, NULL);
        stir(few.params);
        repeat_heads(&many, &few, (size_t)o.stack.heads, (size_t)kv, o.stack.width / (size_t)o.stack.heads);
        const toy_batch b = toy_range(0, 6);
        hd_real *x = toy_logits(&few, &b), *y = toy_logits(&many, &b);
        assert_memory_equal(x, y, b.target_rows * TOY_VOCAB * sizeof *x);
        assert_true(hd_gpt_flops(few.g, 2, 3) < hd_gpt_flops(many.g, 2, 3));
        free(x);
        free(y);
        toy_close(&few);
        toy_close(&many);
    }
    hd_gpt_opt o = toy_gpt_opt();
    hd_backend *backend = backend_of("cpu", 1);
    hd_gpt *m = NULL;
    hd_err err = {0};
    o.stack.kv_heads = 3;
    assert_int_equal(hd_gpt_new(&m, backend, &o, false, &err), HD_EARG);
    assert_non_null(strstr(err.text, "4 heads cannot share 3"));
    backend->free(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_kinds_of_norm_learn_to_count),
        cmocka_unit_test(a_token_changes_no_earlier_row_and_every_later_one),
        cmocka_unit_test(an_item_has_the_same_bits_whatever_else_is_in_the_batch),
        cmocka_unit_test(training_gives_the_same_bits_on_any_number_of_threads_and_every_time),
        cmocka_unit_test(heads_that_share_keys_equal_heads_with_copies_of_them),
        cmocka_unit_test(operations_are_two_for_each_weight_and_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
