/* One thread's matrix product: the loops around the register tile that keep a strip of b in the first-level
   cache and panels of a in the second. */
#include "backend/cpu/product/tile_sums.h"
#include "backend/cpu/product/turned.h"
#include "backend/cpu/product/widen.h"

enum {
    N_BLOCK = 384 / STRIP * STRIP, /* columns behind whose sums the function comes */
    STREAM_TILES = 2,              /* fewer read b as a stream, which hardware foresees */
#ifdef HD_TILE_NEON
    FEW = STRIP, /* columns for which rows of a are read as they lie: panels would not pay */
    APART = STRIP,
    ACROSS_FEW = 0,
#else
    FEW = 256,
    APART = 512, /* the same where rows are not whole pages apart, whose lines would share one place in L1 */
    ACROSS_FEW = HD_VECTOR_BYTES == 64 ? 256 : 128, /* the same of an a [K,M] */
#endif
    PAGE = 4096 / (int)sizeof(hd_real),
    /* rows of [K,M] or [K,N] so far apart are read in place as fast as if they were packed; a narrow tile
       takes less of each line that it reads from L2 */
    NEAR = HD_VECTOR_BYTES == 64 ? 384 : 128,
    IN_PLACE = 10 * TILE_ROWS, /* rows of a block of such an a: their lines are not one after the other */
    BOTH_TILES = 4,            /* so many ask for a of the next block, too, */
    A_STRIPS = 4,              /* in the last so many strips */
};

size_t KERNEL(strip)(void)
{
    return STRIP;
}

size_t KERNEL(tile_rows)(void)
{
    return TILE_ROWS;
}

size_t KERNEL(panel_size)(void)
{
    return A_BLOCK + PIECE;
}

bool KERNEL(as_it_lies)(size_t m, size_t k)
{
    return m <= LYING_BLOCKS * block_rows(k);
}

/* A strip at the right edge that ends within a vector: computed beside c and copied. */
typedef struct edge {
    hd_real c[TILE_ROWS * STRIP], start[TILE_ROWS * STRIP];
} edge;

static place edge_in(edge *e, const place *p, int rows, size_t width)
{
    size_t stride = p->start_stride ? STRIP : 0;
    for (int i = 0; i < (stride ? rows : 1); i++)
        for (size_t j = 0; j < STRIP; j++)
            if (j < width) e->start[(size_t)i * STRIP + j] = p->start[(size_t)i * p->start_stride + j];
    return (place){e->c, STRIP, e->start, stride};
}

static void edge_out(const edge *e, const place *p, int rows, size_t width)
{
    for (int i = 0; i < rows; i++)
        for (size_t j = 0; j < STRIP; j++)
            if (j < width) p->c[(size_t)i * p->c_stride + j] = e->c[(size_t)i * STRIP + j];
}

void KERNEL(finish)(const hd_product *p, size_t row, size_t rows, size_t j0, size_t j1)
{
    if (p->act == HD_IDENTITY) return;
    for (size_t i = row; i < row + rows; i++) {
        hd_real *c = p->c + i * p->c_stride + j0;
        if (p->before) memcpy(p->before + i * p->before_stride + j0, c, (j1 - j0) * sizeof *c);
        KERNEL(apply)(p->act, c, c, j1 - j0);
    }
}

static place place_at(const hd_product *p, size_t i, size_t j, size_t kb)
{
    static const hd_real zeros[STRIP > 4 * QUADS ? STRIP : 4 * QUADS];
    return place_of(p, i, j, kb, zeros);
}

static size_t strips_in(size_t columns)
{
    return (columns + STRIP - 1) / STRIP;
}

/* Rows [i, i + count) of a, k from kb on, and what they are multiplied with in. */
typedef struct block {
    size_t i, count, kb, kn, most; /* most: rows of one */
    const hd_real *panels;         /* one after the other; NULL: rows are read as they lie */
    region next_a;                 /* of the block that follows */
    hd_real *piece;                /* of b that is packed on the way */
    edge *beside;
} block;

bool KERNEL(both_lie)(const hd_product *p, size_t b_stride)
{
    return p->a_transposed && b_stride <= NEAR && KERNEL(rows_lie)(p, p->n);
}

bool KERNEL(rows_lie)(const hd_product *p, size_t columns)
{
    if (p->a_transposed) return columns <= ACROSS_FEW && p->a_stride <= NEAR;
    return columns <= (p->a_stride % PAGE ? APART : FEW);
}

/* Panels of a block; NULL where the rows are read as they lie: a panel pays when strips reuse it. */
static const hd_real *panels_of(const hd_product *p, const block *l, size_t strips, hd_real *panels)
{
    if (p->panels) return p->panels + block_at(p, l->i, l->kb);
    if ((!p->a_transposed && l->count < TILE_ROWS) || KERNEL(rows_lie)(p, strips * STRIP)) return NULL;
    KERNEL(pack_rows)(panels, p, l->i, l->count, l->kb, l->kn);
    return panels;
}

