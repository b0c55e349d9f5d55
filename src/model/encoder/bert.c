/* The encoder-only Transformer. Easy to get wrong: the sum of the three embeddings is normalized before its
   dropout, blocks normalize behind their sums, and the head has a layer of its own before the words. */
#include "model/encoder/bert.h"

#include "base/mem.h"

static const hd_init NORMAL = {HD_INIT_NORMAL, 0.02f, 0}, ZERO = {HD_INIT_ZERO, 0, 0};

static size_t embedding_of(const hd_bert_opt *o)
{
    return o->embedding ? o->embedding : o->stack.width;
}

static hd_front make_front(hd_params *p, const hd_bert_opt *o)
{
    return hd_tokens_make(p, &(hd_tokens_opt){.vocab = o->vocab,
                                              .width = embedding_of(o),
                                              .out = o->embedding ? o->stack.width : 0,
                                              .positions = o->positions,
                                              .offset = o->offset,
                                              .types = o->types,
                                              .position = HD_POSITIONS_LEARNED,
                                              .norm = true,
                                              .eps = o->stack.eps,
                                              .dropout = o->stack.dropout,
                                              .init = NORMAL,
                                              .table_name = "bert.embeddings.word_embeddings",
                                              .position_name = "bert.embeddings.position_embeddings",
                                              .types_name = "bert.embeddings.token_type_embeddings",
                                              .norm_name = "bert.embeddings.LayerNorm",
                                              .project_name = "bert.embeddings_project"});
}

static void make_head(hd_bert *m)
{
    const hd_bert_opt *o = &m->opt;
    hd_params *p = &m->params;
    m->transform =
        hd_dense_make(p, o->stack.width, embedding_of(o), &(hd_dense_opt){.init = {HD_INIT_XAVIER, 1, 0}},
                      "cls.predictions.transform.dense");
    m->head = hd_norm_make(p, embedding_of(o), o->stack.eps, false, HD_AFFINE,
                           "cls.predictions.transform.LayerNorm");
    m->bias = hd_param_add(p, o->vocab, 0, ZERO, "cls.predictions.bias");
    hd_param_alias(p, m->front.table, "cls.predictions.decoder.weight");
    hd_param_alias(p, m->bias, "cls.predictions.decoder.bias");
}

static void make_pooler(hd_bert *m)
{
    m->pooler = hd_dense_make(&m->params, m->opt.stack.width, m->opt.stack.width,
                              &(hd_dense_opt){.init = {HD_INIT_XAVIER, 1, 0}}, "bert.pooler.dense");
}

hd_status hd_bert_make(hd_bert **out, hd_backend *backend, const hd_bert_opt *opt, hd_err *err)
{
    const hd_stack_opt *o = &opt->stack;
    if (o->heads < 1 || o->layers < 1 || !o->width || o->width % (size_t)o->heads || !opt->vocab ||
        !opt->positions)
        return hd_err_set(
            err, HD_EARG,
            "bert: %d layers, %d heads, width %zu, vocabulary %zu, %zu positions is not a valid model",
            o->layers, o->heads, o->width, opt->vocab, opt->positions);
    hd_status s = hd_stack_check(o, err);
    if (s) return s;
    if (!(opt->stack.dropout >= 0 && opt->stack.dropout < 1))
        return hd_err_set(err, HD_EARG, "bert: dropout %g is not in [0, 1)", (double)opt->stack.dropout);
    hd_bert *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    m->opt = *opt;
    hd_stack_opt *k = &m->opt.stack;
    if (!k->inner) k->inner = 4 * k->width;
    if (!(k->eps > 0)) k->eps = 1e-12f;
    if (k->act == HD_IDENTITY) k->act = HD_gelu;
    k->attention_dropout = k->dropout, k->name = "bert.encoder", k->names = &hd_stack_bert;
    if (m->opt.no_types)
        m->opt.types = 0;
    else if (!m->opt.types)
        m->opt.types = 2;
    if (m->opt.embedding == k->width) m->opt.embedding = 0;
    if (m->opt.pooler_act == HD_IDENTITY) m->opt.pooler_act = HD_tanh;
    hd_params_init(&m->params, backend);
    m->front = make_front(&m->params, &m->opt);
    s = hd_stack_make(&m->stack, &m->params, k, err);
    if (!s && opt->pooler) make_pooler(m);
    if (!s && !opt->headless) make_head(m);
    if (s)
        hd_bert_free(m);
    else
        *out = m;
    return s;
}

hd_status hd_bert_new(hd_bert **out, hd_backend *backend, const hd_bert_opt *opt, bool training, hd_err *err)
{
    hd_bert *m = NULL;
    hd_status s = hd_bert_make(&m, backend, opt, err);
    if (!s) s = hd_params_ready(&m->params, training, err);
    if (s)
        hd_bert_free(m);
    else
        *out = m;
    return s;
}

void hd_bert_free(hd_bert *m)
{
    if (!m) return;
    hd_stack_release(&m->stack);
    hd_params_release(&m->params);
    hd_mem_free(m);
}

hd_rows hd_bert_rows(hd_run *r, const hd_bert *m, const hd_items *in)
{
    return hd_bert_rows_at_layer(r, m, m->opt.stack.layers, in);
}

hd_rows hd_bert_rows_at_layer(hd_run *r, const hd_bert *m, int layers, const hd_items *in)
{
    hd_probe_enter(r, "enc");
    hd_rows x = hd_front_rows(r, &m->front, in);
    x = hd_stack_rows_at_layer(r, &m->stack, layers, x);
    hd_probe_leave(r);
    return x;
}

hd_tensor *hd_bert_pooled(hd_run *r, const hd_bert *m, hd_rows x)
{
    hd_tensor *y = hd_dense_of(r, &m->pooler, hd_reduce(r, x.t, x.seg, HD_FIRST), m->opt.pooler_act);
    return hd_probe_offer(r, "pooled", y, NULL);
}

/* What the output layer reads of the rows asked for. */
static hd_tensor *asked(hd_run *r, const hd_bert *m, const hd_bert_batch *b)
{
    hd_rows x = hd_bert_rows(r, m, &(hd_items){.seg = b->seg, .ids = b->ids, .type = b->type});
    hd_probe_enter(r, "head");
    hd_tensor *y = hd_probe_offer(r, "asked", hd_gather(r, x.t, b->place, b->count, 1), NULL);
    y = hd_dense_of(r, &m->transform, y, m->opt.stack.act); /* what its norm offers as a sum */
    y = hd_probe_offer(r, "norm", hd_norm_of(r, &m->head, (hd_rows){y, NULL}).t, NULL);
    hd_probe_leave(r);
    return y;
}

hd_tensor *hd_bert_logits(hd_run *r, const hd_bert *m, const hd_bert_batch *b)
{
    hd_tensor *y = hd_linear_output(r, asked(r, m, b), &m->front.table->t, &m->bias->t);
    return hd_probe_offer(r, "logits", y, NULL);
}

hd_tensor *hd_bert_loss(hd_run *r, const hd_bert *m, const hd_bert_batch *b, const hd_loss_opt *opt)
{
    return hd_linear_cross_entropy(r, asked(r, m, b), &m->front.table->t, &m->bias->t, b->target, opt);
}

double hd_bert_flops(const hd_bert *m, double items, double length, double count)
{
    double d = (double)m->opt.stack.width, e = (double)embedding_of(&m->opt),
           project = m->opt.embedding ? items * length * 2 * d * e : 0;
    return hd_stack_flops(&m->stack.opt, items, length, 0) + project +
           count * (2 * d * e + 2 * e * (double)m->opt.vocab);
}
