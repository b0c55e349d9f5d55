/* A row's sum, its maximum and the sum of its exponentials: what softmax and norm begin with. */
#ifndef HD_BACKEND_CPU_EXPONENT_H
#define HD_BACKEND_CPU_EXPONENT_H

#include "backend/cpu/vector.h"

INLINE hd_real hd_row_max(const hd_real *x, size_t n)
{
    vec m[4] = {hd_set(-INFINITY), hd_set(-INFINITY), hd_set(-INFINITY), hd_set(-INFINITY)};
    size_t i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL) /* four chains: one would wait for itself */
        UNROLL for (int j = 0; j < 4; j++) m[j] = hd_max(m[j], hd_load(x + i + (size_t)j * VL));
    x += i, n -= i;
    HD_COLUMNS(n, { m[0] = hd_max(m[0], L_FILL(x, -INFINITY)); });
    return hd_top(hd_max(hd_max(m[0], m[1]), hd_max(m[2], m[3])));
}

INLINE hd_real hd_row_sum(const hd_real *x, size_t n)
{
    vec s[4] = {hd_set(0), hd_set(0), hd_set(0), hd_set(0)};
    size_t i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL)
        UNROLL for (int j = 0; j < 4; j++) s[j] += hd_load(x + i + (size_t)j * VL);
    x += i, n -= i;
    HD_COLUMNS(n, { s[0] += L(x); });
    return hd_sum((s[0] + s[1]) + (s[2] + s[3]));
}

/* Some exponentials side by side, since each waits for itself most of the time; their sum is one chain. */
enum { HD_EXPS = 4 };

/* y = exp(x - max), returns the sum; max is finite. y may be x. */
INLINE hd_real hd_row_exp(hd_real *y, const hd_real *x, size_t n, hd_real max)
{
    vec sum = hd_set(0), m = hd_set(max);
    for (; n >= HD_EXPS * VL; n -= HD_EXPS * VL, x += HD_EXPS * VL, y += HD_EXPS * VL) {
        vec e[HD_EXPS];
        UNROLL for (int j = 0; j < HD_EXPS; j++) e[j] = hd_exp(hd_load(x + j * VL) - m);
        UNROLL for (int j = 0; j < HD_EXPS; j++) sum += e[j], hd_store(y + j * VL, e[j]);
    }
    HD_COLUMNS(n, {
        vec e = hd_exp(L_FILL(x, -INFINITY) - m);
        sum += e;
        S(y, e);
    });
    return hd_sum(sum);
}

/* The same sum, to the bit, of numbers up to max. Meanwhile asks for what lies behind the row, which is the
   next one as a rule. */
INLINE hd_real hd_row_exp_sum(const hd_real *x, size_t n, hd_real max)
{
    enum { LINE_NUMBERS = 64 / sizeof(hd_real) };
    const hd_real *next = x + n;
    vec sum = hd_set(0), m = hd_set(max);
    for (; n >= HD_EXPS * VL; n -= HD_EXPS * VL, x += HD_EXPS * VL, next += HD_EXPS * VL) {
        vec e[HD_EXPS];
        UNROLL for (int j = 0; j < HD_EXPS * VL; j += LINE_NUMBERS) __builtin_prefetch(next + j);
        UNROLL for (int j = 0; j < HD_EXPS; j++) e[j] = hd_exp_term(hd_load(x + j * VL) - m);
        UNROLL for (int j = 0; j < HD_EXPS; j++) sum += e[j];
    }
    HD_COLUMNS(n, { sum += hd_exp_term(L_FILL(x, -INFINITY) - m); });
    return hd_sum(sum);
}

INLINE void hd_row_scale(hd_real *y, size_t n, hd_real by)
{
    vec k = hd_set(by);
    HD_COLUMNS(n, { S(y, L(y) * k); });
}

#endif
