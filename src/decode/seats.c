/* The decoding loop. */
#include "decode/seats.h"

#include "base/mem.h"

hd_status hd_seats_grow(hd_seats *s, hd_err *err)
{
    size_t need = s->count + 1, room = s->room;
    if (need > INT32_MAX / 2)
        return hd_err_set(err, HD_ELIMIT, "decoding: %zu hypotheses are too many", s->count);
    hd_status st = hd_mem_reserve(&s->parent, &room, need, sizeof *s->parent, err);
    return st ? st : hd_mem_reserve(&s->token, &s->room, need, sizeof *s->token, err);
}

static hd_status failure(const hd_run *r, hd_status s, hd_err *err)
{
    return s ? s : hd_run_status(r, err);
}

static hd_status step(hd_seats *s, const hd_seats_user *u, hd_err *err)
{
    const hd_stepper *st = s->stepper;
    size_t n = s->before = s->count;
    hd_run_begin(s->r, HD_INFERENCE);
    if (st->pick(s->r, st->context, s->parent, n)) hd_fail(s->r, HD_EDEVICE, "hypotheses cannot be picked");
    hd_tensor *scores = s->r->err.status || !n ? NULL : st->step(s->r, st->context, s->token, n);
    s->count = 0;
    return failure(s->r, scores ? u->take(u->context, scores, 0, n, false, err) : HD_OK, err);
}

static hd_status join(hd_seats *s, const hd_seats_user *u, size_t n, hd_err *err)
{
    size_t first = s->before;
    hd_run_begin(s->r, HD_INFERENCE);
    s->joined += n, s->before += n;
    hd_tensor *scores = s->stepper->join(s->r, s->stepper->context, n);
    return failure(s->r, scores ? u->take(u->context, scores, first, n, true, err) : HD_OK, err);
}

/* A step of few rows reads as many weights as one of many: whoever joins takes the first with the others. A
   card replays steps, which have other sizes then. */
static bool enters(const hd_seats *s, const hd_seats_user *u)
{
    return u->enter && s->stepper->enter && !s->r->probe && !s->r->backend->capture;
}

static hd_status enter(hd_seats *s, const hd_seats_user *u, size_t n, hd_err *err)
{
    size_t first = s->before;
    hd_run_begin(s->r, HD_INFERENCE);
    s->joined += n, s->before += n;
    const bool entered = s->stepper->enter(s->r, s->stepper->context, n);
    return failure(s->r, entered ? u->enter(u->context, first, n, err) : HD_OK, err);
}

hd_status hd_seats_turn(hd_seats *s, const hd_seats_user *u, hd_err *err)
{
    size_t left = s->stepper->items - s->joined;
    hd_status st = s->count || s->before ? step(s, u, err) : HD_OK;
    size_t n = !st && left ? u->admit(u->context, left) : 0;
    return n ? (enters(s, u) ? enter : join)(s, u, n < left ? n : left, err) : st;
}

void hd_seats_release(hd_seats *s)
{
    hd_mem_free(s->parent);
    hd_mem_free(s->token);
    s->parent = s->token = NULL, s->count = s->room = 0;
}

hd_status hd_seats_run(hd_seats *s, const hd_seats_user *u, hd_err *err)
{
    hd_status st = HD_OK;
    while (!st && (s->count || s->joined < s->stepper->items)) st = hd_seats_turn(s, u, err);
    hd_seats_release(s);
    return st;
}
