/* Search over real models: encoder-decoders of several kinds and GPT with random weights, cached
   step by step. */
#include "decode/babble.h"
#include "decode/score.h"
#include "model/prepare.h"
#include "model/stepper_parts.h"
#include "model/toy.h"

enum { V = TOY_VOCAB, ITEMS = 12, LIMIT = 16, START = TOY_BEGIN };

/* A cached step and a whole forward sum the same numbers in other orders: logits are sums of 32 products of
   numbers around 1, each rounded by 6e-8. */
#define TOLERANCE 1e-5

typedef enum kind_of_model { POST_NORM, PRE_NORM, GPT, BAHDANAU, LUONG, DEEPER, MIXED, KINDS } kind_of_model;

static const struct {
    const char *encoder, *decoder;
    hd_recurrent_decoder_opt r;
} recurrent[KINDS] = {
    [BAHDANAU] = {"bi-gru:1", "gru:1", {.read = HD_READING_deep}},
    [LUONG] = {"lstm:2",
               "lstm:2",
               {.query = HD_QUERY_current,
                .read = HD_READING_tanh,
                .score = HD_SCORING_dot,
                .locality = HD_LOCALITY_PREDICTED,
                .window = 2,
                .feed_context = true}},
    [DEEPER] = {"gru:1", "gru:1", {.score = HD_SCORING_mlp}},
    [MIXED] = {"bi-gru:1+transformer:1",
               "rnn:1+transformer:1",
               {.context = HD_CONTEXT_everywhere, .begin = HD_BEGINNING_learned}},
};

typedef struct subject {
    hd_backend *backend;
    hd_run r;
    hd_encdec *t; /* one of the two */
    hd_gpt *g;
    int32_t source[ITEMS][TOY_LONGEST + 1], len[ITEMS]; /* or prompts, of 1 token and more */
    int32_t end;                                        /* token that ends some sentences and others not */
} subject;

static void subject_free(subject *s)
{
    hd_encdec_free(s->t);
    hd_gpt_free(s->g);
    hd_run_release(&s->r);
    hd_backend_free(s->backend);
    free(s);
}

/* A stepper over the sentences of `which`. */
static hd_status open_on(hd_stepper *out, const subject *s, const int32_t *which, size_t n, hd_err *err)
{
    int32_t ids[ITEMS * (TOY_LONGEST + 1)], len[ITEMS];
    size_t rows = 0;
    for (size_t i = 0; i < n; i++) {
        len[i] = s->len[which[i]];
        memcpy(ids + rows, s->source[which[i]], (size_t)len[i] * sizeof *ids);
        rows += (size_t)len[i];
    }
    return s->t ? hd_encdec_stepper(out, s->t, ids, len, n, START, err)
                : hd_gpt_stepper(out, s->g, ids, len, n, err);
}

static hd_found *search(subject *s, const int32_t *which, size_t n, hd_search_opt o)
{
    hd_err err = {0};
    hd_stepper st = {0};
    hd_found *f = NULL;
    o.key = which;
    if (open_on(&st, s, which, n, &err) || hd_search(&f, &s->r, &st, &o, &err)) fail_msg("%s", err.text);
    hd_stepper_release(&st);
    assert_sound(f, &o);
    return f;
}

