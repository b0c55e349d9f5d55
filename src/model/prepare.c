/* Which weights of a model meet rows in products. Those of cells are read by recur, token vectors only where
   they are the output layer, too. */
#include "model/prepare.h"

#include "nn/weight/form.h"
#include "tensor/int8.h"

static void prepare_as(hd_preparing *p, hd_param *w, hd_use use, bool evened)
{
    if (p->status || p->marking || !w) return;
    p->status = hd_param_prepare(p->params, w, use, evened, p->err);
}

static bool is_narrow(const hd_tensor *t)
{
    return hd_rows_of(t) <= HD_INT8_NARROW || hd_cols_of(t) <= HD_INT8_NARROW;
}

void hd_prepare(hd_preparing *p, hd_param *w)
{
    hd_param *owner = w ? hd_param_owner(w) : NULL;
    if (p->marking && w && !owner->table) owner->product = true;
    if (w) owner->fine = p->fine && is_narrow(&owner->t) && !owner->grouped;
    prepare_as(p, w, p->use, w && !hd_param_owner(w)->table);
}

void hd_prepare_beside(hd_preparing *p, hd_param *w)
{
    if (p->marking && w) hd_param_owner(w)->product = false, hd_param_owner(w)->table = true;
    prepare_as(p, w, p->use, false); /* shortlists multiply some of its rows */
}

void hd_prepare_cell(hd_preparing *p, hd_param *w)
{
    prepare_as(p, w, p->use == HD_DECODING ? HD_RECURRING : HD_TRAINING, false);
}

static void prepare_attention(hd_preparing *p, const hd_mha *m, bool cross)
{
    bool apart = !cross && m->query_norm.gain;
    if (!cross && !apart) hd_prepare(p, m->qkv);
    if (apart) hd_prepare(p, m->q), hd_prepare(p, m->k), hd_prepare(p, m->v);
    if (cross) hd_prepare(p, m->q);
    if (cross) hd_prepare(p, m->kv);
    hd_prepare(p, m->out.w);
}

static void prepare_latent(hd_preparing *p, const hd_latent *m)
{
    hd_param *const all[] = {m->query_in, m->query, m->keys_in, m->out.w};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hd_prepare(p, all[i]);
    hd_prepare_beside(p, m->keys); /* heads are read one by one while decoding */
}

static void prepare_feed_forward(hd_preparing *p, const hd_ffn *f)
{
    hd_prepare(p, f->in.w);
    hd_prepare(p, f->out.w);
}

/* The router stays as it is: rounded, it would choose others. */
static void prepare_experts(hd_preparing *p, const hd_experts *e)
{
    for (int i = 0; i < 2 * e->opt.count; i++) hd_prepare(p, e->part[i]);
    prepare_feed_forward(p, &e->shared);
}

static void prepare_block(hd_preparing *p, const hd_block *block)
{
    prepare_attention(p, &block->self, false);
    if (block->latent) prepare_latent(p, block->latent);
    if (block->has_cross) prepare_attention(p, &block->cross, true);
    prepare_feed_forward(p, &block->ffn);
    if (block->experts) prepare_experts(p, block->experts);
}

void hd_prepare_stack(hd_preparing *p, const hd_stack *k)
{
    for (int l = 0; l < k->opt.layers; l++) prepare_block(p, &k->block[l]);
}

void hd_prepare_stack_first(hd_preparing *p, const hd_stack *k)
{
    const hd_mha *m = &k->block[k->opt.layers - 1].self;
    hd_prepare(p, m->q), hd_prepare(p, m->kv);
}

void hd_prepare_recurrent(hd_preparing *p, const hd_recurrent *c)
{
    for (int k = 0; k < c->layers * c->directions; k++) {
        const hd_recurrent_pass *a = &c->pass[k / c->directions][k % c->directions];
        hd_prepare(p, a->w_in), hd_prepare_cell(p, a->w);
    }
}

void hd_prepare_encoder(hd_preparing *p, const hd_encoder *e)
{
    for (int i = 0; i < e->stages; i++) {
        const hd_encoder_stage *s = &e->stage[i];
        hd_prepare(p, s->fit.w);
        if (s->type->prepare) s->type->prepare(p, s);
    }
}

static void prepare_cells(hd_preparing *p, const hd_recurrent_decoder *d)
{
    const hd_look *k = &d->look;
    for (int l = 0; l < d->is.layers; l++) {
        const hd_recurrent_decoder_layer *a = &d->layer[l];
        hd_param *const all[] = {a->w_in, a->skip, a->context, a->fed, a->begin.w, a->read.w};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) hd_prepare(p, all[i]);
        hd_prepare_cell(p, a->w);
    }
    hd_param *const all[] = {k->q.w,          k->k.w,   k->v.w, k->hidden.w, k->place.w, d->read_context.w,
                             d->read_token.w, k->gate.w};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hd_prepare(p, all[i]);
}

void hd_prepare_encdec(hd_preparing *p, const hd_encdec *m)
{
    if (m->opt.pictures) hd_image_encoder_prepare(p, &m->image);
    if (m->opt.sounds) hd_sound_encoder_prepare(p, &m->sound);
    hd_prepare(p, m->ctc.w);
    hd_prepare_encoder(p, &m->encoder);
    prepare_cells(p, &m->cells);
    hd_prepare(p, m->fit.w);
    for (int i = 0; i < m->stacks; i++) hd_prepare_stack(p, &m->stack[i]);
    hd_prepare_beside(p, m->output);
}

void hd_prepare_gpt(hd_preparing *p, const hd_gpt *m)
{
    hd_prepare_stack(p, &m->stack);
    hd_prepare_beside(p, m->head);
}

void hd_prepare_bert(hd_preparing *p, const hd_bert *m)
{
    const bool fine = p->fine;
    p->fine = true;
    hd_prepare(p, m->front.project.w);
    hd_prepare_stack(p, &m->stack);
    hd_prepare(p, m->pooler.w);
    hd_prepare(p, m->transform.w);
    p->fine = fine;
    if (!m->opt.headless) hd_prepare_beside(p, m->front.table);
}

hd_status hd_encdec_prepare(hd_encdec *m, hd_use use, hd_err *err)
{
    const hd_model model = hd_encdec_model(m);
    return hd_model_prepare(&model, use, err);
}

hd_status hd_gpt_prepare(hd_gpt *m, hd_use use, hd_err *err)
{
    hd_preparing p = {.params = &m->params, .use = use, .err = err};
    hd_prepare_gpt(&p, m);
    return p.status;
}

hd_status hd_bert_prepare(hd_bert *m, hd_use use, hd_err *err)
{
    const hd_model model = hd_bert_model(m);
    return hd_model_prepare(&model, use, err);
}
