/* The stepper of models that look back at a fixed number of tokens: a hypothesis is its last order-1 tokens,
   on the host, where their features are made. */
#include <string.h>

#include "base/mem.h"
#include "model/lm_parts.h"
#include "model/stepper_parts.h"

typedef struct looking {
    const hd_lm *model;
    hd_lm_forward *forward;
    hd_stepping *prompts; /* checked copies, and what the search asks of them */
    int32_t *window;      /* [live, keep], the oldest first */
    size_t live, keep;
} looking;

static void looking_free(void *context)
{
    looking *s = context;
    if (!s) return;
    hd_stepping_free(s->prompts);
    hd_mem_free(s->window);
    hd_mem_free(s);
}

static void slide(int32_t *window, size_t keep, int32_t token)
{
    memmove(window, window + 1, (keep - 1) * sizeof *window);
    window[keep - 1] = token;
}

static hd_tensor *step(hd_run *r, void *context, const int32_t *ids, size_t live)
{
    looking *s = context;
    if (live != s->live) return hd_fail(r, HD_ESHAPE, "step: %zu hypotheses, %zu are alive", live, s->live);
    int32_t *all = hd_host_take(r, (live * s->keep + 1) * sizeof *all);
    if (!all) return NULL;
    for (size_t i = 0; i < live; i++) {
        int32_t one[HD_LM_ORDER_MOST], feature[HD_LM_ORDER_MOST];
        memcpy(one, s->window + i * s->keep, s->keep * sizeof *one);
        slide(one, s->keep, ids[i]);
        hd_lm_features(s->model, one, s->keep, s->keep, feature);
        for (size_t k = 0; k < s->keep; k++) all[k * live + i] = feature[k];
    }
    hd_tensor *y = s->forward(r, s->model, hd_ints(r, all, live * s->keep), hd_single_rows(r, live));
    for (size_t i = 0; y && i < live; i++) slide(s->window + i * s->keep, s->keep, ids[i]);
    return y;
}

static hd_status pick(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    looking *s = context;
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
static void read_prompts(looking *s, const int32_t *ids, const int32_t *len)
{
    for (size_t i = 0; i < s->live; ids += len[i++]) {
        int32_t *window = s->window + i * s->keep;
        for (size_t j = 0; j < s->keep; j++) window[j] = s->model->opt.start;
        for (int32_t j = 0; j + 1 < len[i]; j++) slide(window, s->keep, ids[j]);
        s->prompts->start[i] = ids[len[i] - 1];
    }
}

hd_status hd_lm_looking_stepper(hd_stepper *out, const hd_lm *m, hd_lm_forward *forward, const int32_t *ids,
                                const int32_t *len, size_t items, hd_err *err)
{
    hd_stepping_ask q = {"prompt", ids, len, items, m->opt.vocab, INT32_MAX};
    looking *s = hd_mem_zero(sizeof *s);
    if (!s) return hd_err_nomem(err, sizeof *s);
    *s = (looking){.model = m, .forward = forward, .live = items, .keep = (size_t)m->opt.order - 1};
    hd_status st = hd_stepping_new(&s->prompts, m, &q, err);
    if (!st) s->window = hd_mem_array(items * s->keep, sizeof *s->window);
    if (!st && !s->window) st = hd_err_nomem(err, items * s->keep * sizeof *s->window);
    if (st) return looking_free(s), st;
    read_prompts(s, ids, len);
    *out = (hd_stepper){.vocab = m->opt.vocab,
                        .items = items,
                        .start = s->prompts->start,
                        .source = s->prompts->len,
                        .step = step,
                        .pick = pick,
                        .free = looking_free,
                        .context = s};
    return HD_OK;
}
