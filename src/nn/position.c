/* Sinusoidal positions. For an odd width the sines have one column more. */
#include "nn/position.h"

#include <math.h>

void hd_sinusoid_fill(hd_real *out, size_t rows, size_t cols, const hd_sinusoid *s)
{
    double base = s->base > 0 ? s->base : 10000;
    size_t sines = (cols + 1) / 2;
    for (size_t t = 0; t < rows; t++)
        for (size_t c = 0; c < cols; c++) {
            bool cosine = s->halves ? c >= sines : c % 2;
            size_t i = s->halves ? (cosine ? c - sines : c) : c / 2;
            double angle = ((double)t + s->offset) * pow(base, -2 * ((double)i + s->first) / (double)cols);
            out[t * cols + c] = (hd_real)(cosine ? cos(angle) : sin(angle));
        }
}
