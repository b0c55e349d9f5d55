/* Words of the model's own. Everything stays on the backend: a step can be captured. */
#include "model/encdec/feeding.h"

#include <math.h>

const char *const hd_feeding_names[HD_FEEDINGS + 1] = {
#define X(name, text) #name,
    HD_FEEDING_LIST(X)
#undef X
};

hd_status hd_feeding_check(const hd_feeding *f, hd_err *err)
{
    bool coin = f->kind == HD_FEEDING_scheduled || f->kind == HD_FEEDING_gumbel;
    if (coin && !(f->rate >= 0 && f->rate <= 1))
        return hd_err_set(err, HD_EARG, "feeding: a rate of %g is not between 0 and 1", (double)f->rate);
    if (f->kind != HD_FEEDING_teacher && !(f->temperature > 0 && isfinite(f->temperature)))
        return hd_err_set(err, HD_EARG, "feeding: a temperature of %g is not above 0",
                          (double)f->temperature);
    return HD_OK;
}

static hd_tensor *logits(hd_run *r, const hd_voice *v, hd_tensor *read)
{
    return hd_linear(r, read, &v->output->t, v->bias ? &v->bias->t : NULL, HD_IDENTITY);
}

/* Nothing flows back into what was said. */
static hd_tensor *sampled(hd_run *r, const hd_voice *v, hd_tensor *read, const hd_seg *seg)
{
    hd_sample_opt o = {.temperature = v->feeding.temperature, .top_p = 1, .seg = seg};
    bool taping = r->taping;
    r->taping = false;
    hd_tensor *ids = hd_sample(r, logits(r, v, read), &o, NULL);
    r->taping = taping;
    const hd_front *e = v->front;
    return ids ? hd_embed(r, &e->table->t, ids->data, hd_rows_of(ids), e->scale) : NULL;
}

/* softmax((logits + noise) / temperature) in place of the one-hot vector that picks a row of the table. */
static hd_tensor *softly(hd_run *r, const hd_voice *v, hd_tensor *read, const hd_seg *seg)
{
    hd_tensor *z = hd_gumbel(r, logits(r, v, read), seg);
    hd_tensor *word = hd_softmax(r, hd_scale(r, z, 1 / v->feeding.temperature));
    hd_tensor *x = hd_matmul(r, word, &v->front->table->t);
    return v->front->scale == 1 ? x : hd_scale(r, x, v->front->scale);
}

/* [N, 1]: 1 where the truth stays, 0 with probability `rate`, which counts in 65536ths. */
static hd_tensor *coins(hd_run *r, float rate, const hd_seg *seg)
{
    float counted = roundf(rate * 65536) / 65536;
    return hd_scale(r, hd_dropout(r, hd_ones(r, seg->rows, 1), rate, seg), 1 - counted);
}

hd_tensor *hd_voice_feed(hd_run *r, const hd_voice *v, hd_tensor *read, hd_tensor *truth, const hd_seg *seg)
{
    const hd_feeding *f = &v->feeding;
    hd_tensor *own = f->kind == HD_FEEDING_gumbel ? softly(r, v, read, seg) : sampled(r, v, read, seg);
    own = hd_dropout(r, own, v->front->dropout, seg);
    if (f->kind == HD_FEEDING_free || f->rate >= 1) return own;
    return hd_add(r, own, hd_mul(r, hd_sub(r, truth, own), coins(r, f->rate, seg)));
}
