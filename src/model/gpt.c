/* The decoder-only Transformer. GPT-2 keeps its weights [in, out] and q, k, v side by side in one tensor,
 * which is how heed holds them in memory anyway. */
#include "model/gpt.h"

#include <stdio.h>

#include "base/mem.h"

static const hd_init NORMAL = {HD_INIT_NORMAL, 0.02f, 0}, ZERO = {HD_INIT_ZERO, 0, 0};

static hd_mha attention_at(hd_gpt *m, int layer)
{
    const hd_gpt_opt *o = &m->opt;
    hd_mha a = {.heads = o->heads,
                .kv_heads = o->heads,
                .head_width = o->width / (size_t)o->heads,
                .dropout = o->attention_dropout};
    char name[64];
    a.qkv = hd_param_add(&m->params, 3 * o->width, o->width, NORMAL, "h.%d.attn.c_attn.weight", layer);
    if (a.qkv) a.qkv->transposed = true;
    a.qkv_bias = hd_param_add(&m->params, 3 * o->width, 0, ZERO, "h.%d.attn.c_attn.bias", layer);
    snprintf(name, sizeof name, "h.%d.attn.c_proj", layer);
    a.out = hd_dense_make(&m->params, o->width, o->width, &(hd_dense_opt){.init = NORMAL, .transposed = true},
                          name);
    return a;
}

static void make_block(hd_gpt *m, hd_block *b, int layer)
{
    const hd_gpt_opt *o = &m->opt;
    hd_dense_opt dense = {.init = NORMAL, .transposed = true};
    char name[64];
    snprintf(name, sizeof name, "h.%d.ln_1", layer);
    b->norm[0] = hd_norm_make(&m->params, o->width, o->eps, false, HD_AFFINE, name);
    b->self = attention_at(m, layer);
    snprintf(name, sizeof name, "h.%d.ln_2", layer);
    b->norm[2] = hd_norm_make(&m->params, o->width, o->eps, false, HD_AFFINE, name);
    b->ffn.act = o->act;
    snprintf(name, sizeof name, "h.%d.mlp.c_fc", layer);
    b->ffn.in = hd_dense_make(&m->params, o->width, o->inner, &dense, name);
    snprintf(name, sizeof name, "h.%d.mlp.c_proj", layer);
    b->ffn.out = hd_dense_make(&m->params, o->inner, o->width, &dense, name);
}

hd_status hd_gpt_make(hd_gpt **out, hd_backend *backend, const hd_gpt_opt *opt, hd_err *err)
{
    if (opt->heads < 1 || opt->layers < 1 || !opt->width || opt->width % (size_t)opt->heads || !opt->vocab ||
        !opt->positions)
        return hd_err_set(
            err, HD_EARG,
            "gpt: %d layers, %d heads, width %zu, vocabulary %zu, %zu positions do not make a model",
            opt->layers, opt->heads, opt->width, opt->vocab, opt->positions);
    hd_gpt *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    m->opt = *opt;
    m->opt.frozen = (hd_frozen){0}; /* borrowed for this call */
    if (!m->opt.inner) m->opt.inner = 4 * opt->width;
    hd_params_init(&m->params, backend);
    m->params.prefix = "transformer.";
    m->block = hd_mem_array((size_t)opt->layers, sizeof *m->block);
    hd_status s = m->block ? HD_OK : hd_err_nomem(err, sizeof *m->block);
    m->embedding = (hd_embedding){.scale = 1, .dropout = opt->embedding_dropout};
    m->embedding.table = hd_param_add(&m->params, opt->vocab, opt->width, NORMAL, "wte.weight");
    m->embedding.position = hd_param_add(&m->params, opt->positions, opt->width, NORMAL, "wpe.weight");
    m->head = opt->untied ? hd_param_add(&m->params, opt->vocab, opt->width, NORMAL, "lm_head.weight")
                          : m->embedding.table;
    if (!opt->untied) hd_param_alias(&m->params, m->embedding.table, "lm_head.weight");
    for (int l = 0; !s && l < opt->layers; l++) make_block(m, &m->block[l], l);
    if (!opt->post_norm) m->last = hd_norm_make(&m->params, opt->width, opt->eps, false, HD_AFFINE, "ln_f");
    if (!s) s = hd_params_freeze(&m->params, opt->frozen, err);
    if (s)
        hd_gpt_free(m);
    else
        *out = m;
    return s;
}

hd_status hd_gpt_new(hd_gpt **out, hd_backend *backend, const hd_gpt_opt *opt, bool training, hd_err *err)
{
    hd_gpt *m = NULL;
    hd_status s = hd_gpt_make(&m, backend, opt, err);
    if (!s) s = hd_params_ready(&m->params, training, err);
    if (s)
        hd_gpt_free(m);
    else
        *out = m;
    return s;
}

void hd_gpt_free(hd_gpt *m)
{
    if (!m) return;
    hd_params_release(&m->params);
    hd_mem_free(m->block);
    hd_mem_free(m);
}

hd_status hd_gpt_cache(hd_cache **out, const hd_gpt *m, size_t items, hd_err *err)
{
    size_t layers = (size_t)m->opt.layers;
    hd_slot_kind *kinds = hd_mem_array(layers, sizeof *kinds);
    if (!kinds) return hd_err_nomem(err, layers * sizeof *kinds);
    for (size_t l = 0; l < layers; l++) kinds[l] = HD_GROW;
    hd_status s = hd_cache_new(out, kinds, layers, items, err);
    hd_mem_free(kinds);
    return s;
}

static hd_rows run_blocks(hd_run *r, const hd_gpt *m, int layers, const int32_t *ids, const hd_seg *seg,
                          hd_cache *cache)
{
    hd_stream s = {.pre = !m->opt.post_norm, .dropout = m->opt.dropout};
    s.x = hd_embedding_of(r, &m->embedding, ids, hd_cache_positions(r, cache, seg), seg);
    for (int l = 0; l < layers; l++) {
        hd_probe_enter(r, "%d", l);
        hd_block_of(r, &m->block[l], &s, (hd_rows){0}, HD_CAUSAL, hd_cache_slot(cache, (size_t)l), NULL);
        hd_probe_leave(r);
    }
    return hd_stream_end(r, &s, layers == m->opt.layers ? &m->last : NULL);
}

hd_rows hd_gpt_forward(hd_run *r, const hd_gpt *m, const int32_t *ids, const hd_seg *seg, hd_cache *cache)
{
    return run_blocks(r, m, m->opt.layers, ids, seg, cache);
}

hd_rows hd_gpt_behind(hd_run *r, const hd_gpt *m, int layers, const int32_t *ids, const hd_seg *seg)
{
    return run_blocks(r, m, layers, ids, seg, NULL);
}

hd_tensor *hd_gpt_logits(hd_run *r, const hd_gpt *m, hd_rows x)
{
    return hd_probe_offer(r, "logits", hd_linear(r, x.t, &m->head->t, NULL, HD_IDENTITY), x.seg);
}

hd_tensor *hd_gpt_loss(hd_run *r, const hd_gpt *m, hd_rows x, const int32_t *target, const hd_loss_opt *opt)
{
    return hd_linear_cross_entropy(r, x.t, &m->head->t, NULL, target, opt);
}

double hd_gpt_flops(const hd_gpt_opt *o, size_t sequences, size_t length)
{
    double rows = (double)sequences * (double)length, d = (double)o->width,
           f = (double)(o->inner ? o->inner : 4 * o->width);
    return rows * (o->layers * (4 * d * d + 2 * d * f + 2 * (double)length * d) + d * (double)o->vocab) * 2;
}