static const int32_t forward[ITEMS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

/* Weights are random, so which token should end sentences is found out: the one that is in half of them. */
static int32_t middling_token(subject *s)
{
    hd_found *f =
        search(s, forward, ITEMS, (hd_search_opt){.kind = HD_SEARCH_GREEDY, .end = -1, .max_length = LIMIT});
    int32_t best = 0;
    size_t distance = ITEMS;
    for (int32_t v = 0; v < V; v++) {
        size_t has = 0;
        for (size_t i = 0; i < ITEMS; i++)
            for (size_t t = 0; t < LIMIT; t++)
                if (f->guess[i].ids[t] == v) has++, t = LIMIT;
        size_t d = has > ITEMS / 2 ? has - ITEMS / 2 : ITEMS / 2 - has;
        if (d < distance) distance = d, best = v;
    }
    hd_found_free(f);
    return best;
}

static void draw_subject(subject *s, uint64_t seed, double scale)
{
    hd_err err = {0};
    hd_params *p = s->t ? &s->t->params : &s->g->params;
    if (hd_params_draw(p, seed, &err)) fail_msg("%s", err.text);
    stir(p);
    /* GPT's weights are small: so that its words differ, its table is drawn anew; as are those of cells */
    for (size_t i = 0; s->g && i < V * 32; i++) ((hd_real *)s->g->front.table->t.data)[i] *= 20;
    for (size_t i = 0; i < p->trainable; i++) p->value[i] *= (hd_real)scale;
    hd_rng rng = hd_rng_make(seed, 2);
    for (size_t i = 0; i < ITEMS; i++) {
        s->len[i] = 1 + (int32_t)(i % TOY_LONGEST);
        for (int32_t j = 0; j < s->len[i]; j++) s->source[i][j] = (int32_t)hd_rng_below(&rng, V);
    }
    s->end = middling_token(s);
}

static subject *new_subject(int threads)
{
    subject *s = calloc(1, sizeof *s);
    s->backend = backend_of("cpu", threads);
    s->r = run_on(s->backend);
    return s;
}

static subject *subject_with(const char *encoder, const char *decoder, hd_recurrent_decoder_opt r,
                             uint64_t seed)
{
    hd_err err = {0};
    subject *s = new_subject(1);
    hd_encdec_opt o = toy_opt();
    o.recurrent = r;
    if (hd_stages_read(&o.encoder, encoder, &err) || hd_stages_read(&o.decoder, decoder, &err))
        fail_msg("%s", err.text);
    s->t = toy_transformer(s->backend, &o, false);
    draw_subject(s, seed, 3);
    return s;
}

static subject *subject_of(kind_of_model k, int threads, uint64_t seed)
{
    hd_err err = {0};
    subject *s = new_subject(threads);
    hd_encdec_opt o = toy_opt();
    hd_gpt_opt g = toy_gpt_opt();
    o.stack.pre_norm = k == PRE_NORM, o.recurrent = recurrent[k].r;
    if (recurrent[k].encoder && (hd_stages_read(&o.encoder, recurrent[k].encoder, &err) ||
                                 hd_stages_read(&o.decoder, recurrent[k].decoder, &err)))
        fail_msg("%s", err.text);
    if (k == GPT)
        s->g = toy_gpt(s->backend, &g, false);
    else
        s->t = toy_transformer(s->backend, &o, false);
    draw_subject(s, seed, k > GPT ? 3 : 1);
    return s;
}

static hd_search_opt option_of(const subject *s, hd_search_kind k)
{
    hd_search_opt o = {.kind = k,
                       .end = s->end,
                       .max_length = LIMIT,
                       .beam = 4,
                       .best = 4,
                       .temperature = 1.5f,
                       .seed = 8,
                       .length = {HD_LENGTH_GNMT, .alpha = 0.6}};
    if (k == HD_SEARCH_GREEDY) o.best = 1;
    if (k == HD_SEARCH_EXHAUSTIVE) o.max_length = 2;
    return o;
}

static size_t ended(const hd_found *f)
{
    size_t n = 0;
    for (size_t k = 0; k < f->guesses; k++) n += f->guess[k].finished;
    return n;
}

/* Log-probabilities of a guess's tokens from one whole forward pass without a cache. */
static double distance_to_whole(subject *s, int32_t which, const hd_guess *g)
{
    hd_run *r = &s->r;
    int32_t ids[TOY_LONGEST + LIMIT], head = s->t ? 1 : s->len[which], rows = head + (int32_t)g->length - 1;
    if (s->t)
        ids[0] = START;
    else
        memcpy(ids, s->source[which], (size_t)head * sizeof *ids);
    memcpy(ids + head, g->ids, (g->length - 1) * sizeof *ids);
    hd_run_begin(r, HD_INFERENCE);
    const hd_seg *seg = hd_seg_of(r, &rows, 1, NULL);
    const int32_t *sent = hd_ints(r, ids, (size_t)rows);
    hd_tensor *z;
    if (s->t) {
        hd_encoded memory =
            hd_encdec_encode(r, s->t,
                             &(hd_items){.seg = hd_seg_of(r, &s->len[which], 1, NULL),
                                         .ids = hd_ints(r, s->source[which], (size_t)s->len[which])});
        z = hd_encdec_logits(r, s->t, hd_encdec_decode(r, s->t, sent, seg, memory, NULL));
    } else {
        z = hd_gpt_logits(r, s->g, hd_gpt_forward(r, s->g, sent, seg, NULL));
    }
    hd_real *logp = host_copy(r, hd_log_softmax(r, z));
    double worst = 0;
    for (size_t t = 0; t < g->length; t++) {
        double d = fabs((double)logp[((size_t)head - 1 + t) * V + (size_t)g->ids[t]] - (double)g->logp[t]);
        if (!(d <= worst)) worst = d;
    }
    free(logp);
    return worst;
}

/* Without scores the logits alone choose. */
static void greedy_search_without_scores_finds_the_same(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        subject *s = subject_of((kind_of_model)k, 2, 5);
        hd_search_opt o = option_of(s, HD_SEARCH_GREEDY), plain = o;
        hd_err err = {0};
        hd_stepper st = {0};
        hd_found *f = NULL, *g = search(s, forward, ITEMS, o);
        plain.unscored = true, plain.key = forward;
        if (open_on(&st, s, forward, ITEMS, &err) || hd_search(&f, &s->r, &st, &plain, &err))
            fail_msg("%s", err.text);
        hd_stepper_release(&st);
        for (size_t i = 0; i < ITEMS; i++) {
            const hd_guess *a = hd_found_at(f, i), *b = hd_found_at(g, i);
            assert_int_equal(a->length, b->length);
            assert_memory_equal(a->ids, b->ids, a->length * sizeof *a->ids);
            assert_int_equal(a->finished, b->finished);
            assert_true(a->sum == 0 && b->sum < 0);
        }
        hd_found_free(f), hd_found_free(g);
        subject_free(s);
    }
}

