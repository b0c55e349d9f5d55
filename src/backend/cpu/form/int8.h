/* What all forms of 8-bit whole numbers share: how rows are quantized, where packed numbers lie, and the
   loops around a tile. Weights have a scale for each output row, rows of a one each, max|x| / 127. Sums are
   exact in 32 bits, and y = sum * (scale * scale) + start is one fused multiply-add, so that all forms give
   the same bits. A row with numbers that are not finite gets NaN for a scale; numbers below SMALLEST count as
   zeros. */
#ifndef HD_BACKEND_CPU_FORM_INT8_H
#define HD_BACKEND_CPU_FORM_INT8_H

#include <math.h>

#include "backend/cpu/form/form.h"
#include "backend/cpu/vector.h"

enum {
    INT8_MOST = 127,
    INT8_DEPTH = 128 * 1024, /* more products of 127 by 127 might leave 32 bits */
    INT8_FEW = 64,           /* rows that are quantized together, so that b is read but once */
    INT8_MANY = 32,          /* of more rows, as many as stay in L1 beside a strip */
    INT8_BLOCK = 512 * 1024, /* bytes of b that stay in L2 with many rows */
    INT8_LARGEST = 32 * 32,  /* sums of a tile */
    INT8_CHUNK = 8,          /* numbers that are quantized at once */
};

/* Row i of `across` has its numbers l at l / deep * across * deep + i * deep + l % deep. */
typedef struct int8_shape {
    size_t rows, strip;                /* of a tile */
    size_t unit;                       /* rows of a tile are filled up with zeros to a multiple */
    size_t step;                       /* k is filled up with zeros to a multiple */
    size_t deep_rows, deep;            /* of panels of a, and of strips of b */
    uint8_t turned;                    /* bits of a that are flipped: 0x80 adds 128 */
    void (*begin)(void), (*end)(void); /* around the tiles of a product, or NULL */
    /* sums [rows][strip], from start [strip] if bits are turned, of a panel and a strip `steps` deep */
    void (*tile)(int32_t *sums, size_t rows, const int32_t *start, const int8_t *a, const int8_t *b,
                 size_t steps);
} int8_shape;

INLINE size_t int8_up(size_t x, size_t to)
{
    return (x + to - 1) / to * to;
}

/* -- quantizing -- */

typedef struct int8_scale {
    float scale, inverse;
} int8_scale;

/* Absolute values are in order as their bits are; those of infinity and NaN are largest. */
INLINE int8_scale int8_scale_of(const float *x, size_t k)
{
    uint32_t most = 0;
    for (size_t i = 0; i < k; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffff;
        most = bits > most ? bits : most;
    }
    float max;
    memcpy(&max, &most, sizeof max);
    if (most >= 0x7f800000) return (int8_scale){NAN, 0};
    if (max < 0x1p-110f) return (int8_scale){0, 0}; /* SMALLEST: 127 / max stays finite */
    return (int8_scale){max / INT8_MOST, INT8_MOST / max};
}

/* To nearest even. 0 * infinity is NaN, which no machine converts alike: rows without an inverse are zeros.
 */
INLINE void int8_quantize(int8_t *to, const float *x, float inverse, uint8_t turned)
{
#if defined(__aarch64__)
    int32x4_t low = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x), inverse)),
              high = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + 4), inverse));
    int8x8_t y = vmovn_s16(vcombine_s16(vmovn_s32(low), vmovn_s32(high)));
    vst1_s8(to, turned ? veor_s8(y, vdup_n_s8((int8_t)turned)) : y);
#elif defined(__x86_64__)
    __m128 by = _mm_set1_ps(inverse);
    __m128i low = _mm_cvtps_epi32(_mm_mul_ps(_mm_loadu_ps(x), by)),
            high = _mm_cvtps_epi32(_mm_mul_ps(_mm_loadu_ps(x + 4), by)), y = _mm_packs_epi32(low, high);
    y = _mm_xor_si128(_mm_packs_epi16(y, y), _mm_set1_epi8((char)turned));
    _mm_storel_epi64((__m128i *)to, y);
