/* One thread's matrix product: the register tile and the loops that keep a strip of b in the
   first-level cache and panels of a in the second. A tile is TILE_ROWS rows by STRIP columns; rows left over
   at the end run the same chain of multiply-adds in a smaller tile, so an element's bits never depend on its
   neighbors. */
#include "backend/cpu/product/block.h"
#include "backend/cpu/product/turned.h"
#include "backend/cpu/product/widen.h"

#if defined(__aarch64__) && !defined(HD_REAL_DOUBLE)
#include "backend/cpu/product/tile_neon.h"
#define HD_TILE_NEON 1
#endif

enum {
    N_BLOCK = 384 / STRIP * STRIP, /* columns behind whose sums the function comes */
    STREAM_TILES = 2,              /* fewer read b as a stream, which hardware foresees */
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
    return A_BLOCK + STRIP * K_BLOCK;
}

bool KERNEL(as_it_lies)(size_t m)
{
    return m <= LYING_TILES * TILE_ROWS;
}

/* Numbers that a tile should ask for: `step` for each four k, at most 4 LINE. */
typedef struct ahead {
    const hd_real *from;
    size_t step;
} ahead;

/* One k more: row i of a at a + i*row, b a vector after the other. */
INLINE void tile_step(vec s[TILE_ROWS][STRIP_VECTORS], int rows, int vectors, const hd_real *a, size_t row,
                      const hd_real *b)
{
    vec y[STRIP_VECTORS];
    UNROLL
    for (int j = 0; j < vectors; j++) y[j] = hd_load(b + (size_t)j * VL);
    UNROLL
    for (int i = 0; i < rows; i++) {
        vec x = hd_spread(a[(size_t)i * row]);
        UNROLL
        for (int j = 0; j < vectors; j++) s[i][j] = hd_fma(y[j], x, s[i][j]);
    }
}

/* `rows` by `vectors` vectors. Row i of a begins at a + i*row, its k-th number lies k*step further. What is
   asked for of `next` is spread over the sums: many lines at once would make loads wait for them. */
INLINE void tile(const place *p, int rows, int vectors, const hd_real *a, size_t row, size_t step,
                 const hd_real *b, size_t k, ahead next)
{
    vec s[TILE_ROWS][STRIP_VECTORS];
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int j = 0; j < vectors; j++)
        s[i][j] = hd_load(p->start + (size_t)i * p->start_stride + (size_t)j * VL);
    UNROLL
    for (int i = 0; i < rows; i++) { /* the rows below come next */
        const hd_real *below = p->c + (size_t)(TILE_ROWS + i) * p->c_stride;
        __builtin_prefetch(below, 1), __builtin_prefetch(below + (size_t)vectors * VL - 1, 1);
    }
    size_t l = 0;
    for (; l + 4 <= k; l += 4, next.from += next.step) {
        UNROLL
        for (size_t u = 0; u < 4; u++) __builtin_prefetch(next.from + u * LINE, 0, 2);
        UNROLL
        for (size_t u = 0; u < 4; u++)
            tile_step(s, rows, vectors, a + (l + u) * step, row, b + (l + u) * STRIP);
    }
    for (; l < k; l++) tile_step(s, rows, vectors, a + l * step, row, b + l * STRIP);
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int j = 0; j < vectors; j++) hd_store(p->c + (size_t)i * p->c_stride + (size_t)j * VL, s[i][j]);
}

/* The tile for numbers of rows and vectors known to the compiler; a is a panel [k][TILE_ROWS] or has its rows
 * `row` apart. */
#define TILE_CASE(n)                                             \
    case n:                                                      \
        if (n > TILE_ROWS) break;                                \
        if (vectors == 1)                                        \
            tile(p, n, 1, a, row, step, b, k, next);             \
        else if (vectors == 2)                                   \
            tile(p, n, 2, a, row, step, b, k, next);             \
        else if (STRIP_VECTORS == 3)                             \
            tile(p, n, STRIP_VECTORS, a, row, step, b, k, next); \
        break;

INLINE void tile_cases(const place *p, int rows, int vectors, const hd_real *a, size_t row, size_t step,
                       const hd_real *b, size_t k, ahead next)
{
    switch (rows) {
        TILE_CASE(1)
        TILE_CASE(2)
        TILE_CASE(3)
        TILE_CASE(4)
        TILE_CASE(5)
        TILE_CASE(6)
        TILE_CASE(7)
        TILE_CASE(8)
#if HD_VECTOR_BYTES == 64
        TILE_CASE(9) TILE_CASE(10) TILE_CASE(11) TILE_CASE(12)
#endif
    }
}

static void tile_panel(const place *p, int rows, int vectors, const hd_real *panel, const hd_real *b,
                       size_t k, ahead next)
{
#ifdef HD_TILE_NEON
    if (rows == TILE_ROWS && vectors == STRIP_VECTORS) {
        for (size_t l = 0; l < next.step * (k / 4); l += LINE) __builtin_prefetch(next.from + l, 0, 2);
        tile_neon(p->c, p->c_stride, p->start, p->start_stride, panel, b, k);
        return;
    }
#endif
    tile_cases(p, rows, vectors, panel, 1, TILE_ROWS, b, k, next);
}

