/* GPT a token a step, for as long as one likes. When a hypothesis has used up the positions, the later half
   of what it saw is read again: it leaves the cache and joins anew, so that a step costs about two on average
   and every token but a text's first ones has at least half of the context. Easy to get wrong: what a
   hypothesis forgets, and when, must not depend on those beside it. */
#include <string.h>

#include "base/mem.h"
#include "model/gpt.h"
#include "model/lm/lm_parts.h"
#include "model/stepper_parts.h"

typedef struct seat {
    size_t steps; /* taken so far, that of reading the prompt included */
    int32_t used; /* tokens in the cache */
    int32_t at;   /* its place there */
} seat;

typedef struct turning {
    const hd_lm *model;
    hd_stepping *inner;
    seat *seat;    /* [live] */
    int32_t *seen; /* [live, positions]: what is in the cache, its first tokens first */
    size_t live;
} turning;

static void turning_free(void *context)
{
    turning *s = context;
    if (!s) return;
    hd_stepping_free(s->inner);
    hd_mem_free(s->seat);
    hd_mem_free(s->seen);
    hd_mem_free(s);
}

/* Steps between two looks whether there is room; there is one more behind the first step. */
static size_t stride(const turning *s)
{
    size_t context = s->model->opt.context;
    return context < 8 ? 1 : context / 4;
}

/* Whether a seat cannot take as many tokens as come before its next look: then it keeps the last half of its
   context. */
static bool forgets(turning *s, size_t i)
{
    size_t room = s->model->opt.context, keep = room / 2, used = (size_t)s->seat[i].used,
           steps = s->seat[i].steps;
    if (steps != 1 && steps % stride(s)) return false;
    if (used + stride(s) - steps % stride(s) <= room) return false;
    int32_t *seen = s->seen + i * room;
    memmove(seen, seen + used - keep, keep * sizeof *seen);
    s->seat[i].used = (int32_t)keep;
    return true;
}

/* Seats which[0] .. which[n - 1] join the cache, with what they have seen and then ids[which[i]]. */
static hd_tensor *read_seats(hd_run *r, turning *s, const int32_t *which, size_t n, const int32_t *ids)
{
    size_t room = s->model->opt.context;
    int32_t *all = hd_host_take(r, n * (room + 2) * sizeof *all), *len = all ? all + n * (room + 1) : NULL;
    hd_arrivals a = {.ids = all, .len = len, .items = n};
    if (!all) return NULL;
    for (size_t i = 0; i < n; i++) {
        seat *x = &s->seat[which[i]];
        memcpy(all + a.rows, s->seen + (size_t)which[i] * room, (size_t)x->used * sizeof *all);
        a.rows += (size_t)x->used;
        all[a.rows++] = ids[which[i]];
        len[i] = x->used + 1;
        x->at = (int32_t)(s->inner->live + i);
    }
    return hd_stepping_join(r, s->inner, &a);
}

/* A token more, once it is in the cache. */
static void count_token(turning *s, size_t i, int32_t id)
{
    s->seen[i * s->model->opt.context + (size_t)s->seat[i].used++] = id;
    s->seat[i].steps++;
}

static hd_tensor *join(hd_run *r, void *context, size_t n)
{
    turning *s = context;
    size_t room = s->model->opt.context, all = s->live + n;
    hd_arrivals a = hd_stepping_next(r, s->inner, n);
    int32_t *which = hd_host_take(r, (n + all + 1) * sizeof *which), *last = which ? which + n : NULL;
    if (!which || r->err.status) return NULL;
    seat *seats = hd_mem_grow(s->seat, all * sizeof *seats + 1);
    if (seats) s->seat = seats;
    int32_t *seen = seats ? hd_mem_grow(s->seen, all * room * sizeof *seen + 1) : NULL;
    if (!seen) return hd_err_nomem(&r->err, all * room * sizeof *seen), NULL;
    s->seen = seen;
    const int32_t *ids = a.ids;
    for (size_t i = 0; i < n; ids += a.len[i++]) { /* as much of a prompt's end as fits */
        size_t before = (size_t)a.len[i] - 1, used = before < room ? before : room - 1, to = s->live + i;
        memcpy(seen + to * room, ids + before - used, used * sizeof *seen);
        seats[to] = (seat){.used = (int32_t)used};
        which[i] = (int32_t)to, last[to] = ids[before];
    }
    hd_tensor *y = read_seats(r, s, which, n, last);
    for (size_t i = s->live; y && i < all; i++) count_token(s, i, last[i]);
    s->live = all;
    return y;
}

