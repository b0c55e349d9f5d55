/* The best scores of an output layer in int8 are computed again from its values: whoever takes the best FEW
   or fewer of a row gets those of the layer in f32. Which columns that takes is decided by how far products
   of int8 err: roundings are evenly spread over a step, so that an error has the variance of a step, squared
   and divided by 12, for each number that was rounded, times the square of what it meets. Columns whose score
   is behind that of the FEW-th by DEVIATIONS of the difference of two such errors cannot be among the best.
   Sums have one order on all machines: 16 of them, then in pairs. */
#include "backend/cpu/best.h"
#include "backend/cpu/form/form.h"

#ifdef HD_REAL_DOUBLE
hd_status KERNEL(rescore)(hd_backend *b, const hd_rescore_args *a)
{
    (void)b, (void)a;
    return HD_OK;
}
#else
#include "backend/cpu/form/int8_rows.h"

enum { FEW = 16, DEVIATIONS = 6, LANES = 16 };

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

typedef struct rescoring {
    const hd_rescore_args *a;
    hd_cpu *cpu;
    float step; /* the largest scale of a column */
} rescoring;

/* No products are joined with sums (-ffp-contract=off): only some machines could do that. */
static float exact(const float *x, const float *w, size_t k)
{
    lanes sum = {0};
    size_t l = 0;
    for (; l + LANES <= k; l += LANES) sum += *(const lanes *)(x + l) * *(const lanes *)(w + l);
    float s[LANES]; /* indexed, sum would not stay in registers */
    memcpy(s, &sum, sizeof s);
    for (size_t i = 0; l + i < k; i++) s[i] += x[l + i] * w[l + i];
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) s[i] += s[i + half];
    return s[0];
}

/* How far the score of a column may be behind another that it might pass. Weights are taken to be spread
   evenly up to the largest, at the most. */
static float margin(const float *x, size_t k, float step, int8_t *lines)
{
    const size_t all = int8_up(k, INT8_CHUNK);
    const hd_int8_scale scale = hd_int8_scale_of(x, NULL, k);
    const size_t count = int8_lines(lines, all, x, k, scale);
    const double squares = int8_squares(lines, all);
    double of_rows = (double)HD_INT8_MOST * HD_INT8_MOST * (double)k / 3;
    if (count > 1) of_rows /= (double)HD_INT8_PARTS * HD_INT8_PARTS;
    return (float)(DEVIATIONS * sqrt((squares + of_rows) / 6) * (double)scale.scale * (double)step);
}

/* Columns of y from `least` on, and their number. */
static size_t find(int32_t *ids, const float *y, size_t n, float least)
{
    size_t count = 0;
    for (size_t c = 0; (c = hd_row_next(y, c, n, least, false)) < n; c++)
        if (y[c] >= least) ids[count++] = (int32_t)c;
    return count;
}

/* The FEW-th largest of some columns, or the smallest of fewer. */
static float find_last(const float *y, const int32_t *ids, size_t count)
{
    float best[FEW];
    for (int i = 0; i < FEW; i++) best[i] = -INFINITY;
    for (size_t i = 0; i < count; i++) hd_best_add(best, FEW, y[ids[i]]);
    return best[FEW - 1];
}

static void rescore_row(const rescoring *s, size_t row, int32_t *ids, int8_t *lines)
{
    const hd_rescore_args *a = s->a;
    const hd_columns *c = a->columns ? a->columns[row] : NULL;
    const size_t n = c ? c->count : hd_cols_of(a->y), k = hd_cols_of(a->x);
    const float *x = hd_row(a->x, row), *bias = a->bias ? a->bias->data : NULL,
                behind = margin(x, k, s->step, lines);
    float *y = hd_row(a->y, row);
    const size_t count = find(ids, y, n, hd_row_reached(y, n, FEW) - behind);
    const float least = find_last(y, ids, count) - behind;
    for (size_t i = 0; i < count; i++)
        if (y[ids[i]] >= least) {
            const size_t output = c ? (size_t)c->id[ids[i]] : (size_t)ids[i];
            y[ids[i]] = exact(x, hd_row(a->w, output), k) + (bias ? bias[output] : 0);
        }
}

static size_t scratch_of(size_t n, size_t k)
{
    return n * sizeof(int32_t) + 2 * int8_up(k, INT8_CHUNK);
}

static void rescore_part(void *arg, size_t begin, size_t end, int worker)
{
    const rescoring *s = arg;
    int32_t *ids = (int32_t *)(s->cpu->scratch + (size_t)worker * s->cpu->scratch_each);
    for (size_t row = begin; row < end; row++)
        rescore_row(s, row, ids, (int8_t *)(ids + hd_cols_of(s->a->y)));
}

/* Packed weights of int8 begin with the scales of their columns. */
static float largest(const float *scale, size_t n)
{
    float most = 0;
    for (size_t j = 0; j < n; j++) most = scale[j] > most ? scale[j] : most;
    return most;
}

hd_status KERNEL(rescore)(hd_backend *b, const hd_rescore_args *a)
{
    hd_cpu *cpu = (hd_cpu *)b;
    const size_t n = hd_cols_of(a->y), k = hd_cols_of(a->x);
    if (cpu->form->stores != HD_I8 || !a->w->prepared || !a->w->data || hd_rows_of(a->w) <= FEW) return HD_OK;
    if (!hd_cpu_scratch(cpu, scratch_of(n, k))) return HD_ENOMEM;
    rescoring s = {a, cpu, largest(a->w->prepared, hd_rows_of(a->w))};
    hd_team_run(cpu->team, hd_rows_of(a->y), hd_grain_rows(n), rescore_part, &s);
    return HD_OK;
}
#endif
