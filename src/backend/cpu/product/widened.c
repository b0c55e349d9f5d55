/* Weights kept as bf16 where the machine has no products of such numbers: they are widened while they are
   read, by few rows in registers, for more of them into blocks that KERNEL(product) then takes as packed. */
#include "backend/cpu/form/form.h"
#include "backend/cpu/product/tile.h"

enum {
    WIDE_BLOCK = 128 * 1024, /* numbers widened at once: half a MiB in float */
    FEW_ROWS = 4,            /* widen in registers */
};

/* A bf16 number is the upper half of a float. Compilers take vectors of 16 bits apart one by one. */
INLINE vec widen(const uint16_t *from)
{
#if defined(HD_REAL_DOUBLE) || !(defined(__aarch64__) || defined(__x86_64__))
    vec wide = {0};
    for (int i = 0; i < VL; i++) {
        uint32_t bits = (uint32_t)from[i] << 16;
        float x;
        memcpy(&x, &bits, sizeof x);
        wide[i] = (hd_real)x;
    }
    return wide;
#elif defined(__aarch64__)
    return (vec)vshlq_n_u32(vmovl_u16(vld1_u16(from)), 16);
#elif HD_VECTOR_BYTES == 64
    return (vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)from)), 16);
#elif HD_VECTOR_BYTES == 32
    return (vec)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)from)), 16);
#else
    return (vec)_mm_unpacklo_epi16(_mm_setzero_si128(), _mm_loadl_epi64((const void *)from));
#endif
}

static size_t size(size_t n, size_t k)
{
    return KERNEL(packed_size)(n, k) * sizeof(uint16_t);
}

/* Numbers of a block: whole strips, one at least. */
static size_t wide_size(size_t k)
{
    return k * STRIP > WIDE_BLOCK ? k * STRIP : WIDE_BLOCK;
}

static size_t scratch_size(size_t k)
{
    return (KERNEL(panel_size)() + wide_size(k)) * sizeof(hd_real);
}

/* To nearest even; a NaN stays one. */
INLINE uint16_t rounded(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(x == x ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : bits >> 16 | 0x40);
}

static void pack(void *packed, const hd_packing *b, size_t strip, size_t strip_end)
{
    const size_t along = b->transposed ? b->stride : 1, down = b->transposed ? 1 : b->stride;
    uint16_t *to = (uint16_t *)packed + strip * STRIP * b->k;
    for (size_t j = strip * STRIP; j < strip_end * STRIP && j < b->n; j += STRIP)
        for (size_t l = 0; l < b->k; l++, to += STRIP) {
            hd_real row[STRIP] = {0};
            for (size_t i = 0; i < STRIP && j + i < b->n; i++) row[i] = b->b[(j + i) * along + l * down];
            for (size_t i = 0; i < STRIP; i++) to[i] = rounded((float)row[i]);
        }
}

/* c [rows, STRIP] = start + a b, b a strip. */
INLINE void tile(hd_real *c, int rows, const hd_real *start, const hd_real *a, size_t a_stride,
                 const uint16_t *b, size_t k)
{
    vec s[FEW_ROWS][STRIP_VECTORS];
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int j = 0; j < STRIP_VECTORS; j++) s[i][j] = hd_load(start + i * STRIP + j * VL);
    for (size_t l = 0; l < k; l++) UNROLL
    for (int j = 0; j < STRIP_VECTORS; j++) {
        vec y = widen(b + l * STRIP + j * VL);
        UNROLL
        for (int i = 0; i < rows; i++) s[i][j] = hd_fma(y, hd_spread(a[(size_t)i * a_stride + l]), s[i][j]);
    }
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int j = 0; j < STRIP_VECTORS; j++) hd_store(c + i * STRIP + j * VL, s[i][j]);
}

#define TILE_CASE(n)                                \
    case n:                                         \
        tile(c, n, start, a, p->a_stride, b, p->k); \
        break;

/* Strip after strip, computed beside c and copied: it may end within one. */
static void few_rows(const hd_product *p, size_t row, size_t rows, size_t from, size_t till)
{
    const hd_real *a = p->a + row * p->a_stride;
    for (size_t j = from; j < till; j += STRIP) {
        hd_real c[FEW_ROWS * STRIP], start[FEW_ROWS * STRIP] = {0}, *to = p->c + row * p->c_stride + j;
        const uint16_t *b = (const uint16_t *)p->weight + j * p->k;
        size_t bytes = (till - j < STRIP ? till - j : STRIP) * sizeof *c;
        for (size_t i = 0; i < rows; i++) {
            const hd_real *is = p->add ? to + i * p->c_stride : p->bias ? p->bias + j : NULL;
            if (is) memcpy(start + i * STRIP, is, bytes);
        }
        switch (rows) {
            TILE_CASE(1)
            TILE_CASE(2)
            TILE_CASE(3)
            TILE_CASE(4)
        }
        for (size_t i = 0; i < rows; i++) memcpy(to + i * p->c_stride, c + i * STRIP, bytes);
    }
    KERNEL(finish)(p, row, rows, from, till);
}

static void multiply(const hd_product *p, size_t row, size_t row_end, size_t strip, size_t strip_end,
                     char *panel)
{
    size_t from = strip * STRIP, till = strip_end * STRIP < p->n ? strip_end * STRIP : p->n;
    if (row_end - row <= FEW_ROWS && !p->a_transposed) {
        few_rows(p, row, row_end - row, from, till);
        return;
    }
    hd_real *wide = (hd_real *)panel + KERNEL(panel_size)();
    size_t most = wide_size(p->k) / (p->k * STRIP + 1) * STRIP, block = most ? most : STRIP;
    for (size_t j = from; j < till; j += block) {
        size_t end = till - j < block ? till : j + block, strips = (end - j + STRIP - 1) / STRIP;
        const uint16_t *b = (const uint16_t *)p->weight + j * p->k;
        for (size_t i = 0; i < strips * STRIP * p->k; i += VL) hd_store(wide + i, widen(b + i));
        hd_product part = *p;
        part.c += j, part.n = end - j, part.b = wide, part.weight = NULL;
        if (p->bias) part.bias += j;
        if (p->before) part.before += j;
        KERNEL(product)(&part, row, row_end, 0, strips, (hd_real *)panel);
    }
}

const hd_form KERNEL(widened) = {.name = "widened",
                                 .stores = HD_BF16,
                                 .strip = STRIP,
                                 .rows = TILE_ROWS,
                                 .size = size,
                                 .pack = pack,
                                 .scratch = scratch_size,
                                 .multiply = multiply,
                                 .trains = true};