static void cached_steps_give_the_log_probabilities_of_the_whole_forward(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        subject *s = subject_of((kind_of_model)k, 2, 3);
        double worst = 0;
        for (int kind = 0; kind < HD_SEARCHES; kind++) {
            hd_found *f = search(s, forward, ITEMS, option_of(s, (hd_search_kind)kind));
            for (size_t i = 0; i < ITEMS; i++)
                for (size_t j = 0; j < hd_found_count(f, i); j++) {
                    double d = distance_to_whole(s, forward[i], &hd_found_at(f, i)[j]);
                    if (!(d <= worst)) worst = d;
                }
            print_message("%-10s %zu of %zu ended\n", hd_search_names[kind], ended(f), f->guesses);
            if (kind == HD_SEARCH_BEAM || kind == HD_SEARCH_SAMPLE)
                assert_true(ended(f) > 0 && ended(f) < f->guesses);
            hd_found_free(f);
        }
        print_message("off by %.1e\n", worst);
        assert_true(worst <= TOLERANCE);
        subject_free(s);
    }
}

static void a_beam_of_one_equals_greedy(void **state)
{
    (void)state;
    size_t sentences = 0, stopped = 0;
    for (int k = 0; k < KINDS; k++)
        for (uint64_t seed = 1; seed <= 8; seed++) {
            subject *s = subject_of((kind_of_model)k, 1, seed);
            hd_search_opt o = option_of(s, HD_SEARCH_BEAM);
            o.beam = o.best = 1, o.length.kind = HD_LENGTH_NONE;
            hd_found *beam = search(s, forward, ITEMS, o);
            o.kind = HD_SEARCH_GREEDY;
            hd_found *greedy = search(s, forward, ITEMS, o);
            assert_same_found(beam, greedy);
            sentences += ITEMS, stopped += ended(greedy);
            hd_found_free(beam), hd_found_free(greedy);
            subject_free(s);
        }
    print_message("%zu sentences, %zu ended\n", sentences, stopped);
    assert_true(stopped > 0 && stopped < sentences);
}

