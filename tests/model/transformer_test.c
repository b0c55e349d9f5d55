/* The Transformer as a whole: it learns, looks only where it may, and gives the same bits whatever the
 * threads, the batch and the memory plan. */
#include "model/toy.h"

static const hd_optimizer_opt adam = {
    .kind = HD_OPT_ADAM, .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-9f, .clip = 1};

/* Mean loss, without dropout, after `steps` steps over one batch with a short warm-up. */
static double learn(toy *m, const toy_batch *b, int steps)
{
    for (int t = 1; t <= steps; t++) {
        double loss = toy_step(m, b, 0, 0.005 * (t < 20 ? t / 20.0 : 1), (uint32_t)t);
        assert_true(t > 1 || loss > 1.5); /* it knows nothing yet: log 13 = 2.6 */
    }
    hd_run_begin(&m->run, HD_INFERENCE);
    double loss = hd_loss_total(&m->run, toy_loss(m, b, 0));
    assert_run_ok(&m->run);
    return loss / (double)b->target_rows;
}

static void every_variant_learns_to_copy(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool pre_norm, untied, learned, plain, output_bias, recompute;
        hd_unary act;
        float dropout;
    } cases[] = {
        {"post-norm, tied, sinusoids", .act = HD_relu},
        {"post-norm, tied, learned positions", .learned = true, .act = HD_relu},
        {"post-norm, untied, sinusoids", .untied = true, .act = HD_gelu},
        {"post-norm, untied, learned positions", .untied = true, .learned = true, .act = HD_silu},
        {"pre-norm, tied, sinusoids", .pre_norm = true, .act = HD_relu},
        {"pre-norm, tied, learned positions", .pre_norm = true, .learned = true, .output_bias = true,
         .act = HD_relu},
        {"pre-norm, untied, sinusoids", .pre_norm = true, .untied = true, .recompute = true,
         .act = HD_gelu_tanh},
        {"pre-norm, untied, learned positions", .pre_norm = true, .untied = true, .learned = true,
         .act = HD_relu},
        {"post-norm, plain", .plain = true, .act = HD_relu},
        {"post-norm, dropout, recompute", .recompute = true, .dropout = 0.05f, .act = HD_relu},
    };
    const toy_batch b = toy_range(0, 16);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        toy m;
        hd_encdec_opt o = toy_opt();
        o.stack.pre_norm = cases[c].pre_norm, o.tied = !cases[c].untied,
        o.learned_positions = cases[c].learned, o.stack.plain = cases[c].plain;
        o.output_bias = cases[c].output_bias, o.stack.recompute = cases[c].recompute,
        o.stack.act = cases[c].act, o.stack.dropout = cases[c].dropout;
        toy_open(&m, 2, &o, NULL, &adam);
        double loss = learn(&m, &b, 140);
        print_message("%-40s %.4f\n", cases[c].name, loss);
        if (!(loss < 0.05)) fail_msg("%s: the loss is still %g", cases[c].name, loss);
        toy_close(&m);
    }
}

/* Sources of 1 to 9 words, of which the target repeats every other one: no item has as many rows on both
 * sides. */
static toy_batch uneven_batch(void)
{
    toy_batch b = {.items = TOY_ITEMS};
    hd_rng rng = hd_rng_make(4, 4);
    for (size_t i = 0; i < b.items; i++) {
        int32_t n = 1 + (int32_t)(i % 9);
        b.key[i] = (int32_t)i;
        b.source_len[i] = n, b.target_len[i] = n / 2 + 2;
        b.input[b.target_rows] = TOY_BEGIN;
        for (int32_t j = 0; j < n; j++) {
            int32_t word = 3 + (int32_t)hd_rng_below(&rng, TOY_VOCAB - 3);
            b.source[b.source_rows++] = word;
            if (j % 2 == 0) b.target[b.target_rows] = word, b.input[++b.target_rows] = word;
        }
        b.target[b.target_rows++] = TOY_END;
        b.target_len[i] = (n + 1) / 2 + 1;
    }
    return b;
}

static void source_and_target_may_differ_in_length(void **state)
{
    (void)state;
    toy m;
    hd_encdec_opt o = toy_opt();
    const toy_batch b = uneven_batch();
    toy_open(&m, 2, &o, NULL, &adam);
    double loss = learn(&m, &b, 140);
    print_message("every other word: %.4f\n", loss);
    assert_true(loss < 0.05);
    toy_close(&m);
}

