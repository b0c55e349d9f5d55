/* Windows of tokens that slide with every step. A step that fails must leave them as they were. */
#include "model/lm/look_back.h"

#include <string.h>

#include "base/mem.h"
#include "model/stepper_parts.h"

typedef struct looking {
    hd_look_back how;
    hd_stepping *prompts; /* checked copies, and what the search asks of them */
    int32_t *window;      /* [live, keep] */
    size_t live;
    bool raw;
} looking;

static void looking_free(void *context)
{
    looking *s = context;
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

static hd_tensor *step(hd_run *r, void *context, const int32_t *ids, size_t live)
{
    looking *s = context;
    size_t keep = s->how.keep, bytes = live * keep * sizeof *s->window;
    if (live != s->live) return hd_fail(r, HD_ESHAPE, "step: %zu hypotheses, %zu are alive", live, s->live);
    int32_t *next = hd_host_take(r, bytes + sizeof *next);
    if (!next) return NULL;
    memcpy(next, s->window, bytes);
    for (size_t i = 0; i < live; i++) slide(next + i * keep, keep, ids[i]);
    hd_tensor *y = s->how.scores(r, s->how.model, next, live);
    if (s->how.logits && !s->raw) y = hd_log_softmax(r, y);
    if (y) memcpy(s->window, next, bytes);
    return y;
}

static hd_status pick(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    looking *s = context;
    size_t keep = s->how.keep;
    int32_t *window = hd_mem_array(n * keep, sizeof *window);
    if (!window) return hd_err_nomem(&r->err, n * keep * sizeof *window);
    for (size_t i = 0; i < n; i++) {
        if (parent[i] < 0 || (size_t)parent[i] >= s->live) {
            hd_mem_free(window);
            hd_fail(r, HD_EARG, "pick: there is no hypothesis %d among %zu", parent[i], s->live);
            return r->err.status;
        }
        memcpy(window + i * keep, s->window + (size_t)parent[i] * keep, keep * sizeof *window);
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
        int32_t *window = s->window + i * s->how.keep;
        for (size_t j = 0; j < s->how.keep; j++) window[j] = s->how.before;
        for (int32_t j = 0; j + 1 < len[i]; j++) slide(window, s->how.keep, ids[j]);
        s->prompts->start[i] = ids[len[i] - 1];
    }
}

hd_status hd_look_back_stepper(hd_stepper *out, const hd_look_back *how, const int32_t *ids,
                               const int32_t *len, size_t items, hd_err *err)
{
    hd_stepping_ask q = {"prompt", ids, len, items, how->vocab, INT32_MAX};
    looking *s = hd_mem_zero(sizeof *s);
    if (!s) return hd_err_nomem(err, sizeof *s);
    *s = (looking){.how = *how, .live = items};
    hd_status st = hd_stepping_new(&s->prompts, how->model, &q, err);
    if (!st) s->window = hd_mem_array(items * how->keep, sizeof *s->window);
    if (!st && !s->window) st = hd_err_nomem(err, items * how->keep * sizeof *s->window);
    if (st) return looking_free(s), st;
    read_prompts(s, ids, len);
    *out = (hd_stepper){.vocab = how->vocab,
                        .items = items,
                        .start = s->prompts->start,
                        .source = s->prompts->len,
                        .step = step,
                        .raw = how->logits ? &s->raw : NULL,
                        .pick = pick,
                        .free = looking_free,
                        .context = s};
    return HD_OK;
}
