/* IDX files, as of MNIST: two zero bytes, the type, the number of dimensions, each of them in four bytes, the
   highest first, then the numbers. Easy to get wrong: a compressed file may claim to hold more than it ever
   can. */
#include <stdio.h>
#include <string.h>

#include "base/file/checksum.h"
#include "base/file/file.h"
#include "base/file/packed.h"
#include "base/mem.h"
#include "data/image/set/build.h"

enum {
    BYTES = 8,
    DIMENSIONS = 4,
    RATIO_MOST = 10000
}; /* how much compressed data may grow; gzip's at most 1032-fold */

typedef struct idx {
    const char *path;
    hd_map map;
    const hd_packed_type *type;
    void *state;
    hd_packed_flow flow; /* what is left of the map */
    bool ended;          /* all is unpacked */
    int rank;
    size_t dim[DIMENSIONS];
} idx;

static hd_status cut_short(const idx *x, hd_err *err)
{
    return hd_err_set(err, HD_EFORMAT,
                      "%s: the file is cut short: its header says more numbers than it holds", x->path);
}

/* The next bytes; *got is less than `size` at the end. */
static hd_status take(idx *x, uint8_t *to, size_t size, size_t *got, hd_err *err)
{
    hd_packed_flow *f = &x->flow;
    hd_status s = HD_OK;
    f->out = to, f->out_left = size;
    if (!x->type) {
        size_t n = f->in_left < size ? f->in_left : size;
        if (n) memcpy(to, f->in, n);
        f->in += n, f->in_left -= n, f->out_left -= n;
    }
    while (x->type && !s && f->out_left && !x->ended) {
        size_t in = f->in_left, out = f->out_left;
        s = x->type->step(x->state, f, &x->ended, err);
        if (!s && !x->ended && in == f->in_left && out == f->out_left)
            s = hd_err_set(err, HD_EFORMAT, "%s: the %s data is cut short", x->path, x->type->name);
    }
    *got = size - f->out_left;
    return s;
}

static hd_status open_idx(idx *x, const char *path, hd_err *err)
{
    uint8_t head[4], number[4];
    size_t got = 0;
    *x = (idx){.path = path};
    hd_status s = hd_map_open(&x->map, path, err);
    x->flow = (hd_packed_flow){.in = x->map.data, .in_left = x->map.size, .in_last = true};
    if (!s) s = hd_packed_find(&x->type, x->map.data, x->map.size, path, err);
    if (!s && x->type) s = x->type->open(&x->state, path, err);
    if (!s) s = take(x, head, sizeof head, &got, err);
    if (!s && (got < sizeof head || head[0] || head[1] || !head[3] || head[3] > DIMENSIONS))
        s = hd_err_set(err, HD_EFORMAT, "%s: is no IDX file of pictures or labels", path);
    if (!s && head[2] != BYTES)
        s = hd_err_set(err, HD_EFORMAT, "%s: an IDX file of type 0x%02x: only bytes (0x08) are read", path,
                       (unsigned)head[2]);
    x->rank = s ? 0 : head[3];
    for (int i = 0; !s && i < x->rank; i++) {
        s = take(x, number, sizeof number, &got, err);
        if (!s && got < sizeof number) s = cut_short(x, err);
        x->dim[i] = (size_t)number[0] << 24 | (size_t)number[1] << 16 | (size_t)number[2] << 8 | number[3];
    }
    return s;
}

static void close_idx(idx *x)
{
    if (x->state) x->type->close(x->state);
    hd_map_close(&x->map);
}

/* All numbers behind the header. */
static hd_status read_numbers(idx *x, uint8_t **out, size_t *count, hd_err *err)
{
    uint8_t more;
    size_t got = 0, most = x->type ? x->map.size : x->flow.in_left;
    bool fits = !x->type || hd_size_mul(most, RATIO_MOST, &most);
    *count = 1;
    for (int i = 0; i < x->rank; i++) fits = fits && hd_size_mul(*count, x->dim[i], count);
    if (!fits || *count > most) return cut_short(x, err);
    *out = hd_mem_new(*count);
    if (!*out) return hd_err_nomem(err, *count);
    hd_status s = take(x, *out, *count, &got, err);
    if (!s && got < *count) s = cut_short(x, err);
    if (!s) s = take(x, &more, 1, &got, err);
    if (!s && got)
        s = hd_err_set(err, HD_EFORMAT, "%s: more numbers follow than its header says: the file is damaged",
                       x->path);
    return s;
}