/* Alone, in other orders, repeated, on 1, 2 and 3 threads. */
static void a_sentence_has_the_same_bits_in_any_batch_on_any_number_of_threads(void **state)
{
    (void)state;
    static const int32_t orders[][ITEMS] = {{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
                                            {5, 5, 2, 8, 11, 0, 0, 0, 7, 3, 2, 9}};
    for (int k = 0; k < KINDS; k++)
        for (int kind = 0; kind < HD_SEARCHES; kind++) {
            subject *s = subject_of((kind_of_model)k, 1, 3);
            hd_search_opt o = option_of(s, (hd_search_kind)kind);
            hd_found *first = search(s, forward, ITEMS, o);
            subject_free(s);
            for (int threads = 1; threads <= 3; threads++) {
                s = subject_of((kind_of_model)k, threads, 3);
                for (size_t c = 0; c < COUNT_OF(orders); c++) {
                    hd_found *f = search(s, orders[c], ITEMS, o);
                    for (size_t i = 0; i < ITEMS; i++) assert_same_item(f, i, first, (size_t)orders[c][i]);
                    hd_found_free(f);
                }
                for (size_t i = 0; i < ITEMS; i++) {
                    hd_found *f = search(s, &forward[i], 1, o);
                    assert_same_item(f, 0, first, i);
                    hd_found_free(f);
                }
                subject_free(s);
            }
            hd_found_free(first);
        }
}

/* Rows of the cross-attention's keys and values stay those of the sources, whatever the beam. */
static void hypotheses_share_the_rows_of_their_source(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        hd_err err = {0};
        hd_found *f = NULL;
        hd_stepper st;
        subject *s = subject_of((kind_of_model)k, 1, 3);
        hd_search_opt o = option_of(s, HD_SEARCH_BEAM);
        if (open_on(&st, s, forward, ITEMS, &err) || hd_search(&f, &s->r, &st, &o, &err))
            fail_msg("%s", err.text);
        const hd_cache *c = ((hd_stepping *)st.context)->cache;
        size_t blocks = 0, fixed = 0;
        for (size_t i = 0; i < ITEMS; i++) blocks += ((size_t)s->len[i] + HD_PAGE_ROWS - 1) / HD_PAGE_ROWS;
        for (size_t i = 0; i < c->slots; i++) {
            if (c->slot[i].kind != HD_FIXED || !c->slot[i].filled) continue;
            assert_int_equal(hd_rows_of(&c->slot[i].t), blocks * HD_PAGE_ROWS);
            fixed++;
        }
        assert_true(fixed > 0 || k == GPT);
        hd_found_free(f);
        hd_stepper_release(&st);
        subject_free(s);
    }
}

typedef struct counts {
    size_t encoder, decoder;
} counts;

static void count_offer(void *context, hd_run *r, const hd_offer *offer)
{
    counts *c = context;
    (void)r;
    c->encoder += !strcmp(offer->name, "enc.emb"), c->decoder += !strcmp(offer->name, "dec.emb");
}

static void sources_are_encoded_once(void **state)
{
    (void)state;
    counts c = {0};
    const hd_probe probe = {.take = count_offer, .context = &c};
    subject *s = subject_of(PRE_NORM, 1, 3);
    s->r.probe = &probe;
    hd_found *f = search(s, forward, ITEMS,
                         (hd_search_opt){.kind = HD_SEARCH_BEAM, .beam = 3, .end = -1, .max_length = 7});
    assert_int_equal(c.encoder, 1);
    assert_int_equal(c.decoder, 7);
    hd_found_free(f);
    subject_free(s);
}

