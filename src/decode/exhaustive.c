/* Exhaustive search: every sentence up to the limit, for tests and teaching. It reads whole rows and prunes
   nothing, so that it can stand as the truth beside the other searches. */
#include "decode/loop.h"

enum { MOST = 1 << 18 }; /* live hypotheses in all sentences: beyond it the problem is not small */

static void look(hd_loop *l, hd_tensor *logp)
{
    hd_run *r = l->r;
    l->wide = logp ? hd_cols_of(logp) : 0;
    l->logp = hd_host_take(r, l->live.count * l->wide * sizeof *l->logp);
    if (!l->logp || !hd_read(r, logp, l->logp)) return;
    for (size_t i = 0; i < l->live.count * l->wide; i++)
        if (isnan(l->logp[i])) hd_fail_number(r);
}

static void advance(hd_loop *l, hd_loop_item *q)
{
    for (size_t row = q->first; row < q->first + q->count; row++) {
        hd_live h = hd_loop_at(l, row);
        const hd_real *logp = l->logp + row * l->wide;
        bool any = false;
        for (size_t c = 0; c < l->wide; c++) {
            const int32_t token = hd_loop_token(l, row, (int32_t)c);
            if (hd_loop_takes(l, token, logp[c])) hd_loop_go(l, q, h, token, logp[c]), any = true;
        }
        if (!any) hd_loop_stuck(l, q, h);
        if (l->coming.count > MOST)
            hd_fail(l->r, HD_ELIMIT, "search: too many sentences of %zu tokens to go through all", l->length);
        if (l->r->err.status) return;
    }
}

const hd_method hd_method_exhaustive = {.look = look, .advance = advance};
