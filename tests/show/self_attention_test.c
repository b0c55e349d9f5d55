/* Attention of models of one side: weights against the softmax of their own queries and keys, causal where
   the model is, with the names of tokens; and what has none or cannot be read is refused. */
#include "check.h"

#include "base/mem.h"
#include "model/bert_toy.h"
#include "model/lm_toy.h"
#include "show/attention.h"
#include "task/masked/masked.h"
#include "task/speaker.h"

enum { TOKENS = 7, WIDEST = 16 };

static const int32_t text[TOKENS] = {2, 7, 16, 9, 11, 5, 3}, words[TOKENS] = {3, 7, 4, 9, 4, 10, 6};

static hd_attention_ask ask_bert(size_t count)
{
    return (hd_attention_ask){.source = text, .sources = count, .score = (double)NAN};
}

static hd_attention_ask ask_lm(size_t count)
{
    return (hd_attention_ask){.target = words, .targets = count};
}

static hd_attention_maps collect(hd_run *r, const hd_model *m, const hd_attention_ask *ask)
{
    hd_err err = {0};
    hd_attention_maps a;
    if (hd_attention_collect(&a, r, m, ask, &err)) fail_msg("%s", err.text);
    return a;
}

/* -- weights -- */

/* Queries and keys of a forward pass of the test's own; the weights they make are compared. */
typedef struct own {
    const hd_attention_part *p;
    size_t width;
    bool causal;
    hd_real q[TOKENS * WIDEST], k[TOKENS * WIDEST];
    double worst;
    size_t layers;
} own;

static void compare(own *o)
{
    size_t d = o->width / o->p->heads;
    for (size_t h = 0; h < o->p->heads; h++)
        for (size_t i = 0; i < TOKENS; i++) {
            double score[TOKENS], sum = 0;
            size_t seen = o->causal ? i + 1 : TOKENS;
            for (size_t j = 0; j < seen; j++) {
                double dot = 0;
                for (size_t c = h * d; c < (h + 1) * d; c++)
                    dot += (double)o->q[i * o->width + c] * (double)o->k[j * o->width + c];
                sum += score[j] = exp(dot / sqrt((double)d));
            }
            for (size_t j = 0; j < seen; j++) {
                double now = (double)hd_attention_at(o->p, o->layers, h)[i * TOKENS + j];
                o->worst = fmax(o->worst, fabs(now - score[j] / sum));
            }
        }
    o->layers++;
}

static void take(void *context, hd_run *r, const hd_offer *offer)
{
    own *o = context;
    const char *last = strrchr(offer->name, '.');
    if (last && !strcmp(last, ".Q")) assert_true(hd_read(r, offer->t, o->q));
    if (!last || strcmp(last, ".K")) return;
    assert_true(hd_read(r, offer->t, o->k));
    compare(o);
}

static void assert_sums(const hd_attention_part *p, bool causal)
{
    for (size_t i = 0; i < p->layers * p->heads * p->rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < p->cols; j++) {
            float v = p->weight[i * p->cols + j];
            if (causal && j > i % p->rows) assert_true(v == 0);
            sum += (double)v;
        }
        assert_true(fabs(sum - 1) < 1e-6); /* seven float32 roundings */
    }
}

static void a_bert_attends_both_ways(void **state)
{
    (void)state;
    bert_toy t;
    hd_bert_opt opt = bt_opt();
    bt_open(&t, &opt, 2);
    hd_run *r = &t.run;
    hd_model who = hd_bert_model(t.m);
    hd_attention_ask ask = ask_bert(TOKENS);
    hd_attention_maps a = collect(r, &who, &ask);
    const hd_attention_part *p = &a.part[HD_ATTENTION_ENCODER];
    assert_int_equal(a.sources, TOKENS);
    assert_int_equal(a.targets, 0);
    assert_true(p->layers == 2 && p->heads == 3 && p->rows == TOKENS && p->cols == TOKENS);
    assert_true(!a.part[HD_ATTENTION_DECODER].layers && !a.part[HD_ATTENTION_CROSS].layers);
    assert_sums(p, false);
    own o = {.p = p, .width = BT_WIDTH};
    const hd_probe probe = {.take = take, .context = &o};
    const int32_t len = TOKENS, type[TOKENS] = {0};
    hd_run_begin(r, HD_INFERENCE);
    r->probe = &probe;
    hd_bert_rows(r, t.m,
                 &(hd_items){.seg = hd_seg_of(r, &len, 1, NULL),
                             .ids = hd_ints(r, text, TOKENS),
                             .type = hd_ints(r, type, TOKENS)});
    r->probe = NULL;
    assert_run_ok(r);
    assert_int_equal(o.layers, 2);
    assert_true(o.worst < 2e-6); /* float32 scores of 4 terms against double */
    ask.second = 4;
    hd_attention_maps pair = collect(r, &who, &ask);
    assert_sums(&pair.part[HD_ATTENTION_ENCODER], false);
    assert_memory_not_equal(pair.part[HD_ATTENTION_ENCODER].weight, p->weight,
                            TOKENS * TOKENS * sizeof *p->weight);
    hd_attention_release(&pair);
    hd_attention_release(&a);
    bt_close(&t);
}

