/* Files of torch.save: since PyTorch 1.6 an archive of a pickle and a file for each storage, before that
   five pickles with the storages behind them. Easy to get wrong: a tensor declares which part of a storage it
   is, and none of that may be trusted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/pickle.h"
#include "tensor/safetensors_parts.h"
#include "tensor/zip.h"

enum { MOST_PICKLE = 1 << 28, MOST_TENSORS = 1 << 20, MOST_STORAGES = 1 << 14 };

/* Names a pickle may use: types of storages, and functions. */
enum { DICT = 100, TENSOR, PARAMETER };

static const struct {
    const char *name, *type;
} storages[] = {
    {"FloatStorage", "F32"}, {"HalfStorage", "F16"},  {"BFloat16Storage", "BF16"}, {"DoubleStorage", "F64"},
    {"LongStorage", "I64"},  {"IntStorage", "I32"},   {"ShortStorage", "I16"},     {"CharStorage", "I8"},
    {"ByteStorage", "U8"},   {"BoolStorage", "BOOL"},
};
static const size_t widths[] = {4, 2, 2, 8, 8, 4, 2, 1, 1, 1};

static const struct {
    const char *module, *name;
    int number;
} calls[] = {
    {"collections", "OrderedDict", DICT},
    {"torch._utils", "_rebuild_tensor_v2", TENSOR},
    {"torch._utils", "_rebuild_parameter", PARAMETER},
};

typedef struct storage {
    const char *key; /* in the pickle */
    size_t key_size;
    int kind; /* in storages */
    size_t count;
    const uint8_t *data; /* NULL: not found yet */
} storage;

typedef struct tensor {
    size_t storage, offset, count;
    size_t *shape; /* in the arena */
    int rank;
} tensor;

typedef struct reader {
    hd_safetensors *s;
    const uint8_t *bytes;
    size_t size;
    hd_pickle *pickle;
    storage *storage;
    size_t storages, storage_room;
    tensor *tensor;
    size_t tensors, tensor_room;
    hd_zip_file program, order; /* of an archive */
} reader;

/* -- names -- */

static bool is(const char *text, size_t size, const char *wanted)
{
    return size == strlen(wanted) && !memcmp(text, wanted, size);
}

static int name_of(void *context, const char *module, size_t module_size, const char *name, size_t size)
{
    (void)context;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (is(module, module_size, calls[i].module) && is(name, size, calls[i].name)) return calls[i].number;
    for (size_t i = 0; is(module, module_size, "torch") && i < sizeof storages / sizeof *storages; i++)
        if (is(name, size, storages[i].name)) return (int)i;
    return -1;
}

/* -- storages -- */

static hd_status add_storage(reader *r, storage one, hd_pickle_value *out, hd_err *err)
{
    *out = (hd_pickle_value){.kind = HD_PICKLE_OBJECT, .number = -1};
    for (size_t i = 0; i < r->storages; i++) {
        const storage *old = &r->storage[i];
        if (old->key_size != one.key_size || memcmp(old->key, one.key, one.key_size)) continue;
        if (old->kind != one.kind || old->count != one.count)
            return hd_err_set(err, HD_EFORMAT, "the pickle is refused: a storage has two forms");
        out->number = -1 - (int64_t)i;
        return HD_OK;
    }
    if (r->storages == MOST_STORAGES)
        return hd_err_set(err, HD_ELIMIT, "the pickle is refused: more than %d storages", MOST_STORAGES);
    hd_status s = hd_mem_reserve(&r->storage, &r->storage_room, r->storages + 1, sizeof one, err);
    if (s) return s;
    r->storage[r->storages] = one;
    out->number = -1 - (int64_t)r->storages++;
    return HD_OK;
}

/* ("storage", torch.FloatStorage, "0", "cpu", 12), or the same followed by None. */
static hd_status find_storage(void *context, const hd_pickle *p, hd_pickle_value id, hd_pickle_value *out,
                              hd_err *err)
{
    reader *r = context;
    const hd_pickle_value *v = hd_pickle_cells(p, id);
    bool fine = id.kind == HD_PICKLE_TUPLE && (id.size == 5 || id.size == 6) && v[0].kind == HD_PICKLE_TEXT &&
                is(v[0].text, v[0].size, "storage") && v[1].kind == HD_PICKLE_NAME && v[1].number < DICT &&
                v[2].kind == HD_PICKLE_TEXT && v[3].kind == HD_PICKLE_TEXT && v[4].kind == HD_PICKLE_INT &&
                v[4].number >= 0 && (id.size == 5 || v[5].kind == HD_PICKLE_NONE);
    if (!fine) return hd_err_set(err, HD_EFORMAT, "the pickle is refused: a storage is unclear");
    return add_storage(r, (storage){v[2].text, v[2].size, (int)v[1].number, (size_t)v[4].number, NULL}, out,
                       err);
}

