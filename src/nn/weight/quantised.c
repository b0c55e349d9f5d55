/* Files with weights of int8, and the factors of their columns. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "nn/weight/form.h"
#include "tensor/int8.h"

hd_status hd_param_columns(float **out, const hd_param *owner, const hd_real *value, size_t stride,
                           hd_err *err)
{
    const size_t rows = hd_rows_of(&owner->t), cols = hd_cols_of(&owner->t);
    if (owner->grouped || !rows || !cols) return HD_OK;
    float *columns = *out = hd_mem_array(cols, sizeof *columns);
    double *sums = hd_mem_array(cols, sizeof *sums);
    if (!columns || !sums) return hd_mem_free(sums), hd_err_nomem(err, cols * sizeof *sums);
    for (size_t c = 0; c < cols; c++) columns[c] = INFINITY;
    for (size_t row = 0, i = 0, high; row < rows; row += high, i = (i + 1) % HD_PARAM_MATRICES) {
        high = owner->matrix[0] ? owner->matrix[i] : rows;
        high = high < rows - row ? high : rows - row;
        if (high) hd_int8_columns(columns, value + row * stride, stride, high, cols, sums);
    }
    hd_mem_free(sums);
    return HD_OK;
}

typedef enum kind { AS_IT_IS, BYTES, REST, SCALES, COLUMNS, SHORTER } kind;

typedef struct written { /* an entry of the file */
    const hd_param *one;
    kind kind;
    char *name;     /* of what lies beside it; NULL: that of the parameter */
    float *columns; /* factors, or NULL */
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
    if (w->kind == COLUMNS) return memcpy(to, w->columns, cols * sizeof *w->columns), HD_OK;
    if (w->kind == SHORTER) return hd_convert(to, HD_BF16, t->data, HD_REAL, hd_count_of(t)), HD_OK;
    for (size_t r = 0; r < rows; r++) {
        const hd_real *x = (const hd_real *)t->data + r * t->stride;
        const hd_int8_scale scale = hd_int8_scale_of(x, w->columns, cols);
        int8_t *q = (int8_t *)to + r * cols;
        if (w->kind == SCALES) ((float *)to)[r] = scale.scale;
        for (size_t l = 0; w->kind != SCALES && l < cols; l++) {
            const float y = hd_int8_divided(x[l], w->columns ? w->columns + l : NULL);
            q[l] = hd_int8_rounded(y, scale.inverse);
            if (w->kind == REST) q[l] = hd_int8_left(y, scale.inverse, q[l]);
        }
    }
    return HD_OK;
}

static kind kind_of(const hd_param *one)
{
    const hd_param *owner = one->whole ? one->whole : one;
    if (owner->table && !one->transposed && one->t.rank == 2) return SHORTER;
    return owner->product && one->t.rank == 2 && hd_cols_of(&one->t) <= HD_INT8_DEPTH ? BYTES : AS_IT_IS;
}

static hd_status add_beside(writing *w, const written *of, kind k, const char *behind, hd_err *err)
{
    const size_t bytes = strlen(of->one->name) + strlen(behind) + 1,
                 count[2] = {k == COLUMNS ? 1 : hd_rows_of(&of->one->t),
                             k == SCALES ? 1 : hd_cols_of(&of->one->t)};
    char *name = hd_mem_new(bytes);
    if (!name) return hd_err_nomem(err, bytes);
    snprintf(name, bytes, "%s%s", of->one->name, behind);
    w->entry[w->count] = (written){of->one, k, name, of->columns};
    w->shape[w->count] = hd_shaped(NULL, k == REST ? HD_I8 : HD_F32, 2, count);
    w->named[w->count] = (hd_named){name, &w->shape[w->count]};
    w->count++;
    return HD_OK;
}

static hd_status add(writing *w, const hd_param *one, hd_err *err)
{
    const hd_param *owner = one->whole ? one->whole : one;
    const kind k = kind_of(one);
    hd_tensor *shape = &w->shape[w->count];
    written *entry = &w->entry[w->count];
    *entry = (written){.one = one, .kind = k};
    *shape = k == BYTES ? hd_shaped(NULL, HD_I8, 2, one->t.shape) : hd_param_in_file(one);
    if (k == SHORTER) shape->dtype = HD_BF16;
    w->named[w->count++] = (hd_named){one->name, shape};
    if (k != BYTES) return HD_OK;
    hd_status st = hd_param_columns(&entry->columns, owner, owner->t.data, owner->t.stride, err);
    if (!st) st = add_beside(w, entry, SCALES, HD_ROW_SCALE, err);
    if (!st && entry->columns) st = add_beside(w, entry, COLUMNS, HD_COLUMN_SCALE, err);
    return st || !entry->columns || !owner->fine ? st : add_beside(w, entry, REST, HD_SECOND_LINE, err);
}

static void free_entry(const written *e)
{
    hd_mem_free(e->name);
    if (e->kind == BYTES) hd_mem_free(e->columns);
}

hd_status hd_params_save_int8(const hd_params *p, const char *path, const hd_meta *meta, size_t metas,
                              hd_err *err)
{
    const size_t most = 4 * p->count + 1;
    writing w = {p, hd_mem_array(most, sizeof *w.entry), hd_mem_array(most, sizeof *w.shape),
                 hd_mem_array(most, sizeof *w.named), 0};
    hd_status st = w.entry && w.shape && w.named ? HD_OK : hd_err_nomem(err, most * sizeof *w.shape);
    for (size_t i = 0; !st && i < p->count; i++)
        if (hd_params_has(p, p->list[i])) st = add(&w, p->list[i], err);
    if (!st) st = hd_safetensors_save_fetched(path, w.named, w.count, meta, metas, fetch, &w, err);
    for (size_t i = 0; w.entry && i < w.count; i++) free_entry(&w.entry[i]);
    hd_mem_free(w.entry);
    hd_mem_free(w.shape);
    hd_mem_free(w.named);
    return st;
}
