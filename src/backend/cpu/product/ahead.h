/* What a product reads next, asked for while it sums: lines of memory that take long to come are then there.
   A tile asks for a share, a few lines for each four k. */
#ifndef HD_BACKEND_CPU_PRODUCT_AHEAD_H
#define HD_BACKEND_CPU_PRODUCT_AHEAD_H

#include "backend/cpu/product/block.h"

enum { ASKED = 4 * LINE }; /* numbers at once */

/* For each four k ASKED numbers, each time `step` further, up to `last`. */
typedef struct ahead {
    const hd_real *from, *last;
    size_t step;
} ahead;

/* Where to ask after `at`. */
INLINE const hd_real *ahead_further(const ahead *a, const hd_real *at)
{
    return at < a->last ? at + a->step : a->last;
}

/* What a tile asks for. */
typedef struct asked {
    ahead read, sums; /* what is read next, rows of c that are written next */
} asked;

/* Rows of `columns` numbers, `stride` apart, of which some were asked for: ASKED numbers of each row, then
   the next ones of each. */
typedef struct region {
    const hd_real *from;
    size_t stride, rows, columns;
    size_t row, column; /* the next to be asked for */
} region;

/* One after the other. */
static inline region region_of(const hd_real *from, size_t numbers)
{
    return (region){from, ASKED, numbers / ASKED, ASKED, 0, 0};
}

static inline size_t region_left(const region *r)
{
    return r->column < r->columns ? (r->columns - r->column + ASKED - 1) / ASKED * r->rows - r->row : 0;
}

/* At most `count` of what is left, for a tile k deep; at `idle` where that is nothing. */
static inline ahead region_take(region *r, size_t count, size_t k, const hd_real *idle)
{
    if (count > k / 4) count = k / 4;
    if (!count || !region_left(r)) return (ahead){idle, idle, 0};
    if (count > r->rows - r->row) count = r->rows - r->row;
    const hd_real *from = r->from + r->row * r->stride + r->column;
    const size_t far = (count - 1) * r->stride;
    r->row += count;
    if (r->row == r->rows) r->row = 0, r->column += ASKED;
#ifdef __aarch64__ /* whose tile asks before it sums, not meanwhile */
    if (r->stride != ASKED) return (ahead){idle, idle, 0};
#endif
    if (r->stride != ASKED) return (ahead){from, from + far, r->stride};
    return (ahead){from, from + far, far ? (far + k / 4 - 1) / (k / 4) : 0}; /* evenly */
}

#endif
