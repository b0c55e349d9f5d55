/* The Transformer, written as the paper reads. */
#include "model/transformer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static hd_norm_layer norm_at(hd_transformer *m, const char *name)
{
    const hd_transformer_opt *o = &m->opt;
    return hd_norm_make(&m->params, o->width, o->eps, false, o->plain ? HD_PLAIN : HD_AFFINE, name);
}

static hd_mha attention_at(hd_transformer *m, const char *name)
{
    const hd_transformer_opt *o = &m->opt;
    return hd_mha_make(&m->params, &(hd_mha_opt){.width = o->width,
                                                 .heads = o->heads,
                                                 .no_bias = o->plain,
                                                 .dropout = o->attention_dropout,
                                                 .init = {HD_INIT_XAVIER, 1, 0},
                                                 .name = name,
                                                 .query = "q_proj",
                                                 .key = "k_proj",
                                                 .value = "v_proj",
                                                 .out = "out_proj"});
}

static void make_block(hd_transformer *m, hd_block *b, const char *side, int layer, bool cross)
{
    const hd_transformer_opt *o = &m->opt;
    hd_dense_opt dense = {.init = {HD_INIT_XAVIER, 1, 0}};
    char name[160];
#define NAMED(last) (snprintf(name, sizeof name, "model.%s.layers.%d.%s", side, layer, last), name)
    b->has_cross = cross;
    b->self = attention_at(m, NAMED("self_attn"));
    b->norm[0] = norm_at(m, NAMED("self_attn_layer_norm"));
    if (cross) b->cross = attention_at(m, NAMED("encoder_attn"));
    if (cross) b->norm[1] = norm_at(m, NAMED("encoder_attn_layer_norm"));
    b->ffn = (hd_ffn){.act = o->act, .dropout = o->inner_dropout};
    b->ffn.in = hd_dense_make(&m->params, o->width, o->inner, &dense, NAMED("fc1"));
    b->ffn.out = hd_dense_make(&m->params, o->inner, o->width, &dense, NAMED("fc2"));
    b->norm[2] = norm_at(m, NAMED("final_layer_norm"));
#undef NAMED
}

static void make_embeddings(hd_transformer *m)
{
    const hd_transformer_opt *o = &m->opt;
    hd_params *p = &m->params;
    hd_init init = {HD_INIT_NORMAL, (float)(1 / sqrt((double)o->width)), 0};
    hd_param *shared =
        o->tied ? hd_param_add(p, o->source_vocab, o->width, init, "model.shared.weight") : NULL;
    hd_embedding e = {.scale = o->plain ? 1 : (float)sqrt((double)o->width), .dropout = o->dropout};
    if (o->learned_positions)
        m->positions = hd_param_add(p, o->positions, o->width, init, "model.embed_positions.weight");
    else
        m->positions = hd_param_hidden(p, o->positions, o->width, (hd_init){HD_INIT_TABLE, 0, 0});
    e.position = m->positions;
    m->source = m->target = e;
    m->source.table =
        shared ? shared
               : hd_param_add(p, o->source_vocab, o->width, init, "model.encoder.embed_tokens.weight");
    m->target.table =
        shared ? shared
               : hd_param_add(p, o->target_vocab, o->width, init, "model.decoder.embed_tokens.weight");
    m->output = shared ? shared
                       : hd_param_add(p, o->target_vocab, o->width, (hd_init){HD_INIT_XAVIER, 1, 0},
                                      "lm_head.weight");
    static const char *const other_names[] = {"lm_head.weight", "model.encoder.embed_tokens.weight",
                                              "model.decoder.embed_tokens.weight"};
    for (size_t i = 0; shared && i < sizeof other_names / sizeof *other_names; i++)
        hd_param_alias(p, shared, "%s", other_names[i]);
    if (o->output_bias)
        m->output_bias =
            hd_param_add(p, 1, o->target_vocab, (hd_init){HD_INIT_ZERO, 0, 0}, "final_logits_bias");
    if (m->output_bias) m->output_bias->decay = false, m->output_bias->optional = true;
}

