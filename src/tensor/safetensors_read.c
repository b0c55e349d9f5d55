/* Reading safetensors files from a mapping. Easy to get wrong: no number from the header may be used in a
   product, a pointer or an allocation before it is checked. */
#include "tensor/safetensors_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { HEADER_MOST = 100000000, LENGTH = HD_SAFETENSORS_LENGTH };

#define METADATA HD_SAFETENSORS_META
#define SHOWN    HD_SAFETENSORS_SHOWN

static const struct {
    const char *name;
    size_t bits;
} types[] = {
    {"F64", 64},        {"F32", 32},    {"F16", 16},    {"BF16", 16},   {"I64", 64},    {"I32", 32},
    {"I16", 16},        {"I8", 8},      {"U64", 64},    {"U32", 32},    {"U16", 16},    {"U8", 8},
    {"BOOL", 8},        {"C64", 64},    {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},
};

__attribute__((format(printf, 4, 5))) static hd_status bad(const hd_safetensors *s, const char *tensor,
                                                           hd_err *err, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!tensor) return hd_err_set(err, HD_EFORMAT, "%s: %s", s->file, text);
    return hd_err_set(err, HD_EFORMAT, "%s: tensor '%" SHOWN "': %s", s->file, tensor, text);
}

/* The type of a JSON value in words; a number as written. */
static const char *words_of(const json_t *v, char buf[40])
{
    static const char *const words[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_TRUE] = "true",        [JSON_FALSE] = "false",    [JSON_NULL] = "null",
    };
    if (!v) return "missing";
    if (json_is_integer(v))
        snprintf(buf, 40, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    else if (json_is_real(v))
        snprintf(buf, 40, "%.17g", json_real_value(v));
    else
        return words[json_typeof(v)];
    return buf;
}

static hd_status read_header_json(hd_safetensors *s, const char *text, size_t length, hd_err *err)
{
    json_error_t e;
    const char *nul = memchr(text, '\0', length); /* Jansson would call it the end of the text */
    if (nul) return bad(s, NULL, err, "header has a NUL byte, at byte %td", nul - text);
    s->root = hd_json_load(&s->arena, text, length, &e);
    if (hd_json_missed()) return hd_err_nomem(err, hd_json_missed());
    if (s->root) return HD_OK;
    static const char *const whys[] = {
        [json_error_duplicate_key] = "has the same name twice",
        [json_error_stack_overflow] = "is nested too deep",
        [json_error_invalid_utf8] = "is not UTF-8",
        [json_error_null_character] = "has a NUL character in a string",
        [json_error_null_byte_in_key] = "has a NUL character in a name",
        [json_error_numeric_overflow] = "has a number out of range (integers must be below 2^63)",
        [json_error_premature_end_of_input] = "ends in the middle of the JSON",
        [json_error_end_of_input_expected] = "has something after the JSON object",
    };
    const size_t code = json_error_code(&e);
    const char *why = code < sizeof whys / sizeof *whys && whys[code] ? whys[code] : "is not JSON";
    /* the bytes before the position name the tensor, or most of it; Jansson itself quotes only short
       tokens */
    const int place = e.position < 0 || (size_t)e.position > length ? 0 : e.position,
              from = place > 100 ? place - 100 : 0;
    return bad(s, NULL, err, "header %s: %s, at byte %d after '%.*s'", why, e.text, place, place - from,
               text + from);
}

static hd_status read_header(hd_safetensors *s, const uint8_t *bytes, size_t size, hd_err *err)
{
    if (size == 0) return bad(s, NULL, err, "file is empty");
    if (size < LENGTH)
        return bad(s, NULL, err, "file of %zu bytes is too short for the header's length", size);
    uint64_t length = 0;
    memcpy(&length, bytes, LENGTH);
    if (length == 0) return bad(s, NULL, err, "header length is 0");
    if (length > HEADER_MOST)
        return bad(s, NULL, err, "header length %llu is above the limit of %d", (unsigned long long)length,
                   HEADER_MOST);
    if (length > size - LENGTH)
        return bad(s, NULL, err, "header length %llu does not fit in a file of %zu bytes",
                   (unsigned long long)length, size);
    s->header = (size_t)length;
    s->data = bytes + LENGTH + length;
    s->size = size - LENGTH - (size_t)length;
    hd_status status = read_header_json(s, (const char *)bytes + LENGTH, (size_t)length, err);
    char buf[40];
    if (!status && !json_is_object(s->root))
        return bad(s, NULL, err, "header is %s, not an object", words_of(s->root, buf));
    return status;
}

