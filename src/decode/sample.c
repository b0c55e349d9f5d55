/* Sampling: tokens drawn by their probability, some hypotheses for each sentence, each on its own. A draw is
   keyed by the sentence's number, the sample's and the step, so that it is the same in any batch. */
#include "decode/loop.h"
#include "decode/peek.h"

/* Colder than this and rounding decides, so the likeliest token is taken outright. */
static const float COLD = 1e-6f;

typedef struct draws { /* host step memory */
    int32_t *row, *sample, *key;
    size_t count;
    bool plain; /* draw i is of row i */
} draws;

/* One draw for each live hypothesis. A sentence has one hypothesis until its first free token, then all its
   samples part from there. */
static draws draws_of(hd_loop *l)
{
    draws d = {.plain = true};
    size_t most = l->live.count + l->active * l->best;
    d.row = hd_host_take(l->r, 3 * most * sizeof *d.row);
    if (!d.row) return d;
    d.sample = d.row + most, d.key = d.sample + most;
    for (size_t i = 0; i < l->active; i++) {
        const hd_sentence *q = &l->sentence[l->order[i]];
        if (hd_loop_forced(l, q)) continue;
        bool parting = l->length == q->prefix_len + 1;
        for (size_t j = 0; j < (parting ? l->best : q->count); j++, d.count++) {
            size_t row = parting ? q->first : q->first + j;
            d.row[d.count] = (int32_t)row;
            d.sample[d.count] = parting ? (int32_t)j : l->live.at[row].sample;
            d.key[d.count] = l->opt->key ? l->opt->key[q->index] : (int32_t)q->index;
            d.plain = d.plain && row == d.count;
        }
    }
    d.plain = d.plain && d.count == l->live.count;
    return d;
}

/* Rows without banned tokens. */
static hd_tensor *allowed(hd_loop *l, hd_tensor *logp)
{
    size_t v = l->stepper->vocab;
    bool end = l->opt->end >= 0 && l->banned[l->opt->end];
    if (!l->bans && !end) return logp;
    hd_real *mask = hd_host_take(l->r, v * sizeof *mask);
    for (size_t i = 0; mask && i < v; i++) mask[i] = l->banned[i] ? -INFINITY : 0;
    return mask ? hd_add(l->r, logp, hd_from(l->r, 1, v, mask)) : NULL;
}

static void look(hd_loop *l, hd_tensor *logp)
{
    hd_run *r = l->r;
    draws d = draws_of(l);
    if (!d.row) return;
    hd_sample_opt o = {.temperature = l->opt->temperature,
                       .top_p = l->opt->top_p > 0 ? l->opt->top_p : 1,
                       .top_k = l->opt->top_k < l->stepper->vocab ? (int)l->opt->top_k : 0};
    if (o.temperature < COLD) o.temperature = 1, o.top_k = 1;
    hd_seg *seg = hd_host_take(r, sizeof *seg);
    int32_t *item = hd_host_take(r, d.count * sizeof *item);
    if (!seg || !item) return;
    for (size_t i = 0; i < d.count; i++) item[i] = (int32_t)i;
    *seg = (hd_seg){.item = hd_ints(r, item, d.count),
                    .pos = hd_ints(r, d.sample, d.count),
                    .key = hd_ints(r, d.key, d.count),
                    .items = d.count,
                    .rows = d.count,
                    .longest = 1};
    o.seg = seg;
    r->draws = 0; /* whatever the model drew before */
    hd_tensor *x = allowed(l, logp);
    if (!d.plain) x = hd_gather(r, x, hd_ints(r, d.row, d.count), d.count, 1);
    hd_tensor *ids = hd_sample(r, x, &o, NULL);
    l->ids = hd_host_take(r, d.count * sizeof *l->ids);
    l->logp = hd_host_take(r, d.count * sizeof *l->logp);
    if (!l->logp || !ids) return;
    r->backend->download(r->backend, l->ids, ids->data, d.count * sizeof *l->ids);
    hd_peek(r, logp, d.row, l->ids, d.count, l->logp);
}

static void advance(hd_loop *l, hd_sentence *q)
{
    bool parting = l->length == q->prefix_len + 1;
    for (size_t j = 0; j < (parting ? l->best : q->count); j++, l->drawn++) {
        hd_live h = hd_loop_at(l, parting ? q->first : q->first + j);
        if (parting) h.sample = (int32_t)j;
        if (hd_loop_takes(l, l->ids[l->drawn], l->logp[l->drawn]))
            hd_loop_go(l, q, h, l->ids[l->drawn], l->logp[l->drawn]);
        else
            hd_loop_stuck(l, q, h); /* a row without anything allowed gives any token */
    }
}

const hd_method hd_method_sample = {look, advance};
