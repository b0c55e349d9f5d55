/* Minimum assignment by shortest augmenting paths (Jonker and Volgenant): rows are added one by one, each
   along the cheapest path of reassignments. Prices of rows and columns keep all reduced costs at 0 or more.
   The smaller side is assigned to the larger one. */
#include "metric/assignment.h"

#include <math.h>

#include "base/mem.h"

enum { NOBODY = -1 };

typedef struct problem {
    const double *cost;
    size_t n, m;       /* n <= m: each of n takes one of m */
    size_t by_n, by_m; /* steps in cost */
    double worst;      /* of a cost that is not finite */
    double *price_n, *price_m;
    int32_t *of_n, *of_m; /* partners */
    double *reach;        /* [m] the cheapest path to it so far */
    int32_t *from;        /* [m] the one of n that path comes from */
    uint8_t *done;        /* [m] */
} problem;

static double cost_of(const problem *p, size_t i, size_t j)
{
    double c = p->cost[i * p->by_n + j * p->by_m];
    return isfinite(c) ? c : p->worst;
}

/* One more than any assignment of finite costs differs from another. */
static double worst_of(const double *cost, size_t count, size_t n)
{
    double low = 0, high = 0;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(cost[i])) continue;
        low = any ? fmin(low, cost[i]) : cost[i], high = any ? fmax(high, cost[i]) : cost[i];
        any = true;
    }
    double worst = high + (high - low + 1) * (double)(n + 1);
    return isfinite(worst) ? worst : 1.7e308 / (double)(n + 1);
}

/* The cheapest path from `start` to a free one of m: its number; *length gets what it costs. */
static size_t path_from(problem *p, size_t start, double *length)
{
    size_t i = start;
    for (size_t j = 0; j < p->m; j++) p->reach[j] = INFINITY, p->done[j] = 0;
    *length = 0;
    for (;;) {
        size_t next = p->m;
        for (size_t j = 0; j < p->m; j++) {
            if (p->done[j]) continue;
            double via = *length + cost_of(p, i, j) - p->price_n[i] - p->price_m[j];
            if (via < p->reach[j] || p->reach[j] == INFINITY) p->reach[j] = via, p->from[j] = (int32_t)i;
            /* of equal ones a free one, which ends the path */
            if (next == p->m || p->reach[j] < p->reach[next] ||
                (p->reach[j] == p->reach[next] && p->of_m[j] < 0 && p->of_m[next] >= 0))
                next = j;
        }
        *length = p->reach[next];
        p->done[next] = 1;
        if (p->of_m[next] < 0) return next;
        i = (size_t)p->of_m[next];
    }
}

static void add(problem *p, size_t start)
{
    double length;
    size_t j = path_from(p, start, &length);
    p->price_n[start] += length;
    for (size_t k = 0; k < p->m; k++) {
        if (!p->done[k] || k == j) continue;
        double less = length - p->reach[k];
        p->price_n[p->of_m[k]] += less, p->price_m[k] -= less;
    }
    for (int32_t i = NOBODY; i != (int32_t)start;) { /* back along the path, each takes the next one */
        i = p->from[j];
        int32_t before = p->of_n[i];
        p->of_n[i] = (int32_t)j, p->of_m[j] = i;
        j = (size_t)before;
    }
}

hd_status hd_assign(const double *cost, size_t rows, size_t cols, int32_t *column, hd_err *err)
{
    bool turned = rows > cols;
    problem p = {.cost = cost, .n = turned ? cols : rows, .m = turned ? rows : cols};
    p.by_n = turned ? 1 : cols, p.by_m = turned ? cols : 1;
    for (size_t i = 0; i < rows; i++) column[i] = NOBODY;
    if (!p.n) return HD_OK;
    if (p.m > INT32_MAX) return hd_err_set(err, HD_ELIMIT, "an assignment of %zu is too large", p.m);
    size_t doubles = p.n + 2 * p.m, ints = p.n + 2 * p.m,
           bytes = doubles * sizeof(double) + ints * sizeof(int32_t) + p.m;
    p.price_n = hd_mem_zero(bytes);
    if (!p.price_n) return hd_err_nomem(err, bytes);
    p.price_m = p.price_n + p.n, p.reach = p.price_m + p.m;
    p.of_n = (int32_t *)(p.reach + p.m), p.of_m = p.of_n + p.n, p.from = p.of_m + p.m;
    p.done = (uint8_t *)(p.from + p.m);
    p.worst = worst_of(cost, rows * cols, p.n);
    for (size_t i = 0; i < p.n; i++) p.of_n[i] = NOBODY;
    for (size_t j = 0; j < p.m; j++) p.of_m[j] = NOBODY;
    for (size_t i = 0; i < p.n; i++) add(&p, i);
    for (size_t i = 0; i < p.n; i++) {
        if (turned)
            column[p.of_n[i]] = (int32_t)i;
        else
            column[i] = p.of_n[i];
    }
    hd_mem_free(p.price_n);
    return HD_OK;
}
