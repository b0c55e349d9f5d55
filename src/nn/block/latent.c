/* Latent attention (DeepSeek-V2). Scores of a head are q . (W_k c) = (W_k^T q) . c, so that single rows need
   no keys but the cached vectors c; what they attend to is a sum of c, and W_v comes after it. */
#include "nn/block/latent.h"

#include <stdio.h>

#include "base/mem.h"
#include "nn/block/lora.h"
#include "nn/block/heads.h"

#define INNER_EPS 1e-6f /* of both norms inside, whatever the model's is */

enum { MOST = 1 << 16 };

static hd_tensor *value(hd_param *p)
{
    return p ? &p->t : NULL;
}

hd_status hd_latent_check(const hd_latent_opt *o, hd_err *err)
{
    if (!o->rank) return HD_OK;
    if (o->rank > MOST || o->query_rank > MOST || o->plain + o->rotated < 1 || o->plain > MOST ||
        o->rotated > MOST || o->rotated % 2 || !o->value || o->value > MOST)
        return hd_err_set(
            err, HD_EARG,
            "latent attention of rank %zu, queries of rank %zu, heads of %zu + %zu and %zu columns: "
            "at most %d each, the second even, the last not 0",
            o->rank, o->query_rank, o->plain, o->rotated, o->value, MOST);
    return HD_OK;
}

static hd_param *matrix(hd_params *p, size_t rows, size_t cols, hd_init init, const char *name,
                        const char *last)
{
    hd_param *w = hd_param_add(p, rows, cols, init, "%s.%s.weight", name, last);
    hd_param_matrices(w, rows, 0, 0);
    return w;
}

static hd_norm_layer norm_of(hd_params *p, size_t width, const char *name, const char *last)
{
    char full[200];
    snprintf(full, sizeof full, "%s.%s", name, last);
    return hd_norm_make(p, width, INNER_EPS, true, HD_GAIN_ONLY, full);
}

hd_latent *hd_latent_make(hd_params *p, const hd_latent_opt *o, size_t width, int heads, hd_init init,
                          const char *name)
{
    hd_latent *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(&p->err, sizeof *m), NULL;
    size_t h = (size_t)heads, asked = h * (o->plain + o->rotated);
    m->shape = (hd_latent_shape){h, o->rank, o->plain, o->rotated, o->value};
    if (o->query_rank) {
        m->query_in = matrix(p, o->query_rank, width, init, name, "q_a_proj");
        m->query_norm = norm_of(p, o->query_rank, name, "q_a_layernorm");
    }
    m->query = matrix(p, asked, o->query_rank ? o->query_rank : width, init, name,
                      o->query_rank ? "q_b_proj" : "q_proj");
    m->keys_in = matrix(p, o->rank + o->rotated, width, init, name, "kv_a_proj_with_mqa");
    m->norm = norm_of(p, o->rank, name, "kv_a_layernorm");
    m->keys = matrix(p, h * (o->plain + o->value), o->rank, init, name, "kv_b_proj");
    if (o->plain) m->head_keys = hd_param_view(p, m->keys, 0, o->plain);
    m->head_values = hd_param_view(p, m->keys, o->plain, o->value);
    m->out.w = matrix(p, width, h * o->value, init, name, "o_proj");
    return m;
}

void hd_latent_free(hd_latent *m)
{
    hd_mem_free(m);
}

static hd_tensor *normed(hd_run *r, const hd_norm_layer *n, hd_tensor *x)
{
    hd_norm_opt o = {.eps = n->eps, .rms = true, .quiet = true};
    return x ? hd_norm(r, x, value(n->gain), NULL, &o) : NULL;
}

static hd_tensor *queries_of(hd_run *r, const hd_latent *m, hd_rows x, const int32_t *pos)
{
    if (m->query_in) x.t = normed(r, &m->query_norm, hd_lora_linear(r, x, m->query_in, NULL, HD_IDENTITY));
    hd_tensor *q = hd_lora_linear(r, x, m->query, NULL, HD_IDENTITY);
    return m->query_rotation ? hd_rotate(r, q, pos, m->query_rotation, m->shape.heads) : q;
}

/* [R, rank + rotated]: what a cache keeps of a row. */
static hd_tensor *latents_of(hd_run *r, const hd_latent *m, hd_rows x, const int32_t *pos)
{
    const hd_latent_shape *s = &m->shape;
    hd_tensor *c = hd_lora_linear(r, x, m->keys_in, NULL, HD_IDENTITY);
    if (!s->rotated) return normed(r, &m->norm, c);
    if (m->key_rotation) c = hd_rotate(r, c, pos, m->key_rotation, 1);
    if (c && !r->taping && !r->probe) { /* in place */
        hd_tensor part = hd_view_cols(c, 0, s->rank);
        HD_CALL(r, norm, .y = &part, .x = &part, .gain = value(m->norm.gain), .eps = m->norm.eps,
                .rms = true);
        return c;
    }
    hd_tensor *parts[] = {normed(r, &m->norm, hd_slice_cols(r, c, 0, s->rank)),
                          hd_slice_cols(r, c, s->rank, s->rotated)};
    return hd_concat_cols(r, parts, 2);
}

/* Rows of single heads. */
static hd_tensor by_head(const hd_tensor *x, size_t heads)
{
    return hd_shaped(x->data, x->dtype, 2, (const size_t[]){hd_rows_of(x) * heads, hd_cols_of(x) / heads});
}

