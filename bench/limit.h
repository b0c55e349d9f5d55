/* The multiply-adds of f32 that the threads of a backend can do at most, from registers, with the vectors
   that it computes with. */
#ifndef BENCH_LIMIT_H
#define BENCH_LIMIT_H

#include <string.h>

#include "clock.h"
#include "backend/backend.h"
#include "base/system/team.h"

enum { LIMIT_CHAINS = 12, LIMIT_TURNS = 1000 }; /* as many chains as hide the latency of each other */

#if defined(__x86_64__)
#define LIMIT_FMA(s, x) __asm__ volatile("vfmadd231ps %1, %1, %0" : "+v"(s) : "v"(x))
#elif defined(__aarch64__)
#define LIMIT_FMA(s, x) __asm__ volatile("fmla %0.4s, %1.4s, %1.4s" : "+w"(s) : "w"(x))
#else
#define LIMIT_FMA(s, x) (s) += (x) * (x)
#endif

/* An hd_team_fn whose units are LIMIT_TURNS * LIMIT_CHAINS multiply-adds of vectors of `bytes`. */
#define LIMIT_FUNCTION(name, bytes, attributes)                                                  \
    attributes static void name(void *arg, size_t begin, size_t end, int worker)                 \
    {                                                                                            \
        typedef float vector __attribute__((vector_size(bytes)));                                \
        vector s[LIMIT_CHAINS] = {{0}}, x = 1.2345678f - s[0]; /* of zeros a core can do more */ \
        (void)arg, (void)worker;                                                                 \
        for (size_t n = begin * LIMIT_TURNS; n < end * LIMIT_TURNS; n++)                         \
            _Pragma("GCC unroll 12") for (int i = 0; i < LIMIT_CHAINS; i++) LIMIT_FMA(s[i], x);  \
    }

#if defined(__x86_64__)
LIMIT_FUNCTION(limit_avx512, 64, __attribute__((target("avx512f"))))
LIMIT_FUNCTION(limit_avx2, 32, __attribute__((target("avx2"))))
#else
LIMIT_FUNCTION(limit_neon, 16, )
#endif

/* FLOP a second, now; 0: not known for vectors without multiply-adds. */
static double limit_of(const hd_backend *b)
{
    const size_t units = 4000 * (size_t)hd_team_size(b->team);
    hd_team_fn *run = NULL;
    size_t lanes = 4;
#if defined(__x86_64__)
    if (strstr(b->detail, "avx512")) run = limit_avx512, lanes = 16;
    if (strstr(b->detail, "avx2")) run = limit_avx2, lanes = 8;
#else
    run = limit_neon;
#endif
    if (!run) return 0;
    hd_team_run(b->team, units / 10, 1, run, NULL); /* wakes the threads */
    const double start = now();
    hd_team_run(b->team, units, 1, run, NULL);
    return 2.0 * (double)(units * LIMIT_TURNS * LIMIT_CHAINS * lanes) / (now() - start);
}

#endif
