/* Weights that are packed from the file, and weights of int8. Easy to get wrong: a product may read several
   tensors of a file as one, so that rows are gathered by the owner of the storage. */
#include "nn/weight/form.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/int8.h"

hd_param *hd_param_owner(hd_param *one)
{
    return one->alias ? one->alias : one->whole ? one->whole : one;
}

static size_t first_row(const hd_param *one)
{
    return one->whole ? one->row : 0;
}

/* -- reading -- */

static hd_status check_shape(const hd_param *one, const hd_safetensors *s, const hd_entry *e, hd_err *err)
{
    char wanted[96];
    if (one->t.rank == 2 && e->rank == 2 && e->shape[0] == one->t.shape[0] && e->shape[1] == one->t.shape[1])
        return HD_OK;
    return hd_err_set(err, HD_ESHAPE, "%s: tensor '%.120s' of int8 is not %s, rows of the output first",
                      hd_safetensors_file(s), e->name, hd_shape_text(&one->t, wanted, sizeof wanted));
}

/* The scales of its rows. */
static hd_status find_scale(const hd_entry **out, const hd_safetensors *s, const hd_entry *e, hd_err *err)
{
    char name[512];
    snprintf(name, sizeof name, "%s_scale", e->name);
    const hd_entry *scale = *out = hd_safetensors_find(s, name);
    if (!scale || !scale->known || scale->dtype != HD_F32 || !scale->data || scale->count != e->shape[0])
        return hd_err_set(
            err, HD_EFORMAT,
            "%s: tensor '%.120s' is int8, but there is no '%.130s' of f32 with a scale for each "
            "of its %zu rows",
            hd_safetensors_file(s), e->name, name, e->shape[0]);
    for (size_t i = 0; i < scale->count; i++) {
        float x;
        memcpy(&x, scale->data + i * sizeof x, sizeof x);
        if (!isfinite(x) || x < 0)
            return hd_err_set(err, HD_ENUMBER, "%s: tensor '%.130s': scale %zu is %g, the file is damaged",
                              hd_safetensors_file(s), name, i, (double)x);
    }
    return HD_OK;
}

static float scale_at(const uint8_t *scale, size_t row)
{
    float x;
    memcpy(&x, scale + row * sizeof x, sizeof x);
    return x;
}

/* Values in f32, for backends that do not multiply int8. */
static hd_status load_values(hd_params *p, hd_param *one, const hd_entry *e, const hd_entry *scale,
                             hd_err *err)
{
    const size_t cols = hd_cols_of(&one->t), bytes = e->count * sizeof(hd_real);
    hd_real *to = p->backend->team ? one->t.data : hd_mem_new(bytes);
    if (!to) return hd_err_nomem(err, bytes);
    for (size_t i = 0; i < e->count; i++)
        to[i] = (hd_real)(int8_t)e->data[i] * (hd_real)scale_at(scale->data, i / cols);
    hd_status st = hd_params_set(p, one, to);
    if (!p->backend->team) hd_mem_free(to);
    return st ? hd_err_set(err, st, "the weights: %s", p->backend->error) : HD_OK;
}

/* Whether it may be packed from the file. */
static bool may_stay(hd_params *p, const hd_param *owner, const hd_entry *e)
{
    return p->stays && owner->product && e->shape[1] <= HD_INT8_DEPTH && p->backend->prepare_int8 &&
           p->backend->take_int8(p->backend);
}

hd_status hd_param_read_int8(hd_params *p, hd_param *one, const hd_safetensors *s, const hd_entry *e,
                             hd_err *err)
{
    const hd_entry *scale = NULL;
    hd_param *owner = hd_param_owner(one);
    p->quantized = true;
    if (p->grad)
        return hd_err_set(err, HD_EARG,
                          "%s: weights of int8 are for inference only: train the model that was quantised",
                          hd_safetensors_file(s));
    hd_status st = check_shape(one, s, e, err);
    if (!st) st = find_scale(&scale, s, e, err);
    if (!st && e->count && memchr(e->data, 0x80, e->count))
        st =
            hd_err_set(err, HD_ENUMBER, "%s: tensor '%.120s' holds -128: numbers of int8 go from -127 to 127",
                       hd_safetensors_file(s), e->name);
    if (st) return st;
    if (!may_stay(p, owner, e))
        st = load_values(p, one, e, scale, err);
    else
        one->lies = e, one->scale = scale, owner->late = true;
    hd_safetensors_forget(s, e->data, e->bytes);
    return st;
}

/* -- preparing -- */

typedef struct gathered { /* rows of a product */
    size_t first, count, found, cols;
    hd_real *value;     /* [count, cols], or */
    const int8_t **row; /* rows of int8 */
    float *scale;
    hd_status status;
} gathered;

