/* Which experts a text uses, beside its attention. */
#include <stdio.h>
#include <string.h>

#include "show/attention.h"

/* "3.ffn.experts": the layer. */
static bool is_experts(const char *name, size_t *layer)
{
    int end = 0;
    return sscanf(name, "%zu.ffn.experts%n", layer, &end) == 1 && end && !name[end];
}

void hd_attention_keep_experts(hd_attention_maps *a, hd_run *r, const hd_offer *offer)
{
    hd_attention_experts *e = &a->experts;
    size_t layer, most = a->part[HD_ATTENTION_DECODER].layers, rows = hd_rows_of(offer->t);
    if (offer->gradient || rows != a->targets || !is_experts(offer->name, &layer) || e->layers >= most)
        return;
    if (!e->layer) {
        e->count = hd_cols_of(offer->t);
        e->layer = hd_arena_array(&a->memory, most, sizeof *e->layer, &r->err);
        e->weight = e->layer ? hd_arena_array(&a->memory, most, sizeof *e->weight, &r->err) : NULL;
    }
    hd_real *read = e->weight ? hd_host_take(r, hd_count_of(offer->t) * sizeof *read) : NULL;
    float *to = read ? hd_arena_array(&a->memory, rows * e->count, sizeof *to, &r->err) : NULL;
    if (!to || !hd_read(r, offer->t, read)) return;
    for (size_t i = 0; i < rows * e->count; i++) to[i] = (float)read[i];
    e->layer[e->layers] = layer, e->weight[e->layers++] = to;
}
