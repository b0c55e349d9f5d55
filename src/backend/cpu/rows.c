/* Rows moved about: gather, scatter, appending to a cache, folding. Scatter-add splits by columns, not rows,
   so that each element is summed by one worker in the order of the index. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vector.h"

static void gather_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_gather_args *a = arg;
    size_t n = hd_cols_of(a->y), rows = hd_rows_of(a->x);
    vec scale = hd_set(a->scale);
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        hd_real *y = hd_row(a->y, r);
        int32_t i = a->index[r];
        if (i < 0 || (size_t)i >= rows) {
            if (!a->add) memset(y, 0, n * sizeof *y);
            continue;
        }
        const hd_real *x = hd_row(a->x, (size_t)i);
        if (a->scale == 1 && !a->add)
            memcpy(y, x, n * sizeof *y);
        else
            HD_COLUMNS(n, {
                vec v = scale * L(x);
                S(y, a->add ? L(y) + v : v);
            });
    }
}

hd_status KERNEL(gather)(hd_backend *b, const hd_gather_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->y), hd_grain_rows(hd_cols_of(a->y)), gather_part,
                (void *)a);
    return HD_OK;
}

enum { LINE = 16 }; /* columns that stay together, so that workers do not share cache lines */

static void scatter_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_scatter_args *a = arg;
    size_t rows = hd_rows_of(a->y), from = begin * LINE, cols = hd_cols_of(a->y);
    size_t n = (end * LINE < cols ? end * LINE : cols) - from;
    vec scale = hd_set(a->scale);
    (void)worker;
    for (size_t r = 0; r < hd_rows_of(a->x); r++) {
        int32_t i = a->index[r];
        if (i < 0 || (size_t)i >= rows) continue;
        hd_real *y = hd_row(a->y, (size_t)i) + from;
        const hd_real *x = hd_row(a->x, r) + from;
        HD_COLUMNS(n, {
            vec v = scale * L(x);
            S(y, a->add ? L(y) + v : v);
        });
    }
}

hd_status KERNEL(scatter)(hd_backend *b, const hd_scatter_args *a)
{
    size_t lines = (hd_cols_of(a->y) + LINE - 1) / LINE;
    hd_team_run(((hd_cpu *)b)->team, lines, 1 + HD_GRAIN / (LINE * hd_rows_of(a->x) + 1), scatter_part,
                (void *)a);
    return HD_OK;
}

/* Where row `at` of item i lies in a cache. */
static size_t cache_row(const hd_append_args *a, size_t i, int32_t at)
{
    const int32_t *page = a->page ? a->page + i * a->pages : NULL;
    return page ? (size_t)(page[at / HD_PAGE_ROWS] * HD_PAGE_ROWS + at % HD_PAGE_ROWS)
                : (size_t)(a->begin[i] + at);
}

static void append_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_append_args *a = arg;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        for (int32_t j = 0; j < a->from->len[i]; j++)
            memcpy(hd_row(a->y, cache_row(a, i, (a->len ? a->len[i] : 0) + j)),
                   hd_row(a->x, (size_t)(a->from->begin[i] + j)), hd_cols_of(a->x) * sizeof(hd_real));
        if (a->advance) a->len[i] += a->from->len[i];
    }
}

hd_status KERNEL(append)(hd_backend *b, const hd_append_args *a)
{
    size_t each = a->from->longest * hd_cols_of(a->x) + 1; /* numbers of an item, at most */
    hd_team_run(((hd_cpu *)b)->team, a->from->items, 1 + HD_GRAIN / each, append_part, (void *)a);
    return HD_OK;
}

hd_status KERNEL(fold)(hd_backend *b, const hd_fold_args *a)
{
    size_t n = hd_cols_of(a->x), k = (size_t)a->k;
    (void)b;
    for (size_t i = 0; i < a->from->items; i++)
        for (size_t q = 0; q < (size_t)a->to->len[i]; q++) {
            hd_real *wide = hd_row(a->y, (size_t)a->to->begin[i] + q);
            for (size_t j = 0; j < k; j++, wide += n) {
                size_t at = q * k + j;
                bool inside = at < (size_t)a->from->len[i];
                hd_real *x = hd_row(a->x, (size_t)a->from->begin[i] + (inside ? at : 0));
                if (!a->back && inside)
                    memcpy(wide, x, n * sizeof *x);
                else if (!a->back)
                    memset(wide, 0, n * sizeof *x);
                else if (inside)
                    HD_COLUMNS(n, { S(x, L(x) + L(wide)); });
            }
        }
    return HD_OK;
}
