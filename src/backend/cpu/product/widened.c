/* Weights kept as bf16 where the machine has no products of such numbers: they are widened while they are
   read: for few rows in registers, for more by KERNEL(product), a piece of a strip at a time. */
#include "backend/cpu/form/form.h"
#include "backend/cpu/product/tile.h"
#include "backend/cpu/product/widen.h"

enum { FEW_ROWS = 4 }; /* widen in registers */

static size_t size(size_t n, size_t k)
{
    return KERNEL(packed_size)(n, k) * sizeof(uint16_t);
}

static size_t scratch_size(size_t k)
{
    (void)k;
    return KERNEL(panel_size)() * sizeof(hd_real);
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
        const uint16_t *b = (const uint16_t *)p->weight + j * p->b_depth;
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
    hd_product rounded = *p;
    rounded.rounded = p->weight, rounded.weight = NULL;
    KERNEL(product)(&rounded, row, row_end, strip, strip_end, (hd_real *)panel);
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
