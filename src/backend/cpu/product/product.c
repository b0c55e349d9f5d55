/* One thread's matrix product: packing, the register tile, and the loops that keep a strip of b in the
   first-level cache and panels of a in the second. A tile is TILE_ROWS rows by STRIP columns; rows left over
   at the end run the same chain of multiply-adds in a smaller tile, so an element's bits never depend on its
   neighbors. */
#include "backend/cpu/product/product.h"
#include "backend/cpu/product/turned.h"
#include "backend/cpu/product/widen.h"

#if defined(__aarch64__) && !defined(HD_REAL_DOUBLE)
#include "backend/cpu/product/tile_neon.h"
#define HD_TILE_NEON 1
#endif

enum {
    K_BLOCK = HD_VECTOR_BYTES == 32 ? 256 : 512, /* a strip of b stays in L1, with AVX-512 in L2 */
    TILES = 20,                                  /* whose panels of a stay in L2 */
    A_BLOCK = TILES * K_BLOCK * TILE_ROWS,       /* numbers of a in panels */
    N_BLOCK = 384 / STRIP * STRIP,               /* columns behind whose sums the function comes */
    FEW_TILES = 5,                               /* b is not packed for so few rows */
    STREAM_TILES = 2,                            /* fewer read b as a stream, which hardware foresees */
    LINE = 64 / (int)sizeof(hd_real),            /* numbers of a cache line */
};

size_t KERNEL(strip)(void)
{
    return STRIP;
}

size_t KERNEL(tile_rows)(void)
{
    return TILE_ROWS;
}

size_t KERNEL(packed_size)(size_t n, size_t k)
{
    return (n + STRIP - 1) / STRIP * STRIP * k;
}

size_t KERNEL(panel_size)(void)
{
    return A_BLOCK + STRIP * K_BLOCK;
}

bool KERNEL(as_it_lies)(size_t m)
{
    return m <= FEW_TILES * TILE_ROWS;
}

/* to[k][across] = the transpose of from[count rows][k]; columns from count to `across` become zeros. */
INLINE void transpose(hd_real *to, size_t across, const hd_real *from, size_t stride, size_t count, size_t k)
{
    size_t fours = count / 4 * 4, i = 0;
    for (; i + 4 <= k; i += 4)
        for (size_t j = 0; j < fours; j += 4) {
            quad t[4];
            turn_square(t, from + j * stride + i, stride);
            UNROLL
            for (size_t l = 0; l < 4; l++) *(quad *)(to + (i + l) * across + j) = t[l];
        }
    for (; i < k; i++)
        for (size_t j = 0; j < fours; j++) to[i * across + j] = from[j * stride + i];
    for (size_t j = fours; j < across; j++)
        for (i = 0; i < k; i++) to[i * across + j] = j < count ? from[j * stride + i] : 0;
}

/* to[k][across] = from[k][count]; columns from count to `across` become zeros. */
INLINE void copy_narrow(hd_real *to, size_t across, const hd_real *from, size_t stride, size_t count,
                        size_t k)
{
    for (size_t i = 0; i < k; i++, from += stride, to += across) {
        __builtin_prefetch(from + 12 * stride); /* a new line, often a new page, at each turn */
        if (count == across) {
            memcpy(to, from, across * sizeof *to);
            continue;
        }
        for (size_t j = 0; j < across; j++) to[j] = j < count ? from[j] : 0;
    }
}

