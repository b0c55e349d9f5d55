/* The multiply-adds of f32 that the threads of a backend can do at most, from registers, with the vectors
   that it computes with; and how much of that is left when operands are read from the first-level cache,
   which is all of it on a core of one's own and less where a neighbor computes on the core's other thread. */
#ifndef BENCH_LIMIT_H
#define BENCH_LIMIT_H

#include <stdbool.h>
#include <string.h>

#include "clock.h"
#include "backend/backend.h"
#include "base/system/team.h"

enum { LIMIT_CHAINS = 12, LIMIT_TURNS = 1000 }; /* as many chains as hide the latency of each other */

#if defined(__x86_64__)
#define LIMIT_FMA(s, x)       __asm__ volatile("vfmadd231ps %1, %1, %0" : "+v"(s) : "v"(x))
#define LIMIT_LOAD(x, from)   __asm__ volatile("vmovups %1, %0" : "=v"(x) : "m"(*(from)))
#define LIMIT_FMA_OF(s, x, y) __asm__ volatile("vfmadd231ps %1, %2, %0" : "+v"(s) : "v"(x), "v"(y))
#define LIMIT_SPREAD(x, from) __asm__ volatile("vbroadcastss %1, %0" : "=v"(x) : "m"(*(const float *)(from)))
#elif defined(__aarch64__)
#define LIMIT_FMA(s, x)       __asm__ volatile("fmla %0.4s, %1.4s, %1.4s" : "+w"(s) : "w"(x))
#define LIMIT_LOAD(x, from)   __asm__ volatile("ldr %q0, %1" : "=w"(x) : "m"(*(from)))
#define LIMIT_FMA_OF(s, x, y) __asm__ volatile("fmla %0.4s, %1.4s, %2.4s" : "+w"(s) : "w"(x), "w"(y))
#define LIMIT_SPREAD(x, from) LIMIT_LOAD(x, from)
#else
#define LIMIT_FMA(s, x)       (s) += (x) * (x)
#define LIMIT_LOAD(x, from)   (x) = *(from)
#define LIMIT_FMA_OF(s, x, y) (s) += (x) * (y)
#define LIMIT_SPREAD(x, from) LIMIT_LOAD(x, from)
#endif

/* Hd_team_fn whose units are LIMIT_TURNS * LIMIT_CHAINS multiply-adds of vectors of `bytes`: from registers,
   and with loads as a tile of six rows and two vectors has them. */
#define LIMIT_FUNCTIONS(name, bytes, attributes)                                                        \
    typedef float name##_vector __attribute__((vector_size(bytes)));                                    \
    attributes static void name(void *arg, size_t begin, size_t end, int worker)                        \
    {                                                                                                   \
        name##_vector s[LIMIT_CHAINS] = {{0}}, x = 1.2345678f - s[0]; /* of zeros a core can do more */ \
        (void)arg, (void)worker;                                                                        \
        for (size_t n = begin * LIMIT_TURNS; n < end * LIMIT_TURNS; n++)                                \
            _Pragma("GCC unroll 12") for (int i = 0; i < LIMIT_CHAINS; i++) LIMIT_FMA(s[i], x);         \
    }                                                                                                   \
    attributes static void name##_reading(void *arg, size_t begin, size_t end, int worker)              \
    {                                                                                                   \
        static const name##_vector from[8] = {{1.2345678f}, {0.7654321f}};                              \
        name##_vector s[LIMIT_CHAINS] = {{0}}, x, y, z;                                                 \
        (void)arg, (void)worker;                                                                        \
        for (size_t n = begin * LIMIT_TURNS; n < end * LIMIT_TURNS; n++) {                              \
            LIMIT_LOAD(y, from);                                                                        \
            LIMIT_LOAD(z, from + 1);                                                                    \
            _Pragma("GCC unroll 6") for (int i = 0; i < LIMIT_CHAINS / 2; i++)                          \
            {                                                                                           \
                LIMIT_SPREAD(x, from + i);                                                              \
                LIMIT_FMA_OF(s[2 * i], x, y);                                                           \
                LIMIT_FMA_OF(s[2 * i + 1], x, z);                                                       \
            }                                                                                           \
        }                                                                                               \
    }

#if defined(__x86_64__)
LIMIT_FUNCTIONS(limit_avx512, 64, __attribute__((target("avx512f"))))
LIMIT_FUNCTIONS(limit_avx2, 32, __attribute__((target("avx2"))))
#else
LIMIT_FUNCTIONS(limit_neon, 16, )
#endif

static double limit_rate(const hd_backend *b, hd_team_fn *run, size_t lanes)
{
    const size_t units = 400 * (size_t)hd_team_size(b->team); /* about a millisecond */
    if (!run) return 0;
    hd_team_run(b->team, units / 10, 1, run, NULL); /* wakes the threads */
    const double start = now();
    hd_team_run(b->team, units, 1, run, NULL);
    return 2.0 * (double)(units * LIMIT_TURNS * LIMIT_CHAINS * lanes) / (now() - start);
}

/* FLOP a second, now, from registers or reading; 0: not known for vectors without multiply-adds. */
static double limit_of(const hd_backend *b, bool reading)
{
#if defined(__x86_64__)
    if (strstr(b->detail, "avx512")) return limit_rate(b, reading ? limit_avx512_reading : limit_avx512, 16);
    if (strstr(b->detail, "avx2")) return limit_rate(b, reading ? limit_avx2_reading : limit_avx2, 8);
    return 0;
#else
    return limit_rate(b, reading ? limit_neon_reading : limit_neon, 4);
#endif
}

#endif
