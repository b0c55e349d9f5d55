/* One thread's matrix product: packing, the register tile, and the loops that keep a block of b in the
   second-level cache and a panel of a in the first. A tile is TILE_ROWS rows by STRIP columns; rows left over
   at the end run the same chain of multiply-adds in a smaller tile, so an element's bits never depend on its
   neighbours. */
#include "backend/cpu/product.h"
#include "backend/cpu/vector.h"

#if defined(__aarch64__) && !defined(HD_REAL_DOUBLE)
#include "backend/cpu/tile_neon.h"
#define HD_TILE_NEON 1
#endif

#if HD_VECTOR_BYTES == 64
enum { TILE_ROWS = 12, STRIP_VECTORS = 2 };
#elif HD_VECTOR_BYTES == 32
enum { TILE_ROWS = 6, STRIP_VECTORS = 2 };
#elif defined(__aarch64__)
enum { TILE_ROWS = 8, STRIP_VECTORS = 3 };
#else
enum { TILE_ROWS = 4, STRIP_VECTORS = 2 };
#endif
enum {
    STRIP = STRIP_VECTORS * VL,
    K_BLOCK = 512,
    B_BLOCK = 128 * 1024, /* numbers of b kept in L2: half a MiB in float */
    FEW_TILES = 5,
    A_BLOCK = FEW_TILES * K_BLOCK * TILE_ROWS, /* numbers of a in panels */
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
    return A_BLOCK;
}

typedef hd_real quad __attribute__((vector_size(4 * sizeof(hd_real)), aligned(sizeof(hd_real)), may_alias));

/* to[4 rows, `across` apart] = the transpose of from[4 rows, `stride` apart], four by four */
INLINE void turn_square(hd_real *to, size_t across, const hd_real *from, size_t stride)
{
    quad r0 = *(const quad *)from, r1 = *(const quad *)(from + stride),
         r2 = *(const quad *)(from + 2 * stride), r3 = *(const quad *)(from + 3 * stride);
    quad p0 = __builtin_shufflevector(r0, r1, 0, 4, 2, 6), p1 = __builtin_shufflevector(r0, r1, 1, 5, 3, 7);
    quad p2 = __builtin_shufflevector(r2, r3, 0, 4, 2, 6), p3 = __builtin_shufflevector(r2, r3, 1, 5, 3, 7);
    *(quad *)to = __builtin_shufflevector(p0, p2, 0, 1, 4, 5);
    *(quad *)(to + across) = __builtin_shufflevector(p1, p3, 0, 1, 4, 5);
    *(quad *)(to + 2 * across) = __builtin_shufflevector(p0, p2, 2, 3, 6, 7);
    *(quad *)(to + 3 * across) = __builtin_shufflevector(p1, p3, 2, 3, 6, 7);
}

/* to[k][across] = the transpose of from[count rows][k]; columns from count to `across` become zeros. */
INLINE void transpose(hd_real *to, size_t across, const hd_real *from, size_t stride, size_t count, size_t k)
{
    size_t j = 0;
    for (; j + 4 <= count; j += 4) {
        const hd_real *f = from + j * stride;
        size_t i = 0;
        for (; i + 4 <= k; i += 4) turn_square(to + i * across + j, across, f + i, stride);
        for (; i < k; i++)
            for (size_t l = 0; l < 4; l++) to[i * across + j + l] = f[l * stride + i];
    }
    for (; j < across; j++)
        for (size_t i = 0; i < k; i++) to[i * across + j] = j < count ? from[j * stride + i] : 0;
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

/* A tile's place: c gets start + a b. All strides in numbers; a start_stride of 0 gives each row the same
 * start. */
typedef struct place {
    hd_real *c;
    size_t c_stride;
    const hd_real *start;
    size_t start_stride;
} place;

/* `rows` by `vectors` vectors. Row i of a begins at a + i*row, its k-th number lies k*step further. */
INLINE void tile(const place *p, int rows, int vectors, const hd_real *a, size_t row, size_t step,
                 const hd_real *b, size_t k)
{
    vec s[TILE_ROWS][STRIP_VECTORS];
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int j = 0; j < vectors; j++)
        s[i][j] = hd_load(p->start + (size_t)i * p->start_stride + (size_t)j * VL);
    UNROLL
    for (int i = 0; i < rows; i++) /* the rows below come next */
        __builtin_prefetch(p->c + (size_t)(TILE_ROWS + i) * p->c_stride, 1);
    for (size_t l = 0; l < k; l++) {
        vec y[STRIP_VECTORS];
        UNROLL
        for (int j = 0; j < vectors; j++) y[j] = hd_load(b + l * STRIP + (size_t)j * VL);
        UNROLL
        for (int i = 0; i < rows; i++) {
            vec x = hd_spread(a[(size_t)i * row + l * step]);
            UNROLL
            for (int j = 0; j < vectors; j++) s[i][j] = hd_fma(y[j], x, s[i][j]);
        }
    }
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int j = 0; j < vectors; j++) hd_store(p->c + (size_t)i * p->c_stride + (size_t)j * VL, s[i][j]);
}

/* The tile for numbers of rows and vectors known to the compiler; a is a panel [k][TILE_ROWS] or has its rows
 * `row` apart. */