/* A stepper that counts the parents of every pick, each once, and all live hypotheses. */
typedef struct counting {
    hd_stepper of;
    size_t parents, live, asked; /* asked: rows of queries that attention was computed for */
} counting;

static hd_tensor *count_step(hd_run *r, void *context, const int32_t *ids, size_t live)
{
    counting *c = context;
    c->live += live;
    return c->of.step(r, c->of.context, ids, live);
}

static hd_tensor *count_join(hd_run *r, void *context, size_t n)
{
    counting *c = context;
    c->live += n;
    return c->of.join(r, c->of.context, n);
}

static hd_status count_pick(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    counting *c = context;
    for (size_t i = 0; i < n; i++) {
        bool before = false;
        for (size_t j = 0; j < i; j++) before |= parent[j] == parent[i];
        c->parents += !before;
    }
    return c->of.pick(r, c->of.context, parent, n);
}

static void count_queries(void *context, hd_run *r, const hd_offer *offer)
{
    (void)r;
    if (!strcmp(offer->name, "dec.0.cross.query")) ((counting *)context)->asked += hd_rows_of(offer->t);
}

static hd_found *count_search(subject *s, counting *c, bool cached, const hd_search_opt *o)
{
    hd_err err = {0};
    hd_found *f = NULL;
    const hd_probe probe = {.take = count_queries, .context = c};
    *c = (counting){0};
    if (open_on(&c->of, s, forward, ITEMS, &err)) fail_msg("%s", err.text);
    if (!cached) c->of.pick = hd_stepping_pick;
    hd_stepper outer = c->of;
    outer.join = count_join, outer.step = count_step, outer.pick = count_pick, outer.context = c;
    s->r.probe = &probe;
    if (hd_search(&f, &s->r, &outer, o, &err)) fail_msg("%s", err.text);
    s->r.probe = NULL;
    hd_stepper_release(&c->of);
    return f;
}

/* The second of the lecture's pseudocodes: contexts belong to parents, and attention is computed once for
   each of them that lives on, not for each of its children. What is found is the same to the bit. */
static void siblings_share_the_context_of_their_parent(void **state)
{
    (void)state;
    static const hd_recurrent_decoder_opt options[] = {
        {.read = HD_READING_deep},
        {.score = HD_SCORING_mlp},
        {.score = HD_SCORING_dot, .locality = HD_LOCALITY_MONOTONE, .window = 2},
        {.locality = HD_LOCALITY_PREDICTED, .window = 1},
        {.heads = 2, .project = true},
    };
    for (size_t k = 0; k < COUNT_OF(options); k++)
        for (hd_search_kind kind = HD_SEARCH_BEAM; kind <= HD_SEARCH_SAMPLE; kind++) {
            counting plain, cached;
            subject *s = subject_with("lstm:2", "lstm:2", options[k], 3);
            hd_search_opt o = option_of(s, kind);
            hd_found *one_by_one = count_search(s, &plain, false, &o),
                     *shared = count_search(s, &cached, true, &o);
            assert_same_found(one_by_one, shared);
            assert_int_equal(plain.asked, plain.live);
            assert_int_equal(cached.live, plain.live);
            assert_int_equal(cached.asked, ITEMS + cached.parents); /* every source begins with one */
            print_message("%s: attention for %zu queries instead of %zu\n", hd_search_names[kind],
                          cached.asked, plain.asked);
            assert_true(cached.asked < plain.asked);
            hd_found_free(one_by_one), hd_found_free(shared);
            subject_free(s);
        }
}

static void prepare(subject *s, hd_use use)
{
    hd_err err = {0};
    if (s->t ? hd_encdec_prepare(s->t, use, &err) : hd_gpt_prepare(s->g, use, &err)) fail_msg("%s", err.text);
}

