/* Reading GGUF files from a mapping. Easy to get wrong: no count or length of the file may be used in a
   product, a pointer or an allocation before it is checked against the bytes that are left; dimensions are
   innermost first. */
#include "tensor/gguf.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file/file.h"
#include "base/mem.h"

enum { MOST_TENSORS = 1 << 20, MOST_KEYS = 1 << 16, MOST_NAME = 1 << 16, MOST_ALIGNMENT = 1 << 20 };

typedef struct pair {
    const char *key;
    hd_gguf_value value;
} pair;

struct hd_gguf {
    hd_map map; /* empty when the bytes belong to the caller */
    char *file;
    hd_arena arena; /* of names */
    const uint8_t *bytes;
    size_t size;
    pair *pair; /* by key */
    size_t pairs;
    hd_gguf_tensor *tensor; /* by name */
    size_t tensors;
};

typedef struct reader {
    hd_gguf *g;
    size_t at;
    hd_err *err;
} reader;

static hd_status bad(const reader *r, const char *what)
{
    return hd_err_set(r->err, HD_EFORMAT, "%s: %s", r->g->file, what);
}

static hd_status cut_short(const reader *r)
{
    return bad(r, "the file is cut short");
}

/* -- numbers, texts, values -- */

static hd_status take(reader *r, void *to, size_t bytes)
{
    if (r->g->size - r->at < bytes) return cut_short(r);
    memcpy(to, r->g->bytes + r->at, bytes);
    r->at += bytes;
    return HD_OK;
}

static hd_status take_text(reader *r, hd_line *out)
{
    uint64_t size = 0;
    hd_status s = take(r, &size, sizeof size);
    if (!s && size > r->g->size - r->at) s = cut_short(r);
    if (s) return s;
    *out = (hd_line){(const char *)r->g->bytes + r->at, (size_t)size};
    r->at += (size_t)size;
    return HD_OK;
}

static hd_status take_name(reader *r, const char **out)
{
    hd_line text;
    hd_status s = take_text(r, &text);
    if (s) return s;
    if (!text.size || text.size > MOST_NAME || memchr(text.text, 0, text.size) ||
        hd_utf8_good(text.text, text.size) != text.size)
        return bad(r, "a name is empty, too long or not UTF-8");
    *out = hd_arena_copy(&r->g->arena, text.text, text.size, r->err);
    return *out ? HD_OK : HD_ENOMEM;
}

static size_t bytes_of(uint32_t type)
{
    static const uint8_t bytes[HD_GGUF_TYPES] = {
#define X(number, name, bytes) [number] = bytes,
        HD_GGUF_TYPE_LIST(X)
#undef X
    };
    return type < HD_GGUF_TYPES ? bytes[type] : 0;
}

/* Moves past the items of a list, or one value. */
static hd_status skip_items(reader *r, uint32_t type, uint64_t count)
{
    const size_t bytes = bytes_of(type), left = r->g->size - r->at;
    hd_status s = HD_OK;
    hd_line text;
    if (bytes) {
        if (count > left / bytes) return cut_short(r);
        r->at += (size_t)count * bytes;
        return HD_OK;
    }
    if (type != HD_GGUF_TEXT) return bad(r, "a value has a type that is not known");
    if (count > left / sizeof(uint64_t)) return cut_short(r);
    for (uint64_t i = 0; !s && i < count; i++) s = take_text(r, &text);
    return s;
}

static hd_status take_value(reader *r, hd_gguf_value *v)
{
    uint32_t type = 0;
    uint64_t count = 1;
    hd_status s = take(r, &type, sizeof type);
    const bool list = type == HD_GGUF_LIST;
    if (!s && list) s = take(r, &type, sizeof type);
    if (!s && list) s = take(r, &count, sizeof count);
    if (s) return s;
    const size_t begin = r->at;
    s = skip_items(r, type, count);
    if (!s) *v = (hd_gguf_value){(hd_gguf_type)type, list, (size_t)count, r->g->bytes + begin};
    return s;
}

/* -- metadata -- */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const pair *)a)->key, ((const pair *)b)->key);
}

