/* Products of bf16 numbers on aarch64: one instruction multiplies two rows of a by two columns of b, four
   numbers deep, and adds to sums in f32. Both are packed alike, eight rows (or columns) of four numbers each
   after the other. A single row goes through the same instruction beside a row of zeros, so that its bits do
   not depend on how many there are. */
#include "backend/cpu/form/form.h"

#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC) && !defined(HD_REAL_DOUBLE)
#include <sys/auxv.h>

#include "backend/cpu/form/bf16.h"
#include "backend/cpu/form/tile_mmla.h"

enum {
    ROWS = 12,
    STRIP = 8,
    DEEP = 4, /* numbers of a row that go together */
    K_BLOCK = 1024,
    FEW_DEPTH = 4096,     /* most at once where a tile holds all rows */
    MANY_ROWS = 4 * ROWS, /* rows whose panels meet a strip one after the other */
    HELD = 512 * K_BLOCK, /* numbers in panels that wait until all columns are done */
    N_BLOCK = 512,        /* columns that stay in L2 with many rows */
    MANY_STRIPS = 8,      /* that are packed side by side from [K,N]: whole lines of memory */
};

_Static_assert(MANY_ROWS *K_BLOCK <= HELD && ROWS * FEW_DEPTH <= HELD && K_BLOCK % DEEP == 0 &&
                   FEW_DEPTH % DEEP == 0 && N_BLOCK % STRIP == 0,
               "panels, steps and strips must fit");

static size_t deep(size_t k)
{
    return bf16_deep(k, DEEP);
}

static size_t size(size_t n, size_t k)
{
    return bf16_size(n, k, STRIP, DEEP);
}

static size_t scratch_size(size_t k)
{
    (void)k;
    return HELD * sizeof(uint16_t);
}

INLINE void round_four(uint16_t *to, float32x4_t x)
{
    vst1_u16(to, vreinterpret_u16_bf16(vcvt_bf16_f32(x)));
}

/* to[2][4] = four numbers of each of two rows */
INLINE void round_pair(uint16_t *to, const float *x, const float *y)
{
    vst1q_u16(to,
              vreinterpretq_u16_bf16(vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(vld1q_f32(x)), vld1q_f32(y))));
}

/* The same with `depth` < 4 numbers of each row; those of a row that is NULL, and the rest, are zeros. */
static void round_pair_edge(uint16_t *to, const float *x, const float *y, size_t depth)
{
    float some[2][DEEP] = {{0}};
    memcpy(some[0], x, depth * sizeof **some);
    if (y) memcpy(some[1], y, depth * sizeof **some);
    round_pair(to, some[0], some[1]);
}

INLINE void round_pairs(uint16_t *to, size_t across, const float *from, size_t stride, size_t pairs, size_t k)
{
    for (size_t l = 0; l + DEEP <= k; l += DEEP, to += DEEP * across, from += DEEP) UNROLL
    for (size_t i = 0; i < pairs; i++)
        round_pair(to + 2 * DEEP * i, from + 2 * i * stride, from + (2 * i + 1) * stride);
}

/* to[k / 4][across][4] = from[count rows][k] in bf16; the rest of `across` and of the last four is zeros. */
static void round_rows(uint16_t *to, size_t across, const float *from, size_t stride, size_t count, size_t k)
{
    const size_t whole = k / DEEP * DEEP, pairs = count / 2;
    if (count == ROWS)
        round_pairs(to, across, from, stride, ROWS / 2, k);
    else if (count == STRIP)
        round_pairs(to, across, from, stride, STRIP / 2, k);
    else
        round_pairs(to, across, from, stride, pairs, k);
    for (size_t i = 0; whole < k && i < pairs; i++)
        round_pair_edge(to + whole * across + 2 * DEEP * i, from + 2 * i * stride + whole,
                        from + (2 * i + 1) * stride + whole, k - whole);
    for (size_t l = 0; count % 2 && l < k; l += DEEP)
        round_pair_edge(to + l * across + 2 * DEEP * pairs, from + 2 * pairs * stride + l, NULL,
                        k - l < DEEP ? k - l : DEEP);
    for (size_t i = (count + 1) / 2 * 2; i < across; i++)
        for (size_t l = 0; l < k; l += DEEP) vst1_u16(to + l * across + DEEP * i, vdup_n_u16(0));
}

