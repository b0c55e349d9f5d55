/* Factors of attention heads. Easy to get wrong: a row that is sent must not be sent into a captured step;
   op/replay captures nothing while a run has factors. */
#include "nn/block/heads.h"

#include <math.h>
#include <string.h>

static hd_heads_layer *layer_at(const hd_heads *h, const char *scope)
{
    for (size_t i = 0; i < h->layers; i++)
        if (!strcmp(h->layer[i].scope, scope)) return &h->layer[i];
    return NULL;
}

static bool changes(const hd_heads_layer *l)
{
    for (size_t i = 0; i < l->heads; i++)
        if (l->factor[i] != 1) return true;
    return false;
}

/* The factors over the columns of their heads, as many rows of them as asked for. */
static hd_tensor *rows_of(hd_run *r, const hd_heads_layer *l, size_t rows, size_t columns)
{
    size_t each = columns / l->heads;
    hd_real *host = hd_host_take(r, rows * columns * sizeof *host);
    for (size_t i = 0; host && i < rows * columns; i++) host[i] = l->factor[i % columns / each];
    return host ? hd_from(r, rows, columns, host) : NULL;
}

/* Factors that want a gradient: a row for each item, so that each says what it adds. */
static hd_tensor *graded(hd_run *r, hd_heads_layer *l, hd_tensor *y, const hd_seg *seg)
{
    bool items = seg && seg->item;
    if (!l->leaf) l->leaf = rows_of(r, l, items ? seg->items : 1, hd_cols_of(y));
    if (!l->leaf) return NULL;
    l->leaf->wants_grad = true;
    return hd_mul(r, y, items ? hd_broadcast(r, l->leaf, seg) : l->leaf);
}

hd_tensor *hd_heads_scaled(hd_run *r, hd_tensor *y, size_t heads, const hd_seg *seg)
{
    hd_heads_layer *l = r->heads && y ? layer_at(r->heads, r->scope) : NULL;
    if (!l) return y;
    if (l->heads != heads || hd_cols_of(y) % heads)
        return hd_fail(r, HD_ESHAPE, "factors of heads: %s has %zu heads and %zu columns, not %zu heads",
                       l->scope, heads, hd_cols_of(y), l->heads);
    if (r->taping && r->heads->graded) return graded(r, l, y, seg);
    return changes(l) ? hd_mul(r, y, rows_of(r, l, 1, hd_cols_of(y))) : y;
}

void hd_heads_begin(hd_run *r)
{
    hd_heads *h = r->heads;
    hd_run_begin(r, h && h->graded ? HD_TRAIN : HD_INFERENCE);
    r->training = false;
    for (size_t i = 0; h && i < h->layers; i++) h->layer[i].leaf = NULL;
}

static void add(hd_run *r, hd_heads_layer *l)
{
    const hd_tensor *g = l->leaf->grad;
    size_t rows = hd_rows_of(g), columns = hd_cols_of(g), each = columns / l->heads;
    hd_real *host = hd_host_take(r, rows * columns * sizeof *host);
    if (!host || !hd_read(r, g, host)) return;
    for (size_t i = 0; i < rows * l->heads; i++) {
        double sum = 0;
        for (size_t j = 0; j < each; j++) sum += (double)host[i * each + j];
        l->slope[i % l->heads] += sum, l->effect[i % l->heads] += fabs(sum);
    }
}

void hd_heads_end(hd_run *r)
{
    const hd_heads *h = r->heads;
    if (!h || !h->graded || r->err.status) return;
    hd_backward(r);
    for (size_t i = 0; i < h->layers; i++)
        if (h->layer[i].leaf && h->layer[i].leaf->grad) add(r, &h->layer[i]);
}
