/* Edit distance in a band. The band is part of TER's definition, not only a saving: with very unlike lengths
   another would give another score. Between equal costs a match or substitution is preferred, then a
   deletion, then an insertion. */
#include "metric/corpus/edit_distance.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "metric/corpus/runes.h"

enum { BEAM = 25, FAR = 1 << 29 }; /* FAR: outside the band; more than any distance, and never overflows */
enum { MATCH, SUBSTITUTE, DELETE, INSERT };

struct hd_edit_distance_band {
    size_t low, high; /* columns low..high-1 of the row */
    size_t at;        /* of the row's first cell in cost and op */
};

void hd_edit_distance_release(hd_edit_distance *e)
{
    hd_mem_free(e->align);
    hd_mem_free(e->hyp_errs);
    hd_mem_free(e->ref_errs);
    hd_mem_free(e->band);
    hd_mem_free(e->cost);
    hd_mem_free(e->op);
    hd_mem_free(e->path);
    hd_mem_free(e->above);
    hd_mem_free(e->row);
    *e = (hd_edit_distance){0};
}

/* Lays out the band; returns its cells. Row 0 needs none: its cell j costs j. */
static size_t lay_band(hd_edit_distance *e)
{
    size_t cells = 0;
    double ratio = e->hyps ? (double)e->refs / (double)e->hyps : 1;
    size_t beam = ratio / 2 > BEAM ? (size_t)ceil(ratio / 2 + BEAM) : BEAM;
    e->band[0] = (struct hd_edit_distance_band){0, e->refs + 1, 0};
    for (size_t i = 1; i <= e->hyps; i++) {
        size_t middle = (size_t)floor((double)i * ratio);
        size_t high = i == e->hyps || middle + beam > e->refs + 1 ? e->refs + 1 : middle + beam;
        e->band[i] = (struct hd_edit_distance_band){middle > beam ? middle - beam : 0, high, cells};
        cells += high - e->band[i].low;
    }
    return cells;
}

/* Room for `count` elements at block; false on failure. */
#define ROOM(block, room, count) !(s = hd_mem_reserve(&(block), &(room), count, sizeof *(block), err))

hd_status hd_edit_distance_begin(hd_edit_distance *e, size_t hyps, const uint32_t *ref, size_t refs,
                                 hd_err *err)
{
    hd_status s;
    e->hyps = hyps;
    e->refs = refs;
    e->ref = ref;
    bool got = ROOM(e->align, e->align_room, refs + 1) && ROOM(e->hyp_errs, e->hyp_room, hyps + 1) &&
               ROOM(e->ref_errs, e->ref_room, refs + 1) && ROOM(e->band, e->band_room, hyps + 1) &&
               ROOM(e->path, e->path_room, hyps + refs + 1) && ROOM(e->above, e->above_room, refs + 1) &&
               ROOM(e->row, e->row_room, refs + 1);
    size_t cells = got ? lay_band(e) : 0;
    if (got && ROOM(e->cost, e->cost_room, cells))
        s = hd_mem_reserve(&e->op, &e->op_room, cells, sizeof *e->op, err);
    return s;
}

static void fill(int32_t *row, size_t from, size_t to)
{
    for (size_t j = from; j < to; j++) row[j] = FAR;
}

/* The cells beside the band of row i that the next row looks at. */
static void close_band(const hd_edit_distance *e, size_t i, int32_t *row)
{
    if (e->band[i].low) row[e->band[i].low - 1] = FAR;
    if (i < e->hyps) fill(row, e->band[i].high, e->band[i + 1].high);
}

/* Row i, for hypothesis word i-1, from the row above. op may be NULL. */
static inline void step(const hd_edit_distance *e, size_t i, uint32_t word, const int32_t *above,
                        int32_t *row, uint8_t *op)
{
    size_t j = e->band[i].low, high = e->band[i].high;
    int32_t left = FAR;
    if (!j) {
        left = row[0] = above[0] + 1;
        if (op) *op++ = DELETE;
        j = 1;
    }
    for (; j < high; j++) {
        bool differs = word != e->ref[j - 1];
        int32_t best = above[j - 1] + differs;
        uint8_t by = differs ? SUBSTITUTE : MATCH;
        if (above[j] + 1 < best) best = above[j] + 1, by = DELETE;
        if (left + 1 < best) best = left + 1, by = INSERT;
        row[j] = left = best;
        if (op) *op++ = by;
    }
    close_band(e, i, row);
}

/* Row i of the matrix into the row in work. */
static void load(hd_edit_distance *e, size_t i)
{
    const struct hd_edit_distance_band *b = &e->band[i];
    if (!i)
        for (size_t j = 0; j <= e->refs; j++) e->above[j] = (int32_t)j;
    else
        memcpy(e->above + b->low, e->cost + b->at, (b->high - b->low) * sizeof *e->cost);
    if (i) close_band(e, i, e->above);
}

static void swap_rows(hd_edit_distance *e)
{
    int32_t *above = e->above;
    size_t room = e->above_room;
    e->above = e->row;
    e->above_room = e->row_room;
    e->row = above;
    e->row_room = room;
}

size_t hd_edit_distance_after(hd_edit_distance *e, const uint32_t *hyp, size_t same)
{
    load(e, same);
    for (size_t i = same + 1; i <= e->hyps; i++) {
        step(e, i, hyp[i - 1], e->above, e->row, NULL);
        swap_rows(e);
    }
    return (size_t)e->above[e->refs];
}

/* The operations from the end to the front; returns how many. */
static size_t trace(hd_edit_distance *e)
{
    size_t i = e->hyps, j = e->refs, count = 0;
    while (i || j) {
        uint8_t op = i ? e->op[e->band[i].at + j - e->band[i].low] : INSERT;
        e->path[count++] = op;
        if (op != INSERT) i--;
        if (op != DELETE) j--;
    }
    return count;
}

static void make_alignment(hd_edit_distance *e)
{
    size_t h = 0, r = 0;
    e->hyp_errs[0] = e->ref_errs[0] = 0;
    for (size_t k = trace(e); k-- > 0;) {
        uint8_t op = e->path[k];
        uint32_t wrong = op != MATCH;
        if (op != INSERT) h++, e->hyp_errs[h] = e->hyp_errs[h - 1] + wrong;
        if (op == DELETE) continue;
        e->align[r] = (int32_t)h - 1;
        r++, e->ref_errs[r] = e->ref_errs[r - 1] + wrong;
    }
}

size_t hd_edit_distance_align(hd_edit_distance *e, const uint32_t *hyp)
{
    load(e, 0);
    for (size_t i = 1; i <= e->hyps; i++) {
        const struct hd_edit_distance_band *b = &e->band[i];
        step(e, i, hyp[i - 1], e->above, e->row, e->op + b->at);
        memcpy(e->cost + b->at, e->row + b->low, (b->high - b->low) * sizeof *e->cost);
        swap_rows(e);
    }
    make_alignment(e);
    return (size_t)e->above[e->refs];
}
