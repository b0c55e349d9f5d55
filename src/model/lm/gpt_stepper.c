/* GPT, one row a step once the prompt is read. */
#include "model/lm/gpt.h"

#include "model/stepper_parts.h"

/* Only the last rows of the prompts meet the output layer. */
static hd_tensor *read(hd_run *r, const hd_stepping *s, const hd_arrivals *a)
{
    const hd_seg *seg = hd_seg_of(r, a->len, a->items, NULL);
    hd_rows x = hd_gpt_forward(r, s->model, hd_ints(r, a->ids, a->rows), seg, s->cache);
    x = (hd_rows){hd_reduce(r, x.t, seg, HD_LAST), hd_single_rows(r, a->items)};
    return hd_stepping_end(r, s, hd_gpt_logits(r, s->model, x));
}

static hd_tensor *forward(hd_run *r, const hd_stepping *s, const int32_t *ids, const hd_seg *seg)
{
    hd_rows x = hd_gpt_forward(r, s->model, ids, seg, s->cache);
    return hd_stepping_end(r, s, hd_gpt_logits(r, s->model, x));
}

hd_status hd_gpt_stepping(hd_stepping **out, const hd_gpt *m, const hd_stepping_ask *q, hd_err *err)
{
    hd_stepping *s = NULL;
    hd_status st = hd_stepping_new(&s, m, q, err);
    if (!st) st = hd_gpt_cache(&s->cache, m, 0, err);
    if (st) return hd_stepping_free(s), st;
    s->serial = m->params.serial, s->positions = m->opt.no_positions ? 0 : m->opt.positions;
    s->read = read, s->forward = forward;
    *out = s;
    return HD_OK;
}

hd_status hd_gpt_stepper(hd_stepper *out, const hd_gpt *m, const int32_t *ids, const int32_t *len,
                         size_t items, hd_err *err)
{
    const hd_gpt_opt *o = &m->opt;
    hd_stepping *s = NULL;
    size_t longest = o->no_positions ? INT32_MAX : o->positions;
    hd_status st =
        hd_gpt_stepping(&s, m, &(hd_stepping_ask){"prompt", ids, len, items, o->vocab, longest}, err);
    if (st) return st;
    for (size_t i = 0; i < items; i++) /* what follows a prompt's last position is still foreseen */
        s->room[i] = (int32_t)(o->positions + 1) - len[i];
    *out = hd_stepping_stepper(s, o->vocab);
    return HD_OK;
}
