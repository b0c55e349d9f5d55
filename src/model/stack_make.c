/* The parameters of Transformer blocks. */
#include "model/stack.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"

#define X(NAME, name) #name,
const char *const hd_qk_norm_names[HD_QK_NORMS + 1] = {HD_QK_NORM_LIST(X) NULL};
#undef X

enum { MOST_ATTENTION = 1 << 20, MOST_BUCKETS = 1024, MOST_SPAN = 1 << 20 };

static const hd_stack_names *names_of(const hd_stack_opt *o)
{
    return o->names ? o->names : &hd_stack_marian;
}

static hd_init init_of(const hd_stack_opt *o)
{
    return o->init.kind == HD_INIT_ZERO ? (hd_init){HD_INIT_XAVIER, 1, 0} : o->init;
}

/* A name inside the stack. */
static const char *named(char to[160], const hd_stack_opt *o, const char *format, ...)
{
    va_list args;
    int at = snprintf(to, 160, "%s%s", o->name, *o->name ? "." : "");
    va_start(args, format);
    if (at < 160) vsnprintf(to + at, 160 - (size_t)at, format, args);
    va_end(args);
    return to;
}

static hd_norm_layer norm_at(hd_params *p, const hd_stack_opt *o, const char *name)
{
    return hd_norm_make(p, o->width, o->eps, o->rms,
                        o->plain       ? HD_PLAIN
                        : o->unit_gain ? HD_GAIN_FROM_ONE
                        : o->rms       ? HD_GAIN_ONLY
                                       : HD_AFFINE,
                        name);
}

static hd_norm_layer vector_norm_at(hd_params *p, const hd_stack_opt *o, int heads, size_t head_width,
                                    const char *attention, const char *last)
{
    char name[200];
    snprintf(name, sizeof name, "%s.%s", attention, last);
    size_t width = o->qk_norm == HD_QK_NORM_WHOLE ? (size_t)heads * head_width : head_width;
    return hd_norm_make(p, width, o->eps, true, o->unit_gain ? HD_GAIN_FROM_ONE : HD_GAIN_ONLY, name);
}

static hd_mha attention_at(hd_params *p, const hd_stack_opt *o, const char *name, bool cross)
{
    const hd_stack_names *n = names_of(o);
    hd_mha m = hd_mha_make(p, &(hd_mha_opt){.width = o->width,
                                            .head_width = o->head_width,
                                            .heads = o->heads,
                                            .kv_heads = o->kv_heads,
                                            .no_bias = o->plain || o->unbiased,
                                            .no_qkv_bias = o->unbiased_qkv,
                                            .no_key_bias = o->unbiased_keys,
                                            .no_out_bias = o->unbiased_out,
                                            .dropout = o->attention_dropout,
                                            .init = init_of(o),
                                            .name = name,
                                            .query = n->query,
                                            .key = n->key,
                                            .value = n->value,
                                            .out = n->out,
                                            .joint = n->joint,
                                            .cross = cross,
                                            .transposed = n->transposed});
    if (o->unscaled_scores) m.extra.scale = 1;
    if (o->query_scale > 0) m.extra.scale = o->query_scale;
    m.extra.cap = o->score_cap;
    if (cross || !o->qk_norm) return m;
    m.query_norm = vector_norm_at(p, o, m.heads, m.head_width, name, n->query_norm);
    m.key_norm = vector_norm_at(p, o, m.kv_heads, m.head_width, name, n->key_norm);
    return m;
}

/* The scale is said, since single rows ask vectors of another width. */
static hd_latent *latent_at(hd_params *p, const hd_stack_opt *o, const char *name)
{
    hd_latent *m = hd_latent_make(p, &o->latent, o->width, o->heads, init_of(o), name);
    if (!m) return NULL;
    m->dropout = o->attention_dropout, m->extra.cap = o->score_cap;
    m->extra.scale =
        o->query_scale > 0 ? o->query_scale : 1 / sqrtf((float)(o->latent.plain + o->latent.rotated));
    return m;
}

