/* Language models of every kind behind one interface. */
#include "model/lm_toy.h"
#include "recorder.h"
#include "scratch.h"

static bool carries(hd_lm_kind k)
{
    return k == HD_LM_rnn || k == HD_LM_gru || k == HD_LM_lstm;
}

/* Log-probabilities of what follows each of `live` hypotheses after one token more; of as many that join
   where there is none. The caller frees them. */
static hd_real *advance(lm_toy *t, const hd_stepper *s, const int32_t *ids, size_t live)
{
    hd_run_begin(&t->run, HD_INFERENCE);
    return host_copy(&t->run,
                     ids ? s->step(&t->run, s->context, ids, live) : s->join(&t->run, s->context, live));
}

static hd_stepper stepper_of(const lm_toy *t, const int32_t *ids, const int32_t *len, size_t items)
{
    hd_err err = {0};
    hd_stepper s = {0};
    if (t->m->type->stepper(&s, t->m, ids, len, items, 0, &err)) fail_msg("%s", err.text);
    assert_int_equal(s.vocab, t->m->opt.vocab);
    assert_int_equal(s.items, items);
    return s;
}

static double total_of(const hd_real *logp)
{
    double sum = 0;
    for (size_t v = 0; v < LM_VOCAB; v++) sum += exp((double)logp[v]);
    return sum;
}

/* A loss is a sum of some dozen numbers around 1 in float, taken in two orders: 1e-5. */
static void losses_are_what_stepping_says(void **state)
{
    (void)state;
    int32_t text[LM_TEXT];
    lm_text(text, LM_TEXT, 4);
    for (hd_lm_kind kind = 0; kind < HD_LM_KINDS; kind++)
        for (int tied = 0; tied < 2; tied++) {
            lm_toy t;
            hd_lm_opt o = lm_opt(kind);
            o.tied = tied, o.stack.pre_norm = !tied;
            o.stack.dropout = o.embedding_dropout = o.stack.attention_dropout = 0.3f;
            lm_open(&t, &o, 2, false);
            hd_stepper s = stepper_of(&t, (int32_t[]){LM_START}, (int32_t[]){1}, 1);
            lm_windows all = {.items = 1, .len = {LM_TEXT}};
            hd_real *want = t.m->params ? lm_losses(&t, text, LM_TEXT, &all, NULL) : NULL;
            double sum = 0;
            for (size_t i = 0; i < LM_TEXT; i++) {
                hd_real *p = advance(&t, &s, i ? &text[i - 1] : NULL, 1);
                assert_true(fabs(total_of(p) - 1) < 1e-5);
                sum += (double)p[text[i]];
                if (want && !(fabs((double)(want[i] + p[text[i]])) < 1e-5))
                    fail_msg("%s: token %zu has loss %g, stepping says %g", hd_lm_names[kind], i,
                             (double)want[i], (double)-p[text[i]]);
                free(p);
            }
            if (!want) assert_true(fabs(t.m->type->lm.score(t.m, text, LM_TEXT) - sum) < 1e-4);
            free(want);
            hd_stepper_release(&s);
            lm_close(&t);
        }
}

static void prompts_are_read_and_hypotheses_picked(void **state)
{
    (void)state;
    static const int32_t ids[] = {LM_START, 5, LM_START, 4, 9, 7}, len[] = {2, 4};
    static const int32_t next[] = {8, 3, 10, 6}, parent[] = {1, 0, 1, 1};
    for (hd_lm_kind kind = 0; kind < HD_LM_KINDS; kind++) {
        lm_toy t;
        hd_lm_opt o = lm_opt(kind);
        lm_open(&t, &o, 1, false);
        hd_stepper s = stepper_of(&t, ids, len, 2);
        hd_real *first = advance(&t, &s, NULL, 2);
        hd_run_begin(&t.run, HD_INFERENCE);
        assert_int_equal(s.pick(&t.run, s.context, parent, 4), HD_OK);
        hd_real *then = advance(&t, &s, next, 4);
        for (size_t i = 0; i < 4; i++) {
            size_t p = (size_t)parent[i];
            const int32_t *prompt = ids + (p ? len[0] : 0);
            hd_stepper one = stepper_of(&t, prompt, &len[p], 1);
            hd_real *a = advance(&t, &one, NULL, 1), *b = advance(&t, &one, &next[i], 1);
            assert_memory_equal(a, first + p * LM_VOCAB, LM_VOCAB * sizeof *a);
            assert_memory_equal(b, then + i * LM_VOCAB, LM_VOCAB * sizeof *b);
            free(a), free(b);
            hd_stepper_release(&one);
        }
        free(first), free(then);
        hd_stepper_release(&s);
        lm_close(&t);
    }
}

