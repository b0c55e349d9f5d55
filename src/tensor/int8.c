/* The factors of columns. Squares of floats are exact in double, and roots are rounded rightly everywhere. */
#include "tensor/int8.h"

/* Of a column whose numbers are so much smaller than those of others that they say nothing. */
#define LEAST 0x1p-10

void hd_int8_columns(float *columns, const hd_real *w, size_t stride, size_t rows, size_t k, double *sums)
{
    double mean = 0;
    memset(sums, 0, k * sizeof *sums);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < k; c++) {
            const double x = (double)(float)w[r * stride + c];
            sums[c] += x * x;
        }
    for (size_t c = 0; c < k; c++) mean += sqrt(sums[c]);
    mean /= (double)k;
    for (size_t c = 0; c < k; c++) {
        const double share = mean > 0 && isfinite(mean) ? sqrt(sums[c]) / mean : 1,
                     root = sqrt(share > LEAST ? share : LEAST);
        const float factor = (float)(root * sqrt(root));
        columns[c] = factor < columns[c] ? factor : columns[c];
    }
}
