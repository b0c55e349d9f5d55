/* Matrices by hand. */
#include "lab/desk.h"

#include <math.h>
#include <string.h>

hd_tensor *hd_desk_rows(hd_run *r, size_t rows, size_t cols, const double *x)
{
    hd_real *host = hd_host_take(r, rows * cols * sizeof *host);
    for (size_t i = 0; host && i < rows * cols; i++) host[i] = (hd_real)x[i];
    return host ? hd_from(r, rows, cols, host) : NULL;
}

hd_tensor *hd_desk_normal(hd_run *r, size_t rows, size_t cols, hd_rng *rng)
{
    hd_real *host = hd_host_take(r, rows * cols * sizeof *host);
    for (size_t i = 0; host && i < rows * cols; i++) host[i] = (hd_real)hd_rng_normal(rng);
    return host ? hd_from(r, rows, cols, host) : NULL;
}

hd_tensor *hd_desk_unit(hd_run *r, size_t n)
{
    hd_real *host = hd_host_take(r, n * n * sizeof *host);
    for (size_t i = 0; host && i < n; i++) host[i * n + i] = 1;
    return host ? hd_from(r, n, n, host) : NULL;
}

hd_rows hd_desk_item(hd_run *r, hd_tensor *t)
{
    return (hd_rows){t, t ? hd_seg_of(r, (int32_t[]){(int32_t)hd_rows_of(t)}, 1, NULL) : NULL};
}

static const hd_real *host_of(hd_run *r, const hd_tensor *t)
{
    hd_real *host = t ? hd_host_take(r, hd_count_of(t) * sizeof *host) : NULL;
    return host && hd_read(r, t, host) ? host : NULL;
}

void hd_desk_read(double *to, hd_run *r, const hd_tensor *t)
{
    const hd_real *host = host_of(r, t);
    for (size_t i = 0; t && i < hd_count_of(t); i++) to[i] = host ? (double)host[i] : (double)NAN;
}

void hd_desk_best(int32_t *to, hd_run *r, hd_tensor *scores)
{
    hd_tensor *best = hd_argmax(r, scores);
    if (best) r->backend->download(r->backend, to, best->data, hd_count_of(best) * sizeof *to);
}

double hd_desk_gap(hd_run *r, const hd_tensor *a, const hd_tensor *b)
{
    const hd_real *x = host_of(r, a), *y = host_of(r, b);
    double most = x && y && hd_count_of(a) == hd_count_of(b) ? 0 : (double)NAN;
    for (size_t i = 0; !isnan(most) && i < hd_count_of(a); i++)
        most = fmax(most, fabs((double)x[i] - (double)y[i]));
    return most;
}

double hd_desk_gap_to(hd_run *r, const hd_tensor *a, const double *b)
{
    return a ? hd_desk_gap(r, a, hd_desk_rows(r, hd_rows_of(a), hd_cols_of(a), b)) : (double)NAN;
}

/* -- attention -- */

typedef struct wanted {
    const char *name;
    double *to;
} wanted;

static void take(void *context, hd_run *r, const hd_offer *offer)
{
    const wanted *w = context;
    const hd_real *host = strcmp(offer->name, w->name) ? NULL : host_of(r, offer->t);
    size_t heads = hd_cols_of(offer->t), pairs = hd_rows_of(offer->t);
    for (size_t h = 0; host && h < heads; h++)
        for (size_t i = 0; i < pairs; i++) w->to[h * pairs + i] = (double)host[i * heads + h];
}

hd_tensor *hd_desk_attend(hd_run *r, hd_tensor *q, hd_tensor *k, hd_tensor *v, const hd_attend_opt *o,
                          const char *name, double *to)
{
    wanted w = {name, to};
    const hd_probe probe = {.take = take, .context = &w}, *before = r->probe;
    r->probe = &probe;
    hd_tensor *y = hd_attend(r, hd_desk_item(r, q), hd_desk_item(r, k), hd_desk_item(r, v), o).t;
    r->probe = before;
    return y;
}