/* -- tensors -- */

/* Whether the numbers are contiguous; *count of them. */
static bool is_dense(const hd_pickle_value *shape, const hd_pickle_value *stride, size_t rank, size_t *count)
{
    bool dense = true;
    *count = 1;
    for (size_t i = rank; i-- > 0;) {
        if (shape[i].kind != HD_PICKLE_INT || stride[i].kind != HD_PICKLE_INT || shape[i].number < 0)
            return false;
        if (shape[i].number != 1 && stride[i].number != (int64_t)*count) dense = false;
        if (!hd_size_mul(*count, (size_t)shape[i].number, count) || *count > INT64_MAX) return false;
    }
    return dense || !*count;
}

static hd_status add_tensor(reader *r, tensor one, hd_pickle_value *out, hd_err *err)
{
    if (r->tensors == MOST_TENSORS)
        return hd_err_set(err, HD_ELIMIT, "the pickle is refused: more than %d tensors", MOST_TENSORS);
    hd_status s = hd_mem_reserve(&r->tensor, &r->tensor_room, r->tensors + 1, sizeof one, err);
    if (s) return s;
    *out = (hd_pickle_value){.kind = HD_PICKLE_OBJECT, .number = (int64_t)r->tensors};
    r->tensor[r->tensors++] = one;
    return HD_OK;
}

/* (storage, offset, shape, strides, requires_grad, hooks) */
static hd_status make_tensor(reader *r, const hd_pickle_value *v, size_t size, hd_pickle_value *out,
                             hd_err *err)
{
    tensor t = {0};
    if (size < 4 || v[0].kind != HD_PICKLE_OBJECT || v[0].number >= 0 || v[1].kind != HD_PICKLE_INT ||
        v[1].number < 0 || v[2].kind != HD_PICKLE_TUPLE || v[3].kind != HD_PICKLE_TUPLE ||
        v[2].size != v[3].size || v[2].size > 64)
        return hd_err_set(err, HD_EFORMAT, "the pickle is refused: a tensor is unclear");
    const hd_pickle_value *shape = hd_pickle_cells(r->pickle, v[2]);
    t.storage = (size_t)(-1 - v[0].number), t.offset = (size_t)v[1].number, t.rank = (int)v[2].size;
    if (!is_dense(shape, hd_pickle_cells(r->pickle, v[3]), v[2].size, &t.count))
        return hd_err_set(
            err, HD_EFORMAT,
            "the pickle is refused: a tensor is not contiguous (call contiguous() before torch.save)");
    if (t.offset > r->storage[t.storage].count || t.count > r->storage[t.storage].count - t.offset)
        return hd_err_set(err, HD_EFORMAT, "the pickle is refused: a tensor reaches past its storage");
    t.shape = hd_arena_array(&r->s->arena, v[2].size + 1, sizeof *t.shape, err);
    if (!t.shape) return HD_ENOMEM;
    for (size_t i = 0; i < v[2].size; i++) t.shape[i] = (size_t)shape[i].number;
    return add_tensor(r, t, out, err);
}

static hd_status call(void *context, const hd_pickle *p, int64_t name, hd_pickle_value arguments,
                      hd_pickle_value *out, hd_err *err)
{
    reader *r = context;
    const hd_pickle_value *v = hd_pickle_cells(p, arguments);
    if (name == DICT && !arguments.size) return out->kind = HD_PICKLE_DICT, HD_OK;
    if (name == TENSOR) return make_tensor(r, v, arguments.size, out, err);
    if (name == PARAMETER && arguments.size && v[0].kind == HD_PICKLE_OBJECT && v[0].number >= 0)
        return *out = v[0], HD_OK;
    return hd_err_set(err, HD_EFORMAT, "the pickle is refused: a call is unclear");
}

/* -- the two forms -- */

