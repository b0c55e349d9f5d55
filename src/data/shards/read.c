/* Reading token shards. Files are hostile: every number of the index is checked before it is used, lengths
   and ids when they are read, with or without a right checksum. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/checksum.h"
#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/mem.h"
#include "data/shards/shards.h"

enum { BLOCK_TOKENS = 1 << 28, PIECE = 1 << 16 }; /* most of a block; bytes that are read at once */

static hd_status damaged(const char *folder, const char *what, hd_err *err)
{
    return hd_err_set(err, HD_EFORMAT,
                      "%s: the token shards are damaged (%s): remove the folder, and they are written again",
                      folder, what);
}

void hd_shards_free(hd_shards *s)
{
    if (!s) return;
    for (size_t i = 0; s->file && i < s->files; i++)
        if (s->file[i] > 0) close(s->file[i]);
    hd_mem_free(s->folder);
    hd_mem_free(s->block);
    hd_mem_free(s->first);
    hd_mem_free(s->place);
    hd_mem_free(s->file);
    hd_mem_free(s->checked);
    hd_mem_free(s);
}

static uint64_t block_bytes(const hd_shards *s, const hd_shards_block *b)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < s->head.sides; i++)
        bytes += (uint64_t)b->items * hd_shards_length_bytes(b) + (uint64_t)b->tokens[i] * s->head.id_bytes;
    return bytes;
}

/* -- opening -- */

static bool good_head(const hd_shards_head *h)
{
    bool sides = h->sides == 1 || h->sides == 2, width = h->id_bytes == 2 || h->id_bytes == 4;
    if (!sides || !width) return false;
    for (uint32_t i = 0; i < h->sides; i++)
        if (!h->vocab[i] || h->vocab[i] > (h->id_bytes == 2 ? 1u << 16 : (uint32_t)INT32_MAX)) return false;
    return true;
}

static bool good_block(const hd_shards *s, const hd_shards_block *b)
{
    uint32_t most = b->tokens[0] > b->tokens[1] ? b->tokens[0] : b->tokens[1];
    return b->items && b->file < s->files && b->tokens[0] >= b->items && most <= BLOCK_TOKENS &&
           (s->head.sides == 2 ? b->tokens[1] >= b->items : !b->tokens[1]) && b->longest > 1 &&
           b->longest <= most + 1;
}

/* Sums over the blocks, which lie one behind the other in each file; end[i]: where file i must end. */
static hd_status read_blocks(hd_shards *s, uint64_t *end, hd_err *err)
{
    for (size_t i = 0; i < s->blocks; i++) {
        const hd_shards_block *b = &s->block[i];
        if (!good_block(s, b) || b->at != end[b->file])
            return damaged(s->folder, "a block is out of place", err);
        end[b->file] += block_bytes(s, b);
        s->first[i + 1] = s->first[i] + b->items;
        s->place[i + 1] = s->place[i] + b->tokens[0];
        for (int side = 0; side < 2; side++) s->tokens[side] += b->tokens[side];
        s->cost += b->cost;
        if (b->longest > s->longest) s->longest = b->longest;
    }
    if (s->first[s->blocks] > INT32_MAX)
        return hd_err_set(err, HD_ELIMIT, "%s: more than %d items", s->folder, INT32_MAX);
    return HD_OK;
}

static hd_status open_file(hd_shards *s, size_t i, uint64_t size, hd_err *err)
{
    char name[32], path[HD_PATH];
    struct stat info;
    snprintf(name, sizeof name, HD_SHARDS_FILE, i);
    hd_status st = hd_path(path, s->folder, name, err);
    if (st) return st;
    s->file[i] = open(path, O_RDONLY | O_CLOEXEC);
    if (s->file[i] < 0 || fstat(s->file[i], &info) || !S_ISREG(info.st_mode))
        return hd_err_set(err, HD_EFORMAT,
                          "%s: cannot open: %s (the shards are not whole: remove their folder, and they are "
                          "written again)",
                          path, strerror(errno));
    if ((uint64_t)info.st_size != size) return damaged(path, "the file has another size", err);
    return HD_OK;
}

static hd_status check_held(const hd_shards *s, hd_err *err)
{
    hd_status st = HD_OK;
    for (uint32_t i = 0; !st && s->head.held && i < s->head.sides; i++) {
        char path[HD_PATH];
        hd_map map = {0};
        st = hd_path(path, s->folder, hd_shards_held((int)i), err);
        if (!st) st = hd_map_open(&map, path, err);
        if (!st && hd_checksum(0, map.data, map.size) != s->head.held_sum[i])
            st = damaged(path, "the checksum is another", err);
        hd_map_close(&map);
    }
    return st;
}

