/* Weighing scores by what texts have said. */
#include "decode/history.h"

#include <math.h>
#include <string.h>

#include "decode/peek.h"

static bool penalizes(const hd_history_opt *o)
{
    return o->repetition > 0 && (o->repetition < 1 || o->repetition > 1);
}

bool hd_history_matters(const hd_history_opt *o)
{
    return penalizes(o) || o->no_repeat || (o->rules && hd_rules_vary(o->rules));
}

/* The signs decide, so the numbers are read first. */
static hd_tensor *penalized(hd_run *r, hd_tensor *x, const hd_history *of, size_t n, float by)
{
    size_t v = hd_cols_of(x), most = 0, count = 0;
    for (size_t i = 0; i < n; i++) most += of[i].count;
    hd_real *factor = hd_host_take(r, n * v * sizeof *factor);
    int32_t *row = hd_host_take(r, (2 * most + 1) * sizeof *row);
    hd_real *value = hd_host_take(r, (most + 1) * sizeof *value);
    if (!factor || !row || !value) return NULL;
    int32_t *token = row + most;
    for (size_t i = 0; i < n * v; i++) factor[i] = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < of[i].count; j++) {
            int32_t id = of[i].ids[j];
            if (!(factor[i * v + (size_t)id] > 0)) continue;
            factor[i * v + (size_t)id] = 0; /* known */
            row[count] = (int32_t)i, token[count++] = id;
        }
    if (!hd_peek(r, x, row, token, count, value)) return NULL;
    for (size_t i = 0; i < count; i++)
        factor[(size_t)row[i] * v + (size_t)token[i]] = value[i] < 0 ? (hd_real)by : 1 / (hd_real)by;
    return hd_mul(r, hd_from(r, n, v, factor), x); /* in the type of the factors, which is the finer one */
}

/* Tokens that would end a run of `size` tokens that is there already. */
static void ban_runs(hd_real *mask, const hd_history *of, size_t size)
{
    if (of->count < size) return;
    const int32_t *last = of->ids + of->count - (size - 1);
    for (size_t i = 0; i + size <= of->count; i++)
        if (size == 1 || !memcmp(of->ids + i, last, (size - 1) * sizeof *last))
            mask[of->ids[i + size - 1]] = -INFINITY;
}

static hd_tensor *masked(hd_run *r, hd_tensor *x, const hd_history *of, size_t n, const hd_history_opt *o)
{
    size_t v = hd_cols_of(x);
    hd_real *mask = hd_host_take(r, n * v * sizeof *mask);
    if (!mask) return NULL;
    for (size_t i = 0; i < n * v; i++) mask[i] = 0;
    for (size_t i = 0; i < n; i++) {
        if (o->no_repeat) ban_runs(mask + i * v, &of[i], o->no_repeat);
        if (o->rules) hd_rules_mask(o->rules, &of[i], mask + i * v, v);
    }
    return hd_add(r, x, hd_from(r, n, v, mask));
}

hd_tensor *hd_history_weigh(hd_run *r, hd_tensor *x, const hd_history *of, size_t n, const hd_history_opt *o)
{
    if (x && penalizes(o)) x = penalized(r, x, of, n, o->repetition);
    if (x && (o->no_repeat || o->rules)) x = masked(r, x, of, n, o);
    return x;
}
