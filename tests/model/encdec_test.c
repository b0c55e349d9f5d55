/* Encoder-decoders of every kind as a whole: a cache changes nothing, nor does what else is in the batch;
   rows see what they may; what cannot be made is refused. */
#include "model/encdec_cases.h"
#include "model/stepper.h"
#include "model/stepper_parts.h"

enum { V = TOY_VOCAB };

static double distance(const hd_real *a, const hd_real *b, size_t n)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= worst)) worst = d;
    }
    return worst;
}

static size_t first_row(const int32_t *len, size_t item)
{
    size_t at = 0;
    for (size_t i = 0; i < item; i++) at += (size_t)len[i];
    return at;
}

/* Decodes the batch through a cache, some tokens of each item at a time, with items reordered, repeated and
   dropped on the way; `worst` is the largest distance from `whole`. */
typedef struct walk {
    const toy_batch *b;
    const hd_real *whole;
    size_t live;
    int32_t who[16];
    double worst;
} walk;

static void take_rows(toy *m, hd_cache *cache, walk *w, int32_t t, int32_t rows)
{
    hd_run *r = &m->run;
    int32_t ids[64], len[16];
    hd_run_begin(r, HD_INFERENCE);
    for (size_t i = 0; i < w->live; i++) {
        size_t item = (size_t)w->who[i], at = first_row(w->b->target_len, item);
        len[i] = rows;
        for (int32_t k = 0; k < rows; k++)
            ids[i * (size_t)rows + (size_t)k] =
                t + k < w->b->target_len[item] ? w->b->input[at + (size_t)(t + k)] : 0;
    }
    size_t n = w->live * (size_t)rows;
    hd_encoded memory = t ? (hd_encoded){0} : toy_encode(m, w->b);
    hd_rows y =
        hd_encdec_decode(r, m->t, hd_ints(r, ids, n), hd_seg_of(r, len, w->live, NULL), memory, cache);
    hd_real *z = host_copy(r, hd_encdec_logits(r, m->t, y));
    for (size_t i = 0; i < w->live; i++)
        for (int32_t k = 0; k < rows; k++) {
            size_t item = (size_t)w->who[i], at = first_row(w->b->target_len, item) + (size_t)(t + k);
            if (t + k >= w->b->target_len[item]) continue;
            double d = distance(z + (i * (size_t)rows + (size_t)k) * V, w->whole + at * V, V);
            if (!(d <= w->worst)) w->worst = d;
        }
    free(z);
}

static void pick(toy *m, hd_cache *cache, walk *w, const int32_t *parent, size_t n)
{
    int32_t who[16];
    assert_int_equal(hd_cache_pick(&m->run, cache, parent, n), HD_OK);
    for (size_t i = 0; i < n; i++) who[i] = w->who[parent[i]];
    memcpy(w->who, who, n * sizeof *who);
    w->live = n;
}

static double cached_distance(toy *m, const toy_batch *b, int32_t rows)
{
    static const int32_t more[] = {2, 0, 0, 3, 1, 2}, fewer[] = {4, 1, 3, 5};
    hd_err err = {0};
    hd_cache *cache = NULL;
    hd_real *whole = toy_logits(m, b);
    walk w = {.b = b, .whole = whole, .live = b->items, .who = {0, 1, 2, 3}};
    assert_int_equal(b->items, 4);
    assert_int_equal(hd_encdec_cache(&cache, m->t, b->items, &err), HD_OK);
    for (int32_t t = 0; t < 24; t += rows) {
        take_rows(m, cache, &w, t, rows);
        if (t / rows == 1) pick(m, cache, &w, more, COUNT_OF(more));
        if (t / rows == 3) pick(m, cache, &w, fewer, COUNT_OF(fewer));
    }
    hd_cache_free(cache);
    free(whole);
    return w.worst;
}

/* Items of 3 to 20 words, sources shorter and longer than targets. */
static toy_batch uneven_batch(void)
{
    static const int32_t source[] = {5, 1, 9, 3}, target[] = {20, 6, 3, 12};
    toy_batch b = {.items = COUNT_OF(source)};
    hd_rng rng = hd_rng_make(5, 5);
    for (size_t i = 0; i < b.items; i++) {
        b.key[i] = (int32_t)i, b.source_len[i] = source[i], b.target_len[i] = target[i];
        for (int32_t k = 0; k < source[i]; k++)
            b.source[b.source_rows++] = 3 + (int32_t)hd_rng_below(&rng, 10);
        for (int32_t k = 0; k < target[i]; k++) {
            b.target[b.target_rows] = 3 + (int32_t)hd_rng_below(&rng, 10);
            b.input[b.target_rows++] = k ? 3 + (int32_t)hd_rng_below(&rng, 10) : TOY_BEGIN;
        }
    }
    return b;
}

