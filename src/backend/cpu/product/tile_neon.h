/* The full register tile of product.c for aarch64, in assembly: compilers spill at 29 live vector registers.
   Exactly the multiply-adds of the portable tile, in the same order: c[8][12] = start + panel [k][8]
   transposed times strip b [k][12]; for each k 5 loads and 24 multiply-adds by lane, four k at a time. */
#ifndef HD_BACKEND_CPU_PRODUCT_TILE_NEON_H
#define HD_BACKEND_CPU_PRODUCT_TILE_NEON_H

#include "backend/cpu/product/place.h"

#define FMA3(x, y, z, a)               \
    "fmla v" #x ".4s, v26.4s, " a "\n" \
    "fmla v" #y ".4s, v27.4s, " a "\n" \
    "fmla v" #z ".4s, v28.4s, " a "\n"
#define LOAD3(x, y, z)                  \
    "ldp q" #x ", q" #y ", [%[from]]\n" \
    "ldr q" #z ", [%[from], #32]\n"     \
    "add %[from], %[from], %[from_stride]\n"
#define STORE3(x, y, z)              \
    "stp q" #x ", q" #y ", [%[c]]\n" \
    "str q" #z ", [%[c], #32]\n"     \
    "add %[c], %[c], %[c_stride]\n"
#define STEP(at_a, at_b)                                                                   \
    "ldp q24, q25, [%[a], #" #at_a "]\n"                                                   \
    "ldp q26, q27, [%[b], #" #at_b "]\n"                                                   \
    "ldr q28, [%[b], #" #at_b "+32]\n" FMA3(0, 1, 2, "v24.s[0]") FMA3(3, 4, 5, "v24.s[1]") \
        FMA3(6, 7, 8, "v24.s[2]") FMA3(9, 10, 11, "v24.s[3]") FMA3(12, 13, 14, "v25.s[0]") \
            FMA3(15, 16, 17, "v25.s[1]") FMA3(18, 19, 20, "v25.s[2]") FMA3(21, 22, 23, "v25.s[3]")

#define LOADS                                                                                            \
    LOAD3(0, 1, 2)                                                                                       \
    LOAD3(3, 4, 5) LOAD3(6, 7, 8) LOAD3(9, 10, 11) LOAD3(12, 13, 14) LOAD3(15, 16, 17) LOAD3(18, 19, 20) \
        LOAD3(21, 22, 23)
#define STORES                                                                              \
    STORE3(0, 1, 2)                                                                         \
    STORE3(3, 4, 5) STORE3(6, 7, 8) STORE3(9, 10, 11) STORE3(12, 13, 14) STORE3(15, 16, 17) \
        STORE3(18, 19, 20) STORE3(21, 22, 23)

static inline void tile_neon(const place *p, const float *panel, const float *b, size_t k)
{
    float *c = p->c;
    const float *start = p->start;
    const size_t c_stride = p->c_stride * sizeof *c, start_stride = p->start_stride * sizeof *start;
    size_t fours = k / 4, rest = k % 4;
    __asm__ volatile(LOADS "cbz %[fours], 2f\n"
                           "1:\n" STEP(0, 0) STEP(32, 48) STEP(64, 96)
                               STEP(96, 144) "add %[a], %[a], #128\n"
                                             "add %[b], %[b], #192\n"
                                             "subs %[fours], %[fours], #1\n"
                                             "b.ne 1b\n"
                                             "2:\n"
                                             "cbz %[rest], 4f\n"
                                             "3:\n" STEP(0, 0) "add %[a], %[a], #32\n"
                                                               "add %[b], %[b], #48\n"
                                                               "subs %[rest], %[rest], #1\n"
                                                               "b.ne 3b\n"
                                                               "4:\n" STORES
                     : [a] "+r"(panel), [b] "+r"(b), [fours] "+r"(fours), [rest] "+r"(rest), [c] "+r"(c),
                       [from] "+r"(start)
                     : [c_stride] "r"(c_stride), [from_stride] "r"(start_stride)
                     : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
                       "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
                       "v26", "v27", "v28", "cc", "memory");
}

/* A lane of x, known to the compiler, times y. Compilers move sums from register to register around the
   intrinsic. */
INLINE vec fma_lane(vec s, vec y, vec x, int lane)
{
#define LANE(n)                                                                \
    case n:                                                                    \
        __asm__("fmla %0.4s, %1.4s, %2.s[" #n "]" : "+w"(s) : "w"(y), "w"(x)); \
        break;
    switch (lane) {
        LANE(0)
        LANE(1)
        LANE(2)
        LANE(3)
    }
#undef LANE
    return s;
}

/* Four k more of a smaller tile, of a panel or of rows as they lie. */
INLINE void tile_neon_steps(vec s[TILE_ROWS][STRIP_VECTORS], int rows, int vectors, lie how, const float *a,
                            size_t stride, const float *b, size_t down)
{
    vec x[TILE_ROWS], y[STRIP_VECTORS];
    UNROLL
    for (int i = 0; how == LYING && i < rows; i++) x[i] = hd_load(a + (size_t)i * stride);
    UNROLL
    for (int u = 0; u < 4; u++) {
        UNROLL
        for (int i = 0; how == PANEL && i < rows; i += 4) x[i / 4] = hd_load(a + u * TILE_ROWS + i);
        UNROLL
        for (int j = 0; j < vectors; j++) y[j] = hd_load(b + (size_t)u * down + (size_t)j * VL);
        UNROLL
        for (int i = 0; i < rows; i++) UNROLL
        for (int j = 0; j < vectors; j++)
            s[i][j] =
                how == LYING ? fma_lane(s[i][j], y[j], x[i], u) : fma_lane(s[i][j], y[j], x[i / 4], i % 4);
    }
}

#undef FMA3
#undef LOAD3
#undef STORE3
#undef STEP
#undef LOADS
#undef STORES

#endif
