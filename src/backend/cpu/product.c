/* One thread's matrix product: packing, the register tile, and the loops that keep a block of b in the second-level cache and a strip of a in the
   first. The tile is TILE_ROWS x STRIP_VECTORS vectors of accumulators; edges run the same tile with fewer rows, so the chain of multiply-adds of an
   element never changes. */
#include "backend/cpu/product.h"
#include "backend/cpu/vector.h"

#if defined(__aarch64__) && !defined(HD_REAL_DOUBLE)
#include "backend/cpu/tile_neon.h"
#define HD_TILE_NEON 1
#endif

/* TILE_ROWS: of a stored by rows; PANEL_ROWS: of a packed in a panel */
#if HD_VECTOR_BYTES == 64
enum { TILE_ROWS = 12, PANEL_ROWS = 12, STRIP_VECTORS = 2 };
#elif HD_VECTOR_BYTES == 32
enum { TILE_ROWS = 6, PANEL_ROWS = 6, STRIP_VECTORS = 2 };
#elif defined(__aarch64__)
enum { TILE_ROWS = 7, PANEL_ROWS = 8, STRIP_VECTORS = 3 };
#else
enum { TILE_ROWS = 4, PANEL_ROWS = 4, STRIP_VECTORS = 2 };
#endif
enum {
    STRIP = STRIP_VECTORS * VL,
    K_BLOCK = 512,
    N_BLOCK = (192 * 1024 / K_BLOCK / STRIP) * STRIP, /* columns of b kept in L2: 3/4 MiB in float */
};

size_t KERNEL(strip)(void) { return STRIP; }

size_t KERNEL(packed_size)(size_t n, size_t k) { return (n + STRIP - 1) / STRIP * STRIP * k; }

size_t KERNEL(panel_size)(void) { return (size_t)K_BLOCK * PANEL_ROWS; }

/* One strip from b stored [K,N]: STRIP neighbours for each k. */
static void pack_plain(hd_real *to, const hd_real *b, size_t stride, size_t width, size_t k)
{
    if (width == STRIP) {
        for (size_t i = 0; i < k; i++, b += stride, to += STRIP)
            for (int v = 0; v < STRIP_VECTORS; v++) hd_store(to + v * VL, hd_load(b + v * VL));
        return;
    }
    for (size_t i = 0; i < k; i++, b += stride, to += STRIP) {
        for (size_t j = 0; j < width; j++) to[j] = b[j];
        for (size_t j = width; j < STRIP; j++) to[j] = 0;
    }
}

/* One strip from b stored [N,K]: a transposition, in squares of VL so that both sides stay in a few cache lines. */
static void pack_transposed(hd_real *to, const hd_real *b, size_t stride, size_t width, size_t k)
{
    if (width < STRIP) memset(to, 0, k * STRIP * sizeof *to);
    for (size_t j0 = 0; j0 < width; j0 += VL) {
        size_t jn = width - j0 < VL ? width - j0 : VL;
        size_t i = 0;
#if HD_VECTOR_BYTES == 16 && !defined(HD_REAL_DOUBLE)
        for (; jn == VL && i + VL <= k; i += VL) {
            vec r0 = hd_load(b + j0 * stride + i), r1 = hd_load(b + (j0 + 1) * stride + i);
            vec r2 = hd_load(b + (j0 + 2) * stride + i), r3 = hd_load(b + (j0 + 3) * stride + i);
            vec p0 = __builtin_shufflevector(r0, r1, 0, 4, 2, 6), p1 = __builtin_shufflevector(r0, r1, 1, 5, 3, 7);
            vec p2 = __builtin_shufflevector(r2, r3, 0, 4, 2, 6), p3 = __builtin_shufflevector(r2, r3, 1, 5, 3, 7);
            hd_real *t = to + i * STRIP + j0;
            hd_store(t, __builtin_shufflevector(p0, p2, 0, 1, 4, 5));
            hd_store(t + STRIP, __builtin_shufflevector(p1, p3, 0, 1, 4, 5));
            hd_store(t + 2 * STRIP, __builtin_shufflevector(p0, p2, 2, 3, 6, 7));
            hd_store(t + 3 * STRIP, __builtin_shufflevector(p1, p3, 2, 3, 6, 7));
        }
#endif
        for (; i < k; i++)
            for (size_t j = 0; j < jn; j++) to[i * STRIP + j0 + j] = b[(j0 + j) * stride + i];
    }
}

void KERNEL(pack)(hd_real *to, const hd_real *b, size_t stride, bool transposed, size_t n, size_t k, size_t from, size_t till)
{
    for (size_t j = from; j < till && j < n; j += STRIP) {
        size_t width = n - j < STRIP ? n - j : STRIP;
        if (transposed) pack_transposed(to + j * k, b + j * stride, stride, width, k);
        else pack_plain(to + j * k, b + j, stride, width, k);
    }
}

enum { ROWS_MOST = TILE_ROWS > PANEL_ROWS ? TILE_ROWS : PANEL_ROWS };
typedef vec sums[ROWS_MOST][STRIP_VECTORS];

/* acc += sum over k of a[i][k] b[k][j]. Row i of a starts at a + i*row, its k-th number lies k*step further. */
INLINE void tile(sums acc, int rows, const hd_real *a, size_t row, size_t step, const hd_real *b, size_t k)
{
    vec s[ROWS_MOST][STRIP_VECTORS];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < STRIP_VECTORS; j++) s[i][j] = acc[i][j];
    for (size_t p = 0; p < k; p++) {
        vec y[STRIP_VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < STRIP_VECTORS; j++) y[j] = hd_load(b + p * STRIP + (size_t)j * VL);
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            hd_real x = a[(size_t)i * row + p * step];
#pragma GCC unroll 4
            for (int j = 0; j < STRIP_VECTORS; j++) s[i][j] += y[j] * x;
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < STRIP_VECTORS; j++) acc[i][j] = s[i][j];
}

