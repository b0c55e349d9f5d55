/* The instructions of AVX-512, VNNI and AMX that product forms use, in C, because qemu of Debian 12 has none
   of them. run includes this before the forms that need them; tiles are checked as the processor checks them.
 */
#ifndef HEED_EMULATED_INSTRUCTIONS_H
#define HEED_EMULATED_INSTRUCTIONS_H

#include <cpuid.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Behind the header, which takes them for leave to use the instructions. */
#define __AVXVNNI__
#define __AVX512VNNI__
#define __AVX512BF16__
#define __AMX_INT8__
#define __AMX_BF16__

#define EMULATED static inline __attribute__((always_inline, unused))

typedef union lanes512 {
    __m512i whole;
    __m512 numbers;
    float f[16];
    int32_t i[16];
    int64_t q[8];
    uint16_t h[32];
    int8_t b[64];
    uint8_t u[64];
} lanes512;

EMULATED __m512i any_load(const void *p)
{
    lanes512 x;
    memcpy(&x, p, sizeof x);
    return x.whole;
}

EMULATED void any_store(void *p, __m512i v)
{
    memcpy(p, &v, sizeof v);
}

EMULATED __m512i any_set(int32_t x)
{
    lanes512 y;
    for (int i = 0; i < 16; i++) y.i[i] = x;
    return y.whole;
}

EMULATED __m512 any_load_part(uint16_t mask, const float *p)
{
    lanes512 x = {0};
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1) x.f[i] = p[i];
    return x.numbers;
}

/* Numbers below the smallest normal one count as zeros there. */
EMULATED uint16_t any_rounded(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return (uint16_t)(bits >> 16 | 0x40);
    if (!(bits & 0x7f800000)) bits &= 0x80000000;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

EMULATED __m512i any_round(__m512 high, __m512 low)
{
    const lanes512 x = {.numbers = low}, y = {.numbers = high};
    lanes512 z;
    for (int i = 0; i < 16; i++) z.h[i] = any_rounded(x.f[i]), z.h[16 + i] = any_rounded(y.f[i]);
    return z.whole;
}

EMULATED __m512i any_permute(__m512i order, __m512i v)
{
    const lanes512 x = {v}, o = {order};
    lanes512 y;
    for (int i = 0; i < 32; i++) y.h[i] = x.h[o.h[i] & 31];
    return y.whole;
}

EMULATED __m512i any_unpack(__m512i a, __m512i b, int high)
{
    const lanes512 x = {a}, y = {b};
    lanes512 z;
    for (int i = 0; i < 16; i++) {
        const int from = i / 4 * 4 + 2 * high + i % 4 / 2;
        z.i[i] = i % 2 ? y.i[from] : x.i[from];
    }
    return z.whole;
}

EMULATED __m512i any_unpack_pairs(__m512i a, __m512i b, int high)
{
    const lanes512 x = {a}, y = {b};
    lanes512 z;
    for (int i = 0; i < 8; i++) z.q[i] = i % 2 ? y.q[i / 2 * 2 + high] : x.q[i / 2 * 2 + high];
    return z.whole;
}

EMULATED __m512i any_quarters(__m512i a, __m512i b, int pick)
{
    const lanes512 x = {a}, y = {b};
    lanes512 z;
    for (int i = 0; i < 8; i++) {
        const int from = 2 * (pick >> i / 2 * 2 & 3) + i % 2;
        z.q[i] = i < 4 ? x.q[from] : y.q[from];
    }
    return z.whole;
}

EMULATED int32_t any_dot(int32_t sum, const uint8_t *a, const int8_t *b)
{
    uint32_t s = (uint32_t)sum;
    for (int i = 0; i < 4; i++) s += (uint32_t)(a[i] * b[i]);
    return (int32_t)s;
}

EMULATED __m512i any_dots(__m512i sums, __m512i a, __m512i b)
{
    lanes512 s = {sums};
    const lanes512 x = {a}, y = {b};
    for (int i = 0; i < 16; i++) s.i[i] = any_dot(s.i[i], x.u + 4 * i, y.b + 4 * i);
    return s.whole;
}

EMULATED __m256i any_dots_256(__m256i sums, __m256i a, __m256i b)
{
    int32_t s[8];
    uint8_t x[32];
    int8_t y[32];
    memcpy(s, &sums, sizeof s), memcpy(x, &a, sizeof x), memcpy(y, &b, sizeof y);
    for (int i = 0; i < 8; i++) s[i] = any_dot(s[i], x + 4 * i, y + 4 * i);
    memcpy(&sums, s, sizeof s);
    return sums;
}

EMULATED void any_store_part(float *p, uint16_t mask, __m512 v)
{
    const lanes512 x = {.numbers = v};
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1) p[i] = x.f[i];
}

EMULATED float any_widened(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Products are exact; that of the odd number comes first. */
EMULATED __m512 any_dots_bf16(__m512 sums, __m512i a, __m512i b)
{
    lanes512 s = {.numbers = sums};
    const lanes512 x = {a}, y = {b};
    for (int i = 0; i < 32; i++) s.f[i / 2] += any_widened(x.h[i ^ 1]) * any_widened(y.h[i ^ 1]);
    return s.numbers;
}

EMULATED __m512i any_add(__m512i a, __m512i b)
{
    lanes512 x = {a};
    const lanes512 y = {b};
    for (int i = 0; i < 16; i++) x.i[i] = (int32_t)((uint32_t)x.i[i] + (uint32_t)y.i[i]);
    return x.whole;
}

/* -- tiles -- */

static __thread uint8_t tiles[8][16][64];
static __thread struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} tiles_shape;

