/* What the tests of ops and backends share: cmocka with what it needs before it, a run on a backend of its
 * own, random numbers, segments by hand. */
#ifndef CHECK_H
#define CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "op/op.h"

#define CHECK_UNUSED    __attribute__((unused))
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

CHECK_UNUSED static hd_backend *backend_of(const char *name, int threads)
{
    hd_err err = {0};
    hd_backend *b = NULL;
    if (hd_backend_new(&b, name, &(hd_backend_opt){.threads = threads}, &err)) fail_msg("%s", err.text);
    return b;
}

CHECK_UNUSED static hd_run run_on(hd_backend *b)
{
    hd_err err = {0};
    hd_run r;
    if (hd_run_init(&r, b, &err)) fail_msg("%s", err.text);
    r.now.seed = 20240229, r.now.number = 3;
    return r;
}

/* Ends the test with the run's message when an op failed. */
CHECK_UNUSED static void assert_run_ok(const hd_run *r)
{
    if (r->err.status) fail_msg("%s: %s", hd_status_text(r->err.status), r->err.text);
}

/* Step memory holds NaN wherever an op does not write: whoever reads before writing is found out. */
CHECK_UNUSED static void poison_step(hd_run *r, size_t bytes)
{
    hd_arena_mark here = hd_arena_here(&r->step);
    void *block = hd_step_take(r, bytes);
    assert_non_null(block);
    memset(block, 0xFF, bytes);
    hd_arena_rewind(&r->step, here);
}

CHECK_UNUSED static void fill_normal(hd_real *x, size_t count, double spread, uint64_t seed)
{
    hd_rng rng = hd_rng_make(seed, 1);
    for (size_t i = 0; i < count; i++) x[i] = (hd_real)(spread * hd_rng_normal(&rng));
}

CHECK_UNUSED static hd_tensor *random_rows(hd_run *r, size_t rows, size_t cols, double spread, uint64_t seed)
{
    hd_real *host = malloc((rows * cols + 1) * sizeof *host);
    fill_normal(host, rows * cols, spread, seed);
    hd_tensor *t = hd_from(r, rows, cols, host);
    free(host);
    return t;
}

/* Copies t (dense or a view) to new host memory; the caller frees it. */
CHECK_UNUSED static hd_real *host_copy(hd_run *r, const hd_tensor *t)
{
    assert_run_ok(r);
    assert_non_null(t);
    hd_real *host = malloc((hd_count_of(t) + 1) * sizeof *host);
    assert_true(hd_read(r, t, host));
    return host;
}

/* Segments anywhere in `rows` rows: with gaps, where some rows have no item, or overlapping, where no row has
 * a single one. */
CHECK_UNUSED static hd_seg *seg_at(hd_run *r, const int32_t *begin, const int32_t *len, size_t items,
                                   size_t rows, bool overlap)
{
    hd_seg *s = hd_host_take(r, sizeof *s);
    int32_t *item = hd_host_take(r, (2 * rows + 1) * sizeof *item);
    if (!s || !item) return NULL;
    int32_t *pos = item + rows;
    size_t longest = 0;
    for (size_t i = 0; i < rows; i++) item[i] = -1;
    for (size_t i = 0; i < items; i++) {
        for (int32_t j = 0; j < len[i]; j++) item[begin[i] + j] = (int32_t)i, pos[begin[i] + j] = j;
        if ((size_t)len[i] > longest) longest = (size_t)len[i];
    }
    *s = (hd_seg){.begin = hd_ints(r, begin, items),
                  .len = hd_ints(r, len, items),
                  .items = items,
                  .rows = rows,
                  .longest = longest,
                  .overlap = overlap};
    if (!overlap) s->item = hd_ints(r, item, rows), s->pos = hd_ints(r, pos, rows);
    return s;
}

/* The distance of y from x as a part of the length of x. */
CHECK_UNUSED static double relative_error(const hd_real *x, const hd_real *y, size_t count)
{
    double length = 0, error = 0;
    for (size_t i = 0; i < count; i++) {
        length += (double)x[i] * (double)x[i];
        error += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    }
    return sqrt(error / length);
}

#endif
