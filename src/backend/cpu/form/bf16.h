/* What forms of bf16 share that multiply by tiles: strips of b as deep as whole steps of the instruction. */
#ifndef HD_BACKEND_CPU_FORM_BF16_H
#define HD_BACKEND_CPU_FORM_BF16_H

#include "backend/cpu/form/form.h"
#include "backend/cpu/product/place.h"

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

#endif