static void open_stirred(toy *m, const hd_encdec_opt *o)
{
    toy_open(m, 2, o, NULL, NULL);
    stir(m->params);
}

/* Rows that differ in any bit, as a mask over the rows of the batch (0 to 63). */
static uint64_t changed_rows(const hd_real *a, const hd_real *b, size_t rows, size_t cols)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < rows; i++)
        if (memcmp(a + i * cols, b + i * cols, cols * sizeof *a)) mask |= (uint64_t)1 << i;
    return mask;
}

static uint64_t rows_between(size_t from, size_t to)
{
    return (((uint64_t)1 << to) - 1) & ~(((uint64_t)1 << from) - 1);
}

static hd_real *encoded(toy *m, const toy_batch *b)
{
    hd_run_begin(&m->run, HD_INFERENCE);
    return host_copy(&m->run, toy_encode(m, b).rows.t);
}

static void a_target_token_changes_no_earlier_row_and_every_later_one(void **state)
{
    (void)state;
    for (int pre = 0; pre < 2; pre++) {
        toy m;
        hd_encdec_opt o = toy_opt();
        o.stack.pre_norm = pre;
        open_stirred(&m, &o);
        const toy_batch b = toy_range(0, 4);
        assert_true(b.target_rows < 64);
        hd_real *before = toy_logits(&m, &b);
        for (size_t i = 0, at = 0; i < b.items; i++)
            for (int32_t j = 0; j < b.target_len[i]; j++, at++) {
                toy_batch other = b;
                other.input[at] = other.input[at] == 5 ? 6 : 5;
                hd_real *after = toy_logits(&m, &other);
                assert_int_equal(changed_rows(before, after, b.target_rows, TOY_VOCAB),
                                 rows_between(at, at + (size_t)(b.target_len[i] - j)));
                free(after);
            }
        free(before);
        toy_close(&m);
    }
}

static void a_source_token_changes_every_row_of_its_item_and_no_other(void **state)
{
    (void)state;
    toy m;
    hd_encdec_opt o = toy_opt();
    open_stirred(&m, &o);
    const toy_batch b = toy_range(0, 4);
    assert_true(b.source_rows < 64 && b.target_rows < 64);
    hd_real *memory = encoded(&m, &b), *logits = toy_logits(&m, &b);
    for (size_t i = 0, at = 0, target_at = 0; i < b.items; target_at += (size_t)b.target_len[i], i++) {
        size_t begin = at;
        for (int32_t j = 0; j < b.source_len[i]; j++, at++) {
            toy_batch other = b;
            other.source[at] = other.source[at] == 5 ? 6 : 5;
            hd_real *other_memory = encoded(&m, &other), *other_logits = toy_logits(&m, &other);
            assert_int_equal(changed_rows(memory, other_memory, b.source_rows, o.stack.width),
                             rows_between(begin, begin + (size_t)b.source_len[i]));
            assert_int_equal(changed_rows(logits, other_logits, b.target_rows, TOY_VOCAB),
                             rows_between(target_at, target_at + (size_t)b.target_len[i]));
            free(other_memory), free(other_logits);
        }
    }
    free(memory), free(logits);
    toy_close(&m);
}

/* Rows of item i of b in x [.., cols]. */
static const hd_real *item_rows(const hd_real *x, const int32_t *len, size_t i, size_t cols)
{
    for (size_t k = 0; k < i; k++) x += (size_t)len[k] * cols;
    return x;
}

/* Losses of all rows in a training step with dropout. */
static hd_real *row_losses(toy *m, const toy_batch *b)
{
    m->run.now.number = 9;
    hd_run_begin(&m->run, HD_TRAIN);
    return host_copy(&m->run, toy_loss(m, b, 0.1f));
}

