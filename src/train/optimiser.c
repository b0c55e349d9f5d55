/* Optimisers: the host side. All arithmetic is in the kernels square_sum, clip, update and average. */
#include "train/optimiser.h"

static hd_status take(hd_params *p, hd_real **buffer, hd_err *err)
{
    size_t bytes = p->trainable * sizeof(hd_real);
    *buffer = p->backend->alloc(p->backend, bytes);
    if (!*buffer) return hd_err_nomem(err, bytes);
    p->backend->clear(p->backend, *buffer, bytes);
    return HD_OK;
}

hd_status hd_optimiser_init(hd_optimiser *o, hd_params *params, const hd_optimiser_opt *opt, hd_err *err)
{
    *o = (hd_optimiser){.opt = *opt, .params = params};
    if (!params->grad) return hd_err_set(err, HD_EARG, "the model was not made for training");
    bool adam = opt->kind != HD_OPT_SGD;
    if (adam && opt->beta1 <= 0 && opt->beta2 <= 0) o->opt.beta1 = 0.9f, o->opt.beta2 = 0.98f;
    if (adam && opt->eps <= 0) o->opt.eps = 1e-9f;
    hd_status s = HD_OK;
    if (adam || opt->momentum > 0) s = take(params, &o->first, err);
    if (!s && adam) s = take(params, &o->second, err);
    if (!s && opt->average > 0) s = take(params, &o->mean, err);
    if (!s) {
        o->squares = params->backend->alloc(params->backend, sizeof *o->squares);
        s = o->squares ? HD_OK : hd_err_nomem(err, sizeof *o->squares);
    }
    if (s) return hd_optimiser_release(o), s;
    params->backend->clear(params->backend, o->squares, sizeof *o->squares);
    if (o->mean)
        params->backend->copy(params->backend, o->mean, params->value, params->trainable * sizeof(hd_real));
    return HD_OK;
}

void hd_optimiser_release(hd_optimiser *o)
{
    if (!o->params) return;
    hd_backend *b = o->params->backend;
    size_t bytes = o->params->trainable * sizeof(hd_real);
    if (o->first) b->release(b, o->first, bytes);
    if (o->second) b->release(b, o->second, bytes);
    if (o->mean) b->release(b, o->mean, bytes);
    if (o->squares) b->release(b, o->squares, sizeof *o->squares);
    *o = (hd_optimiser){0};
}

static void update_group(hd_run *r, hd_optimiser *o, const hd_group *g)
{
    const hd_optimiser_opt *k = &o->opt;
    hd_params *p = o->params;
    HD_CALL(r, update, .value = p->value + g->begin, .grad = p->grad + g->begin,
            .first = o->first ? o->first + g->begin : NULL, .second = o->second ? o->second + g->begin : NULL,
            .count = g->end - g->begin, .step = r->block, .rule = k->kind == HD_OPT_SGD ? HD_SGD : HD_ADAM,
            .factor = g->factor, .momentum = k->momentum, .beta1 = k->beta1, .beta2 = k->beta2, .eps = k->eps,
            .decay = g->decay ? k->decay : 0, .decoupled = k->kind == HD_OPT_ADAMW, .nesterov = k->nesterov);
}

hd_status hd_optimiser_step(hd_run *r, hd_optimiser *o, double rate, double weight, double *norm,
                            bool *skipped)
{
    hd_params *p = o->params;
    hd_backend *b = r->backend;
    if (r->err.status) return r->err.status;
    r->now.rate = (float)rate, r->now.weight = weight, r->now.updates = o->updates + 1;
    hd_send_block(r);
    hd_status s = b->rank_sum(b, p->grad, p->trainable);
    if (s) return hd_fail(r, s, "the gradients could not be summed over the processes"), s;
    HD_CALL(r, square_sum, .sum = o->squares, .x = p->grad, .count = p->trainable);
    HD_CALL(r, clip, .step = r->block, .sum = o->squares, .limit = o->opt.clip);
    for (size_t i = 0; i < p->ranges; i++) update_group(r, o, &p->range[i]);
    if (o->mean)
        HD_CALL(r, average, .mean = o->mean, .value = p->value, .count = p->trainable,
                .decay = o->opt.average, .step = r->block);
    if (r->err.status) return r->err.status;
    hd_step now = {0};
    if (norm || skipped) b->download(b, &now, r->block, sizeof now);
    if (norm) *norm = now.norm;
    if (skipped) *skipped = now.skip;
    o->updates += !now.skip;
    return HD_OK;
}
