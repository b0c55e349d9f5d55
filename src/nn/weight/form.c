/* Weights that are packed from the file, and weights of int8. Easy to get wrong: a product may read several
   tensors of a file as one, so that rows are gathered by the owner of the storage. */
#include "nn/weight/form.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/int8.h"

#define LEAST_COLUMN 0x1p-20f /* less than any that is written; numbers divided by it stay finite */

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

static float scale_at(const uint8_t *scale, size_t row)
{
    float x;
    memcpy(&x, scale + row * sizeof x, sizeof x);
    return x;
}

/* The scales of its rows or of its columns, which files may lack that were written before columns had any. */
static hd_status find_scale(const hd_entry **out, const hd_safetensors *s, const hd_entry *e, bool of_columns,
                            hd_err *err)
{
    const size_t count = e->shape[of_columns];
    char name[512];
    snprintf(name, sizeof name, "%s%s", e->name, of_columns ? HD_COLUMN_SCALE : HD_ROW_SCALE);
    const hd_entry *scale = *out = hd_safetensors_find(s, name);
    if (!scale && of_columns) return HD_OK;
    if (!scale || !scale->known || scale->dtype != HD_F32 || !scale->data || scale->count != count)
        return hd_err_set(
            err, HD_EFORMAT,
            "%s: tensor '%.120s' is int8, but there is no '%.130s' of f32 with a scale for each "
            "of its %zu %s",
            hd_safetensors_file(s), e->name, name, count, of_columns ? "columns" : "rows");
    for (size_t i = 0; i < count; i++) {
        const float x = scale_at(scale->data, i);
        if (!isfinite(x) || x < 0 || (of_columns && x < LEAST_COLUMN))
            return hd_err_set(err, HD_ENUMBER, "%s: tensor '%.130s': scale %zu is %g, the file is damaged",
                              hd_safetensors_file(s), name, i, (double)x);
    }
    return HD_OK;
}

static hd_status check_bytes(const hd_safetensors *s, const hd_entry *e, hd_err *err)
{
    if (!e || !e->count || !memchr(e->data, 0x80, e->count)) return HD_OK;
    return hd_err_set(err, HD_ENUMBER, "%s: tensor '%.120s' holds -128: numbers of int8 go from -127 to 127",
                      hd_safetensors_file(s), e->name);
}

static hd_status find_rest(const hd_entry **out, const hd_safetensors *s, const hd_entry *e, hd_err *err)
{
    char name[512];
    snprintf(name, sizeof name, "%s%s", e->name, HD_SECOND_LINE);
    const hd_entry *rest = *out = hd_safetensors_find(s, name);
    if (rest && (!rest->known || rest->dtype != HD_I8 || !rest->data || rest->count != e->count))
        return hd_err_set(err, HD_EFORMAT,
                          "%s: tensor '%.130s' is not int8 with a number for each of '%.120s'",
                          hd_safetensors_file(s), name, e->name);
    return check_bytes(s, rest, err);
}

/* Values in f32, for backends that do not multiply int8. */
static hd_status load_values(hd_params *p, hd_param *one, const hd_entry *e, hd_err *err)
{
    const hd_entry *scale = one->scale, *columns = one->columns, *rest = one->rest;
    const size_t cols = hd_cols_of(&one->t), bytes = e->count * sizeof(hd_real);
    hd_real *to = p->backend->team ? one->t.data : hd_mem_new(bytes);
    if (!to) return hd_err_nomem(err, bytes);
    for (size_t i = 0; i < e->count; i++)
        to[i] = ((hd_real)(int8_t)e->data[i] + (rest ? (hd_real)(int8_t)rest->data[i] / HD_INT8_PARTS : 0)) *
                (hd_real)scale_at(scale->data, i / cols) *
                (columns ? (hd_real)scale_at(columns->data, i % cols) : 1);
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
    hd_param *owner = hd_param_owner(one);
    p->quantized = true;
    if (p->grad)
        return hd_err_set(err, HD_EARG,
                          "%s: weights of int8 are for inference only: train the model that was quantised",
                          hd_safetensors_file(s));
    hd_status st = check_shape(one, s, e, err);
    if (!st) st = find_scale(&one->scale, s, e, false, err);
    if (!st) st = find_scale(&one->columns, s, e, true, err);
    if (!st) st = check_bytes(s, e, err);
    if (!st) st = find_rest(&one->rest, s, e, err);
    if (!st && may_stay(p, owner, e)) {
        one->lies = e, owner->late = true;
    } else {
        if (!st) st = load_values(p, one, e, err);
        one->scale = one->columns = one->rest = NULL;
    }
    hd_safetensors_forget(s, e->data, e->bytes);
    return st;
}

/* -- preparing -- */

