/* Writing token shards. Easy to get wrong: nothing may depend on how the corpus was read in pieces, and only
   one block is in memory. */
#include <stdio.h>
#include <string.h>

#include "base/file/checksum.h"
#include "base/file/file.h"
#include "base/file/staging.h"
#include "base/mem.h"
#include "base/text.h"
#include "data/shards/shards.h"

enum { FILE_BYTES = 1 << 30, WIDE = 1 << 16 };

struct hd_shards_writer {
    hd_shards_opt opt;
    hd_staging staging;
    hd_shards_head head;
    hd_shards_block now; /* being filled */
    struct {
        uint32_t *len;
        size_t len_room;
        int32_t *id;
        size_t id_room;
    } side[2];
    void *narrow; /* ids of a block in two bytes each */
    size_t narrow_room;
    hd_save *file; /* the one that is being written */
    size_t files, written;
    hd_save *held[2];
    hd_shards_block *block;
    size_t blocks, room;
};

const char *hd_shards_held(int side)
{
    static const char *const name[2] = {"held-out.0", "held-out.1"};
    return name[side];
}

hd_status hd_shards_begin(hd_shards_writer **out, const char *folder, const hd_shards_opt *opt, hd_err *err)
{
    hd_shards_writer *w = hd_mem_zero(sizeof *w);
    if (!w) return hd_err_nomem(err, sizeof *w);
    w->opt = *opt;
    if (!w->opt.block) w->opt.block = HD_SHARDS_BLOCK;
    if (!w->opt.file) w->opt.file = FILE_BYTES;
    bool wide = opt->vocab[0] > WIDE || opt->vocab[1] > WIDE;
    w->head = (hd_shards_head){.sides = opt->sides,
                               .id_bytes = wide ? 4 : 2,
                               .data = opt->data,
                               .tokenizer = opt->tokenizer,
                               .vocab = {opt->vocab[0], opt->vocab[1]}};
    hd_status s = hd_staging_begin(&w->staging, folder, err);
    if (s)
        hd_mem_free(w);
    else
        *out = w;
    return s;
}

static hd_status open_file(hd_shards_writer *w, hd_err *err)
{
    char name[32], path[HD_PATH];
    if (w->files == HD_SHARDS_FILES)
        return hd_err_set(err, HD_ELIMIT, "%s: more than %d files", w->staging.path, HD_SHARDS_FILES);
    snprintf(name, sizeof name, HD_SHARDS_FILE, w->files);
    hd_status s = hd_path(path, w->staging.temp, name, err);
    if (!s) s = hd_save_open(&w->file, path, err);
    if (!s) w->files++, w->written = 0;
    return s;
}

static hd_status write_part(hd_shards_writer *w, const void *data, size_t bytes, uint32_t *sum, hd_err *err)
{
    *sum = hd_checksum(*sum, data, bytes);
    w->written += bytes;
    return hd_save_write(w->file, data, bytes, err);
}

/* In two bytes each where they fit. */
static hd_status write_numbers(hd_shards_writer *w, const uint32_t *x, size_t count, size_t each,
                               uint32_t *sum, hd_err *err)
{
    if (each == sizeof *x) return write_part(w, x, count * each, sum, err);
    hd_status s = hd_mem_reserve(&w->narrow, &w->narrow_room, count, each, err);
    if (s) return s;
    uint16_t *narrow = w->narrow;
    for (size_t i = 0; i < count; i++) narrow[i] = (uint16_t)x[i];
    return write_part(w, narrow, count * each, sum, err);
}

static hd_status end_block(hd_shards_writer *w, hd_err *err)
{
    if (!w->now.items) return HD_OK;
    hd_status s = w->file ? HD_OK : open_file(w, err);
    w->now.file = (uint32_t)(w->files - 1), w->now.at = w->written;
    for (uint32_t i = 0; !s && i < w->head.sides; i++)
        s = write_numbers(w, w->side[i].len, w->now.items, hd_shards_length_bytes(&w->now), &w->now.sum[0],
                          err);
    for (uint32_t i = 0; !s && i < w->head.sides; i++)
        s = write_numbers(w, (const uint32_t *)w->side[i].id, w->now.tokens[i], w->head.id_bytes,
                          &w->now.sum[1], err);
    if (!s) s = hd_mem_reserve(&w->block, &w->room, w->blocks + 1, sizeof *w->block, err);
    if (s) return s;
    w->block[w->blocks++] = w->now;
    w->now = (hd_shards_block){0};
    if (w->written < w->opt.file) return HD_OK;
    hd_save *full = w->file;
    w->file = NULL;
    return hd_save_commit(full, err);
}

/* Room for the items of a block and their ids. */
static hd_status reserve(hd_shards_writer *w, uint32_t side, size_t items, size_t ids, hd_err *err)
{
    hd_status s =
        hd_mem_reserve(&w->side[side].len, &w->side[side].len_room, items, sizeof *w->side[side].len, err);
    return s ? s
             : hd_mem_reserve(&w->side[side].id, &w->side[side].id_room, ids, sizeof *w->side[side].id, err);
}