/* The block that follows in rows up to row_end; of none `count` is 0. */
static block after(const hd_product *p, const block *l, size_t row_end)
{
    block n = *l;
    n.kb = l->kb + l->kn;
    if (n.kb >= p->k) n.kb = 0, n.i = l->i + l->count, n.count = row_end - n.i;
    if (n.count > n.most) n.count = n.most;
    n.kn = p->k - n.kb < K_BLOCK ? p->k - n.kb : K_BLOCK;
    return n;
}

/* What of a is packed for a block. */
static region rows_of(const hd_product *p, const block *l)
{
    if (p->panels || !l->count) return (region){0};
    if (p->a_transposed)
        return (region){p->a + l->kb * p->a_stride + l->i, p->a_stride, l->kn, l->count, 0, 0};
    return (region){p->a + l->i * p->a_stride + l->kb, p->a_stride, l->count, l->kn, 0, 0};
}

/* What of b the columns [j, till) of a block read first. */
static region columns_of(const hd_product *p, const block *l, size_t j, size_t till)
{
    const size_t left = till - j, width = left < STRIP ? left : STRIP, wide = left < BESIDE ? left : BESIDE;
    if (p->rounded || j >= till || !l->count) return (region){0};
    if (!p->b_stride) return region_of(p->b + j * p->b_depth + l->kb * STRIP, l->kn * STRIP);
    if (p->b_across) return (region){p->b + l->kb * p->b_stride + j, p->b_stride, l->kn, wide, 0, 0};
    return (region){p->b + j * p->b_stride + l->kb, p->b_stride, width, l->kn, 0, 0};
}

/* Strips in which l->next_a and what of b is next are to be asked for. */
typedef struct left {
    size_t a, b;
} left;

/* Columns of b that go together: strips one after the other, or rows of all of them where b is read as it
 * lies. */
typedef struct group {
    const hd_real *b;
    size_t down, beside; /* from k to k, from column to column of whole strips */
    size_t end;
} group;

/* Rows of the tile at row `at` of a block. */
static size_t rows_at(const block *l, size_t at)
{
    return l->count - at < TILE_ROWS ? l->count - at : TILE_ROWS;
}

/* Rows of c of the tile that follows the one at c: below, or on top of the strip beside; where there is none,
   its own: behind those of c there may be no memory, and to ask for that takes long. */
static ahead sums_after(const place *to, const block *l, size_t at, size_t j, size_t till)
{
    const size_t down = at + TILE_ROWS, stride = to->c_stride;
    const hd_real *from = to->c;
    size_t rows = rows_at(l, at);
    if (down < l->count)
        from += TILE_ROWS * stride, rows = rows_at(l, down);
    else if (j + STRIP < till)
        from = from - at * stride + STRIP, rows = rows_at(l, 0);
    return (ahead){from, from + (rows - 1) * stride, stride};
}

/* Strip j of b, which begins at `b`, down the rows, tile after tile, so that it stays in the first-level
   cache. Tiles get what they are told by reference: a struct that was just filled in parts and is copied as a
   whole waits for all stores before it, which are the sums of the last tile on their way to memory. */
static void strip_down(const hd_product *p, block *l, size_t j, size_t till, const hd_real *b, size_t down,
                       region *next_b, left strips)
{
    const size_t width = till - j < STRIP ? till - j : STRIP, tiles = l->count / TILE_ROWS;
    size_t share_a = 0, share_b = 0, t = 0;
    if (tiles >= STREAM_TILES) share_b = region_left(next_b) / (tiles * strips.b) + 1;
    if (tiles >= BOTH_TILES && region_left(&l->next_a)) /* every other tile for each */
        share_a = 2 * (region_left(&l->next_a) / (tiles * strips.a) + 1), share_b *= 2;
    int vectors = (int)((width + VL - 1) / VL);
    for (size_t at = 0; at < l->count; at += TILE_ROWS, t++) {
        const size_t i = l->i + at;
        int rows = (int)rows_at(l, at);
        place to = place_at(p, i, j, l->kb), beside;
        asked next = {share_a && t % 2 ? region_take(&l->next_a, share_a, l->kn, b)
                                       : region_take(next_b, share_b, l->kn, b),
                      sums_after(&to, l, at, j, till)};
        if (width % VL)
            beside = edge_in(l->beside, &to, rows, width), next.sums = (ahead){beside.c, beside.c, 0};
        const place *inside = width % VL ? &beside : &to;
        if (l->panels)
            tile_of(inside, rows, vectors, PANEL, l->panels + at * l->kn, 0, b, down, l->kn, &next);
        else if (p->a_transposed)
            tile_of(inside, rows, vectors, ACROSS, p->a + l->kb * p->a_stride + i, p->a_stride, b, down,
                    l->kn, &next);
        else
            tile_of(inside, rows, vectors, LYING, p->a + i * p->a_stride + l->kb, p->a_stride, b, down, l->kn,
                    &next);
        if (width % VL) edge_out(l->beside, &to, rows, width);
    }
}

