/* Layers built from ops. Each is a few lines; a sublayer of the paper is one function. */
#include "nn/layer.h"

#include <stdio.h>

#include "nn/block/experts.h"
#include "nn/block/latent.h"
#include "nn/block/lora.h"
#include "nn/block/heads.h"

static hd_tensor *value(hd_param *p)
{
    return p ? &p->t : NULL;
}

hd_dense hd_dense_make(hd_params *p, size_t in, size_t out, const hd_dense_opt *o, const char *name)
{
    hd_dense d = {.w = hd_param_add(p, out, in, o->init, "%s.weight", name)};
    if (d.w) d.w->transposed = o->transposed;
    hd_init bias =
        o->init.kind == HD_INIT_TORCH ? (hd_init){HD_INIT_TORCH, 1, in} : (hd_init){HD_INIT_ZERO, 0, 0};
    if (!o->no_bias) d.b = hd_param_add(p, out, 0, bias, "%s.bias", name);
    return d;
}

hd_dense hd_dense_pair(hd_params *p, size_t in, size_t out, const hd_dense_opt *o, const char *const name[2])
{
    hd_init bias =
        o->init.kind == HD_INIT_TORCH ? (hd_init){HD_INIT_TORCH, 1, in} : (hd_init){HD_INIT_ZERO, 0, 0};
    hd_dense d = {.w = hd_param_hidden(p, 2 * out, in, o->init)};
    if (!o->no_bias) d.b = hd_param_hidden(p, 2 * out, 0, bias);
    for (size_t i = 0; i < 2; i++) {
        hd_param_part(p, d.w, i * out, out, o->init, "%s.weight", name[i]);
        if (!o->no_bias) hd_param_part(p, d.b, i * out, out, bias, "%s.bias", name[i]);
    }
    hd_param_matrices(d.w, out, out, 0);
    return d;
}

hd_tensor *hd_dense_of(hd_run *r, const hd_dense *d, hd_tensor *x, hd_unary act)
{
    return hd_linear(r, x, value(d->w), value(d->b), act);
}

hd_tensor *hd_dense_rows(hd_run *r, const hd_dense *d, hd_rows x, hd_unary act)
{
    return hd_lora_linear(r, x, d->w, value(d->b), act);
}

hd_norm_layer hd_norm_make(hd_params *p, size_t width, float eps, bool rms, hd_affine affine,
                           const char *name)
{
    hd_norm_layer n = {.eps = eps, .rms = rms, .from_one = affine == HD_GAIN_FROM_ONE};
    hd_init init = {n.from_one ? HD_INIT_ZERO : HD_INIT_ONE, 0, 0};
    if (affine != HD_PLAIN) n.gain = hd_param_add(p, width, 0, init, "%s.weight", name);
    if (affine == HD_AFFINE)
        n.bias = hd_param_add(p, width, 0, (hd_init){HD_INIT_ZERO, 0, 0}, "%s.bias", name);
    return n;
}

hd_rows hd_norm_of(hd_run *r, const hd_norm_layer *n, hd_rows x)
{
    hd_norm_opt o = {.eps = n->eps, .rms = n->rms, .from_one = n->from_one, .seg = x.seg};
    return hd_rows_with(x, hd_norm(r, x.t, value(n->gain), value(n->bias), &o));
}

/* q, k and v of q, k and k rows as three tensors in files. */
static void make_parts(hd_mha *m, hd_params *p, const hd_mha_opt *o, size_t q, size_t k)
{
    const char *names[3] = {o->query, o->key, o->value};
    const size_t rows[3] = {q, k, k}, at[3] = {0, q, q + k};
    const hd_init zero = {HD_INIT_ZERO, 0, 0};
    m->qkv = hd_param_hidden(p, q + 2 * k, o->width, o->init);
    for (int i = 0; i < 3; i++)
        hd_param_part(p, m->qkv, at[i], rows[i], o->init, "%s.%s.weight", o->name, names[i]);
    m->q = hd_param_view(p, m->qkv, 0, q), m->kv = hd_param_view(p, m->qkv, q, 2 * k);
    m->qk = hd_param_view(p, m->qkv, 0, q + k), m->k = hd_param_view(p, m->qkv, q, k);
    m->v = hd_param_view(p, m->qkv, q + k, k);
    if (o->no_bias || o->no_qkv_bias) return;
    m->qkv_bias = hd_param_hidden(p, q + 2 * k, 0, zero);
    m->no_key_bias = o->no_key_bias;
    for (int i = 0; i < 3; i++)
        if (i != 1 || !o->no_key_bias)
            hd_param_part(p, m->qkv_bias, at[i], rows[i], zero, "%s.%s.bias", o->name, names[i]);
    m->q_bias = hd_param_view(p, m->qkv_bias, 0, q), m->kv_bias = hd_param_view(p, m->qkv_bias, q, 2 * k);
    m->qk_bias = hd_param_view(p, m->qkv_bias, 0, q + k), m->k_bias = hd_param_view(p, m->qkv_bias, q, k);
    m->v_bias = hd_param_view(p, m->qkv_bias, q + k, k);
}