/* to[4 or 8][4] = from[4 rows][4 or 8], turned, in bf16 */
INLINE void turn_four(uint16_t *to, const float *from, size_t stride)
{
    uint16x4_t r[DEEP];
    for (size_t i = 0; i < DEEP; i++)
        r[i] = vreinterpret_u16_bf16(vcvt_bf16_f32(vld1q_f32(from + i * stride)));
    uint16x8_t x = vcombine_u16(r[0], r[2]), y = vcombine_u16(r[1], r[3]);
    uint32x4_t upper = vreinterpretq_u32_u16(vzip1q_u16(x, y)),
               under = vreinterpretq_u32_u16(vzip2q_u16(x, y));
    vst1q_u32((uint32_t *)to, vzip1q_u32(upper, under));
    vst1q_u32((uint32_t *)to + 4, vzip2q_u32(upper, under));
}

INLINE void turn_eight(uint16_t *to, const float *from, size_t stride)
{
    uint16x8_t r[DEEP];
    for (size_t i = 0; i < DEEP; i++) {
        const float *x = from + i * stride;
        __builtin_prefetch(x + 8 * stride);
        r[i] =
            vreinterpretq_u16_bf16(vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(vld1q_f32(x)), vld1q_f32(x + 4)));
    }
    uint32x4_t low = vreinterpretq_u32_u16(vzip1q_u16(r[0], r[1])),
               low_under = vreinterpretq_u32_u16(vzip1q_u16(r[2], r[3])),
               high = vreinterpretq_u32_u16(vzip2q_u16(r[0], r[1])),
               high_under = vreinterpretq_u32_u16(vzip2q_u16(r[2], r[3]));
    vst1q_u32((uint32_t *)to, vzip1q_u32(low, low_under));
    vst1q_u32((uint32_t *)to + 4, vzip2q_u32(low, low_under));
    vst1q_u32((uint32_t *)to + 8, vzip1q_u32(high, high_under));
    vst1q_u32((uint32_t *)to + 12, vzip2q_u32(high, high_under));
}

/* The same at an edge: of `count` columns and `deep` rows; `across` is even. */
static void turn_edge(uint16_t *to, size_t across, const float *from, size_t stride, size_t count,
                      size_t depth)
{
    for (size_t i = 0; i < across; i++) {
        float x[DEEP] = {0};
        for (size_t l = 0; l < depth && i < count; l++) x[l] = from[l * stride + i];
        round_four(to + DEEP * i, vld1q_f32(x));
    }
}

/* Panels (or strips) of `across` columns of from[k rows][count], `next` numbers from one to the other, each
   as by round_rows; the last has as many columns as an even number needs, or `across` where they are strips.
 */
static void round_columns(uint16_t *to, size_t across, size_t next, const float *from, size_t stride,
                          size_t count, size_t k, bool strips)
{
    for (size_t l = 0; l < k; l += DEEP, from += DEEP * stride)
        for (size_t at = 0; at < count; at += across) {
            size_t some = count - at < across ? count - at : across,
                   wide = strips ? across : (some + 1) / 2 * 2, depth = k - l < DEEP ? k - l : DEEP, i = 0;
            uint16_t *panel = to + at / across * next + l * wide;
            if (depth == DEEP) {
                for (; i + 8 <= some; i += 8) turn_eight(panel + DEEP * i, from + at + i, stride);
                for (; i + 4 <= some; i += 4) turn_four(panel + DEEP * i, from + at + i, stride);
            }
            if (i < wide) turn_edge(panel + DEEP * i, wide - i, from + at + i, stride, some - i, depth);
        }
}