static void cached_decoding_equals_the_whole_forward(void **state)
{
    (void)state;
    const toy_batch b = uneven_batch();
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT_OF(encdec_cases); i++) {
        toy m;
        hd_encdec_opt o = encdec_opt(&encdec_cases[i]);
        encdec_open(&m, &o, 2);
        double one = cached_distance(&m, &b, 1), three = cached_distance(&m, &b, 3);
        bool same = one == 0 && three == 0; /* bit for bit */
        if (!same) print_message("%-32s off by %.1e, %.1e\n", encdec_cases[i].name, one, three);
        wrong += !same;
        toy_close(&m);
    }
    assert_int_equal(wrong, 0);
}

static const hd_real *item_rows(const hd_real *x, const int32_t *len, size_t i, size_t cols)
{
    return x + first_row(len, i) * cols;
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
    static const int32_t keys[] = {3, 12, 5, 3, 9, 0};
    toy_batch b = {0};
    for (size_t i = 0; i < COUNT_OF(keys); i++) toy_add(&b, keys[i]);
    for (size_t c = 0; c < COUNT_OF(encdec_cases); c++) {
        toy m;
        hd_encdec_opt o = encdec_opt(&encdec_cases[c]);
        o.stack.dropout = o.stack.attention_dropout = o.stack.inner_dropout = 0.1f;
        encdec_open(&m, &o, 2);
        hd_real *logits = toy_logits(&m, &b), *losses = row_losses(&m, &b);
        for (size_t i = 0; i < b.items; i++) {
            toy_batch alone = toy_range(b.key[i], 1);
            hd_real *logits1 = toy_logits(&m, &alone), *losses1 = row_losses(&m, &alone);
            size_t n = alone.target_rows * sizeof(hd_real);
            if (memcmp(item_rows(logits, b.target_len, i, V), logits1, n * V))
                fail_msg("%s: other logits alone", encdec_cases[c].name);
            if (memcmp(item_rows(losses, b.target_len, i, 1), losses1, n))
                fail_msg("%s: other losses alone", encdec_cases[c].name);
            free(logits1), free(losses1);
        }
        free(logits), free(losses);
        toy_close(&m);
    }
}

static uint64_t changed_rows(const hd_real *a, const hd_real *b, size_t rows)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < rows; i++)
        if (memcmp(a + i * V, b + i * V, V * sizeof *a)) mask |= (uint64_t)1 << i;
    return mask;
}

static uint64_t rows_between(size_t from, size_t to)
{
    return (((uint64_t)1 << to) - 1) & ~(((uint64_t)1 << from) - 1);
}

static void a_target_token_changes_its_row_and_later_ones_of_its_item_alone(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 3);
    assert_true(b.target_rows < 64);
    for (size_t c = 0; c < COUNT_OF(encdec_cases); c++) {
        toy m;
        hd_encdec_opt o = encdec_opt(&encdec_cases[c]);
        encdec_open(&m, &o, 1);
        hd_real *before = toy_logits(&m, &b);
        for (size_t i = 0, at = 0; i < b.items; i++)
            for (int32_t j = 0; j < b.target_len[i]; j++, at++) {
                toy_batch other = b;
                other.input[at] = other.input[at] == 5 ? 6 : 5;
                hd_real *after = toy_logits(&m, &other);
                uint64_t may = rows_between(at, at + (size_t)(b.target_len[i] - j)),
                         want = encdec_cases[c].r.no_feedback ? 0 : may;
                if (changed_rows(before, after, b.target_rows) != want)
                    fail_msg("%s: token %zu changes other rows", encdec_cases[c].name, at);
                free(after);
            }
        free(before);
        toy_close(&m);
    }
}

