/* Filling batches. Easy to get wrong: counts are of all processes, arrays of this one. */
#include "data/batch_fill.h"

#include <string.h>

#include "base/mem.h"
#include "data/epoch.h"

/* Gives the batch its arrays. */
static hd_status place(hd_filled_batch *to, size_t items, size_t source_rows, size_t target_rows, int sides,
                       hd_err *err)
{
    size_t wanted = (size_t)(sides + 1) * items + source_rows + 2 * target_rows;
    if (wanted > to->room || !to->block) {
        int32_t *block =
            hd_mem_new(wanted * sizeof *block); /* not grown: what it holds is not wanted any more */
        if (!block) return hd_err_nomem(err, wanted * sizeof *block);
        hd_mem_free(to->block);
        to->block = block;
        to->room = wanted;
    }
    hd_batch *b = &to->batch;
    int32_t *at = to->block;
    b->items = items;
    b->source_rows = source_rows;
    b->target_rows = target_rows;
    b->key = at;
    b->target_len = at += items;
    b->input = at += items;
    b->output = at += target_rows;
    at += target_rows;
    b->source = sides == 2 ? at : NULL;
    b->source_len = sides == 2 ? at + source_rows : NULL;
    return HD_OK;
}

static void copy_ids(int32_t *to, const hd_corpus *c, int side, size_t sentence)
{
    memcpy(to, c->side[side].id + c->side[side].begin[sentence],
           hd_corpus_len(c, side, sentence) * sizeof *to);
}

/* Every ranks-th sentence: they are sorted by length, so all processes get about as much. In groups it is one
   of each, unless that is not there. */
hd_status hd_batch_fill(hd_filled_batch *to, const hd_corpus *c, const int32_t *key, size_t group,
                        const hd_batch_opt *o, const uint32_t *unit, size_t units, hd_err *err)
{
    const size_t ranks = o->ranks > 1 ? (size_t)o->ranks : 1, rank = ranks > 1 ? (size_t)o->rank : 0;
    const size_t all = units * group;
    const int target = c->sides - 1;
    size_t total = 0, items = 0, source_rows = 0, target_rows = 0, source_total = 0, target_total = 0,
           tokens = 0;
    for (size_t i = 0; i < all; i++) {
        size_t n = unit[i / group] * group + i % group, len = hd_corpus_len(c, target, n);
        if (group > 1 && !len) continue;
        size_t sources = target ? hd_corpus_len(c, 0, n) + 1 : 0, targets = len + 1;
        tokens += hd_epoch_cost(c, n), total++;
        source_total += sources, target_total += targets;
        if (i % ranks == rank) items++, source_rows += sources, target_rows += targets;
    }
    hd_status s = place(to, items, source_rows, target_rows, c->sides, err);
    if (s) return s;
    hd_batch *b = &to->batch;
    b->tokens = tokens;
    b->total = total;
    b->source_total = source_total;
    b->target_total = target_total;
    int32_t *source = b->source, *input = b->input, *output = b->output;
    for (size_t i = rank, item = 0; i < all; i += ranks) {
        size_t n = unit[i / group] * group + i % group, len = hd_corpus_len(c, target, n);
        if (group > 1 && !len) continue;
        b->key[item] = key ? key[n] : (int32_t)n;
        b->target_len[item] = (int32_t)len + 1;
        *input = o->target_start;
        copy_ids(input + 1, c, target, n);
        copy_ids(output, c, target, n);
        output[len] = o->target_end;
        input += len + 1;
        output += len + 1;
        if (target) {
            len = hd_corpus_len(c, 0, n);
            b->source_len[item] = (int32_t)len + 1;
            copy_ids(source, c, 0, n);
            source[len] = o->source_end;
            source += len + 1;
        }
        item++;
    }
    return HD_OK;
}
