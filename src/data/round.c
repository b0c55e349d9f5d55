/* Rounds of an epoch over shards. Easy to get wrong: what a round has must follow from the shards, the seed,
   the epoch and the number of processes alone. */
#include "data/round.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

/* Streams of the seed that are ours: one an epoch. */
#define STREAM 0x7368617264000000u

hd_status hd_round_init(hd_round *r, hd_shards *shards, uint64_t seed, size_t rank, size_t ranks,
                        size_t tokens, hd_err *err)
{
    uint64_t all = shards->tokens[0] > shards->tokens[1] ? shards->tokens[0] : shards->tokens[1];
    *r = (hd_round){.shards = shards, .seed = seed, .rank = rank, .ranks = ranks};
    if (!tokens) tokens = HD_ROUND_TOKENS;
    r->rounds = (size_t)((all + tokens - 1) / tokens);
    if (r->rounds > shards->blocks) r->rounds = shards->blocks;
    r->order = hd_mem_array(shards->blocks, sizeof *r->order);
    return r->order ? HD_OK : hd_err_nomem(err, shards->blocks * sizeof *r->order);
}

void hd_round_release(hd_round *r)
{
    hd_mem_free(r->order);
    hd_mem_free(r->len);
    hd_mem_free(r->index);
    hd_mem_free(r->key);
    hd_corpus_release(&r->corpus);
    *r = (hd_round){0};
}

static void draw_order(hd_round *r, uint64_t epoch)
{
    hd_rng rng = hd_rng_make(r->seed, STREAM + epoch);
    size_t n = r->shards->blocks;
    for (size_t i = 0; i < n; i++) r->order[i] = (uint32_t)i;
    for (size_t i = n; i > 1; i--) {
        uint32_t j = hd_rng_below(&rng, (uint32_t)i), keep = r->order[i - 1];
        r->order[i - 1] = r->order[j], r->order[j] = keep;
    }
    r->epoch = epoch, r->drawn = true;
}

static size_t begin_of(const hd_round *r, uint64_t number)
{
    return (size_t)((uint64_t)r->shards->blocks * number / r->rounds);
}

static const hd_shards_block *block_at(const hd_round *r, size_t place)
{
    return &r->shards->block[r->order[place]];
}

static hd_status reserve(void **block, size_t *room, size_t count, size_t each, hd_err *err)
{
    if (count <= *room) return HD_OK;
    hd_mem_free(*block); /* what it holds is not wanted any more */
    *block = hd_mem_array(count, each);
    *room = *block ? count : 0;
    return *block ? HD_OK : hd_err_nomem(err, count * each);
}

/* -- lengths -- */

static hd_status read_lengths(hd_round *r, size_t begin, size_t end, hd_err *err)
{
    void *len = r->len, *index = r->index;
    r->items = 0;
    for (size_t i = begin; i < end; i++) r->items += block_at(r, i)->items;
    hd_status s = reserve(&len, &r->room, 2 * r->items, sizeof *r->len, err);
    r->len = len;
    if (!s) s = reserve(&index, &r->index_room, r->items, sizeof *r->index, err);
    r->index = index;
    for (size_t i = begin, at = 0; !s && i < end; i++) {
        uint32_t *to[2] = {r->len + at, r->len + r->items + at};
        s = hd_shards_lengths(r->shards, r->order[i], to, err);
        at += block_at(r, i)->items;
    }
    return s;
}

static uint32_t longer(const hd_round *r, size_t item)
{
    uint32_t a = r->len[item], b = r->shards->head.sides == 2 ? r->len[r->items + item] : 0;
    return a > b ? a : b;
}

/* Numbers the items of each process by their length, so that those of one number are alike; groups: how many
   the process with most has. */
static hd_status number_items(hd_round *r, size_t begin, size_t end, size_t *groups, hd_err *err)
{
    size_t lengths = r->shards->longest;
    uint32_t *count = hd_mem_array(lengths + 1, sizeof *count);
    if (!count) return hd_err_nomem(err, lengths * sizeof *count);
    *groups = 0;
    for (size_t lane = 0; lane < r->ranks; lane++) {
        size_t all = 0;
        memset(count, 0, (lengths + 1) * sizeof *count);
        for (int pass = 0; pass < 2; pass++) {
            for (size_t i = begin, at = 0; i < end; at += block_at(r, i)->items, i++)
                for (size_t k = 0; (i - begin) % r->ranks == lane && k < block_at(r, i)->items; k++) {
                    uint32_t *c = &count[longer(r, at + k)];
                    if (pass)
                        r->index[at + k] = (uint32_t)((*c)++ * r->ranks + lane);
                    else
                        ++*c, all++;
                }
            for (size_t i = 0, before = 0; !pass && i <= lengths; i++) {
                size_t n = count[i];
                count[i] = (uint32_t)before, before += n;
            }
        }
        if (all > *groups) *groups = all;
    }
    hd_mem_free(count);
    return HD_OK;
}