static hd_status read_metadata(const hd_safetensors *s, hd_err *err)
{
    json_t *meta = json_object_get(s->root, METADATA), *value;
    const char *key;
    char buf[40];
    if (meta && !json_is_object(meta))
        return bad(s, NULL, err, METADATA " is %s, not an object", words_of(meta, buf));
    json_object_foreach(meta, key, value)
    {
        if (!json_is_string(value))
            return bad(s, NULL, err, METADATA " value of '%" SHOWN "' is %s, not a string", key,
                       words_of(value, buf));
    }
    return HD_OK;
}

static hd_status read_size(size_t *out, const hd_safetensors *s, const char *name, const char *what,
                           size_t index, const json_t *value, hd_err *err)
{
    char buf[40];
    if (!json_is_integer(value))
        return bad(s, name, err, "%s[%zu] is %s, not an integer", what, index, words_of(value, buf));
    if (json_integer_value(value) < 0)
        return bad(s, name, err, "%s[%zu] is negative: %s", what, index, words_of(value, buf));
    *out = (size_t)json_integer_value(value);
    return HD_OK;
}

static hd_status read_type(hd_entry *e, size_t *bits, const hd_safetensors *s, const json_t *value,
                           hd_err *err)
{
    char buf[40];
    const char *type = json_string_value(value);
    if (!type) return bad(s, e->name, err, "dtype is %s, not a string", words_of(value, buf));
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, type) != 0) continue;
        snprintf(e->type, sizeof e->type, "%s", type);
        e->known = hd_dtype_find(&e->dtype, type);
        *bits = types[i].bits;
        return HD_OK;
    }
    return bad(s, e->name, err, "dtype '%.40s' is unknown", type);
}

/* e->shape already points to enough room. */
static hd_status read_shape(hd_entry *e, const hd_safetensors *s, const json_t *shape, hd_err *err)
{
    char buf[40];
    size_t i;
    json_t *value;
    if (!json_is_array(shape)) return bad(s, e->name, err, "shape is %s, not an array", words_of(shape, buf));
    e->rank = (int)json_array_size(shape); /* a header of 10^8 bytes has no room for more than an int holds */
    e->count = 1;
    json_array_foreach(shape, i, value)
    {
        hd_status status = read_size(&e->shape[i], s, e->name, "shape", i, value, err);
        if (status) return status;
        size_t count = e->count;
        if (!hd_size_mul(count, e->shape[i], &e->count))
            return bad(s, e->name, err, "shape overflows: %zu * %zu at shape[%zu]", count, e->shape[i], i);
    }
    return HD_OK;
}

static hd_status read_range(hd_entry *e, const hd_safetensors *s, const json_t *offsets, hd_err *err)
{
    char buf[40];
    size_t at[2];
    if (!json_is_array(offsets))
        return bad(s, e->name, err, "data_offsets is %s, not an array", words_of(offsets, buf));
    if (json_array_size(offsets) != 2)
        return bad(s, e->name, err, "data_offsets has %zu numbers, not 2", json_array_size(offsets));
    for (size_t i = 0; i < 2; i++) {
        hd_status status = read_size(&at[i], s, e->name, "data_offsets", i, json_array_get(offsets, i), err);
        if (status) return status;
    }
    if (at[0] > at[1])
        return bad(s, e->name, err, "data_offsets begin at %zu, after their end %zu", at[0], at[1]);
    if (at[1] > s->size)
        return bad(s, e->name, err, "data_offsets [%zu,%zu] reach past the %zu bytes of data", at[0], at[1],
                   s->size);
    e->data = s->data + at[0];
    e->bytes = at[1] - at[0];
    return HD_OK;
}

