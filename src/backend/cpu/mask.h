/* Dropout masks: element (row, column) of op `op` in step `number` is kept or not whatever thread, batch or
 * order draws it. */
#ifndef HD_BACKEND_CPU_MASK_H
#define HD_BACKEND_CPU_MASK_H

#include "backend/cpu/vector.h"
#include "backend/kernel.h"
#include "base/rng.h"

typedef struct hd_mask_rule {
    uint32_t below; /* 16-bit draws below it are dropped: p is rounded to 1/65536 and the scale to match */
    hd_real scale;
    bool whole; /* the item's one draw holds for all columns */
} hd_mask_rule;

INLINE hd_mask_rule hd_mask_rule_of(const hd_draw *d)
{
    uint32_t below = (uint32_t)(d->p * 65536.0f + 0.5f);
    if (below > 65535) below = 65535;
    return (hd_mask_rule){below, (hd_real)(65536.0 / (65536.0 - below)), d->whole};
}

/* Key of row r: by its item's number in the corpus and its place in the item, where segments tell them. */
INLINE uint64_t hd_mask_key(const hd_draw *d, size_t r)
{
    uint32_t item = 0, row = (uint32_t)r;
    if (d->seg && d->seg->item) {
        int32_t i = d->seg->item[r];
        item = (uint32_t)(d->seg->key && i >= 0 ? d->seg->key[i] : i);
        row = (uint32_t)d->seg->pos[r];
    }
    if (d->whole) row = HD_RNG_WHOLE;
    return hd_rng_row_key(d->step->seed, d->step->number, d->op, item, row);
}

/* m[0..n) = 0 or scale for columns [from, from+n); from must be even. */
INLINE void hd_mask_fill(hd_real *restrict m, uint64_t key, size_t from, size_t n, hd_mask_rule rule)
{
    uint32_t pair = (uint32_t)(from / 2);
    size_t i = 0;
    if (rule.whole) {
        hd_real all = (hd_rng_mix(key, 0) & 0xFFFF) >= rule.below ? rule.scale : 0;
        for (; i < n; i++) m[i] = all;
        return;
    }
    for (; i + 2 <= n; i += 2, pair++) {
        uint32_t h = hd_rng_mix(key, pair);
        m[i] = (h & 0xFFFF) >= rule.below ? rule.scale : 0;
        m[i + 1] = (h >> 16) >= rule.below ? rule.scale : 0;
    }
    if (i < n) m[i] = (hd_rng_mix(key, pair) & 0xFFFF) >= rule.below ? rule.scale : 0;
}

enum { HD_MASK_RUN = 128 }; /* columns masked at a time: the mask stays in the first-level cache */

#endif
