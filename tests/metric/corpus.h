/* What the tests of metrics share: a corpus in a few lines of C, and its score. */
#ifndef CORPUS_H
#define CORPUS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "metric/metric.h"

#define CORPUS_UNUSED   __attribute__((unused))
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum { CORPUS_LINES = 4, CORPUS_REFS = 2 };

/* The last digit of sacreBLEU's double may depend on the exp and log of another C library. */
static const double same = 1e-14;

CORPUS_UNUSED static void assert_same(double is, double expected, const char *what)
{
    if (!(fabs(is - expected) <= same * fabs(expected)))
        fail_msg("%s: %.17g, expected %.17g", what, is, expected);
}

CORPUS_UNUSED static hd_line line_of(const char *text)
{
    return (hd_line){text, strlen(text)};
}

/* A metric that has counted `lines` segments. */
CORPUS_UNUSED static hd_metric *metric_over(hd_metric_kind kind, hd_metric_opt opt, int lines,
                                            const char *const hyp[CORPUS_LINES],
                                            const char *const ref[CORPUS_REFS][CORPUS_LINES])
{
    hd_err err = {0};
    hd_metric *m = NULL;
    if (hd_metric_new(&m, kind, &opt, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < lines; i++) {
        hd_line refs[CORPUS_REFS];
        for (int r = 0; r < opt.refs; r++) refs[r] = line_of(ref[r][i]);
        if (hd_metric_add(m, line_of(hyp[i]), refs, &err)) fail_msg("%s", err.text);
    }
    return m;
}

CORPUS_UNUSED static double finish(hd_metric *m)
{
    hd_err err = {0};
    double score;
    if (hd_metric_finish(m, &score, &err)) fail_msg("%s", err.text);
    hd_metric_free(m);
    return score;
}

/* One segment against one reference. */
CORPUS_UNUSED static double score_pair(hd_metric_kind kind, hd_metric_opt opt, const char *hyp,
                                       const char *ref)
{
    const char *const hyps[CORPUS_LINES] = {hyp};
    const char *const refs[CORPUS_REFS][CORPUS_LINES] = {{ref}};
    opt.refs = 1;
    return finish(metric_over(kind, opt, 1, hyps, refs));
}

#endif