static void pack(void *packed, const hd_packing *b, size_t strip, size_t strip_end)
{
    const size_t from = strip * STRIP, till = strip_end * STRIP < b->n ? strip_end * STRIP : b->n;
    const size_t step = b->transposed ? STRIP : MANY_STRIPS * STRIP;
    for (size_t j = from; j < till; j += step) {
        uint16_t *to = (uint16_t *)packed + j * deep(b->k);
        size_t count = till - j < step ? till - j : step;
        if (b->transposed)
            round_rows(to, STRIP, b->b + j * b->stride, b->stride, count, b->k);
        else
            round_columns(to, STRIP, STRIP * deep(b->k), b->b + j, b->stride, count, b->k, true);
    }
}

/* Up to ROWS rows, in pairs, by STRIP columns, `steps` times DEEP numbers deep. */
INLINE void tile(const place *p, int pairs, size_t rows, const uint16_t *a, const uint16_t *b, size_t steps)
{
    float32x4_t s[ROWS / 2][STRIP / 2]; /* two by two */
    UNROLL
    for (int i = 0; i < pairs; i++) UNROLL
    for (int j = 0; j < STRIP / 4; j++) {
        size_t under = 2 * (size_t)i + 1 < rows ? p->start_stride : 0; /* the last row may be alone */
        const float *from = p->start + 2 * (size_t)i * p->start_stride + 4 * j;
        float32x4_t x = vld1q_f32(from), y = vld1q_f32(from + under);
        s[i][2 * j] = vcombine_f32(vget_low_f32(x), vget_low_f32(y));
        s[i][2 * j + 1] = vcombine_f32(vget_high_f32(x), vget_high_f32(y));
    }
    for (; steps; steps--, a += 2 * DEEP * pairs, b += DEEP * STRIP) {
        bfloat16x8_t y[STRIP / 2];
        UNROLL
        for (int j = 0; j < STRIP / 2; j++) y[j] = vreinterpretq_bf16_u16(vld1q_u16(b + 2 * DEEP * j));
        UNROLL
        for (int i = 0; i < pairs; i++) {
            bfloat16x8_t x = vreinterpretq_bf16_u16(vld1q_u16(a + 2 * DEEP * i));
            UNROLL
            for (int j = 0; j < STRIP / 2; j++) s[i][j] = vbfmmlaq_f32(s[i][j], x, y[j]);
        }
    }
    UNROLL
    for (int i = 0; i < pairs; i++) UNROLL
    for (int j = 0; j < STRIP / 4; j++) {
        float32x4_t x = s[i][2 * j], y = s[i][2 * j + 1];
        float *to = p->c + 2 * (size_t)i * p->c_stride + 4 * j;
        vst1q_f32(to, vcombine_f32(vget_low_f32(x), vget_low_f32(y)));
        if (2 * (size_t)i + 1 < rows)
            vst1q_f32(to + p->c_stride, vcombine_f32(vget_high_f32(x), vget_high_f32(y)));
    }
}

MMLA_TILE(full_tile, float, "bfmmla", "8h", MMLA_IN, "")

static void tile_of(const place *p, size_t rows, const uint16_t *a, const uint16_t *b, size_t steps)
{
    if (rows == ROWS) {
        full_tile(p->c, p->c_stride, p->start, p->start_stride, a, b, steps);
        return;
    }
    switch ((rows + 1) / 2) {
    case 1:
        tile(p, 1, rows, a, b, steps);
        break;
    case 2:
        tile(p, 2, rows, a, b, steps);
        break;
    case 3:
        tile(p, 3, rows, a, b, steps);
        break;
    case 4:
        tile(p, 4, rows, a, b, steps);
        break;
    case 5:
        tile(p, 5, rows, a, b, steps);
        break;
    default: /* 11 rows */
        tile(p, ROWS / 2, rows, a, b, steps);
    }
}

/* A strip at the right edge: computed beside c and copied. */
static void tile_edge(const place *p, size_t rows, size_t width, const uint16_t *a, const uint16_t *b,
                      size_t steps)
{
    float c[ROWS * STRIP], start[ROWS * STRIP] = {0};
    for (size_t i = 0; i < rows; i++)
        memcpy(start + i * STRIP, p->start + i * p->start_stride, width * sizeof *c);
    tile_of(&(place){c, STRIP, start, STRIP}, rows, a, b, steps);
    for (size_t i = 0; i < rows; i++) memcpy(p->c + i * p->c_stride, c + i * STRIP, width * sizeof *c);
}

