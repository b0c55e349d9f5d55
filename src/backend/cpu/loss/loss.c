/* Losses per row, with the gradient in the same pass. */
#include "backend/box.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/exponent.h"

/* The loss of a row that was drawn, and its derivative by the log-probability. */
static double policy_row(const hd_cross_entropy_args *a, size_t r, double logp, double *slope)
{
    const hd_real *row = hd_row(a->policy_rows, r);
    return hd_policy_loss(a->policy, logp, (double)row[HD_POLICY_ADVANTAGE], (double)row[HD_POLICY_BEFORE],
                          (double)row[HD_POLICY_REFERENCE], slope);
}

static void cross_entropy_row(const hd_cross_entropy_args *a, size_t r)
{
    size_t n = hd_cols_of(a->x);
    const hd_real *x = hd_row(a->x, r);
    int32_t t = a->target[r];
    bool counts = t >= 0 && (size_t)t < n;
    hd_real weight = counts ? (a->weight ? hd_row(a->weight, r)[0] : 1) : 0;
    hd_real *dx = a->dx ? hd_row(a->dx, r) : NULL;
    hd_real max = hd_row_max(x, n), at = counts ? x[t] : 0;
    double average = a->smoothing > 0 ? (double)hd_row_sum(x, n) / (double)n : 0;
    bool in_place = dx && !a->add;
    hd_real sum =
        in_place ? hd_row_exp(dx, x, n, max) : hd_row_exp_sum(x, n, max); /* x is lost here when dx is x */
    double lse = (double)max + log((double)sum), s = (double)a->smoothing;
    if (a->logp) hd_row(a->logp, r)[0] = (hd_real)(counts ? (double)at - lse : 0);
    double loss = lse - (1 - s) * (double)at - s * average, slope = -1;
    if (a->policy_rows && counts) loss = policy_row(a, r, (double)at - lse, &slope);
    if (a->loss) hd_row(a->loss, r)[0] = counts ? (hd_real)((double)weight * loss) : 0;
    if (!dx) return;
    hd_real k = (hd_real)a->coef * weight * (hd_real)-slope;
    if (!counts && in_place) {
        memset(dx, 0, n * sizeof *dx);
    } else if (in_place) {
        vec share = hd_set(k / sum), smooth = hd_set((double)k * s / (double)n);
        HD_COLUMNS(n, { S(dx, L(dx) * share - smooth); });
    } else if (counts) {
        vec m = hd_set(max), share = hd_set(k / sum), smooth = hd_set((double)k * s / (double)n);
        HD_COLUMNS(n, { S(dx, L(dx) + (hd_exp(L(x) - m) * share - smooth)); });
    }
    if (counts) dx[t] -= k * (hd_real)(1 - s);
}

static void cross_entropy_part(void *arg, size_t begin, size_t end, int worker)
{
    (void)worker;
    for (size_t r = begin; r < end; r++) cross_entropy_row(arg, r);
}

hd_status KERNEL(cross_entropy)(hd_backend *b, const hd_cross_entropy_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->x), hd_grain_rows(hd_cols_of(a->x)), cross_entropy_part,
                (void *)a);
    return HD_OK;
}

/* |x - t| and boxes; a row of weight 0 may hold anything. */
static double box_row(const hd_distance_args *a, size_t r, double k)
{
    const hd_real *x = hd_row(a->x, r), *t = hd_row(a->target, r);
    double v[4], u[4], dv[4], du[4], sum = 0;
    size_t n = hd_cols_of(a->x);
    for (size_t c = 0; a->kind == HD_ABSOLUTE && c < n; c++) {
        double d = (double)x[c] - (double)t[c], slope = d > 0 ? k : d < 0 ? -k : 0;
        sum += fabs(d);
        if (a->dx) hd_row(a->dx, r)[c] += (hd_real)slope;
        if (a->dtarget) hd_row(a->dtarget, r)[c] -= (hd_real)slope;
    }
    if (a->kind == HD_ABSOLUTE) return sum;
    for (size_t c = 0; c < 4; c++) v[c] = (double)x[c], u[c] = (double)t[c];
    sum = hd_box_error_of(v, u, dv, du);
    for (size_t c = 0; c < 4; c++) {
        if (a->dx) hd_row(a->dx, r)[c] += (hd_real)(k * dv[c]);
        if (a->dtarget) hd_row(a->dtarget, r)[c] += (hd_real)(k * du[c]);
    }
    return sum;
}

static double distance_row(const hd_distance_args *a, size_t r, double k)
{
    const hd_real *x = hd_row(a->x, r), *t = hd_row(a->target, r);
    double sum = 0;
    for (size_t c = 0; c < hd_cols_of(a->x); c++) {
        double v = (double)x[c], u = (double)t[c], d = v - u, slope, back = 0;
        if (a->kind == HD_SQUARED) {
            sum += d * d, slope = 2 * d, back = -2 * d;
        } else { /* max(v,0) - v u + log(1 + exp(-|v|)): no overflow on either side */
            sum += fmax(v, 0) - v * u + log1p(exp(-fabs(v)));
            slope = 1 / (1 + exp(-v)) - u, back = -v;
        }
        if (a->dx) hd_row(a->dx, r)[c] += (hd_real)(k * slope);
        if (a->dtarget) hd_row(a->dtarget, r)[c] += (hd_real)(k * back);
    }
    return sum;
}

static void distance_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_distance_args *a = arg;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        double sum = 0, weight = a->weight ? (double)hd_row(a->weight, r)[0] : 1,
               k = weight * (double)a->coef;
        if (a->kind == HD_SQUARED || a->kind == HD_BINARY)
            sum = distance_row(a, r, k);
        else if (weight != 0)
            sum = box_row(a, r, k);
        hd_row(a->loss, r)[0] = (hd_real)(weight * sum);
    }
}

hd_status KERNEL(distance)(hd_backend *b, const hd_distance_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->x), hd_grain_rows(4 * hd_cols_of(a->x)), distance_part,
                (void *)a);
    return HD_OK;
}