static hd_dense make_named(hd_params *p, size_t in, size_t out, const hd_mha_opt *o, const char *last)
{
    char name[256];
    bool no_bias = o->no_bias || (last == o->out && o->no_out_bias);
    snprintf(name, sizeof name, "%s.%s", o->name, last);
    return hd_dense_make(
        p, in, out, &(hd_dense_opt){.init = o->init, .no_bias = no_bias, .transposed = o->transposed}, name);
}

hd_mha hd_mha_make(hd_params *p, const hd_mha_opt *o)
{
    hd_mha m = {.heads = o->heads, .kv_heads = o->kv_heads ? o->kv_heads : o->heads, .dropout = o->dropout};
    m.head_width = o->head_width ? o->head_width : o->width / (size_t)o->heads;
    size_t q = (size_t)m.heads * m.head_width, k = (size_t)m.kv_heads * m.head_width;
    if (o->joint && o->cross) {
        hd_dense asking = make_named(p, o->width, q, o, o->query),
                 asked = make_named(p, o->width, 2 * k, o, o->joint);
        m.q = asking.w, m.q_bias = asking.b, m.kv = asked.w, m.kv_bias = asked.b;
    } else if (o->joint) {
        hd_dense qkv = make_named(p, o->width, q + 2 * k, o, o->joint);
        m.qkv = qkv.w, m.qkv_bias = qkv.b;
    } else {
        make_parts(&m, p, o, q, k);
    }
    m.out = make_named(p, q, o->width, o, o->out);
    hd_param_matrices(m.qkv, q, k, k);
    if (!m.qkv) hd_param_matrices(m.q, q, 0, 0), hd_param_matrices(m.kv, k, k, 0);
    hd_param_matrices(m.out.w, o->width, 0, 0);
    return m;
}

/* Attends and brings the heads together. */
static hd_tensor *attended(hd_run *r, const hd_mha *m, hd_rows q, hd_rows k, hd_rows v, hd_mask mask,
                           hd_tensor *scores, const hd_seg *seg)
{
    hd_probe_offer(r, "Q", q.t, q.seg);
    hd_probe_offer(r, "K", k.t, k.seg);
    hd_probe_offer(r, "V", v.t, v.seg);
    hd_attend_opt o = m->extra;
    o.heads = m->heads, o.kv_heads = m->kv_heads, o.dropout = m->dropout;
    if (mask == HD_CAUSAL) o.mask = mask;
    if (scores) o.ragged = scores;
    hd_rows y = hd_attend(r, q, k, v, &o);
    y.t = hd_heads_scaled(r, y.t, (size_t)m->heads, seg);
    hd_probe_offer(r, "attn_out", y.t, y.seg);
    return hd_probe_offer(r, "mha_out", hd_dense_rows(r, &m->out, y, HD_IDENTITY), seg);
}

/* The bias of queries, keys and values, or without `query` of the last two. Where keys have none, training
   puts it together, so that no gradient, which is rounding alone, reaches the zeros of keys. */
static hd_tensor *joint_bias(hd_run *r, const hd_mha *m, bool query)
{
    hd_tensor *whole = value(query ? m->qkv_bias : m->kv_bias);
    if (!m->no_key_bias || !r->taping) return whole;
    hd_tensor *zero = hd_new_reals(r, 1, (size_t)m->kv_heads * m->head_width);
    if (!zero) return NULL;
    hd_clear(r, zero);
    hd_tensor *parts[] = {hd_reals_of(r, value(m->q_bias)), zero, hd_reals_of(r, value(m->v_bias))};
    return hd_concat_cols(r, parts + !query, 2 + (size_t)query);
}

/* Queries or keys [R, n * head_width] with their norm, which goes over each head or over all columns. */
static hd_tensor *vectors_normed(hd_run *r, const hd_mha *m, const hd_norm_layer *n, hd_tensor *x)
{
    if (!x || !n->gain) return x;
    size_t rows = hd_rows_of(x), cols = hd_cols_of(x), each = hd_count_of(&n->gain->t);
    hd_norm_opt o = {.eps = n->eps, .rms = n->rms, .from_one = n->from_one, .quiet = true};
    if (each == cols && each != m->head_width) return hd_norm(r, x, &n->gain->t, NULL, &o);
    x = hd_norm(r, hd_reshape(r, x, rows * (cols / each), each), &n->gain->t, NULL, &o);
    return hd_reshape(r, x, rows, cols);
}

