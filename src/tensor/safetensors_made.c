/* Tensors whose numbers lie in no file as they are: what is read as a safetensors file, but made one tensor
   at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/safetensors_parts.h"

static hd_status fill(hd_safetensors *s, const hd_named *entries, size_t count, hd_err *err)
{
    s->entry = hd_mem_array(count + 1, sizeof *s->entry);
    s->shapes = hd_mem_array(count * HD_RANK + 1, sizeof *s->shapes);
    if (!s->entry || !s->shapes) return hd_err_nomem(err, count * sizeof *s->entry);
    for (; s->count < count; s->count++) {
        const hd_tensor *t = entries[s->count].tensor;
        size_t *shape = s->shapes + s->count * HD_RANK;
        for (int d = 0; d < t->rank; d++) shape[d] = t->shape[d];
        hd_entry *e = &s->entry[s->count];
        *e = (hd_entry){.name = entries[s->count].name,
                        .type = "F32",
                        .known = true,
                        .dtype = HD_F32,
                        .rank = t->rank,
                        .shape = shape,
                        .count = hd_count_of(t),
                        .bytes = hd_count_of(t) * sizeof(float),
                        .made = s->count};
    }
    qsort(s->entry, count, sizeof *s->entry, hd_entry_by_name);
    for (size_t i = 1; i < count; i++)
        if (!strcmp(s->entry[i].name, s->entry[i - 1].name))
            return hd_err_set(err, HD_EFORMAT, "%s: tensor '%" HD_SAFETENSORS_SHOWN "' is there twice",
                              s->file, s->entry[i].name);
    return HD_OK;
}

hd_status hd_safetensors_made(hd_safetensors **out, const char *name, const hd_named *entries, size_t count,
                              hd_fetch_fn *fetch, void *context, hd_err *err)
{
    hd_safetensors *s = hd_mem_zero(sizeof *s);
    if (!s) return hd_err_nomem(err, sizeof *s);
    hd_arena_init(&s->arena, hd_allocator_host, 0);
    s->fetch = fetch, s->context = context, s->file = hd_mem_text(name);
    hd_status status = s->file ? fill(s, entries, count, err) : hd_err_nomem(err, strlen(name));
    if (status)
        hd_safetensors_free(s);
    else
        *out = s;
    return status;
}

hd_status hd_safetensors_make(const hd_safetensors *s, const hd_entry *e, float *to, hd_err *err)
{
    return s->fetch(s->context, e->made, to, err);
}