static hd_status make_corpus(hd_round *r, size_t begin, size_t end, size_t count, hd_err *err)
{
    hd_corpus *c = &r->corpus;
    void *key = r->key;
    hd_status s = reserve(&key, &r->key_room, count, sizeof *r->key, err);
    r->key = key;
    size_t places = count + 1;
    c->sides = (int)r->shards->head.sides, c->count = count;
    for (int side = 0; !s && side < c->sides; side++) {
        size_t room = c->places, *at;
        void *starts = c->side[side].begin;
        s = reserve(&starts, &room, places, sizeof *at, err);
        c->side[side].begin = at = starts;
        if (s) break;
        memset(at, 0, places * sizeof *at);
        for (size_t i = 0; i < r->items; i++) at[r->index[i] + 1] = r->len[(size_t)side * r->items + i];
        for (size_t i = 0; i < count; i++) at[i + 1] += at[i];
    }
    if (s) return s;
    if (places > c->places) c->places = places;
    for (size_t i = begin, at = 0; i < end; i++)
        for (size_t k = 0; k < block_at(r, i)->items; k++)
            r->key[r->index[at++]] = (int32_t)(r->shards->first[r->order[i]] + k);
    return HD_OK;
}

hd_status hd_round_form(hd_round *r, uint64_t epoch, uint64_t number, hd_err *err)
{
    if (!r->drawn || r->epoch != epoch) draw_order(r, epoch);
    size_t begin = begin_of(r, number), end = begin_of(r, number + 1), groups = 0;
    r->number = number, r->has_ids = false;
    hd_status s = read_lengths(r, begin, end, err);
    if (!s && r->ranks > 1) s = number_items(r, begin, end, &groups, err);
    if (!s && r->ranks == 1)
        for (groups = 0; groups < r->items; groups++) r->index[groups] = (uint32_t)groups;
    return s ? s : make_corpus(r, begin, end, groups * r->ranks, err);
}

/* -- ids -- */

/* Where the ids of a block lie in the corpus. */
static void scatter(hd_round *r, int32_t *const ids[2], size_t first, size_t items)
{
    for (int side = 0; side < r->corpus.sides; side++) {
        const int32_t *from = ids[side];
        for (size_t i = first; i < first + items; i++) {
            size_t len = r->len[(size_t)side * r->items + i];
            memcpy(r->corpus.side[side].id + r->corpus.side[side].begin[r->index[i]], from,
                   len * sizeof *from);
            from += len;
        }
    }
}

hd_status hd_round_ids(hd_round *r, hd_err *err)
{
    size_t begin = begin_of(r, r->number), end = begin_of(r, r->number + 1), most = 0;
    hd_status s = HD_OK;
    for (int side = 0; !s && side < r->corpus.sides; side++) {
        void *id = r->corpus.side[side].id;
        s = reserve(&id, &r->corpus.side[side].room, r->corpus.side[side].begin[r->corpus.count] + 1,
                    sizeof(int32_t), err);
        r->corpus.side[side].id = id;
    }
    for (size_t i = begin; i < end; i++) {
        size_t tokens = (size_t)block_at(r, i)->tokens[0] + block_at(r, i)->tokens[1];
        if (tokens > most) most = tokens;
    }
    int32_t *all = s ? NULL : hd_mem_new(most * sizeof *all);
    if (!s && !all) s = hd_err_nomem(err, most * sizeof *all);
    for (size_t i = begin, at = 0; !s && i < end; at += block_at(r, i)->items, i++) {
        if ((i - begin) % r->ranks != r->rank) continue;
        int32_t *ids[2] = {all, all + block_at(r, i)->tokens[0]};
        s = hd_shards_ids(r->shards, r->order[i], ids, err);
        if (!s) scatter(r, ids, at, block_at(r, i)->items);
    }
    hd_mem_free(all);
    r->has_ids = !s;
    return s;
}
