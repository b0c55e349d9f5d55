/* The Fourier transform of frames. Since cos(2 pi k n / N) is the same for n and N - n, and the sine its
   opposite, a frame is folded first: sums of both ends for the cosines, differences for the sines, which
   halves the products. Frames are taken ROWS at a time, the missing ones of the last as zeros, so that each
   is summed in the same order. */
#include "data/sound/spectrum.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

enum { LANES = 4, VECTORS = 4, COLUMNS = LANES * VECTORS, ROWS = 4 };

typedef float vec __attribute__((vector_size(LANES * sizeof(float))));

hd_status hd_spectrum_init(hd_spectrum *s, size_t size, hd_err *err)
{
    *s = (hd_spectrum){.size = size, .bins = size / 2 + 1, .half = size / 2 + 1};
    s->blocks = (s->bins + COLUMNS - 1) / COLUMNS;
    const size_t count = s->blocks * COLUMNS * s->half;
    s->cosine = hd_mem_array(count, sizeof *s->cosine);
    s->sine = hd_mem_array(count, sizeof *s->sine);
    if (!s->cosine || !s->sine) {
        hd_spectrum_release(s);
        return hd_err_nomem(err, count * sizeof *s->sine);
    }
    for (size_t n = 0; n < s->half; n++)
        for (size_t k = 0; k < s->bins; k++) {
            const size_t at = (k / COLUMNS * s->half + n) * COLUMNS + k % COLUMNS;
            const double turn = 2 * M_PI * (double)(k * n % size) / (double)size;
            s->cosine[at] = (float)cos(turn);
            s->sine[at] = (float)sin(turn);
        }
    return HD_OK;
}

void hd_spectrum_release(hd_spectrum *s)
{
    hd_mem_free(s->cosine);
    hd_mem_free(s->sine);
    *s = (hd_spectrum){0};
}

size_t hd_spectrum_scratch(const hd_spectrum *s)
{
    return 2 * HD_SPECTRUM_FRAMES * s->half;
}

static void fold(const hd_spectrum *s, const float *x, float *sum, float *difference)
{
    const size_t n = s->size;
    sum[0] = x[0], difference[0] = 0;
    for (size_t i = 1; i < s->half; i++) {
        const float other = 2 * i == n ? 0 : x[n - i];
        sum[i] = x[i] + other;
        difference[i] = 2 * i == n ? 0 : x[i] - other;
    }
}

/* ROWS folded frames times a block of COLUMNS bins. */
static void product(vec to[ROWS][VECTORS], const float *a, size_t half, const float *b)
{
    vec sum[ROWS][VECTORS] = {0};
    for (size_t k = 0; k < half; k++, b += COLUMNS) {
        vec column[VECTORS];
        memcpy(column, b, sizeof column);
        for (int r = 0; r < ROWS; r++)
            for (int v = 0; v < VECTORS; v++) sum[r][v] += a[(size_t)r * half + k] * column[v];
    }
    memcpy(to, sum, sizeof sum);
}

static void power_of(const hd_spectrum *s, float *power, const float *sum, const float *difference,
                     size_t rows, size_t block)
{
    const size_t first = block * COLUMNS, left = s->bins - first, count = left < COLUMNS ? left : COLUMNS;
    vec real[ROWS][VECTORS], imaginary[ROWS][VECTORS];
    float value[COLUMNS];
    product(real, sum, s->half, s->cosine + first * s->half);
    product(imaginary, difference, s->half, s->sine + first * s->half);
    for (size_t r = 0; r < rows; r++) {
        for (int v = 0; v < VECTORS; v++)
            real[r][v] = real[r][v] * real[r][v] + imaginary[r][v] * imaginary[r][v];
        memcpy(value, real[r], sizeof value);
        memcpy(power + r * s->bins + first, value, count * sizeof *power);
    }
}

void hd_spectrum_power(const hd_spectrum *s, float *power, const float *frame, size_t frames, float *scratch)
{
    float *sum = scratch, *difference = scratch + HD_SPECTRUM_FRAMES * s->half;
    const size_t filled = (frames + ROWS - 1) / ROWS * ROWS;
    for (size_t i = 0; i < frames; i++)
        fold(s, frame + i * s->size, sum + i * s->half, difference + i * s->half);
    memset(sum + frames * s->half, 0, (filled - frames) * s->half * sizeof *sum);
    memset(difference + frames * s->half, 0, (filled - frames) * s->half * sizeof *sum);
    for (size_t block = 0; block < s->blocks; block++)
        for (size_t i = 0; i < frames; i += ROWS)
            power_of(s, power + i * s->bins, sum + i * s->half, difference + i * s->half,
                     frames - i < ROWS ? frames - i : ROWS, block);
}