static hd_tensor *rotated(hd_run *r, const hd_mha *m, hd_tensor *x, const int32_t *pos, int heads)
{
    return m->rotation ? hd_rotate(r, x, pos, m->rotation, (size_t)heads) : x;
}

typedef struct vectors { /* of one attention; without `k` keys and values are `kv`, side by side */
    hd_tensor *q, *k, *v, *kv;
} vectors;

/* Queries, keys and values as one product. */
static vectors joint_vectors(hd_run *r, const hd_mha *m, hd_rows x, const int32_t *pos)
{
    size_t qw = (size_t)m->heads * m->head_width, kw = (size_t)m->kv_heads * m->head_width;
    hd_tensor *qkv = hd_lora_linear(r, x, m->qkv, joint_bias(r, m, true), HD_IDENTITY);
    qkv = rotated(r, m, qkv, pos, m->heads + m->kv_heads);
    return (vectors){.q = hd_slice_cols(r, qkv, 0, qw), .kv = hd_slice_cols(r, qkv, qw, 2 * kw)};
}

/* Before norms of queries and keys: apart, since those of heads need dense rows, but a single row, as steps
   of decoding have it, is dense in any case, where the whole weight is there in the form of its parts. */
static vectors vectors_to_norm(hd_run *r, const hd_mha *m, hd_rows x, hd_rows memory)
{
    size_t qw = (size_t)m->heads * m->head_width, kw = (size_t)m->kv_heads * m->head_width;
    if (r->taping || memory.t != x.t || !m->qkv || hd_rows_of(x.t) > 1 ||
        !m->qkv->t.prepared != !m->q->t.prepared)
        return (vectors){.q = hd_lora_linear(r, x, m->q, value(m->q_bias), HD_IDENTITY),
                         .k = hd_lora_linear(r, memory, m->k, value(m->k_bias), HD_IDENTITY),
                         .v = hd_lora_linear(r, memory, m->v, value(m->v_bias), HD_IDENTITY)};
    hd_tensor *qkv = hd_lora_linear(r, x, m->qkv, joint_bias(r, m, true), HD_IDENTITY);
    return (vectors){.q = hd_slice_cols(r, qkv, 0, qw),
                     .k = hd_slice_cols(r, qkv, qw, kw),
                     .v = hd_slice_cols(r, qkv, qw + kw, kw)};
}

static vectors normed_vectors(hd_run *r, const hd_mha *m, hd_rows x, hd_rows memory, const int32_t *pos,
                              const int32_t *memory_pos)
{
    vectors y = vectors_to_norm(r, m, x, memory);
    y.q = rotated(r, m, vectors_normed(r, m, &m->query_norm, y.q), pos, m->heads);
    y.k = rotated(r, m, vectors_normed(r, m, &m->key_norm, y.k), memory_pos, m->kv_heads);
    return y;
}

/* Keys and values of a memory. */
static hd_tensor *asked_vectors(hd_run *r, const hd_mha *m, hd_rows memory)
{
    hd_tensor *kv = hd_lora_linear(r, memory, m->kv, joint_bias(r, m, false), HD_IDENTITY);
    return m->rotation ? rotated(r, m, kv, memory.seg->pos, m->kv_heads) : kv;
}

/* Of rows that ask others; a slot that is filled has the keys and values. */
static vectors apart_vectors(hd_run *r, const hd_mha *m, hd_rows x, hd_rows memory, const int32_t *pos,
                             const hd_slot *slot)
{
    vectors y = {.q = hd_lora_linear(r, x, m->q, value(m->q_bias), HD_IDENTITY)};
    y.q = rotated(r, m, y.q, pos, m->heads);
    if (!slot || !slot->filled) y.kv = asked_vectors(r, m, memory);
    return y;
}

bool hd_mha_fill(hd_run *r, const hd_mha *m, hd_rows memory, hd_slot *slot)
{
    return memory.t && hd_slot_fixed(r, slot, hd_rows_with(memory, asked_vectors(r, m, memory))).t;
}

