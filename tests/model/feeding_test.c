/* What a decoder is fed in training: the truth, words of its own, and how often which. */
#include "model/encdec_cases.h"

enum { V = TOY_VOCAB };

static const hd_feeding kinds[] = {
    {HD_FEEDING_free, 0, 1}, {HD_FEEDING_scheduled, 0.3f, 1}, {HD_FEEDING_gumbel, 1, 0.7f}};

static const char *const decoders[] = {"bi-gru, gru", "fixed",       "fed back, deep, two layers",
                                       "mlp",         "relu",        "sum and skips",
                                       "everywhere",  "late local-p"};

static void open_named(toy *m, const char *name, float dropout)
{
    for (size_t i = 0; i < COUNT_OF(encdec_cases); i++) {
        if (strcmp(encdec_cases[i].name, name)) continue;
        hd_encdec_opt o = encdec_opt(&encdec_cases[i]);
        o.stack.dropout = dropout;
        encdec_open(m, &o, 2);
        return;
    }
    fail_msg("there is no %s", name);
}

static void feed(toy *m, hd_feeding f)
{
    hd_err err = {0};
    if (hd_encdec_feed(m->t, &f, &err)) fail_msg("%s", err.text);
}

/* Losses of all rows in a training step. */
static hd_real *losses(toy *m, const toy_batch *b, uint32_t number)
{
    m->run.now.number = number;
    hd_run_begin(&m->run, HD_TRAIN);
    return host_copy(&m->run, toy_loss(m, b, 0));
}

static void a_rate_of_zero_is_the_truth(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 6);
    for (size_t i = 0; i < COUNT_OF(decoders); i++) {
        toy m;
        open_named(&m, decoders[i], 0.1f);
        hd_real *want = losses(&m, &b, 3);
        for (int k = HD_FEEDING_scheduled; k <= HD_FEEDING_gumbel; k++) {
            feed(&m, (hd_feeding){(hd_feeding_kind)k, 0, 1});
            hd_real *x = losses(&m, &b, 3);
            assert_memory_equal(x, want, b.target_rows * sizeof *x);
            free(x);
        }
        free(want);
        toy_close(&m);
    }
}

/* Changing all tokens but the first of each item changes nothing; with the truth it changes most rows. */
static void free_running_does_not_see_the_truth(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 6);
    toy_batch other = b;
    for (size_t i = 0, at = 0; i < b.items; i++)
        for (int32_t t = 0; t < b.target_len[i]; t++, at++)
            if (t) other.input[at] = 3 + (other.input[at] + 1) % 10;
    for (size_t i = 0; i < COUNT_OF(decoders); i++) {
        toy m;
        open_named(&m, decoders[i], 0.1f);
        for (size_t k = 0; k < COUNT_OF(kinds); k++) {
            hd_feeding f = kinds[k];
            bool blind = f.kind != HD_FEEDING_scheduled;
            feed(&m, f);
            hd_real *x = losses(&m, &b, 3), *y = losses(&m, &other, 3);
            if (!memcmp(x, y, b.target_rows * sizeof *x) != blind)
                fail_msg("%s: %s", decoders[i], hd_feeding_names[f.kind]);
            free(y);
            y = losses(&m, &b, 4); /* draws anew in every step */
            assert_memory_not_equal(x, y, b.target_rows * sizeof *x);
            free(x), free(y);
        }
        toy_close(&m);
    }
}

/* By what comes in: with a rate of 1 a scheduled decoder runs free, and outside training it is fed the truth.
 */
static void rates_and_modes_meet(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 6);
    toy m;
    open_named(&m, "bi-gru, gru", 0);
    hd_real *truth = toy_logits(&m, &b);
    feed(&m, kinds[0]);
    hd_real *x = losses(&m, &b, 3), *still = toy_logits(&m, &b);
    assert_memory_equal(truth, still, b.target_rows * V * sizeof *truth);
    feed(&m, (hd_feeding){HD_FEEDING_scheduled, 1, 1});
    hd_real *y = losses(&m, &b, 3);
    assert_memory_equal(x, y, b.target_rows * sizeof *x);
    free(truth), free(still), free(x), free(y);
    toy_close(&m);
}