static hd_status read_pairs(reader *r, uint64_t count)
{
    hd_gguf *g = r->g;
    hd_status s = HD_OK;
    if (count > MOST_KEYS) return bad(r, "it has too many keys");
    g->pair = hd_mem_array((size_t)count + 1, sizeof *g->pair);
    if (!g->pair) return hd_err_nomem(r->err, (size_t)count * sizeof *g->pair);
    for (; !s && g->pairs < count; g->pairs += !s) {
        s = take_name(r, &g->pair[g->pairs].key);
        if (!s) s = take_value(r, &g->pair[g->pairs].value);
    }
    if (s) return s;
    qsort(g->pair, g->pairs, sizeof *g->pair, by_key);
    for (size_t i = 1; i < g->pairs; i++)
        if (!strcmp(g->pair[i - 1].key, g->pair[i].key))
            return hd_err_set(r->err, HD_EFORMAT, "%s: the key \"%.80s\" is there twice", g->file,
                              g->pair[i].key);
    return HD_OK;
}

/* -- tensors -- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const hd_gguf_tensor *)a)->name, ((const hd_gguf_tensor *)b)->name);
}

static hd_status refuse_tensor(const reader *r, const hd_gguf_tensor *t, const char *what)
{
    return hd_err_set(r->err, HD_EFORMAT, "%s: tensor '%.120s': %s", r->g->file, t->name, what);
}

static hd_status take_shape(reader *r, hd_gguf_tensor *t)
{
    uint32_t rank = 0;
    hd_status s = take(r, &rank, sizeof rank);
    if (!s && (!rank || rank > HD_GGUF_RANK))
        s = refuse_tensor(r, t, "it has none or more than 4 dimensions");
    t->rank = (int)rank, t->count = 1;
    for (uint32_t i = 0; !s && i < rank; i++) {
        uint64_t size = 0;
        s = take(r, &size, sizeof size);
        if (!s && (!size || size > SIZE_MAX / 64 || !hd_size_mul(t->count, (size_t)size, &t->count) ||
                   t->count > SIZE_MAX / 64))
            s = refuse_tensor(r, t, "its size is none");
        t->shape[rank - 1 - i] = (size_t)size;
    }
    return s;
}

/* offset: of its numbers behind all descriptions. */
static hd_status take_tensor(reader *r, hd_gguf_tensor *t, uint64_t *offset)
{
    uint32_t type = 0;
    hd_status s = take_name(r, &t->name);
    if (!s) s = take_shape(r, t);
    if (!s) s = take(r, &type, sizeof type);
    if (!s) s = take(r, offset, sizeof *offset);
    if (s) return s;
    t->type = hd_quantized_find(type);
    if (!t->type)
        return hd_err_set(
            r->err, HD_EFORMAT,
            "%s: tensor '%.120s' has the type %u; heed reads F32, F16, BF16, Q4_0, Q4_1, Q8_0, Q4_K "
            "and Q6_K: get the model in one of these",
            r->g->file, t->name, type);
    const size_t columns = t->rank ? t->shape[t->rank - 1] : 1;
    return columns % t->type->numbers ? refuse_tensor(r, t, "its rows are no whole number of blocks") : HD_OK;
}

static hd_status place_tensors(reader *r, const uint64_t *offset, uint64_t alignment)
{
    const hd_gguf *g = r->g;
    const size_t begin = r->at + (size_t)((alignment - r->at % alignment) % alignment);
    if (g->tensors && begin > g->size) return cut_short(r);
    for (size_t i = 0; i < g->tensors; i++) {
        hd_gguf_tensor *t = &g->tensor[i];
        const size_t bytes = t->count / t->type->numbers * t->type->bytes, room = g->size - begin;
        if (offset[i] > room || bytes > room - (size_t)offset[i])
            return refuse_tensor(r, t, "its numbers are not in the file, which is cut short");
        t->data = g->bytes + begin + (size_t)offset[i];
    }
    return HD_OK;
}

static hd_status read_tensors(reader *r, uint64_t count, uint64_t *offset)
{
    hd_gguf *g = r->g;
    int64_t alignment = 32;
    hd_status s = HD_OK;
    const hd_gguf_value *v = hd_gguf_find(g, "general.alignment");
    if (v && (!hd_gguf_whole(v, &alignment) || alignment < 1 || alignment > MOST_ALIGNMENT))
        return bad(r, "\"general.alignment\" is not a whole number from 1 to 1048576");
    for (; !s && g->tensors < count; g->tensors += !s)
        s = take_tensor(r, &g->tensor[g->tensors], &offset[g->tensors]);
    if (!s) s = place_tensors(r, offset, (uint64_t)alignment);
    if (s) return s;
    qsort(g->tensor, g->tensors, sizeof *g->tensor, by_name);
    for (size_t i = 1; i < g->tensors; i++)
        if (!by_name(&g->tensor[i - 1], &g->tensor[i]))
            return refuse_tensor(r, &g->tensor[i], "it is there twice");
    return HD_OK;
}

