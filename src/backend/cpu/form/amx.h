/* The tile registers of AMX: eight of up to 16 rows by 64 bytes. Four hold sums, two rows of tiles by two
   columns of them; 4 and 5 hold rows of a, 6 and 7 columns of b. The kernel gives them to a process that
   asks. */
#ifndef HD_BACKEND_CPU_FORM_AMX_H
#define HD_BACKEND_CPU_FORM_AMX_H

#include <cpuid.h>
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { AMX_SIDE = 16, AMX_BYTES = 64 }; /* rows of a tile, bytes of a row */
enum { AMX_INT8 = 25, AMX_BF16 = 22 };  /* bits of the processor's features */

typedef struct amx_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16]; /* of a row */
    uint8_t rows[16];
} amx_config;

/* The intrinsics of gcc 12 do not say that they read memory. */
#define AMX_WRITTEN __asm__ volatile("" ::: "memory")

/* Sums of `rows` by `columns`, at most two tiles by two. Tiles that have none are not to be used. */
static inline void amx_shape(size_t rows, size_t columns)
{
    amx_config c = {.palette = 1};
    for (int i = 0; i < 4; i++) {
        const size_t above = i < 2 ? 0 : AMX_SIDE, before = i % 2 ? AMX_SIDE : 0;
        const size_t high = rows > above ? rows - above : 0, wide = columns > before ? columns - before : 0;
        if (!high || !wide) continue;
        c.rows[i] = (uint8_t)(high < AMX_SIDE ? high : AMX_SIDE);
        c.bytes[i] = (uint16_t)(sizeof(float) * (wide < AMX_SIDE ? wide : AMX_SIDE));
        c.rows[4 + i / 2] = c.rows[i], c.bytes[4 + i / 2] = AMX_BYTES;
        c.rows[6 + i % 2] = AMX_SIDE, c.bytes[6 + i % 2] = c.bytes[i];
    }
    AMX_WRITTEN;
    _tile_loadconfig(&c);
    AMX_WRITTEN;
}

/* Permission holds for the process and all of its threads; asking again changes nothing. */
static inline bool amx_has(int feature)
{
    enum { REQUEST = 0x1023, TILE_DATA = 18, HAS_TILES = 24 };
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> HAS_TILES & 1) || !(d >> feature & 1))
        return false;
    return !syscall(SYS_arch_prctl, REQUEST, TILE_DATA);
}

#endif
