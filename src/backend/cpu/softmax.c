/* Softmax and log-softmax over a row, and down the rows of a segment. A row that is -inf throughout gives
 * zeros (log: -inf), not NaN. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/exponent.h"

static void softmax_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_softmax_args *a = arg;
    size_t n = hd_cols_of(a->x);
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        hd_real *y = hd_row(a->y, r), max = hd_row_max(hd_row(a->x, r), n);
        const hd_real *x = hd_row(a->x, r);
        if (max == -INFINITY) {
            for (size_t i = 0; i < n; i++) y[i] = a->log ? -INFINITY : 0;
        } else if (a->log) {
            vec m = hd_set(max),
                l = hd_set(log((double)hd_row_exp_sum(
                    x, n, max))); /* one after the other: beside a large max the logarithm would be lost */
            HD_COLUMNS(n, { S(y, (L(x) - m) - l); });
        } else {
            hd_row_scale(y, n, 1 / hd_row_exp(y, x, n, max));
        }
    }
}

hd_status KERNEL(softmax)(hd_backend *b, const hd_softmax_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->x), hd_grain_rows(hd_cols_of(a->x)), softmax_part,
                (void *)a);
    return HD_OK;
}

/* dx = y (dy - sum(dy y)); of the logarithm: dx = dy - exp(y) sum(dy) */
static void softmax_back_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_softmax_back_args *a = arg;
    size_t n = hd_cols_of(a->y);
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        hd_real *dx = hd_row(a->dx, r);
        const hd_real *dy = hd_row(a->dy, r), *y = hd_row(a->y, r);
        vec sum = hd_set(0);
        HD_COLUMNS(n, { sum += a->log ? L(dy) : L(dy) * L(y); });
        vec s = hd_set(hd_sum(sum));
        HD_COLUMNS(n, {
            vec v = a->log ? L(dy) - hd_exp(L(y)) * s : L(y) * (L(dy) - s);
            S(dx, a->add ? L(dx) + v : v);
        });
    }
}

hd_status KERNEL(softmax_back)(hd_backend *b, const hd_softmax_back_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->y), hd_grain_rows(hd_cols_of(a->y)), softmax_back_part,
                (void *)a);
    return HD_OK;
}

static void segment_softmax_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_segment_softmax_args *a = arg;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        size_t from = (size_t)a->seg->begin[i], till = from + (size_t)a->seg->len[i];
        for (size_t c = 0; c < hd_cols_of(a->x); c++) {
            double max = -INFINITY, sum = 0;
            for (size_t r = from; r < till; r++)
                if ((double)hd_row(a->x, r)[c] > max) max = (double)hd_row(a->x, r)[c];
            bool any = max > -INFINITY; /* outside the loop: gcc 12 fails to compile it inside */
            for (size_t r = from; any && r < till; r++) sum += exp((double)hd_row(a->x, r)[c] - max);
            for (size_t r = from; r < till; r++) {
                double z = any ? (double)hd_row(a->x, r)[c] - max - log(sum) : -INFINITY;
                hd_row(a->y, r)[c] = (hd_real)(a->log ? z : exp(z));
            }
        }
    }
}

hd_status KERNEL(segment_softmax)(hd_backend *b, const hd_segment_softmax_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, a->seg->items, 1, segment_softmax_part, (void *)a);
    return HD_OK;
}

static void segment_softmax_back_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_segment_softmax_back_args *a = arg;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        size_t from = (size_t)a->seg->begin[i], till = from + (size_t)a->seg->len[i];
        for (size_t c = 0; c < hd_cols_of(a->y); c++) {
            double sum = 0;
            for (size_t r = from; r < till; r++)
                sum += (double)(hd_row(a->dy, r)[c] * (a->log ? 1 : hd_row(a->y, r)[c]));
            for (size_t r = from; r < till; r++) {
                double y = (double)hd_row(a->y, r)[c], dy = (double)hd_row(a->dy, r)[c];
                double v = a->log ? dy - exp(y) * sum : y * (dy - sum);
                hd_row(a->dx, r)[c] = (hd_real)(v + (a->add ? (double)hd_row(a->dx, r)[c] : 0));
            }
        }
    }
}

hd_status KERNEL(segment_softmax_back)(hd_backend *b, const hd_segment_softmax_back_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, a->seg->items, a->seg->overlap ? a->seg->items : 1,
                segment_softmax_back_part, (void *)a);
    return HD_OK;
}
