/* bf16 in pairs of k, as instructions of x86-64 multiply them: b in strips of two tiles of 16 columns, rows
   in panels, and the walk over both. Who includes it defines ROWS, at most 32: rows of a panel. */
#ifndef HD_BACKEND_CPU_FORM_PAIRS_H
#define HD_BACKEND_CPU_FORM_PAIRS_H

#include <immintrin.h>

#include "backend/cpu/form/bf16.h"
#include "backend/cpu/product/square.h"

enum {
    HALF = 16,
    STRIP = 2 * HALF,
    STEP = 32, /* numbers of a row of a tile: pairs of k */
    TILE = HALF * STEP,
    K_BLOCK = 1024,            /* c is read and written once for each */
    FEW_DEPTH = 4096,          /* where one tile holds all rows */
    GROUP = 256 / ROWS * ROWS, /* rows whose panels stay in L2 */
    PANEL = GROUP * K_BLOCK,
    AHEAD = 8192,  /* bytes of b that are asked for early: hardware does not foresee two tiles side by side */
    N_BLOCK = 256, /* columns behind whose sums the function comes while they are in L2 */
};

_Static_assert(ROWS *FEW_DEPTH <= PANEL && K_BLOCK % STEP == 0 && FEW_DEPTH % STEP == 0 &&
                   N_BLOCK % STRIP == 0,
               "panels, steps and strips must fit");

INLINE size_t deep(size_t k)
{
    return bf16_deep(k, STEP);
}

static size_t size(size_t n, size_t k)
{
    return bf16_size(n, k, STRIP, STEP);
}

static size_t scratch_size(size_t k)
{
    (void)k;
    return PANEL * sizeof(uint16_t);
}

/* -- tiles of rounded numbers, in pairs of k -- */

INLINE __mmask16 first(size_t count)
{
    return (__mmask16)(count < HALF ? (1u << count) - 1 : 0xffff);
}

/* v[i] = row i of from[count][depth], filled up with zeros. */
INLINE void round_along(__m512i v[HALF], const float *from, size_t stride, size_t count, size_t depth)
{
    const __mmask16 low = first(depth), high = first(depth > HALF ? depth - HALF : 0);
    UNROLL
    for (size_t i = 0; i < HALF; i++) {
        const float *x = from + i * stride;
        v[i] = _mm512_setzero_si512();
        if (i < count)
            v[i] = (__m512i)_mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(high, x + HALF),
                                                _mm512_maskz_loadu_ps(low, x));
    }
}

/* v[i] = rows 2i and 2i + 1 of from[depth][count], number by number; zeros beside and below. */
INLINE void round_across(__m512i v[HALF], const float *from, size_t stride, size_t count, size_t depth)
{
    const __mmask16 wide = first(count);
    static const uint16_t alternate[STEP] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                             8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512i order = _mm512_loadu_si512(alternate);
    UNROLL
    for (size_t i = 0; i < HALF; i++) {
        const float *x = from + 2 * i * stride;
        __m512 even = _mm512_setzero_ps(), odd = even;
        if (2 * i < depth) even = _mm512_maskz_loadu_ps(wide, x);
        if (2 * i + 1 < depth) odd = _mm512_maskz_loadu_ps(wide, x + stride);
        if (depth == STEP) /* a new line, often a new page, at each turn */
            __builtin_prefetch(x + STEP * stride), __builtin_prefetch(x + (STEP + 1) * stride);
        v[i] = _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
    }
}

/* `rows` rows of a tile of from: numbers of k lie side by side in it, or rows of k under each other; and a
   row of the tile is one of from's rows, or pairs of all of them. */
INLINE void round_tile(uint16_t *to, size_t rows, bool turned, const float *from, size_t stride,
                       bool side_by_side, size_t count, size_t depth)
{
    __m512i v[HALF];
    if (side_by_side)
        round_along(v, from, stride, count, depth);
    else
        round_across(v, from, stride, count, depth);
    if (turned) turn_sixteen(v);
    UNROLL
    for (size_t i = 0; i < HALF; i++)
        if (i < rows) _mm512_storeu_si512(to + i * STEP, v[i]);
}

/* -- b: [steps][two tiles] in each strip -- */

/* Rows of b lie under each other or side by side: each is read along, through all strips or a whole strip. */
INLINE void pack_step(uint16_t *to, const hd_packing *b, bool transposed, size_t j, size_t l)
{
    const size_t width = b->n - j < STRIP ? b->n - j : STRIP, along = transposed ? b->stride : 1,
                 under = transposed ? 1 : b->stride;
    for (size_t at = 0; at < width; at += HALF)
        round_tile(to + at * STEP, HALF, transposed, b->b + (j + at) * along + l * under, b->stride,
                   transposed, width - at < HALF ? width - at : HALF, b->k - l < STEP ? b->k - l : STEP);
}

