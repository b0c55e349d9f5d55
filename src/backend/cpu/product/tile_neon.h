/* The full register tile of product.c for aarch64, in assembly: compilers spill at 29 live vector registers.
   Exactly the multiply-adds of the portable tile, in the same order: c[8][12] = start + panel [k][8]
   transposed times strip b [k][12]; for each k 5 loads and 24 multiply-adds by lane, four k at a time. */
#ifndef HD_BACKEND_CPU_PRODUCT_TILE_NEON_H
#define HD_BACKEND_CPU_PRODUCT_TILE_NEON_H

#include <stddef.h>

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
#define AHEAD "prfm pstl1keep, [%[next]]\n add %[next], %[next], %[c_stride]\n"
#define STEP(at_a, at_b)                                                                   \
    "ldp q24, q25, [%[a], #" #at_a "]\n"                                                   \
    "ldp q26, q27, [%[b], #" #at_b "]\n"                                                   \
    "ldr q28, [%[b], #" #at_b "+32]\n" FMA3(0, 1, 2, "v24.s[0]") FMA3(3, 4, 5, "v24.s[1]") \
        FMA3(6, 7, 8, "v24.s[2]") FMA3(9, 10, 11, "v24.s[3]") FMA3(12, 13, 14, "v25.s[0]") \
            FMA3(15, 16, 17, "v25.s[1]") FMA3(18, 19, 20, "v25.s[2]") FMA3(21, 22, 23, "v25.s[3]")

/* Strides in floats; start_stride 0 gives every row the same start (a bias, or zeros). */
static inline void tile_neon(float *c, size_t c_stride, const float *start, size_t start_stride,
                             const float *panel, const float *b, size_t k)
{
    const float *next =
        c + 8 * c_stride; /* the rows below come next: their lines are on the way while these compute */
    size_t fours = k / 4, rest = k % 4;
    c_stride *= sizeof *c, start_stride *= sizeof *start;
    __asm__ volatile(
        LOAD3(0, 1, 2) LOAD3(3, 4, 5) LOAD3(6, 7, 8) LOAD3(9, 10, 11) LOAD3(12, 13, 14) LOAD3(15, 16, 17)
            LOAD3(18, 19, 20) LOAD3(21, 22, 23) AHEAD AHEAD AHEAD AHEAD AHEAD AHEAD AHEAD AHEAD
        "cbz %[fours], 2f\n"
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
                                            "4:\n" STORE3(0, 1, 2) STORE3(3, 4, 5) STORE3(6, 7, 8)
                                                STORE3(9, 10, 11) STORE3(12, 13, 14) STORE3(15, 16, 17)
                                                    STORE3(18, 19, 20) STORE3(21, 22, 23)
        : [a] "+r"(panel), [b] "+r"(b), [fours] "+r"(fours), [rest] "+r"(rest), [c] "+r"(c),
          [from] "+r"(start), [next] "+r"(next)
        : [c_stride] "r"(c_stride), [from_stride] "r"(start_stride)
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
          "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28",
          "cc", "memory");
}

#undef FMA3
#undef AHEAD
#undef LOAD3
#undef STORE3
#undef STEP

#endif