static void an_item_is_fed_the_same_whatever_else_is_in_the_batch(void **state)
{
    (void)state;
    static const int32_t keys[] = {3, 12, 5, 3, 9, 0};
    toy_batch b = {0};
    for (size_t i = 0; i < COUNT_OF(keys); i++) toy_add(&b, keys[i]);
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        toy m;
        open_named(&m, "bi-gru, gru", 0.1f);
        feed(&m, kinds[k]);
        hd_real *all = losses(&m, &b, 3), *at = all;
        for (size_t i = 0; i < b.items; i++) {
            const toy_batch alone = toy_range(keys[i], 1);
            hd_real *one = losses(&m, &alone, 3);
            assert_memory_equal(at, one, alone.target_rows * sizeof *one);
            at += alone.target_rows;
            free(one);
        }
        free(all);
        toy_close(&m);
    }
}

/* -- the words that were fed -- */

/* Log-probabilities of all rows in a training step. */
static hd_real *trained_logp(toy *m, const toy_batch *b)
{
    m->run.now.number = 3;
    hd_run_begin(&m->run, HD_TRAIN);
    return host_copy(&m->run, hd_log_softmax(&m->run, hd_encdec_logits(&m->run, m->t, toy_rows(m, b))));
}

static double farthest(const hd_real *a, const hd_real *b)
{
    double most = 0;
    for (size_t v = 0; v < V; v++) most = fmax(most, fabs((double)(a[v] - b[v])));
    return most;
}

/* A row depends on the words read so far: step after step, which words the decoder was fed is found out by
   feeding it every word of the vocabulary as the truth. One of them must give its row. Returns how many are
   not those of the batch. */
static size_t find_words(toy *m, const toy_batch *b, const hd_real *want, const char *name)
{
    toy_batch own = *b;
    size_t other = 0;
    feed(m, (hd_feeding){0});
    for (int32_t t = 1; t <= TOY_LONGEST; t++) {
        double nearest[TOY_ITEMS];
        toy_batch next = own;
        for (size_t i = 0; i < b->items; i++) nearest[i] = INFINITY;
        for (int32_t v = 0; v < V; v++) {
            toy_batch with = own;
            for (size_t i = 0, at = 0; i < b->items; at += (size_t)b->target_len[i++])
                if (t < b->target_len[i]) with.input[at + (size_t)t] = v;
            hd_real *got = trained_logp(m, &with);
            for (size_t i = 0, at = 0; i < b->items; at += (size_t)b->target_len[i++]) {
                size_t row = at + (size_t)t;
                if (t >= b->target_len[i]) continue;
                double far = farthest(got + row * V, want + row * V);
                if (far < nearest[i]) nearest[i] = far, next.input[row] = v;
            }
            free(got);
        }
        for (size_t i = 0, at = 0; i < b->items; at += (size_t)b->target_len[i++]) {
            if (t >= b->target_len[i]) continue;
            /* sums of some dozen numbers around 1 in float, in two orders */
            if (!(nearest[i] < 2e-5))
                fail_msg("%s: item %zu, step %d: the nearest word is off by %g", name, i, t, nearest[i]);
            other += next.input[at + (size_t)t] != b->input[at + (size_t)t];
        }
        own = next;
    }
    return other;
}

/* Free-running training is training on the words that were drawn: nothing else about it differs. */
static void rows_are_those_of_the_words_that_were_drawn(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 6);
    for (size_t i = 0; i < COUNT_OF(decoders); i++)
        for (int k = 0; k < 2; k++) {
            toy m;
            size_t fed = b.target_rows - b.items;
            open_named(&m, decoders[i], 0);
            feed(&m, kinds[k]);
            hd_real *want = trained_logp(&m, &b), *loss = losses(&m, &b, 3);
            for (size_t row = 0; row < b.target_rows; row++)
                assert_true(fabs((double)(loss[row] + want[row * V + (size_t)b.target[row]])) < 2e-5);
            size_t other = find_words(&m, &b, want, decoders[i]);
            assert_true(other > (k ? 0 : fed / 2) && other <= fed); /* words that are not the truth */
            free(want), free(loss);
            toy_close(&m);
        }
}

