/* GPT, one row a step once the prompt is read. */
#include "model/gpt.h"

#include "model/stepper_parts.h"

/* The last rows of the prompts, since only they meet the output layer. The search gives each prompt's last
   token, as it gives every later one. */
static hd_rows read_prompts(hd_run *r, hd_stepping *s, const int32_t *ids, size_t live)
{
    if (live != s->items)
        return hd_fail(r, HD_ESHAPE, "step: %zu hypotheses for %zu prompts", live, s->items), (hd_rows){0};
    for (size_t i = 0, end = 0; i < live; i++) s->ids[(end += (size_t)s->len[i]) - 1] = ids[i];
    const hd_seg *seg = hd_seg_of(r, s->len, s->items, NULL);
    hd_rows x = hd_gpt_forward(r, s->model, hd_ints(r, s->ids, s->rows), seg, s->cache);
    return (hd_rows){hd_reduce(r, x.t, seg, HD_LAST), hd_single_rows(r, live)};
}

static hd_tensor *forward(hd_run *r, const hd_stepping *s, const int32_t *ids, const hd_seg *seg)
{
    hd_rows x = hd_gpt_forward(r, s->model, ids, seg, s->cache);
    return hd_stepping_end(r, s, hd_gpt_logits(r, s->model, x));
}

static hd_tensor *step(hd_run *r, void *context, const int32_t *ids, size_t live)
{
    hd_stepping *s = context;
    const hd_gpt *m = s->model;
    if (!hd_stepping_room(r, s, m->opt.positions)) return NULL;
    if (s->begun) return hd_stepping_step(r, s, ids, live, forward);
    hd_tensor *y = hd_stepping_end(r, s, hd_gpt_logits(r, m, read_prompts(r, s, ids, live)));
    s->begun = y;
    return y;
}

hd_status hd_gpt_stepper(hd_stepper *out, const hd_gpt *m, const int32_t *ids, const int32_t *len,
                         size_t items, hd_err *err)
{
    const hd_gpt_opt *o = &m->opt;
    hd_stepping_ask q = {"prompt", ids, len, items, o->vocab, o->positions};
    hd_stepping *s = NULL;
    hd_status st = hd_stepping_new(&s, m, &q, err);
    if (!st) st = hd_gpt_cache(&s->cache, m, items, err);
    if (st) return hd_stepping_free(s), st;
    s->serial = m->params.serial;
    for (size_t i = 0, end = 0; i < items; i++) {
        end += (size_t)len[i];
        s->start[i] = ids[end - 1];
        s->room[i] =
            (int32_t)(o->positions + 1) - len[i]; /* the first step takes the prompt's last position */
    }
    *out = hd_stepping_stepper(s, o->vocab, step);
    out->raw = &s->raw;
    return HD_OK;
}