/* The tile for a number of rows known to the compiler. */
#define TILE_CASE(n) \
    case n: \
        if (n <= ROWS_MOST) tile(acc, n, a, row, step, b, k); \
        break;

INLINE void tile_cases(sums acc, int rows, const hd_real *a, size_t row, size_t step, const hd_real *b, size_t k)
{
    memset(acc, 0, sizeof(sums));
    switch (rows) {
        TILE_CASE(1) TILE_CASE(2) TILE_CASE(3) TILE_CASE(4) TILE_CASE(5) TILE_CASE(6) TILE_CASE(7) TILE_CASE(8)
#if HD_VECTOR_BYTES == 64
        TILE_CASE(9) TILE_CASE(10) TILE_CASE(11) TILE_CASE(12)
#endif
    }
}

static void tile_plain(sums acc, int rows, const hd_real *a, size_t row, const hd_real *b, size_t k)
{
#ifdef HD_TILE_NEON
    if (rows == TILE_ROWS && k >= 4) {
        size_t done = k & ~(size_t)3;
        tile_rows_neon((float *)acc, a, row, b, k / 4);
        if (done < k) tile(acc, TILE_ROWS, a + done, row, 1, b + done * STRIP, k - done);
        return;
    }
#endif
    tile_cases(acc, rows, a, row, 1, b, k);
}

static void tile_panel(sums acc, int rows, const hd_real *panel, const hd_real *b, size_t k)
{
#ifdef HD_TILE_NEON
    if (k) {
        tile_panel_neon((float *)acc, panel, b, k); /* rows past the end are zeros in the panel */
        return;
    }
#endif
    tile_cases(acc, rows, panel, 1, PANEL_ROWS, b, k);
}

typedef struct edge {
    size_t width;        /* columns that count, <= STRIP */
    bool add;            /* to what c holds */
    const hd_real *bias; /* of the strip, or NULL */
} edge;

/* Stores `rows` rows of sums; the common case, whole strips, without tests inside. */
static void tile_store(hd_real *c, size_t stride, sums acc, int rows, const edge *e)
{
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int j = 0; j < STRIP_VECTORS; j++) {
            size_t at = (size_t)j * VL, left = e->width > at ? e->width - at : 0;
            hd_real *to = c + (size_t)i * stride + at;
            vec v = acc[i][j];
            if (left >= VL) {
                if (e->add) v += hd_load(to);
                if (e->bias) v += hd_load(e->bias + at);
                hd_store(to, v);
            } else if (left) {
                if (e->add) v += hd_load_part(to, left, 0);
                if (e->bias) v += hd_load_part(e->bias + at, left, 0);
                hd_store_part(to, v, left);
            }
        }
    }
}

/* a stored [K,M]: copied to a panel [K,PANEL_ROWS] first, reused for every strip of b. */
static void pack_panel(hd_real *to, const hd_real *a, size_t stride, int rows, size_t k)
{
    if (rows == PANEL_ROWS)
        for (size_t p = 0; p < k; p++) memcpy(to + p * PANEL_ROWS, a + p * stride, PANEL_ROWS * sizeof *to);
    else
        for (size_t p = 0; p < k; p++)
            for (int i = 0; i < PANEL_ROWS; i++) to[p * PANEL_ROWS + (size_t)i] = i < rows ? a[p * stride + (size_t)i] : 0;
}

/* Activation of finished rows [row, row+rows), columns [j0, j1). */
static void finish(const hd_product *p, size_t row, int rows, size_t j0, size_t j1)
{
    for (size_t i = row; i < row + (size_t)rows; i++) {
        hd_real *c = p->c + i * p->c_stride + j0;
        if (p->before) memcpy(p->before + i * p->before_stride + j0, c, (j1 - j0) * sizeof *c);
        KERNEL(apply)(p->act, c, c, j1 - j0);
    }
}

void KERNEL(product)(const hd_product *p, size_t row, size_t row_end, size_t strip, size_t strip_end, hd_real *panel)
{
    const size_t most = p->a_transposed ? PANEL_ROWS : TILE_ROWS;
    size_t from = strip * STRIP, till = strip_end * STRIP < p->n ? strip_end * STRIP : p->n;
    for (size_t nb = from; nb < till; nb += N_BLOCK) {
        size_t nb_end = nb + N_BLOCK < till ? nb + N_BLOCK : till;
        for (size_t kb = 0; kb < p->k || kb == 0; kb += K_BLOCK) {
            size_t kn = p->k - kb < K_BLOCK ? p->k - kb : K_BLOCK;
            bool last = kb + kn >= p->k;
            for (size_t i = row; i < row_end; i += most) {
                int rows = row_end - i < most ? (int)(row_end - i) : (int)most;
                if (p->a_transposed) pack_panel(panel, p->a + kb * p->a_stride + i, p->a_stride, rows, kn);
                for (size_t j = nb; j < nb_end; j += STRIP) {
                    edge e = {.width = p->n - j < STRIP ? p->n - j : STRIP, .add = p->add || kb, .bias = last && p->bias ? p->bias + j : NULL};
                    const hd_real *b = p->b + j * p->b_depth + kb * STRIP;
                    sums acc;
                    if (p->a_transposed) tile_panel(acc, rows, panel, b, kn);
                    else tile_plain(acc, rows, p->a + i * p->a_stride + kb, p->a_stride, b, kn);
                    tile_store(p->c + i * p->c_stride + j, p->c_stride, acc, rows, &e);
                }
                if (last && p->act != HD_IDENTITY) finish(p, i, rows, nb, nb_end);
            }
        }
    }
}