static hd_status fill_positions(hd_transformer *m, hd_err *err)
{
    const hd_transformer_opt *o = &m->opt;
    if (o->learned_positions) return HD_OK;
    hd_real *table = hd_mem_array(o->positions * o->width, sizeof *table);
    if (!table) return hd_err_nomem(err, o->positions * o->width * sizeof *table);
    hd_sinusoid_fill(table, o->positions, o->width, &o->sinusoid);
    hd_status s = hd_params_set(&m->params, m->positions, table);
    hd_mem_free(table);
    return s;
}

static hd_status check(const hd_transformer_opt *o, hd_err *err)
{
    if (o->heads < 1 || o->width % (size_t)o->heads)
        return hd_err_set(err, HD_EARG, "a width of %zu cannot be split over %d heads", o->width, o->heads);
    if (!o->width || !o->inner || !o->source_vocab || !o->target_vocab || !o->positions ||
        o->encoder_layers < 1 || o->decoder_layers < 1)
        return hd_err_set(
            err, HD_EARG,
            "a transformer needs width, inner width, vocabularies, positions and layers of at least 1");
    if (o->tied && o->source_vocab != o->target_vocab)
        return hd_err_set(err, HD_EARG, "tied embeddings need one vocabulary, not %zu and %zu",
                          o->source_vocab, o->target_vocab);
    return HD_OK;
}

hd_status hd_transformer_new(hd_transformer **out, hd_backend *backend, const hd_transformer_opt *opt,
                             bool training, hd_err *err)
{
    hd_status s = check(opt, err);
    if (s) return s;
    hd_transformer *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    m->opt = *opt;
    m->opt.frozen = (hd_frozen){0}; /* borrowed for this call */
    hd_params_init(&m->params, backend);
    m->encoder = hd_mem_array((size_t)opt->encoder_layers, sizeof *m->encoder);
    m->decoder = hd_mem_array((size_t)opt->decoder_layers, sizeof *m->decoder);
    if (!m->encoder || !m->decoder) s = hd_err_nomem(err, sizeof *m->encoder);
    if (!s) make_embeddings(m);
    for (int l = 0; !s && l < opt->encoder_layers; l++) make_block(m, &m->encoder[l], "encoder", l, false);
    for (int l = 0; !s && l < opt->decoder_layers; l++) make_block(m, &m->decoder[l], "decoder", l, true);
    if (!s && opt->pre_norm)
        m->encoder_norm = norm_at(m, "model.encoder.layer_norm"),
        m->decoder_norm = norm_at(m, "model.decoder.layer_norm");
    if (!s) s = hd_params_freeze(&m->params, opt->frozen, err);
    if (!s) s = hd_params_ready(&m->params, training, err);
    if (!s) s = fill_positions(m, err);
    if (s)
        hd_transformer_free(m);
    else
        *out = m;
    return s;
}

void hd_transformer_free(hd_transformer *m)
{
    if (!m) return;
    hd_params_release(&m->params);
    hd_mem_free(m->encoder);
    hd_mem_free(m->decoder);
    hd_mem_free(m);
}

hd_status hd_transformer_cache(hd_cache **out, const hd_transformer *m, size_t items, hd_err *err)
{
    size_t layers = (size_t)m->opt.decoder_layers;
    hd_slot_kind *kinds = hd_mem_array(2 * layers, sizeof *kinds);
    if (!kinds) return hd_err_nomem(err, 2 * layers * sizeof *kinds);
    for (size_t l = 0; l < layers; l++) kinds[2 * l] = HD_GROW, kinds[2 * l + 1] = HD_FIXED;
    hd_status s = hd_cache_new(out, kinds, 2 * layers, items, err);
    hd_mem_free(kinds);
    return s;
}

typedef struct layer_call { /* a block as hd_recompute sees it; pre-norm streams always come in with nothing
                               pending */
    const hd_block *block;
    const hd_seg *seg, *memory_seg;
    hd_mask mask;
    bool pre;
    float dropout;
} layer_call;