static void an_item_has_the_same_bits_whatever_else_is_in_the_batch(void **state)
{
    (void)state;
    static const int32_t batches[][8] = {{0, 1, 2, 3, 4, 5, 6, 7},
                                         {7, 6, 5, 4, 3, 2, 1, 0},
                                         {3, 12, 5, 3, 9, 15, 14, 0},
                                         {1, 1, 1, 1, 1, 1, 1, 1}};
    for (int pre = 0; pre < 2; pre++) {
        toy m;
        hd_encdec_opt o = toy_opt();
        o.stack.pre_norm = pre, o.stack.dropout = o.stack.attention_dropout = o.stack.inner_dropout = 0.1f;
        open_stirred(&m, &o);
        for (size_t c = 0; c < COUNT_OF(batches); c++) {
            toy_batch b = {0};
            for (int i = 0; i < 8; i++) toy_add(&b, batches[c][i]);
            hd_real *memory = encoded(&m, &b), *logits = toy_logits(&m, &b), *losses = row_losses(&m, &b);
            for (size_t i = 0; i < b.items; i++) {
                toy_batch alone = toy_range(b.key[i], 1);
                hd_real *memory1 = encoded(&m, &alone), *logits1 = toy_logits(&m, &alone),
                        *losses1 = row_losses(&m, &alone);
                assert_memory_equal(item_rows(memory, b.source_len, i, o.stack.width), memory1,
                                    alone.source_rows * o.stack.width * sizeof(hd_real));
                assert_memory_equal(item_rows(logits, b.target_len, i, TOY_VOCAB), logits1,
                                    alone.target_rows * TOY_VOCAB * sizeof(hd_real));
                assert_memory_equal(item_rows(losses, b.target_len, i, 1), losses1,
                                    alone.target_rows * sizeof(hd_real));
                free(memory1), free(logits1), free(losses1);
            }
            free(memory), free(logits), free(losses);
        }
        toy_close(&m);
    }
}

enum { STEPS = 20 };

typedef struct trained {
    double loss[STEPS];
    hd_real *value;
    size_t bytes;
} trained;

static trained train_on(int threads, bool pre_norm)
{
    toy m;
    trained r;
    hd_encdec_opt o = toy_opt();
    o.stack.pre_norm = pre_norm, o.stack.dropout = o.stack.attention_dropout = o.stack.inner_dropout = 0.1f;
    toy_open(&m, threads, &o, NULL, &adam);
    for (int t = 0; t < STEPS; t++) {
        toy_batch b = toy_range(t * 5 % 17, 8 + t); /* other shapes every step */
        r.loss[t] = toy_step(&m, &b, 0.1f, 0.003, (uint32_t)t);
    }
    r.value = toy_copy(&m, m.params->value);
    r.bytes = m.params->trainable * sizeof(hd_real);
    toy_close(&m);
    return r;
}

static void training_gives_the_same_bits_on_any_number_of_threads_and_every_time(void **state)
{
    (void)state;
    for (int pre = 0; pre < 2; pre++) {
        trained first = train_on(1, pre);
        print_message("%s: loss %.6f to %.6f in %d steps\n", pre ? "pre-norm" : "post-norm", first.loss[0],
                      first.loss[STEPS - 1], STEPS);
        assert_true(first.loss[STEPS - 1] < first.loss[0] - 0.2);
        for (int i = 0; i < 6; i++) {
            static const int threads[] = {1, 2, 3, 4, 2, 4};
            trained again = train_on(threads[i], pre);
            assert_memory_equal(first.loss, again.loss, sizeof first.loss);
            assert_memory_equal(first.value, again.value, first.bytes);
            free(again.value);
        }
        free(first.value);
    }
}

static void dropout_draws_anew_in_every_step_and_not_at_all_when_it_is_off(void **state)
{
    (void)state;
    toy m;
    hd_encdec_opt o = toy_opt();
    o.stack.dropout = 0.1f;
    toy_open(&m, 1, &o, NULL, &adam);
    const toy_batch b = toy_range(0, 8);
    double one = toy_back(&m, &b, 0, 1), two = toy_back(&m, &b, 0, 2), again = toy_back(&m, &b, 0, 1);
    assert_true(one == again);
    assert_true(one != two);
    m.run.now.seed++;
    assert_true(toy_back(&m, &b, 0, 1) != one);
    hd_real *x = toy_logits(&m, &b);
    m.run.now.number++;
    hd_real *y = toy_logits(&m, &b);
    assert_memory_equal(x, y, b.target_rows * TOY_VOCAB * sizeof *x);
    free(x), free(y);
    toy_close(&m);
}

/* Largest difference of two gradients beside the largest element. */
static double gradient_distance(const hd_real *a, const hd_real *b, size_t n)
{
    double largest = 0, worst = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]), x = fabs((double)a[i]);
        if (x > largest) largest = x;
        if (!(d <= worst)) worst = d;
    }
    return worst / largest;
}

