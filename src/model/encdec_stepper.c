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

/* -- preparing -- */

typedef struct preparing {
    hd_status status;
    hd_backend *backend;
    hd_use use;
    hd_err *err;
} preparing;

static void prepare(preparing *p, hd_param *w)
{
    hd_prepare(&p->status, p->backend, w, p->use, p->err);
}

static void prepare_stack(preparing *p, const hd_stack *k)
{
    for (int l = 0; l < k->opt.layers; l++)
        hd_prepare_block(&p->status, p->backend, &k->block[l], p->use, p->err);
}

static void prepare_encoder(preparing *p, const hd_encoder *e)
{
    for (int i = 0; i < e->stages; i++) {
        const hd_recurrent *c = &e->stage[i].cells;
        for (int k = 0; k < c->layers * c->directions; k++) {
            const hd_recurrent_pass *a = &c->pass[k / c->directions][k % c->directions];
            prepare(p, a->w_in), prepare(p, a->w);
        }
        prepare(p, e->stage[i].fit.w);
        prepare_stack(p, &e->stage[i].stack);
    }
}

static void prepare_cells(preparing *p, const hd_recurrent_decoder *d)
{
    const hd_look *k = &d->look;
    for (int l = 0; l < d->is.layers; l++) {
        const hd_recurrent_decoder_layer *a = &d->layer[l];
        hd_param *const all[] = {a->w_in, a->w, a->skip, a->context, a->fed, a->begin.w, a->read.w};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) prepare(p, all[i]);
    }
    hd_param *const all[] = {k->q.w,         k->k.w, k->v.w, k->hidden.w, k->place.w, d->read_context.w,
                             d->read_token.w};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) prepare(p, all[i]);
}

hd_status hd_encdec_prepare(hd_encdec *m, hd_use use, hd_err *err)
{
    preparing p = {HD_OK, m->params.backend, use, err};
    prepare_encoder(&p, &m->encoder);
    prepare_cells(&p, &m->cells);
    prepare(&p, m->fit.w);
    for (int i = 0; i < m->stacks; i++) prepare_stack(&p, &m->stack[i]);
    prepare(&p, m->output);
    return p.status;
}