/* PyTorch's Sequential(Linear(6, 4), Tanh(), Linear(4, 6), LogSoftmax()) over the vectors of two tokens, the
   nearest first, in double. Weight number p of the list is a wave, 0.7 sin(1.7 k + 0.9 p + 0.3). */
static void a_two_layer_network_has_pytorchs_numbers(void **state)
{
    (void)state;
    static const char *const names[] = {"hidden.weight", "hidden.bias", "encoder.weight", "decoder.weight",
                                        "decoder.bias"};
    static const int32_t prompts[] = {3, 5, 4, 3, 1, 0}, len[] = {2, 2, 2};
    static const double want[] = {-1.286293447, -1.812176935, -1.307438843, -1.974657055, -3.026984234,
                                  -2.276661143, -1.599642072, -2.101328320, -1.431042982, -1.834605715,
                                  -2.594037315, -1.598084341, -2.644945419, -2.370962070, -1.137558952,
                                  -1.337644915, -2.306389907, -1.877866779};
    lm_toy t;
    hd_lm_opt o = lm_opt(HD_LM_ffnn);
    o.vocab = 6, o.order = 3, o.stack.width = 3, o.stack.inner = 4, o.start = 2, o.end = 3;
    lm_open(&t, &o, 1, false);
    for (size_t p = 0; p < COUNT_OF(names); p++) {
        hd_param *one = (hd_param *)hd_params_find(t.m->params, names[p]);
        hd_real x[32];
        assert_non_null(one);
        assert_true(hd_count_of(&one->t) <= COUNT_OF(x));
        for (size_t k = 0; k < hd_count_of(&one->t); k++)
            x[k] = (hd_real)(0.7 * sin(1.7 * (double)k + 0.9 * (double)p + 0.3));
        assert_int_equal(hd_params_set(t.m->params, one, x), HD_OK);
    }
    hd_stepper s = stepper_of(&t, prompts, len, 3);
    hd_real *got = advance(&t, &s, NULL, 3);
    for (size_t i = 0; i < COUNT_OF(want); i++) /* float against double, a dozen terms around 1 */
        if (!(fabs((double)got[i] - want[i]) < 2e-6))
            fail_msg("number %zu is %.9g, expected %.9g", i, (double)got[i], want[i]);
    free(got);
    hd_stepper_release(&s);
    lm_close(&t);
}

static void only_the_last_tokens_count(void **state)
{
    (void)state;
    static const hd_lm_kind kinds[] = {HD_LM_ngram, HD_LM_maxent, HD_LM_ffnn};
    for (size_t c = 0; c < COUNT_OF(kinds); c++)
        for (int order = 2; order <= 4; order++) {
            lm_toy t;
            hd_lm_opt o = lm_opt(kinds[c]);
            o.order = order, o.buckets = 1 << 16; /* too many for two contexts to meet by chance */
            lm_open(&t, &o, 1, false);
            hd_real *kept = NULL;
            static const int32_t usual[] = {LM_START, 5, 9, 4, 7, 6};
            for (size_t change = COUNT_OF(usual); change > 0; change--) {
                int32_t ids[COUNT_OF(usual)], n = COUNT_OF(usual);
                memcpy(ids, usual, sizeof ids);
                if (change < COUNT_OF(usual)) ids[change] = 10;
                hd_stepper s = stepper_of(&t, ids, &n, 1);
                hd_real *p = advance(&t, &s, NULL, 1);
                size_t back = COUNT_OF(usual) - change; /* 0: nothing changed */
                if (kept && back >= (size_t)order)
                    assert_memory_equal(kept, p, LM_VOCAB * sizeof *p);
                else if (kept && (kinds[c] != HD_LM_ngram || back == 1)) /* a context not seen says nothing */
                    assert_memory_not_equal(kept, p, LM_VOCAB * sizeof *p);
                if (!kept) kept = p, p = NULL;
                free(p);
                hd_stepper_release(&s);
            }
            free(kept);
            lm_close(&t);
        }
}