/* Rows [begin, end) of those that `one` has, which begin at row `at` of the product. */
static hd_status gather_values(gathered *g, hd_params *p, const hd_param *one, size_t begin, size_t end,
                               size_t at, hd_err *err)
{
    hd_real *to = g->value + at * g->cols;
    const size_t rows = hd_rows_of(&one->t);
    if (end - begin == rows) return hd_param_values(p, one, to, p->file, one->lies, err);
    hd_real *all = hd_mem_array(rows, g->cols * sizeof *all);
    hd_status st = all ? hd_param_values(p, one, all, p->file, one->lies, err)
                       : hd_err_nomem(err, rows * g->cols * sizeof *all);
    if (!st) memcpy(to, all + begin * g->cols, (end - begin) * g->cols * sizeof *all);
    hd_mem_free(all);
    return st;
}

/* Rows of `one` that are among them. */
static void gather(gathered *g, hd_params *p, const hd_param *one, hd_err *err)
{
    const size_t first = first_row(one), rows = hd_rows_of(&one->t);
    if (!one->lies || g->status || first + rows <= g->first || first >= g->first + g->count) return;
    const size_t begin = first < g->first ? g->first - first : 0, at = first + begin - g->first,
                 end = first + rows > g->first + g->count ? g->first + g->count - first : rows;
    if (!one->scale != !!g->value)
        g->status = HD_EFORMAT;
    else if (g->value)
        g->status = gather_values(g, p, one, begin, end, at, err);
    for (size_t i = begin; g->row && one->scale && i < end; i++) {
        g->row[at + i - begin] = (const int8_t *)one->lies->data + i * g->cols;
        g->scale[at + i - begin] = scale_at(one->scale->data, i);
    }
    g->found += end - begin;
}

static hd_status gather_all(gathered *g, hd_params *p, const hd_param *owner, hd_err *err)
{
    gather(g, p, owner, err);
    for (const hd_param *part = owner->part; part; part = part->next) gather(g, p, part, err);
    if (g->status == HD_EFORMAT || (!g->status && g->found < g->count))
        return hd_err_set(err, HD_EFORMAT, "%s: tensors that are read as one product are not of one type",
                          hd_safetensors_file(p->file));
    return g->status;
}

/* Whether the rows of a product are int8: those of any tensor of it. */
static bool is_int8(const hd_param *owner)
{
    if (owner->lies) return owner->scale;
    for (const hd_param *part = owner->part; part; part = part->next)
        if (part->lies) return part->scale;
    return false;
}

/* The pages of what was packed are not needed again. */
static void forget(const hd_params *p, const hd_param *one)
{
    if (one->lies) hd_safetensors_forget(p->file, one->lies->data, one->lies->bytes);
}

static hd_status prepare_int8(hd_params *p, hd_param *one, gathered *g, hd_err *err)
{
    const hd_param *owner = hd_param_owner(one);
    g->row = hd_mem_array(g->count, sizeof *g->row), g->scale = hd_mem_array(g->count, sizeof *g->scale);
    if (!g->row || !g->scale) return hd_err_nomem(err, g->count * sizeof *g->row);
    hd_status st = gather_all(g, p, owner, err);
    if (!st && p->backend->prepare_int8(p->backend, &one->t, g->row, g->scale))
        st = hd_err_nomem(err, g->count * g->cols);
    forget(p, owner);
    for (const hd_param *part = owner->part; part; part = part->next) forget(p, part);
    return st;
}

/* Through a copy in f32, which is all that there is of them. What the form cannot hold keeps its values. */
static hd_status prepare_values(hd_params *p, hd_param *one, gathered *g, hd_use use, hd_err *err)
{
    hd_real *kept = one->t.data;
    const size_t bytes = g->count * g->cols * sizeof *kept;
    one->t.data = g->value = hd_mem_new(bytes);
    hd_status st = g->value ? gather_all(g, p, hd_param_owner(one), err) : hd_err_nomem(err, bytes);
    if (!st && p->backend->prepare(p->backend, &one->t, use)) st = hd_err_nomem(err, bytes);
    one->t.data = kept;
    if (!st && !one->t.prepared) memcpy(kept, g->value, bytes);
    return st;
}

hd_status hd_param_prepare(hd_params *p, hd_param *one, hd_use use, hd_err *err)
{
    const hd_param *owner = hd_param_owner(one);
    gathered g = {.first = first_row(one), .count = hd_rows_of(&one->t), .cols = hd_cols_of(&one->t)};
    hd_status st;
    if (!owner->late) {
        st = p->backend->prepare(p->backend, &one->t, use);
        return st ? hd_err_set(err, st, "preparing %s: %s", one->name ? one->name : "a weight",
                               hd_status_text(st))
                  : HD_OK;
    }
    st = is_int8(owner) ? prepare_int8(p, one, &g, err) : prepare_values(p, one, &g, use, err);
    hd_mem_free(g.row);
    hd_mem_free(g.scale);
    hd_mem_free(g.value);
    return st;
}

/* -- dropping -- */