static bool take_file(void *context, const hd_zip_file *f)
{
    reader *r = context;
    static const char program[] = "/data.pkl", order[] = "/byteorder";
    const size_t n = sizeof program - 1, m = sizeof order - 1;
    if (f->name_size > n && !memcmp(f->name + f->name_size - n, program, n)) r->program = *f;
    if (f->name_size > m && !memcmp(f->name + f->name_size - m, order, m)) r->order = *f;
    return true;
}

/* "archive/data/KEY", where "archive" is what is before "/data.pkl". */
static bool take_storage(void *context, const hd_zip_file *f)
{
    reader *r = context;
    const size_t root = r->program.name_size - strlen("data.pkl"), begin = root + strlen("data/");
    if (f->name_size <= begin || memcmp(f->name, r->program.name, root) || memcmp(f->name + root, "data/", 5))
        return true;
    for (size_t i = 0; i < r->storages; i++) {
        storage *one = &r->storage[i];
        if (one->key_size == f->name_size - begin && !memcmp(one->key, f->name + begin, one->key_size) &&
            one->count <= f->size / widths[one->kind])
            one->data = f->data;
    }
    return true;
}

static hd_status run(reader *r, const uint8_t *bytes, size_t size, size_t *at, hd_pickle_value *out,
                     hd_err *err)
{
    if (size - *at > MOST_PICKLE) size = *at + MOST_PICKLE;
    return hd_pickle_run(r->pickle, bytes, size, at, out, err);
}

static hd_status read_archive(reader *r, hd_pickle_value *out, hd_err *err)
{
    size_t at = 0;
    hd_status s = hd_zip_list(r->bytes, r->size, take_file, r, err);
    if (!s && !r->program.data)
        s = hd_err_set(err, HD_EFORMAT, "an archive without data.pkl: torch.save did not write it");
    if (!s && r->order.data && !is((const char *)r->order.data, r->order.size, "little"))
        s = hd_err_set(err, HD_EFORMAT, "numbers are big-endian, which heed does not read");
    if (!s) s = run(r, r->program.data, r->program.size, &at, out, err);
    return s ? s : hd_zip_list(r->bytes, r->size, take_storage, r, err);
}

/* Storages in the order of a list of their keys: how many numbers, and those. */
static hd_status read_behind(reader *r, size_t at, hd_pickle_value keys, hd_err *err)
{
    size_t entries;
    const hd_pickle_entry *e = hd_pickle_entries(r->pickle, &entries);
    for (size_t i = 0; keys.kind == HD_PICKLE_LIST && i < entries; i++) {
        if (e[i].owner != keys.number) continue;
        storage *one = NULL;
        for (size_t k = 0; k < r->storages && e[i].value.kind == HD_PICKLE_TEXT; k++)
            if (r->storage[k].key_size == e[i].value.size &&
                !memcmp(r->storage[k].key, e[i].value.text, e[i].value.size))
                one = &r->storage[k];
        uint64_t count = 0;
        if (!one || r->size - at < sizeof count)
            return hd_err_set(err, HD_EFORMAT, "its storages are cut short");
        memcpy(&count, r->bytes + at, sizeof count);
        at += sizeof count;
        if (count != one->count || count > (r->size - at) / widths[one->kind])
            return hd_err_set(err, HD_EFORMAT, "its storages are cut short");
        one->data = r->bytes + at;
        at += (size_t)count * widths[one->kind];
    }
    return HD_OK;
}

/* A number that names the format, its version, the machine, the dictionary, the keys of the storages. */
static hd_status read_pickles(reader *r, hd_pickle_value *out, hd_err *err)
{
    static const uint8_t magic[] = {0x80, 2,    0x8a, 10,   0x6c, 0xfc, 0x9c, 0x46,
                                    0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};
    hd_pickle_value part[5] = {{0}};
    size_t at = 0;
    hd_status s = HD_OK;
    if (r->size < sizeof magic || memcmp(r->bytes, magic, sizeof magic))
        return hd_err_set(err, HD_EFORMAT,
                          "neither an archive nor a pickle of torch.save: if you trust it, convert it with "
                          "save_pretrained(FOLDER, safe_serialization=True) of transformers");
    for (int i = 0; !s && i < 5; i++) s = run(r, r->bytes, r->size, &at, &part[i], err);
    *out = part[3];
    return s ? s : read_behind(r, at, part[4], err);
}

/* -- entries -- */