/* -- the file -- */

static hd_status read_head(reader *r, uint64_t *tensors, uint64_t *pairs)
{
    char magic[4] = "";
    uint32_t version = 0;
    hd_status s = take(r, magic, sizeof magic);
    if (!s && memcmp(magic, "GGUF", 4)) s = bad(r, "not a GGUF file");
    if (!s) s = take(r, &version, sizeof version);
    if (!s && (version < 2 || version > 3))
        s = hd_err_set(r->err, HD_EFORMAT, "%s: version %u of GGUF; heed reads 2 and 3, little-endian",
                       r->g->file, version);
    if (!s) s = take(r, tensors, sizeof *tensors);
    if (!s) s = take(r, pairs, sizeof *pairs);
    /* the least bytes of a tensor's description and of a key */
    if (!s && (*tensors > MOST_TENSORS || *tensors > (r->g->size - r->at) / 24))
        s = bad(r, "it says to have more tensors than it can");
    if (!s && *pairs > (r->g->size - r->at) / 12) s = bad(r, "it says to have more keys than it can");
    return s;
}

static hd_status read_all(hd_gguf *g, const uint8_t *bytes, size_t size, const char *file, hd_err *err)
{
    reader r = {g, 0, err};
    uint64_t tensors = 0, pairs = 0, *offset = NULL;
    hd_arena_init(&g->arena, hd_allocator_host, 16 * 1024);
    g->bytes = bytes, g->size = size;
    g->file = hd_mem_text(file);
    if (!g->file) return hd_err_nomem(err, strlen(file) + 1);
    hd_status s = read_head(&r, &tensors, &pairs);
    if (!s) s = read_pairs(&r, pairs);
    if (s) return s;
    g->tensor = hd_mem_array((size_t)tensors + 1, sizeof *g->tensor);
    offset = hd_mem_array((size_t)tensors + 1, sizeof *offset);
    s = g->tensor && offset ? read_tensors(&r, tensors, offset)
                            : hd_err_nomem(err, (size_t)tensors * sizeof *g->tensor);
    hd_mem_free(offset);
    return s;
}

void hd_gguf_free(hd_gguf *g)
{
    if (!g) return;
    hd_mem_free(g->tensor);
    hd_mem_free(g->pair);
    hd_arena_release(&g->arena);
    hd_mem_free(g->file);
    hd_map_close(&g->map);
    hd_mem_free(g);
}

static hd_status publish(hd_gguf **out, hd_gguf *g, hd_status s)
{
    if (s)
        hd_gguf_free(g);
    else
        *out = g;
    return s;
}

hd_status hd_gguf_open(hd_gguf **out, const char *path, hd_err *err)
{
    hd_gguf *g = hd_mem_zero(sizeof *g);
    hd_status s = g ? hd_map_open(&g->map, path, err) : hd_err_nomem(err, sizeof *g);
    if (!s) s = read_all(g, g->map.data, g->map.size, path, err);
    return publish(out, g, s);
}

hd_status hd_gguf_parse(hd_gguf **out, const void *bytes, size_t size, const char *name, hd_err *err)
{
    hd_gguf *g = hd_mem_zero(sizeof *g);
    return publish(out, g, g ? read_all(g, bytes, size, name, err) : hd_err_nomem(err, sizeof *g));
}

const char *hd_gguf_file(const hd_gguf *g)
{
    return g->file;
}

size_t hd_gguf_count(const hd_gguf *g)
{
    return g->tensors;
}

const hd_gguf_tensor *hd_gguf_at(const hd_gguf *g, size_t i)
{
    return i < g->tensors ? &g->tensor[i] : NULL;
}

const hd_gguf_tensor *hd_gguf_tensor_of(const hd_gguf *g, const char *name)
{
    const hd_gguf_tensor like = {.name = name};
    return g->tensors ? bsearch(&like, g->tensor, g->tensors, sizeof like, by_name) : NULL;
}

void hd_gguf_widen(const hd_gguf_tensor *t, float *to)
{
    t->type->widen(to, t->data, t->count / t->type->numbers);
}

const hd_gguf_value *hd_gguf_find(const hd_gguf *g, const char *key)
{
    const pair like = {.key = key},
               *found = g->pairs ? bsearch(&like, g->pair, g->pairs, sizeof like, by_key) : NULL;
    return found ? &found->value : NULL;
}
