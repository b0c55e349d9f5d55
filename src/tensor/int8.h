/* How a row of numbers becomes whole numbers of 8 bits, in files and in products: its scale is max|x| / 127,
   and its numbers are multiplied by 127 / max|x| and rounded to nearest even. Before that the numbers of a
   weight are divided, and those of its inputs multiplied, by the factors of their columns: what is small in
   all rows of a weight, where inputs are often large, would otherwise have a few steps. A row may have a
   second line, of what the first left over in 254ths of a step: x = scale * (first + second / 254). Whoever
   does that with vectors gets the same bits. */
#ifndef HD_TENSOR_INT8_H
#define HD_TENSOR_INT8_H

#include <math.h>
#include <string.h>

#include "tensor/tensor.h"

enum {
    HD_INT8_MOST = 127,
    HD_INT8_PARTS = 254,  /* of a step, in second lines */
    HD_INT8_NARROW = 384, /* rows or columns, at most, of weights that have them if all that a model answers
                             is vectors */
};

typedef struct hd_int8_scale {
    float scale, inverse; /* 0: all numbers become zeros; scale NAN: one of the row is not finite */
} hd_int8_scale;

/* A number of a weight in the column of this factor, or of one without. */
static inline float hd_int8_divided(hd_real x, const float *column)
{
    return column ? (float)x / *column : (float)x;
}

/* Absolute values are in order as their bits are; those of infinity and NaN are largest. */
static inline uint32_t hd_int8_larger(uint32_t most, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= 0x7fffffff;
    return bits > most ? bits : most;
}

/* Of a row whose largest absolute value has these bits. */
static inline hd_int8_scale hd_int8_scale_up_to(uint32_t most)
{
    float max;
    memcpy(&max, &most, sizeof max);
    if (most >= 0x7f800000) return (hd_int8_scale){NAN, 0};
    if (max < 0x1p-110f) return (hd_int8_scale){0, 0}; /* 127 / max stays finite */
    return (hd_int8_scale){max / HD_INT8_MOST, HD_INT8_MOST / max};
}

/* Of a row of a weight whose columns have factors, or NULL. */
static inline hd_int8_scale hd_int8_scale_of(const hd_real *row, const float *columns, size_t k)
{
    uint32_t most = 0;
    for (size_t i = 0; i < k; i++)
        most = hd_int8_larger(most, hd_int8_divided(row[i], columns ? columns + i : NULL));
    return hd_int8_scale_up_to(most);
}

static inline int8_t hd_int8_rounded(float x, float inverse)
{
    return (int8_t)rintf(x * inverse);
}

/* Of its second line: what is left over is one fused multiply-add, since two roundings would be others where
   a compiler joins them. */
static inline int8_t hd_int8_left(float x, float inverse, int8_t first)
{
    return (int8_t)rintf(__builtin_fmaf(x, inverse, -(float)first) * HD_INT8_PARTS);
}

/* Lowers `columns` [k] to the factors of w [rows, k]: the root of a column's mean square, in shares of the
   mean of all columns, to the power of 3/4. That is what evened out weights best while inputs, of which
   nothing is known, kept theirs. Products of several matrices have the least factor of any of them. All
   machines give the same bits. `sums` [k] is scratch. */
void hd_int8_columns(float *columns, const hd_real *w, size_t stride, size_t rows, size_t k, double *sums);

#endif