static hd_status add_entry(reader *r, const hd_pickle_entry *from, hd_err *err)
{
    hd_entry *e = &r->s->entry[r->s->count];
    if (from->key.kind != HD_PICKLE_TEXT || memchr(from->key.text, 0, from->key.size))
        return hd_err_set(err, HD_EFORMAT, "a tensor has no name");
    const char *name = hd_arena_copy(&r->s->arena, from->key.text, from->key.size, err);
    if (!name) return HD_ENOMEM;
    if (from->value.kind != HD_PICKLE_OBJECT || from->value.number < 0)
        return hd_err_set(err, HD_EFORMAT,
                          "\"%.80s\" is not a tensor: only a dictionary of tensors is supported", name);
    const tensor *t = &r->tensor[from->value.number];
    const storage *in = &r->storage[t->storage];
    if (!in->data && t->count)
        return hd_err_set(err, HD_EFORMAT, "the numbers of \"%.80s\" are not in the file", name);
    const size_t width = widths[in->kind];
    *e = (hd_entry){.name = name,
                    .rank = t->rank,
                    .shape = t->shape,
                    .data = in->data ? in->data + t->offset * width : r->bytes,
                    .count = t->count,
                    .bytes = t->count * width};
    snprintf(e->type, sizeof e->type, "%s", storages[in->kind].type);
    e->known = hd_dtype_find(&e->dtype, e->type);
    r->s->count++;
    return HD_OK;
}

static hd_status take_entries(reader *r, hd_pickle_value dict, hd_err *err)
{
    size_t count;
    const hd_pickle_entry *e = hd_pickle_entries(r->pickle, &count);
    if (dict.kind != HD_PICKLE_DICT)
        return hd_err_set(err, HD_EFORMAT, "the pickle is not a dictionary of tensors");
    r->s->entry = hd_mem_array(count + 1, sizeof *r->s->entry);
    if (!r->s->entry) return hd_err_nomem(err, (count + 1) * sizeof *r->s->entry);
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < count; i++)
        if (e[i].owner == dict.number) s = add_entry(r, &e[i], err);
    if (s) return s;
    qsort(r->s->entry, r->s->count, sizeof *r->s->entry, hd_entry_by_name);
    for (size_t i = 1; i < r->s->count; i++)
        if (!hd_entry_by_name(&r->s->entry[i - 1], &r->s->entry[i]))
            return hd_err_set(err, HD_EFORMAT, "\"%.80s\" is there twice", r->s->entry[i].name);
    return HD_OK;
}

static hd_status read_all(hd_safetensors *s, const uint8_t *bytes, size_t size, const char *file, hd_err *err)
{
    reader r = {.s = s, .bytes = bytes, .size = size};
    hd_pickle_value dict = {0};
    hd_err why = {0};
    hd_arena_init(&s->arena, hd_allocator_host, 16 * 1024);
    s->file = hd_mem_text(file);
    if (!s->file) return hd_err_nomem(err, strlen(file) + 1);
    hd_status st = hd_pickle_new(&r.pickle, &(hd_pickle_host){&r, name_of, call, find_storage}, &why);
    if (!st) st = hd_is_zip(bytes, size) ? read_archive(&r, &dict, &why) : read_pickles(&r, &dict, &why);
    if (!st) st = take_entries(&r, dict, &why);
    hd_pickle_free(r.pickle);
    hd_mem_free(r.storage);
    hd_mem_free(r.tensor);
    if (st == HD_ENOMEM) return hd_err_set(err, st, "%s", why.text);
    return st ? hd_err_set(err, st, "%s: %s", file, why.text) : HD_OK;
}

static hd_status publish(hd_safetensors **out, hd_safetensors *s, hd_status st)
{
    if (st)
        hd_safetensors_free(s);
    else
        *out = s;
    return st;
}

hd_status hd_torch_open(hd_safetensors **out, const char *path, hd_err *err)
{
    hd_safetensors *s = hd_mem_zero(sizeof *s);
    hd_status st = s ? hd_map_open(&s->map, path, err) : hd_err_nomem(err, sizeof *s);
    if (!st) st = read_all(s, s->map.data, s->map.size, path, err);
    return publish(out, s, st);
}

hd_status hd_torch_parse(hd_safetensors **out, const void *bytes, size_t size, const char *name, hd_err *err)
{
    hd_safetensors *s = hd_mem_zero(sizeof *s);
    return publish(out, s, s ? read_all(s, bytes, size, name, err) : hd_err_nomem(err, sizeof *s));
}