static void a_gpt_attends_to_what_came_before(void **state)
{
    (void)state;
    for (int post = 0; post < 2; post++) {
        lm_toy t;
        hd_lm_opt opt = lm_opt(HD_LM_gpt);
        opt.stack.pre_norm = !post;
        lm_open(&t, &opt, 2, false);
        hd_run *r = &t.run;
        hd_model who = hd_lm_model(t.m);
        hd_attention_ask ask = ask_lm(TOKENS), less = ask_lm(TOKENS - 2);
        hd_attention_maps a = collect(r, &who, &ask), first = collect(r, &who, &less);
        const hd_attention_part *p = &a.part[HD_ATTENTION_DECODER], *q = &first.part[HD_ATTENTION_DECODER];
        assert_true(!a.sources && a.targets == TOKENS);
        assert_true(p->layers == 2 && p->heads == 2 && p->rows == TOKENS && p->cols == TOKENS);
        assert_sums(p, true);
        own o = {.p = p, .width = 16, .causal = true};
        const hd_probe probe = {.take = take, .context = &o};
        const int32_t len = TOKENS;
        hd_run_begin(r, HD_INFERENCE);
        r->probe = &probe;
        const hd_model lm = hd_lm_model(t.m);
        hd_model_rows(r, &lm,
                      &(hd_items){.seg = hd_seg_of(r, &len, 1, NULL), .ids = hd_ints(r, words, TOKENS)});
        r->probe = NULL;
        assert_run_ok(r);
        assert_int_equal(o.layers, 2);
        assert_true(o.worst < 2e-6);
        for (size_t i = 0; i < q->rows; i++) /* what comes later changes nothing before it */
            for (size_t j = 0; j < q->cols; j++)
                assert_true(fabsf(hd_attention_at(q, 1, 1)[i * q->cols + j] -
                                  hd_attention_at(p, 1, 1)[i * p->cols + j]) < 1e-6f);
        hd_attention_release(&first);
        hd_attention_release(&a);
        lm_close(&t);
    }
}

/* -- names and picks -- */

static void rows_have_the_names_of_tokens(void **state)
{
    (void)state;
    hd_err err = {0};
    bert_toy t;
    hd_bert_opt opt = bt_opt();
    bt_open(&t, &opt, 1);
    hd_model_folder *l = speaker(t.backend, HD_LM_gpt, HD_TOKENIZER_words);
    const int32_t mask = hd_masked_id(l->tokenizer[0]), ids[3] = {2, 4, 3};
    assert_string_equal(hd_masked_piece(l->tokenizer[0], mask), "[MASK]");
    assert_null(hd_masked_piece(l->tokenizer[0], mask + 1));
    hd_attention_ask ask = {
        .source = ids, .sources = 3, .source_pieces = l->tokenizer[0], .score = (double)NAN};
    hd_attention_maps a = collect(&t.run, (const hd_model[]){hd_bert_model(t.m)}, &ask);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(a.source[i].piece, hd_tokenizer_piece(l->tokenizer[0], ids[i]));
    hd_attention_map map;
    if (hd_attention_map_of(&map, &a, &(hd_attention_pick){0}, &err)) fail_msg("%s", err.text);
    assert_true(map.alone && map.kind == HD_ATTENTION_ENCODER && map.layer == 2 && map.row == a.source);
    hd_attention_map_release(&map);
    hd_attention_release(&a);
    ask = (hd_attention_ask){.target = ids, .targets = 3, .target_pieces = l->tokenizer[0]};
    a = collect(&t.run, (const hd_model[]){l->model}, &ask);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(a.input[i].piece, hd_tokenizer_piece(l->tokenizer[0], ids[i]));
    assert_null(a.output[2].piece);
    if (hd_attention_map_of(&map, &a, &(hd_attention_pick){0}, &err)) fail_msg("%s", err.text);
    assert_true(map.kind == HD_ATTENTION_DECODER && map.col == a.input);
    hd_attention_map_release(&map);
    hd_attention_release(&a);
    folder_free(l);
    bt_close(&t);
}