static hd_status parse_index(hd_shards *s, const hd_map *index, hd_err *err)
{
    hd_shards_mark mark;
    size_t fixed = sizeof mark + sizeof s->head + sizeof(uint32_t);
    uint32_t sum;
    if (index->size < fixed) return damaged(s->folder, "the index is cut short", err);
    memcpy(&mark, index->data, sizeof mark);
    if (memcmp(mark.magic, HD_SHARDS_MAGIC, sizeof mark.magic))
        return hd_err_set(err, HD_EFORMAT, "%s/" HD_SHARDS_INDEX ": is not an index of token shards",
                          s->folder);
    if (mark.order != HD_SHARDS_ORDER || mark.block != sizeof *s->block)
        return hd_err_set(err, HD_EFORMAT,
                          "%s: these shards were written on another kind of machine: name another folder",
                          s->folder);
    memcpy(&sum, index->data + index->size - sizeof sum, sizeof sum);
    if (hd_checksum(0, index->data, index->size - sizeof sum) != sum)
        return damaged(s->folder, "the checksum of the index is another", err);
    memcpy(&s->head, index->data + sizeof mark, sizeof s->head);
    bool sized = mark.blocks && mark.blocks == (index->size - fixed) / sizeof *s->block &&
                 !((index->size - fixed) % sizeof *s->block);
    if (!sized || !mark.files || mark.files > HD_SHARDS_FILES || !good_head(&s->head))
        return damaged(s->folder, "the index is none", err);
    s->blocks = (size_t)mark.blocks, s->files = (size_t)mark.files;
    s->block = hd_mem_array(s->blocks, sizeof *s->block);
    s->first = hd_mem_array(s->blocks + 1, sizeof *s->first);
    s->place = hd_mem_array(s->blocks + 1, sizeof *s->place);
    s->checked = hd_mem_array(s->blocks, sizeof *s->checked);
    s->file = hd_mem_array(s->files, sizeof *s->file);
    if (!s->block || !s->first || !s->place || !s->checked || !s->file)
        return hd_err_nomem(err, s->blocks * sizeof *s->block);
    memcpy(s->block, index->data + sizeof mark + sizeof s->head, s->blocks * sizeof *s->block);
    return HD_OK;
}

hd_status hd_shards_open(hd_shards **out, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_map index = {0};
    uint64_t *end = NULL;
    hd_shards *s = hd_mem_zero(sizeof *s);
    if (s) s->folder = hd_mem_text(folder);
    hd_status st = s && s->folder ? hd_path(path, folder, HD_SHARDS_INDEX, err) : hd_err_nomem(err, HD_PATH);
    if (!st) st = hd_map_open(&index, path, err);
    if (!st) st = parse_index(s, &index, err);
    hd_map_close(&index);
    if (!st && !(end = hd_mem_array(s->files, sizeof *end))) st = hd_err_nomem(err, s->files * sizeof *end);
    if (!st) st = read_blocks(s, end, err);
    for (size_t i = 0; !st && i < s->files; i++) st = open_file(s, i, end[i], err);
    if (!st) st = check_held(s, err);
    hd_mem_free(end);
    if (st)
        hd_shards_free(s);
    else
        *out = s;
    return st;
}

bool hd_shards_there(const char *folder)
{
    char path[HD_PATH];
    return !hd_path(path, folder, HD_SHARDS_INDEX, NULL) && !access(path, F_OK);
}

hd_status hd_shards_open_same(hd_shards **out, const char *folder, const hd_shards_opt *opt, hd_err *err)
{
    hd_shards *s = NULL;
    hd_status st = hd_shards_open(&s, folder, err);
    if (st) return st;
    const hd_shards_head *h = &s->head;
    bool other = h->sides != opt->sides || h->data != opt->data;
    if (other || h->tokenizer != opt->tokenizer || memcmp(h->vocab, opt->vocab, sizeof h->vocab))
        st = hd_err_set(err, HD_EARG,
                        "%s: these token shards are of other %s: name another folder, or remove this one",
                        folder, other ? "data" : "tokenizers");
    if (st)
        hd_shards_free(s);
    else
        *out = s;
    return st;
}

/* -- reading -- */

