/* Passages of a text. */
#include "task/language/passages.h"

#include <string.h>

#include "base/mem.h"

hd_status hd_passages_add(hd_passages *t, size_t first, hd_err *err)
{
    hd_status s = hd_mem_reserve(&t->learned, &t->learned_room, t->ids.count + 1, 1, err);
    if (!s) s = hd_mem_reserve(&t->begin, &t->begin_room, t->count + 1, sizeof *t->begin, err);
    if (!s) t->begin[t->count++] = first;
    return s;
}

void hd_passages_release(hd_passages *t)
{
    hd_ids_release(&t->ids);
    hd_mem_free(t->learned);
    hd_mem_free(t->begin);
    *t = (hd_passages){0};
}

/* Passages from .. to-1. */
static hd_status text_of(hd_stream_text *out, const hd_passages *all, size_t from, size_t to, hd_err *err)
{
    size_t first = all->begin[from], n = (to < all->count ? all->begin[to] : all->ids.count) - first;
    hd_stream_text t = {.ids = hd_mem_array(n, sizeof *t.ids),
                        .learned = hd_mem_array(n, 1),
                        .begin = hd_mem_array(to - from, sizeof *t.begin),
                        .pieces = to - from,
                        .lines = to - from,
                        .count = n,
                        .characters = n};
    if (!t.ids || !t.learned || !t.begin)
        return hd_stream_text_release(&t), hd_err_nomem(err, n * sizeof *t.ids);
    memcpy(t.ids, all->ids.at + first, n * sizeof *t.ids);
    memcpy(t.learned, all->learned + first, n);
    for (size_t i = from; i < to; i++) t.begin[i - from] = all->begin[i] - first;
    t.hash = hd_ids_hash(t.ids, n);
    for (size_t i = 0; i < n; i++) t.hash = (t.hash ^ t.learned[i]) * 0x100000001b3u;
    *out = t;
    return HD_OK;
}

hd_status hd_passages_split(hd_stream_text *train, hd_stream_text *valid, const hd_passages *all,
                            const hd_passages *held, double fraction, hd_err *err)
{
    size_t kept = all->count;
    if (!held->count && fraction > 0 && kept > 1) {
        kept = (size_t)((1 - fraction) * (double)kept + 0.5);
        kept = kept < 1 ? 1 : kept >= all->count ? all->count - 1 : kept;
    }
    hd_status s = text_of(train, all, 0, kept, err);
    if (!s && kept < all->count) s = text_of(valid, all, kept, all->count, err);
    return s || !held->count ? s : text_of(valid, held, 0, held->count, err);
}