static void what_cannot_be_read_or_picked_is_refused(void **state)
{
    (void)state;
    static const int32_t many[50] = {0}, wrong[] = {3, 99};
    bert_toy b;
    lm_toy g, s;
    hd_bert_opt bert = bt_opt();
    hd_lm_opt gpt = lm_opt(HD_LM_gpt), lstm = lm_opt(HD_LM_lstm);
    bt_open(&b, &bert, 1), lm_open(&g, &gpt, 1, false), lm_open(&s, &lstm, 1, false);
    const struct {
        hd_model who;
        hd_attention_ask ask;
        hd_status status;
        const char *says;
    } cases[] = {
        {hd_bert_model(b.m),
         {.source = many, .sources = 10},
         HD_ELIMIT,
         "the text has 10 tokens, the model takes 9"},
        {hd_bert_model(b.m), {.source = wrong, .sources = 2}, HD_EARG, "token 2 of the text is 99"},
        {hd_bert_model(b.m), {.source = many, .sources = 0}, HD_EARG, "the text has no token"},
        {hd_lm_model(g.m),
         {.target = many, .targets = 49},
         HD_ELIMIT,
         "the text has 49 tokens, the model takes 48"},
        {hd_lm_model(g.m), {.target = wrong, .targets = 2}, HD_EARG, "token 2 of the text is 99"},
        {hd_lm_model(s.m),
         {.target = many, .targets = 2},
         HD_EARG,
         "of kind lstm has no attention: use a gpt"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_attention_maps a;
        assert_int_equal(hd_attention_collect(&a, &b.run, &cases[i].who, &cases[i].ask, &err),
                         cases[i].status);
        if (!strstr(err.text, cases[i].says)) fail_msg("case %zu: %s", i, err.text);
        assert_null(a.source);
    }
    const struct {
        hd_model who;
        hd_attention_pick pick;
        const char *says; /* NULL: it is there */
    } picks[] = {{hd_bert_model(b.m), {0, 2, 3}, NULL},
                 {hd_bert_model(b.m), {0, 3, 0}, "no layer 3 in encoder self-attention: they are 1 to 2"},
                 {hd_bert_model(b.m), {3, 0, 0}, "the model has no cross-attention"},
                 {hd_lm_model(g.m), {2, 2, 2}, NULL},
                 {hd_lm_model(g.m), {0, 0, 3}, "no head 3 in decoder self-attention: they are 1 to 2"},
                 {hd_lm_model(s.m), {0, 0, 0}, "of kind lstm has no attention"}};
    for (size_t i = 0; i < COUNT_OF(picks); i++) {
        hd_err err = {0};
        hd_status st = hd_attention_check(&picks[i].who, &picks[i].pick, &err);
        assert_int_equal(st, picks[i].says ? HD_EARG : HD_OK);
        if (picks[i].says && !strstr(err.text, picks[i].says)) fail_msg("pick %zu: %s", i, err.text);
    }
    bt_close(&b), lm_close(&g), lm_close(&s);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    bert_toy t;
    hd_bert_opt opt = bt_opt();
    bt_open(&t, &opt, 1);
    hd_attention_ask ask = ask_bert(TOKENS);
    hd_attention_maps a = collect(&t.run, (const hd_model[]){hd_bert_model(t.m)}, &ask);
    hd_attention_release(&a);
    size_t blocks = hd_mem_now().blocks, reported = 0, n = 0;
    for (size_t calls = n; calls >= n;) {
        hd_err err = {0};
        size_t before = hd_mem_now().calls;
        hd_mem_fail_at(++n);
        hd_status st = hd_attention_collect(&a, &t.run, (const hd_model[]){hd_bert_model(t.m)}, &ask, &err);
        hd_mem_fail_at(0);
        calls = hd_mem_now().calls - before;
        if (st && (st != HD_ENOMEM || !*err.text)) fail_msg("allocation %zu: %s", n, err.text);
        reported += st == HD_ENOMEM;
        hd_attention_release(&a);
        assert_true(hd_mem_now().blocks <= blocks + 2); /* the run may keep its arenas in more chunks */
    }
    assert_true(reported >= 1); /* the maps are one block */
    bt_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bert_attends_both_ways),
        cmocka_unit_test(a_gpt_attends_to_what_came_before),
        cmocka_unit_test(rows_have_the_names_of_tokens),
        cmocka_unit_test(what_cannot_be_read_or_picked_is_refused),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