static void tile_rows(const place *p, int rows, int vectors, const hd_real *a, size_t row, const hd_real *b,
                      size_t k, ahead next)
{
    tile_cases(p, rows, vectors, a, row, 1, b, k, next);
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

/* Rows [i, i + count) of a, k from kb on, and what they are multiplied with in. */
typedef struct block {
    size_t i, count, kb, kn;
    const hd_real *panels; /* one after the other; NULL: rows are read as they lie */
    const hd_real *next;   /* of b behind the last strip, or NULL */
    hd_real *piece;
    edge *beside;
} block;

/* Panels of a block; NULL where the few rows are read as they lie: a panel pays when strips reuse it. */
static const hd_real *panels_of(const hd_product *p, const block *l, size_t strips, hd_real *panels)
{
    if (p->panels) return p->panels + block_at(p, l->i, l->kb);
    if (!p->a_transposed && (l->count < TILE_ROWS || strips < 2)) return NULL;
    KERNEL(pack_rows)(panels, p, l->i, l->count, l->kb, l->kn);
    return panels;
}

/* What follows in b when columns [from, till) of this block are done: the same ones further down, or those
   beside them. */
static const hd_real *behind(const hd_product *p, const block *l, size_t from, size_t till)
{
    if (p->b_stride || p->rounded) return NULL;
    if (l->kb + l->kn < p->k) return p->b + from * p->b_depth + (l->kb + l->kn) * STRIP;
    return till < p->n ? p->b + till * p->b_depth : NULL;
}

/* Strip j down the rows, tile after tile, so that b stays in the first-level cache. */
static void strip_down(const hd_product *p, const block *l, size_t j, bool last)
{
    const size_t width = p->n - j < STRIP ? p->n - j : STRIP, tiles = l->count / TILE_ROWS;
    const hd_real *b = l->piece;
    ahead next = {b, 0};
    if (p->b_stride) {
        KERNEL(pack)(l->piece, p->b + j * p->b_stride + l->kb, p->b_stride, true, width, l->kn, 0, width);
    } else if (p->rounded) {
        const uint16_t *from = p->rounded + j * p->b_depth + l->kb * STRIP;
        for (size_t at = 0; at < l->kn * STRIP; at += VL) hd_store(l->piece + at, widen(from + at));
    } else {
        b = p->b + j * p->b_depth + l->kb * STRIP;
        next.from = last ? l->next : b + STRIP * p->b_depth;
        if (next.from && tiles >= STREAM_TILES) next.step = 4 * STRIP / tiles;
        if (!next.step) next.from = b;
    }
    int vectors = (int)((width + VL - 1) / VL);
    for (size_t at = 0; at < l->count; at += TILE_ROWS, next.from += next.step * (l->kn / 4)) {
        const size_t i = l->i + at;
        int rows = l->count - at < TILE_ROWS ? (int)(l->count - at) : TILE_ROWS;
        place to = place_at(p, i, j, l->kb), inside = to;
        if (width % VL) inside = edge_in(l->beside, &to, rows, width);
        if (l->panels)
            tile_panel(&inside, rows, vectors, l->panels + at * l->kn, b, l->kn, next);
        else
            tile_rows(&inside, rows, vectors, p->a + i * p->a_stride + l->kb, p->a_stride, b, l->kn, next);
        if (width % VL) edge_out(l->beside, &to, rows, width);
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
    }
}

static void product_turned(const hd_product *p, size_t row, size_t rows, size_t from, size_t till,
                           hd_real *piece)
{
    size_t j = from;
    for (; j + 4 * QUADS <= till; j += 4 * QUADS) turned_columns(p, row, rows, j, QUADS);
    for (; QUADS > VL / 4 && j + VL <= till; j += VL) turned_columns(p, row, rows, j, VL / 4);
    for (; j + 4 <= till; j += 4) turned_columns(p, row, rows, j, 1);
    for (; j < till; j += STRIP) { /* less than a quad is left */
        edge beside = {0};
        block l = {.i = row, .count = rows, .piece = piece, .beside = &beside};
        for (; l.kb < p->k || l.kb == 0; l.kb += K_BLOCK) {
            l.kn = p->k - l.kb < K_BLOCK ? p->k - l.kb : K_BLOCK;
            strip_down(p, &l, j, true);
        }
    }
    KERNEL(finish)(p, row, rows, from, till);
}

void KERNEL(product)(const hd_product *p, size_t row, size_t row_end, size_t strip, size_t strip_end,
                     hd_real *panel)
{
    size_t from = strip * STRIP, till = strip_end * STRIP < p->n ? strip_end * STRIP : p->n;
    if (p->b_stride && row_end - row <= TURNED_ROWS) {
        product_turned(p, row, row_end - row, from, till, panel + A_BLOCK);
        return;
    }
    edge beside = {0}; /* columns past the edge never hold anything but zeros and their sums */
    block l = {.piece = panel + A_BLOCK, .beside = &beside};
    for (l.i = row; l.i < row_end; l.i += l.count) {
        l.count = row_end - l.i < block_rows(p->k) ? row_end - l.i : block_rows(p->k);
        for (l.kb = 0; l.kb < p->k || l.kb == 0; l.kb += K_BLOCK) {
            l.kn = p->k - l.kb < K_BLOCK ? p->k - l.kb : K_BLOCK;
            l.panels = panels_of(p, &l, strip_end - strip, panel);
            l.next = behind(p, &l, from, till);
            for (size_t nb = from; nb < till; nb += N_BLOCK) {
                const size_t end = till - nb < N_BLOCK ? till : nb + N_BLOCK;
                for (size_t j = nb; j < end; j += STRIP) strip_down(p, &l, j, till - j <= STRIP);
                if (l.kb + l.kn >= p->k) KERNEL(finish)(p, l.i, l.count, nb, end);
            }
        }
    }
}
