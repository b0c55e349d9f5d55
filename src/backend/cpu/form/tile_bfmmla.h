/* The full tile of bfmmla.c in assembly, since compilers spill at 30 live vector registers: c[12][8] = start
   + panel [steps][12][4] times strip b [steps][8][4]. A register holds the sums of two rows by two columns;
   for each step 10 loads and 24 products, two steps at a time, in the order of the tile in C. */
#ifndef HD_BACKEND_CPU_FORM_TILE_BFMMLA_H
#define HD_BACKEND_CPU_FORM_TILE_BFMMLA_H

#include <stddef.h>
#include <stdint.h>

#define PAIR_IN(s, t, u, v)                  \
    "ldp q28, q29, [%[from]]\n"              \
    "add %[from], %[from], %[from_stride]\n" \
    "ldp q30, q31, [%[from]]\n"              \
    "add %[from], %[from], %[from_stride]\n" \
    "zip1 v" #s ".2d, v28.2d, v30.2d\n"      \
    "zip2 v" #t ".2d, v28.2d, v30.2d\n"      \
    "zip1 v" #u ".2d, v29.2d, v31.2d\n"      \
    "zip2 v" #v ".2d, v29.2d, v31.2d\n"
#define PAIR_OUT(s, t, u, v)                \
    "zip1 v28.2d, v" #s ".2d, v" #t ".2d\n" \
    "zip1 v29.2d, v" #u ".2d, v" #v ".2d\n" \
    "zip2 v30.2d, v" #s ".2d, v" #t ".2d\n" \
    "zip2 v31.2d, v" #u ".2d, v" #v ".2d\n" \
    "stp q28, q29, [%[c]]\n"                \
    "add %[c], %[c], %[c_stride]\n"         \
    "stp q30, q31, [%[c]]\n"                \
    "add %[c], %[c], %[c_stride]\n"
#define PAIR(s, t, u, v, a)                   \
    "bfmmla v" #s ".4s, v" #a ".8h, v24.8h\n" \
    "bfmmla v" #t ".4s, v" #a ".8h, v25.8h\n" \
    "bfmmla v" #u ".4s, v" #a ".8h, v26.8h\n" \
    "bfmmla v" #v ".4s, v" #a ".8h, v27.8h\n"
#define STEP(at_a, at_b)                                                                    \
    "ldp q24, q25, [%[b], #" #at_b "]\n"                                                    \
    "ldp q28, q29, [%[a], #" #at_a "]\n"                                                    \
    "ldp q26, q27, [%[b], #" #at_b "+32]\n"                                                 \
    "ldp q30, q31, [%[a], #" #at_a "+32]\n" PAIR(0, 1, 2, 3, 28)                            \
        PAIR(4, 5, 6, 7, 29) "ldp q28, q29, [%[a], #" #at_a "+64]\n" PAIR(8, 9, 10, 11, 30) \
            PAIR(12, 13, 14, 15, 31) PAIR(16, 17, 18, 19, 28) PAIR(20, 21, 22, 23, 29)

/* Strides in floats; start_stride 0 gives every row the same start (a bias, or zeros). */
static inline void tile_bfmmla(float *c, size_t c_stride, const float *start, size_t start_stride,
                               const uint16_t *panel, const uint16_t *b, size_t steps)
{
    size_t twos = steps / 2, rest = steps % 2;
    c_stride *= sizeof *c, start_stride *= sizeof *start;
    __asm__ volatile(
        PAIR_IN(0, 1, 2, 3) PAIR_IN(4, 5, 6, 7) PAIR_IN(8, 9, 10, 11) PAIR_IN(12, 13, 14, 15)
            PAIR_IN(16, 17, 18, 19)
                PAIR_IN(20, 21, 22, 23) "cbz %[twos], 2f\n"
                                        "1:\n" STEP(0, 0) STEP(
                                            96, 64) "add %[a], %[a], #192\n"
                                                    "add %[b], %[b], #128\n"
                                                    "subs %[twos], %[twos], #1\n"
                                                    "b.ne 1b\n"
                                                    "2:\n"
                                                    "cbz %[rest], 3f\n" STEP(0, 0) "3:\n" PAIR_OUT(0, 1, 2, 3)
                                                        PAIR_OUT(4, 5, 6, 7) PAIR_OUT(8, 9, 10, 11)
                                                            PAIR_OUT(12, 13, 14, 15) PAIR_OUT(16, 17, 18, 19)
                                                                PAIR_OUT(20, 21, 22, 23)
        : [a] "+r"(panel), [b] "+r"(b), [twos] "+r"(twos), [c] "+r"(c), [from] "+r"(start)
        : [rest] "r"(rest), [c_stride] "r"(c_stride), [from_stride] "r"(start_stride)
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
          "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28",
          "v29", "v30", "v31", "cc", "memory");
}

#undef PAIR_IN
#undef PAIR_OUT
#undef PAIR
#undef STEP

#endif
