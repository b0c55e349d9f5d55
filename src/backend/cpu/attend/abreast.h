/* Scores of single queries with keys in blocks, turned in registers as a product would pack them. */
#ifndef HD_BACKEND_CPU_ATTEND_ABREAST_H
#define HD_BACKEND_CPU_ATTEND_ABREAST_H

#include "backend/cpu/attend/head.h"
#include "backend/cpu/product/quad.h"

#ifdef HD_TURNS_VECTORS
enum { ABREAST = 5 }; /* sums that wait for themselves, not for each other */

/* Sums side by side: heads of one query, of which each has keys of its own, or queries that share keys, for
   which those are turned once. */
typedef struct abreast {
    const hd_real *q;
    size_t q_step;
    hd_real *s;
    size_t s_step;
} abreast;

/* VL keys from k on, of which `keys` are there, with `n` of them; each chain as in the product. Keys come
   from far away, so no more lines are read than have one. */
INLINE void keys_abreast(const hd_head *h, const abreast *a, const hd_real *k, int keys, int n, bool shared)
{
    const size_t d = h->d;
    vec sum[ABREAST], y[4];
    UNROLL
    for (int i = 0; i < n; i++) sum[i] = hd_set(0);
    for (size_t l = 0; l < d; l += 4) UNROLL
    for (int i = 0; i < n; i++) {
        if (!shared || !i) turn_rows(y, k + (size_t)i * d + l, h->k->stride, keys);
        UNROLL
        for (int e = 0; e < 4; e++)
            sum[i] = hd_fma(y[e], hd_spread(a->q[(size_t)i * a->q_step + l + (size_t)e]), sum[i]);
    }
    UNROLL
    for (int i = 0; i < n; i++) hd_store(a->s + (size_t)i * a->s_step, sum[i]);
}

/* One query of heads that lie side by side. */
INLINE void keys_of_heads(const hd_head *h, size_t heads, const hd_real *k, int keys, hd_real *s,
                          size_t stride)
{
    enum { FOUR = 4 };
    abreast a = {hd_head_q(h, h->q, 0), h->d, s, stride};
    size_t i = 0;
    for (; i + FOUR <= heads; i += FOUR, a.q += FOUR * h->d, a.s += FOUR * stride, k += FOUR * h->d)
        keys_abreast(h, &a, k, keys, FOUR, false);
    for (; i < heads; i++, a.q += h->d, a.s += stride, k += h->d) keys_abreast(h, &a, k, keys, 1, false);
}

/* Queries of one head that share keys. */
INLINE void keys_of_queries(const hd_head *h, abreast a, size_t queries, const hd_real *k, int keys)
{
    for (size_t n; queries; queries -= n, a.q += n * a.q_step, a.s += n * a.s_step) {
        n = queries < ABREAST ? queries : ABREAST;
        switch (n) {
        case 1:
            keys_abreast(h, &a, k, keys, 1, true);
            break;
        case 2:
            keys_abreast(h, &a, k, keys, 2, true);
            break;
        case 3:
            keys_abreast(h, &a, k, keys, 3, true);
            break;
        case 4:
            keys_abreast(h, &a, k, keys, 4, true);
            break;
        default:
            keys_abreast(h, &a, k, keys, ABREAST, true);
        }
    }
}

/* VL keys from j on, of which `keys` are there. */
INLINE void keys_of_all(const hd_head *h, const hd_near *n, size_t j, int keys, hd_real *s, size_t stride)
{
    const hd_real *k = hd_head_k(h, h->k, j);
    if (n->items == 1) {
        keys_of_heads(h, n->heads, k, keys, s + j, stride);
        return;
    }
    for (size_t i = 0; i < n->heads; i++) {
        const abreast a = {hd_head_q(h + i, h->q, 0), h->q->stride, s + i * stride + j, n->heads * stride};
        keys_of_queries(h, a, n->items, k + i * h->d, keys);
    }
}

/* Heads with keys of their own in blocks, of which each key has all side by side: those of a block are turned
   for all heads or queries together. False where they are to go one by one. */
static bool blocks_scores(const hd_head *h, const hd_near *n, hd_real *s, size_t stride, hd_reach r)
{
    if (!h->page || h->d % 4 || h->at->heads != h->at->kv_heads) return false;
    for (size_t j = r.lo / VL * VL; j < r.hi; j += VL) {
        const size_t left = r.hi - j;
        if (left > 3 * VL / 4)
            keys_of_all(h, n, j, VL, s, stride);
        else if (left > VL / 2)
            keys_of_all(h, n, j, 3 * VL / 4, s, stride);
        else if (left > VL / 4)
            keys_of_all(h, n, j, VL / 2, s, stride);
        else
            keys_of_all(h, n, j, VL / 4, s, stride);
    }
    return true;
}
#else
#define blocks_scores(h, n, s, stride, r) false
#endif

#endif
