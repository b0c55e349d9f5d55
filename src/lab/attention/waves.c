/* Sinusoids, measured. */
#include "lab/attention/waves.h"

#include <math.h>

#include "base/mem.h"
#include "nn/position.h"

enum { POSITIONS = 600, FAR = HD_WAVES_FAR, SHIFTED = 17 };

static double dot(const hd_real *a, const hd_real *b, size_t d)
{
    double sum = 0;
    for (size_t i = 0; i < d; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

/* By differences: those of products of vectors this near lose most digits. */
static double distance(const hd_real *a, const hd_real *b, size_t d)
{
    double sum = 0;
    for (size_t i = 0; i < d; i++) sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sqrt(sum);
}

static void measure(hd_waves *t, hd_real *p, hd_real *m)
{
    const hd_sinusoid s = {.first = t->first};
    const size_t d = t->d;
    hd_sinusoid_fill(p, POSITIONS, d, &s);
    hd_sinusoid_shift(m, d, SHIFTED, &s);
    t->norm[0] = t->nearest = (double)INFINITY, t->norm[1] = t->shift = t->apart = 0, t->falls_to = 0;
    for (size_t k = 0; k <= FAR; k++) t->product[k] = dot(p, p + k * d, d);
    for (size_t i = 0; i < POSITIONS; i++) {
        double square = dot(p + i * d, p + i * d, d);
        t->norm[0] = fmin(t->norm[0], square), t->norm[1] = fmax(t->norm[1], square);
        if (i) t->nearest = fmin(t->nearest, distance(p, p + i * d, d));
        for (size_t k = 0; k <= FAR && i + k < POSITIONS; k += 20)
            t->apart = fmax(t->apart, fabs(dot(p + i * d, p + (i + k) * d, d) - t->product[k]));
        for (size_t c = 0; i % 40 == 0 && c < d; c++)
            t->shift = fmax(t->shift, fabs(dot(m + c * d, p + i * d, d) - (double)p[(i + SHIFTED) * d + c]));
    }
    for (int k = 0; !t->falls_to && k < FAR; k++)
        if (fabs(t->product[k]) <= fabs(t->product[k + 1])) t->falls_to = k;
}

hd_status hd_waves_measure(hd_waves *w, hd_err *err)
{
    const size_t count = (POSITIONS + w->d) * w->d;
    hd_real *p = hd_mem_array(count, sizeof *p);
    if (!p) return hd_err_nomem(err, count * sizeof *p);
    measure(w, p, p + POSITIONS * w->d);
    hd_mem_free(p);
    return HD_OK;
}
