/* The two full register tiles of product.c for aarch64 in assembly: compilers spill at 31 live vector registers. Both leave the sums in acc,
   row after row, and do exactly the multiply-adds of the portable tile in the same order.
   tile_rows_neon: 7 rows of a, k contiguous, four k at a time: 7 loads of a, 12 of b, 84 multiply-adds by lane.
   tile_panel_neon: a panel [k][8] (pack_panel): 5 loads, 24 multiply-adds for each k. */
#ifndef HD_BACKEND_CPU_TILE_NEON_H
#define HD_BACKEND_CPU_TILE_NEON_H

#include <stddef.h>

#define FMA3(acc0, acc1, acc2, a)                  \
    "fmla v" #acc0 ".4s, v28.4s, " a "\n"          \
    "fmla v" #acc1 ".4s, v29.4s, " a "\n"          \
    "fmla v" #acc2 ".4s, v30.4s, " a "\n"

#define ROWS_STEP(lane, offset)                                        \
    "ldp q28, q29, [%[b], #" #offset "]\n"                             \
    "ldr q30, [%[b], #" #offset "+32]\n"                               \
    FMA3(0, 1, 2, "v21.s[" #lane "]") FMA3(3, 4, 5, "v22.s[" #lane "]")    \
    FMA3(6, 7, 8, "v23.s[" #lane "]") FMA3(9, 10, 11, "v24.s[" #lane "]")  \
    FMA3(12, 13, 14, "v25.s[" #lane "]") FMA3(15, 16, 17, "v26.s[" #lane "]") \
    FMA3(18, 19, 20, "v27.s[" #lane "]")

#define ZERO3(a, b, c) "movi v" #a ".4s, #0\n movi v" #b ".4s, #0\n movi v" #c ".4s, #0\n"

#define NEON_CLOBBERS                                                                                                     \
    "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17",   \
        "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory"

/* acc[7*12] = rows a, a+row, .. times strip b [4*fours, 12]; row in floats, fours > 0. */
static inline void tile_rows_neon(float *acc, const float *a, size_t row, const float *b, size_t fours)
{
    const float *a1 = a + row, *a2 = a1 + row, *a3 = a2 + row, *a4 = a3 + row, *a5 = a4 + row, *a6 = a5 + row;
    __asm__ volatile(
        ZERO3(0, 1, 2) ZERO3(3, 4, 5) ZERO3(6, 7, 8) ZERO3(9, 10, 11) ZERO3(12, 13, 14) ZERO3(15, 16, 17) ZERO3(18, 19, 20)
        "1:\n"
        "ldr q21, [%[a0]], #16\n ldr q22, [%[a1]], #16\n ldr q23, [%[a2]], #16\n ldr q24, [%[a3]], #16\n"
        "ldr q25, [%[a4]], #16\n ldr q26, [%[a5]], #16\n ldr q27, [%[a6]], #16\n"
        ROWS_STEP(0, 0) ROWS_STEP(1, 48) ROWS_STEP(2, 96) ROWS_STEP(3, 144)
        "add %[b], %[b], #192\n"
        "subs %[n], %[n], #1\n"
        "b.ne 1b\n"
        "stp q0, q1, [%[acc]]\n stp q2, q3, [%[acc], #32]\n stp q4, q5, [%[acc], #64]\n stp q6, q7, [%[acc], #96]\n"
        "stp q8, q9, [%[acc], #128]\n stp q10, q11, [%[acc], #160]\n stp q12, q13, [%[acc], #192]\n stp q14, q15, [%[acc], #224]\n"
        "stp q16, q17, [%[acc], #256]\n stp q18, q19, [%[acc], #288]\n str q20, [%[acc], #320]\n"
        : [a0] "+r"(a), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [a4] "+r"(a4), [a5] "+r"(a5), [a6] "+r"(a6), [b] "+r"(b), [n] "+r"(fours)
        : [acc] "r"(acc)
        : NEON_CLOBBERS);
}

#define PANEL3(acc0, acc1, acc2, a)                \
    "fmla v" #acc0 ".4s, v26.4s, " a "\n"          \
    "fmla v" #acc1 ".4s, v27.4s, " a "\n"          \
    "fmla v" #acc2 ".4s, v28.4s, " a "\n"

/* acc[8*12] = panel [k][8] transposed times strip b [k,12]; k > 0. */
static inline void tile_panel_neon(float *acc, const float *panel, const float *b, size_t k)
{
    __asm__ volatile(
        ZERO3(0, 1, 2) ZERO3(3, 4, 5) ZERO3(6, 7, 8) ZERO3(9, 10, 11) ZERO3(12, 13, 14) ZERO3(15, 16, 17) ZERO3(18, 19, 20) ZERO3(21, 22, 23)
        "1:\n"
        "ldp q24, q25, [%[a]], #32\n"
        "ldp q26, q27, [%[b]]\n"
        "ldr q28, [%[b], #32]\n"
        "add %[b], %[b], #48\n"
        PANEL3(0, 1, 2, "v24.s[0]") PANEL3(3, 4, 5, "v24.s[1]") PANEL3(6, 7, 8, "v24.s[2]") PANEL3(9, 10, 11, "v24.s[3]")
        PANEL3(12, 13, 14, "v25.s[0]") PANEL3(15, 16, 17, "v25.s[1]") PANEL3(18, 19, 20, "v25.s[2]") PANEL3(21, 22, 23, "v25.s[3]")
        "subs %[n], %[n], #1\n"
        "b.ne 1b\n"
        "stp q0, q1, [%[acc]]\n stp q2, q3, [%[acc], #32]\n stp q4, q5, [%[acc], #64]\n stp q6, q7, [%[acc], #96]\n"
        "stp q8, q9, [%[acc], #128]\n stp q10, q11, [%[acc], #160]\n stp q12, q13, [%[acc], #192]\n stp q14, q15, [%[acc], #224]\n"
        "stp q16, q17, [%[acc], #256]\n stp q18, q19, [%[acc], #288]\n stp q20, q21, [%[acc], #320]\n stp q22, q23, [%[acc], #352]\n"
        : [a] "+r"(panel), [b] "+r"(b), [n] "+r"(k)
        : [acc] "r"(acc)
        : NEON_CLOBBERS);
}

#undef FMA3
#undef PANEL3
#undef ROWS_STEP
#undef ZERO3
#undef NEON_CLOBBERS

#endif
