/* What the tests of the lectures' small examples share: a run on the CPU, tensors from tables of numbers, and
   a comparison that names the example. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "op/op.h"

enum { GOLDEN_MOST = 4096 };

typedef struct golden {
    hd_backend *backend;
    hd_run run;
} golden;

static inline golden golden_start(void)
{
    golden g = {0};
    hd_err err = {0};
    if (hd_backend_new(&g.backend, "cpu", &(hd_backend_opt){.threads = 2}, &err)) fail_msg("%s", err.text);
    if (hd_run_init(&g.run, g.backend, &err)) fail_msg("%s", err.text);
    hd_run_begin(&g.run, HD_INFERENCE);
    return g;
}

static inline void golden_stop(golden *g)
{
    hd_run_release(&g->run);
    hd_backend_free(g->backend);
}

/* [rows, cols] from numbers in row order. */
static inline hd_tensor *golden_rows(hd_run *r, size_t rows, size_t cols, const double *x)
{
    hd_real host[GOLDEN_MOST];
    assert_true(rows * cols <= GOLDEN_MOST);
    for (size_t i = 0; i < rows * cols; i++) host[i] = (hd_real)x[i];
    return hd_from(r, rows, cols, host);
}

static inline hd_tensor *golden_filled(hd_run *r, size_t rows, size_t cols, double x)
{
    double all[GOLDEN_MOST];
    assert_true(rows * cols <= GOLDEN_MOST);
    for (size_t i = 0; i < rows * cols; i++) all[i] = x;
    return golden_rows(r, rows, cols, all);
}

/* One segment of all rows. */
static inline hd_rows golden_item(hd_run *r, hd_tensor *t)
{
    const int32_t len[] = {t ? (int32_t)hd_rows_of(t) : 0};
    return (hd_rows){t, hd_seg_of(r, len, 1, NULL)};
}

static inline void golden_numbers(const char *name, const hd_real *got, const double *expected, size_t count,
                                  double tolerance)
{
    for (size_t i = 0; i < count; i++) {
        double v = (double)got[i];
        if (v != expected[i] && !(fabs(v - expected[i]) <= tolerance))
            fail_msg("%s: number %zu is %.9g, expected %.9g", name, i, v, expected[i]);
    }
}

static inline void golden_check(hd_run *r, const char *name, const hd_tensor *t, const double *expected,
                                size_t count, double tolerance)
{
    hd_real host[GOLDEN_MOST];
    if (r->err.status) fail_msg("%s: %s", name, r->err.text);
    assert_non_null(t);
    assert_int_equal(hd_count_of(t), count);
    assert_true(count <= GOLDEN_MOST && hd_read(r, t, host));
    golden_numbers(name, host, expected, count, tolerance);
}

/* A probe that keeps one intermediate by name. */
typedef struct golden_catch {
    const char *name;
    hd_real value[GOLDEN_MOST];
    size_t count, columns;
    hd_probe probe;
} golden_catch;

static inline void golden_take(void *context, hd_run *r, const hd_offer *offer)
{
    golden_catch *c = context;
    if (strcmp(offer->name, c->name) || hd_count_of(offer->t) > GOLDEN_MOST) return;
    if (hd_read(r, offer->t, c->value)) c->count = hd_count_of(offer->t), c->columns = hd_cols_of(offer->t);
}

/* Attends with a probe and keeps what is offered as `name`. */
static inline hd_rows golden_attend(hd_run *r, hd_rows q, hd_rows k, hd_rows v, const hd_attend_opt *opt,
                                    golden_catch *c, const char *name)
{
    *c = (golden_catch){.name = name, .probe = {.take = golden_take, .context = c}};
    r->probe = &c->probe;
    hd_rows y = hd_attend(r, q, k, v, opt);
    r->probe = NULL;
    if (r->err.status) fail_msg("%s: %s", name, r->err.text);
    return y;
}

#endif
