/* Search on the device: the sentences of the cpu in f32, and the same bits whatever was searched before on
   the same run. Decoding steps are captured; easy to get wrong is which of them is which once hypotheses
   leave the batch, caches grow and memory is given back and taken anew, so limits are chosen to make these
   things meet: some sentences end just where the cache is full. */
#include "decode/babble.h"
#include "device.h"
#include "model/toy.h"

enum { V = TOY_VOCAB, POSITIONS = 192, MOST = 48, START = TOY_BEGIN, END = 5 };

typedef enum kind_of_model { POST_NORM, PRE_NORM, GPT, KINDS } kind_of_model;
static const char *const kind_names[] = {"post-norm", "pre-norm", "gpt"};

typedef struct subject {
    hd_backend *backend;
    hd_run r;
    hd_encdec *t; /* one of the two */
    hd_gpt *g;
} subject;

/* GPT's weights are small: so that its words differ, its table is made larger. */
static void widen(hd_params *p, hd_param *table)
{
    size_t n = hd_count_of(&table->t);
    hd_real *x = malloc(n * sizeof *x);
    hd_params_get(p, table, &table->t, x);
    for (size_t i = 0; i < n; i++) x[i] *= 20;
    hd_params_set(p, table, x);
    free(x);
}

/* Takes the backend over. */
static void subject_open(subject *s, kind_of_model k, hd_backend *b)
{
    *s = (subject){.backend = b, .r = run_on(b)};
    hd_encdec_opt o = toy_opt();
    hd_gpt_opt g = toy_gpt_opt();
    o.stack.pre_norm = k == PRE_NORM, o.positions = g.positions = POSITIONS;
    if (k == GPT)
        s->g = toy_gpt(b, &g, false);
    else
        s->t = toy_transformer(b, &o, false);
    stir(s->t ? &s->t->params : &s->g->params);
    if (s->g) widen(&s->g->params, s->g->front.table);
}

static void subject_close(subject *s)
{
    hd_encdec_free(s->t);
    hd_gpt_free(s->g);
    hd_run_release(&s->r);
    hd_backend_free(s->backend);
}

/* -- what is searched for -- */

/* Lengths of sources or prompts. The limits are theirs times `ratio`: the cache has room for 32 rows at
   first, then 64, then 128, so they lie around these. */
typedef struct quest {
    const char *name;
    hd_search_kind kind;
    size_t beam, best;
    double ratio;
    int32_t end;
    size_t items;
    int32_t len[MOST];
} quest;

#define LONG_ONES                                                                                          \
    40,                                                                                                    \
    {                                                                                                      \
        1, 2, 31, 32, 33, 34, 63, 64, 65, 66, 3, 4, 5, 6, 7, 8, 9, 10, 70, 12, 30, 29, 61, 62, 67, 20, 21, \
            22, 40, 45, 50, 55, 60, 1, 1, 31, 32, 33, 64, 65                                               \
    }
#define SHORT_ONES                                                             \
    24,                                                                        \
    {                                                                          \
        1, 2, 3, 4, 5, 6, 7, 8, 3, 3, 4, 4, 1, 1, 8, 8, 7, 6, 5, 4, 3, 2, 1, 8 \
    }

static const quest quests[] = {
    {"greedy", HD_SEARCH_GREEDY, 1, 1, 1, -1, LONG_ONES},
    {"beam", HD_SEARCH_BEAM, 4, 4, 1, -1, LONG_ONES},
    {"greedy to the end", HD_SEARCH_GREEDY, 1, 1, 9, END, SHORT_ONES},
    {"beam to the end", HD_SEARCH_BEAM, 3, 2, 9, END, SHORT_ONES},
    {"beam of one sentence", HD_SEARCH_BEAM, 5, 5, 10, -1, 1, {8}},
    {"greedy of one sentence", HD_SEARCH_GREEDY, 1, 1, 10, -1, 1, {7}},
    {"beam of five", HD_SEARCH_BEAM, 4, 1, 11, END, 5, {3, 6, 1, 6, 2}},
    {"samples", HD_SEARCH_SAMPLE, 1, 3, 9, END, SHORT_ONES},
};
enum { QUESTS = COUNT_OF(quests) };

