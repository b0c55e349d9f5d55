/* Where dropout stands in a Transformer. The loss of a training step is computed again here, op by op, with a
   draw at each place where the papers have one; masks depend on how many ops drew before, so a draw that is
   missing, at another place or of another rate gives another loss. Each option is on by itself, then all of
   them. */
#include "model/toy.h"

typedef struct rates {
    float embedding, branch, weights, inner;
} rates;

static hd_tensor *value(hd_param *p)
{
    return p ? &p->t : NULL;
}

static hd_tensor *dense(hd_run *r, const hd_dense *d, hd_tensor *x)
{
    return hd_linear(r, x, value(d->w), value(d->b), HD_IDENTITY);
}

static hd_tensor *normed(hd_run *r, const hd_norm_layer *n, hd_tensor *x, const hd_seg *seg)
{
    return hd_norm(r, x, value(n->gain), value(n->bias), &(hd_norm_opt){.eps = n->eps, .seg = seg});
}

static hd_rows embedded(hd_run *r, const hd_front *e, const int32_t *ids, const hd_seg *seg, float p)
{
    hd_tensor *x = hd_embed(r, value(e->table), ids, seg->rows, e->scale);
    x = hd_add(r, x, hd_gather(r, value(e->position), seg->pos, seg->rows, 1));
    return (hd_rows){hd_dropout(r, x, p, seg), seg};
}

static hd_tensor *attended(hd_run *r, const hd_mha *m, hd_rows x, hd_rows memory, hd_mask mask, float p)
{
    size_t c = (size_t)m->heads * m->head_width;
    hd_tensor *of_x = hd_linear(r, x.t, value(m->qkv), value(m->qkv_bias), HD_IDENTITY),
              *of_memory = memory.t == x.t
                               ? of_x
                               : hd_linear(r, memory.t, value(m->qkv), value(m->qkv_bias), HD_IDENTITY);
    hd_rows q = {hd_slice_cols(r, of_x, 0, c), x.seg}, k = {hd_slice_cols(r, of_memory, c, c), memory.seg},
            v = {hd_slice_cols(r, of_memory, 2 * c, c), memory.seg};
    hd_attend_opt o = {.heads = m->heads, .mask = mask, .dropout = p};
    return dense(r, &m->out, hd_attend(r, q, k, v, &o).t);
}

static hd_tensor *fed_forward(hd_run *r, const hd_ffn *f, hd_rows x, float p)
{
    hd_tensor *h = hd_dropout(r, hd_apply(r, dense(r, &f->in, x.t), f->act), p, x.seg);
    return dense(r, &f->out, h);
}

/* One block. Post-norm: x = norm(x + dropout(f(x))); pre-norm: x = x + dropout(f(norm(x))). */
static hd_rows block_by_hand(hd_run *r, const hd_block *b, hd_rows x, hd_rows memory, hd_mask mask, bool pre,
                             const rates *p)
{
    for (int i = 0; i < 3; i++) {
        if (i == 1 && !b->has_cross) continue;
        hd_rows in = pre ? hd_rows_with(x, normed(r, &b->norm[i], x.t, x.seg)) : x;
        hd_tensor *y = i == 0   ? attended(r, &b->self, in, in, mask, p->weights)
                       : i == 1 ? attended(r, &b->cross, in, memory, HD_FULL, p->weights)
                                : fed_forward(r, &b->ffn, in, p->inner);
        x.t = hd_add(r, x.t, hd_dropout(r, y, p->branch, x.seg));
        if (!pre) x.t = normed(r, &b->norm[i], x.t, x.seg);
    }
    return x;
}

static hd_rows stack_by_hand(hd_run *r, const hd_stack *k, hd_rows x, hd_rows memory, hd_mask mask,
                             const rates *p)
{
    for (int l = 0; l < k->opt.layers; l++)
        x = block_by_hand(r, &k->block[l], x, memory, mask, k->opt.pre_norm, p);
    return k->opt.pre_norm ? hd_rows_with(x, normed(r, &k->last, x.t, x.seg)) : x;
}

