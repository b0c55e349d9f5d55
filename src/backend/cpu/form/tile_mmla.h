/* The full tile of bfmmla.c and smmla.c in assembly, since compilers spill at 30 live vector registers:
   c[12][8] = start + panel [steps][12] times strip b [steps][8], each row or column eight bytes of a step. A
   register holds the sums of two rows by two columns; for each step 10 loads and 24 products, two steps at a
   time, in the order of the tiles in C. */
#ifndef HD_BACKEND_CPU_FORM_TILE_MMLA_H
#define HD_BACKEND_CPU_FORM_TILE_MMLA_H

#include <stddef.h>
#include <stdint.h>

#define MMLA_IN(s, t, u, v)                  \
    "ldp q28, q29, [%[from]]\n"              \
    "add %[from], %[from], %[from_stride]\n" \
    "ldp q30, q31, [%[from]]\n"              \
    "add %[from], %[from], %[from_stride]\n" \
    "zip1 v" #s ".2d, v28.2d, v30.2d\n"      \
    "zip2 v" #t ".2d, v28.2d, v30.2d\n"      \
    "zip1 v" #u ".2d, v29.2d, v31.2d\n"      \
    "zip2 v" #v ".2d, v29.2d, v31.2d\n"
#define MMLA_ZERO(s, t, u, v) \
    "movi v" #s ".4s, #0\n"   \
    "movi v" #t ".4s, #0\n"   \
    "movi v" #u ".4s, #0\n"   \
    "movi v" #v ".4s, #0\n"
#define MMLA_OUT(s, t, u, v)                \
    "zip1 v28.2d, v" #s ".2d, v" #t ".2d\n" \
    "zip1 v29.2d, v" #u ".2d, v" #v ".2d\n" \
    "zip2 v30.2d, v" #s ".2d, v" #t ".2d\n" \
    "zip2 v31.2d, v" #u ".2d, v" #v ".2d\n" \
    "stp q28, q29, [%[c]]\n"                \
    "add %[c], %[c], %[c_stride]\n"         \
    "stp q30, q31, [%[c]]\n"                \
    "add %[c], %[c], %[c_stride]\n"
#define MMLA_PAIR(INS, AS, s, t, u, v, a)                                                               \
    INS " v" #s ".4s, v" #a "." AS ", v24." AS "\n" INS " v" #t ".4s, v" #a "." AS ", v25." AS "\n" INS \
        " v" #u ".4s, v" #a "." AS ", v26." AS "\n" INS " v" #v ".4s, v" #a "." AS ", v27." AS "\n"
/* A step from the byte at_a of the panel on; b goes on to the next. */
#define MMLA_STEP(INS, AS, NEXT, at_a)                                                    \
    "ldp q24, q25, [%[b]]\n"                                                              \
    "ldp q28, q29, [%[a], #" #at_a "]\n"                                                  \
    "ldp q26, q27, [%[b], #32]\n"                                                         \
    "ldp q30, q31, [%[a], #" #at_a "+32]\n" MMLA_PAIR(INS, AS, 0, 1, 2, 3, 28)            \
        MMLA_PAIR(INS, AS, 4, 5, 6, 7, 29) NEXT                                           \
        "add %[b], %[b], #64\n"                                                           \
        "ldp q28, q29, [%[a], #" #at_a "+64]\n" MMLA_PAIR(INS, AS, 8, 9, 10, 11, 30)      \
            MMLA_PAIR(INS, AS, 12, 13, 14, 15, 31) MMLA_PAIR(INS, AS, 16, 17, 18, 19, 28) \
                MMLA_PAIR(INS, AS, 20, 21, 22, 23, 29)
#define MMLA_ALL(WAY) \
    WAY(0, 1, 2, 3)   \
    WAY(4, 5, 6, 7) WAY(8, 9, 10, 11) WAY(12, 13, 14, 15) WAY(16, 17, 18, 19) WAY(20, 21, 22, 23)
#define MMLA_LOOP(BEGIN, FIRST, SECOND)          \
    MMLA_ALL(BEGIN)                              \
    "cbz %[twos], 2f\n"                          \
    "1:\n" FIRST SECOND "add %[a], %[a], #192\n" \
    "subs %[twos], %[twos], #1\n"                \
    "b.ne 1b\n"                                  \
    "2:\n"                                       \
    "cbz %[rest], 3f\n" FIRST "3:\n" MMLA_ALL(MMLA_OUT)

/* The function NAME for sums of type SUM by the instruction INS of vectors AS; BEGIN MMLA_IN or, where there
   is no start, MMLA_ZERO; NEXT "" or, once for the 64 bytes of a step of b, an instruction that asks for
   those `ahead` bytes behind it. Strides in numbers; start_stride 0 gives every row the same start (a bias,
   or zeros). */
#define MMLA_TILE(NAME, SUM, INS, AS, BEGIN, NEXT)                                                          \
    static inline void NAME(SUM *c, size_t c_stride, const SUM *start, size_t start_stride,                 \
                            const void *panel, const void *b, size_t steps)                                 \
    {                                                                                                       \
        size_t twos = steps / 2, rest = steps % 2, ahead = 64 * steps;                                      \
        c_stride *= sizeof *c, start_stride *= sizeof *start;                                               \
        __asm__ volatile(MMLA_LOOP(BEGIN, MMLA_STEP(INS, AS, NEXT, 0), MMLA_STEP(INS, AS, NEXT, 96))        \
                         : [a] "+r"(panel), [b] "+r"(b), [twos] "+r"(twos), [c] "+r"(c), [from] "+r"(start) \
                         : [rest] "r"(rest), [ahead] "r"(ahead), [c_stride] "r"(c_stride),                  \
                           [from_stride] "r"(start_stride)                                                  \
                         : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", \
                           "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",     \
                           "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");         \
    }

#endif
