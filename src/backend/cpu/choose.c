/* Choosing columns: the k largest of a row, and a random one by its probability. Equal values go to the
   smaller column, so results do not depend on the order of comparison. */
#include "backend/cpu/best.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/exponent.h"
#include "base/rng.h"

enum {
    FEW = 256,
    PILES = 2048,                                       /* 32 for a factor of two, down to 2^-64 */
    FRACTION = 8 * (int)sizeof(hd_real) == 32 ? 23 : 52 /* bits of a number's */
};

/* a ranks before b; NaN behind every number */
static bool before(const hd_real *x, int32_t a, int32_t b)
{
    if (isnan(x[a]) || isnan(x[b])) return isnan(x[b]) && (!isnan(x[a]) || a < b);
    return x[a] > x[b] || (x[a] == x[b] && a < b);
}

/* heap[0] is the last in rank of the k kept */
static void sink(const hd_real *x, int32_t *heap, int k, int i)
{
    for (;;) {
        int worst = i, l = 2 * i + 1, r = l + 1;
        if (l < k && before(x, heap[worst], heap[l])) worst = l;
        if (r < k && before(x, heap[worst], heap[r])) worst = r;
        if (worst == i) return;
        int32_t t = heap[i];
        heap[i] = heap[worst], heap[worst] = t, i = worst;
    }
}

/* A heap in order, first in rank first. */
static void unheap(const hd_real *x, int32_t *heap, int k)
{
    for (int last = k - 1; last > 0; last--) {
        int32_t t = heap[0];
        heap[0] = heap[last], heap[last] = t;
        sink(x, heap, last, 0);
    }
}

/* The k first in rank of n columns, in order: those that reach what k columns reach, then whatever ranks
   before the last of those kept. */
static void top_row(int32_t *ids, const hd_real *x, size_t n, int k)
{
    const hd_real reached = hd_row_reached(x, n, (size_t)k);
    size_t c = 0;
    for (int i = 0; i < k; i++, c++) {
        if (reached > -INFINITY) c = hd_row_next(x, c, n, reached, false);
        ids[i] = (int32_t)c;
    }
    for (int i = k / 2 - 1; i >= 0; i--) sink(x, ids, k, i);
    for (; (c = hd_row_next(x, c, n, x[ids[0]], true)) < n; c++)
        if (before(x, (int32_t)c, ids[0])) ids[0] = (int32_t)c, sink(x, ids, k, 0);
    unheap(x, ids, k);
}

/* Log-probabilities of some columns, the first of them the largest, to the bit those of log-softmax. */
static void log_of(hd_real *to, const int32_t *ids, int k, const hd_real *x, size_t n)
{
    hd_real max = x[ids[0]], l = max == -INFINITY ? 0 : (hd_real)log((double)hd_row_exp_sum(x, n, max));
    for (int i = 0; i < k; i++) to[i] = max == -INFINITY ? -INFINITY : (x[ids[i]] - max) - l;
}

static void top_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_top_args *a = arg;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        const hd_real *x = hd_row(a->x, r);
        int32_t *ids = (int32_t *)a->ids->data + r * a->ids->stride;
        top_row(ids, x, hd_cols_of(a->x), a->k);
        if (a->log && a->values)
            log_of(hd_row(a->values, r), ids, a->k, x, hd_cols_of(a->x));
        else
            for (int i = 0; a->values && i < a->k; i++) hd_row(a->values, r)[i] = x[ids[i]];
    }
}

hd_status KERNEL(top)(hd_backend *b, const hd_top_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->x), hd_grain_rows(hd_cols_of(a->x)), top_part, (void *)a);
    return HD_OK;
}

typedef struct sampling {
    const hd_sample_args *a;
    hd_cpu *cpu;
} sampling;

static double unit_of(const hd_draw *d, size_t r)
{
    uint32_t item = (uint32_t)r, row = 0;
    if (d->seg && d->seg->item) {
        int32_t i = d->seg->item[r];
        item = (uint32_t)(d->seg->key && i >= 0 ? d->seg->key[i] : i), row = (uint32_t)d->seg->pos[r];
    }
    return (double)(hd_rng_row_key(d->step->seed, d->step->number, d->op, item, row) >> 11) * 0x1p-53;
}

/* Walks the candidates in rank order (order given) or by column until the drawn share of their mass is
 * passed. */
static int32_t draw(const hd_real *w, const int32_t *order, size_t n, double share)
{
    double sum = 0, at = 0;
    for (size_t i = 0; i < n; i++) sum += (double)w[order ? order[i] : (int32_t)i];
    int32_t last = order ? order[0] : 0;
    for (size_t i = 0; i < n; i++) {
        int32_t c = order ? order[i] : (int32_t)i;
        if (!(w[c] > 0)) continue;
        last = c;
        at += (double)w[c];
        if (at > share * sum) return c;
    }
    return last;
}

/* The columns that top-k and top-p leave of n with weights w, first in rank first; how many. 0: those that
   hold so much of the mass are more than FEW, and they are not sorted. */