static void assert_scored_the_same(subject *s, hd_found *f)
{
    hd_err err = {0};
    hd_stepper st = {0};
    hd_real *before = malloc(f->used * sizeof *before);
    memcpy(before, f->logp, f->used * sizeof *before);
    if (open_on(&st, s, forward, ITEMS, &err) || hd_found_score(f, &s->r, &st, &(hd_length){0}, 0, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < f->used; i++)
        assert_true(fabs((double)before[i] - (double)f->logp[i]) <= TOLERANCE);
    hd_stepper_release(&st);
    free(before);
}

static void prepared_weights_give_the_same_log_probabilities(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        subject *s = subject_of((kind_of_model)k, 2, 3);
        hd_found *f = search(s, forward, ITEMS, option_of(s, HD_SEARCH_BEAM));
        size_t used = 0;
        for (int turn = 0; turn < 2; turn++) { /* in the first the backend takes what room it works in */
            for (int use = HD_DECODING; use >= HD_TRAINING; use--) {
                prepare(s, (hd_use)use);
                if (turn && use == HD_DECODING)
                    assert_true(hd_mem_now().used > used + 4 * 32 * 32 * sizeof(hd_real));
                else if (turn)
                    assert_int_equal(hd_mem_now().used, used);
                assert_scored_the_same(s, f);
            }
            used = hd_mem_now().used;
        }
        prepare(s, HD_DECODING); /* and freeing the model undoes it */
        hd_found_free(f);
        subject_free(s);
    }
}

/* A model that has learned to copy copies, in greedy and in beam search, and ends where the source does. */
static void a_trained_model_says_what_it_learned(void **state)
{
    (void)state;
    toy m;
    hd_err err = {0};
    hd_encdec_opt t = toy_opt();
    const hd_optimizer_opt adam = {
        .kind = HD_OPT_ADAM, .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-9f, .clip = 1};
    const toy_batch b = toy_range(0, 24);
    toy_open(&m, 2, &t, NULL, &adam);
    for (uint32_t step = 1; step <= 200; step++)
        toy_step(&m, &b, 0, 0.005 * (step < 20 ? step / 20.0 : 1), step);
    for (int kind = HD_SEARCH_GREEDY; kind <= HD_SEARCH_BEAM; kind++) {
        hd_stepper st = {0};
        hd_found *f = NULL;
        hd_search_opt o = {.kind = (hd_search_kind)kind,
                           .beam = 4,
                           .end = TOY_END,
                           .max_ratio = 2,
                           .length = {.kind = HD_LENGTH_AVERAGE}};
        if (hd_encdec_stepper(&st, m.t, b.source, b.source_len, b.items, START, &err) ||
            hd_search(&f, &m.run, &st, &o, &err))
            fail_msg("%s", err.text);
        for (size_t i = 0, at = 0; i < b.items; at += (size_t)b.target_len[i++]) {
            assert_int_equal(f->guess[i].length, b.target_len[i]);
            assert_memory_equal(f->guess[i].ids, b.target + at, f->guess[i].length * sizeof *b.target);
            assert_true(f->guess[i].score > -0.2);
        }
        hd_stepper_release(&st);
        hd_found_free(f);
    }
    toy_close(&m);
}

