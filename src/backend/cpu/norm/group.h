/* How the norms over rows walk a matrix: sets of rows in chunks of fixed size, so that sums do not depend on
   the number of workers. */
#ifndef HD_BACKEND_CPU_NORM_GROUP_H
#define HD_BACKEND_CPU_NORM_GROUP_H

#include "backend/cpu/cpu.h"
#include "backend/cpu/vector.h"

enum { GROUP_CHUNK = 64 }; /* rows */

typedef struct group_walk {
    const hd_seg *seg;
    bool together;
    size_t sets, chunks, rows, cols; /* chunks: of each set, some of them empty */
    hd_real *part;                   /* [sets, chunks, 2, cols] */
    size_t *count;                   /* [sets, chunks] rows */
} group_walk;

/* Rows of chunk k of set s: from `from` to before the result; those of no item are among them. */
INLINE size_t group_rows(const group_walk *w, size_t s, size_t k, size_t *from)
{
    bool all = w->together || !w->seg;
    size_t begin = all ? 0 : (size_t)w->seg->begin[s], len = all ? w->rows : (size_t)w->seg->len[s];
    size_t at = k * GROUP_CHUNK, till = at + GROUP_CHUNK < len ? at + GROUP_CHUNK : len;
    *from = begin + at;
    return at < len ? begin + till : *from;
}

INLINE bool group_owns(const group_walk *w, size_t r)
{
    return !w->seg || w->seg->full || w->seg->item[r] >= 0;
}

/* The set of a row of an item. */
INLINE size_t group_set(const group_walk *w, size_t r)
{
    return w->together || !w->seg ? 0 : (size_t)w->seg->item[r];
}

/* Partial sums in the shared block, with `more` numbers behind them at *rest; false: no memory. */
INLINE bool group_walk_init(group_walk *w, hd_cpu *cpu, const hd_tensor *x, const hd_seg *seg, bool together,
                            size_t more, hd_real **rest)
{
    size_t longest = together || !seg ? hd_rows_of(x) : seg->longest;
    *w = (group_walk){.seg = seg,
                      .together = together,
                      .sets = hd_group_sets(seg, together),
                      .chunks = (longest + GROUP_CHUNK - 1) / GROUP_CHUNK,
                      .rows = hd_rows_of(x),
                      .cols = hd_cols_of(x)};
    size_t parts = w->sets * w->chunks, reals = parts * 2 * w->cols + more;
    char *room = hd_cpu_shared(cpu, parts * sizeof *w->count + reals * sizeof *w->part);
    if (!room) return false;
    w->count = (size_t *)room;
    w->part = (hd_real *)(room + parts * sizeof *w->count);
    *rest = w->part + parts * 2 * w->cols;
    return true;
}

#endif