hd_rows hd_mha_of(hd_run *r, const hd_mha *m, hd_rows x, hd_rows memory, hd_mask mask, hd_slot *slot)
{
    if (!x.t) return (hd_rows){0};
    size_t kw = (size_t)m->kv_heads * m->head_width;
    bool self = memory.t == x.t;
    const int32_t *pos = !m->rotation ? NULL : slot ? hd_cache_positions(r, slot->cache, x.seg) : x.seg->pos;
    vectors y = m->query_norm.gain
                    ? normed_vectors(r, m, x, memory, pos, self || !memory.seg ? pos : memory.seg->pos)
                : self ? joint_vectors(r, m, x, pos)
                       : apart_vectors(r, m, x, memory, pos, slot);
    hd_rows q = {y.q, x.seg}, k = {y.k, memory.seg}, v = {y.v, memory.seg}, kv = {y.kv, memory.seg};
    if (slot && y.k) kv.t = hd_concat_cols(r, (hd_tensor *const[]){y.k, y.v}, 2);
    if (slot) kv = slot->kind == HD_GROW ? hd_slot_grow(r, slot, kv) : hd_slot_fixed(r, slot, kv);
    if (slot || !y.k)
        k = hd_rows_with(kv, hd_slice_cols(r, kv.t, 0, kw)),
        v = hd_rows_with(kv, hd_slice_cols(r, kv.t, kw, kw));
    return hd_rows_with(x, attended(r, m, q, k, v, mask, NULL, x.seg));
}

static hd_tensor *placed(hd_run *r, hd_tensor *x, hd_tensor *positions)
{
    return positions ? hd_add(r, x, positions) : x;
}

hd_rows hd_mha_placed(hd_run *r, const hd_mha *m, hd_rows x, hd_rows memory, const hd_places *p)
{
    size_t qw = (size_t)m->heads * m->head_width, kw = (size_t)m->kv_heads * m->head_width;
    bool self = memory.t == x.t;
    const hd_sight *s = self ? &p->self : &p->cross;
    hd_tensor *asking = placed(r, x.t, p->query), *asked = self ? asking : placed(r, memory.t, p->memory);
    hd_rows q = x, k = memory, v = memory;
    if (!m->v || m->rotation || m->query_norm.gain)
        return hd_fail(r, HD_EARG, "attention: %s",
                       m->v ? "rows that have places have no rotation and no norms of queries"
                            : "q, k and v of these names are one tensor"),
               (hd_rows){0};
    if (self) {
        hd_tensor *qk = hd_lora_linear(r, hd_rows_with(x, asking), m->qk, value(m->qk_bias), HD_IDENTITY);
        q.t = hd_slice_cols(r, qk, 0, qw), k.t = hd_slice_cols(r, qk, qw, kw);
    } else {
        q.t = hd_lora_linear(r, hd_rows_with(x, asking), m->q, value(m->q_bias), HD_IDENTITY);
        k.t = hd_lora_linear(r, hd_rows_with(memory, asked), m->k, value(m->k_bias), HD_IDENTITY);
    }
    v.t = hd_lora_linear(r, memory, m->v, value(m->v_bias), HD_IDENTITY);
    if (s->rows) {
        q.seg = s->asking;
        k = (hd_rows){hd_gather(r, k.t, s->rows, s->asked->rows, 1), s->asked};
        v = (hd_rows){hd_gather(r, v.t, s->rows, s->asked->rows, 1), s->asked};
    }
    return hd_rows_with(x, attended(r, m, q, k, v, HD_FULL, s->mask, x.seg));
}

/* The hidden layer before its dropout, one thing after the other for who looks. */
static hd_tensor *hidden_of(hd_run *r, const hd_ffn *f, hd_rows x)
{
    if (!r->probe && !f->gated) return hd_dense_rows(r, &f->in, x, f->act);
    hd_tensor *h = hd_dense_rows(r, &f->in, x, HD_IDENTITY), *gate = NULL;
    if (!r->probe) return hd_gated(r, h, f->act);
    if (f->gated && h) {
        size_t half = hd_cols_of(h) / 2;
        gate = hd_slice_cols(r, h, half, half), h = hd_slice_cols(r, h, 0, half);
    }
    h = hd_probe_offer(r, "hidden", h, x.seg);
    h = hd_probe_offer(r, hd_unary_name(f->act), hd_apply(r, h, f->act), x.seg);
    if (!gate) return h;
    hd_probe_offer(r, "gate", gate, x.seg);
    return hd_probe_offer(r, "gated", hd_mul(r, h, gate), x.seg);
}

hd_rows hd_ffn_of(hd_run *r, const hd_ffn *f, hd_rows x)
{
    hd_tensor *h;
    if (r->probe || f->gated || hd_lora_at(f->in.w))
        h = hd_dropout(r, hidden_of(r, f, x), f->dropout, x.seg);
    else
        h = hd_linear_dropout(r, x.t, value(f->in.w), value(f->in.b), f->act, f->dropout, x.seg);
    return hd_rows_with(
        x, hd_probe_offer(r, "out", hd_dense_rows(r, &f->out, hd_rows_with(x, h), HD_IDENTITY), x.seg));
}