bool hd_stack_windowed(const hd_stack_opt *o, int layer)
{
    return o->window && layer >= o->window_from && !(o->window_every && (layer + 1) % o->window_every == 0);
}

static size_t head_width_of(const hd_stack_opt *o)
{
    if (o->latent.rank) return o->latent.plain + o->latent.rotated;
    return o->head_width ? o->head_width : o->width / (size_t)o->heads;
}

static hd_rotary rotary_of(const hd_stack_opt *o)
{
    hd_rotary r = o->rotary;
    if (o->latent.rank) r.columns = o->latent.rotated;
    return r;
}

static hd_status make_rotations(hd_stack *k, hd_err *err)
{
    const hd_stack_opt *o = &k->opt;
    if (!o->rotary.kind) return HD_OK;
    k->rotation = hd_mem_array(2, sizeof *k->rotation);
    if (!k->rotation) return hd_err_nomem(err, 2 * sizeof *k->rotation);
    const hd_rotary all = rotary_of(o);
    if (o->latent.rank) { /* of queries, and of the one key of a row */
        k->rotation[0] = hd_rotary_make(&all, head_width_of(o), o->latent.plain);
        k->rotation[1] = hd_rotary_make(&all, o->latent.rank + o->latent.rotated, o->latent.rank);
        for (int l = 0; l < o->layers; l++)
            if (k->block[l].latent)
                k->block[l].latent->query_rotation = &k->rotation[0],
                k->block[l].latent->key_rotation = &k->rotation[1];
        return HD_OK;
    }
    hd_rotary local = all;
    if (o->local_theta > 0) local.theta = o->local_theta, local.scaling = (hd_rotary_scaling){0};
    k->rotation[0] = hd_rotary_make(&all, head_width_of(o), 0);
    k->rotation[1] = hd_rotary_make(&local, head_width_of(o), 0);
    for (int l = 0; l < o->layers; l++) k->block[l].self.rotation = &k->rotation[hd_stack_windowed(o, l)];
    return HD_OK;
}

/* Vectors of distances (Music Transformer): for each head, the last is distance 0. */
static void make_distances(hd_params *p, const hd_stack_opt *o, hd_mha *m, const char *name)
{
    hd_init init = {HD_INIT_NORMAL, (float)(1 / sqrt((double)m->head_width)), 0};
    hd_param *rows = hd_param_add(p, (size_t)o->heads * (size_t)o->relative_span, m->head_width, init,
                                  "%s.relative_keys.weight", name);
    if (rows) m->extra.distance = &rows->t;
}

/* Block 0 owns the numbers, the others use them. */
static void make_relative(hd_params *p, const hd_stack_opt *o, hd_block *b)
{
    const hd_stack_names *n = names_of(o);
    hd_init init = {HD_INIT_NORMAL, (float)(1 / sqrt((double)o->width)), 0};
    char name[160];
    hd_param *table = hd_param_add(p, o->relative.buckets, (size_t)o->heads, init, "%s.weight",
                                   named(name, o, "%s.0.%s.relative_attention_bias", n->layers, n->self));
    for (int l = 0; table && l < o->layers; l++) {
        hd_attend_opt *a = &b[l].self.extra;
        a->table = &table->t, a->table_both_ways = !o->causal, a->table_reach = o->relative.reach;
    }
}