static hd_status read_pictures(hd_image_block *b, const char *path, hd_err *err)
{
    idx x;
    size_t bytes;
    hd_status s = open_idx(&x, path, err);
    if (!s && (x.rank < 2 || (x.rank == 4 && x.dim[3] != 1 && x.dim[3] != 3)))
        s = hd_err_set(err, HD_EFORMAT,
                       "%s: no pictures: they have the dimensions n, height, width or n, height, "
                       "width, 3%s",
                       path, x.rank == 1 ? "; are these the labels?" : "");
    const size_t *d = x.dim + (x.rank > 2); /* of two dimensions it is one picture */
    if (!s) s = hd_image_check((int64_t)d[1], (int64_t)d[0], path, err);
    if (!s && x.rank > 2 && (!x.dim[0] || x.dim[0] > INT32_MAX))
        s = hd_err_set(err, HD_EFORMAT, "%s: %zu pictures", path, x.dim[0]);
    if (!s) s = read_numbers(&x, &b->pixel, &bytes, err);
    if (!s) {
        b->height = (int)d[0], b->width = (int)d[1];
        b->count = x.rank > 2 ? x.dim[0] : 1;
        b->channels = x.rank == 4 ? (int)x.dim[3] : 1;
    }
    close_idx(&x);
    return s;
}

static hd_status read_labels(uint8_t **out, const char *path, const char *pictures, size_t wanted,
                             hd_err *err)
{
    idx x;
    size_t count = 0;
    hd_status s = open_idx(&x, path, err);
    if (!s && x.rank != 1)
        s = hd_err_set(err, HD_EFORMAT, "%s: no labels: they have one dimension, and this file has %d%s",
                       path, x.rank, x.rank > 2 ? "; are these the pictures?" : "");
    if (!s) s = read_numbers(&x, out, &count, err);
    if (!s && count != wanted)
        s = hd_err_set(err, HD_EFORMAT, "%s: %zu labels for the %zu pictures of %s", path, count, wanted,
                       pictures);
    close_idx(&x);
    return s;
}

/* Names of numbers up to the largest, or a check that the list has so many. */
static hd_status name_labels(hd_vocab *labels, const uint8_t *label, size_t count, const char *path,
                             hd_err *err)
{
    size_t most = 0;
    hd_status s = HD_OK;
    for (size_t i = 0; i < count; i++) most = label[i] > most ? label[i] : most;
    if (labels->count && most >= labels->count)
        return hd_err_set(err, HD_EFORMAT, "%s: the label %zu is none of the %zu that are known: %.60s, ...",
                          path, most, labels->count, hd_vocab_piece(labels, 0));
    for (size_t i = labels->count; !s && i <= most; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        s = hd_vocab_add(labels, name, strlen(name), err);
    }
    return s;
}

static hd_status describe(hd_image_set *set, const uint8_t *label, hd_err *err)
{
    const hd_image_block *b = set->block;
    size_t bytes = (size_t)b->width * (size_t)b->height * (size_t)b->channels;
    hd_status s = HD_OK;
    set->size = hd_mem_array(b->count, 2 * sizeof *set->size);
    set->mark = hd_mem_array(b->count, sizeof *set->mark);
    set->place = hd_mem_array(b->count, sizeof *set->place);
    set->label = label ? hd_mem_array(b->count, sizeof *set->label) : NULL;
    if (!set->size || !set->mark || !set->place || (label && !set->label))
        return hd_err_nomem(err, b->count * sizeof *set->mark);
    for (size_t i = 0; !s && i < b->count; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        s = hd_vocab_add(&set->name, name, strlen(name), err);
        set->size[2 * i] = b->height, set->size[2 * i + 1] = b->width;
        set->place[i] = (uint32_t)i;
        set->mark[i] = (uint64_t)i << 32 | hd_checksum(0, b->pixel + i * bytes, bytes);
        if (label) set->label[i] = label[i];
    }
    set->count = b->count, set->channels = b->channels;
    if (!s) hd_set_hash(set);
    return s;
}

hd_status hd_image_set_idx(hd_image_set *out, hd_vocab *labels, const char *images, const char *label_file,
                           hd_err *err)
{
    uint8_t *label = NULL;
    bool fixed = labels && labels->count;
    *out = (hd_image_set){.root = hd_mem_text(images), .block = hd_mem_zero(sizeof *out->block)};
    if (out->block) out->block->users = 1;
    hd_status s =
        out->root && out->block ? read_pictures(out->block, images, err) : hd_err_nomem(err, HD_ALIGN);
    if (!s && label_file) s = read_labels(&label, label_file, images, out->block->count, err);
    if (!s && label) s = name_labels(labels, label, out->block->count, label_file, err);
    if (!s) s = describe(out, label, err);
    hd_mem_free(label);
    if (s) hd_image_set_release(out);
    if (s && labels && !fixed) hd_vocab_release(labels);
    return s;
}

bool hd_is_idx(const char *path)
{
    idx x;
    hd_status s = open_idx(&x, path, NULL);
    close_idx(&x);
    return !s;
}