static bool has_form(const hd_param *owner)
{
    if (owner->t.prepared) return true;
    for (const hd_param *part = owner->part; part; part = part->next)
        if (part->t.prepared) return true;
    return false;
}

static void drop_values(hd_param *owner)
{
    hd_mem_clear(owner->t.data, hd_count_of(&owner->t) * sizeof(hd_real));
    owner->t.data = NULL;
    for (hd_param *part = owner->part; part; part = part->next) part->t.data = NULL;
}

void hd_params_drop(hd_params *p, bool values_stay)
{
    const bool gone = p->backend->team && (p->backend->weights != HD_REAL || !values_stay);
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (gone && hd_param_owner(one) == one && one->product && one->t.data && has_form(one))
            drop_values(one);
        one->lies = one->scale = NULL, one->late = false;
    }
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i]->alias && !p->list[i]->alias->t.data) p->list[i]->t.data = NULL;
    hd_safetensors_free(p->file);
    p->file = NULL;
}

/* -- writing -- */

typedef enum kind { AS_IT_IS, BYTES, SCALES, SHORTER } kind;

typedef struct written { /* an entry of the file */
    const hd_param *one;
    kind kind;
    char *name; /* of scales; NULL: that of the parameter */
} written;

typedef struct writing {
    const hd_params *params;
    written *entry;
    hd_tensor *shape;
    hd_named *named;
    size_t count;
} writing;

static hd_status fetch(void *context, size_t i, void *to, hd_err *err)
{
    const writing *from = context;
    const written *w = &from->entry[i];
    const hd_tensor *t = &w->one->t;
    const size_t rows = hd_rows_of(t), cols = hd_cols_of(t);
    if (w->kind == AS_IT_IS) return hd_param_fetch(from->params, w->one, to, err);
    if (w->kind == SHORTER) return hd_convert(to, HD_BF16, t->data, HD_REAL, hd_count_of(t)), HD_OK;
    for (size_t r = 0; r < rows; r++) {
        const hd_real *x = (const hd_real *)t->data + r * t->stride;
        const hd_int8_scale scale = hd_int8_scale_of(x, cols);
        int8_t *q = (int8_t *)to + r * cols;
        if (w->kind == SCALES) ((float *)to)[r] = scale.scale;
        for (size_t l = 0; w->kind == BYTES && l < cols; l++)
            q[l] = hd_int8_rounded((float)x[l], scale.inverse);
    }
    return HD_OK;
}

static kind kind_of(const hd_param *one)
{
    const hd_param *owner = one->whole ? one->whole : one;
    if (owner->table && !one->transposed && one->t.rank == 2) return SHORTER;
    return owner->product && one->t.rank == 2 && hd_cols_of(&one->t) <= HD_INT8_DEPTH ? BYTES : AS_IT_IS;
}

static hd_status add(writing *w, const hd_param *one, kind k, hd_err *err)
{
    const size_t bytes = strlen(one->name) + sizeof "_scale", column[2] = {hd_rows_of(&one->t), 1};
    hd_tensor *shape = &w->shape[w->count];
    written *entry = &w->entry[w->count];
    *entry = (written){one, k, k == SCALES ? hd_mem_new(bytes) : NULL};
    if (k == SCALES && !entry->name) return hd_err_nomem(err, bytes);
    if (k == SCALES) snprintf(entry->name, bytes, "%s_scale", one->name);
    *shape = k == BYTES    ? hd_shaped(NULL, HD_I8, 2, one->t.shape)
             : k == SCALES ? hd_shaped(NULL, HD_F32, 2, column)
                           : hd_param_in_file(one);
    if (k == SHORTER) shape->dtype = HD_BF16;
    w->named[w->count++] = (hd_named){entry->name ? entry->name : one->name, shape};
    return k == BYTES ? add(w, one, SCALES, err) : HD_OK;
}

hd_status hd_params_save_int8(const hd_params *p, const char *path, const hd_meta *meta, size_t metas,
                              hd_err *err)
{
    const size_t most = 2 * p->count + 1;
    writing w = {p, hd_mem_array(most, sizeof *w.entry), hd_mem_array(most, sizeof *w.shape),
                 hd_mem_array(most, sizeof *w.named), 0};
    hd_status st = w.entry && w.shape && w.named ? HD_OK : hd_err_nomem(err, most * sizeof *w.shape);
    for (size_t i = 0; !st && i < p->count; i++)
        if (hd_params_has(p, p->list[i])) st = add(&w, p->list[i], kind_of(p->list[i]), err);
    if (!st) st = hd_safetensors_save_fetched(path, w.named, w.count, meta, metas, fetch, &w, err);
    for (size_t i = 0; w.entry && i < w.count; i++) hd_mem_free(w.entry[i].name);
    hd_mem_free(w.entry);
    hd_mem_free(w.shape);
    hd_mem_free(w.named);
    return st;
}
