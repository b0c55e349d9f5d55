/* Drawing. The number of a token is in the step block, so lots of different numbers are drawn one group after
   the other. */
#include "decode/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Colder than this and rounding decides, so the likeliest token is taken outright. */
static const float COLD = 1e-6f;

/* Rows without banned tokens; row: which of the scores they are. */
static hd_tensor *allowed(hd_run *r, hd_tensor *x, const hd_draw_opt *o, const int32_t *row, uint32_t number)
{
    if (!x) return NULL;
    const size_t v = hd_cols_of(x), rows = o->columns ? hd_rows_of(x) : 1;
    bool early = o->end >= 0 && number < o->min_length;
    if (!o->banned && !early) return x;
    hd_real *mask = hd_host_take(r, rows * v * sizeof *mask);
    for (size_t i = 0; mask && i < rows * v; i++) {
        const hd_columns *c = o->columns ? o->columns[row[i / v]] : NULL;
        if (c && i % v >= c->count) continue; /* -inf already */
        const int32_t token = c ? c->id[i % v] : (int32_t)i;
        mask[i] = (o->banned && o->banned[token]) || (early && token == o->end) ? -INFINITY : 0;
    }
    return mask ? hd_add(r, x, hd_from(r, rows, v, mask)) : NULL;
}

static int falling(const void *a, const void *b)
{
    hd_real x = *(const hd_real *)a, y = *(const hd_real *)b;
    return (x < y) - (x > y);
}

/* Copies the scores above a bound; how many. */
static size_t likelier(const hd_real *x, size_t v, double bound, hd_real *to)
{
    size_t n = 0;
    for (size_t i = 0; i < v; i++)
        if ((double)x[i] >= bound) to[n++] = x[i];
    return n;
}

/* The least score of a row that is drawn: top-k, then top-p of what is left, then min-p. All of them keep the
   first of the sorted tokens. sorted: room for a row; only what min-p could leave is sorted. */
static hd_real least(const hd_real *x, size_t v, const hd_draw_opt *o, hd_real *sorted)
{
    double all = 0, sum = 0, most = -INFINITY, t = (double)o->temperature;
    bool shares = o->top_p > 0 && o->top_p < 1;
    for (size_t i = 0; i < v; i++) most = (double)x[i] > most ? (double)x[i] : most;
    size_t n = likelier(x, v, most + t * log((double)o->min_p) - 1e-3, sorted);
    /* the sum of top-k is of more than min-p leaves */
    for (double reach = 8; shares && n < o->top_k && reach < 1e4; reach *= 2)
        n = likelier(x, v, reach < 5e3 ? most - t * reach : -INFINITY, sorted);
    if (!n) return -INFINITY; /* none is a number */
    qsort(sorted, n, sizeof *sorted, falling);
    size_t kept = o->top_k && o->top_k < n ? o->top_k : n;
    while (kept < n && !(sorted[kept] < sorted[kept - 1])) kept++; /* ties stay */
    for (size_t i = 0; shares && i < (o->top_k ? kept : v); i++)
        all += exp(((double)(o->top_k ? sorted : x)[i] - most) / t);
    for (size_t i = 0; i < kept; i++) {
        double p = exp(((double)sorted[i] - most) / t);
        bool enough = i && shares && sum >= (double)o->top_p * all;
        if (enough || p < (double)o->min_p) return sorted[i - !!i];
        sum += p;
    }
    return sorted[kept - 1];
}

/* Rows in which only tokens that min-p and the others leave can be drawn. */
static hd_tensor *likely(hd_run *r, hd_tensor *x, const hd_draw_opt *o)
{
    size_t v = hd_cols_of(x), n = hd_rows_of(x);
    hd_real *row = hd_host_take(r, (n + 1) * v * sizeof *row);
    if (!row || !hd_read(r, x, row)) return NULL;
    for (size_t i = 0; i < n; i++) {
        hd_real bound = least(row + i * v, v, o, row + n * v);
        for (size_t j = 0; j < v; j++)
            if (!(row[i * v + j] >= bound)) row[i * v + j] = -INFINITY;
    }
    return hd_from(r, n, v, row);
}

/* Lots which[0] .. which[n - 1], all of one number. */
static void draw(hd_run *r, hd_tensor *x, const hd_lot *lot, const int32_t *which, size_t n,
                 const hd_draw_opt *o, int32_t *token)
{
    hd_sample_opt ask = {.temperature = o->temperature,
                         .top_p = o->top_p > 0 ? o->top_p : 1,
                         .top_k = o->top_k < hd_cols_of(x) ? (int)o->top_k : 0};
    if (ask.temperature < COLD) ask.temperature = 1, ask.top_k = 1;
    hd_seg *seg = hd_host_take(r, sizeof *seg);
    int32_t *item = hd_host_take(r, 5 * n * sizeof *item);
    if (!seg || !item) return;
    int32_t *sample = item + n, *key = sample + n, *row = key + n, *drawn = row + n;
    bool plain = n == hd_rows_of(x);
    for (size_t i = 0; i < n; i++) {
        const hd_lot *l = &lot[which[i]];
        item[i] = (int32_t)i, sample[i] = l->sample, key[i] = l->key, row[i] = l->row;
        plain = plain && row[i] == (int32_t)i;
    }
    *seg = (hd_seg){.item = hd_ints(r, item, n),
                    .pos = hd_ints(r, sample, n),
                    .key = hd_ints(r, key, n),
                    .items = n,
                    .rows = n,
                    .longest = 1};
    ask.seg = seg;
    r->now.seed = o->seed, r->now.number = lot[which[0]].number;
    hd_send_block(r);
    r->draws = 0; /* whatever the model drew before */
    if (!plain) x = hd_gather(r, x, hd_ints(r, row, n), n, 1);
    x = allowed(r, x, o, row, lot[which[0]].number);
    if (x && o->min_p > 0 && ask.top_k != 1) {
        x = likely(r, x, o);
        ask.top_k = 0, ask.top_p = 1;
    }
    hd_tensor *ids = hd_sample(r, x, &ask, NULL);
    if (!ids || r->err.status) return;
    r->backend->download(r->backend, drawn, ids->data, n * sizeof *drawn);
    for (size_t i = 0; i < n; i++) token[which[i]] = drawn[i];
}

bool hd_draw_tokens(hd_run *r, hd_tensor *scores, const hd_lot *lot, size_t n, const hd_draw_opt *o,
                    int32_t *token)
{
    hd_step before = r->now;
    int32_t *which = hd_host_take(r, n * sizeof *which + 1);
    bool *done = hd_host_take(r, n + 1);
    if (!scores || !which || !done) return false;
    for (size_t i = 0; i < n && !r->err.status; i++) {
        size_t count = 0;
        if (done[i]) continue;
        for (size_t j = i; j < n; j++)
            if (!done[j] && lot[j].number == lot[i].number) done[j] = true, which[count++] = (int32_t)j;
        draw(r, scores, lot, which, count, o, token);
    }
    r->now = before;
    return !r->err.status;
}
