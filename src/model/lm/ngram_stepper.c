/* The n-gram model, a token a step. */
#include <math.h>

#include "base/mem.h"
#include "model/lm/look_back.h"
#include "model/lm/ngram_parts.h"

enum { NOTHING = -1 }; /* before a prompt: a short context, not a known one */

static void log_row(const hd_ngram *m, const int32_t *window, size_t keep, double *p, hd_real *row)
{
    size_t skip = 0;
    while (skip < keep && window[skip] == NOTHING) skip++;
    hd_ngram_row(m, window + skip, keep - skip, p);
    for (size_t v = 0; v < m->opt.vocab; v++) row[v] = p[v] < 1 ? (hd_real)log(p[v]) : 0;
}

static hd_tensor *logp(hd_run *r, const void *model, const int32_t *window, size_t live)
{
    const hd_ngram *m = model;
    size_t vocab = m->opt.vocab, keep = (size_t)m->opt.order - 1, count;
    if (!hd_size_mul(live, vocab, &count) || count > SIZE_MAX / sizeof(double))
        return hd_fail(r, HD_ELIMIT, "step: %zu rows of %zu tokens are too large", live, vocab);
    double *p = hd_host_take(r, vocab * sizeof *p);
    hd_real *row = p ? hd_host_take(r, count * sizeof *row) : NULL;
    if (!row) return NULL;
    for (size_t i = 0; i < live; i++) log_row(m, window + i * keep, keep, p, row + i * vocab);
    return hd_from(r, live, vocab, row);
}

hd_status hd_ngram_stepper(hd_stepper *out, const hd_ngram *m, const int32_t *ids, const int32_t *len,
                           size_t items, hd_err *err)
{
    hd_look_back how = {m, logp, false, m->opt.vocab, (size_t)m->opt.order - 1, NOTHING};
    return hd_look_back_stepper(out, &how, ids, len, items, err);
}