hd_rows hd_stream_in(hd_run *r, hd_stream *s, const hd_norm_layer *n)
{
    if (!s->pre) return s->x;
    if (!s->pending) {
        hd_rows x = hd_norm_of(r, n, s->x);
        hd_probe_offer(r, "norm", x.t, x.seg);
        return x;
    }
    hd_norm_opt o = {.eps = n->eps,
                     .rms = n->rms,
                     .from_one = n->from_one,
                     .dropout = s->dropout,
                     .drop_path = s->late,
                     .seg = s->x.seg};
    hd_tensor *sum, *y = hd_norm_residual(r, s->x.t, s->pending, value(n->gain), value(n->bias), &o, &sum);
    s->x.t = sum;
    s->pending = NULL;
    return hd_rows_with(s->x, hd_probe_offer(r, "norm", y, s->x.seg));
}

void hd_stream_out(hd_run *r, hd_stream *s, const hd_norm_layer *n, hd_rows branch)
{
    if (s->pre) {
        s->pending = branch.t, s->late = s->drop_path;
        return;
    }
    hd_norm_opt o = {.eps = n->eps,
                     .rms = n->rms,
                     .from_one = n->from_one,
                     .dropout = s->dropout,
                     .drop_path = s->drop_path,
                     .seg = s->x.seg};
    s->x.t = hd_norm_residual(r, s->x.t, branch.t, value(n->gain), value(n->bias), &o, NULL);
    hd_probe_offer(r, "norm", s->x.t, s->x.seg);
}

hd_rows hd_stream_end(hd_run *r, hd_stream *s, const hd_norm_layer *last)
{
    if (!s->pre) return s->x;
    if (last) return hd_stream_in(r, s, last);
    if (s->pending) {
        /* through a norm whose output is not used: its sum has the same bits as in a stack that is not cut
           here; dropout and add would round twice */
        hd_norm_opt o = {.eps = 1, .dropout = s->dropout, .drop_path = s->late, .seg = s->x.seg};
        hd_norm_residual(r, s->x.t, s->pending, NULL, NULL, &o, &s->x.t);
    }
    s->pending = NULL;
    return s->x;
}

/* What a sublayer gives, with its norm where it has one. */
static hd_rows output_of(hd_run *r, const hd_norm_layer *n, hd_rows y)
{
    if (!n->gain || !y.t) return y;
    hd_norm_opt o = {.eps = n->eps, .rms = n->rms, .from_one = n->from_one, .seg = y.seg, .quiet = true};
    y.t = hd_norm(r, y.t, value(n->gain), value(n->bias), &o);
    return hd_rows_with(y, hd_probe_offer(r, "norm_out", y.t, y.seg));
}

static hd_rows attention_of(hd_run *r, const hd_mha *m, const hd_stream *s, hd_rows x, hd_rows memory,
                            hd_mask mask, hd_slot *slot)
{
    return s->places ? hd_mha_placed(r, m, x, memory, s->places) : hd_mha_of(r, m, x, memory, mask, slot);
}

void hd_block_of(hd_run *r, const hd_block *b, hd_stream *s, hd_rows memory, hd_mask mask, hd_slot *self,
                 hd_slot *cross)
{
    hd_probe_enter(r, "self");
    hd_rows x = hd_stream_in(r, s, &b->norm[0]);
    x = b->latent ? hd_latent_of(r, b->latent, x, mask, self)
                  : attention_of(r, &b->self, s, x, x, mask, self);
    hd_stream_out(r, s, &b->norm[0], output_of(r, &b->norm_out[0], x));
    hd_probe_leave(r);
    if (b->has_cross) {
        hd_probe_enter(r, "cross");
        x = hd_stream_in(r, s, &b->norm[1]);
        x = attention_of(r, &b->cross, s, x, memory, HD_FULL, cross);
        hd_stream_out(r, s, &b->norm[1], output_of(r, &b->norm_out[1], x));
        hd_probe_leave(r);
    }
    hd_probe_enter(r, "ffn");
    x = hd_stream_in(r, s, &b->norm[2]);
    x = b->experts ? hd_experts_of(r, b->experts, x, s->load) : hd_ffn_of(r, &b->ffn, x);
    hd_stream_out(r, s, &b->norm[2], output_of(r, &b->norm_out[2], x));
    hd_probe_leave(r);
}
