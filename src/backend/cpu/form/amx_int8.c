/* int8 with AMX: tiles of 16 rows by 64 bytes, in the processor's tile registers. Two tiles of a meet two of
   b, 64 numbers deep. The kernel gives the registers to a process that asks for them. */
#include "backend/cpu/form/form.h"

#if defined(__AMX_INT8__) && defined(__FMA__) && !defined(HD_REAL_DOUBLE)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/cpu/form/int8.h"

enum { HALF = 16, ROWS = 2 * HALF, STRIP = 2 * HALF, STEP = 64, DEEP = 4, TILES = 8 };

typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16]; /* of a row */
    uint8_t rows[16];
} tile_config;

/* The intrinsics of gcc 12 do not say that they read memory. */
#define WRITTEN __asm__ volatile("" ::: "memory")

static void begin(void)
{
    tile_config c = {.palette = 1};
    for (int i = 0; i < TILES; i++) c.bytes[i] = STEP, c.rows[i] = HALF;
    WRITTEN;
    _tile_loadconfig(&c);
    WRITTEN;
}

static void end(void)
{
    _tile_release();
}

static void tile(int32_t *sums, size_t rows, const int32_t *start, const int8_t *a, const int8_t *b,
                 size_t steps)
{
    const bool both = rows > HALF;
    const size_t wide = (both ? ROWS : HALF) * STEP;
    (void)start;
    WRITTEN;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (; steps; steps--, a += wide, b += STRIP * STEP) {
        _tile_loadd(4, a, STEP);
        _tile_loadd(6, b, STRIP * DEEP);
        _tile_loadd(7, b + HALF * DEEP, STRIP * DEEP);
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(1, 4, 7);
        if (!both) continue;
        _tile_loadd(5, a + HALF * STEP, STEP);
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
    }
    _tile_stored(0, sums, STRIP * sizeof *sums);
    _tile_stored(1, sums + HALF, STRIP * sizeof *sums);
    if (both) {
        _tile_stored(2, sums + HALF * STRIP, STRIP * sizeof *sums);
        _tile_stored(3, sums + HALF * STRIP + HALF, STRIP * sizeof *sums);
    }
    WRITTEN;
}

/* Permission holds for the process and all of its threads; asking again changes nothing. */
static bool needs(void)
{
    enum { REQUEST = 0x1023, TILE_DATA = 18, HAS_TILES = 24, HAS_INT8 = 25 };
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> HAS_TILES & 1) || !(d >> HAS_INT8 & 1))
        return false;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           !syscall(SYS_arch_prctl, REQUEST, TILE_DATA);
}

static const int8_shape shape = {.rows = ROWS,
                                 .strip = STRIP,
                                 .unit = HALF,
                                 .step = STEP,
                                 .deep_rows = STEP,
                                 .deep = DEEP,
                                 .begin = begin,
                                 .end = end,
                                 .tile = tile};
INT8_FORM(amx_int8, "amx");
#else
const hd_form hd_form_amx_int8 = {.name = "amx"};
#endif
