/* safetensors files: mapped for reading, written atomically. A file is hostile until every rule has been
   checked; after hd_safetensors_open every entry's range lies inside the file and its size fits its shape. */
#ifndef HD_TENSOR_SAFETENSORS_H
#define HD_TENSOR_SAFETENSORS_H

#include "base/file/file.h"
#include "tensor/tensor.h"

typedef struct hd_entry {
    const char *name;
    char type[16]; /* as in the file: also types heed knows only by size (F8_E4M3, U16, ...) */
    bool known;    /* dtype is valid: heed can convert it */
    hd_dtype dtype;
    int rank;
    size_t *shape;       /* rank numbers; a file may hold more than HD_RANK dimensions */
    const uint8_t *data; /* inside the mapping, perhaps unaligned; NULL: hd_safetensors_make gives it */
    size_t bytes, count;
    size_t made; /* its number for that */
} hd_entry;

typedef struct hd_safetensors hd_safetensors;

hd_status hd_safetensors_open(hd_safetensors **out, const char *path, hd_err *err);
/* The same over bytes that outlive the result (fuzzing, tests); `name` stands for the path in messages. */
hd_status hd_safetensors_parse(hd_safetensors **out, const void *bytes, size_t size, const char *name,
                               hd_err *err);
/* The same for a dictionary of tensors written by torch.save (pytorch_model.bin). It is read as data:
   anything but tensors is refused. Several entries may share the same bytes. */
hd_status hd_torch_open(hd_safetensors **out, const char *path, hd_err *err);
hd_status hd_torch_parse(hd_safetensors **out, const void *bytes, size_t size, const char *name, hd_err *err);

/* Writes the numbers of entry i, dense. */
typedef hd_status hd_fetch_fn(void *context, size_t i, void *to, hd_err *err);
typedef struct hd_named {
    const char *name;
    const hd_tensor *tensor; /* host memory; rows may be strided */
} hd_named;

/* Tensors that lie in no file as they are: shapes without data, whose numbers `fetch` writes as floats when
   they are wanted. Names and context must outlive the result; `name` stands for the path in messages. */
hd_status hd_safetensors_made(hd_safetensors **out, const char *name, const hd_named *entries, size_t count,
                              hd_fetch_fn *fetch, void *context, hd_err *err);
/* The numbers of an entry without data. */
hd_status hd_safetensors_make(const hd_safetensors *s, const hd_entry *e, float *to, hd_err *err);
void hd_safetensors_free(hd_safetensors *s);

const char *hd_safetensors_file(const hd_safetensors *s); /* its name, for messages */
size_t hd_safetensors_count(const hd_safetensors *s);
const hd_entry *hd_safetensors_at(const hd_safetensors *s, size_t i);           /* sorted by name */
const hd_entry *hd_safetensors_find(const hd_safetensors *s, const char *name); /* NULL when absent */
const char *hd_safetensors_meta(const hd_safetensors *s,
                                const char *key); /* __metadata__; NULL when absent */

/* Entry `name`, which must have the shape of `to` and a type that can be converted to its: a float to a
   float, an integer to an integer. The message names file, tensor and both shapes or types when they differ.
 */
hd_status hd_safetensors_match(const hd_entry **out, const hd_safetensors *s, const char *name,
                               const hd_tensor *to, hd_err *err);
/* Drops these bytes of an entry, which are not needed again (hd_map_forget). */
void hd_safetensors_forget(const hd_safetensors *s, const void *from, size_t bytes);
/* Fills `to` (dense) from entry `name` of a file, with the same checks. */
hd_status hd_safetensors_load(const hd_safetensors *s, const char *name, const hd_tensor *to, hd_err *err);

typedef struct hd_meta {
    const char *key, *value;
} hd_meta;

/* A file saved with this among its metadata has its checksum (CRC-32C of all bytes, with these zeros in
   its place), and hd_safetensors_verify checks that it is still as written. */
#define HD_CHECKSUM_KEY "crc32c"
#define HD_CHECKSUM_META            \
    {                               \
        HD_CHECKSUM_KEY, "00000000" \
    }
/* *known: whether the file has a checksum; without one nothing is checked. */
hd_status hd_safetensors_verify(const hd_safetensors *s, bool *known, hd_err *err);

/* Writes all entries to `path` atomically: wider dtypes first, then by name; header padded to 8 bytes. */
hd_status hd_safetensors_save(const char *path, const hd_named *entries, size_t count, const hd_meta *meta,
                              size_t metas, hd_err *err);

/* The same, with data for tensors without any supplied one at a time: only one has to be in memory. */
hd_status hd_safetensors_save_fetched(const char *path, const hd_named *entries, size_t count,
                                      const hd_meta *meta, size_t metas, hd_fetch_fn *fetch, void *context,
                                      hd_err *err);

#endif