void KERNEL(pack)(hd_real *to, const hd_real *b, size_t stride, bool transposed, size_t n, size_t k,
                  size_t from, size_t till)
{
    for (size_t j = from; j < till && j < n; j += STRIP) {
        size_t width = n - j < STRIP ? n - j : STRIP;
        if (transposed)
            transpose(to + j * k, STRIP, b + j * stride, stride, width, k);
        else
            copy_narrow(to + j * k, STRIP, b + j, stride, width, k);
    }
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

/* Rows [i, i+count) of a, k from kb: as panels, one after the other, or NULL where the few rows are read as
 * they lie. */
static const hd_real *pack_panels(hd_real *panel, const hd_product *p, size_t i, size_t count, size_t kb,
                                  size_t kn, size_t strips)
{
    if (!p->a_transposed && (count < TILE_ROWS || strips < 2))
        return NULL; /* a panel pays when strips reuse it */
    for (size_t at = 0; at < count; at += TILE_ROWS) {
        size_t rows = count - at < TILE_ROWS ? count - at : TILE_ROWS;
        if (p->a_transposed)
            copy_narrow(panel + at * kn, TILE_ROWS, p->a + kb * p->a_stride + i + at, p->a_stride, rows, kn);
        else
            transpose(panel + at * kn, TILE_ROWS, p->a + (i + at) * p->a_stride + kb, p->a_stride, rows, kn);
    }
    return panel;
}

/* What the first of the tiles of strip j asks for of the next strip, b being where this one begins. */
static ahead next_strip(const hd_product *p, size_t count, size_t j, const hd_real *b)
{
    const size_t tiles = count / TILE_ROWS;
    if (tiles < STREAM_TILES || p->b_stride || p->rounded || p->n - j <= STRIP) return (ahead){b, 0};
    return (ahead){b + STRIP * p->b_depth, 4 * STRIP / tiles};
}

/* Strip j of rows [i, i+count): tile after tile down the rows, so that b stays in the first-level cache. */
static void strip_down(const hd_product *p, const hd_real *panel, size_t i, size_t count, size_t j, size_t kb,
                       size_t kn, hd_real *piece, edge *beside)
{
    size_t width = p->n - j < STRIP ? p->n - j : STRIP;
    const hd_real *b = p->b;
    if (p->b_stride) {
        transpose(piece, STRIP, p->b + j * p->b_stride + kb, p->b_stride, width, kn);
        b = piece;
    } else if (p->rounded) {
        const uint16_t *from = p->rounded + j * p->b_depth + kb * STRIP;
        for (size_t l = 0; l < kn * STRIP; l += VL) hd_store(piece + l, widen(from + l));
        b = piece;
    } else {
        b += j * p->b_depth + kb * STRIP;
    }
    int vectors = (int)((width + VL - 1) / VL);
    ahead next = next_strip(p, count, j, b);
    for (size_t at = 0; at < count; at += TILE_ROWS, next.from += next.step * (kn / 4)) {
        int rows = count - at < TILE_ROWS ? (int)(count - at) : TILE_ROWS;
        place to = place_at(p, i + at, j, kb), inside = to;
        if (width % VL) inside = edge_in(beside, &to, rows, width);
        if (panel)
            tile_panel(&inside, rows, vectors, panel + at * kn, b, kn, next);
        else
            tile_rows(&inside, rows, vectors, p->a + (i + at) * p->a_stride + kb, p->a_stride, b, kn, next);
        if (width % VL) edge_out(beside, &to, rows, width);
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
        for (size_t kb = 0; kb < p->k || kb == 0; kb += K_BLOCK)
            strip_down(p, NULL, row, rows, j, kb, p->k - kb < K_BLOCK ? p->k - kb : K_BLOCK, piece, &beside);
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
    const size_t depth = p->k < K_BLOCK ? p->k + 1 : K_BLOCK, group = A_BLOCK / depth / TILE_ROWS * TILE_ROWS;
    edge beside = {0}; /* columns past the edge never hold anything but zeros and their sums */
    for (size_t i = row; i < row_end; i += group) {
        const size_t count = row_end - i < group ? row_end - i : group;
        for (size_t kb = 0; kb < p->k || kb == 0; kb += K_BLOCK) {
            const size_t kn = p->k - kb < K_BLOCK ? p->k - kb : K_BLOCK;
            const hd_real *panels = pack_panels(panel, p, i, count, kb, kn, strip_end - strip);
            for (size_t nb = from; nb < till; nb += N_BLOCK) {
                const size_t end = till - nb < N_BLOCK ? till : nb + N_BLOCK;
                for (size_t j = nb; j < end; j += STRIP)
                    strip_down(p, panels, i, count, j, kb, kn, panel + A_BLOCK, &beside);
                if (kb + kn >= p->k) KERNEL(finish)(p, i, count, nb, end);
            }
        }
    }
}