static void features_are_the_tokens_before(void **state)
{
    (void)state;
    static const int32_t text[] = {4, 5, 6, 7};
    static const int32_t want[5][3] = {
        {LM_START, LM_START, LM_START}, {4, LM_START, LM_START}, {5, 4, LM_START}, {6, 5, 4}, {7, 6, 5}};
    lm_toy f, x;
    hd_lm_opt o = lm_opt(HD_LM_ffnn), h = lm_opt(HD_LM_maxent);
    o.order = h.order = 4, h.buckets = 1 << 20;
    lm_open(&f, &o, 1, false), lm_open(&x, &h, 1, false);
    for (size_t at = 0; at <= 4; at++) {
        int32_t got[3], bucket[3], other[3];
        hd_lm_features(f.m, text, 4, at, got);
        assert_memory_equal(got, want[at], sizeof got);
        hd_lm_features(x.m, text, 4, at, bucket);
        hd_lm_features(x.m, (int32_t[]){9, 5, 6, 7}, 4, at, other);
        for (size_t k = 0; k < 3; k++) { /* a bucket knows of the k + 1 tokens before, and of no other */
            assert_true(bucket[k] >= 0 && bucket[k] < 1 << 20);
            assert_int_equal(bucket[k] == other[k], k + 1 < at || !at);
        }
        assert_true(bucket[0] != bucket[1] && bucket[1] != bucket[2] && bucket[0] != bucket[2]);
    }
    lm_close(&f), lm_close(&x);
}

static void carried_state_is_one_long_window(void **state)
{
    (void)state;
    static const int32_t cut[] = {0, 5, 6, 13, 20};
    int32_t text[LM_TEXT];
    lm_text(text, LM_TEXT, 6);
    for (hd_lm_kind kind = 0; kind < HD_LM_KINDS; kind++) {
        lm_toy t;
        hd_lm_opt o = lm_opt(kind);
        hd_err err = {0};
        hd_cache *cache = NULL;
        lm_open(&t, &o, 2, true);
        assert_int_equal(t.m->type->lm.state != NULL, carries(kind));
        for (int taping = 0; t.m->type->lm.state && taping < 2; taping++) {
            lm_windows all = {.items = 2, .from = {0, 24}, .len = {20, 20}};
            hd_real *want = lm_losses(&t, text, LM_TEXT, &all, NULL);
            assert_int_equal(t.m->type->lm.state(&cache, t.m, 2, &err), HD_OK);
            for (size_t c = 0; c + 1 < COUNT_OF(cut); c++) {
                int32_t n = cut[c + 1] - cut[c];
                lm_windows part = {.items = 2, .from = {(size_t)cut[c], 24 + (size_t)cut[c]}, .len = {n, n}};
                hd_run_begin(&t.run, taping ? HD_TRAIN : HD_INFERENCE);
                hd_real *got = host_copy(&t.run, lm_loss(&t, text, LM_TEXT, &part, cache));
                if (taping) hd_backward(&t.run);
                assert_run_ok(&t.run);
                assert_memory_equal(want + cut[c], got, (size_t)n * sizeof *got);
                assert_memory_equal(want + 20 + cut[c], got + n, (size_t)n * sizeof *got);
                free(got);
            }
            hd_cache_free(cache);
            free(want);
        }
        lm_close(&t);
    }
}