static hd_status read_entry(hd_entry *e, const hd_safetensors *s, const json_t *value, hd_err *err)
{
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    char buf[40];
    size_t bits = 0, total;
    if (!json_is_object(value))
        return bad(s, e->name, err, "its entry is %s, not an object", words_of(value, buf));
    for (int i = 0; i < 3; i++)
        if (!json_object_get(value, keys[i])) return bad(s, e->name, err, "has no %s", keys[i]);
    hd_status status = read_type(e, &bits, s, json_object_get(value, keys[0]), err);
    if (!status) status = read_shape(e, s, json_object_get(value, keys[1]), err);
    if (!status) status = read_range(e, s, json_object_get(value, keys[2]), err);
    if (status) return status;
    if (!hd_size_mul(e->count, bits, &total))
        return bad(s, e->name, err, "size overflows: %zu numbers of %zu bits", e->count, bits);
    if (total % 8)
        return bad(s, e->name, err, "%zu numbers of %zu bits do not fill whole bytes", e->count, bits);
    if (total / 8 != e->bytes)
        return bad(s, e->name, err, "%zu numbers of type %s take %zu bytes, data_offsets give %zu", e->count,
                   e->type, total / 8, e->bytes);
    return HD_OK;
}

static hd_status read_entries(hd_safetensors *s, hd_err *err)
{
    const char *name;
    json_t *value;
    size_t dims = 0, room = json_object_size(s->root);
    json_object_foreach(s->root, name, value) dims += json_array_size(json_object_get(value, "shape"));
    s->entry = hd_mem_array(room, sizeof *s->entry);
    s->shapes = hd_mem_array(dims, sizeof *s->shapes);
    if (!s->entry || !s->shapes) return hd_err_nomem(err, room * sizeof *s->entry + dims * sizeof *s->shapes);
    size_t *shape = s->shapes;
    json_object_foreach(s->root, name, value)
    {
        if (strcmp(name, METADATA) == 0) continue;
        hd_entry *e = &s->entry[s->count++];
        e->name = name;
        e->shape = shape;
        hd_status status = read_entry(e, s, value, err);
        if (status) return status;
        shape += e->rank;
    }
    return HD_OK;
}

static int by_place(const void *a, const void *b)
{
    const hd_entry *x = a, *y = b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return hd_entry_by_name(a, b);
}

/* Every byte of data belongs to exactly one entry. */
static hd_status check_layout(const hd_safetensors *s, hd_err *err)
{
    size_t end = 0;
    qsort(s->entry, s->count, sizeof *s->entry, by_place);
    for (size_t i = 0; i < s->count; i++) {
        const hd_entry *e = &s->entry[i];
        const char *before = i ? e[-1].name : "";
        size_t begin = (size_t)(e->data - s->data);
        if (begin < end)
            return bad(s, e->name, err, "begins at byte %zu, overlapping '%.60s' that ends at %zu", begin,
                       before, end);
        if (begin > end && i)
            return bad(s, e->name, err, "begins at byte %zu: hole after '%.60s' that ends at %zu", begin,
                       before, end);
        if (begin > end)
            return bad(s, e->name, err, "is the first but begins at byte %zu: hole before it", begin);
        end = begin + e->bytes;
    }
    if (end != s->size)
        return bad(s, NULL, err, "%zu trailing bytes: tensors end at %zu, data has %zu", s->size - end, end,
                   s->size);
    return HD_OK;
}

static hd_status read_all(hd_safetensors *s, const uint8_t *bytes, size_t size, const char *file, hd_err *err)
{
    hd_arena_init(&s->arena, hd_allocator_host, 16 * 1024);
    s->file = hd_mem_text(file);
    if (!s->file) return hd_err_nomem(err, strlen(file) + 1);
    hd_status status = read_header(s, bytes, size, err);
    if (!status) status = read_metadata(s, err);
    if (!status) status = read_entries(s, err);
    if (!status) status = check_layout(s, err);
    if (!status) qsort(s->entry, s->count, sizeof *s->entry, hd_entry_by_name);
    return status;
}

hd_status hd_safetensors_open(hd_safetensors **out, const char *path, hd_err *err)
{
    hd_safetensors *s = hd_mem_zero(sizeof *s);
    hd_status status = s ? hd_map_open(&s->map, path, err) : hd_err_nomem(err, sizeof *s);
    if (!status) status = read_all(s, s->map.data, s->map.size, path, err);
    if (status)
        hd_safetensors_free(s);
    else
        *out = s;
    return status;
}

hd_status hd_safetensors_parse(hd_safetensors **out, const void *bytes, size_t size, const char *name,
                               hd_err *err)
{
    hd_safetensors *s = hd_mem_zero(sizeof *s);
    hd_status status = s ? read_all(s, bytes, size, name, err) : hd_err_nomem(err, sizeof *s);
    if (status)
        hd_safetensors_free(s);
    else
        *out = s;
    return status;
}
