/* What forms of bf16 share that multiply by tiles: strips of b as deep as whole steps of the instruction, and
   where the sums of a tile begin and end. */
#ifndef HD_BACKEND_CPU_FORM_BF16_H
#define HD_BACKEND_CPU_FORM_BF16_H

#include "backend/cpu/form/form.h"
#include "backend/cpu/vector.h"

/* k in whole steps. */
INLINE size_t bf16_deep(size_t k, size_t step)
{
    return (k + step - 1) / step * step;
}

/* Bytes of n columns in strips. */
INLINE size_t bf16_size(size_t n, size_t k, size_t strip, size_t step)
{
    return (n + strip - 1) / strip * strip * bf16_deep(k, step) * sizeof(uint16_t);
}

typedef struct place { /* c gets start + a b; a start_stride of 0 gives each row the same start */
    float *c;
    size_t c_stride;
    const float *start;
    size_t start_stride;
} place;

/* Of the tile at row i and column j, k from kb; zeros: as wide as a strip. */
INLINE place place_of(const hd_product *p, size_t i, size_t j, size_t kb, const float *zeros)
{
    float *c = p->c + i * p->c_stride + j;
    if (p->add || kb) return (place){c, p->c_stride, c, p->c_stride};
    return (place){c, p->c_stride, p->bias ? p->bias + j : zeros, 0};
}

#endif
