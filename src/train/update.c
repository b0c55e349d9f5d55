/* An update. Easy to get wrong: of several processes one may fail, and none of the others may wait for it. */
#include "train/update.h"

#include <math.h>

#include "backend/ranks.h"
#include "op/op.h"
#include "op/replay.h"

/* Forward and backward of one part; the last one updates the weights, too. All that it finds out is in the
   step block. */
static void run_part(hd_update *u, size_t part, bool last)
{
    hd_run *r = u->run;
    const hd_trainee *e = u->trainee;
    hd_run_begin(r, HD_TRAIN);
    uint64_t kind = last + (r->watch ? 2 : 0); /* what is captured with it: an update, marks */
    uint64_t shape = e->send ? hd_shape_mix(e->send(r, e->context, part), kind) : 0;
    if (r->captures && hd_replay(r, u->optimizer->serial, shape, NULL)) return;
    if (r->captures) hd_capture(r, u->optimizer->serial, shape);
    hd_loss_put(r, e->loss(r, e->context, part));
    hd_backward(r);
    hd_gradient_sum_rest(&u->gradients, r);
    if (last) hd_optimizer_update(r, u->optimizer);
    hd_captured(r, NULL);
}

/* What the step has found out so far, and whether it could. */
static hd_status find(const hd_update *u, hd_step *found, hd_err *err)
{
    hd_run *r = u->run;
    if (!r->err.status) r->backend->download(r->backend, found, r->block, sizeof *found);
    if (r->backend->error[0]) hd_fail(r, HD_EDEVICE, "%s", r->backend->error);
    if (!r->err.status) return HD_OK;
    return hd_err_set(err, r->err.status, "step %llu: %s", (unsigned long long)u->at->step, r->err.text);
}

/* The update of several processes, once all have computed their parts. Sums of gradients that were begun
   meanwhile are ended first, by those that have failed, too; others begin when all have come through, so that
   none waits for one that has failed. So it is no part of a captured step either. */
static hd_status update_together(hd_update *u, hd_status s, double *loss, hd_step *found, hd_err *err)
{
    hd_run *r = u->run;
    u->optimizer->summed = hd_gradient_sum_end(&u->gradients, r);
    if (!s && r->err.status) s = hd_err_set(err, r->err.status, "%s", r->err.text);
    s = hd_ranks_agree(s, loss, 1, err);
    if (s) return s;
    hd_optimizer_update(r, u->optimizer);
    return find(u, found, err);
}

hd_status hd_update_fail(hd_update *u, hd_status s, hd_err *err)
{
    return u->run->backend->ranks < 2 ? s : update_together(u, s, &(double){0}, NULL, err);
}

hd_status hd_update_compute(hd_update *u, const hd_load *load, double *loss, hd_step *found, hd_err *err)
{
    hd_run *r = u->run;
    hd_status s = HD_OK;
    bool alone = r->backend->ranks < 2;
    *loss = 0;
    for (size_t i = 0; !s && i < load->parts; i++) {
        bool last = i + 1 == load->parts;
        if (last && !alone) hd_gradient_sum_begin(&u->gradients, r);
        run_part(u, i, alone && last);
        if (last && !alone) hd_gradient_sum_send(&u->gradients);
        s = find(u, found, err);
        *loss += (double)found->loss;
    }
    if (!alone) s = update_together(u, s, loss, found, err);
    if (!s) u->parts = load->parts;
    return s;
}

hd_status hd_update_finite(hd_update *u, bool gradient, bool *good, hd_err *err)
{
    hd_run *r = u->run;
    hd_optimizer *o = u->optimizer;
    hd_backend *b = r->backend;
    hd_params *p = o->params;
    double squares = 0;
    HD_CALL(r, square_sum, .sum = o->squares, .x = p->value, .count = p->trainable - p->small);
    if (o->mean) HD_CALL(r, square_sum, .sum = o->squares, .x = o->mean, .count = p->trainable);
    if (gradient) HD_CALL(r, square_sum, .sum = o->squares, .x = p->grad, .count = p->trainable);
    hd_step found;
    hd_status s = find(u, &found, err);
    if (s) return s;
    b->download(b, &squares, o->squares, sizeof squares);
    b->clear(b, o->squares, sizeof squares); /* the next update adds to it */
    *good = isfinite(squares);
    return HD_OK;
}

hd_status hd_update_check(hd_update *u, bool again, const char *step, bool *good, hd_err *err)
{
    hd_optimizer *o = u->optimizer;
    hd_params *p = o->params;
    hd_backend *b = u->run->backend;
    hd_status s = HD_OK;
    double bad = 0;
    if (again) hd_optimizer_keep(o, false);
    for (size_t i = 0; again && !s && i < u->parts; i++) {
        hd_step found = {0};
        run_part(u, i, false);
        s = find(u, &found, err);
        bad += !isfinite((double)found.loss);
    }
    if (!s) s = hd_update_finite(u, again, good, err);
    if (again) b->clear(b, p->grad, p->trainable * sizeof *p->grad);
    /* what is carried from batch to batch has gone one too far */
    if (again) hd_optimizer_keep(o, true);
    if (!s && again && o->beside.load) s = o->beside.load(o->beside.context, step, err);
    if (!s && !*good) bad++;
    s = hd_ranks_agree(s, &bad, 1, err);
    *good = !(bad > 0);
    return s;
}