static hd_found *search(subject *s, hd_run *r, const quest *q)
{
    hd_err err = {0};
    hd_stepper st = {0};
    hd_found *f = NULL;
    int32_t ids[MOST * 80];
    size_t rows = 0;
    hd_rng rng = hd_rng_make(11, q->items);
    for (size_t i = 0; i < q->items; i++)
        for (int32_t j = 0; j < q->len[i]; j++) ids[rows++] = (int32_t)hd_rng_below(&rng, V);
    hd_search_opt o = {.kind = q->kind,
                       .end = q->end,
                       .max_ratio = q->ratio,
                       .beam = q->beam,
                       .best = q->best,
                       .temperature = 1,
                       .seed = 8,
                       .length = {HD_LENGTH_GNMT, .alpha = 0.6}};
    hd_status e = s->t ? hd_encdec_stepper(&st, s->t, ids, q->len, q->items, START, &err)
                       : hd_gpt_stepper(&st, s->g, ids, q->len, q->items, &err);
    if (e || hd_search(&f, r, &st, &o, &err)) fail_msg("%s: %s", q->name, err.text);
    hd_stepper_release(&st);
    assert_sound(f, &o);
    assert_string_equal(r->backend->error, "");
    return f;
}

/* On a run and a backend of its own, with the subject's model: nothing was captured before. */
static hd_found *search_afresh(subject *s, const quest *q)
{
    hd_err err = {0};
    hd_backend *b = NULL;
    if (hd_backend_again(&b, s->backend, 0, &err)) fail_msg("%s", err.text);
    if (s->backend->capture && !b->capture) recorder_attach(b);
    hd_run r = run_on(b);
    hd_found *f = search(s, &r, q);
    hd_run_release(&r);
    hd_backend_free(b);
    return f;
}

/* -- comparing -- */

/* Two log-probabilities within rounding of each other. */
#define ROUNDING 1e-4

/* Where a and b part, both took what each thought the likeliest of a tie. Greedy search knows of no other
   reason; a beam's hypotheses may also have been cut for a tie, which their scores tell. */
static bool tied(const hd_guess *a, const hd_guess *b)
{
    size_t i = 0;
    while (i < a->length && i < b->length && a->ids[i] == b->ids[i]) i++;
    return i < a->length && i < b->length && fabs((double)a->logp[i] - (double)b->logp[i]) <= ROUNDING;
}

static void assert_same_sentences(const quest *q, const hd_found *cpu, const hd_found *f)
{
    size_t apart = 0;
    double worst = 0;
    assert_int_equal(cpu->items, f->items);
    for (size_t i = 0; i < f->items; i++) {
        size_t n = hd_found_count(cpu, i);
        if (n != hd_found_count(f, i))
            fail_msg("%s %zu: %zu guesses, expected %zu", q->name, i, hd_found_count(f, i), n);
        for (size_t k = 0; k < n; k++) {
            const hd_guess *a = &hd_found_at(cpu, i)[k], *b = &hd_found_at(f, i)[k];
            bool same = a->length == b->length && !memcmp(a->ids, b->ids, a->length * sizeof *a->ids);
            for (size_t t = 0; same && t < a->length; t++)
                worst = fmax(worst, fabs((double)a->logp[t] - (double)b->logp[t]));
            if (same) continue;
            bool tie = q->beam > 1 ? fabs(a->score - b->score) <= ROUNDING : tied(a, b);
            if (!tie && q->kind != HD_SEARCH_SAMPLE)
                fail_msg("%s: guess %zu of sentence %zu is another than the cpu's: scores %.7g, %.7g",
                         q->name, k, i, b->score, a->score);
            apart++;
        }
    }
    print_message("%-24s %4zu guesses, %zu apart for a tie; log-probabilities off by %.1e\n", q->name,
                  f->guesses, apart, worst);
    assert_true(worst <= ROUNDING);
    assert_true(apart <= 1 + f->guesses / 50);
}

static size_t longest(const hd_found *f)
{
    size_t n = 0;
    for (size_t k = 0; k < f->guesses; k++)
        if (f->guess[k].length > n) n = f->guess[k].length;
    return n;
}

/* -- the tests -- */

static void sentences_are_those_of_the_cpu(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        subject here, there;
        print_message("%s\n", kind_names[k]);
        subject_open(&here, (kind_of_model)k, backend_of("cpu", 2));
        subject_open(&there, (kind_of_model)k, device_new(HD_PRECISION_F32));
        for (size_t i = 0; i < QUESTS; i++) {
            hd_found *a = search(&here, &here.r, &quests[i]), *b = search(&there, &there.r, &quests[i]);
            assert_same_sentences(&quests[i], a, b);
            if (quests[i].end < 0) assert_true(longest(b) > 66);
            hd_found_free(a), hd_found_free(b);
        }
        subject_close(&here), subject_close(&there);
    }
}

