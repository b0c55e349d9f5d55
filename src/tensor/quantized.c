/* Blocks of small integers to floats. Easy to get wrong: the order of nibbles, and the six-bit scales of
   Q4_K, whose upper two bits lie in other bytes. */
#include "tensor/quantized.h"

#include <string.h>

#include "tensor/tensor.h"

static float half(const uint8_t *at)
{
    float value;
    hd_convert(&value, HD_F32, at, HD_F16, 1);
    return value;
}

static void widen_F32(float *to, const uint8_t *from, size_t blocks)
{
    memcpy(to, from, blocks * sizeof *to);
}

static void widen_F16(float *to, const uint8_t *from, size_t blocks)
{
    hd_convert(to, HD_F32, from, HD_F16, blocks);
}

static void widen_BF16(float *to, const uint8_t *from, size_t blocks)
{
    hd_convert(to, HD_F32, from, HD_BF16, blocks);
}

/* Low nibbles are the first half of the numbers, high ones the second. */
static void nibbles(float *to, const uint8_t *from, size_t bytes, float scale, float shift)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = scale * (float)(from[i] & 15) + shift;
        to[i + bytes] = scale * (float)(from[i] >> 4) + shift;
    }
}

static void widen_Q4_0(float *to, const uint8_t *from, size_t blocks)
{
    for (; blocks--; to += 32, from += 18) {
        const float scale = half(from);
        nibbles(to, from + 2, 16, scale, -8 * scale);
    }
}

static void widen_Q4_1(float *to, const uint8_t *from, size_t blocks)
{
    for (; blocks--; to += 32, from += 20) nibbles(to, from + 4, 16, half(from), half(from + 2));
}

static void widen_Q8_0(float *to, const uint8_t *from, size_t blocks)
{
    for (; blocks--; to += 32, from += 34) {
        const float scale = half(from);
        for (int i = 0; i < 32; i++) to[i] = scale * (float)(int8_t)from[2 + i];
    }
}

/* Scale and minimum number j of 8. */
static void six_bits(const uint8_t *b, int j, float *scale, float *least)
{
    const int s = j < 4 ? b[j] & 63 : (b[j + 4] & 15) | (b[j - 4] >> 6) << 4;
    const int m = j < 4 ? b[j + 4] & 63 : b[j + 4] >> 4 | (b[j] >> 6) << 4;
    *scale = (float)s, *least = (float)m;
}

static void widen_Q4_K(float *to, const uint8_t *from, size_t blocks)
{
    for (; blocks--; from += 144) {
        const float all = half(from), lowest = half(from + 2);
        const uint8_t *q = from + 16;
        for (int j = 0; j < 8; j++, to += 32) {
            float scale, least;
            six_bits(from + 4, j, &scale, &least);
            for (int i = 0; i < 32; i++) {
                const int number = j & 1 ? q[i] >> 4 : q[i] & 15;
                to[i] = all * scale * (float)number - lowest * least;
            }
            if (j & 1) q += 32;
        }
    }
}

static void widen_Q6_K(float *to, const uint8_t *from, size_t blocks)
{
    for (; blocks--; from += 210) {
        const float all = half(from + 208);
        for (int part = 0; part < 2; part++, to += 128) {
            const uint8_t *low = from + 64 * part, *high = from + 128 + 32 * part,
                          *scale = from + 192 + 8 * part;
            for (int i = 0; i < 128; i++) {
                const int quarter = i / 32, n = i % 32, byte = low[n + 32 * (quarter & 1)];
                const int number = (quarter < 2 ? byte & 15 : byte >> 4) | (high[n] >> 2 * quarter & 3) << 4;
                to[i] = all * (float)(int8_t)scale[i / 16] * (float)(number - 32);
            }
        }
    }
}

const hd_quantized *hd_quantized_find(uint32_t number)
{
    static const struct {
        uint32_t number;
        hd_quantized type;
    } types[] = {
#define X(number, name, numbers, bytes) {number, {#name, numbers, bytes, widen_##name}},
        HD_QUANTIZED_LIST(X)
#undef X
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].number == number) return &types[i].type;
    return NULL;
}