static hd_status read_bytes(hd_shards *s, size_t block, uint64_t at, void *to, size_t bytes, hd_err *err)
{
    const hd_shards_block *b = &s->block[block];
    char *next = to;
    atomic_fetch_add_explicit(&s->read, bytes, memory_order_relaxed);
    while (bytes) {
        ssize_t got = pread(s->file[b->file], next, bytes, (off_t)(b->at + at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return hd_err_set(err, HD_EFILE, "%s/" HD_SHARDS_FILE ": cannot read: %s", s->folder,
                              (size_t)b->file, strerror(errno));
        if (!got) return damaged(s->folder, "a file is cut short", err);
        next += got, at += (uint64_t)got, bytes -= (size_t)got;
    }
    return HD_OK;
}

/* Numbers of one or two bytes' width into words; what is read goes into *sum. Pieces that are narrow are read
   into the upper half of what they become, so that no other memory is needed. */
static hd_status read_numbers(hd_shards *s, size_t block, uint64_t at, size_t count, size_t each,
                              uint32_t *to, uint32_t *sum, hd_err *err)
{
    for (size_t n; count; count -= n, to += n, at += n * each) {
        n = count < PIECE ? count : PIECE;
        char *raw = (char *)to + n * (sizeof *to - each);
        hd_status st = read_bytes(s, block, at, raw, n * each, err);
        if (st) return st;
        *sum = hd_checksum(*sum, raw, n * each);
        for (size_t i = 0; each == 2 && i < n; i++) {
            uint16_t narrow;
            memcpy(&narrow, raw + 2 * i, sizeof narrow);
            to[i] = narrow;
        }
    }
    return HD_OK;
}

hd_status hd_shards_lengths(hd_shards *s, size_t block, uint32_t *len[2], hd_err *err)
{
    const hd_shards_block *b = &s->block[block];
    size_t each = hd_shards_length_bytes(b);
    uint32_t sum = 0;
    hd_status st = HD_OK;
    for (uint32_t side = 0; !st && side < s->head.sides; side++)
        st = read_numbers(s, block, (uint64_t)side * b->items * each, b->items, each, len[side], &sum, err);
    if (!st && sum != b->sum[0]) st = damaged(s->folder, "the lengths of a block", err);
    for (uint32_t side = 0; !st && side < s->head.sides; side++) {
        uint64_t all = 0;
        bool good = true;
        for (uint32_t i = 0; i < b->items; i++)
            all += len[side][i], good = good && len[side][i] && len[side][i] < b->longest;
        if (!good || all != b->tokens[side]) st = damaged(s->folder, "the lengths of a block", err);
    }
    return st;
}

static hd_status check_ids(const hd_shards *s, int side, const int32_t *ids, size_t count, hd_err *err)
{
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++)
        if ((uint32_t)ids[i] > most) most = (uint32_t)ids[i];
    return count && most >= s->head.vocab[side] ? damaged(s->folder, "an id is none of the vocabulary", err)
                                                : HD_OK;
}

hd_status hd_shards_ids(hd_shards *s, size_t block, int32_t *ids[2], hd_err *err)
{
    const hd_shards_block *b = &s->block[block];
    uint64_t at = (uint64_t)s->head.sides * b->items * hd_shards_length_bytes(b);
    uint32_t sum = 0;
    hd_status st = HD_OK;
    for (uint32_t side = 0; !st && side < s->head.sides; side++) {
        st = read_numbers(s, block, at, b->tokens[side], s->head.id_bytes, (uint32_t *)ids[side], &sum, err);
        at += (uint64_t)b->tokens[side] * s->head.id_bytes;
    }
    if (!st && sum != b->sum[1]) st = damaged(s->folder, "the tokens of a block", err);
    for (uint32_t side = 0; !st && side < s->head.sides; side++)
        st = check_ids(s, (int)side, ids[side], b->tokens[side], err);
    if (!st) atomic_store(&s->checked[block], 1);
    return st;
}

/* Once for every block: all of it, for its checksum. */
static hd_status check_block(hd_shards *s, size_t block, hd_err *err)
{
    const hd_shards_block *b = &s->block[block];
    size_t count = (size_t)b->tokens[0] + b->tokens[1];
    int32_t *all = hd_mem_new(count * sizeof *all), *ids[2] = {all, all ? all + b->tokens[0] : NULL};
    hd_status st = all ? hd_shards_ids(s, block, ids, err) : hd_err_nomem(err, count * sizeof *all);
    hd_mem_free(all);
    return st;
}

/* The block that has a token. */
static size_t block_of(const hd_shards *s, uint64_t place)
{
    size_t low = 0, high = s->blocks;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->place[middle] <= place)
            low = middle;
        else
            high = middle;
    }
    return low;
}

hd_status hd_shards_span(hd_shards *s, uint64_t from, size_t count, int32_t *to, hd_err *err)
{
    hd_status st = HD_OK;
    for (size_t block = block_of(s, from); !st && count; block++) {
        const hd_shards_block *b = &s->block[block];
        uint64_t skip = from - s->place[block], left = b->tokens[0] - skip;
        size_t n = count < left ? count : (size_t)left;
        uint64_t at = (uint64_t)s->head.sides * b->items * hd_shards_length_bytes(b);
        uint32_t sum = 0;
        if (!atomic_load(&s->checked[block])) st = check_block(s, block, err);
        if (!st)
            st = read_numbers(s, block, at + skip * s->head.id_bytes, n, s->head.id_bytes, (uint32_t *)to,
                              &sum, err);
        if (!st) st = check_ids(s, 0, to, n, err);
        to += n, from += n, count -= n;
    }
    return st;
}