static void steppers_refuse_what_they_cannot_read(void **state)
{
    (void)state;
    static const int32_t ids[] = {1, 2, 3, V, -1};
    static int32_t many[65];
    static const struct {
        const int32_t *ids;
        int32_t len, start;
        hd_status status;
        const char *text; /* with the name of what is read */
    } cases[] = {
        {ids, 3, START, HD_OK, ""},
        {ids, 0, START, HD_EARG, "%s 0 is empty"},
        {ids, -3, START, HD_EARG, "%s 0 is empty"},
        {ids, 4, START, HD_EARG, "%s 0: there is no token 13 in a vocabulary of 13"},
        {ids + 4, 1, START, HD_EARG, "%s 0: there is no token -1 in a vocabulary of 13"},
        {many, 65, START, HD_ELIMIT, "%s 0 has 65 tokens, the model takes 64"},
        {ids, 3, V, HD_EARG, "there is no start token 13 in a vocabulary of 13"},
        {ids, 3, -1, HD_EARG, "there is no start token -1 in a vocabulary of 13"},
    };
    for (int k = POST_NORM; k < KINDS; k++) {
        subject *s = subject_of((kind_of_model)k, 1, 3);
        for (size_t c = 0; c < COUNT_OF(cases); c++) {
            hd_err err = {0};
            hd_stepper st = {0};
            char text[128];
            if (s->g && (cases[c].start < 0 || cases[c].start >= V)) continue;
            snprintf(text, sizeof text, cases[c].text, s->t ? "source" : "prompt");
            hd_status got =
                s->t ? hd_encdec_stepper(&st, s->t, cases[c].ids, &cases[c].len, 1, cases[c].start, &err)
                     : hd_gpt_stepper(&st, s->g, cases[c].ids, &cases[c].len, 1, &err);
            assert_int_equal(got, cases[c].status);
            assert_string_equal(err.text, text);
            hd_stepper_release(&st);
        }
        subject_free(s);
    }
}

/* 64 positions: the model's own limit holds, and a step past it is an error rather than a row without a
 * position. */
static void the_models_positions_are_a_limit(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        subject *s = subject_of((kind_of_model)k, 1, 3);
        hd_search_opt o = {.kind = HD_SEARCH_GREEDY, .end = -1};
        hd_found *f = search(s, forward, 5, o);
        for (size_t i = 0; i < 5; i++) assert_int_equal(f->guess[i].length, s->t ? 64 : 65 - s->len[i]);
        hd_found_free(f);
        hd_err err = {0};
        hd_stepper st = {0};
        assert_int_equal(open_on(&st, s, forward, 1, &err), HD_OK);
        for (int i = 0; i <= 64; i++) {
            hd_run_begin(&s->r, HD_INFERENCE);
            hd_tensor *y =
                i ? st.step(&s->r, st.context, &(int32_t){START}, 1) : st.join(&s->r, st.context, 1);
            assert_true(!y == (i == 64));
        }
        assert_int_equal(s->r.err.status, HD_ELIMIT);
        assert_string_equal(s->r.err.text, "step: hypothesis 0 has used all 64 positions");
        hd_stepper_release(&st);
        subject_free(s);
    }
}

/* Fewer seats than the sentences want: they wait, join as others leave, and find what they find alone. In the
   end every block of the cache is free. */
static void sentences_that_join_a_running_batch_are_searched_as_alone(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        subject *s = subject_of((kind_of_model)k, 2, 3);
        for (int kind = 0; kind < HD_SEARCHES; kind++) {
            hd_search_opt o = option_of(s, (hd_search_kind)kind);
            o.min_length = 3;
            hd_found *alone[ITEMS];
            for (size_t i = 0; i < ITEMS; i++) alone[i] = search(s, forward + i, 1, o);
            for (o.seats = 1; o.seats < 24; o.seats += 5) {
                hd_found *f = search(s, forward, ITEMS, o);
                for (size_t i = 0; i < ITEMS; i++) assert_same_item(f, i, alone[i], 0);
                hd_found_free(f);
            }
            for (size_t i = 0; i < ITEMS; i++) hd_found_free(alone[i]);
        }
        subject_free(s);
    }
}