static void accumulated_micro_batches_are_one_batch(void **state)
{
    (void)state;
    const int32_t items = 24;
    toy m;
    hd_encdec_opt o = toy_opt();
    o.stack.dropout = o.stack.attention_dropout = o.stack.inner_dropout =
        0.1f; /* masks go by the items' keys */
    toy_open(&m, 2, &o, NULL, &adam);
    const toy_batch whole = toy_range(0, items);
    double loss = toy_back(&m, &whole, 0.1f, 4);
    hd_real *gradient = toy_copy(&m, m.params->grad);
    for (int32_t parts = 2; parts <= 24; parts *= parts == 2 ? 2 : 6) {
        m.backend->clear(m.backend, m.params->grad, m.params->trainable * sizeof(hd_real));
        double sum = 0;
        for (int32_t k = 0; k < parts; k++) {
            toy_batch b = toy_range(k * items / parts, items / parts);
            sum += toy_back(&m, &b, 0.1f, 4);
        }
        hd_real *summed = toy_copy(&m, m.params->grad);
        double d = gradient_distance(gradient, summed, m.params->trainable);
        print_message("%d micro-batches: loss differs by %.1e, gradient by %.1e\n", (int)parts,
                      fabs(sum - loss) / loss, d);
        assert_true(fabs(sum - loss) <=
                    1e-12 * loss); /* the same row losses, summed in double in another order */
        assert_true(d <= 2e-6); /* float sums over 170 rows in another order; a row too many is worth 1e-3 */
        free(summed);
    }
    free(gradient);
    toy_close(&m);
}

static void recomputing_gives_the_same_bits_as_keeping(void **state)
{
    (void)state;
    for (int c = 0; c < 8; c++) {
        bool pre = c & 1, tied = c & 2;
        toy kept, again;
        hd_encdec_opt o = toy_opt();
        o.stack.pre_norm = pre, o.tied = tied;
        if (c & 4) o.stack.dropout = o.stack.attention_dropout = o.stack.inner_dropout = 0.2f;
        toy_open(&kept, 2, &o, NULL, &adam);
        o.stack.recompute = true;
        toy_open(&again, 3, &o, NULL, &adam);
        for (int t = 0; t < 3; t++) {
            toy_batch b = toy_range(t, 10);
            double loss = toy_back(&kept, &b, 0.1f, 5), other = toy_back(&again, &b, 0.1f, 5);
            if (!(loss == other)) fail_msg("case %d, step %d: losses %.17g and %.17g", c, t, loss, other);
            hd_real *x = toy_copy(&kept, kept.params->grad), *y = toy_copy(&again, again.params->grad);
            if (memcmp(x, y, kept.params->trainable * sizeof *x))
                fail_msg("case %d, step %d: gradients differ by %g", c, t,
                         gradient_distance(x, y, kept.params->trainable));
            free(x), free(y);
            hd_optimizer_step(&kept.run, &kept.optimizer, 0.01, 50, NULL, NULL);
            hd_optimizer_step(&again.run, &again.optimizer, 0.01, 50, NULL, NULL);
        }
        assert_true(again.run.step.peak < kept.run.step.peak);
        toy_close(&kept), toy_close(&again);
    }
}

