/* Writing safetensors files. Easy to get wrong: the order. Wider dtypes come first, so that every tensor
   is aligned to its own dtype; any other order would be valid but slower to read. */
#include "tensor/safetensors_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/file/checksum.h"
#include "base/json.h"
#include "base/file/lines.h"
#include "base/mem.h"

enum { HEADER_MOST = 100000000, LENGTH = 8 };

#define METADATA HD_SAFETENSORS_META
#define SHOWN    HD_SAFETENSORS_SHOWN

typedef struct source {
    hd_fetch_fn *fetch; /* of tensors without data; NULL: all have theirs */
    void *context;
} source;

typedef struct item {
    const char *name;
    const hd_tensor *tensor;
    size_t number;       /* among the caller's */
    size_t width, bytes; /* of one number, of all */
} item;

static int by_width_and_name(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->width != y->width) return x->width > y->width ? -1 : 1;
    return strcmp(x->name, y->name);
}

static hd_status measure(item *to, const hd_named *from, const char *path, hd_err *err)
{
    const hd_tensor *t = from->tensor;
    *to = (item){.name = from->name, .tensor = t, .width = t ? hd_dtype_bytes(t->dtype) : 0};
    if (!to->width || t->rank < 0 || t->rank > HD_RANK || t->stride < hd_cols_of(t))
        return hd_err_set(err, HD_EARG,
                          "%s: tensor '%" SHOWN "' to be saved has no valid type, rank or stride", path,
                          from->name);
    to->bytes = to->width;
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] > INT64_MAX || !hd_size_mul(to->bytes, t->shape[i], &to->bytes))
            return hd_err_set(err, HD_EARG, "%s: tensor '%" SHOWN "' to be saved is too large", path,
                              from->name);
    return HD_OK;
}

static hd_status measure_all(item *to, const hd_named *from, size_t count, const char *path, hd_err *err)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        hd_status status = measure(&to[i], &from[i], path, err);
        if (status) return status;
        to[i].number = i;
        if (__builtin_add_overflow(sum, to[i].bytes, &sum))
            return hd_err_set(err, HD_EARG, "%s: the tensors to be saved are too large together", path);
    }
    qsort(to, count, sizeof *to, by_width_and_name);
    return HD_OK;
}

/* Sets a new key to value, and takes ownership of it. */
static hd_status put_new(json_t *object, const char *key, json_t *value, const char *path, hd_err *err)
{
    if (json_object_get(object, key)) {
        json_decref(value);
        return hd_err_set(err, HD_EARG, "%s: cannot save two values under the name '%" SHOWN "'", path, key);
    }
    hd_json_set(object, key, value);
    return hd_json_missed() ? hd_err_nomem(err, hd_json_missed()) : HD_OK;
}

static hd_status check_utf8(const char *key, const char *text, const char *path, hd_err *err)
{
    size_t size = strlen(text);
    if (hd_utf8_good(text, size) == size) return HD_OK;
    return hd_err_set(err, HD_EARG, "%s: cannot save '%" SHOWN "': name or value is not UTF-8", path, key);
}

/* If memory runs out, parts are left out; put_new, which gets the result, reports it. */
static json_t *describe(const item *it, size_t begin)
{
    json_t *entry = json_object(), *shape = json_array(), *offsets = json_array();
    for (int d = 0; d < it->tensor->rank; d++)
        hd_json_append(shape, json_integer((json_int_t)it->tensor->shape[d]));
    hd_json_append(offsets, json_integer((json_int_t)begin));
    hd_json_append(offsets, json_integer((json_int_t)(begin + it->bytes)));
    hd_json_set(entry, "dtype", json_string(hd_dtype_name(it->tensor->dtype)));
    hd_json_set(entry, "shape", shape);
    hd_json_set(entry, "data_offsets", offsets);
    return entry;
}

static hd_status fill_header(json_t *head, const item *items, size_t count, const hd_meta *meta, size_t metas,
                             const char *path, hd_err *err)
{
    json_t *notes = metas ? json_object() : NULL; /* head owns it from here on */
    hd_status status = metas ? put_new(head, METADATA, notes, path, err) : HD_OK;
    for (size_t i = 0; i < metas && !status; i++) {
        status = check_utf8(meta[i].key, meta[i].key, path, err);
        if (!status) status = check_utf8(meta[i].key, meta[i].value, path, err);
        if (!status) status = put_new(notes, meta[i].key, json_string(meta[i].value), path, err);
    }
    size_t begin = 0;
    for (size_t i = 0; i < count && !status; i++) {
        if (strcmp(items[i].name, METADATA) == 0)
            return hd_err_set(err, HD_EARG, "%s: a tensor cannot be named " METADATA, path);
        status = check_utf8(items[i].name, items[i].name, path, err);
        if (!status) status = put_new(head, items[i].name, describe(&items[i], begin), path, err);
        begin += items[i].bytes;
    }
    return status;
}