/* A decoder whose rows are tanh of the token it read, with the vector {v, ...} / 10 for token v, and whose
   output layer says `says` of every next word. */
static void open_reader(toy *m, const double *says)
{
    static const encdec_case c =
        MODEL("reader", "rnn:1", "rnn:1", .r = {.context = HD_CONTEXT_fixed}, .untied = true);
    hd_encdec_opt o = encdec_opt(&c);
    hd_real table[V * 8], bias[V], unit[64] = {0}, zero[V * 8] = {0};
    encdec_open(m, &o, 1);
    const hd_recurrent_decoder_layer *l = &m->t->cells.layer[0];
    for (size_t i = 0; i < V * 8; i++) table[i] = (hd_real)((double)(i / 8) / 10);
    for (size_t i = 0; i < 8; i++) unit[i * 9] = 1;
    for (size_t i = 0; i < V; i++) bias[i] = (hd_real)log(says[i]);
    hd_params_set(m->params, m->t->target.table, table);
    hd_params_set(m->params, l->w_in, unit), hd_params_set(m->params, l->w, zero);
    hd_params_set(m->params, l->b_in, zero), hd_params_set(m->params, l->b, zero);
    hd_params_set(m->params, m->t->output, zero), hd_params_set(m->params, m->t->output_bias, bias);
}

/* The tokens that were read in training, row by row. */
static void read_tokens(toy *m, const toy_batch *b, double *token)
{
    m->run.now.number = 3;
    hd_run_begin(&m->run, HD_TRAIN);
    hd_real *rows = host_copy(&m->run, toy_rows(m, b).t);
    for (size_t i = 0; i < b->target_rows; i++) token[i] = 10 * atanh((double)rows[8 * i]);
    free(rows);
}

enum { READ_STEPS = TOY_LONGEST };

static toy_batch same_words(int32_t word)
{
    toy_batch b = {0};
    for (; b.items < TOY_ITEMS; b.items++) {
        b.key[b.items] = (int32_t)b.items, b.source_len[b.items] = 1, b.target_len[b.items] = READ_STEPS + 1;
        b.source[b.source_rows++] = 3;
        for (int t = 0; t <= READ_STEPS; t++) b.input[b.target_rows++] = word;
    }
    return b;
}

static void assert_share(const char *what, size_t seen, size_t of, double p)
{
    double share = (double)seen / (double)of, sd = sqrt(p * (1 - p) / (double)of);
    if (!(fabs(share - p) < 4 * sd)) fail_msg("%s: %g of %zu, not %g", what, share, of, p);
}

/* A coin of its own for every word: the truth is word 3, the decoder always says 5. */
static void every_word_has_a_coin_of_its_own(void **state)
{
    (void)state;
    double sure[V], token[TOY_ROWS];
    for (size_t v = 0; v < V; v++) sure[v] = v == 5 ? 1 : 1e-30;
    const toy_batch b = same_words(3);
    for (int k = HD_FEEDING_scheduled; k <= HD_FEEDING_gumbel; k++) {
        toy m;
        size_t own = 0, alike = 0;
        open_reader(&m, sure);
        feed(&m, (hd_feeding){(hd_feeding_kind)k, 0.5f, 1});
        read_tokens(&m, &b, token);
        for (size_t i = 0; i < b.items; i++) {
            const double *row = token + i * (READ_STEPS + 1);
            assert_true(fabs(row[0] - 3) < 1e-3); /* the first is given */
            for (size_t t = 1; t <= READ_STEPS; t++) {
                bool said = fabs(row[t] - 5) < 1e-3;
                assert_true(said || fabs(row[t] - 3) < 1e-3);
                own += said;
                if (t > 1) alike += said == (fabs(row[t - 1] - 5) < 1e-3);
            }
        }
        assert_share("words of its own", own, b.items * READ_STEPS, 0.5);
        assert_share("coins like the one before", alike, b.items * (READ_STEPS - 1), 0.5);
        toy_close(&m);
    }
}

