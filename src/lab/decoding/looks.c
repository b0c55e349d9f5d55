/* A search through a stepper that counts. */
#include "lab/decoding/looks.h"

#include <math.h>
#include <string.h>

#include "model/stepper_parts.h"

/* What the search steps by, and who counts. */
typedef struct counting {
    hd_stepper of;
    hd_looks *to;
} counting;

static hd_tensor *count_join(hd_run *r, void *context, size_t n)
{
    counting *c = context;
    c->to->extended += n;
    return c->of.join(r, c->of.context, n);
}

static hd_tensor *count_step(hd_run *r, void *context, const int32_t *ids, size_t live)
{
    counting *c = context;
    c->to->extended += live;
    return c->of.step(r, c->of.context, ids, live);
}

static hd_status count_pick(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    counting *c = context;
    return c->of.pick(r, c->of.context, parent, n);
}

static void count_queries(void *context, hd_run *r, const hd_offer *offer)
{
    (void)r;
    if (!strcmp(offer->name, "dec.0.cross.query")) ((hd_looks *)context)->looks += hd_rows_of(offer->t);
}

hd_status hd_looks_search(hd_looks *to, const hd_learner *l, size_t beam, bool shared, hd_err *err)
{
    hd_run *r = l->course.run;
    const hd_learner_lot *lot = l->lot;
    const hd_probe probe = {.take = count_queries, .context = to}, *before = r->probe;
    const hd_search_opt o = {.kind = beam > 1 ? HD_SEARCH_BEAM : HD_SEARCH_GREEDY,
                             .beam = beam,
                             .best = beam,
                             .end = HD_LEARNER_END,
                             .max_length = 2 * (size_t)l->opt.longest,
                             .stop = HD_STOP_BEST};
    counting c = {.to = to};
    *to = (hd_looks){0};
    hd_status s = hd_encdec_stepper(&c.of, l->model, lot->source, lot->source_len, HD_LOOKS_ITEMS,
                                    HD_LEARNER_BEGIN, err);
    if (s) return s;
    if (!shared) c.of.pick = hd_stepping_pick;
    hd_stepper outer = c.of;
    outer.join = count_join, outer.step = count_step, outer.pick = count_pick, outer.context = &c;
    r->probe = &probe;
    s = hd_search(&to->found, r, &outer, &o, err);
    r->probe = before;
    hd_stepper_release(&c.of);
    return s;
}

void hd_looks_release(hd_looks *x)
{
    hd_found_free(x->found);
    x->found = NULL;
}

double hd_looks_apart(const hd_looks *one, const hd_looks *other)
{
    const hd_found *a = one->found, *b = other->found;
    double most = a->guesses == b->guesses ? 0 : INFINITY;
    for (size_t i = 0; i < HD_LOOKS_ITEMS; i++) {
        const hd_guess *x = hd_found_at(a, i), *y = hd_found_at(b, i);
        if (x->length != y->length || memcmp(x->ids, y->ids, x->length * sizeof *x->ids)) return INFINITY;
    }
    for (size_t i = 0; i < a->guesses && most < INFINITY; i++)
        most = fmax(most, fabs(a->guess[i].sum - b->guess[i].sum));
    return most;
}
