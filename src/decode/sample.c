/* Sampling: tokens drawn by their probability, some hypotheses for each sentence, each on its own. A draw is
   keyed by the sentence's number, the sample's and the token's, so that it is the same in any batch. */
#include "decode/draw.h"
#include "decode/loop.h"
#include "decode/peek.h"

/* A sentence has one hypothesis until its first free token, then all its samples part from there. */
static bool parts(const hd_loop_item *q)
{
    return q->length == q->prefix_len + 1;
}

/* One draw for each live hypothesis. */
static void look(hd_loop *l, hd_tensor *logp)
{
    hd_run *r = l->r;
    size_t most = l->live.count, n = 0;
    for (size_t i = 0; i < l->active; i++) most += l->sentence[l->order[i]].best;
    hd_lot *lot = hd_host_take(r, most * sizeof *lot);
    int32_t *row = hd_host_take(r, most * sizeof *row);
    l->ids = hd_host_take(r, most * sizeof *l->ids);
    l->logp = hd_host_take(r, most * sizeof *l->logp);
    if (!lot || !row || !l->ids || !l->logp) return;
    for (size_t i = 0; i < l->active; i++) {
        const hd_loop_item *q = &l->sentence[l->order[i]];
        if (hd_loop_forced(q)) continue;
        for (size_t j = 0; j < (parts(q) ? q->best : q->count); j++, n++) {
            row[n] = (int32_t)(parts(q) ? q->first : q->first + j);
            lot[n] = (hd_lot){.row = row[n],
                              .key = l->opt->key ? l->opt->key[q->index] : (int32_t)q->index,
                              .sample = parts(q) ? (int32_t)j : l->live.at[row[n]].sample,
                              .number = (uint32_t)q->length};
        }
    }
    hd_draw_opt o = {.temperature = l->opt->temperature,
                     .top_k = l->opt->top_k,
                     .top_p = l->opt->top_p,
                     .seed = l->opt->seed,
                     .banned = l->bans ? l->banned : NULL,
                     .columns = l->columns,
                     .end = l->opt->end,
                     .min_length = l->opt->min_length};
    if (hd_draw_tokens(r, logp, lot, n, &o, l->ids) && hd_peek(r, logp, row, l->ids, n, l->logp))
        for (size_t i = 0; i < n; i++) l->ids[i] = hd_loop_token(l, (size_t)row[i], l->ids[i]);
}

static void advance(hd_loop *l, hd_loop_item *q)
{
    bool parting = parts(q);
    for (size_t j = 0; j < (parting ? q->best : q->count); j++, l->drawn++) {
        hd_live h = hd_loop_at(l, parting ? q->first : q->first + j);
        if (parting) h.sample = (int32_t)j;
        if (hd_loop_takes(l, l->ids[l->drawn], l->logp[l->drawn]))
            hd_loop_go(l, q, h, l->ids[l->drawn], l->logp[l->drawn]);
        else
            hd_loop_stuck(l, q, h); /* a row without anything allowed gives any token */
    }
}

const hd_method hd_method_sample = {.look = look, .advance = advance};