/* New noise for every word: of ten words that are all as likely, a tenth is the one before again. */
static void every_word_has_noise_of_its_own(void **state)
{
    (void)state;
    static const hd_feeding cases[] = {{HD_FEEDING_free, 0, 1}, {HD_FEEDING_gumbel, 1, 1e-4f}};
    double ten[V], token[TOY_ROWS];
    for (size_t v = 0; v < V; v++) ten[v] = v < 3 ? 1e-30 : 0.1;
    const toy_batch b = same_words(3);
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        toy m;
        size_t alike = 0;
        open_reader(&m, ten);
        feed(&m, cases[k]);
        read_tokens(&m, &b, token);
        for (size_t i = 0; i < b.items; i++)
            for (size_t t = 2; t <= READ_STEPS; t++) {
                const double *row = token + i * (READ_STEPS + 1) + t;
                alike += fabs(row[0] - row[-1]) < 0.5;
            }
        assert_share("words like the one before", alike, b.items * (READ_STEPS - 1), 0.1);
        toy_close(&m);
    }
}

/* -- hd_voice_feed alone: a voice whose words are their own numbers -- */

enum { ITEMS = 4000 };

typedef struct speaker {
    toy m;
    hd_voice voice;
    hd_tensor *read, *truth;
    const hd_seg *seg;
} speaker;

/* Token v has the vector {v, ...}; the output layer says log-probabilities of `says` whatever is read. */
static void speak(speaker *s, hd_feeding f, const double *says, uint32_t number)
{
    hd_run *r = &s->m.run;
    hd_real table[V * 8], bias[V];
    int32_t *one = malloc(ITEMS * sizeof *one);
    open_named(&s->m, "relu", 0);
    for (size_t i = 0; i < V * 8; i++) table[i] = (hd_real)(i / 8);
    for (size_t i = 0; i < V; i++) bias[i] = (hd_real)log(says[i]);
    hd_params_set(s->m.params, s->m.t->target.table, table);
    hd_params_set(s->m.params, s->m.t->output_bias, bias);
    s->voice = (hd_voice){&s->m.t->target, s->m.t->output, s->m.t->output_bias, f};
    r->now.number = number;
    hd_run_begin(r, HD_TRAIN);
    for (size_t i = 0; i < ITEMS; i++) one[i] = 1;
    s->seg = hd_seg_of(r, one, ITEMS, NULL);
    s->read = hd_new(r, ITEMS, 8), s->truth = hd_new(r, ITEMS, 8);
    hd_clear(r, s->read), hd_clear(r, s->truth); /* the truth is token 0 */
    free(one);
}

static void check_shares(const char *name, const hd_real *x, double rate, const double *says)
{
    double seen[V] = {0};
    for (size_t i = 0; i < ITEMS; i++) {
        long word = lround((double)x[8 * i]);
        assert_true(word >= 0 && word < V && fabs((double)x[8 * i] - (double)word) < 1e-4);
        seen[word]++;
    }
    for (size_t v = 0; v < V; v++) {
        double p = v ? rate * says[v] : 1 - rate + rate * says[0], sd = sqrt(p * (1 - p) / ITEMS);
        if (!(fabs(seen[v] / ITEMS - p) <= 4 * sd + 1e-4))
            fail_msg("%s: word %zu in %g, not %g", name, v, seen[v] / ITEMS, p);
    }
}

static const double says[V] = {0.3, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.03, 0.03, 0.03, 0.03, 0.02, 0.01};