/* After a context of two the next token is certain: loss goes to 0. */
static void every_model_learns_a_text_by_heart(void **state)
{
    (void)state;
    static const int32_t verse[] = {4, 5, 6, 4, 7, 5, 8, 8, 9, 6, 10, LM_END};
    int32_t text[4 * COUNT_OF(verse)];
    for (size_t i = 0; i < COUNT_OF(text); i++) text[i] = verse[i % COUNT_OF(verse)];
    for (hd_lm_kind kind = 0; kind < HD_LM_KINDS; kind++) {
        lm_toy t;
        hd_lm_opt o = lm_opt(kind);
        hd_err err = {0};
        double loss = 0;
        o.smoothing = HD_SMOOTHING_ADD_K, o.buckets = 4096; /* k = 0: plain counts */
        lm_open(&t, &o, 2, true);
        if (t.m->params) {
            lm_windows w = {.items = 2, .from = {0, 24}, .len = {24, 24}};
            hd_optimizer_opt how = {.kind = HD_OPT_ADAM};
            if (hd_optimizer_init(&t.optimizer, t.m->params, &how, &err)) fail_msg("%s", err.text);
            for (uint32_t step = 0; step < 300; step++) {
                t.run.now.number = step;
                hd_run_begin(&t.run, HD_TRAIN);
                lm_loss(&t, text, COUNT_OF(text), &w, NULL);
                hd_backward(&t.run);
                hd_optimizer_step(&t.run, &t.optimizer, 0.01, COUNT_OF(text), NULL, NULL);
                assert_run_ok(&t.run);
            }
            hd_real *rows = lm_losses(&t, text, COUNT_OF(text), &w, NULL);
            for (size_t i = 0; i < COUNT_OF(text); i++) loss += (double)rows[i] / COUNT_OF(text);
            free(rows);
        } else {
            assert_int_equal(t.m->type->lm.count(t.m, text, COUNT_OF(text), &err), HD_OK);
            loss = -t.m->type->lm.score(t.m, text, COUNT_OF(text)) / COUNT_OF(text);
        }
        print_message("%-8s %6zu numbers, mean loss %.4f\n", hd_lm_names[kind], hd_lm_size(t.m), loss);
        if (!(loss < 0.05)) fail_msg("%s: %g", hd_lm_names[kind], loss);
        lm_close(&t);
    }
}

static void losses_have_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    int32_t text[LM_TEXT];
    lm_text(text, LM_TEXT, 8);
    for (hd_lm_kind kind = HD_LM_maxent; kind < HD_LM_KINDS; kind++) {
        hd_real *first = NULL;
        for (int threads = 1; threads <= 4; threads++) {
            lm_toy t;
            hd_lm_opt o = lm_opt(kind);
            lm_windows w = {.items = 4, .from = {0, 11, 30, 5}, .len = {20, 17, 18, 1}};
            o.stack.dropout = 0.2f;
            lm_open(&t, &o, threads, true);
            hd_run_begin(&t.run, HD_TRAIN);
            hd_real *loss = host_copy(&t.run, lm_loss(&t, text, LM_TEXT, &w, NULL));
            if (first) assert_memory_equal(first, loss, 56 * sizeof *loss);
            if (first)
                free(loss);
            else
                first = loss;
            lm_close(&t);
        }
        free(first);
    }
}