#else
    for (int i = 0; i < INT8_CHUNK; i++) to[i] = (int8_t)((uint8_t)(int8_t)rintf(x[i] * inverse) ^ turned);
#endif
}

/* to = `across` rows, of which there are `count`, numbers `stride` apart, with their scales. */
INLINE void int8_rows(int8_t *to, size_t across, size_t deep, size_t step, uint8_t turned, const float *from,
                      size_t stride, size_t count, size_t k, float *scale)
{
    const size_t all = int8_up(k, step);
    for (size_t i = 0; i < across; i++) {
        const float *x = from + i * stride;
        const int8_scale s = i < count ? int8_scale_of(x, k) : (int8_scale){0, 0};
        if (i < count) scale[i] = s.scale;
        for (size_t l = 0; l < all; l += INT8_CHUNK) {
            float some[INT8_CHUNK] = {0};
            int8_t chunk[INT8_CHUNK];
            const float *at = some;
            if (s.inverse > 0 && l + INT8_CHUNK <= k)
                at = x + l;
            else if (s.inverse > 0 && l < k)
                memcpy(some, x + l, (k - l) * sizeof *some);
            int8_quantize(chunk, at, s.inverse, turned);
            for (size_t c = 0; c < INT8_CHUNK; c += deep)
                memcpy(to + (l + c) / deep * across * deep + i * deep + (l + c) % deep, chunk + c,
                       deep < INT8_CHUNK ? deep : INT8_CHUNK);
        }
    }
}

/* -- a packed weight: scales and starts of columns, then strips -- */

INLINE size_t int8_columns(const int8_shape *s, size_t n)
{
    return int8_up(n, s->strip);
}

INLINE size_t int8_head(const int8_shape *s, size_t n)
{
    return int8_up(int8_columns(s, n) * (sizeof(float) + sizeof(int32_t)), 64);
}

INLINE size_t int8_size(const int8_shape *s, size_t n, size_t k)
{
    return k > INT8_DEPTH ? 0 : int8_head(s, n) + int8_columns(s, n) * int8_up(k, s->step);
}

INLINE void int8_pack(const int8_shape *s, void *to, const hd_packing *b, size_t first, size_t end)
{
    const size_t deep = int8_up(b->k, s->step), n = b->n;
    float *scale = to;
    int32_t *start = (int32_t *)to + int8_columns(s, n);
    for (size_t j = first * s->strip; j < end * s->strip && j < n; j += s->strip) {
        const size_t count = n - j < s->strip ? n - j : s->strip;
        int8_t *strip = (int8_t *)to + int8_head(s, n) + j * deep;
        memset(scale + j, 0, s->strip * sizeof *scale);
        memset(start + j, 0, s->strip * sizeof *start);
        int8_rows(strip, s->strip, s->deep, s->step, 0, b->b + j * b->stride, b->stride, count, b->k,
                  scale + j);
        for (size_t l = 0; s->turned && l < s->strip * deep; l++)
            start[j + l / s->deep % s->strip] -= 128 * strip[l];
    }
}

/* -- products -- */

INLINE size_t int8_scratch(const int8_shape *s, size_t k)
{
    const size_t rows = int8_up(INT8_FEW, s->rows) + s->rows;
    return rows * sizeof(float) + rows * int8_up(k, s->step) + 64;
}

typedef struct int8_part { /* rows [row, row+count) as panels, one for each tile */
    const hd_product *p;
    const float *scale;
    const int8_t *panel;
    size_t row, count, deep;
} int8_part;

INLINE void int8_store(const hd_product *p, const int32_t *sums, size_t strip, size_t row, size_t rows,
                       size_t j, const float *row_scale, const float *scale)
{
    static const float zeros[64];
    const size_t width = p->n - j < strip ? p->n - j : strip;
    for (size_t i = 0; i < rows; i++, sums += strip) {
        float *c = p->c + (row + i) * p->c_stride + j;
        const float *start = p->add ? c : p->bias ? p->bias + j : zeros;
        for (size_t l = 0; l < width; l++)
            c[l] = __builtin_fmaf((float)sums[l], row_scale[i] * scale[l], start[l]);
    }
}