static void words_come_as_often_as_they_are_said(void **state)
{
    (void)state;
    static const hd_feeding cases[] = {{HD_FEEDING_free, 0, 1},
                                       {HD_FEEDING_scheduled, 0.3f, 1},
                                       {HD_FEEDING_scheduled, 0.75f, 1},
                                       {HD_FEEDING_gumbel, 1, 1e-4f}, /* so cold that it is the largest */
                                       {HD_FEEDING_gumbel, 0.4f, 1e-4f}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        speaker s;
        speak(&s, cases[i], says, 5);
        hd_real *x = host_copy(&s.m.run, hd_voice_feed(&s.m.run, &s.voice, s.read, s.truth, s.seg));
        size_t soft = 0; /* two words within a ten-thousandth of each other */
        for (size_t k = 0; k < ITEMS; k++) soft += fabs((double)x[8 * k] - round((double)x[8 * k])) > 1e-4;
        assert_true(soft < ITEMS / 500);
        for (size_t k = 0; k < ITEMS; k++) x[8 * k] = (hd_real)round((double)x[8 * k]);
        check_shares(hd_feeding_names[cases[i].kind], x,
                     cases[i].kind == HD_FEEDING_free ? 1 : (double)cases[i].rate, says);
        free(x);
        toy_close(&s.m);
    }
}

/* Hot, every word has the same share. */
static void a_hot_gumbel_word_is_the_mean_of_all(void **state)
{
    (void)state;
    speaker s;
    speak(&s, (hd_feeding){HD_FEEDING_gumbel, 1, 1e5f}, says, 5);
    hd_real *x = host_copy(&s.m.run, hd_voice_feed(&s.m.run, &s.voice, s.read, s.truth, s.seg));
    for (size_t i = 0; i < ITEMS; i++) assert_true(fabs((double)x[8 * i] - (V - 1) / 2.0) < 1e-2);
    free(x);
    toy_close(&s.m);
}

static void what_cannot_be_fed_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        hd_feeding f;
        const char *text;
    } cases[] = {
        {"gru", {HD_FEEDING_scheduled, -0.1f, 1}, "feeding: a rate of -0.1 is not between 0 and 1"},
        {"gru", {HD_FEEDING_gumbel, 1.5f, 1}, "feeding: a rate of 1.5 is not between 0 and 1"},
        {"gru", {HD_FEEDING_gumbel, NAN, 1}, "not between 0 and 1"},
        {"gru", {HD_FEEDING_free, 0, 0}, "feeding: a temperature of 0 is not above 0"},
        {"gru", {HD_FEEDING_gumbel, 1, -2}, "feeding: a temperature of -2 is not above 0"},
        {"gru", {HD_FEEDING_gumbel, 1, INFINITY}, "is not above 0"},
        {"transformer", {HD_FEEDING_free, 0, 1}, "a transformer decoder is trained on all steps at once"},
        {"gru, gru under blocks", {HD_FEEDING_scheduled, 0.5f, 1}, "a transformer decoder"},
        {"no feedback", {HD_FEEDING_free, 0, 1}, "reads no words"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        toy m;
        hd_err err = {0};
        open_named(&m, cases[i].name, 0);
        assert_int_equal(hd_encdec_feed(m.t, &cases[i].f, &err), HD_EARG);
        if (!strstr(err.text, cases[i].text)) fail_msg("'%s' without '%s'", err.text, cases[i].text);
        assert_int_equal(m.t->feeding.kind, HD_FEEDING_teacher);
        feed(&m, (hd_feeding){0}); /* the truth is always possible */
        toy_close(&m);
    }
}

