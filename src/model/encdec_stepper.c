/* Encoder-decoders, one decoder row a step. */
#include "model/encdec.h"

#include "model/stepper_parts.h"

/* Encoder rows live in step memory, which is why they are made in the step that puts them into the cache. */
static hd_encoded encode(hd_run *r, const hd_encdec *m, const hd_stepping *s)
{
    return hd_encdec_encode(r, m, hd_ints(r, s->ids, s->rows), hd_seg_of(r, s->len, s->items, NULL));
}

static hd_tensor *forward(hd_run *r, const hd_stepping *s, const int32_t *ids, const hd_seg *seg)
{
    const hd_encdec *m = s->model;
    hd_encoded memory = s->begun ? (hd_encoded){0} : encode(r, m, s);
    hd_rows x = hd_encdec_decode(r, m, ids, seg, memory, s->cache);
    return hd_log_softmax(r, hd_encdec_logits(r, m, x));
}

static hd_tensor *step(hd_run *r, void *context, const int32_t *ids, size_t live)
{
    hd_stepping *s = context;
    const hd_encdec *m = s->model;
    if (!hd_stepping_room(r, s, m->opt.positions)) return NULL;
    if (s->begun) return hd_stepping_step(r, s, ids, live, forward);
    hd_tensor *y = forward(r, s, hd_ints(r, ids, live), hd_single_rows(r, live));
    s->begun = y;
    return y;
}

hd_status hd_encdec_stepper(hd_stepper *out, const hd_encdec *m, const int32_t *ids, const int32_t *len,
                            size_t items, int32_t start, hd_err *err)
{
    const hd_encdec_opt *o = &m->opt;
    hd_stepping_ask q = {"source", ids, len, items, o->source_vocab, o->positions};
    hd_stepping *s = NULL;
    if (start < 0 || (size_t)start >= o->target_vocab)
        return hd_err_set(err, HD_EARG, "there is no start token %d in a vocabulary of %zu", start,
                          o->target_vocab);
    hd_status st = hd_stepping_new(&s, m, &q, err);
    if (!st) st = hd_encdec_cache(&s->cache, m, items, err);
    if (st) return hd_stepping_free(s), st;
    s->sends = hd_encdec_recurs(m) && m->opt.recurrent.score == HD_SCORING_mlp;
    for (size_t i = 0; i < items; i++) s->start[i] = start, s->room[i] = (int32_t)o->positions;
    *out = hd_stepping_stepper(s, o->target_vocab, step);
    return HD_OK;
}
