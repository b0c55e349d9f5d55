/* Greedy search: one hypothesis, and always the likeliest token. Among equals the one with the smaller
 * number. */
#include "decode/loop.h"

/* So many of a row's likeliest tokens can be banned at most. */
static void look(hd_loop *l, hd_tensor *logp)
{
    hd_loop_top(l, logp, l->bans + 2);
}

static void advance(hd_loop *l, hd_loop_item *q)
{
    const int32_t *id = l->ids + q->first * l->wide;
    const hd_real *logp = l->logp + q->first * l->wide;
    hd_live h = hd_loop_at(l, q->first);
    for (size_t i = 0; i < l->wide; i++)
        if (hd_loop_takes(l, id[i], logp[i])) {
            hd_loop_go(l, q, h, id[i], logp[i]);
            return;
        }
    hd_loop_stuck(l, q, h);
}

const hd_method hd_method_greedy = {.look = look, .advance = advance, .ranks = true};