/* Whole tokens of the source go, as often as they should; the others keep the mean. */
static void source_tokens_are_dropped_whole(void **state)
{
    (void)state;
    static const encdec_case none = MODEL("none", "none", "gru:1", .r = {.begin = HD_BEGINNING_map});
    size_t dropped = 0, rows = 0;
    toy m;
    hd_encdec_opt o = encdec_opt(&none);
    o.source_dropout = 0.25f, o.tied = false; /* then vectors are read as they lie */
    encdec_open(&m, &o, 1);
    const toy_batch b = toy_range(0, 32);
    for (int mode = HD_INFERENCE; mode <= HD_TRAIN; mode++)
        for (uint32_t number = 1; number <= 8; number++) {
            m.run.now.number = number;
            hd_run_begin(&m.run, (hd_mode)mode);
            hd_real *x = host_copy(&m.run, toy_encode(&m, &b).rows.t);
            const hd_real *table = m.t->encoder.front.table->t.data;
            for (size_t i = 0; i < b.source_rows; i++) {
                bool gone = x[8 * i] == 0;
                double scale = gone ? 0 : mode == HD_TRAIN ? 4 / 3.0 : 1;
                for (size_t k = 0; k < 8; k++)
                    assert_true(fabs((double)x[8 * i + k] -
                                     scale * (double)table[b.source[i] * 8 + (int32_t)k]) < 1e-5);
                assert_true(!gone || mode == HD_TRAIN);
                if (mode == HD_TRAIN) dropped += gone, rows++;
            }
            free(x);
        }
    assert_true(fabs((double)dropped / (double)rows - 0.25) < 4 * sqrt(0.25 * 0.75 / (double)rows));
    toy_close(&m);
}

/* Sources of one word; the target goes on from it, each word telling the next: w, 3 w, 9 w, ... modulo 11. */
static toy_batch powers(uint64_t seed)
{
    enum { LENGTH = 8 };
    toy_batch b = {0};
    hd_rng rng = hd_rng_make(seed, 2);
    for (; b.items < TOY_ITEMS; b.items++) {
        int32_t word = 1 + (int32_t)hd_rng_below(&rng, 10), last = TOY_BEGIN;
        b.key[b.items] = (int32_t)b.items, b.source_len[b.items] = 1, b.target_len[b.items] = LENGTH;
        b.source[b.source_rows++] = 2 + word;
        for (int i = 0; i < LENGTH; i++, word = word * 3 % 11) {
            b.input[b.target_rows] = last;
            b.target[b.target_rows++] = last = 2 + word;
        }
    }
    return b;
}

/* The mean loss while it learns, as it is fed: what it says at first is noise, and noise tells nothing of the
   next word. */
static void the_truth_teaches_sooner(void **state)
{
    (void)state;
    enum { STEPS = 100 };
    static const hd_optimizer_opt adam = {
        .kind = HD_OPT_ADAM, .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-9f, .clip = 1};
    static const encdec_case c = MODEL("", "gru:1", "gru:1", .r = {.context = HD_CONTEXT_fixed});
    double loss[2] = {0};
    for (int k = 0; k < 2; k++) {
        toy m;
        hd_encdec_opt o = encdec_opt(&c);
        o.stack.width = 24;
        toy_open(&m, 1, &o, NULL, &adam);
        if (k) feed(&m, (hd_feeding){HD_FEEDING_free, 0, 1});
        for (uint32_t step = 1; step <= STEPS; step++) {
            const toy_batch b = powers(step);
            loss[k] += toy_step(&m, &b, 0, 0.01, step) / STEPS;
        }
        print_message("%s: %.3f in the mean of %d updates\n", hd_feeding_names[k], loss[k], STEPS);
        toy_close(&m);
    }
    assert_true(loss[1] > 2 * loss[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_of_zero_is_the_truth),
        cmocka_unit_test(free_running_does_not_see_the_truth),
        cmocka_unit_test(rates_and_modes_meet),
        cmocka_unit_test(an_item_is_fed_the_same_whatever_else_is_in_the_batch),
        cmocka_unit_test(rows_are_those_of_the_words_that_were_drawn),
        cmocka_unit_test(every_word_has_a_coin_of_its_own),
        cmocka_unit_test(every_word_has_noise_of_its_own),
        cmocka_unit_test(words_come_as_often_as_they_are_said),
        cmocka_unit_test(a_hot_gumbel_word_is_the_mean_of_all),
        cmocka_unit_test(what_cannot_be_fed_is_refused),
        cmocka_unit_test(source_tokens_are_dropped_whole),
        cmocka_unit_test(the_truth_teaches_sooner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
