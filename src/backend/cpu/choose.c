/* Choosing columns: the k largest of a row, and a random one by its probability. Equal values go to the
   smaller column, so results do not depend on the order of comparison. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/exponent.h"
#include "base/rng.h"

enum { FEW = 256 };

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

/* The k first in rank of n columns, in order. */
static void top_row(int32_t *ids, const hd_real *x, size_t n, int k)
{
    for (int i = 0; i < k; i++) ids[i] = i;
    for (int i = k / 2 - 1; i >= 0; i--) sink(x, ids, k, i);
    for (size_t c = (size_t)k; c < n; c++)
        if (!(x[c] <= x[ids[0]]) && before(x, (int32_t)c, ids[0])) ids[0] = (int32_t)c, sink(x, ids, k, 0);
    for (int last = k - 1; last > 0; last--) {
        int32_t t = ids[0];
        ids[0] = ids[last], ids[last] = t;
        sink(x, ids, last, 0);
    }
}

static void top_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_top_args *a = arg;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        const hd_real *x = hd_row(a->x, r);
        int32_t *ids = (int32_t *)a->ids->data + r * a->ids->stride;
        top_row(ids, x, hd_cols_of(a->x), a->k);
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

/* The columns that top-k and top-p leave of n with weights w, first in rank first; how many. To sort all for
   the few that hold most of the mass would take longer than a small model's step, so as many are sorted as
   turn out to be needed. */
static size_t keep(int32_t *order, const hd_real *w, size_t n, double mass, const hd_sample_args *a)
{
    size_t most = a->top_k > 0 && (size_t)a->top_k < n ? (size_t)a->top_k : n;
    size_t sorted = most < n || most < FEW ? most : FEW;
    for (;; sorted = sorted < n / 8 ? 8 * sorted : n) {
        top_row(order, w, n, (int)sorted);
        if (most < n) {
            mass = 0;
            for (size_t i = 0; i < most; i++) mass += (double)w[order[i]];
        }
        double held = 0;
        for (size_t i = 0; a->top_p < 1 && i < sorted; i++) {
            held += (double)w[order[i]];
            if (held >= (double)a->top_p * mass) return i + 1;
        }
        if (sorted == most) return most;
    }
}

static void sample_part(void *arg, size_t begin, size_t end, int worker)
{
    sampling *s = arg;
    const hd_sample_args *a = s->a;
    size_t n = hd_cols_of(a->x);
    hd_real *w = (hd_real *)(s->cpu->scratch + (size_t)worker * s->cpu->scratch_each);
    int32_t *order = (int32_t *)(w + n);
    for (size_t r = begin; r < end; r++) {
        const hd_real *x = hd_row(a->x, r);
        hd_real max = hd_row_max(x, n), inverse = (hd_real)(1 / (double)a->temperature);
        for (size_t c = 0; c < n; c++) w[c] = (x[c] - max) * inverse;
        double mass = (double)hd_row_exp(w, w, n, 0);
        size_t kept = n;
        bool ranked = (a->top_k > 0 && (size_t)a->top_k < n) || a->top_p < 1;
        if (ranked) kept = keep(order, w, n, mass, a);
        int32_t c = draw(w, ranked ? order : NULL, kept, unit_of(&a->draw, r));
        *((int32_t *)a->ids->data + r * a->ids->stride) = c;
        if (a->logp)
            hd_row(a->logp, r)[0] = (hd_real)((double)(x[c] - max) - log((double)hd_row_exp_sum(x, n, max)));
    }
}

hd_status KERNEL(sample)(hd_backend *b, const hd_sample_args *a)
{
    sampling s = {a, (hd_cpu *)b};
    if (!hd_cpu_scratch(s.cpu, hd_cols_of(a->x) * (sizeof(hd_real) + sizeof(int32_t)))) return HD_ENOMEM;
    hd_team_run(s.cpu->team, hd_rows_of(a->x), hd_grain_rows(hd_cols_of(a->x)), sample_part, &s);
    return HD_OK;
}
