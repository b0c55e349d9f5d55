/* Parameters in safetensors files. In memory a weight is always [out, in]; a transposed one is turned on the
 * way. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "nn/param.h"

static void turn(hd_real *to, const hd_real *from, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) to[j * rows + i] = from[i * cols + j];
}

/* The shape in the file: turned round for transposed ones. */
static hd_tensor file_shape(const hd_param *one, hd_real *data)
{
    size_t shape[2] = {one->t.shape[0], one->t.rank == 2 ? one->t.shape[1] : 0};
    if (one->transposed) shape[0] = one->t.shape[1], shape[1] = one->t.shape[0];
    return hd_shaped(data, HD_REAL, one->t.rank, shape);
}

static const hd_entry *find(const hd_params *p, const hd_safetensors *s, const char *name)
{
    const hd_entry *e = hd_safetensors_find(s, name);
    if (e || !p->prefix) return e;
    char longer[512];
    snprintf(longer, sizeof longer, "%s%s", p->prefix, name);
    return hd_safetensors_find(s, longer);
}

static const hd_entry *find_any_name(const hd_params *p, const hd_safetensors *s, const hd_param *one)
{
    const hd_entry *e = find(p, s, one->name);
    for (size_t i = 0; !e && i < p->count; i++)
        if (p->list[i]->alias == one) e = find(p, s, p->list[i]->name);
    return e;
}

/* The first of the files that has it; where none has, the first of all, which the message names. */
static const hd_safetensors *find_file(const hd_params *p, const hd_safetensors *const *file, size_t files,
                                       const hd_param *one, const hd_entry **e)
{
    for (size_t i = 0; i < files; i++)
        if ((*e = find_any_name(p, file[i], one))) return file[i];
    return *e = NULL, file[0];
}

hd_status hd_params_load_all(hd_params *p, const hd_safetensors *const *file, size_t files, hd_err *err)
{
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (!one->name || one->alias || one->fresh) continue;
        size_t count = hd_count_of(&one->t);
        hd_real *x = hd_mem_array(2 * count, sizeof *x);
        if (!x) return hd_err_nomem(err, 2 * count * sizeof *x);
        hd_tensor to = file_shape(one, x);
        const hd_entry *e;
        const hd_safetensors *s = find_file(p, file, files, one, &e);
        hd_status st =
            e || !one->optional ? hd_safetensors_load(s, e ? e->name : one->name, &to, err) : HD_OK;
        if (one->transposed) turn(x + count, x, hd_rows_of(&to), hd_cols_of(&to));
        if (!st) st = hd_params_set(p, one, one->transposed ? x + count : x);
        hd_mem_free(x);
        if (st) return st;
    }
    return HD_OK;
}

hd_status hd_params_load(hd_params *p, const hd_safetensors *s, hd_err *err)
{
    return hd_params_load_all(p, &s, 1, err);
}

hd_status hd_params_save(const hd_params *p, const char *path, const hd_meta *meta, size_t metas, hd_err *err)
{
    size_t n = 0, numbers = 0, at = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i]->name && !p->list[i]->alias) numbers += hd_count_of(&p->list[i]->t);
    hd_named *entry = hd_mem_array(p->count + 1, sizeof *entry);
    hd_tensor *shape = hd_mem_array(p->count + 1, sizeof *shape);
    hd_real *x = hd_mem_array(2 * numbers + 1, sizeof *x);
    hd_status st = entry && shape && x ? HD_OK : hd_err_nomem(err, 2 * numbers * sizeof *x);
    for (size_t i = 0; !st && i < p->count; i++) {
        const hd_param *one = p->list[i];
        if (!one->name || one->alias) continue;
        size_t count = hd_count_of(&one->t);
        hd_real *values = x + at;
        hd_params_get(p, one, &one->t, values);
        if (one->transposed)
            turn(x + numbers + at, values, hd_rows_of(&one->t), hd_cols_of(&one->t)),
                values = x + numbers + at;
        shape[n] = file_shape(one, values);
        entry[n] = (hd_named){one->name, &shape[n]};
        at += count, n++;
    }
    if (!st) st = hd_safetensors_save(path, entry, n, meta, metas, err);
    hd_mem_free(x);
    hd_mem_free(shape);
    hd_mem_free(entry);
    return st;
}
