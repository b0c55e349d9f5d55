/* Products of bf16 numbers with AMX: one instruction multiplies 16 rows of a by 16 columns of b, 32 numbers
   deep, and adds to sums in f32. Rows and columns that a tile lacks at an edge are left out of its shape, so
   that all of c is read and written in place. An element's sum is the same in a tile of any shape. */
#include "backend/cpu/form/form.h"

#if (defined(__AMX_BF16__) || defined(__AMXBF16__)) && defined(__AVX512BF16__) && !defined(HD_REAL_DOUBLE)
#include "backend/cpu/form/amx.h"

enum { ROWS = 2 * AMX_SIDE };

#include "backend/cpu/form/pairs.h"

/* One or two tiles down and across; a panel has `rows` rows. */
INLINE void tile(const place *p, size_t rows, bool down, bool across, const uint16_t *a, const uint16_t *b,
                 size_t steps)
{
    const size_t start = p->start_stride * sizeof(float), c = p->c_stride * sizeof(float);
    AMX_WRITTEN;
    _tile_loadd(0, p->start, start);
    if (across) _tile_loadd(1, p->start + HALF, start);
    if (down) _tile_loadd(2, p->start + HALF * p->start_stride, start);
    if (down && across) _tile_loadd(3, p->start + HALF * p->start_stride + HALF, start);
    if (down && across) /* the columns to the right come next */
        for (size_t i = 0; i < ROWS; i++) {
            const float *next = p->c + i * p->c_stride + STRIP;
            __builtin_prefetch(next, 1), __builtin_prefetch(next + HALF, 1);
        }
    for (; steps; steps--, a += rows * STEP, b += 2 * TILE) {
        /* few rows: tiles alone wait for memory */
        if (!down) UNROLL
        for (size_t l = 0; l < 2 * TILE * sizeof *b; l += AMX_BYTES)
            _mm_prefetch((const char *)b + AHEAD + l, _MM_HINT_T0);
        _tile_stream_loadd(6, b, AMX_BYTES);
        _tile_loadd(4, a, AMX_BYTES);
        _tile_dpbf16ps(0, 4, 6);
        if (across) {
            _tile_stream_loadd(7, b + TILE, AMX_BYTES);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (down) {
            _tile_loadd(5, a + TILE, AMX_BYTES);
            _tile_dpbf16ps(2, 5, 6);
            if (across) _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_stored(0, p->c, c);
    if (across) _tile_stored(1, p->c + HALF, c);
    if (down) _tile_stored(2, p->c + HALF * p->c_stride, c);
    if (down && across) _tile_stored(3, p->c + HALF * p->c_stride + HALF, c);
    AMX_WRITTEN;
}

typedef struct shape { /* of tiles, as it was set last */
    size_t rows, columns;
} shape;

static void tile_of(void *state, const place *to, size_t rows, size_t columns, const uint16_t *a,
                    const uint16_t *b, size_t steps)
{
    shape *was = state;
    if (was->rows != rows || was->columns != columns) amx_shape(rows, columns), *was = (shape){rows, columns};
    if (rows > HALF && columns > HALF)
        tile(to, rows, true, true, a, b, steps);
    else if (rows > HALF)
        tile(to, rows, true, false, a, b, steps);
    else
        tile(to, rows, false, columns > HALF, a, b, steps);
}

static void multiply(const hd_product *p, size_t row, size_t row_end, size_t strip, size_t strip_end,
                     char *scratch)
{
    shape was = {0, 0};
    multiply_by(p, row, row_end, strip, strip_end, scratch, tile_of, &was);
    _tile_release();
}

static bool needs(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("fma") && amx_has(AMX_BF16);
}

const hd_form hd_form_amx_bf16 = {.name = "amx",
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
const hd_form hd_form_amx_bf16 = {.name = "amx"};
#endif
