/* The router: scores, the choice of experts, their weights; and sorting by expert. A row is one worker's;
   what counts over rows is done by the caller alone, in their order. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/exponent.h"

static const hd_real TINY = (hd_real)1e-20; /* keeps a sum of weights from being 0 */

static void score(hd_real *s, const hd_real *logits, size_t n, hd_router router)
{
    if (router == HD_ROUTER_SIGMOID) {
        HD_COLUMNS(n, { S(s, hd_sigmoid(L(logits))); });
    } else {
        hd_row_scale(s, n, 1 / hd_row_exp(s, logits, n, hd_row_max(logits, n)));
    }
}

/* The best of n that is not taken yet; of numbers that are none, the first that is left. */
static size_t best_of(const hd_real *x, const bool *taken, size_t n)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (!taken[i] && (best == n || x[i] > x[best])) best = i;
    return best;
}

/* Takes all experts out that are not in one of the best groups. */
static void keep_groups(bool *taken, const hd_real *x, size_t n, const hd_routing *how)
{
    size_t groups = (size_t)how->groups, each = n / groups;
    hd_real worth[HD_EXPERTS_MOST];
    bool kept[HD_EXPERTS_MOST] = {0};
    for (size_t g = 0; g < groups; g++) {
        worth[g] = 0;
        for (int i = 0; i < how->group_best && (size_t)i < each; i++) {
            size_t best = best_of(x + g * each, taken + g * each, each);
            worth[g] += x[g * each + best], taken[g * each + best] = true;
        }
    }
    for (int i = 0; i < how->groups_used; i++) kept[best_of(worth, kept, groups)] = true;
    for (size_t e = 0; e < n; e++) taken[e] = !kept[e / each];
}

static void choose(int32_t *ids, const hd_real *scores, const hd_real *bias, size_t n, const hd_routing *how)
{
    hd_real x[HD_EXPERTS_MOST];
    bool taken[HD_EXPERTS_MOST] = {0};
    for (size_t e = 0; e < n; e++) x[e] = scores[e] + (bias ? bias[e] : 0);
    if (how->groups) keep_groups(taken, x, n, how);
    for (int k = 0; k < how->used; k++) {
        size_t best = best_of(x, taken, n);
        ids[k] = (int32_t)best, taken[best] = true;
    }
}

static hd_real weight_sum(const hd_real *scores, const int32_t *ids, int used)
{
    hd_real sum = 0;
    for (int k = 0; k < used; k++) sum += scores[ids[k]];
    return sum + TINY;
}

static void route_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_route_args *a = arg;
    size_t n = hd_cols_of(a->logits);
    int used = a->how.used;
    (void)worker;
    for (size_t t = begin; t < end; t++) {
        int32_t *ids = (int32_t *)a->ids->data + t * a->ids->stride;
        hd_real *s = hd_row(a->scores, t), *w = hd_row(a->weights, t);
        if (a->item && a->item[t] < 0) {
            for (int k = 0; k < used; k++) ids[k] = -1, w[k] = 0;
            memset(s, 0, n * sizeof *s);
            continue;
        }
        score(s, hd_row(a->logits, t), n, a->how.router);
        choose(ids, s, a->bias ? a->bias->data : NULL, n, &a->how);
        hd_real by = a->how.scaling / (a->how.normalized ? weight_sum(s, ids, used) : 1);
        for (int k = 0; k < used; k++) w[k] = by * s[ids[k]];
    }
}

hd_status KERNEL(route)(hd_backend *b, const hd_route_args *a)
{
    size_t rows = hd_rows_of(a->logits), n = hd_cols_of(a->logits);
    hd_team_run(((hd_cpu *)b)->team, rows, hd_grain_rows(n * (size_t)(a->how.used + 2)), route_part,
                (void *)a);
    for (size_t t = 0; a->load && t < rows; t++) {
        const int32_t *ids = (const int32_t *)a->ids->data + t * a->ids->stride;
        int32_t *load = a->load + (a->loads > 1 ? (size_t)(a->item[t] > 0 ? a->item[t] : 0) * n : 0);
        for (int k = 0; k < a->how.used; k++)
            if (ids[k] >= 0) load[ids[k]]++;
    }
    return HD_OK;
}

/* -- backward -- */

/* ds += of the balance loss: c_e = coef * load_e / sum(load) on each share; of sigmoids a share is the
   score by the sum of scores. */