static void make_feed_forward(hd_params *p, const hd_stack_opt *o, hd_block *b, int layer)
{
    const hd_stack_names *n = names_of(o);
    hd_dense_opt dense = {
        .init = init_of(o), .no_bias = o->unbiased || o->unbiased_inner, .transposed = n->transposed};
    char name[160];
#define NAMED(last) named(name, o, "%s.%d.%s", n->layers, layer, last)
    if (hd_experts_at(&o->experts, layer)) {
        b->experts = hd_experts_make(p, &o->experts, o->width, o->act, init_of(o),
                                     hd_experts_layers(&o->experts, o->layers), &n->experts,
                                     named(name, o, "%s.%d", n->layers, layer));
        return;
    }
    b->ffn = (hd_ffn){.act = o->act, .dropout = o->inner_dropout, .gated = o->gated};
    if (o->gated) {
        char gate[sizeof name];
        const char *const names[2] = {NAMED(n->gated[0]),
                                      named(gate, o, "%s.%d.%s", n->layers, layer, n->gated[1])};
        b->ffn.in = hd_dense_pair(p, o->width, o->inner, &dense, names);
    } else {
        b->ffn.in = hd_dense_make(p, o->width, o->inner, &dense, NAMED(n->in));
        hd_param_matrices(b->ffn.in.w, o->inner, 0, 0);
    }
    b->ffn.out = hd_dense_make(p, o->inner, o->width, &dense, NAMED(n->back));
    hd_param_matrices(b->ffn.out.w, o->width, 0, 0);
#undef NAMED
}

static void make_block(hd_params *p, const hd_stack_opt *o, hd_block *b, int layer)
{
    const hd_stack_names *n = names_of(o);
    const char *inner_norm = o->output_norms ? n->norm_in : n->norm[2];
    char name[160];
#define NAMED(last) named(name, o, "%s.%d.%s", n->layers, layer, last)
#define NORM(i, when) \
    if (n->norm_first == (when)) b->norm[i] = norm_at(p, o, NAMED(i == 2 ? inner_norm : n->norm[i]))
#define NORM_OUT(i) \
    if (o->output_norms) b->norm_out[i] = norm_at(p, o, NAMED(n->norm_out[i]))
    b->has_cross = o->cross;
    NORM(0, true);
    if (o->latent.rank)
        b->latent = latent_at(p, o, NAMED(n->self));
    else
        b->self = attention_at(p, o, NAMED(n->self), false);
    if (o->relative_span) make_distances(p, o, &b->self, NAMED(n->self));
    b->self.extra.block = o->local_block;
    if (hd_stack_windowed(o, layer)) b->self.extra.window = o->window - 1;
    if (b->latent) b->latent->extra.window = b->self.extra.window;
    NORM(0, false);
    NORM_OUT(0);
    if (o->cross) {
        NORM(1, true);
        b->cross = attention_at(p, o, NAMED(n->cross), true);
        NORM(1, false);
    }
    NORM(2, true);
    make_feed_forward(p, o, b, layer);
    NORM(2, false);
    NORM_OUT(2);
#undef NORM_OUT
#undef NORM
#undef NAMED
}

/* Options that need others, names or a mask: what is wrong, or NULL. */
static const char *misfit(const hd_stack_opt *o)
{
    const hd_stack_names *n = names_of(o);
    const struct {
        bool wrong;
        const char *what;
    } all[] = {
        {o->latent.rank && !n->experts.router, "only blocks of Llama's names have latent attention"},
        {o->latent.rank && (o->qk_norm || o->kv_heads || o->head_width || o->relative.buckets ||
                            o->relative_span || o->local_block || o->local_theta > 0 || !o->unbiased),
         "latent attention has no biases, norms of heads, shared heads, head size or relative positions"},
        {o->latent.rank && o->rotary.kind && !o->latent.rotated,
         "latent attention with rotary positions has columns that are rotated"},
        {o->qk_norm && !n->query_norm, "blocks of these names have no norms of queries and keys"},
        {o->output_norms && !n->norm_out[0], "blocks of these names have no norms on outputs"},
        {o->output_norms && (!o->pre_norm || o->cross || o->plain),
         "norms on outputs are of pre-norm blocks without cross-attention"},
        {o->unit_gain && !o->rms, "gains from 1 on are of RMS norms"},
        {o->window < 0 || o->window == 1 || o->window_every < 0 || o->window_from < 0,
         "a window has 2 tokens or more"},
        {o->window && !o->causal, "a window needs a causal mask"},
        {o->score_cap < 0 || o->query_scale < 0, "caps and scales are not negative"},
        {o->score_cap > 0 && (o->relative.buckets || o->relative_span),
         "a cap of scores does not go with relative positions"},
        {o->rotary.kind && (o->relative.buckets || o->relative_span),
         "rotary positions do not go with relative ones"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].wrong) return all[i].what;
    return NULL;
}

