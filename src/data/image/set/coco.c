/* Pictures with boxes in COCO's JSON. Easy to get wrong: ids are any whole numbers, in any order, and images
   without a box are pictures, too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "data/image/set/boxes.h"

enum { BYTES_MOST = 1 << 30 };

/* What an id stands for: a picture or a label. */
typedef struct entry {
    json_int_t id;
    int32_t number; /* -1: left out */
} entry;

typedef struct table {
    entry *at;
    size_t count;
} table;

static int by_id(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static const entry *find(const table *t, json_int_t id)
{
    return t->count ? bsearch(&(entry){.id = id}, t->at, t->count, sizeof *t->at, by_id) : NULL;
}

/* Whole numbers may be written 3.0. */
static bool whole(const json_t *value, json_int_t *number)
{
    double real = json_is_real(value) ? json_real_value(value) : 0;
    if (json_is_integer(value)) *number = json_integer_value(value);
    if (json_is_real(value) && real == floor(real) && fabs(real) < 9e15) *number = (json_int_t)real;
    return json_is_integer(value) || (json_is_real(value) && real == floor(real) && fabs(real) < 9e15);
}

typedef hd_status add_fn(hd_set_builder *b, hd_line name, int32_t *number, hd_err *err);

/* Reads a list of objects with an id and a name. */
static hd_status read_named(hd_set_builder *b, table *t, const json_t *root, const char *list,
                            const char *key, add_fn *add, hd_err *err)
{
    const json_t *all = json_object_get(root, list);
    size_t count = json_array_size(all);
    if (!json_is_array(all))
        return hd_set_refuse(b, err, "no COCO file of boxes: there is no list \"%s\"", list);
    t->at = hd_mem_array(count + 1, sizeof *t->at);
    if (!t->at) return hd_err_nomem(err, count * sizeof *t->at);
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(all, i), *name = json_object_get(one, key);
        entry e = {.number = -1};
        if (!whole(json_object_get(one, "id"), &e.id) || !json_is_string(name))
            return hd_set_refuse(b, err, "entry %zu of \"%s\" has no id or no %s", i, list, key);
        hd_status s = add(b, (hd_line){json_string_value(name), json_string_length(name)}, &e.number, err);
        if (s) return s;
        t->at[t->count++] = e;
    }
    qsort(t->at, t->count, sizeof *t->at, by_id);
    for (size_t i = 1; i < t->count; i++)
        if (t->at[i].id == t->at[i - 1].id)
            return hd_set_refuse(b, err, "two entries of \"%s\" have the id %lld", list,
                                 (long long)t->at[i].id);
    return HD_OK;
}

/* A category that a fixed list of labels lacks is an error only where a box has it. */
static hd_status add_category(hd_set_builder *b, hd_line name, int32_t *number, hd_err *err)
{
    if (!b->fixed) return hd_set_label(b, name, number, err);
    *number = hd_vocab_find(b->labels, name.text, name.size);
    return HD_OK;
}

static bool is_crowd(const json_t *one)
{
    const json_t *crowd = json_object_get(one, "iscrowd");
    return json_is_true(crowd) || json_number_value(crowd) != 0;
}

static hd_status add_box(hd_set_builder *b, const json_t *one, size_t i, const table *pictures,
                         const table *labels, hd_err *err)
{
    const json_t *box = json_object_get(one, "bbox");
    json_int_t picture, label;
    double n[4];
    bool good = json_array_size(box) == 4;
    if (is_crowd(one)) return HD_OK;
    for (size_t k = 0; good && k < 4; k++) {
        n[k] = json_number_value(json_array_get(box, k));
        good = json_is_number(json_array_get(box, k)) && isfinite(n[k]);
    }
    if (!good || n[2] < 0 || n[3] < 0)
        return hd_set_refuse(b, err, "entry %zu of \"annotations\" has no bbox of x, y, width, height", i);
    const entry *p = whole(json_object_get(one, "image_id"), &picture) ? find(pictures, picture) : NULL;
    const entry *l = whole(json_object_get(one, "category_id"), &label) ? find(labels, label) : NULL;
    if (!p || !l)
        return hd_set_refuse(b, err, "entry %zu of \"annotations\" has no %s that is listed", i,
                             p ? "category_id" : "image_id");
    if (l->number < 0)
        return hd_set_refuse(b, err,
                             "entry %zu of \"annotations\": its category is none of the %zu labels that "
                             "are known: %.60s, ...",
                             i, b->labels->count, hd_vocab_piece(b->labels, 0));
    if (p->number < 0) return HD_OK;
    return hd_set_box(b, p->number, (double[4]){n[0], n[1], n[0] + n[2], n[1] + n[3]}, l->number, err);
}

hd_status hd_set_read_coco(hd_set_builder *b, hd_err *err)
{
    hd_arena arena;
    json_t *root = NULL;
    table pictures = {0}, labels = {0};
    hd_arena_init(&arena, hd_allocator_host, 0);
    hd_status s = hd_json_read(&root, &arena, b->path, BYTES_MOST, err);
    if (!s) s = read_named(b, &labels, root, "categories", "name", add_category, err);
    if (!s) s = read_named(b, &pictures, root, "images", "file_name", hd_set_picture, err);
    const json_t *all = json_object_get(root, "annotations");
    if (!s && !json_is_array(all))
        s = hd_set_refuse(b, err, "no COCO file of boxes: there is no list \"annotations\"");
    for (size_t i = 0; !s && i < json_array_size(all); i++)
        s = add_box(b, json_array_get(all, i), i, &pictures, &labels, err);
    hd_mem_free(pictures.at);
    hd_mem_free(labels.at);
    hd_arena_release(&arena);
    return s;
}
