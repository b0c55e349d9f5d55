/* int8 with AMX: two tiles of a meet two of b, 64 numbers deep. As with VNNI, a has 128 added and starts take
   it off again; few rows, which are soon done with a weight, read the same strips and panels by VNNI. */
#include "backend/cpu/form/form.h"

#if (defined(__AMX_INT8__) || defined(__AMXINT8__)) && defined(__AVX512VNNI__) && !defined(HD_REAL_DOUBLE)
#include "backend/cpu/form/amx.h"
#include "backend/cpu/form/int8.h"

enum {
    HALF = AMX_SIDE,
    ROWS = 2 * HALF,
    STRIP = 2 * HALF,
    STEP = AMX_BYTES,
    DEEP = 4,
    FEW = 4, /* rows that VNNI takes */
    VECTORS = 2,
};

/* -- VNNI -- */

/* Sums are exact, so that even and odd fours may have their own: one chain would wait for itself. */
INLINE void few_tile(int32_t *sums, int rows, const int32_t *start, const int8_t *a, const int8_t *b,
                     size_t steps)
{
    __m512i s[FEW][VECTORS], odd[FEW][VECTORS];
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int j = 0; j < VECTORS; j++)
        s[i][j] = _mm512_loadu_si512(start + j * HALF), odd[i][j] = _mm512_setzero_si512();
    for (; steps; steps--, a += rows * STEP)
        for (int l = 0; l < STEP; l += 2 * DEEP, b += 2 * DEEP * STRIP) UNROLL
    for (int j = 0; j < VECTORS; j++) {
        const __m512i y = _mm512_loadu_si512(b + j * AMX_BYTES),
                      z = _mm512_loadu_si512(b + DEEP * STRIP + j * AMX_BYTES);
        UNROLL
        for (int i = 0; i < rows; i++) {
            int32_t four[2];
            memcpy(four, a + i * STEP + l, sizeof four);
            s[i][j] = _mm512_dpbusd_epi32(s[i][j], _mm512_set1_epi32(four[0]), y);
            odd[i][j] = _mm512_dpbusd_epi32(odd[i][j], _mm512_set1_epi32(four[1]), z);
        }
    }
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int j = 0; j < VECTORS; j++)
        _mm512_storeu_si512(sums + i * STRIP + j * HALF, _mm512_add_epi32(s[i][j], odd[i][j]));
}

/* -- AMX -- */

/* One tile of rows or two; `ahead`: the next strip is asked for, which tiles come too late for. */
INLINE void amx_tile(int32_t *sums, size_t rows, bool down, const int32_t *start, const int8_t *a,
                     const int8_t *b, size_t steps, bool ahead)
{
    const size_t wide = STRIP * sizeof *sums, next = steps * STRIP * STEP;
    AMX_WRITTEN;
    _tile_loadd(0, start, 0);
    _tile_loadd(1, start + HALF, 0);
    if (down) {
        _tile_loadd(2, start, 0);
        _tile_loadd(3, start + HALF, 0);
    }
    for (; steps; steps--, a += rows * STEP, b += STRIP * STEP) {
        if (ahead) UNROLL
        for (size_t l = 0; l < STRIP * STEP; l += AMX_BYTES)
            _mm_prefetch((const char *)b + next + l, _MM_HINT_T1);
        _tile_loadd(6, b, STRIP * DEEP);
        _tile_loadd(4, a, STEP);
        _tile_dpbusd(0, 4, 6);
        _tile_loadd(7, b + HALF * DEEP, STRIP * DEEP);
        _tile_dpbusd(1, 4, 7);
        if (!down) continue;
        _tile_loadd(5, a + HALF * STEP, STEP);
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
    }
    _tile_stored(0, sums, wide);
    _tile_stored(1, sums + HALF, wide);
    if (down) {
        _tile_stored(2, sums + HALF * STRIP, wide);
        _tile_stored(3, sums + HALF * STRIP + HALF, wide);
    }
    AMX_WRITTEN;
}

static _Thread_local size_t shaped; /* rows of the tiles' shape; 0: they have none */
static _Thread_local bool far;      /* strips are in memory yet */

static void begin(void)
{
    shaped = 0;
}

static void reads(bool first)
{
    far = first;
}

static void end(void)
{
    if (shaped) _tile_release();
}

static void tile(int32_t *sums, size_t rows, const int32_t *start, const int8_t *a, const int8_t *b,
                 size_t steps)
{
    if (rows == 1)
        few_tile(sums, 1, start, a, b, steps);
    else if (rows == 2)
        few_tile(sums, 2, start, a, b, steps);
    else if (rows == 3)
        few_tile(sums, 3, start, a, b, steps);
    else if (rows == FEW)
        few_tile(sums, FEW, start, a, b, steps);
    else {
        if (shaped != rows) amx_shape(rows, STRIP), shaped = rows;
        if (rows > HALF)
            amx_tile(sums, rows, true, start, a, b, steps, far);
        else
            amx_tile(sums, rows, false, start, a, b, steps, far);
    }
}

static bool needs(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("fma") && amx_has(AMX_INT8);
}

static const int8_shape shape = {.rows = ROWS,
                                 .strip = STRIP,
                                 .unit = 1,
                                 .step = STEP,
                                 .deep_rows = STEP,
                                 .deep = DEEP,
                                 .turned = 0x80,
                                 .begin = begin,
                                 .end = end,
                                 .reads = reads,
                                 .tile = tile};
INT8_FORM(amx_int8, "amx");
#else
const hd_form hd_form_amx_int8 = {.name = "amx"};
#endif
