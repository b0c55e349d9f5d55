/* LoRA. Easy to get wrong: queries, keys and values are one product and three layers by name, so what is
   added goes to some columns of its result. */
#include "nn/block/lora.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define WEIGHT ".weight"

enum { MOST_PARTS = 3 };

/* -- targets -- */

/* The name of a linear layer that something can be added to, without the end of its weight's; 0: it is none.
 */
static size_t layer_name(const hd_param *one)
{
    const hd_param *owner = one->whole ? one->whole : one;
    size_t size = one->name ? strlen(one->name) : 0, end = strlen(WEIGHT);
    bool linear = one->name && !one->alias && !one->adapter && !owner->grouped && owner->matrix[0] &&
                  one->t.rank == 2 && size > end;
    return linear && !strcmp(one->name + size - end, WEIGHT) ? size - end : 0;
}

/* As peft compares: the whole name, or its end behind a dot. */
static bool ends_with(const char *name, size_t size, const char *target, size_t length)
{
    return length && size >= length && !memcmp(name + size - length, target, length) &&
           (size == length || name[size - length - 1] == '.');
}

/* The target that names it, by its place in the list; -1: none does. */
static int target_of(const char *targets, const char *name, size_t size)
{
    int i = 0;
    for (const char *at = targets; *at; i++) {
        size_t length = strcspn(at, ",");
        if (ends_with(name, size, at, length)) return i;
        at += length + (at[length] == ',');
    }
    return -1;
}

/* The last parts of the names of all linear layers, each once. */
static void put_layers(hd_text *to, const hd_params *p)
{
    for (size_t i = 0; i < p->count; i++) {
        const char *name = p->list[i]->name;
        size_t size = layer_name(p->list[i]);
        if (!size) continue;
        size_t from = size;
        while (from && name[from - 1] != '.') from--;
        if (to->size && target_of(to->data, name, size) >= 0) continue;
        hd_text_print(to, "%s%.*s", to->size ? "," : "", (int)(size - from), name + from);
    }
}

static hd_status check_targets(const hd_params *p, const char *targets, hd_err *err)
{
    int i = 0;
    for (const char *at = targets; *at; i++) {
        size_t length = strcspn(at, ",");
        bool found = false;
        for (size_t k = 0; !found && k < p->count; k++) {
            size_t size = layer_name(p->list[k]);
            found = size && ends_with(p->list[k]->name, size, at, length);
        }
        hd_text layers = {0};
        if (!found) put_layers(&layers, p);
        if (!found)
            hd_err_set(err, HD_EARG, "no linear layer is called '%.*s': there are %s", (int)length, at,
                       layers.data ? layers.data : "none");
        hd_text_release(&layers);
        if (!found) return HD_EARG;
        at += length + (at[length] == ',');
    }
    return i ? HD_OK : hd_err_set(err, HD_EARG, "LoRA has no targets: name linear layers, or all");
}

/* -- making -- */

static void add_to(hd_params *p, hd_param *one, size_t size, const hd_lora_opt *o)
{
    const hd_init thin = {HD_INIT_TORCH, 1, 0}, zero = {HD_INIT_ZERO, 0, 0};
    const char *prefix = p->prefix ? p->prefix : "", *name = one->name;
    size_t rank = (size_t)o->rank, out = hd_rows_of(&one->t), in = hd_cols_of(&one->t);
    hd_lora *l = p->err.status ? NULL : hd_mem_zero(sizeof *l);
    if (!l) {
        if (!p->err.status) hd_err_nomem(&p->err, sizeof *l);
        return;
    }
    *l = (hd_lora){.row = one->row, .scale = (float)(o->alpha / o->rank), .dropout = o->dropout};
    l->a = hd_param_add(p, rank, in, thin, "base_model.model.%s%.*s.lora_A.weight", prefix, (int)size, name);
    l->b = hd_param_add(p, out, rank, zero, "base_model.model.%s%.*s.lora_B.weight", prefix, (int)size, name);
    if (l->a && l->b) l->a->adapter = l->b->adapter = true;
    hd_param_matrices(l->a, rank, 0, 0), hd_param_matrices(l->b, out, 0, 0);
    hd_lora **end = one->whole ? &one->whole->lora : &one->lora;
    while (*end) end = &(*end)->next;
    *end = l;
}

hd_status hd_lora_add(hd_params *p, const hd_lora_opt *o, hd_err *err)
{
    if (p->err.status) return hd_err_set(err, p->err.status, "%s", p->err.text);
    if (o->rank < 1 || o->rank > HD_LORA_MOST_RANK || !(o->alpha > 0))
        return hd_err_set(err, HD_EARG, "LoRA of rank %d and alpha %g: the rank is 1 to %d, alpha above 0",
                          o->rank, o->alpha, HD_LORA_MOST_RANK);
    bool all = !strcmp(o->targets, "all");
    hd_status s = all ? HD_OK : check_targets(p, o->targets, err);
    size_t count = p->count;
    for (size_t i = 0; !s && i < count; i++) {
        hd_param *one = p->list[i];
        size_t size = layer_name(one);
        one->trainable = false;
        if (one->name) one->moving = false;
        if (size && (all || target_of(o->targets, one->name, size) >= 0)) add_to(p, one, size, o);
    }
    p->files = HD_FILES_ADAPTER;
    return s || !p->err.status ? s : hd_err_set(err, p->err.status, "%s", p->err.text);
}

