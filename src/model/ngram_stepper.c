/* The n-gram model, a token a step: a hypothesis is its last order-1 tokens. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "model/ngram_parts.h"
#include "model/stepper_parts.h"

typedef struct stepping {
    const hd_ngram *model;
    hd_stepping *prompts; /* checked copies, and what the search asks of them */
    int32_t *window;      /* [live, keep], filled from the right; -1: nothing there yet */
    size_t live, keep;
} stepping;

static void stepping_free(void *context)
{
    stepping *s = context;
    if (!s) return;
    hd_stepping_free(s->prompts);
    hd_mem_free(s->window);
    hd_mem_free(s);
}

/* A window with one token more, and what it forgets gone. */
static void slide(int32_t *window, size_t keep, int32_t token)
{
    if (!keep) return;
    memmove(window, window + 1, (keep - 1) * sizeof *window);
    window[keep - 1] = token;
}

static void log_row(const stepping *s, const int32_t *window, double *p, hd_real *row)
{
    size_t skip = 0;
    while (skip < s->keep && window[skip] < 0) skip++;
    hd_ngram_row(s->model, window + skip, s->keep - skip, p);
    for (size_t v = 0; v < s->model->opt.vocab; v++) row[v] = p[v] < 1 ? (hd_real)log(p[v]) : 0;
}

static hd_tensor *step(hd_run *r, void *context, const int32_t *ids, size_t live)
{
    stepping *s = context;
    size_t vocab = s->model->opt.vocab, count;
    if (live != s->live) return hd_fail(r, HD_ESHAPE, "step: %zu hypotheses, %zu are alive", live, s->live);
    if (!hd_size_mul(live, vocab, &count) || count > SIZE_MAX / sizeof(double))
        return hd_fail(r, HD_ELIMIT, "step: %zu rows of %zu tokens are too large", live, vocab);
    double *p = hd_host_take(r, vocab * sizeof *p);
    hd_real *row = p ? hd_host_take(r, count * sizeof *row) : NULL;
    if (!row) return NULL;
    for (size_t i = 0; i < live; i++) {
        int32_t window[HD_NGRAM_MOST];
        memcpy(window, s->window + i * s->keep, s->keep * sizeof *window);
        slide(window, s->keep, ids[i]);
        log_row(s, window, p, row + i * vocab);
    }
    hd_tensor *y = hd_from(r, live, vocab, row);
    for (size_t i = 0; y && i < live; i++) slide(s->window + i * s->keep, s->keep, ids[i]);
    return y;
}

static hd_status pick(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    stepping *s = context;
    int32_t *window = hd_mem_array(n * s->keep, sizeof *window);
    if (!window) return hd_err_nomem(&r->err, n * s->keep * sizeof *window);
    for (size_t i = 0; i < n; i++) {
        if (parent[i] < 0 || (size_t)parent[i] >= s->live) {
            hd_mem_free(window);
            hd_fail(r, HD_EARG, "pick: there is no hypothesis %d among %zu", parent[i], s->live);
            return r->err.status;
        }
        memcpy(window + i * s->keep, s->window + (size_t)parent[i] * s->keep, s->keep * sizeof *window);
    }
    hd_mem_free(s->window);
    s->window = window;
    s->live = n;
    return HD_OK;
}

/* The search gives each prompt's last token, as it gives every later one. */
static void read_prompts(stepping *s, const int32_t *ids, const int32_t *len)
{
    for (size_t i = 0; i < s->live; ids += len[i++]) {
        int32_t *window = s->window + i * s->keep;
        for (size_t j = 0; j < s->keep; j++) window[j] = -1;
        for (int32_t j = 0; j + 1 < len[i]; j++) slide(window, s->keep, ids[j]);
        s->prompts->start[i] = ids[len[i] - 1];
    }
}

hd_status hd_ngram_stepper(hd_stepper *out, const hd_ngram *m, const int32_t *ids, const int32_t *len,
                           size_t items, hd_err *err)
{
    hd_stepping_ask q = {"prompt", ids, len, items, m->opt.vocab, INT32_MAX};
    stepping *s = hd_mem_zero(sizeof *s);
    if (!s) return hd_err_nomem(err, sizeof *s);
    *s = (stepping){.model = m, .live = items, .keep = (size_t)m->opt.order - 1};
    hd_status st = hd_stepping_new(&s->prompts, m, &q, err);
    if (!st) s->window = hd_mem_array(items * s->keep, sizeof *s->window);
    if (!st && !s->window) st = hd_err_nomem(err, items * s->keep * sizeof *s->window);
    if (st) return stepping_free(s), st;
    read_prompts(s, ids, len);
    *out = (hd_stepper){.vocab = m->opt.vocab,
                        .items = items,
                        .start = s->prompts->start,
                        .source = s->prompts->len,
                        .step = step,
                        .pick = pick,
                        .free = stepping_free,
                        .context = s};
    return HD_OK;
}
