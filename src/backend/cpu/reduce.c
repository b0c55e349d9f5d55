/* Reductions of a segment to one row. Items are split over workers; if segments overlap, backward runs on
   one. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vector.h"

static void maximum(const hd_reduce_args *a, size_t i, size_t from, size_t len, size_t n)
{
    hd_real *y = hd_row(a->y, i);
    int32_t *which = a->which ? (int32_t *)a->which->data + i * a->which->stride : NULL;
    for (size_t c = 0; c < n; c++) {
        size_t best = 0;
        for (size_t j = 1; j < len; j++)
            if (hd_row(a->x, from + j)[c] > hd_row(a->x, from + best)[c]) best = j;
        y[c] = len ? hd_row(a->x, from + best)[c] : 0;
        if (which) which[c] = len ? (int32_t)(from + best) : -1;
    }
}

static void reduce_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_reduce_args *a = arg;
    size_t n = hd_cols_of(a->x);
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        hd_real *y = hd_row(a->y, i);
        size_t from = (size_t)a->seg->begin[i], len = (size_t)a->seg->len[i];
        if (a->kind == HD_MAX) {
            maximum(a, i, from, len, n);
            continue;
        }
        memset(y, 0, n * sizeof *y);
        if (!len) continue;
        if (a->kind == HD_FIRST || a->kind == HD_LAST) {
            memcpy(y, hd_row(a->x, a->kind == HD_FIRST ? from : from + len - 1), n * sizeof *y);
            continue;
        }
        for (size_t j = 0; j < len; j++) {
            const hd_real *x = hd_row(a->x, from + j);
            HD_COLUMNS(n, { S(y, L(y) + L(x)); });
        }
        if (a->kind == HD_MEAN)
            for (size_t c = 0; c < n; c++) y[c] /= (hd_real)len;
    }
}

hd_status KERNEL(reduce)(hd_backend *b, const hd_reduce_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, a->seg->items, 1, reduce_part, (void *)a);
    return HD_OK;
}

static void reduce_back_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_reduce_back_args *a = arg;
    size_t n = hd_cols_of(a->dx);
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        const hd_real *dy = hd_row(a->dy, i);
        size_t from = (size_t)a->seg->begin[i], len = (size_t)a->seg->len[i], first = from, count = len;
        if (!len) continue;
        if (a->kind == HD_MAX) {
            const int32_t *which = (const int32_t *)a->which->data + i * a->which->stride;
            for (size_t c = 0; c < n; c++) hd_row(a->dx, (size_t)which[c])[c] += dy[c];
            continue;
        }
        if (a->kind == HD_LAST) first = from + len - 1;
        if (a->kind == HD_FIRST || a->kind == HD_LAST) count = 1;
        vec k = hd_set(a->kind == HD_MEAN ? 1.0 / (double)len : 1);
        for (size_t r = first; r < first + count; r++) {
            hd_real *dx = hd_row(a->dx, r);
            HD_COLUMNS(n, { S(dx, L(dx) + k * L(dy)); });
        }
    }
}

hd_status KERNEL(reduce_back)(hd_backend *b, const hd_reduce_back_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, a->seg->items, a->seg->overlap ? a->seg->items : 1, reduce_back_part,
                (void *)a);
    return HD_OK;
}
