/* Keys and values of latent attention, laid out as attention wants them. A head of `kv` is its plain key
   columns, then its value; the rotated key columns are one vector of a row, which every head gets. */
#include "op/op.h"

typedef struct opt {
    hd_latent_shape s;
} opt;

/* Rows of single heads of a matrix whose rows lie one after the other. */
static hd_tensor by_head(const hd_tensor *x, size_t heads)
{
    return hd_shaped(x->data, x->dtype, 2, (const size_t[]){hd_rows_of(x) * heads, hd_cols_of(x) / heads});
}

/* What copies the plain columns there, or adds their gradient back. */
static void move_plain(hd_run *r, const hd_tensor *k, const hd_tensor *kv, const hd_latent_shape *s,
                       bool back)
{
    hd_tensor a = by_head(k, s->heads), b = by_head(kv, s->heads);
    hd_tensor to = hd_view_cols(&a, 0, s->plain), from = hd_view_cols(&b, 0, s->plain);
    if (!s->plain) return;
    if (back)
        HD_CALL(r, mix, .y = &from, .x = &to, .a = 1, .add = true);
    else
        HD_CALL(r, mix, .y = &to, .x = &from, .a = 1);
}

static void move_rotated(hd_run *r, const hd_tensor *k, const hd_tensor *c, const hd_latent_shape *s,
                         bool back)
{
    for (size_t h = 0; s->rotated && h < s->heads; h++) {
        hd_tensor to = hd_view_cols(k, h * (s->plain + s->rotated) + s->plain, s->rotated),
                  from = hd_view_cols(c, s->rank, s->rotated);
        if (back)
            HD_CALL(r, mix, .y = &from, .x = &to, .a = 1, .add = true);
        else
            HD_CALL(r, mix, .y = &to, .x = &from, .a = 1);
    }
}

static void keys_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    hd_tensor *dkv = hd_grad(r, n->in[0], NULL), *dc = hd_grad(r, n->in[1], NULL);
    if (dkv) move_plain(r, n->y->grad, dkv, &o->s, true);
    if (dc) move_rotated(r, n->y->grad, dc, &o->s, true);
}

static bool fits(hd_run *r, const hd_tensor *kv, const hd_latent_shape *s)
{
    if (hd_cols_of(kv) == s->heads * (s->plain + s->value) && kv->stride == hd_cols_of(kv)) return true;
    hd_fail(r, HD_ESHAPE, "latent: %zu columns are not %zu heads of %zu and %zu", hd_cols_of(kv), s->heads,
            s->plain, s->value);
    return false;
}

hd_tensor *hd_latent_keys(hd_run *r, hd_tensor *kv, hd_tensor *c, const hd_latent_shape *s)
{
    if (!kv || !c || !fits(r, kv, s)) return NULL;
    if (hd_cols_of(c) != s->rank + s->rotated || hd_rows_of(c) != hd_rows_of(kv))
        return hd_fail(r, HD_ESHAPE, "latent: %zu x %zu beside %zu rows of %zu and %zu columns",
                       hd_rows_of(c), hd_cols_of(c), hd_rows_of(kv), s->rank, s->rotated);
    hd_tensor *k = hd_new(r, hd_rows_of(kv), s->heads * (s->plain + s->rotated));
    if (!k) return NULL;
    move_plain(r, k, kv, s, false);
    move_rotated(r, k, c, s, false);
    opt o = {*s};
    return hd_record_opt(r, k, NULL, keys_back, o, kv, c);
}

static void values_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    hd_tensor *dkv = hd_grad(r, n->in[0], NULL);
    if (!dkv) return;
    hd_tensor a = by_head(n->y->grad, o->s.heads), b = by_head(dkv, o->s.heads),
              to = hd_view_cols(&b, o->s.plain, o->s.value);
    HD_CALL(r, mix, .y = &to, .x = &a, .a = 1, .add = true);
}

hd_tensor *hd_latent_values(hd_run *r, hd_tensor *kv, const hd_latent_shape *s)
{
    if (!kv || !fits(r, kv, s)) return NULL;
    hd_tensor *v = hd_new(r, hd_rows_of(kv), s->heads * s->value);
    if (!v) return NULL;
    hd_tensor a = by_head(v, s->heads), b = by_head(kv, s->heads),
              from = hd_view_cols(&b, s->plain, s->value);
    HD_CALL(r, mix, .y = &a, .x = &from, .a = 1);
    opt o = {*s};
    return hd_record_opt(r, v, NULL, values_back, o, kv);
}