/* A gate of 0 on one head is that head's part of the output matrix set to 0. */
static void a_gate_scales_one_head(void **state)
{
    (void)state;
    toy gated, cut;
    hd_encdec_opt o = toy_opt();
    open_stirred(&gated, &o), open_stirred(&cut, &o);
    const toy_batch b = toy_range(0, 6);
    hd_real open[4] = {1, 1, 1, 1}, shut[4] = {1, 1, 0, 1};
    hd_tensor gate = hd_matrix(open, 1, 4);
    hd_real *plain = toy_logits(&gated, &b);
    hd_mha *where[] = {&gated.t->encoder.stage[0].stack.block[1].self, &gated.t->stack[0].block[0].self,
                       &gated.t->stack[0].block[1].cross},
           *same[] = {&cut.t->encoder.stage[0].stack.block[1].self, &cut.t->stack[0].block[0].self,
                      &cut.t->stack[0].block[1].cross};
    for (size_t c = 0; c < COUNT_OF(where); c++) {
        where[c]->extra.gate = &gate;
        hd_real *all_open = toy_logits(&gated, &b);
        assert_memory_equal(plain, all_open, b.target_rows * TOY_VOCAB * sizeof *plain);
        gate.data = shut;
        hd_real *one_shut = toy_logits(&gated, &b);
        gate.data = open, where[c]->extra.gate = NULL;

        size_t d = o.stack.width / 4, bytes = o.stack.width * o.stack.width * sizeof(hd_real);
        hd_real *w = malloc(bytes), *kept = malloc(bytes);
        hd_params_get(cut.params, same[c]->out.w, &same[c]->out.w->t, kept);
        memcpy(w, kept, bytes);
        for (size_t i = 0; i < o.stack.width; i++) memset(w + i * o.stack.width + 2 * d, 0, d * sizeof *w);
        hd_params_set(cut.params, same[c]->out.w, w);
        hd_real *expected = toy_logits(&cut, &b);
        hd_params_set(cut.params, same[c]->out.w, kept);
        assert_memory_not_equal(plain, one_shut, b.target_rows * TOY_VOCAB * sizeof *plain);
        assert_memory_equal(expected, one_shut,
                            b.target_rows * TOY_VOCAB * sizeof *plain); /* products with 0 either way */
        free(all_open), free(one_shut), free(expected), free(w), free(kept);
    }
    free(plain);
    toy_close(&gated), toy_close(&cut);
}

static void a_window_bounds_what_a_row_sees(void **state)
{
    (void)state;
    toy m;
    hd_encdec_opt o = toy_opt();
    o.encoder_layers = 1;
    open_stirred(&m, &o);
    m.t->encoder.stage[0].stack.block[0].self.extra.window = 2;
    toy_batch b = {
        .items = 1, .key = {0}, .source_len = {40}, .target_len = {40}, .source_rows = 40, .target_rows = 40};
    for (int i = 0; i < 40; i++) b.source[i] = b.input[i] = 3 + i % 10;
    hd_real *memory = encoded(&m, &b);
    for (size_t j = 0; j < 40; j++) {
        toy_batch other = b;
        other.source[j] = 1;
        hd_real *changed = encoded(&m, &other);
        assert_int_equal(changed_rows(memory, changed, 40, o.stack.width),
                         rows_between(j < 2 ? 0 : j - 2, j + 3 < 40 ? j + 3 : 40));
        free(changed);
    }
    free(memory);
    /* causal and windowed: two layers of the decoder see 2 * 3 back */
    for (int l = 0; l < 2; l++) m.t->stack[0].block[l].self.extra.window = 3;
    hd_real *logits = toy_logits(&m, &b);
    for (size_t j = 0; j < 40; j++) {
        toy_batch other = b;
        other.input[j] = 1;
        hd_real *changed = toy_logits(&m, &other);
        assert_int_equal(changed_rows(logits, changed, 40, TOY_VOCAB),
                         rows_between(j, j + 7 < 40 ? j + 7 : 40));
        free(changed);
    }
    free(logits);
    toy_close(&m);
}

static void other_options_of_attention_reach_it(void **state)
{
    (void)state;
    toy m;
    hd_encdec_opt o = toy_opt();
    open_stirred(&m, &o);
    const toy_batch b = toy_range(0, 6);
    size_t bytes = b.target_rows * TOY_VOCAB * sizeof(hd_real);
    hd_mha *a = &m.t->stack[0].block[1].self;
    hd_real zero[8 * 4] = {0}, bias[8 * 4];
    fill_normal(bias, 32, 1, 3);
    hd_tensor table = hd_matrix(zero, 8, 4);
    hd_real *plain = toy_logits(&m, &b);
    for (int c = 0; c < 4; c++) {
        a->extra = (hd_attend_opt){0};
        if (c < 2)
            a->extra.scale = (float)(c ? 0.5 : 1 / sqrt(8)); /* of 8 columns a head: as without */
        else
            table.data = c == 2 ? zero : bias, a->extra.table = &table;
        hd_real *x = toy_logits(&m, &b);
        if (c % 2 == 0)
            assert_memory_equal(plain, x, bytes);
        else
            assert_memory_not_equal(plain, x, bytes);
        free(x);
    }
    free(plain);
    toy_close(&m);
}