static void pack(void *packed, const hd_packing *b, size_t strip, size_t strip_end)
{
    const size_t from = strip * STRIP, till = strip_end * STRIP < b->n ? strip_end * STRIP : b->n,
                 depth = deep(b->k);
    uint16_t *to = packed;
    if (b->transposed)
        for (size_t j = from; j < till; j += STRIP)
            for (size_t l = 0; l < b->k; l += STEP) pack_step(to + j * depth + l * STRIP, b, true, j, l);
    else
        for (size_t l = 0; l < b->k; l += STEP)
            for (size_t j = from; j < till; j += STRIP) pack_step(to + j * depth + l * STRIP, b, false, j, l);
}

/* -- a: [steps][rows] in each panel -- */

/* Of the panel at row `at` of count. */
INLINE size_t rows_at(size_t count, size_t at)
{
    return count - at < ROWS ? count - at : ROWS;
}

/* One step of a panel of rows from i on: k up to `end`. */
INLINE void pack_tiles(uint16_t *to, const hd_product *p, bool transposed, size_t i, size_t rows, size_t k,
                       size_t end)
{
    const size_t along = transposed ? 1 : p->a_stride, under = transposed ? p->a_stride : 1;
    for (size_t at = 0; at < rows; at += HALF) {
        const size_t count = rows - at < HALF ? rows - at : HALF;
        round_tile(to, count, transposed, p->a + (i + at) * along + k * under, p->a_stride, !transposed,
                   count, end - k < STEP ? end - k : STEP);
        to += count * STEP;
    }
}

/* Rows of a are read along: all panels of a step where a row holds them, else a whole panel. */
static void pack_panels(uint16_t *panel, const hd_product *p, size_t i, size_t count, size_t kb, size_t kn)
{
    const size_t depth = deep(kn), end = kb + kn;
    if (p->a_transposed)
        for (size_t l = 0; l < kn; l += STEP)
            for (size_t at = 0; at < count; at += ROWS)
                pack_tiles(panel + at * depth + l * rows_at(count, at), p, true, i + at, rows_at(count, at),
                           kb + l, end);
    else
        for (size_t at = 0; at < count; at += ROWS)
            for (size_t l = 0; l < kn; l += STEP)
                pack_tiles(panel + at * depth + l * rows_at(count, at), p, false, i + at, rows_at(count, at),
                           kb + l, end);
}

/* -- products -- */

/* `to` gets its start and the product of up to ROWS rows of a panel with a strip's first columns, `steps`
   times STEP deep. */
typedef void pairs_tile(void *state, const place *to, size_t rows, size_t columns, const uint16_t *a,
                        const uint16_t *b, size_t steps);

/* Columns [nb, end) of rows [i, i+count), k from kb: tile after tile across, so that c is written along its
   rows, which lie on pages of their own. A panel stays in L1; strips, in L2, are streamed past it. */
INLINE void panels_across(const hd_product *p, pairs_tile *tile, void *state, const uint16_t *panel, size_t i,
                          size_t count, size_t nb, size_t end, size_t kb, size_t kn)
{
    static const float zeros[STRIP];
    const uint16_t *b = (const uint16_t *)p->weight + kb * STRIP;
    for (size_t at = 0; at < count; at += ROWS)
        for (size_t j = nb; j < end; j += STRIP) {
            place to = place_of(p, i + at, j, kb, zeros);
            tile(state, &to, rows_at(count, at), p->n - j < STRIP ? p->n - j : STRIP, panel + at * deep(kn),
                 b + j * deep(p->b_depth), deep(kn) / STEP);
        }
}

INLINE void multiply_by(const hd_product *p, size_t row, size_t row_end, size_t strip, size_t strip_end,
                        char *scratch, pairs_tile *tile, void *state)
{
    uint16_t *panel = (uint16_t *)scratch;
    const size_t from = strip * STRIP, till = strip_end * STRIP < p->n ? strip_end * STRIP : p->n,
                 depth = row_end - row <= ROWS ? FEW_DEPTH : K_BLOCK;
    for (size_t i = row; i < row_end; i += GROUP) {
        const size_t count = row_end - i < GROUP ? row_end - i : GROUP;
        for (size_t kb = 0; kb < p->k || kb == 0; kb += depth) {
            const size_t kn = p->k - kb < depth ? p->k - kb : depth;
            pack_panels(panel, p, i, count, kb, kn);
            for (size_t nb = from; nb < till; nb += N_BLOCK) {
                const size_t end = till - nb < N_BLOCK ? till : nb + N_BLOCK;
                panels_across(p, tile, state, panel, i, count, nb, end, kb, kn);
                if (kb + kn >= p->k) p->finish(p, i, count, nb, end);
            }
        }
    }
}

#endif