/* Queries that ask latent vectors: [R, heads * (rank + rotated)]. No gradient. */
static hd_tensor *absorbed(hd_run *r, const hd_latent *m, hd_tensor *q)
{
    const hd_latent_shape *s = &m->shape;
    size_t each = s->plain + s->rotated, wide = s->rank + s->rotated;
    hd_tensor *y = q ? hd_new(r, hd_rows_of(q), s->heads * wide) : NULL;
    if (!y) return NULL;
    hd_tensor to = hd_view_cols(y, 0, s->rank), from = hd_view_cols(q, 0, s->plain),
              heads = by_head(y, s->heads), asking = by_head(q, s->heads);
    if (m->head_keys)
        HD_CALL(r, gemm, .y = &to, .a = &from, .b = &m->head_keys->t, .count = s->heads, .y_step = wide,
                .a_step = each, .b_step = (s->plain + s->value) * s->rank);
    else
        hd_clear(r, y);
    to = hd_view_cols(&heads, s->rank, s->rotated), from = hd_view_cols(&asking, s->plain, s->rotated);
    if (s->rotated) HD_CALL(r, mix, .y = &to, .x = &from, .a = 1);
    return y;
}

/* Sums of latent vectors [R, heads * rank] to values. No gradient. */
static hd_tensor *values_of(hd_run *r, const hd_latent *m, hd_tensor *sums)
{
    const hd_latent_shape *s = &m->shape;
    hd_tensor *y = sums ? hd_new(r, hd_rows_of(sums), s->heads * s->value) : NULL;
    if (!y) return NULL;
    hd_tensor to = hd_view_cols(y, 0, s->value), from = hd_view_cols(sums, 0, s->rank);
    HD_CALL(r, gemm, .y = &to, .a = &from, .b = &m->head_values->t, .b_transposed = true, .count = s->heads,
            .y_step = s->value, .a_step = s->rank, .b_step = (s->plain + s->value) * s->rank);
    return y;
}

static hd_tensor *ended(hd_run *r, const hd_latent *m, hd_tensor *y, const hd_seg *seg)
{
    y = hd_heads_scaled(r, y, m->shape.heads, seg);
    hd_probe_offer(r, "attn_out", y, seg);
    return hd_probe_offer(r, "mha_out", hd_dense_rows(r, &m->out, (hd_rows){y, seg}, HD_IDENTITY), seg);
}

/* Single rows over a cache in its own form. */
static hd_rows ask_latents(hd_run *r, const hd_latent *m, hd_rows q, hd_rows held, hd_attend_opt *o)
{
    o->kv_heads = 1;
    q.t = absorbed(r, m, q.t);
    hd_rows v = hd_rows_with(held, hd_slice_cols(r, held.t, 0, m->shape.rank));
    hd_rows y = hd_attend(r, q, held, v, o);
    return hd_rows_with(y, values_of(r, m, y.t));
}

static hd_rows ask_heads(hd_run *r, const hd_latent *m, hd_rows q, hd_rows c, hd_attend_opt *o)
{
    const hd_latent_shape *s = &m->shape;
    hd_rows latent = hd_rows_with(c, hd_slice_cols(r, c.t, 0, s->rank));
    hd_tensor *kv = hd_lora_linear(r, latent, m->keys, NULL, HD_IDENTITY);
    hd_rows k = hd_rows_with(c, hd_latent_keys(r, kv, c.t, s)),
            v = hd_rows_with(c, hd_latent_values(r, kv, s));
    hd_probe_offer(r, "Q", q.t, q.seg);
    hd_probe_offer(r, "K", k.t, k.seg);
    hd_probe_offer(r, "V", v.t, v.seg);
    return hd_attend(r, q, k, v, o);
}

hd_rows hd_latent_of(hd_run *r, const hd_latent *m, hd_rows x, hd_mask mask, hd_slot *slot)
{
    if (!x.t) return (hd_rows){0};
    const int32_t *pos = slot ? hd_cache_positions(r, slot->cache, x.seg) : x.seg->pos;
    hd_attend_opt o = m->extra;
    o.heads = (int)m->shape.heads, o.dropout = m->dropout, o.mask = mask;
    hd_rows q = {queries_of(r, m, x, pos), x.seg}, c = {latents_of(r, m, x, pos), x.seg};
    if (slot) c = hd_slot_grow(r, slot, c);
    if (!c.t) return (hd_rows){0};
    bool single = slot && x.seg->longest == 1 && !r->probe && !r->taping && !hd_lora_at(m->keys);
    hd_rows y = single ? ask_latents(r, m, q, c, &o) : ask_heads(r, m, q, c, &o);
    return hd_rows_with(x, ended(r, m, y.t, x.seg));
}

double hd_latent_flops(const hd_latent_opt *o, size_t width, int heads)
{
    double d = (double)width, h = heads, q = h * (double)(o->plain + o->rotated), rq = (double)o->query_rank;
    return 2 * ((rq > 0 ? d * rq + rq * q : d * q) + d * (double)(o->rank + o->rotated) +
                h * (double)((o->plain + o->value) * o->rank) + h * (double)o->value * d);
}

double hd_latent_score_flops(const hd_latent_opt *o, int heads)
{
    return 2.0 * heads * (double)(o->plain + o->rotated + o->value);
}