static void balance_row(const hd_route_back_args *a, hd_real *ds, const hd_real *s, size_t n, size_t t)
{
    const int32_t *load = a->load + (a->loads > 1 ? (size_t)a->item[t] * n : 0);
    int64_t all = 0;
    hd_real sum = 0, mean = 0;
    for (size_t e = 0; e < n; e++) all += load[e], sum += s[e];
    if (!all) return;
    hd_real by = a->coef / (hd_real)all;
    if (a->how.router == HD_ROUTER_SOFTMAX) {
        for (size_t e = 0; e < n; e++) ds[e] += by * (hd_real)load[e];
        return;
    }
    sum += TINY;
    for (size_t e = 0; e < n; e++) mean += by * (hd_real)load[e] * s[e] / sum;
    for (size_t e = 0; e < n; e++) ds[e] += (by * (hd_real)load[e] - mean) / sum;
}

static void weights_row(const hd_route_back_args *a, hd_real *ds, const hd_real *s, size_t t)
{
    const int32_t *ids = (const int32_t *)a->ids->data + t * a->ids->stride;
    const hd_real *dw = hd_row(a->dweights, t), *w = hd_row(a->weights, t);
    hd_real sum = 1, mean = 0;
    if (a->how.normalized) {
        sum = weight_sum(s, ids, a->how.used);
        for (int k = 0; k < a->how.used; k++) mean += dw[k] * w[k];
    }
    for (int k = 0; k < a->how.used; k++) ds[ids[k]] += (a->how.scaling * dw[k] - mean) / sum;
}

static void route_back_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_route_back_args *a = arg;
    size_t n = hd_cols_of(a->scores);
    (void)worker;
    for (size_t t = begin; t < end; t++) {
        hd_real ds[HD_EXPERTS_MOST] = {0}, *dx = hd_row(a->dlogits, t), mean = 0;
        const hd_real *s = hd_row(a->scores, t);
        if (a->item && a->item[t] < 0) {
            memset(dx, 0, n * sizeof *dx);
            continue;
        }
        if (a->dweights) weights_row(a, ds, s, t);
        if (a->load) balance_row(a, ds, s, n, t);
        bool together = a->how.router == HD_ROUTER_SOFTMAX;
        for (size_t e = 0; together && e < n; e++) mean += ds[e] * s[e];
        for (size_t e = 0; e < n; e++) dx[e] = s[e] * (together ? ds[e] - mean : (1 - s[e]) * ds[e]);
    }
}

hd_status KERNEL(route_back)(hd_backend *b, const hd_route_back_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->scores), hd_grain_rows(4 * hd_cols_of(a->scores)),
                route_back_part, (void *)a);
    return HD_OK;
}

/* -- sorting, balancing -- */

hd_status KERNEL(dispatch)(hd_backend *b, const hd_dispatch_args *a)
{
    size_t rows = hd_rows_of(a->ids), used = hd_cols_of(a->ids), next[HD_EXPERTS_MOST + 1] = {0};
    (void)b;
#define ID(i) (((const int32_t *)a->ids->data)[(i) / used * a->ids->stride + (i) % used])
    for (size_t i = 0; i < rows * used; i++)
        if (ID(i) >= 0) next[ID(i) + 1]++;
    for (size_t e = 0; a->load && e < a->experts; e++) hd_row(a->load, 0)[e] += (hd_real)next[e + 1];
    for (size_t e = 0; e < a->experts; e++) next[e + 1] += next[e];
    for (size_t e = 0; e <= a->experts; e++) a->begin[e] = (int32_t)next[e];
    for (size_t i = next[a->experts]; i < rows * used; i++) a->token[i] = -1;
    for (size_t i = 0; i < rows * used; i++) {
        a->place[i] = ID(i) < 0 ? -1 : (int32_t)next[ID(i)]++;
        if (a->place[i] >= 0) a->token[a->place[i]] = (int32_t)(i / used);
    }
#undef ID
    return HD_OK;
}

hd_status KERNEL(balance)(hd_backend *b, const hd_balance_args *a)
{
    size_t n = hd_cols_of(a->load);
    hd_real *load = a->load->data, *was = a->was->data, *bias = a->bias ? a->bias->data : NULL, mean = 0;
    hd_real rate = a->rate * (1 - a->step->settled);
    (void)b;
    if (a->step->skip) {
        memset(load, 0, n * sizeof *load);
        return HD_OK;
    }
    for (size_t e = 0; e < n; e++) mean += load[e];
    mean /= (hd_real)n;
    for (size_t e = 0; e < n; e++) {
        if (bias) bias[e] += rate * (hd_real)((mean > load[e]) - (mean < load[e]));
        was[e] = load[e], load[e] = 0;
    }
    return HD_OK;
}