void hd_lora_free(hd_lora *l)
{
    while (l) {
        hd_lora *next = l->next;
        hd_mem_free(l);
        l = next;
    }
}

/* -- running -- */

static const hd_lora *lora_of(const hd_param *w)
{
    return w ? w->whole ? w->whole->lora : w->lora : NULL;
}

/* Whether all that it is added to are rows of w. */
static bool is_inside(const hd_lora *l, const hd_param *w)
{
    return l->row >= w->row && l->row + hd_rows_of(&l->b->t) <= w->row + hd_rows_of(&w->t);
}

bool hd_lora_at(const hd_param *w)
{
    for (const hd_lora *l = lora_of(w); l; l = l->next)
        if (is_inside(l, w)) return true;
    return false;
}

hd_tensor *hd_lora_linear(hd_run *r, hd_rows x, hd_param *w, hd_tensor *bias, hd_unary act)
{
    hd_low_rank part[MOST_PARTS];
    size_t parts = 0;
    if (!w || !hd_lora_at(w)) return hd_linear(r, x.t, w ? &w->t : NULL, bias, act);
    for (const hd_lora *l = lora_of(w); l; l = l->next) {
        if (!is_inside(l, w) || parts == MOST_PARTS) continue;
        hd_tensor *in = l->dropout > 0 ? hd_dropout(r, x.t, l->dropout, x.seg) : x.t,
                  *h = hd_scale(r, hd_linear(r, in, &l->a->t, NULL, HD_IDENTITY), l->scale);
        part[parts++] = (hd_low_rank){h, &l->b->t, l->row - w->row};
    }
    hd_tensor *y = hd_linear_low_rank(r, x.t, &w->t, bias, part, parts);
    return act == HD_IDENTITY ? y : hd_apply(r, y, act);
}

/* -- merging -- */

/* Rows of `to` [out, in] += scale * b [out, rank] a [rank, in], in double. */
static void add_product(hd_real *to, const hd_real *a, const hd_real *b, double scale, const size_t size[3],
                        double *sum)
{
    size_t out = size[0], in = size[1], rank = size[2];
    for (size_t i = 0; i < out; i++) {
        for (size_t j = 0; j < in; j++) sum[j] = 0;
        for (size_t k = 0; k < rank; k++) {
            double factor = scale * (double)b[i * rank + k];
            const hd_real *row = a + k * in;
            for (size_t j = 0; j < in; j++) sum[j] += factor * (double)row[j];
        }
        for (size_t j = 0; j < in; j++) to[i * in + j] = (hd_real)((double)to[i * in + j] + sum[j]);
    }
}

static hd_status merge_one(hd_params *p, hd_param *w, const hd_lora *l, hd_err *err)
{
    const size_t out = hd_rows_of(&l->b->t), in = hd_cols_of(&l->a->t), rank = hd_rows_of(&l->a->t),
                 all = out * in + rank * (in + out), size[3] = {out, in, rank};
    hd_real *host = hd_mem_array(all, sizeof *host);
    double *sum = hd_mem_array(in, sizeof *sum);
    hd_status s = host && sum ? HD_OK : hd_err_nomem(err, all * sizeof *host);
    if (!s) {
        hd_param rows = {.t = hd_view_rows(&w->t, l->row, out)};
        hd_real *a = host + out * in, *b = a + rank * in;
        p->backend->download(p->backend, host, rows.t.data, out * in * sizeof *host);
        p->backend->download(p->backend, a, l->a->t.data, rank * in * sizeof *host);
        p->backend->download(p->backend, b, l->b->t.data, rank * out * sizeof *host);
        add_product(host, a, b, (double)l->scale, size, sum);
        if (!hd_all_finite(host, out * in))
            s = hd_err_set(err, HD_ENUMBER, "%s: with it the weight is not a number: the adapter is damaged",
                           l->b->name);
        if (!s) s = hd_params_set(p, &rows, host);
    }
    hd_mem_free(sum), hd_mem_free(host);
    return s;
}

hd_status hd_lora_merge(hd_params *p, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < p->count; i++) {
        hd_param *w = p->list[i];
        for (const hd_lora *l = w->lora; !s && l; l = l->next) s = merge_one(p, w, l, err);
        if (!s) hd_lora_free(w->lora), w->lora = NULL;
    }
    if (!s) p->files = HD_FILES_BASE;
    return s;
}
