/* What search methods do with hypotheses. Failures stay in the run, which the loop asks once a step. */
#include "decode/loop.h"

#include "base/mem.h"

bool hd_loop_grow(hd_loop *l)
{
    hd_run *r = l->r;
    size_t links = l->links + 1, lives = l->coming.count + 1;
    if (r->err.status) return false;
    if (links > INT32_MAX / 2 || lives > INT32_MAX / 2)
        return hd_fail(r, HD_ELIMIT, "search: %zu hypotheses are too many", links), false;
    return !hd_mem_reserve(&l->link, &l->link_room, links, sizeof *l->link, &r->err) &&
           !hd_mem_reserve(&l->coming.at, &l->coming.room, lives, sizeof *l->coming.at, &r->err);
}

/* Samples stay in order; otherwise finished ones come first, then the score decides. */
static bool before(const hd_loop *l, const hd_end *a, const hd_end *b)
{
    if (l->opt->kind == HD_SEARCH_SAMPLE) return a->sample < b->sample;
    if (a->finished != b->finished && !l->opt->cut_equal) return a->finished;
    return a->score > b->score;
}

void hd_loop_keep(hd_loop *l, hd_loop_item *q, hd_end e)
{
    size_t i = q->kept_count;
    if (l->r->err.status || (i == q->keep && !before(l, &e, &q->kept[i - 1]))) return;
    if (i < q->keep)
        q->kept_count++;
    else
        i--;
    for (; i && before(l, &e, &q->kept[i - 1]); i--) q->kept[i] = q->kept[i - 1];
    q->kept[i] = e;
}

void hd_loop_stuck(hd_loop *l, hd_loop_item *q, hd_live h)
{
    size_t length = l->length - 1;
    double score = hd_length_score(&l->opt->length, h.sum, length);
    hd_loop_keep(l, q, (hd_end){h.link, h.sample, length, h.sum, score, false});
}

void hd_loop_top(hd_loop *l, hd_tensor *logp, size_t k)
{
    hd_run *r = l->r;
    hd_tensor *values = NULL;
    const size_t cols = logp ? hd_cols_of(logp) : k;
    l->wide = k < cols ? k : cols;
    hd_tensor *ids = l->raw && !l->unscored ? hd_top_log(r, logp, (int)l->wide, &values)
                                            : hd_top(r, logp, (int)l->wide, &values);
    size_t count = l->live.count * l->wide;
    l->ids = hd_host_take(r, count * sizeof *l->ids);
    l->logp = hd_host_take(r, count * sizeof *l->logp);
    if (!l->logp || !hd_top_read(r, ids, values, l->ids, l->logp)) return;
    /* NaN ranks behind all numbers, -inf before it: some token has a probability unless logits were no
     * numbers */
    for (size_t i = 0; i < l->live.count; i++)
        if (!(l->logp[i * l->wide] > -INFINITY)) hd_fail_number(r);
    for (size_t i = 0; l->unscored && i < count; i++)
        if (l->logp[i] > -INFINITY) l->logp[i] = 0;
    for (size_t i = 0; l->columns && i < count; i++) l->ids[i] = hd_loop_token(l, i / l->wide, l->ids[i]);
}

int32_t hd_loop_column(const hd_loop *l, size_t row, int32_t token)
{
    if (!l->columns) return token;
    const hd_columns *c = l->columns[row];
    size_t low = 0, high = c->count;
    while (low + 1 < high) {
        size_t middle = (low + high) / 2;
        if (c->id[middle] <= token)
            low = middle;
        else
            high = middle;
    }
    return (int32_t)low;
}