/* Buckets of a side begin with exact ones, half of them; the last has to lie beyond. */
hd_status hd_stack_check(const hd_stack_opt *o, hd_err *err)
{
    const hd_relative *r = &o->relative;
    if (o->heads < 1 || (!o->head_width && !o->latent.rank && o->width % (size_t)o->heads))
        return hd_err_set(err, HD_EARG, "a width of %zu cannot be split over %d heads", o->width, o->heads);
    if (o->head_width > (size_t)MOST_ATTENTION / (size_t)o->heads)
        return hd_err_set(err, HD_EARG, "%d heads of %zu columns are more than %d", o->heads, o->head_width,
                          MOST_ATTENTION);
    if (o->kv_heads < 0 || (o->kv_heads && o->heads % o->kv_heads))
        return hd_err_set(err, HD_EARG, "%d heads cannot share %d heads of keys and values", o->heads,
                          o->kv_heads);
    if (r->buckets && (r->buckets < 4 || r->buckets > MOST_BUCKETS || r->reach <= (int)(r->buckets / 2)))
        return hd_err_set(err, HD_EARG,
                          "relative positions have 4 to %d buckets and reach farther than half of them: not "
                          "%zu, which reach %d",
                          MOST_BUCKETS, r->buckets, r->reach);
    if (o->relative_span < 0 || o->relative_span > MOST_SPAN || o->local_block < 0)
        return hd_err_set(err, HD_EARG,
                          "relative attention has 0 to %d distances and blocks of 0 or more: not "
                          "%d and %d",
                          MOST_SPAN, o->relative_span, o->local_block);
    if (misfit(o)) return hd_err_set(err, HD_EARG, "%s", misfit(o));
    const hd_rotary rotary = rotary_of(o);
    hd_status s = hd_latent_check(&o->latent, err);
    if (!s) s = hd_rotary_check(&rotary, head_width_of(o), err);
    return s ? s : hd_experts_check(&o->experts, err);
}

hd_status hd_stack_make(hd_stack *out, hd_params *p, const hd_stack_opt *opt, hd_err *err)
{
    char name[160];
    if (opt->gated && !names_of(opt)->gated[0])
        return hd_err_set(err, HD_EARG, "blocks of these names have no gate");
    if (opt->experts.count && (!names_of(opt)->experts.router || !opt->gated))
        return hd_err_set(err, HD_EARG, "only blocks of Llama's names, with a gate, have experts");
    if (opt->cross && !names_of(opt)->cross)
        return hd_err_set(err, HD_EARG, "blocks of these names have no cross-attention");
    *out = (hd_stack){.opt = *opt, .block = hd_mem_array((size_t)opt->layers, sizeof *out->block)};
    if (!out->block) return hd_err_nomem(err, (size_t)opt->layers * sizeof *out->block);
    for (int l = 0; l < opt->layers; l++) make_block(p, opt, &out->block[l], l);
    if (opt->relative.buckets) make_relative(p, opt, out->block);
    if (opt->pre_norm) out->last = norm_at(p, opt, named(name, opt, "%s", names_of(opt)->last));
    out->opt.name = NULL;
    return make_rotations(out, err);
}

void hd_stack_release(hd_stack *s)
{
    for (int l = 0; s->block && l < s->opt.layers; l++)
        hd_experts_free(s->block[l].experts), hd_latent_free(s->block[l].latent);
    hd_mem_free(s->block);
    hd_mem_free(s->rotation);
    *s = (hd_stack){0};
}