#define TILE_CASE(n)                                       \
    case n:                                                \
        if (n > TILE_ROWS) break;                          \
        if (vectors == 1)                                  \
            tile(p, n, 1, a, row, step, b, k);             \
        else if (vectors == 2)                             \
            tile(p, n, 2, a, row, step, b, k);             \
        else if (STRIP_VECTORS == 3)                       \
            tile(p, n, STRIP_VECTORS, a, row, step, b, k); \
        break;

INLINE void tile_cases(const place *p, int rows, int vectors, const hd_real *a, size_t row, size_t step,
                       const hd_real *b, size_t k)
{
    switch (rows) {
        TILE_CASE(1)
        TILE_CASE(2)
        TILE_CASE(3)
        TILE_CASE(4) TILE_CASE(5) TILE_CASE(6) TILE_CASE(7) TILE_CASE(8)
#if HD_VECTOR_BYTES == 64
            TILE_CASE(9) TILE_CASE(10) TILE_CASE(11) TILE_CASE(12)
#endif
    }
}

static void tile_panel(const place *p, int rows, int vectors, const hd_real *panel, const hd_real *b,
                       size_t k)
{
#ifdef HD_TILE_NEON
    if (rows == TILE_ROWS && vectors == STRIP_VECTORS) {
        tile_neon(p->c, p->c_stride, p->start, p->start_stride, panel, b, k);
        return;
    }
#endif
    tile_cases(p, rows, vectors, panel, 1, TILE_ROWS, b, k);
}

static void tile_rows(const place *p, int rows, int vectors, const hd_real *a, size_t row, const hd_real *b,
                      size_t k)
{
    tile_cases(p, rows, vectors, a, row, 1, b, k);
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

/* Activation of finished rows [row, row+rows), columns [j0, j1). */
static void finish(const hd_product *p, size_t row, size_t rows, size_t j0, size_t j1)
{
    for (size_t i = row; i < row + rows; i++) {
        hd_real *c = p->c + i * p->c_stride + j0;
        if (p->before) memcpy(p->before + i * p->before_stride + j0, c, (j1 - j0) * sizeof *c);
        KERNEL(apply)(p->act, c, c, j1 - j0);
    }
}

/* Where the sums of a tile start: from what c holds, from the bias, or from zero. */
static place place_at(const hd_product *p, size_t i, size_t j, size_t kb)
{
    static const hd_real zeros[STRIP];
    hd_real *c = p->c + i * p->c_stride + j;
    if (p->add || kb) return (place){c, p->c_stride, c, p->c_stride};
    return (place){c, p->c_stride, p->bias ? p->bias + j : zeros, 0};
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

/* Strip j of rows [i, i+count): tile after tile down the rows, so that b stays in the first-level cache. */
static void strip_down(const hd_product *p, const hd_real *panel, size_t i, size_t count, size_t j, size_t kb,
                       size_t kn, edge *beside)
{
    const hd_real *b = p->b + j * p->b_depth + kb * STRIP;
    size_t width = p->n - j < STRIP ? p->n - j : STRIP;
    int vectors = (int)((width + VL - 1) / VL);
    for (size_t at = 0; at < count; at += TILE_ROWS) {
        int rows = count - at < TILE_ROWS ? (int)(count - at) : TILE_ROWS;
        place to = place_at(p, i + at, j, kb), inside = to;
        if (width % VL) inside = edge_in(beside, &to, rows, width);
        if (panel)
            tile_panel(&inside, rows, vectors, panel + at * kn, b, kn);
        else
            tile_rows(&inside, rows, vectors, p->a + (i + at) * p->a_stride + kb, p->a_stride, b, kn);
        if (width % VL) edge_out(beside, &to, rows, width);
    }
}

/* Rows whose panels are made at once. Of many rows as many as stay in L1 beside a strip of b (32 KiB); a few,
   as in decoding, are taken together, so that each strip of b is read but once. */
static size_t group_of(size_t rows, size_t depth)
{
    size_t most = A_BLOCK / depth / TILE_ROWS * TILE_ROWS;
    return rows <= most ? most : 2 * K_BLOCK / depth * TILE_ROWS;
}

void KERNEL(product)(const hd_product *p, size_t row, size_t row_end, size_t strip, size_t strip_end,
                     hd_real *panel)
{
    size_t from = strip * STRIP, till = strip_end * STRIP < p->n ? strip_end * STRIP : p->n;
    size_t depth = p->k < K_BLOCK ? p->k + 1 : K_BLOCK;
    size_t group = group_of(row_end - row, depth);
    /* one group passes over b but once: no part of b has to stay in L2 for the next */
    size_t n_block = row_end - row <= group ? till : (B_BLOCK / depth / STRIP + 1) * STRIP;
    edge beside = {0}; /* columns past the edge never hold anything but zeros and their sums */
    for (size_t nb = from; nb < till; nb += n_block) {
        size_t nb_end = nb + n_block < till ? nb + n_block : till;
        for (size_t kb = 0; kb < p->k || kb == 0; kb += K_BLOCK) {
            size_t kn = p->k - kb < K_BLOCK ? p->k - kb : K_BLOCK;
            for (size_t i = row; i < row_end; i += group) {
                size_t count = row_end - i < group ? row_end - i : group;
                const hd_real *panels =
                    pack_panels(panel, p, i, count, kb, kn, (nb_end - nb + STRIP - 1) / STRIP);
                for (size_t j = nb; j < nb_end; j += STRIP)
                    strip_down(p, panels, i, count, j, kb, kn, &beside);
                if (kb + kn >= p->k && p->act != HD_IDENTITY) finish(p, i, count, nb, nb_end);
            }
        }
    }
}