/* Attention with a window sees some of the source; everything else all of it. */
static void a_source_token_changes_rows_of_its_item_alone(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 3);
    for (size_t c = 0; c < COUNT_OF(encdec_cases); c++) {
        toy m;
        hd_encdec_opt o = encdec_opt(&encdec_cases[c]);
        encdec_open(&m, &o, 1);
        hd_real *before = toy_logits(&m, &b);
        for (size_t i = 0, at = 0, row = 0; i < b.items; row += (size_t)b.target_len[i++])
            for (int32_t j = 0; j < b.source_len[i]; j++, at++) {
                toy_batch other = b;
                other.source[at] = other.source[at] == 5 ? 6 : 5;
                hd_real *after = toy_logits(&m, &other);
                uint64_t all = rows_between(row, row + (size_t)b.target_len[i]),
                         changed = changed_rows(before, after, b.target_rows);
                if (changed & ~all || (!o.recurrent.locality && changed != all))
                    fail_msg("%s: source token %zu", encdec_cases[c].name, at);
                free(after);
            }
        free(before);
        toy_close(&m);
    }
}

static void training_gives_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 12);
    for (size_t c = 0; c < COUNT_OF(encdec_cases); c++) {
        hd_real *gradient[2];
        for (int k = 0; k < 2; k++) {
            toy m;
            hd_encdec_opt o = encdec_opt(&encdec_cases[c]);
            o.stack.dropout = 0.1f;
            encdec_open(&m, &o, k ? 3 : 1);
            toy_back(&m, &b, 0.1f, 2);
            gradient[k] = toy_copy(&m, m.params->grad);
            if (k && memcmp(gradient[0], gradient[1], m.params->trainable * sizeof(hd_real)))
                fail_msg("%s", encdec_cases[c].name);
            toy_close(&m);
        }
        free(gradient[0]), free(gradient[1]);
    }
}

static void some_models_learn_to_copy(void **state)
{
    (void)state;
    static const hd_optimizer_opt adam = {
        .kind = HD_OPT_ADAM, .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-9f, .clip = 1};
    static const char *const names[] = {"bi-gru, gru", "fed back", "gru, gru under blocks", "everywhere"};
    const toy_batch b = toy_range(0, 8);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (size_t c = 0; c < COUNT_OF(encdec_cases); c++) {
            if (strcmp(names[i], encdec_cases[c].name)) continue;
            toy m;
            double loss = 0;
            hd_encdec_opt o = encdec_opt(&encdec_cases[c]);
            o.stack.width = 24;
            toy_open(&m, 2, &o, NULL, &adam);
            for (int t = 1; t <= 120; t++) loss = toy_step(&m, &b, 0, 0.015, (uint32_t)t);
            print_message("%-32s %.4f\n", encdec_cases[c].name, loss);
            if (!(loss < 0.05)) fail_msg("%s: the loss is still %g", encdec_cases[c].name, loss);
            toy_close(&m);
        }
}

static void options_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        encdec_case c;
        const char *says;
    } cases[] = {
        {MODEL("", "gru", "none"), "a decoder is rnn, gru, lstm or transformer"},
        {MODEL("", "gru", "transformer+gru"), "followed by transformer"},
        {MODEL("", "gru", "bi-gru"), "a decoder cannot be bidirectional"},
        {MODEL("", "gru", "gru:17"), "1 to 16"},
        {MODEL("", "gru:17", "gru"), "1 to 16"},
        {MODEL("", "none", "gru"), "no final state"},
        {MODEL("", "transformer", "gru", .r = {.begin = HD_BEGINNING_map, .context = HD_CONTEXT_everywhere}),
         "no final state"},
        {MODEL("", "bi-gru", "gru", .r = {.begin = HD_BEGINNING_mean}), "use --decoder-init map"},
        {MODEL("", "gru", "gru", .r = {.feed_context = true}), "--input-feeding"},
        {MODEL("", "gru", "gru", .r = {.feed_context = true, LATE, .context = HD_CONTEXT_mean}),
         "needs --decoder-context attention"},
        {MODEL("", "gru", "gru", .r = {.query = HD_QUERY_current}), "nothing reads the context"},
        {MODEL("", "gru", "gru", .r = {.context = HD_CONTEXT_fixed, .begin = HD_BEGINNING_zeros}),
         "never sees the source"},
        {MODEL("", "gru", "gru", .r = {.context = HD_CONTEXT_fixed, .begin = HD_BEGINNING_learned}),
         "never sees the source"},
        {MODEL("", "gru", "gru", .r = {.context = HD_CONTEXT_fixed, .begin = HD_BEGINNING_ones}),
         "never sees the source"},
        {MODEL("", "bi-gru", "gru", .r = {.score = HD_SCORING_dot}),
         "--attention-score bilinear or additive"},
        {MODEL("", "gru", "gru", .r = {.heads = 3}), "the heads do not divide"},
        {MODEL("", "gru", "gru", .r = {.heads = -1}), "the heads do not divide"},
        {MODEL("", "gru", "gru", .r = {.score = HD_SCORING_mlp, .heads = 2}), "the mlp score has one head"},
        {MODEL("", "gru", "gru", .r = {.locality = HD_LOCALITY_MONOTONE, .window = -2}), "needs a window"},
        {MODEL("", "transformer", "gru", .r = {.begin = HD_BEGINNING_map}, .reverse_source = true),
         "only a recurrent encoder"},
    };
    hd_backend *b = backend_of("cpu", 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_encdec_opt o = encdec_opt(&cases[i].c);
        hd_encdec *m = NULL;
        hd_err err = {0};
        hd_status s = hd_encdec_new(&m, b, &o, true, &err);
        if (s != HD_EARG || !strstr(err.text, cases[i].says))
            fail_msg("case %zu: status %d, '%s' without '%s'", i, (int)s, err.text, cases[i].says);
    }
    hd_backend_free(b);
}