/* Round after round in another order: what was captured for one search must not be taken for another's. */
static void a_search_has_the_same_bits_whatever_was_searched_before(void **state)
{
    (void)state;
    static const size_t orders[][QUESTS] = {{0, 1, 2, 3, 4, 5, 6, 7},
                                            {7, 6, 5, 4, 3, 2, 1, 0},
                                            {1, 1, 0, 0, 3, 2, 3, 2},
                                            {4, 0, 6, 1, 5, 7, 4, 1}};
    for (const hd_precision *p = device_precisions(); *p; p++)
        for (int k = 0; k < KINDS; k++) {
            subject s;
            hd_found *fresh[QUESTS];
            subject_open(&s, (kind_of_model)k, device_new(*p));
            for (size_t i = 0; i < QUESTS; i++) fresh[i] = search_afresh(&s, &quests[i]);
            device_count_replays(s.backend);
            device_replays();
            for (size_t n = 0; n < COUNT_OF(orders); n++) {
                for (size_t i = 0; i < QUESTS; i++) {
                    size_t which = orders[n][i];
                    hd_found *f = search(&s, &s.r, &quests[which]);
                    for (size_t j = 0; j < f->items; j++)
                        for (size_t g = 0; g < hd_found_count(f, j); g++)
                            if (!same_guess(&hd_found_at(f, j)[g], &hd_found_at(fresh[which], j)[g]))
                                fail_msg("%s, %s in round %zu after %zu others: sentence %zu is another than "
                                         "afresh",
                                         kind_names[k], quests[which].name, n, i, j);
                    assert_same_found(f, fresh[which]);
                    hd_found_free(f);
                }
                size_t replayed = device_replays();
                print_message("%s, round %zu: %zu steps replayed\n", kind_names[k], n, replayed);
                if (s.backend->capture) assert_true(replayed > 100);
            }
            for (size_t i = 0; i < QUESTS; i++) hd_found_free(fresh[i]);
            subject_close(&s);
        }
}

/* Two models on one run in turn: captures know whose they are. The second has other weights. */
static void models_on_one_run_keep_apart(void **state)
{
    (void)state;
    hd_err err = {0};
    subject s, other;
    subject_open(&s, POST_NORM, device_new(HD_PRECISION_F32));
    other = s;
    hd_encdec_opt o = s.t->opt;
    other.t = toy_transformer(s.backend, &o, false);
    if (hd_params_draw(&other.t->params, 2, &err)) fail_msg("%s", err.text);
    stir(&other.t->params);
    for (size_t i = 1; i < 4; i++) {
        hd_found *a = search_afresh(&s, &quests[i]), *b = search_afresh(&other, &quests[i]);
        assert_false(same_guess(&a->guess[5], &b->guess[5]));
        for (int n = 0; n < 3; n++) {
            hd_found *x = search(&s, &s.r, &quests[i]), *y = search(&other, &s.r, &quests[i]);
            assert_same_found(x, a), assert_same_found(y, b);
            hd_found_free(x), hd_found_free(y);
        }
        hd_found_free(a), hd_found_free(b);
    }
    hd_encdec_free(other.t);
    subject_close(&s);
}

/* A captured step reads the weights where they are: new ones of the same model are obeyed. */
static void new_weights_are_obeyed(void **state)
{
    (void)state;
    hd_err err = {0};
    subject s;
    subject_open(&s, PRE_NORM, device_new(HD_PRECISION_F32));
    for (uint64_t seed = 1; seed <= 3; seed++) {
        if (hd_params_draw(&s.t->params, seed, &err)) fail_msg("%s", err.text);
        stir(&s.t->params);
        hd_found *fresh = search_afresh(&s, &quests[1]);
        for (int n = 0; n < 2; n++) {
            hd_found *f = search(&s, &s.r, &quests[1]);
            assert_same_found(f, fresh);
            hd_found_free(f);
        }
        hd_found_free(fresh);
    }
    subject_close(&s);
}

int main(void)
{
    if (device_missing()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_are_those_of_the_cpu),
        cmocka_unit_test(a_search_has_the_same_bits_whatever_was_searched_before),
        cmocka_unit_test(models_on_one_run_keep_apart),
        cmocka_unit_test(new_weights_are_obeyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
