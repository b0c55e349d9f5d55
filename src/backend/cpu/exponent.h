/* A row's maximum and the sum of its exponentials: what every softmax begins with. */
#ifndef HD_BACKEND_CPU_EXPONENT_H
#define HD_BACKEND_CPU_EXPONENT_H

#include "backend/cpu/vector.h"

INLINE hd_real hd_row_max(const hd_real *x, size_t n)
{
    vec m = hd_set(-INFINITY);
    HD_COLUMNS(n, { m = hd_max(m, L_FILL(x, -INFINITY)); });
    return hd_top(m);
}

/* y = exp(x - max), returns the sum; max is finite. y may be x. */
INLINE hd_real hd_row_exp(hd_real *y, const hd_real *x, size_t n, hd_real max)
{
    vec sum = hd_set(0), m = hd_set(max);
    HD_COLUMNS(n, {
        vec e = hd_exp(L_FILL(x, -INFINITY) - m);
        sum += e;
        S(y, e);
    });
    return hd_sum(sum);
}

INLINE hd_real hd_row_exp_sum(const hd_real *x, size_t n, hd_real max)
{
    vec sum = hd_set(0), m = hd_set(max);
    HD_COLUMNS(n, { sum += hd_exp(L_FILL(x, -INFINITY) - m); });
    return hd_sum(sum);
}

INLINE void hd_row_scale(hd_real *y, size_t n, hd_real by)
{
    vec k = hd_set(by);
    HD_COLUMNS(n, { S(y, L(y) * k); });
}

#endif