static void what_has_left_holds_no_block(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        hd_err err = {0};
        hd_found *f = NULL;
        hd_stepper st;
        subject *s = subject_of((kind_of_model)k, 1, 3);
        hd_search_opt o = option_of(s, HD_SEARCH_BEAM);
        o.seats = 8;
        if (open_on(&st, s, forward, ITEMS, &err) || hd_search(&f, &s->r, &st, &o, &err))
            fail_msg("%s", err.text);
        hd_cache *c = ((hd_stepping *)st.context)->cache;
        /* two sentences side by side, of one block each, and their hypotheses, of up to two */
        assert_true(c->fixed.blocks <= 4);
        assert_true(c->grow.blocks <= 40);
        hd_run_begin(&s->r, HD_INFERENCE);
        assert_int_equal(st.pick(&s->r, st.context, NULL, 0), HD_OK);
        assert_int_equal(hd_pages_held(&c->grow), 0);
        assert_int_equal(hd_pages_held(&c->fixed), 0);
        hd_found_free(f);
        hd_stepper_release(&st);
        subject_free(s);
    }
}

static hd_status search_once(subject *s, const hd_search_opt *o, hd_err *err)
{
    hd_run r = {0};
    hd_stepper st = {0};
    hd_found *f = NULL;
    hd_status status = hd_run_init(&r, s->backend, err);
    if (!status)
        status = s->t ? hd_encdec_prepare(s->t, HD_DECODING, err) : hd_gpt_prepare(s->g, HD_DECODING, err);
    if (!status) status = open_on(&st, s, forward, 3, err);
    hd_search_opt few = *o;
    few.seats = 6; /* one of the three sentences joins later */
    if (!status) status = hd_search(&f, &r, &st, &few, err);
    hd_found_free(f);
    hd_stepper_release(&st);
    if (s->t)
        hd_encdec_prepare(s->t, HD_TRAINING, NULL);
    else
        hd_gpt_prepare(s->g, HD_TRAINING, NULL);
    hd_run_release(&r);
    return status;
}

static void memory_that_runs_out_is_an_error_and_nothing_leaks(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        subject *s = subject_of((kind_of_model)k, 1, 3);
        for (int kind = HD_SEARCH_GREEDY; kind <= HD_SEARCH_SAMPLE; kind++) {
            hd_err err = {0};
            hd_search_opt o = option_of(s, (hd_search_kind)kind);
            o.max_length = 5;
            assert_int_equal(search_once(s, &o, &err), HD_OK);
            size_t calls = hd_mem_now().calls, blocks = hd_mem_now().blocks, failed = 0;
            assert_int_equal(search_once(s, &o, &err), HD_OK);
            calls = hd_mem_now().calls - calls;
            for (size_t n = 1; n <= calls; n++) {
                err = (hd_err){0};
                hd_mem_fail_at(n);
                hd_status st = search_once(s, &o, &err);
                hd_mem_fail_at(0);
                if (st != HD_OK && (st != HD_ENOMEM || err.status != HD_ENOMEM))
                    fail_msg("allocation %zu of %zu: %s", n, calls, err.text);
                failed += st == HD_ENOMEM;
                assert_int_equal(hd_mem_now().blocks, blocks);
            }
            print_message("%-10s %zu of %zu allocations\n", hd_search_names[kind], failed, calls);
            assert_true(failed > calls / 2);
        }
        subject_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cached_steps_give_the_log_probabilities_of_the_whole_forward),
        cmocka_unit_test(a_beam_of_one_equals_greedy),
        cmocka_unit_test(greedy_search_without_scores_finds_the_same),
        cmocka_unit_test(a_sentence_has_the_same_bits_in_any_batch_on_any_number_of_threads),
        cmocka_unit_test(hypotheses_share_the_rows_of_their_source),
        cmocka_unit_test(sources_are_encoded_once),
        cmocka_unit_test(siblings_share_the_context_of_their_parent),
        cmocka_unit_test(prepared_weights_give_the_same_log_probabilities),
        cmocka_unit_test(a_trained_model_says_what_it_learned),
        cmocka_unit_test(steppers_refuse_what_they_cannot_read),
        cmocka_unit_test(the_models_positions_are_a_limit),
        cmocka_unit_test(sentences_that_join_a_running_batch_are_searched_as_alone),
        cmocka_unit_test(what_has_left_holds_no_block),
        cmocka_unit_test(memory_that_runs_out_is_an_error_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
