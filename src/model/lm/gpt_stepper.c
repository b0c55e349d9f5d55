/* GPT, one row a step once the prompt is read. */
#include "model/lm/gpt.h"

#include "model/stepper_parts.h"

/* Only the last rows of the prompts meet the output layer, unless all are asked for. */
static hd_tensor *read(hd_run *r, const hd_stepping *s, const hd_arrivals *a)
{
    const hd_seg *seg = hd_seg_of(r, a->len, a->items, NULL);
    hd_rows x = hd_gpt_forward(r, s->model, hd_ints(r, a->ids, a->rows), seg, s->cache);
    if (!s->every) x = (hd_rows){hd_reduce(r, x.t, seg, HD_LAST), hd_single_rows(r, a->items)};
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

/* What follows a prompt's last position is still foreseen. */
static void set_room(hd_stepping *s, const hd_gpt *m, size_t from)
{
    for (size_t i = from; i < s->items; i++) s->room[i] = (int32_t)(m->opt.positions + 1) - s->len[i];
}

static hd_stepping_ask ask_of(const hd_gpt *m, const int32_t *ids, const int32_t *len, size_t items)
{
    size_t longest = m->opt.no_positions ? INT32_MAX : m->opt.positions;
    return (hd_stepping_ask){"prompt", ids, len, items, m->opt.vocab, longest};
}

static hd_status wait(hd_stepper *out, const int32_t *ids, const int32_t *len, size_t n, hd_err *err)
{
    hd_stepping *s = out->context;
    const hd_stepping_ask q = ask_of(s->model, ids, len, n);
    hd_status st = hd_stepping_wait(out, s, &q, err);
    if (!st) set_room(s, s->model, s->items - n);
    return st;
}

hd_status hd_gpt_stepper(hd_stepper *out, const hd_gpt *m, const int32_t *ids, const int32_t *len,
                         size_t items, hd_err *err)
{
    hd_stepping *s = NULL;
    const hd_stepping_ask q = ask_of(m, ids, len, items);
    hd_status st = hd_gpt_stepping(&s, m, &q, err);
    if (st) return st;
    set_room(s, m, 0);
    *out = hd_stepping_stepper(s, m->opt.vocab);
    out->wait = wait;
    return HD_OK;
}