static double loss_by_hand(toy *m, const toy_batch *b, const rates *p)
{
    hd_run *r = &m->run;
    hd_run_begin(r, HD_TRAIN);
    hd_rows memory = {0}, x;
    hd_seg *seg = NULL;
    if (m->t) {
        seg = hd_seg_of(r, b->source_len, b->items, b->key);
        memory = embedded(r, &m->t->encoder.front, hd_ints(r, b->source, b->source_rows), seg, p->embedding);
        memory = stack_by_hand(r, &m->t->encoder.stage[0].stack, memory, memory, HD_FULL, p);
    }
    seg = hd_seg_of(r, b->target_len, b->items, b->key);
    x = embedded(r, m->t ? &m->t->target : &m->g->front, hd_ints(r, b->input, b->target_rows), seg,
                 p->embedding);
    x = stack_by_hand(r, m->t ? &m->t->stack[0] : &m->g->stack, x, memory, HD_CAUSAL, p);
    hd_tensor *logits = hd_linear(r, x.t, value(m->t ? m->t->output : m->g->head), NULL, HD_IDENTITY);
    double loss = hd_loss_total(
        r, hd_cross_entropy(r, logits, hd_ints(r, b->target, b->target_rows), &(hd_loss_opt){.coef = 1}));
    assert_run_ok(r);
    return loss;
}

static double loss_of(toy *m, const toy_batch *b)
{
    hd_run_begin(&m->run, HD_TRAIN);
    double loss = hd_loss_total(&m->run, toy_loss(m, b, 0));
    assert_run_ok(&m->run);
    return loss;
}

static const struct {
    const char *name;
    rates p;
} cases[] = {{"none", {0, 0, 0, 0}},
             {"embeddings and branches", {0.3f, 0.3f, 0, 0}},
             {"attention weights", {0, 0, 0.3f, 0}},
             {"hidden layer", {0, 0, 0, 0.3f}},
             {"all", {0.1f, 0.1f, 0.2f, 0.3f}}},
  gpt_cases[] = {{"none", {0, 0, 0, 0}},
                 {"embeddings", {0.3f, 0, 0, 0}},
                 {"branches", {0, 0.3f, 0, 0}},
                 {"attention weights", {0, 0, 0.3f, 0}},
                 {"all", {0.1f, 0.2f, 0.3f, 0}}};

/* Gives the loss; both ways sum float32 numbers in other orders. */
static double compare(toy *m, const toy_batch *b, const char *what, const char *name, const rates *p)
{
    double got = loss_of(m, b), want = loss_by_hand(m, b, p);
    if (!(fabs(got - want) <= 1e-5 * want))
        fail_msg("%s, dropout of %s: %.9g, by hand %.9g", what, name, got, want);
    return want;
}

static void each_place_of_a_translator_draws(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 8);
    for (int pre = 0; pre < 2; pre++) {
        double plain = 0;
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            toy m;
            hd_encdec_opt o = toy_opt();
            o.stack.pre_norm = pre;
            o.stack.dropout = cases[i].p.branch, o.stack.attention_dropout = cases[i].p.weights,
            o.stack.inner_dropout = cases[i].p.inner;
            toy_open(&m, 1, &o, NULL, NULL);
            stir(m.params);
            double loss = compare(&m, &b, pre ? "pre-norm" : "post-norm", cases[i].name, &cases[i].p);
            if (!i) plain = loss;
            if (i && !(fabs(loss - plain) > 1e-3 * plain))
                fail_msg("dropout of %s changes nothing", cases[i].name);
            toy_close(&m);
        }
    }
}

static void each_place_of_a_gpt_draws(void **state)
{
    (void)state;
    const toy_batch b = toy_range(0, 8);
    double plain = 0;
    for (size_t i = 0; i < COUNT_OF(gpt_cases); i++) {
        const rates *p = &gpt_cases[i].p;
        toy m;
        hd_gpt_opt o = toy_gpt_opt();
        o.embedding_dropout = p->embedding, o.stack.dropout = p->branch,
        o.stack.attention_dropout = p->weights;
        toy_open(&m, 1, NULL, &o, NULL);
        stir(m.params);
        double loss = compare(&m, &b, "gpt", gpt_cases[i].name, p);
        if (!i) plain = loss;
        if (i && !(fabs(loss - plain) > 1e-5 * plain))
            fail_msg("dropout of %s changes nothing", gpt_cases[i].name);
        toy_close(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_place_of_a_translator_draws),
                                       cmocka_unit_test(each_place_of_a_gpt_draws)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