/* A small gpt past its positions: as long as they last it is the usual window, then one of the later half. */
static void gpt_goes_on_past_its_positions(void **state)
{
    (void)state;
    enum { CONTEXT = 8 };
    int32_t text[LM_TEXT];
    lm_text(text, LM_TEXT, 9);
    lm_toy t;
    hd_lm_opt o = lm_opt(HD_LM_gpt);
    o.context = CONTEXT;
    lm_open(&t, &o, 1, false);
    int32_t n = 3;
    hd_stepper s = stepper_of(&t, text, &n, 1);
    assert_null(s.room);
    for (size_t i = 2, from = 0; i + 1 < LM_TEXT; i++) { /* text[i] is read, text[i + 1] asked for */
        if (i - from == CONTEXT) from = i - CONTEXT / 2;
        hd_real *p = advance(&t, &s, i > 2 ? &text[i] : NULL, 1);
        int32_t len = (int32_t)(i - from) + 1;
        hd_stepper fresh = stepper_of(&t, text + from, &len, 1);
        hd_real *q = advance(&t, &fresh, NULL, 1);
        for (size_t v = 0; v < LM_VOCAB; v++) assert_true(fabs((double)(p[v] - q[v])) < 1e-5);
        free(p), free(q);
        hd_stepper_release(&fresh);
    }
    hd_stepper_release(&s);
    n = LM_TEXT; /* a long prompt: its end counts */
    s = stepper_of(&t, text, &n, 1);
    assert_int_equal(s.source[0], LM_TEXT);
    hd_real *p = advance(&t, &s, NULL, 1);
    n = CONTEXT;
    hd_stepper end = stepper_of(&t, text + LM_TEXT - CONTEXT, &n, 1);
    hd_real *q = advance(&t, &end, NULL, 1);
    assert_memory_equal(p, q, LM_VOCAB * sizeof *p);
    free(p), free(q);
    hd_stepper_release(&s), hd_stepper_release(&end);
    lm_close(&t);
}

/* Also across places where it forgets, which need not be those where a piece ends. */
static void tokens_read_at_once_are_steps(void **state)
{
    (void)state;
    for (size_t context = 7; context < 40; context += 11)
        for (size_t most = 1; most < 30; most = 2 * most + 1) {
            int32_t text[LM_TEXT], n = 1;
            lm_text(text, LM_TEXT, 4);
            lm_toy t;
            hd_lm_opt o = lm_opt(HD_LM_gpt);
            o.context = context;
            lm_open(&t, &o, 1, false);
            hd_stepper one = stepper_of(&t, text, &n, 1), some = stepper_of(&t, text, &n, 1);
            free(advance(&t, &one, NULL, 1)), free(advance(&t, &some, NULL, 1));
            for (size_t i = 1, count; i < LM_TEXT; i += count) {
                count = LM_TEXT - i < most ? LM_TEXT - i : most;
                hd_run_begin(&t.run, HD_INFERENCE);
                hd_real *all = host_copy(&t.run, some.read(&t.run, some.context, text + i, &count));
                assert_in_range(count, 1, most);
                for (size_t k = 0; k < count; k++) {
                    hd_real *p = advance(&t, &one, &text[i + k], 1);
                    assert_memory_equal(p, all + k * LM_VOCAB, LM_VOCAB * sizeof *p);
                    free(p);
                }
                free(all);
            }
            hd_stepper_release(&one), hd_stepper_release(&some);
            lm_close(&t);
        }
}

/* Five hypotheses, exchanged all the time, for longer than the small gpt has positions; the caller frees what
   they were told. */
