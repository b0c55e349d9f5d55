/* What search methods do with hypotheses. Failures stay in the run, which the loop asks once a step. */
#include "decode/loop.h"

#include "base/mem.h"

/* Room for one more of `count` elements; the block may move. */
static bool grown(hd_run *r, void *block, size_t count, size_t *room, size_t size)
{
    void **at = block;
    if (r->err.status) return false;
    if (count < *room) return true;
    size_t more = 2 * *room + 64, bytes;
    if (more > INT32_MAX || !hd_size_mul(more, size, &bytes))
        return hd_fail(r, HD_ELIMIT, "search: %zu hypotheses are too many", count), false;
    void *bigger = hd_mem_grow(*at, bytes);
    if (!bigger) return hd_err_nomem(&r->err, bytes), false;
    *at = bigger, *room = more;
    return true;
}

void hd_loop_live(hd_loop *l, hd_live h)
{
    if (grown(l->r, &l->coming.at, l->coming.count, &l->coming.room, sizeof h))
        l->coming.at[l->coming.count++] = h;
}

hd_live hd_loop_add(hd_loop *l, hd_live h, int32_t token, hd_real logp)
{
    if (!grown(l->r, &l->link, l->links, &l->link_room, sizeof *l->link)) return h;
    l->link[l->links] = (hd_link){.before = h.link, .token = token, .logp = logp};
    h.link = (int32_t)l->links++;
    h.sum += (double)logp;
    return h;
}

/* Samples stay in order; otherwise finished ones come first, then the score decides. */
static bool before(const hd_loop *l, const hd_end *a, const hd_end *b)
{
    if (l->opt->kind == HD_SEARCH_SAMPLE) return a->sample < b->sample;
    if (a->finished != b->finished) return a->finished;
    return a->score > b->score;
}

void hd_loop_keep(hd_loop *l, hd_loop_item *q, hd_end e)
{
    size_t i = q->kept_count;
    if (l->r->err.status || (i == l->keep && !before(l, &e, &q->kept[i - 1]))) return;
    if (i < l->keep)
        q->kept_count++;
    else
        i--;
    for (; i && before(l, &e, &q->kept[i - 1]); i--) q->kept[i] = q->kept[i - 1];
    q->kept[i] = e;
}

void hd_loop_go(hd_loop *l, hd_loop_item *q, hd_live h, int32_t token, hd_real logp)
{
    bool finished = token == l->opt->end;
    h = hd_loop_add(l, h, token, logp);
    if (!finished && l->length < q->limit) {
        hd_loop_live(l, h);
        return;
    }
    q->finished += finished;
    hd_loop_keep(l, q, (hd_end){h.link, h.sample, l->length, h.sum, h.sum / l->divisor, finished});
}

void hd_loop_stuck(hd_loop *l, hd_loop_item *q, hd_live h)
{
    size_t length = l->length - 1;
    hd_loop_keep(
        l, q,
        (hd_end){h.link, h.sample, length, h.sum, h.sum / hd_length_divisor(&l->opt->length, length), false});
}

void hd_loop_top(hd_loop *l, hd_tensor *logp, size_t k)
{
    hd_run *r = l->r;
    hd_tensor *values = NULL;
    l->wide = k < l->stepper->vocab ? k : l->stepper->vocab;
    hd_tensor *ids = hd_top(r, logp, (int)l->wide, &values);
    size_t count = l->live.count * l->wide;
    l->ids = hd_host_take(r, count * sizeof *l->ids);
    l->logp = hd_host_take(r, count * sizeof *l->logp);
    if (!l->logp || !hd_top_read(r, ids, values, l->ids, l->logp)) return;
    /* NaN ranks behind all numbers, -inf before it: some token has a probability unless logits were no
     * numbers */
    for (size_t i = 0; i < l->live.count; i++)
        if (!(l->logp[i * l->wide] > -INFINITY)) hd_fail_number(r);
}
