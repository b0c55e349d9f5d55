/* Optimizers: the host side. All arithmetic is in the kernels square_sum, clip, update and average. */
#include "train/optimizer.h"

#include <string.h>

#include "base/serial.h"

enum { SPARE = 1 << 16 }; /* numbers */

/* Cleared backend memory; NULL with the failure in *s, which must be HD_OK before. */
static void *take(hd_backend *b, size_t bytes, hd_status *s, hd_err *err)
{
    void *block = *s ? NULL : b->alloc(b, bytes);
    if (block)
        b->clear(b, block, bytes);
    else if (!*s)
        *s = hd_backend_nomem(b, bytes, err);
    return block;
}

/* Where the second moments of place `at` of the flat buffers lie. */
static size_t second_at(const hd_optimizer *o, size_t at)
{
    return at - hd_muon_before(&o->muon, at);
}

static size_t second_bytes(const hd_optimizer *o)
{
    return second_at(o, o->params->trainable) * sizeof *o->second;
}

hd_status hd_optimizer_init(hd_optimizer *o, hd_params *params, const hd_optimizer_opt *opt, hd_err *err)
{
    *o = (hd_optimizer){.opt = *opt, .params = params, .serial = hd_serial()};
    if (params->small && opt->average > 0)
        return hd_err_set(err, HD_EARG,
                          "an average of weights needs weights in f32: leave out --ema or --weights");
    if (!params->grad) return hd_err_set(err, HD_EARG, "the model was opened for inference only");
    bool adam = opt->kind != HD_OPT_SGD;
    if (adam && opt->eps <= 0) {
        o->opt.eps = 1e-9f;
        if (opt->beta1 <= 0 && opt->beta2 <= 0) o->opt.beta1 = 0.9f, o->opt.beta2 = 0.98f;
    }
    hd_status s = HD_OK;
    hd_backend *b = params->backend;
    size_t bytes = params->trainable * sizeof(hd_real);
    if (adam || opt->momentum > 0) o->first = take(b, bytes, &s, err);
    if (opt->average > 0) o->mean = take(b, bytes, &s, err);
    if (opt->average > 0) o->spare = take(b, SPARE * sizeof *o->spare, &s, err);
    if (params->moving) o->kept = take(b, params->moving * sizeof *o->kept, &s, err);
    o->squares = take(b, sizeof *o->squares, &s, err);
    o->done = take(b, sizeof *o->done, &s, err);
    hd_muon_opt muon = opt->muon;
    muon.decay = opt->decay;
    if (!s && opt->kind == HD_OPT_MUON) s = hd_muon_init(&o->muon, params, &muon, err);
    if (adam) o->second = take(b, second_bytes(o), &s, err);
    if (s) return hd_optimizer_release(o), s;
    if (o->mean) b->copy(b, o->mean, params->value, bytes);
    return HD_OK;
}

void hd_optimizer_release(hd_optimizer *o)
{
    if (!o->params) return;
    hd_backend *b = o->params->backend;
    size_t bytes = o->params->trainable * sizeof(hd_real);
    hd_backend_gone(b, o->serial);
    if (o->first) b->release(b, o->first, bytes);
    if (o->second) b->release(b, o->second, second_bytes(o));
    hd_muon_release(&o->muon);
    if (o->mean) b->release(b, o->mean, bytes);
    if (o->spare) b->release(b, o->spare, SPARE * sizeof *o->spare);
    if (o->kept) b->release(b, o->kept, o->params->moving * sizeof *o->kept);
    if (o->squares) b->release(b, o->squares, sizeof *o->squares);
    if (o->done) b->release(b, o->done, sizeof *o->done);
    *o = (hd_optimizer){0};
}

uint32_t hd_optimizer_updates(const hd_optimizer *o)
{
    uint32_t updates = 0;
    o->params->backend->download(o->params->backend, &updates, o->done, sizeof updates);
    return updates;
}

void hd_optimizer_resume(hd_optimizer *o, uint32_t updates)
{
    o->params->backend->upload(o->params->backend, o->done, &updates, sizeof updates);
}

/* The next run of places that are in no matrix of Muon's, from *at on; *at moves behind what follows it. */
static size_t next_run(const hd_optimizer *o, size_t *i, size_t *at)
{
    const hd_muon_matrix *one = *i < o->muon.matrices ? &o->muon.matrix[*i] : NULL;
    size_t end = one ? one->at : o->params->trainable, run = end - *at;
    ++*i, *at = one ? one->at + one->rows * one->cols : end;
    return run;
}

void hd_optimizer_get_second(const hd_optimizer *o, hd_real *to)
{
    hd_backend *b = o->params->backend;
    memset(to, 0, o->params->trainable * sizeof *to);
    for (size_t i = 0, at = 0; i <= o->muon.matrices;) {
        size_t from = at, run = next_run(o, &i, &at);
        if (run) b->download(b, to + from, o->second + second_at(o, from), run * sizeof *to);
    }
}

void hd_optimizer_put_second(hd_optimizer *o, const hd_real *from)
{
    hd_backend *b = o->params->backend;
    for (size_t i = 0, at = 0; i <= o->muon.matrices;) {
        size_t begin = at, run = next_run(o, &i, &at);
        if (run) b->upload(b, o->second + second_at(o, begin), from + begin, run * sizeof *from);
    }
}