static hd_real *wander(hd_lm_kind kind, bool captured)
{
    enum { LIVE = 5, STEPS = 40 };
    static const int32_t ids[] = {LM_START, LM_START, 6}, len[] = {1, 2};
    lm_toy t;
    hd_lm_opt o = lm_opt(kind);
    o.context = 16;
    hd_backend *b = backend_of("cpu", 1);
    if (captured) recorder_attach(b);
    lm_open_on(&t, &o, b, false);
    hd_stepper s = stepper_of(&t, ids, len, 2);
    hd_real *all = malloc(STEPS * LIVE * LM_VOCAB * sizeof *all);
    hd_rng rng = hd_rng_make(3, 3);
    free(advance(&t, &s, NULL, 2));
    for (size_t i = 0; i < STEPS; i++) {
        int32_t parent[LIVE], next[LIVE];
        for (size_t j = 0; j < LIVE; j++) {
            bool stay = i && i % 5; /* a step can be replayed where nothing moved */
            parent[j] = stay ? (int32_t)j : (int32_t)hd_rng_below(&rng, i ? LIVE : 2);
            next[j] = LM_END + (int32_t)hd_rng_below(&rng, LM_VOCAB - LM_END);
        }
        hd_run_begin(&t.run, HD_INFERENCE);
        assert_int_equal(s.pick(&t.run, s.context, parent, LIVE), HD_OK);
        hd_real *p = host_copy(&t.run, s.step(&t.run, s.context, next, LIVE));
        memcpy(all + i * LIVE * LM_VOCAB, p, LIVE * LM_VOCAB * sizeof *p);
        free(p);
    }
    hd_stepper_release(&s);
    lm_close(&t);
    return all;
}

static void captured_steps_say_the_same(void **state)
{
    (void)state;
    for (hd_lm_kind kind = 0; kind < HD_LM_KINDS; kind++) {
        hd_real *plain = wander(kind, false), *captured = wander(kind, true);
        assert_memory_equal(plain, captured, 40 * 5 * LM_VOCAB * sizeof *plain);
        free(plain), free(captured);
    }
}

static void counts_are_saved_and_loaded(void **state)
{
    (void)state;
    int32_t text[LM_TEXT];
    hd_err err = {0};
    lm_toy a;
    hd_lm *b = NULL;
    hd_lm_opt o = lm_opt(HD_LM_ngram);
    lm_text(text, LM_TEXT, 4);
    lm_open(&a, &o, 1, false);
    assert_true(hd_lm_size(a.m) > LM_VOCAB - LM_END);
    assert_int_equal(a.m->type->lm.save(a.m, scratch, &err), HD_OK);
    assert_int_equal(hd_lm_new(&b, &o, NULL, false, &err), HD_OK);
    hd_stepper s = {0};
    assert_int_equal(b->type->stepper(&s, b, text, (int32_t[]){1}, 1, 0, &err),
                     HD_EARG); /* nothing counted */
    err = (hd_err){0};
    assert_int_equal(b->type->lm.load(b, scratch, &err), HD_OK);
    assert_int_equal(hd_lm_size(a.m), hd_lm_size(b));
    assert_true(a.m->type->lm.score(a.m, text, LM_TEXT) == b->type->lm.score(b, text, LM_TEXT));
    hd_lm_free(b);
    o.order = 4;
    assert_int_equal(hd_lm_new(&b, &o, NULL, false, &err), HD_OK);
    assert_int_equal(b->type->lm.load(b, scratch, &err), HD_EFORMAT);
    hd_lm_free(b);
    lm_close(&a);
}

static void what_makes_no_model_is_refused(void **state)
{
    (void)state;
    static const struct {
        hd_lm_kind kind;
        hd_lm_opt o;
    } none[] = {
        {HD_LM_ngram, {.order = 0}},
        {HD_LM_ngram, {.order = HD_NGRAM_MOST + 1}},
        {HD_LM_maxent, {.order = 1}},
        {HD_LM_maxent, {.order = 3, .buckets = (size_t)INT32_MAX + 1}},
        {HD_LM_ffnn, {.order = 1, .stack.width = 4}},
        {HD_LM_ffnn, {.order = 300, .stack.width = 4}},
        {HD_LM_ffnn, {.order = 3, .stack.width = 0}},
        {HD_LM_ffnn, {.order = 3, .stack.width = 4, .stack.inner = 5, .tied = true}},
        {HD_LM_rnn, {.stack.layers = 1, .stack.width = 4, .stack.act = HD_gelu}},
        {HD_LM_gru, {.stack.layers = 0, .stack.width = 4}},
        {HD_LM_lstm, {.stack.layers = 17, .stack.width = 4}},
        {HD_LM_lstm, {.stack.layers = 1, .stack.width = 0}},
        {HD_LM_lstm, {.stack.layers = 1, .stack.width = 4, .stack.dropout = 1}},
        {HD_LM_gpt, {.stack.layers = 1, .stack.width = 5, .stack.heads = 2, .context = 8}},
        {HD_LM_gpt, {.stack.layers = 1, .stack.width = 4, .stack.heads = 2, .context = 0}},
    };
    hd_backend *b = backend_of("cpu", 1);
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        hd_err err = {0};
        hd_lm *m = NULL;
        hd_lm_opt o = none[i].o;
        o.kind = none[i].kind, o.vocab = LM_VOCAB, o.start = LM_START, o.end = LM_END, o.unk = LM_UNK;
        assert_int_equal(hd_lm_new(&m, &o, b, false, &err), HD_EARG);
        assert_non_null(strstr(err.text, o.kind == HD_LM_ngram ? "n-gram" : hd_lm_names[o.kind]));
        assert_null(m);
    }
    hd_backend_free(b);
}

