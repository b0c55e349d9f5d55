/* Windows of tokens that slide with every step. A step that fails must leave them as they were. */
#include "model/lm/look_back.h"

#include <string.h>

#include "base/mem.h"
#include "model/stepper_parts.h"

typedef struct looking {
    hd_look_back how;
    hd_stepping *prompts; /* checked copies, and who has joined */
    int32_t *window;      /* [live, keep] */
    size_t live;
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

static hd_tensor *scores_of(hd_run *r, const looking *s, const int32_t *window, size_t n)
{
    hd_tensor *y = s->how.scores(r, s->how.model, window, n);
    return s->how.logits ? hd_stepping_end(r, s->prompts, y) : y;
}

static hd_tensor *join(hd_run *r, void *context, size_t n)
{
    looking *s = context;
    size_t keep = s->how.keep;
    hd_arrivals a = hd_stepping_next(r, s->prompts, n);
    if (r->err.status) return NULL;
    size_t bytes = (s->live + n) * keep * sizeof *s->window;
    int32_t *all = hd_mem_grow(s->window, bytes + 1);
    if (!all) return hd_err_nomem(&r->err, bytes), NULL;
    s->window = all;
    const int32_t *id = a.ids;
    for (size_t i = 0; i < n; i++) {
        int32_t *window = all + (s->live + i) * keep;
        for (size_t j = 0; j < keep; j++) window[j] = s->how.before;
        for (int32_t j = 0; j < a.len[i]; j++) slide(window, keep, *id++);
    }
    hd_tensor *y = scores_of(r, s, all + s->live * keep, n);
    s->live += n;
    return y;
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
    hd_tensor *y = scores_of(r, s, next, live);
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

static hd_stepping_ask ask_of(const hd_look_back *how, const int32_t *ids, const int32_t *len, size_t items)
{
    return (hd_stepping_ask){"prompt", ids, len, items, how->vocab, INT32_MAX};
}

static hd_status wait(hd_stepper *out, const int32_t *ids, const int32_t *len, size_t n, hd_err *err)
{
    looking *s = out->context;
    const hd_stepping_ask q = ask_of(&s->how, ids, len, n);
    return hd_stepping_wait(out, s->prompts, &q, err);
}

hd_status hd_look_back_stepper(hd_stepper *out, const hd_look_back *how, const int32_t *ids,
                               const int32_t *len, size_t items, hd_err *err)
{
    const hd_stepping_ask q = ask_of(how, ids, len, items);
    looking *s = hd_mem_zero(sizeof *s);
    if (!s) return hd_err_nomem(err, sizeof *s);
    s->how = *how;
    hd_status st = hd_stepping_new(&s->prompts, how->model, &q, err);
    if (st) return looking_free(s), st;
    *out = (hd_stepper){.vocab = how->vocab,
                        .items = items,
                        .source = s->prompts->len,
                        .join = join,
                        .step = step,
                        .raw = how->logits ? &s->prompts->raw : NULL,
                        .pick = pick,
                        .wait = wait,
                        .free = looking_free,
                        .context = s};
    return HD_OK;
}