/* Strip j of rows [i, i+count), k from kb: tile after tile down the rows, so that the strip stays in L1. */
static void strip_down(const hd_product *p, const uint16_t *panel, size_t i, size_t count, size_t j,
                       size_t kb, size_t kn)
{
    static const float zeros[STRIP];
    const uint16_t *b = (const uint16_t *)p->weight + j * deep(p->b_depth) + kb * STRIP;
    size_t width = p->n - j < STRIP ? p->n - j : STRIP, steps = deep(kn) / DEEP;
    for (size_t at = 0; at < count; at += ROWS) {
        size_t rows = count - at < ROWS ? count - at : ROWS;
        place to = place_of(p, i + at, j, kb, zeros);
        if (width == STRIP)
            tile_of(&to, rows, panel + at * deep(kn), b, steps);
        else
            tile_edge(&to, rows, width, panel + at * deep(kn), b, steps);
    }
}

/* Rows [i, i+count) of a, k from kb: a panel for each tile. */
static void pack_panels(uint16_t *panel, const hd_product *p, size_t i, size_t count, size_t kb, size_t kn)
{
    if (p->a_transposed) {
        round_columns(panel, ROWS, ROWS * deep(kn), p->a + kb * p->a_stride + i, p->a_stride, count, kn,
                      false);
        return;
    }
    for (size_t at = 0; at < count; at += ROWS) {
        size_t rows = count - at < ROWS ? count - at : ROWS;
        round_rows(panel + at * deep(kn), (rows + 1) / 2 * 2, p->a + (i + at) * p->a_stride + kb, p->a_stride,
                   rows, kn);
    }
}

/* Rows [first, end), whose panels fit, by columns [from, till), k from kb: blocks of columns meet all of them
   while they are in L2. */
static void multiply_held(const hd_product *p, size_t first, size_t end, size_t from, size_t till, size_t kb,
                          size_t kn, uint16_t *panels)
{
    const size_t n_block = end - first <= MANY_ROWS ? till - from + 1 : N_BLOCK;
    for (size_t nb = from; nb < till; nb += n_block) {
        const size_t nb_end = nb + n_block < till ? nb + n_block : till;
        for (size_t i = first; i < end; i += MANY_ROWS) {
            const size_t count = end - i < MANY_ROWS ? end - i : MANY_ROWS;
            uint16_t *panel = panels + (i - first) * deep(kn);
            if (nb == from) pack_panels(panel, p, i, count, kb, kn);
            for (size_t j = nb; j < nb_end; j += STRIP) strip_down(p, panel, i, count, j, kb, kn);
            if (kb + kn >= p->k) p->finish(p, i, count, nb, nb_end);
        }
    }
}

static void multiply(const hd_product *p, size_t row, size_t row_end, size_t strip, size_t strip_end,
                     char *scratch)
{
    const size_t from = strip * STRIP, till = strip_end * STRIP < p->n ? strip_end * STRIP : p->n,
                 depth = row_end - row <= ROWS ? FEW_DEPTH : K_BLOCK,
                 held = HELD / (p->k && p->k < depth ? deep(p->k) : depth) / MANY_ROWS * MANY_ROWS;
    for (size_t first = row; first < row_end; first += held) {
        const size_t end = row_end - first < held ? row_end : first + held;
        for (size_t kb = 0; kb < p->k || kb == 0; kb += depth)
            multiply_held(p, first, end, from, till, kb, p->k - kb < depth ? p->k - kb : depth,
                          (uint16_t *)scratch);
    }
}

static bool needs(void)
{
    return getauxval(AT_HWCAP2) & HWCAP2_BF16;
}

const hd_form hd_form_bfmmla = {.name = "bfmmla",
                                .stores = HD_BF16,
                                .strip = STRIP,
                                .rows = ROWS,
                                .size = size,
                                .pack = pack,
                                .scratch = scratch_size,
                                .multiply = multiply,
                                .trains = true,
                                .needs = needs};
#else
const hd_form hd_form_bfmmla = {.name = "bfmmla"};
#endif