EMULATED void fault_if(int wrong)
{
    if (wrong) abort();
}

EMULATED void any_shape(const void *from)
{
    memcpy(&tiles_shape, from, sizeof tiles_shape);
    memset(tiles, 0, sizeof tiles);
    fault_if(tiles_shape.palette != 1);
    for (int i = 0; i < 8; i++)
        fault_if(tiles_shape.rows[i] > 16 || tiles_shape.bytes[i] > 64 ||
                 !tiles_shape.rows[i] != !tiles_shape.bytes[i]);
}

EMULATED void any_tile_load(int t, const void *from, size_t stride)
{
    fault_if(!tiles_shape.rows[t]);
    memset(tiles[t], 0, sizeof tiles[t]);
    for (int i = 0; i < tiles_shape.rows[t]; i++)
        memcpy(tiles[t][i], (const char *)from + (size_t)i * stride, tiles_shape.bytes[t]);
}

EMULATED void any_tile_store(int t, void *to, size_t stride)
{
    fault_if(!tiles_shape.rows[t]);
    for (int i = 0; i < tiles_shape.rows[t]; i++)
        memcpy((char *)to + (size_t)i * stride, tiles[t][i], tiles_shape.bytes[t]);
}

EMULATED void check_tiles(int c, int a, int b)
{
    fault_if(!tiles_shape.rows[a] || !tiles_shape.rows[b] || tiles_shape.rows[c] != tiles_shape.rows[a] ||
             tiles_shape.bytes[c] != tiles_shape.bytes[b] || tiles_shape.bytes[a] / 4 != tiles_shape.rows[b]);
}

EMULATED float any_wide(const uint8_t *at)
{
    uint32_t bits = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 24;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Even and odd numbers have a sum each, which c gets together. */
__attribute__((unused)) static void any_tile_bf16(int c, int a, int b)
{
    check_tiles(c, a, b);
    for (int i = 0; i < tiles_shape.rows[c]; i++)
        for (int j = 0; j < tiles_shape.bytes[c]; j += 4) {
            float even = 0, odd = 0, sum;
            for (int l = 0; l < tiles_shape.rows[b]; l++) {
                even += any_wide(tiles[a][i] + 4 * l) * any_wide(tiles[b][l] + j);
                odd += any_wide(tiles[a][i] + 4 * l + 2) * any_wide(tiles[b][l] + j + 2);
            }
            memcpy(&sum, tiles[c][i] + j, sizeof sum);
            sum += even + odd;
            memcpy(tiles[c][i] + j, &sum, sizeof sum);
        }
}

__attribute__((unused)) static void any_tile_int8(int c, int a, int b)
{
    check_tiles(c, a, b);
    for (int i = 0; i < tiles_shape.rows[c]; i++)
        for (int j = 0; j < tiles_shape.bytes[c]; j += 4) {
            int32_t sum;
            memcpy(&sum, tiles[c][i] + j, sizeof sum);
            for (int l = 0; l < tiles_shape.rows[b]; l++)
                sum = any_dot(sum, tiles[a][i] + 4 * l, (const int8_t *)tiles[b][l] + j);
            memcpy(tiles[c][i] + j, &sum, sizeof sum);
        }
}

#define _mm512_loadu_si512(p)            any_load(p)
#define _mm512_storeu_si512(p, v)        any_store(p, v)
#define _mm512_setzero_si512()           any_set(0)
#define _mm512_setzero_ps()              any_load_part(0, NULL)
#define _mm512_set1_epi32(x)             any_set(x)
#define _mm512_maskz_loadu_ps(m, p)      any_load_part(m, p)
#define _mm512_cvtne2ps_pbh(a, b)        any_round(a, b)
#define _mm512_permutexvar_epi16(o, v)   any_permute(o, v)
#define _mm512_unpacklo_epi32(a, b)      any_unpack(a, b, 0)
#define _mm512_unpackhi_epi32(a, b)      any_unpack(a, b, 1)
#define _mm512_unpacklo_epi64(a, b)      any_unpack_pairs(a, b, 0)
#define _mm512_unpackhi_epi64(a, b)      any_unpack_pairs(a, b, 1)
#define _mm512_shuffle_i32x4(a, b, n)    any_quarters(a, b, n)
#define _mm512_add_epi32(a, b)           any_add(a, b)
#define _mm512_mask_storeu_ps(p, m, v)   any_store_part(p, m, v)
#define _mm512_dpbf16_ps(s, a, b)        any_dots_bf16(s, (__m512i)(a), (__m512i)(b))
#define _mm512_dpbusd_epi32(s, a, b)     any_dots(s, a, b)
#define _mm256_dpbusd_avx_epi32(s, a, b) any_dots_256(s, a, b)
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_dpbusd
#define _tile_loadconfig(p)        any_shape(p)
#define _tile_release()            memset(&tiles_shape, 0, sizeof tiles_shape)
#define _tile_loadd(t, p, stride)  any_tile_load(t, p, stride)
#define _tile_stored(t, p, stride) any_tile_store(t, p, stride)
#define _tile_dpbf16ps(c, a, b)    any_tile_bf16(c, a, b)
#define _tile_dpbusd(c, a, b)      any_tile_int8(c, a, b)

/* The processor has it all, and the kernel allows it. */
#define __builtin_cpu_supports(feature)          1
#define __get_cpuid_count(leaf, sub, a, b, c, d) (*(a) = ~0u, *(b) = ~0u, *(c) = ~0u, *(d) = ~0u, 1)
#define syscall(...)                             0

#endif