static size_t keep(int32_t *order, const hd_real *w, size_t n, double mass, const hd_sample_args *a)
{
    size_t most = a->top_k > 0 && (size_t)a->top_k < n ? (size_t)a->top_k : n;
    size_t sorted = most < n || most < FEW ? most : FEW;
    double held = 0;
    if (sorted < most && (double)sorted < (double)a->top_p * mass) return 0; /* no weight is above 1 */
    top_row(order, w, n, (int)sorted);
    if (most < n) {
        mass = 0;
        for (size_t i = 0; i < most; i++) mass += (double)w[order[i]];
    }
    for (size_t i = 0; a->top_p < 1 && i < sorted; i++) {
        held += (double)w[order[i]];
        if (held >= (double)a->top_p * mass) return i + 1;
    }
    return sorted == most ? most : 0;
}

/* -- top-p of many columns, without sorting them: piles of columns of almost the same weight -- */

typedef struct pile {
    double mass;
    int32_t first, count; /* in the order of columns */
} pile;

/* Of a weight from 0 to 1; the heaviest have the first. */
static size_t pile_of(hd_real w)
{
    const hd_real one = 1;
    hd_bits x, top;
    memcpy(&x, &w, sizeof x);
    memcpy(&top, &one, sizeof top);
    size_t i = (size_t)((top - x) >> (FRACTION - 5));
    return i < PILES ? i : PILES - 1;
}

static void sort_pile(const hd_real *w, int32_t *ids, int count)
{
    int sorted = 1;
    while (sorted < count && before(w, ids[sorted - 1], ids[sorted])) sorted++;
    if (sorted >= count) return;
    for (int i = count / 2 - 1; i >= 0; i--) sink(w, ids, count, i);
    unheap(w, ids, count);
}

/* The first columns in rank that hold `most` of the mass, pile after pile; returns the last pile, cut off
   there. Only that one is sorted. */
static size_t cut_piles(pile *piles, int32_t *order, const hd_real *w, size_t n, double most)
{
    size_t last = 0, kept = 0;
    double held = 0, in = 0;
    int32_t at = 0;
    memset(piles, 0, PILES * sizeof *piles);
    for (size_t c = 0; c < n; c++) {
        pile *p = &piles[pile_of(w[c])];
        p->mass += (double)w[c], p->count++;
    }
    while (last + 1 < PILES && held + piles[last].mass < most) held += piles[last++].mass;
    for (size_t i = 0; i <= last; i++) piles[i].first = at, at += piles[i].count, piles[i].count = 0;
    for (size_t c = 0; c < n; c++) {
        pile *p = &piles[pile_of(w[c])];
        if (p <= piles + last) order[p->first + p->count++] = (int32_t)c;
    }
    pile *cut = piles + last;
    sort_pile(w, order + cut->first, cut->count);
    while (kept < (size_t)cut->count && held + in < most) in += (double)w[order[(size_t)cut->first + kept++]];
    cut->mass = in, cut->count = (int32_t)kept;
    return last;
}

/* What `draw` gives of these columns in their order. */
static int32_t draw_of_piles(pile *piles, int32_t *order, const hd_real *w, size_t last, double share)
{
    double sum = 0, at = 0;
    size_t i = 0;
    for (size_t j = 0; j <= last; j++) sum += piles[j].mass;
    while (i < last && at + piles[i].mass <= share * sum) at += piles[i++].mass;
    int32_t *ids = order + piles[i].first, drawn = order[0];
    if (i < last) sort_pile(w, ids, piles[i].count);
    for (int32_t j = 0; j < piles[i].count; j++) {
        drawn = ids[j];
        at += (double)w[drawn];
        if (at > share * sum) break;
    }
    return drawn;
}

static void sample_part(void *arg, size_t begin, size_t end, int worker)
{
    sampling *s = arg;
    const hd_sample_args *a = s->a;
    size_t n = hd_cols_of(a->x);
    hd_real *w = (hd_real *)(s->cpu->scratch + (size_t)worker * s->cpu->scratch_each);
    pile *piles = (pile *)w;
    w = (hd_real *)(piles + PILES);
    int32_t *order = (int32_t *)(w + n);
    for (size_t r = begin; r < end; r++) {
        const hd_real *x = hd_row(a->x, r);
        hd_real max = hd_row_max(x, n), inverse = (hd_real)(1 / (double)a->temperature);
        for (size_t c = 0; c < n; c++) w[c] = (x[c] - max) * inverse;
        double mass = (double)hd_row_exp(w, w, n, 0);
        size_t kept = n;
        bool ranked = (a->top_k > 0 && (size_t)a->top_k < n) || a->top_p < 1;
        if (ranked) kept = keep(order, w, n, mass, a);
        const double share = unit_of(&a->draw, r);
        int32_t c = kept ? draw(w, ranked ? order : NULL, kept, share)
                         : draw_of_piles(piles, order, w,
                                         cut_piles(piles, order, w, n, (double)a->top_p * mass), share);
        *((int32_t *)a->ids->data + r * a->ids->stride) = c;
        if (a->logp)
            hd_row(a->logp, r)[0] = (hd_real)((double)(x[c] - max) - log((double)hd_row_exp_sum(x, n, max)));
    }
}

hd_status KERNEL(sample)(hd_backend *b, const hd_sample_args *a)
{
    sampling s = {a, (hd_cpu *)b};
    if (!hd_cpu_scratch(s.cpu, PILES * sizeof(pile) + hd_cols_of(a->x) * (sizeof(hd_real) + sizeof(int32_t))))
        return HD_ENOMEM;
    hd_team_run(s.cpu->team, hd_rows_of(a->x), hd_grain_rows(hd_cols_of(a->x)), sample_part, &s);
    return HD_OK;
}