static hd_tensor *run_layer(hd_run *r, const void *context, hd_tensor *const *in)
{
    const layer_call *c = context;
    hd_stream s = {.x = {in[0], c->seg}, .pre = c->pre, .dropout = c->dropout};
    hd_block_of(r, c->block, &s, (hd_rows){in[1], c->memory_seg}, c->mask, NULL, NULL);
    return hd_stream_end(r, &s, NULL).t;
}

static void run_block(hd_run *r, const hd_transformer *m, const hd_block *b, hd_stream *s, hd_rows memory,
                      hd_mask mask, hd_slot *self, hd_slot *cross)
{
    if (!m->opt.recompute || !r->taping) {
        hd_block_of(r, b, s, memory, mask, self, cross);
        return;
    }
    layer_call *c = hd_host_take(r, sizeof *c);
    if (!c) return;
    *c = (layer_call){b, s->x.seg, memory.seg, mask, s->pre, s->dropout};
    s->x.t = hd_recompute(r, run_layer, c, (hd_tensor *const[]){s->x.t, memory.t}, 2);
}

hd_rows hd_transformer_encode(hd_run *r, const hd_transformer *m, const int32_t *ids, const hd_seg *seg)
{
    hd_probe_enter(r, "enc");
    hd_stream s = {.pre = m->opt.pre_norm, .dropout = m->opt.dropout};
    s.x = hd_embedding_of(r, &m->source, ids, seg ? seg->pos : NULL, seg);
    for (int l = 0; l < m->opt.encoder_layers; l++) {
        hd_probe_enter(r, "%d", l);
        run_block(r, m, &m->encoder[l], &s, (hd_rows){0}, HD_FULL, NULL, NULL);
        hd_probe_leave(r);
    }
    hd_rows y = hd_stream_end(r, &s, &m->encoder_norm);
    hd_probe_leave(r);
    return y;
}

hd_rows hd_transformer_decode(hd_run *r, const hd_transformer *m, const int32_t *ids, const hd_seg *seg,
                              hd_rows memory, hd_cache *cache)
{
    hd_probe_enter(r, "dec");
    hd_stream s = {.pre = m->opt.pre_norm, .dropout = m->opt.dropout};
    s.x = hd_embedding_of(r, &m->target, ids, hd_cache_positions(r, cache, seg), seg);
    for (int l = 0; l < m->opt.decoder_layers; l++) {
        hd_probe_enter(r, "%d", l);
        run_block(r, m, &m->decoder[l], &s, memory, HD_CAUSAL, hd_cache_slot(cache, 2 * (size_t)l),
                  hd_cache_slot(cache, 2 * (size_t)l + 1));
        hd_probe_leave(r);
    }
    hd_rows y = hd_stream_end(r, &s, &m->decoder_norm);
    hd_probe_leave(r);
    return y;
}

hd_tensor *hd_transformer_logits(hd_run *r, const hd_transformer *m, hd_rows x)
{
    hd_tensor *z = hd_linear(r, x.t, &m->output->t, m->output_bias ? &m->output_bias->t : NULL, HD_IDENTITY);
    return hd_probe_offer(r, "logits", z, x.seg);
}

hd_tensor *hd_transformer_loss(hd_run *r, const hd_transformer *m, hd_rows x, const int32_t *target,
                               const hd_loss_opt *opt)
{
    return hd_linear_cross_entropy(r, x.t, &m->output->t, m->output_bias ? &m->output_bias->t : NULL, target,
                                   opt);
}

double hd_transformer_flops(const hd_transformer_opt *o, double sentences, double source, double target)
{
    double b = sentences, s = source, t = target, d = (double)o->width, f = (double)o->inner;
    double encoder = o->encoder_layers * b * s * (4 * d * d + 2 * d * f) * 2;
    double decoder = o->decoder_layers * (b * t * (6 * d * d + 2 * d * f) * 2 + b * s * 2 * d * d * 2);
    double attention = b * d * 4 * (o->encoder_layers * s * s + o->decoder_layers * (t * t + t * s));
    return encoder + decoder + attention + b * t * d * (double)o->target_vocab * 2;
}