static hd_status make_header(hd_text *out, const item *items, size_t count, const hd_meta *meta, size_t metas,
                             const char *path, hd_err *err)
{
    hd_json_begin();
    json_t *head = json_object();
    hd_status status =
        head ? fill_header(head, items, count, meta, metas, path, err) : hd_err_nomem(err, sizeof *head);
    if (status)
        json_decref(head);
    else
        status = hd_json_write(out, head, JSON_COMPACT, err);
    if (!status && out->size > HEADER_MOST)
        status = hd_err_set(err, HD_ELIMIT, "%s: header of %zu bytes is above the limit of %d", path,
                            out->size, HEADER_MOST);
    return status;
}

static hd_status write_header(hd_save *save, const hd_text *text, hd_err *err)
{
    static const char spaces[8] = "        ";
    uint64_t used = text->size, length = (used + 7) / 8 * 8; /* LENGTH + length is a multiple of 8 */
    hd_status status = hd_save_write(save, &length, LENGTH, err);
    if (!status) status = hd_save_write(save, text->data, (size_t)used, err);
    return status ? status : hd_save_write(save, spaces, (size_t)(length - used), err);
}

static hd_status write_fetched(hd_save *save, const item *it, const source *from, hd_err *err)
{
    void *data = hd_mem_new(it->bytes);
    if (!data) return hd_err_nomem(err, it->bytes);
    hd_status status = from->fetch(from->context, it->number, data, err);
    if (!status) status = hd_save_write(save, data, it->bytes, err);
    hd_mem_free(data);
    return status;
}

static hd_status write_numbers(hd_save *save, const item *it, const source *from, hd_err *err)
{
    const hd_tensor *t = it->tensor;
    if (it->bytes && !t->data && from->fetch) return write_fetched(save, it, from, err);
    if (!it->bytes || hd_is_dense(t)) return hd_save_write(save, t->data, it->bytes, err);
    size_t rows = hd_rows_of(t), row = hd_cols_of(t) * it->width;
    hd_status status = HD_OK;
    for (size_t r = 0; r < rows && !status; r++)
        status = hd_save_write(save, (const char *)t->data + r * t->stride * it->width, row, err);
    return status;
}

/* Only now it is known. */
static hd_status write_checksum(hd_save *save, const hd_text *header, hd_err *err)
{
    static const char place[] = "\"" HD_CHECKSUM_KEY "\":\"00000000\"";
    char sum[HD_CHECKSUM_TEXT];
    const char *at = strstr(header->data, place);
    if (!at) return HD_OK;
    size_t digits = LENGTH + (size_t)(at - header->data) + strlen("\"" HD_CHECKSUM_KEY "\":\"");
    hd_checksum_text(hd_save_checksum(save), sum);
    return hd_save_patch(save, digits, sum, HD_CHECKSUM_TEXT - 1, err);
}

static hd_status write_file(const char *path, const hd_text *header, const item *items, size_t count,
                            const source *from, hd_err *err)
{
    hd_save *save = NULL;
    hd_status status = hd_save_open(&save, path, err);
    if (!status) status = write_header(save, header, err);
    for (size_t i = 0; i < count && !status; i++) status = write_numbers(save, &items[i], from, err);
    if (!status) status = write_checksum(save, header, err);
    if (!status) return hd_save_commit(save, err);
    hd_save_abandon(save);
    return status;
}

hd_status hd_safetensors_save_fetched(const char *path, const hd_named *entries, size_t count,
                                      const hd_meta *meta, size_t metas, hd_fetch_fn *fetch, void *context,
                                      hd_err *err)
{
    hd_text header = {0};
    source from = {fetch, context};
    item *items = hd_mem_array(count, sizeof *items);
    hd_status status = items ? HD_OK : hd_err_nomem(err, count * sizeof *items);
    if (!status) status = measure_all(items, entries, count, path, err);
    if (!status) status = make_header(&header, items, count, meta, metas, path, err);
    if (!status) status = write_file(path, &header, items, count, &from, err);
    hd_text_release(&header);
    hd_mem_free(items);
    return status;
}

hd_status hd_safetensors_save(const char *path, const hd_named *entries, size_t count, const hd_meta *meta,
                              size_t metas, hd_err *err)
{
    return hd_safetensors_save_fetched(path, entries, count, meta, metas, NULL, NULL, err);
}