/* Columns from j on, of b for a block: as many as go together. */
static group strips_of(const hd_product *p, const block *l, size_t j, size_t till)
{
    const size_t most = p->b_stride && p->b_across ? BESIDE : STRIP,
                 width = till - j < most ? till - j : most, end = j + width;
    if (p->b_stride) {
        const hd_real *from = p->b + (p->b_across ? l->kb * p->b_stride + j : j * p->b_stride + l->kb);
        if (p->b_across && !l->panels && p->b_stride <= NEAR && width % VL == 0)
            return (group){from, p->b_stride, 1, end};
        KERNEL(pack)(l->piece, from, p->b_stride, !p->b_across, width, l->kn, 0, width);
    } else if (p->rounded) {
        const uint16_t *from = p->rounded + j * p->b_depth + l->kb * STRIP;
        for (size_t at = 0; at < l->kn * STRIP; at += VL) hd_store(l->piece + at, widen(from + at));
    } else {
        return (group){p->b + j * p->b_depth + l->kb * STRIP, STRIP, l->kn, end};
    }
    return (group){l->piece, STRIP, l->kn, end};
}

/* Columns [from, till) of a block. */
static void columns(const hd_product *p, block *l, size_t from, size_t till, const block *next)
{
    const size_t all = strips_in(till - from), first = all > A_STRIPS ? all - A_STRIPS : 0;
    for (size_t j = from, end, finished = from; j < till; j = end) {
        const group s = strips_of(p, l, j, till);
        end = s.end;
        region next_b = end < till ? columns_of(p, l, end, till) : columns_of(p, next, from, till);
        for (size_t at = j; at < end; at += STRIP) {
            if ((at - from) / STRIP == first) l->next_a = rows_of(p, next);
            strip_down(p, l, at, till, s.b + (at - j) * s.beside, s.down, &next_b,
                       (left){strips_in(till - at), strips_in(end - at)});
        }
        if (l->kb + l->kn >= p->k && (end - finished >= N_BLOCK || end >= till))
            KERNEL(finish)(p, l->i, l->count, finished, end), finished = end;
    }
}

/* -- few rows of a: b is read as it lies, [N,K], and each number of it once -- */

#define TURNED_CASE(n)                                                                          \
    case n:                                                                                     \
        if (4 * quads < TURNED)                                                                 \
            tile_turned(&to, n, quads, a, p->a_stride, b, p->b_stride, p->k);                   \
        else                                                                                    \
            tile_turned_wide(&to, n, 4 * quads / TURNED, a, p->a_stride, b, p->b_stride, p->k); \
        break;

/* Columns j to j + 4 * quads. */
INLINE void turned_columns(const hd_product *p, size_t row, size_t rows, size_t j, int quads)
{
    const hd_real *a = p->a + row * p->a_stride, *b = p->b + j * p->b_stride;
    place to = place_at(p, row, j, 0);
    switch (rows) {
        TURNED_CASE(1)
        TURNED_CASE(2)
        TURNED_CASE(3)
        TURNED_CASE(4)
#ifdef HD_TURNS_LINES
        TURNED_CASE(5)
        TURNED_CASE(6)
        TURNED_CASE(7)
        TURNED_CASE(8)
#endif
    }
}

static void product_turned(const hd_product *p, size_t row, size_t rows, size_t from, size_t till,
                           hd_real *piece)
{
    size_t j = from;
    for (; rows <= WIDE_ROWS && j + 4 * QUADS <= till; j += 4 * QUADS) turned_columns(p, row, rows, j, QUADS);
    for (; VL >= 4 && QUADS > VL / 4 && j + VL <= till; j += VL) turned_columns(p, row, rows, j, VL / 4);
    for (; j + 4 <= till; j += 4) turned_columns(p, row, rows, j, 1);
    for (; j < till; j += STRIP) { /* less than a quad is left */
        edge beside = {0};
        block l = {.i = row, .count = rows, .piece = piece, .beside = &beside};
        for (; l.kb < p->k || l.kb == 0; l.kb += K_BLOCK) {
            l.kn = p->k - l.kb < K_BLOCK ? p->k - l.kb : K_BLOCK;
            const group s = strips_of(p, &l, j, till);
            strip_down(p, &l, j, till, s.b, s.down, &(region){0}, (left){1, 1});
        }
    }
    KERNEL(finish)(p, row, rows, from, till);
}

void KERNEL(product)(const hd_product *p, size_t row, size_t row_end, size_t strip, size_t strip_end,
                     hd_real *panel)
{
    size_t from = strip * STRIP, till = strip_end * STRIP < p->n ? strip_end * STRIP : p->n;
    if (p->b_stride && !p->b_across && row_end - row <= TURNED_ROWS) {
        product_turned(p, row, row_end - row, from, till, panel + A_BLOCK);
        return;
    }
    edge beside = {0}; /* columns past the edge never hold anything but zeros and their sums */
    const bool in_place = p->a_transposed && !p->panels && KERNEL(rows_lie)(p, till - from);
    block none = {.i = row, .kb = p->k, .piece = panel + A_BLOCK, .beside = &beside};
    none.most = in_place ? IN_PLACE : block_rows(p->k);
    for (block l = after(p, &none, row_end), next; l.count; l = next) {
        l.panels = panels_of(p, &l, strip_end - strip, panel);
        next = after(p, &l, row_end);
        columns(p, &l, from, till, &next);
    }
}
