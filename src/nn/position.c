/* Sinusoidal positions. For an odd width the sines have one column more. */
#include "nn/position.h"

#include <math.h>
#include <string.h>

static double frequency(const hd_sinusoid *s, size_t i, size_t cols)
{
    double base = s->base > 0 ? s->base : 10000;
    return pow(base, -2 * ((double)i + s->first) / (double)cols);
}

void hd_sinusoid_fill(hd_real *out, size_t rows, size_t cols, const hd_sinusoid *s)
{
    size_t sines = (cols + 1) / 2;
    for (size_t t = 0; t < rows; t++)
        for (size_t c = 0; c < cols; c++) {
            bool cosine = s->halves ? c >= sines : c % 2;
            size_t i = s->halves ? (cosine ? c - sines : c) : c / 2;
            double angle = ((double)t + s->offset) * frequency(s, i, cols);
            out[t * cols + c] = (hd_real)(cosine ? cos(angle) : sin(angle));
        }
}

void hd_sinusoid_shift(hd_real *out, size_t cols, double by, const hd_sinusoid *s)
{
    memset(out, 0, cols * cols * sizeof *out);
    for (size_t i = 0; i < cols / 2; i++) { /* each pair of a sine and a cosine turns by its own angle */
        size_t sine = s->halves ? i : 2 * i, cosine = s->halves ? cols / 2 + i : 2 * i + 1;
        double angle = by * frequency(s, i, cols);
        out[sine * cols + sine] = out[cosine * cols + cosine] = (hd_real)cos(angle);
        out[sine * cols + cosine] = (hd_real)sin(angle);
        out[cosine * cols + sine] = (hd_real)-sin(angle);
    }
}