typedef struct gathered { /* rows of a product */
    size_t first, count, found, cols;
    hd_real *value;             /* [count, cols], or */
    const int8_t **row, **rest; /* rows of int8, and second lines */
    float *scale, *columns;
    bool evened, fine; /* columns, second lines are known: of all tensors of a product, columns the same, or
                          of none */
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

static void gather_columns(gathered *g, const hd_param *one)
{
    const size_t bytes = g->cols * sizeof *g->columns;
    if (g->found &&
        (g->evened != !!one->columns || (g->evened && memcmp(g->columns, one->columns->data, bytes))))
        g->status = HD_EFORMAT;
    else if (g->found && g->fine != !!one->rest)
        g->status = HD_EFORMAT;
    else if (!g->found && one->columns)
        memcpy(g->columns, one->columns->data, bytes), g->evened = true;
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
    if (g->row && one->scale) gather_columns(g, one), g->fine = one->rest;
    for (size_t i = begin; g->row && one->scale && i < end; i++) {
        g->row[at + i - begin] = (const int8_t *)one->lies->data + i * g->cols;
        g->scale[at + i - begin] = scale_at(one->scale->data, i);
        if (one->rest) g->rest[at + i - begin] = (const int8_t *)one->rest->data + i * g->cols;
    }
    g->found += end - begin;
}

static hd_status gather_all(gathered *g, hd_params *p, const hd_param *owner, hd_err *err)
{
    gather(g, p, owner, err);
    for (const hd_param *part = owner->part; part; part = part->next) gather(g, p, part, err);
    if (g->status == HD_EFORMAT || (!g->status && g->found < g->count))
        return hd_err_set(err, HD_EFORMAT,
                          "%s: tensors that are read as one product are not of one type, or scales of their "
                          "columns differ, "
                          "or not all have second lines",
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
    if (one->rest) hd_safetensors_forget(p->file, one->rest->data, one->rest->bytes);
}

static hd_status prepare_int8(hd_params *p, hd_param *one, gathered *g, hd_err *err)
{
    const hd_param *owner = hd_param_owner(one);
    g->row = hd_mem_array(g->count, sizeof *g->row), g->rest = hd_mem_array(g->count, sizeof *g->rest);
    g->scale = hd_mem_array(g->count, sizeof *g->scale);
    g->columns = hd_mem_array(g->cols, sizeof *g->columns);
    if (!g->row || !g->rest || !g->scale || !g->columns) return hd_err_nomem(err, g->count * sizeof *g->row);
    hd_status st = gather_all(g, p, owner, err);
    const hd_int8_weight q = {g->row, g->scale, g->evened ? g->columns : NULL, g->fine, g->rest};
    if (!st && p->backend->prepare_int8(p->backend, &one->t, &q)) st = hd_err_nomem(err, g->count * g->cols);
    forget(p, owner);
    for (const hd_param *part = owner->part; part; part = part->next) forget(p, part);
    return st;
}

/* Factors of the columns of its owner, of which `part` has been read. */
static hd_status read_columns(float **out, hd_params *p, const hd_param *owner, const gathered *part,
                              hd_err *err)
{
    gathered all = {.count = hd_rows_of(&owner->t), .cols = part->cols};
    if (owner->grouped) return HD_OK;
    if (part->count == all.count) return hd_param_columns(out, owner, part->value, all.cols, err);
    all.value = hd_mem_array(all.count, all.cols * sizeof *all.value);
    hd_status st = all.value ? gather_all(&all, p, owner, err)
                             : hd_err_nomem(err, all.count * all.cols * sizeof *all.value);
    if (!st) st = hd_param_columns(out, owner, all.value, all.cols, err);
    hd_mem_free(all.value);
    return st;
}

static hd_status prepare_form(hd_params *p, hd_param *one, hd_use use, const float *columns)
{
    if (!columns) return p->backend->prepare(p->backend, &one->t, use);
    return p->backend->prepare_int8(p->backend, &one->t,
                                    &(hd_int8_weight){.columns = columns, .fine = hd_param_owner(one)->fine});
}

/* Through a copy in f32, which is all that there is of them. What the form cannot hold keeps its values. */
static hd_status prepare_values(hd_params *p, hd_param *one, gathered *g, hd_use use, bool evened,
                                hd_err *err)
{
    hd_real *kept = one->t.data;
    const size_t bytes = g->count * g->cols * sizeof *kept;
    one->t.data = g->value = hd_mem_new(bytes);
    hd_status st = g->value ? gather_all(g, p, hd_param_owner(one), err) : hd_err_nomem(err, bytes);
    if (!st && evened) st = read_columns(&g->columns, p, hd_param_owner(one), g, err);
    if (!st && prepare_form(p, one, use, g->columns)) st = hd_err_nomem(err, bytes);
    one->t.data = kept;
    if (!st && !one->t.prepared) memcpy(kept, g->value, bytes);
    return st;
}

static hd_status prepare_here(hd_params *p, hd_param *one, hd_use use, bool evened, hd_err *err)
{
    const hd_param *owner = hd_param_owner(one);
    float *columns = NULL;
    hd_status st = evened && one->t.data
                       ? hd_param_columns(&columns, owner, owner->t.data, owner->t.stride, err)
                       : HD_OK;
    if (!st && (st = prepare_form(p, one, use, columns)))
        hd_err_set(err, st, "preparing %s: %s", one->name ? one->name : "a weight", hd_status_text(st));
    hd_mem_free(columns);
    return st;
}

hd_status hd_param_prepare(hd_params *p, hd_param *one, hd_use use, bool evened, hd_err *err)
{
    const hd_param *owner = hd_param_owner(one);
    gathered g = {.first = first_row(one), .count = hd_rows_of(&one->t), .cols = hd_cols_of(&one->t)};
    evened &= use != HD_TRAINING && p->backend->weights == HD_I8 && p->backend->prepare_int8;
    if (!owner->late) return prepare_here(p, one, use, evened, err);
    hd_status st =
        is_int8(owner) ? prepare_int8(p, one, &g, err) : prepare_values(p, one, &g, use, evened, err);
    hd_mem_free(g.row);
    hd_mem_free(g.rest);
    hd_mem_free(g.scale);
    hd_mem_free(g.columns);
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
        one->lies = one->scale = one->columns = one->rest = NULL, one->late = false;
    }
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i]->alias && !p->list[i]->alias->t.data) p->list[i]->t.data = NULL;
    hd_safetensors_free(p->file);
    p->file = NULL;
}
