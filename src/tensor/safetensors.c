/* The entries of an open file: looked up, compared with the expected tensor, and read. */
#include "tensor/safetensors_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file/checksum.h"
#include "base/mem.h"

#define SHOWN HD_SAFETENSORS_SHOWN

int hd_entry_by_name(const void *a, const void *b)
{
    return strcmp(((const hd_entry *)a)->name, ((const hd_entry *)b)->name);
}

void hd_safetensors_free(hd_safetensors *s)
{
    if (!s) return;
    hd_arena_release(&s->arena);
    hd_map_close(&s->map);
    hd_mem_free(s->shapes);
    hd_mem_free(s->entry);
    hd_mem_free(s->file);
    hd_mem_free(s);
}

const char *hd_safetensors_file(const hd_safetensors *s)
{
    return s->file;
}

size_t hd_safetensors_count(const hd_safetensors *s)
{
    return s->count;
}

const hd_entry *hd_safetensors_at(const hd_safetensors *s, size_t i)
{
    return i < s->count ? &s->entry[i] : NULL;
}

const hd_entry *hd_safetensors_find(const hd_safetensors *s, const char *name)
{
    return s->count
               ? bsearch(&(hd_entry){.name = name}, s->entry, s->count, sizeof *s->entry, hd_entry_by_name)
               : NULL;
}

const char *hd_safetensors_meta(const hd_safetensors *s, const char *key)
{
    return json_string_value(json_object_get(json_object_get(s->root, HD_SAFETENSORS_META), key));
}

hd_status hd_safetensors_match(const hd_entry **out, const hd_safetensors *s, const char *name,
                               const hd_tensor *to, hd_err *err)
{
    char have[128], want[128];
    const hd_entry *e = hd_safetensors_find(s, name);
    if (!e) return hd_err_set(err, HD_EFORMAT, "%s: has no tensor '%" SHOWN "'", s->file, name);
    if (!e->known)
        return hd_err_set(err, HD_EMISSING, "%s: tensor '%" SHOWN "': type %s cannot be converted", s->file,
                          name, e->type);
    hd_tensor from =
        hd_shaped(NULL, e->dtype, e->rank, e->shape); /* its first dimensions, if there are too many */
    if (e->rank != to->rank || !hd_same_shape(&from, to))
        return hd_err_set(err, HD_ESHAPE, "%s: tensor '%" SHOWN "' has shape %s%s, %s is wanted", s->file,
                          name, hd_shape_text(&from, have, sizeof have), e->rank > HD_RANK ? "..." : "",
                          hd_shape_text(to, want, sizeof want));
    if (hd_dtype_is_float(e->dtype) != hd_dtype_is_float(to->dtype))
        return hd_err_set(err, HD_EFORMAT, "%s: tensor '%" SHOWN "' is of type %s, %s", s->file, name,
                          e->type,
                          hd_dtype_is_float(to->dtype) ? "and weights are F32, BF16, F16 or F64"
                                                       : "and integers are wanted");
    *out = e;
    return HD_OK;
}

/* Pages that were read are dropped: a file may be larger than memory. */
static uint32_t checksum_on(const hd_safetensors *s, uint32_t before, const uint8_t *from, const uint8_t *end)
{
    enum { SLICE = 1 << 24 };
    for (size_t size; from < end; from += size) {
        size = (size_t)(end - from) < SLICE ? (size_t)(end - from) : SLICE;
        before = hd_checksum(before, from, size);
        hd_map_forget(&s->map, from, size);
    }
    return before;
}

hd_status hd_safetensors_verify(const hd_safetensors *s, bool *known, hd_err *err)
{
    static const char zeros[] = "00000000";
    const char *wanted = hd_safetensors_meta(s, HD_CHECKSUM_KEY);
    const uint8_t *all = s->data, *end = s->data + s->size;
    char sum[HD_CHECKSUM_TEXT], place[64];
    *known = wanted;
    if (!wanted) return HD_OK;
    snprintf(place, sizeof place, "\"" HD_CHECKSUM_KEY "\":\"%.16s\"", wanted);
    all -= s->header + HD_SAFETENSORS_LENGTH;
    const uint8_t *at = memmem(all, (size_t)(s->data - all), place, strlen(place));
    if (!at || strlen(wanted) != strlen(zeros))
        return hd_err_set(err, HD_EFORMAT, "%s: its checksum '%.16s' is not where heed writes it", s->file,
                          wanted);
    at += strlen("\"" HD_CHECKSUM_KEY "\":\"");
    uint32_t c = hd_checksum(hd_checksum(0, all, (size_t)(at - all)), zeros, strlen(zeros));
    c = checksum_on(s, c, at + strlen(zeros), end);
    if (!strcmp(hd_checksum_text(c, sum), wanted)) return HD_OK;
    return hd_err_set(err, HD_EFORMAT,
                      "%s: is damaged: its checksum is %s, not %s: copy it again from where it is whole",
                      s->file, sum, wanted);
}

void hd_safetensors_forget(const hd_safetensors *s, const void *from, size_t bytes)
{
    if (!s->fetch) hd_map_forget(&s->map, from, bytes);
}

hd_status hd_safetensors_load(const hd_safetensors *s, const char *name, const hd_tensor *to, hd_err *err)
{
    const hd_entry *e;
    hd_status status = hd_safetensors_match(&e, s, name, to, err);
    if (status) return status;
    if (!hd_is_dense(to))
        return hd_err_set(err, HD_EARG, "%s: tensor '%" SHOWN "': the target's rows are strided", s->file,
                          name);
    hd_convert(to->data, to->dtype, e->data, e->dtype, e->count);
    return HD_OK;
}