static void update_part(hd_run *r, hd_optimizer *o, const hd_group *g, size_t begin, size_t end)
{
    const hd_optimizer_opt *k = &o->opt;
    hd_params *p = o->params;
    if (begin == end) return;
    HD_CALL(r, update, .value = g->small ? NULL : hd_params_at(p, begin), .place = begin,
            .grad = p->grad + begin, .first = o->first ? o->first + begin : NULL,
            .second = o->second ? o->second + second_at(o, begin) : NULL,
            .shadow = p->shadow ? p->shadow + begin : NULL, .count = end - begin, .step = r->block,
            .rule = k->kind == HD_OPT_SGD ? HD_SGD : HD_ADAM, .factor = g->factor, .momentum = k->momentum,
            .beta1 = k->beta1, .beta2 = k->beta2, .eps = k->eps, .decay = g->decay ? k->decay : 0,
            .decoupled = k->kind == HD_OPT_ADAMW || k->kind == HD_OPT_MUON, .nesterov = k->nesterov);
}

/* Muon's matrices one by one, and what lies between them in one pass each. */
static void update_group(hd_run *r, hd_optimizer *o, const hd_group *g)
{
    size_t at = g->begin;
    for (size_t i = 0; i < o->muon.matrices; i++) {
        const hd_muon_matrix *one = &o->muon.matrix[i];
        if (one->at < g->begin || one->at >= g->end) continue;
        update_part(r, o, g, at, one->at);
        hd_muon_step(r, &o->muon, one, o->first);
        at = one->at + one->rows * one->cols;
    }
    update_part(r, o, g, at, g->end);
}

hd_status hd_optimizer_step(hd_run *r, hd_optimizer *o, double rate, double weight, double *norm,
                            bool *skipped)
{
    hd_backend *b = r->backend;
    if (r->err.status) return r->err.status;
    r->now.rate = (float)rate, r->now.weight = weight;
    hd_send_block(r);
    hd_optimizer_update(r, o);
    if (r->err.status) return r->err.status;
    if (!norm && !skipped) return HD_OK;
    hd_step now;
    b->download(b, &now, r->block, sizeof now);
    if (norm) *norm = now.norm;
    if (skipped) *skipped = now.skip;
    return HD_OK;
}

void hd_optimizer_keep(hd_optimizer *o, bool back)
{
    const hd_params *p = o->params;
    hd_real *now = hd_params_at(p, p->trainable);
    if (o->kept)
        p->backend->copy(p->backend, back ? now : o->kept, back ? o->kept : now, p->moving * sizeof *now);
}

/* Each process has renewed its running statistics by its own items: from here on all have their mean. */
static void share_statistics(hd_run *r, hd_params *p)
{
    if (r->err.status || r->backend->ranks < 2 || !p->moving) return;
    hd_tensor all = hd_matrix(hd_params_at(p, p->trainable), 1, p->moving);
    hd_status s = r->backend->rank_sum(r->backend, all.data, p->moving);
    if (s) hd_call_failed(r, s, "the sum of running statistics over the processes");
    HD_CALL(r, mix, .y = &all, .x = &all, .a = 1 / (float)r->backend->ranks);
}

static void balance(hd_run *r, const hd_params *p)
{
    for (size_t i = 0; i < p->balances; i++) {
        const hd_balanced *b = &p->balanced[i];
        HD_CALL(r, balance, .bias = b->bias ? &b->bias->t : NULL, .load = &b->load->t, .was = &b->was->t,
                .rate = b->rate, .step = r->block);
    }
}

void hd_optimizer_update(hd_run *r, hd_optimizer *o)
{
    hd_params *p = o->params;
    bool alone = r->err.status || o->summed;
    hd_status s = alone ? HD_OK : r->backend->rank_sum(r->backend, p->grad, p->trainable);
    o->summed = false;
    if (s) hd_call_failed(r, s, "the sum of the gradients over the processes");
    share_statistics(r, p);
    HD_CALL(r, square_sum, .sum = o->squares, .x = p->grad, .count = p->trainable);
    HD_CALL(r, clip, .step = r->block, .sum = o->squares, .updates = o->done, .limit = o->opt.clip);
    for (size_t i = 0; i < p->ranges; i++) update_group(r, o, &p->range[i]);
    balance(r, p);
    if (o->mean)
        HD_CALL(r, average, .mean = o->mean, .value = p->value, .count = p->trainable,
                .decay = o->opt.average, .step = r->block);
}

void hd_optimizer_swap(hd_optimizer *o)
{
    hd_backend *b = o->params->backend;
    size_t all = o->params->trainable;
    for (size_t from = 0; o->mean && from < all; from += SPARE) {
        size_t bytes = (all - from < SPARE ? all - from : SPARE) * sizeof *o->spare;
        b->copy(b, o->spare, o->mean + from, bytes);
        b->copy(b, o->mean + from, hd_params_at(o->params, from), bytes);
        b->copy(b, hd_params_at(o->params, from), o->spare, bytes);
    }
    if (o->mean) hd_params_renew(o->params, NULL);
}