/* The scores of those that stayed in the cache and of those that were read again, in the order of the seats.
 */
static hd_tensor *in_order(hd_run *r, const turning *s, hd_tensor *stayed, hd_tensor *again)
{
    int32_t *index = hd_host_take(r, (s->live + 1) * sizeof *index);
    if (!stayed || !again || !index) return stayed ? NULL : again;
    for (size_t i = 0; i < s->live; i++) index[i] = s->seat[i].at;
    hd_tensor *both = hd_concat_rows(r, (hd_tensor *const[]){stayed, again}, 2);
    return hd_gather(r, both, hd_ints(r, index, s->live), s->live, 1);
}

static hd_tensor *step(hd_run *r, void *context, const int32_t *ids, size_t live)
{
    turning *s = context;
    if (live != s->live) return hd_fail(r, HD_ESHAPE, "step: %zu hypotheses, %zu are alive", live, s->live);
    int32_t *stay = hd_host_take(r, (4 * live + 1) * sizeof *stay);
    if (!stay) return NULL;
    int32_t *token = stay + live, *again = token + live;
    size_t stays = 0, n = 0;
    for (size_t i = 0; i < live; i++) {
        if (forgets(s, i)) {
            again[n++] = (int32_t)i;
            continue;
        }
        token[stays] = ids[i], stay[stays] = s->seat[i].at;
        s->seat[i].at = (int32_t)stays++;
    }
    if (hd_stepping_pick(r, s->inner, stay, stays)) return NULL;
    hd_tensor *y = stays ? hd_stepping_step(r, s->inner, token, stays) : NULL;
    if (n && !r->err.status) y = in_order(r, s, y, read_seats(r, s, again, n, ids));
    for (size_t i = 0; y && i < live; i++) count_token(s, i, ids[i]);
    return y;
}

static hd_status pick(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    turning *s = context;
    size_t room = s->model->opt.context;
    for (size_t i = 0; i < n; i++)
        if (parent[i] < 0 || (size_t)parent[i] >= s->live)
            return hd_fail(r, HD_EARG, "pick: there is no hypothesis %d among %zu", parent[i], s->live),
                   HD_EARG;
    int32_t *seen = hd_mem_array(n * room, sizeof *seen), *at = hd_host_take(r, (n + 1) * sizeof *at);
    seat *seats = hd_mem_array(n, sizeof *seats);
    hd_status st = seen && seats && at ? HD_OK : hd_err_nomem(&r->err, n * room * sizeof *seen);
    for (size_t i = 0; !st && i < n; i++) {
        size_t from = (size_t)parent[i];
        seats[i] = s->seat[from];
        at[i] = seats[i].at, seats[i].at = (int32_t)i;
        memcpy(seen + i * room, s->seen + from * room, (size_t)seats[i].used * sizeof *seen);
    }
    if (!st) st = hd_stepping_pick(r, s->inner, at, n);
    if (st) return hd_mem_free(seen), hd_mem_free(seats), st;
    hd_mem_free(s->seen);
    hd_mem_free(s->seat);
    s->seen = seen, s->seat = seats, s->live = n;
    return HD_OK;
}

hd_status hd_lm_gpt_stepper(hd_stepper *out, const void *self, const int32_t *ids, const int32_t *len,
                            size_t items, int32_t start, hd_err *err)
{
    const hd_lm *m = self;
    (void)start;
    hd_stepping_ask q = {"prompt", ids, len, items, m->opt.vocab, INT32_MAX};
    turning *s = hd_mem_zero(sizeof *s);
    if (!s) return hd_err_nomem(err, sizeof *s);
    s->model = m;
    hd_status st = hd_gpt_stepping(&s->inner, m->model, &q, err);
    if (st) return turning_free(s), st;
    *out = (hd_stepper){.vocab = m->opt.vocab,
                        .items = items,
                        .source = s->inner->len,
                        .join = join,
                        .step = step,
                        .raw = &s->inner->raw,
                        .pick = pick,
                        .free = turning_free,
                        .context = s};
    return HD_OK;
}