INLINE void int8_strip(const int8_shape *s, const int8_part *t, size_t j)
{
    const hd_product *p = t->p;
    const float *scale = p->weight;
    const int32_t *start = (const int32_t *)p->weight + int8_columns(s, p->n);
    const int8_t *strip = (const int8_t *)p->weight + int8_head(s, p->n) + j * t->deep, *panel = t->panel;
    int32_t sums[INT8_LARGEST] __attribute__((aligned(64)));
    for (size_t at = 0; at < t->count; at += s->rows) {
        size_t rows = t->count - at < s->rows ? t->count - at : s->rows;
        s->tile(sums, rows, start + j, panel, strip, t->deep / s->step);
        int8_store(p, sums, s->strip, t->row + at, rows, j, t->scale + at, scale + j);
        panel += int8_up(rows, s->unit) * t->deep;
    }
}

INLINE void int8_multiply(const int8_shape *s, const hd_product *p, size_t row, size_t row_end, size_t strip,
                          size_t strip_end, char *scratch)
{
    const size_t from = strip * s->strip, till = strip_end * s->strip < p->n ? strip_end * s->strip : p->n,
                 deep = int8_up(p->k, s->step), all = row_end - row,
                 group = int8_up(all <= INT8_FEW ? INT8_FEW : INT8_MANY, s->rows),
                 most = INT8_BLOCK / (deep + 1) / s->strip * s->strip,
                 block = all <= group ? till - from + 1
                         : most       ? most
                                      : s->strip;
    float *scale = (float *)scratch;
    int8_t *panels = (int8_t *)(scale + int8_up(INT8_FEW, s->rows) + s->rows);
    for (size_t nb = from; nb < till; nb += block) {
        const size_t nb_end = till - nb < block ? till : nb + block;
        for (size_t i = row; i < row_end; i += group) {
            const int8_part t = {p, scale, panels, i, row_end - i < group ? row_end - i : group, deep};
            int8_t *panel = panels;
            for (size_t at = 0; at < t.count; at += s->rows) {
                size_t rows = t.count - at < s->rows ? t.count - at : s->rows,
                       across = int8_up(rows, s->unit);
                int8_rows(panel, across, s->deep_rows, s->step, s->turned, p->a + (i + at) * p->a_stride,
                          p->a_stride, rows, p->k, scale + at);
                panel += across * deep;
            }
            if (s->begin) s->begin();
            for (size_t j = nb; j < nb_end; j += s->strip) int8_strip(s, &t, j);
            if (s->end) s->end();
            p->finish(p, i, t.count, nb, nb_end);
        }
    }
}

/* The form NAME of `shape`, a constant, named TEXT where the processor passes `needs`. */
#define INT8_FORM(NAME, TEXT)                                                                             \
    static size_t size(size_t n, size_t k)                                                                \
    {                                                                                                     \
        return int8_size(&shape, n, k);                                                                   \
    }                                                                                                     \
    static void pack(void *to, const hd_packing *b, size_t strip, size_t strip_end)                       \
    {                                                                                                     \
        int8_pack(&shape, to, b, strip, strip_end);                                                       \
    }                                                                                                     \
    static size_t scratch_size(size_t k)                                                                  \
    {                                                                                                     \
        return int8_scratch(&shape, k);                                                                   \
    }                                                                                                     \
    static void multiply(const hd_product *p, size_t row, size_t row_end, size_t strip, size_t strip_end, \
                         char *scratch)                                                                   \
    {                                                                                                     \
        int8_multiply(&shape, p, row, row_end, strip, strip_end, scratch);                                \
    }                                                                                                     \
    const hd_form hd_form_##NAME = {.name = TEXT,                                                         \
                                    .stores = HD_I8,                                                      \
                                    .strip = STRIP,                                                       \
                                    .rows = ROWS,                                                         \
                                    .size = size,                                                         \
                                    .pack = pack,                                                         \
                                    .scratch = scratch_size,                                              \
                                    .multiply = multiply,                                                 \
                                    .needs = needs}

#endif