hd_status hd_shards_put(hd_shards_writer *w, const int32_t *const ids[2], const size_t len[2], hd_err *err)
{
    hd_status s = HD_OK;
    uint32_t cost = 0;
    for (uint32_t i = 0; !s && i < w->head.sides; i++) {
        s = reserve(w, i, w->now.items + 1, w->now.tokens[i] + len[i], err);
        if (s) return s;
        w->side[i].len[w->now.items] = (uint32_t)len[i];
        memcpy(w->side[i].id + w->now.tokens[i], ids[i], len[i] * sizeof **ids);
        if (len[i] + 1 > cost) cost = (uint32_t)len[i] + 1;
    }
    for (uint32_t i = 0; i < w->head.sides; i++) w->now.tokens[i] += (uint32_t)len[i];
    w->now.items++, w->now.cost += cost;
    if (cost > w->now.longest) w->now.longest = cost;
    bool full = w->now.tokens[0] >= w->opt.block || w->now.tokens[1] >= w->opt.block;
    return full ? end_block(w, err) : HD_OK;
}

/* A block of a stream is one item, which is filled up. */
hd_status hd_shards_put_stream(hd_shards_writer *w, const int32_t *ids, size_t count, hd_err *err)
{
    hd_status s = HD_OK;
    while (!s && count) {
        size_t room = w->opt.block - w->now.tokens[0], n = count < room ? count : room;
        s = reserve(w, 0, 1, w->opt.block, err);
        if (s) return s;
        memcpy(w->side[0].id + w->now.tokens[0], ids, n * sizeof *ids);
        w->now.tokens[0] += (uint32_t)n, w->now.items = 1;
        w->side[0].len[0] = w->now.tokens[0], w->now.longest = w->now.cost = w->now.tokens[0] + 1;
        ids += n, count -= n;
        if (w->now.tokens[0] == w->opt.block) s = end_block(w, err);
    }
    return s;
}

hd_status hd_shards_hold(hd_shards_writer *w, const hd_line line[2], hd_err *err)
{
    hd_status s = HD_OK;
    for (uint32_t i = 0; !s && i < w->head.sides; i++) {
        char path[HD_PATH];
        if (!w->held[i]) s = hd_path(path, w->staging.temp, hd_shards_held((int)i), err);
        if (!s && !w->held[i]) s = hd_save_open(&w->held[i], path, err);
        if (!s) s = hd_save_write(w->held[i], line[i].text, line[i].size, err);
        if (!s) s = hd_save_write(w->held[i], "\n", 1, err);
    }
    w->head.held++;
    return s;
}

static hd_status write_index(hd_shards_writer *w, hd_err *err)
{
    char path[HD_PATH];
    hd_save *file = NULL;
    hd_shards_mark mark = {HD_SHARDS_MAGIC, HD_SHARDS_ORDER, sizeof *w->block, w->blocks, w->files};
    hd_status s = hd_path(path, w->staging.temp, HD_SHARDS_INDEX, err);
    if (!s) s = hd_save_open(&file, path, err);
    if (!s) s = hd_save_write(file, &mark, sizeof mark, err);
    if (!s) s = hd_save_write(file, &w->head, sizeof w->head, err);
    if (!s) s = hd_save_write(file, w->block, w->blocks * sizeof *w->block, err);
    uint32_t sum = s ? 0 : hd_save_checksum(file);
    if (!s) s = hd_save_write(file, &sum, sizeof sum, err);
    if (!s) return hd_save_commit(file, err);
    hd_save_abandon(file);
    return s;
}

static hd_status finish(hd_shards_writer *w, hd_err *err)
{
    hd_status s = end_block(w, err);
    hd_save *last = w->file;
    w->file = NULL;
    if (!s && last)
        s = hd_save_commit(last, err);
    else
        hd_save_abandon(last);
    for (uint32_t i = 0; i < w->head.sides; i++) {
        hd_save *held = w->held[i];
        w->held[i] = NULL;
        if (held) w->head.held_sum[i] = hd_save_checksum(held);
        if (!s && held)
            s = hd_save_commit(held, err);
        else
            hd_save_abandon(held);
    }
    return s ? s : write_index(w, err);
}

void hd_shards_describe(hd_shards_writer *w, uint64_t hash, uint64_t lines, uint64_t characters)
{
    w->head.hash = hash, w->head.lines = lines, w->head.characters = characters;
}

hd_status hd_shards_end(hd_shards_writer *w, hd_status status, hd_err *err)
{
    if (!status) status = finish(w, err);
    hd_save_abandon(w->file);
    for (int i = 0; i < 2; i++) {
        hd_save_abandon(w->held[i]);
        hd_mem_free(w->side[i].len);
        hd_mem_free(w->side[i].id);
    }
    status = hd_staging_end(&w->staging, status, err);
    hd_mem_free(w->narrow);
    hd_mem_free(w->block);
    hd_mem_free(w);
    return status;
}