static void running_out_of_memory_is_said_and_leaves_nothing(void **state)
{
    (void)state;
    static const int32_t ids[] = {LM_START, 5, LM_START}, len[] = {2, 1};
    for (hd_lm_kind kind = HD_LM_maxent; kind < HD_LM_KINDS; kind++) {
        hd_lm_opt o = lm_opt(kind);
        hd_backend *b = backend_of("cpu", 1);
        size_t before = hd_mem_now().blocks, n = 0;
        for (bool done = false; !done;) {
            hd_err err = {0};
            hd_lm *m = NULL;
            hd_stepper s = {0};
            hd_mem_fail_at(++n);
            hd_status st = hd_lm_new(&m, &o, b, false, &err);
            if (!st) st = m->type->stepper(&s, m, ids, len, 2, 0, &err);
            hd_mem_fail_at(0);
            done = !st;
            if (st) assert_int_equal(st, HD_ENOMEM);
            hd_stepper_release(&s);
            hd_lm_free(m);
            assert_int_equal(hd_mem_now().blocks, before);
        }
        assert_true(n > 4);
        hd_backend_free(b);
    }
}

static void operations_are_two_for_each_weight_and_token(void **state)
{
    (void)state;
    static const hd_lm_kind kinds[] = {HD_LM_ffnn, HD_LM_rnn, HD_LM_gru, HD_LM_lstm};
    for (size_t c = 0; c < COUNT_OF(kinds); c++) {
        lm_toy t;
        hd_lm_opt o = lm_opt(kinds[c]);
        o.stack.inner = 10;
        lm_open(&t, &o, 1, false);
        double weights = 0;
        for (size_t i = 0; i < t.m->params->count; i++) {
            const hd_param *p = t.m->params->list[i];
            if (p->t.rank == 2 && strcmp(p->name, "encoder.weight")) weights += (double)hd_count_of(&p->t);
        }
        assert_true(t.m->type->flops(t.m, 3, 5, 0) == 15 * 2 * weights);
        lm_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_what_stepping_says),
        cmocka_unit_test(prompts_are_read_and_hypotheses_picked),
        cmocka_unit_test(a_two_layer_network_has_pytorchs_numbers),
        cmocka_unit_test(only_the_last_tokens_count),
        cmocka_unit_test(features_are_the_tokens_before),
        cmocka_unit_test(carried_state_is_one_long_window),
        cmocka_unit_test(every_model_learns_a_text_by_heart),
        cmocka_unit_test(losses_have_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(gpt_goes_on_past_its_positions),
        cmocka_unit_test(tokens_read_at_once_are_steps),
        cmocka_unit_test(captured_steps_say_the_same),
        cmocka_unit_test(counts_are_saved_and_loaded),
        cmocka_unit_test(what_makes_no_model_is_refused),
        cmocka_unit_test(running_out_of_memory_is_said_and_leaves_nothing),
        cmocka_unit_test(operations_are_two_for_each_weight_and_token),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
