/* Dynamic time warping and the median filter before it, as Whisper has them. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "task/transcribe/whisper/align.h"

/* -- the path -- */

enum { BOTH, ROW, COLUMN }; /* what a step goes on by */

/* Sums are float, as in the published code, so that equal costs part at the same places. */
static void fill(float *sum, uint8_t *step, const double *cost, size_t rows, size_t cols)
{
    size_t wide = cols + 1;
    for (size_t i = 0; i < (rows + 1) * wide; i++) sum[i] = INFINITY;
    sum[0] = 0;
    for (size_t j = 1; j <= cols; j++)
        for (size_t i = 1; i <= rows; i++) {
            float both = sum[(i - 1) * wide + j - 1], row = sum[(i - 1) * wide + j],
                  column = sum[i * wide + j - 1];
            int way = both < row && both < column ? BOTH : row < both && row < column ? ROW : COLUMN;
            float before = way == BOTH ? both : way == ROW ? row : column;
            sum[i * wide + j] = (float)(cost[(i - 1) * cols + j - 1] + (double)before);
            step[i * wide + j] = (uint8_t)way;
        }
    for (size_t j = 0; j <= cols; j++) step[j] = COLUMN;
    for (size_t i = 0; i <= rows; i++) step[i * wide] = ROW;
}

hd_status hd_time_warp(int32_t *to, const double *cost, size_t rows, size_t cols, hd_err *err)
{
    size_t cells;
    if (!rows || !cols) return HD_OK;
    if (!hd_size_mul(rows + 1, cols + 1, &cells))
        return hd_err_set(err, HD_ELIMIT, "too many tokens to align");
    float *sum = hd_mem_array(cells, sizeof *sum);
    uint8_t *step = hd_mem_array(cells, sizeof *step);
    hd_status s = sum && step ? HD_OK : hd_err_nomem(err, cells * sizeof *sum);
    if (!s) {
        fill(sum, step, cost, rows, cols);
        for (size_t i = rows, j = cols; i || j;) {
            if (i)
                to[i - 1] = j ? (int32_t)(j - 1) : 0; /* the last that is written is where the row begins */
            int way = step[i * (cols + 1) + j];
            i -= way != COLUMN, j -= way != ROW;
        }
    }
    hd_mem_free(sum);
    hd_mem_free(step);
    return s;
}

/* -- the filter -- */

static double median(double *x, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double one = x[i];
        size_t j = i;
        for (; j && x[j - 1] > one; j--) x[j] = x[j - 1];
        x[j] = one;
    }
    return x[n / 2];
}

hd_status hd_median_filter(double *x, size_t n, size_t width, hd_err *err)
{
    size_t half = width / 2;
    if (n <= half) return HD_OK;
    double *copy = hd_mem_array(n + width, sizeof *copy), *window = copy + n;
    if (!copy) return hd_err_nomem(err, (n + width) * sizeof *copy);
    memcpy(copy, x, n * sizeof *copy);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < width; k++) {
            size_t at = i + k;
            size_t from = at < half ? half - at : at - half;
            window[k] = copy[from < n ? from : 2 * (n - 1) - from];
        }
        x[i] = median(window, width);
    }
    hd_mem_free(copy);
    return HD_OK;
}