/* A gate and a table that are parameters learn with the rest. */
static void gates_and_tables_are_trained_where_they_want_gradients(void **state)
{
    (void)state;
    toy m;
    hd_encdec_opt o = toy_opt();
    toy_open(&m, 2, &o, NULL, NULL);
    hd_real one[4] = {1, 1, 1, 1}, zero[32] = {0}, gate_grad[4] = {0}, table_grad[32] = {0};
    hd_tensor gate = hd_matrix(one, 1, 4), dgate = hd_matrix(gate_grad, 1, 4), table = hd_matrix(zero, 8, 4),
              dtable = hd_matrix(table_grad, 8, 4);
    gate.wants_grad = gate.is_param = table.wants_grad = table.is_param = true;
    gate.grad = &dgate, table.grad = &dtable;
    for (int l = 0; l < 2; l++)
        m.t->encoder.stage[0].stack.block[l].self.extra =
            (hd_attend_opt){.gate = &gate, .table = &table, .table_both_ways = true};
    const toy_batch b = toy_range(0, 6);
    toy_back(&m, &b, 0, 1);
    double gates = 0, tables = 0;
    for (int i = 0; i < 4; i++) gates += fabs((double)gate_grad[i]);
    for (int i = 0; i < 32; i++) tables += fabs((double)table_grad[i]);
    assert_true(gates > 1e-3 && tables > 1e-3 && isfinite(gates) && isfinite(tables));
    toy_close(&m);
}

/* Every weight of a matrix is used once for each token, by a multiplication and an addition; attention adds
 * two products of width 32 per pair. */
static void operations_are_two_for_each_weight_and_token(void **state)
{
    (void)state;
    toy m;
    hd_encdec_opt o = toy_opt();
    toy_open(&m, 1, &o, NULL, NULL);
    double weights = 0;
    for (size_t i = 0; i < m.params->count; i++) {
        const hd_param *p = m.params->list[i];
        if (p->name && !p->alias && p->t.rank == 2) weights += (double)hd_count_of(&p->t);
    }
    double attention = (2 + 2 * 2) * 2 * 2 * 32;
    assert_true(hd_encdec_flops(m.t, 1, 1, 1) == 2 * weights + attention);
    assert_true(hd_encdec_flops(m.t, 7, 1, 1) == 7 * (2 * weights + attention));
    /* Sentences of 5 and 3 tokens: keys and values of the cross-attention are made of source tokens, and
     * pairs grow with the square. */
    double of_source = 0, s = 5, t = 3;
    for (size_t i = 0; i < m.params->count; i++) {
        const hd_param *p = m.params->list[i];
        if (!p->name || p->alias || p->t.rank != 2) continue;
        bool keys = strstr(p->name, "encoder_attn.k_proj") || strstr(p->name, "encoder_attn.v_proj");
        if (strstr(p->name, "model.encoder.") || keys) of_source += (double)hd_count_of(&p->t);
    }
    double pairs = 2 * s * s + 2 * (t * t + t * s), of_target = weights - of_source;
    assert_true(of_source > 0 && of_target > 0);
    assert_true(hd_encdec_flops(m.t, 2, s, t) ==
                2 * (2 * (s * of_source + t * of_target) + pairs * 2 * 2 * 32));
    toy_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variant_learns_to_copy),
        cmocka_unit_test(source_and_target_may_differ_in_length),
        cmocka_unit_test(a_target_token_changes_no_earlier_row_and_every_later_one),
        cmocka_unit_test(a_source_token_changes_every_row_of_its_item_and_no_other),
        cmocka_unit_test(an_item_has_the_same_bits_whatever_else_is_in_the_batch),
        cmocka_unit_test(training_gives_the_same_bits_on_any_number_of_threads_and_every_time),
        cmocka_unit_test(dropout_draws_anew_in_every_step_and_not_at_all_when_it_is_off),
        cmocka_unit_test(accumulated_micro_batches_are_one_batch),
        cmocka_unit_test(recomputing_gives_the_same_bits_as_keeping),
        cmocka_unit_test(a_gate_scales_one_head),
        cmocka_unit_test(a_window_bounds_what_a_row_sees),
        cmocka_unit_test(other_options_of_attention_reach_it),
        cmocka_unit_test(gates_and_tables_are_trained_where_they_want_gradients),
        cmocka_unit_test(operations_are_two_for_each_weight_and_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