/* Of blocks: what no published model has a name for, and tables that do not reach. */
static void blocks_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        bool gated;
        size_t head_width;
        hd_relative relative;
    } cases[] = {{"no gate", .gated = true},
                 {"2 heads of 524289 columns", .head_width = 524289},
                 {"4 to 1024 buckets", .relative = {3, 100}},
                 {"4 to 1024 buckets", .relative = {1025, 2000}},
                 {"not 8, which reach 4", .relative = {8, 4}}};
    hd_backend *b = backend_of("cpu", 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_encdec_opt o = encdec_opt(&encdec_cases[0]);
        hd_encdec *m = NULL;
        hd_err err = {0};
        o.stack.gated = cases[i].gated, o.stack.head_width = cases[i].head_width,
        o.stack.relative = cases[i].relative;
        hd_status s = hd_encdec_new(&m, b, &o, true, &err);
        if (s != HD_EARG || !strstr(err.text, cases[i].says))
            fail_msg("case %zu: status %d, '%s' without '%s'", i, (int)s, err.text, cases[i].says);
    }
    hd_backend_free(b);
}

/* Two for each weight of a product and token; the rest is attention. */
static void operations_are_two_for_each_weight_and_token(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double pairs; /* what attention adds for one source and one target token */
    } cases[] = {{"fixed", 0},
                 {"sum of fixed", 0},
                 {"gru", 2 * (8 + 8)},
                 {"two heads", 2 * (8 + 8)},
                 {"late dot", 32},
                 {"t5", 4 * 6 * 3 * 2},
                 {"t5, gated", 4 * 6 * (1 + 2 * 2)}};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t c = 0; c < COUNT_OF(encdec_cases); c++) {
            if (strcmp(cases[i].name, encdec_cases[c].name)) continue;
            toy m;
            hd_encdec_opt o = encdec_opt(&encdec_cases[c]);
            toy_open(&m, 1, &o, NULL, NULL);
            double weights = 0;
            for (size_t k = 0; k < m.params->count; k++) {
                const hd_param *p = m.params->list[k];
                bool product = p->name && !p->alias && p->t.rank == 2 && hd_rows_of(&p->t) > 1;
                bool looked_up = product && (strstr(p->name, "relative") ||
                                             (o.own_output && !strcmp(p->name, "shared.weight")));
                if (product && !looked_up && !strstr(p->name, "begin")) weights += (double)hd_count_of(&p->t);
            }
            double got = hd_encdec_flops(m.t, 7, 1, 1), want = 7 * (2 * weights + cases[i].pairs);
            if (got != want) fail_msg("%s: %g, not %g", cases[i].name, got, want);
            toy_close(&m);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cached_decoding_equals_the_whole_forward),
        cmocka_unit_test(an_item_has_the_same_bits_whatever_else_is_in_the_batch),
        cmocka_unit_test(a_target_token_changes_its_row_and_later_ones_of_its_item_alone),
        cmocka_unit_test(a_source_token_changes_rows_of_its_item_alone),
        cmocka_unit_test(training_gives_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(some_models_learn_to_copy),
        cmocka_unit_test(options_that_cannot_be_are_refused),
        cmocka_unit_test(blocks_that_cannot_be_are_refused),
        cmocka_unit_test(operations_are_two_for_each_weight_and_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
