/* Where the sums of a tile begin and end. */
#ifndef HD_BACKEND_CPU_PRODUCT_PLACE_H
#define HD_BACKEND_CPU_PRODUCT_PLACE_H

#include "backend/cpu/product/product.h"
#include "backend/cpu/vector.h"

/* c gets start + a b. Strides in numbers; a start_stride of 0 gives each row the same start. */
typedef struct place {
    hd_real *c;
    size_t c_stride;
    const hd_real *start;
    size_t start_stride;
} place;

/* Of the tile at row i and column j, k from kb: from what c holds, from the bias, or from zero. zeros: as
   wide as a tile. */
INLINE place place_of(const hd_product *p, size_t i, size_t j, size_t kb, const hd_real *zeros)
{
    hd_real *c = p->c + i * p->c_stride + j;
    if (p->add || kb) return (place){c, p->c_stride, c, p->c_stride};
    return (place){c, p->c_stride, p->bias ? p->bias + j : zeros, 0};
}

#endif
