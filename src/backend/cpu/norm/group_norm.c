/* Norms over rows, forward. Of each chunk of rows the mean and the sum of squares around it, then all chunks
   of a set and the columns of a group are laid together in double, in order. */
#include "backend/cpu/exponent.h"
#include "backend/cpu/norm/group.h"
#include "backend/cpu/product/product.h"

typedef struct job {
    group_walk walk;
    const hd_group_norm_args *a;
} job;

/* Chunks of all sets, one after the other. */
static void moments_part(void *arg, size_t begin, size_t end, int worker)
{
    const job *j = arg;
    const group_walk *w = &j->walk;
    size_t n = w->cols, from;
    (void)worker;
    for (size_t k = begin; k < end; k++) {
        hd_real *mean = w->part + k * 2 * n, *squares = mean + n;
        size_t till = group_rows(w, k / w->chunks, k % w->chunks, &from), count = 0;
        memset(mean, 0, 2 * n * sizeof *mean);
        for (size_t r = from; r < till; r++) {
            if (!group_owns(w, r)) continue;
            const hd_real *x = hd_row(j->a->x, r);
            HD_COLUMNS(n, { S(mean, L(mean) + L(x)); });
            count++;
        }
        w->count[k] = count;
        for (size_t c = 0; count && c < n; c++) mean[c] /= (hd_real)count;
        for (size_t r = from; r < till; r++) {
            if (!group_owns(w, r)) continue;
            const hd_real *x = hd_row(j->a->x, r);
            HD_COLUMNS(n, {
                vec d = L(x) - L(mean);
                S(squares, L(squares) + d * d);
            });
        }
    }
}

typedef struct moments {
    double count, mean, squares; /* squares: around the mean */
} moments;

static void add_moments(moments *m, double count, double mean, double squares)
{
    if (count <= 0) return;
    double all = m->count + count, d = mean - m->mean;
    m->mean += d * count / all;
    m->squares += squares + d * d * m->count * count / all;
    m->count = all;
}

static void renew(const hd_group_norm_args *a, size_t c, const moments *m)
{
    if (!a->mean || m->count <= 0) return;
    double variance = m->squares / (m->count > 1 ? m->count - 1 : 1), keep = 1 - (double)a->momentum;
    hd_real *mean = (hd_real *)a->mean->data + c, *running = (hd_real *)a->variance->data + c;
    if (!isfinite(m->mean) || !isfinite(variance)) return;
    *mean = (hd_real)(keep * (double)*mean + (double)a->momentum * m->mean);
    *running = (hd_real)(keep * (double)*running + (double)a->momentum * variance);
}

/* Groups of all sets, one after the other. */
static void stat_part(void *arg, size_t begin, size_t end, int worker)
{
    const job *j = arg;
    const hd_group_norm_args *a = j->a;
    const group_walk *w = &j->walk;
    size_t groups = (size_t)a->groups, width = w->cols / groups;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        size_t set = i / groups, first = i % groups * width;
        moments m = {0};
        if (a->given)
            m = (moments){1, (double)((hd_real *)a->mean->data)[first],
                          (double)((hd_real *)a->variance->data)[first]};
        for (size_t k = 0; !a->given && k < w->chunks; k++)
            for (size_t c = first; c < first + width; c++) {
                size_t at = set * w->chunks + k;
                const hd_real *part = w->part + at * 2 * w->cols;
                add_moments(&m, (double)w->count[at], (double)part[c], (double)part[w->cols + c]);
            }
        if (!a->given) renew(a, first, &m);
        double variance = m.count > 0 ? m.squares / m.count : 0;
        hd_real *mean = hd_row(a->stat, 2 * set), *inverse = hd_row(a->stat, 2 * set + 1);
        for (size_t c = first; c < first + width; c++)
            mean[c] = (hd_real)m.mean, inverse[c] = (hd_real)(1 / sqrt(variance + (double)a->eps));
    }
}

static void apply_part(void *arg, size_t begin, size_t end, int worker)
{
    const job *j = arg;
    const hd_group_norm_args *a = j->a;
    size_t n = j->walk.cols;
    const hd_real *gain = a->gain ? a->gain->data : NULL, *bias = a->bias ? a->bias->data : NULL;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        hd_real *y = hd_row(a->y, r), *z = a->before ? hd_row(a->before, r) : y;
        if (!group_owns(&j->walk, r)) {
            memset(y, 0, n * sizeof *y);
            memset(z, 0, n * sizeof *z);
            continue;
        }
        size_t set = group_set(&j->walk, r);
        const hd_real *x = hd_row(a->x, r), *mean = hd_row(a->stat, 2 * set),
                      *inverse = hd_row(a->stat, 2 * set + 1), *add = a->add ? hd_row(a->add, r) : NULL;
        HD_COLUMNS(n, {
            vec v = (L(x) - L(mean)) * L(inverse);
            if (gain) v *= L(gain);
            if (bias) v += L(bias);
            if (add) v += L(add);
            S(z, v);
        });
        if (a->act != HD_IDENTITY || z != y) KERNEL(apply)(a->act, y, z, n);
    }
}

hd_status KERNEL(group_norm)(hd_backend *b, const hd_group_norm_args *a)
{
    hd_cpu *cpu = (hd_cpu *)b;
    job j = {.a = a};
    hd_real *none;
    if (!hd_count_of(a->x)) return HD_OK;
    if (!group_walk_init(&j.walk, cpu, a->x, a->seg, a->together, 0, &none)) return HD_ENOMEM;
    size_t n = j.walk.cols;
    if (!a->given)
        hd_team_run(cpu->team, j.walk.sets * j.walk.chunks, 1 + HD_GRAIN / (GROUP_CHUNK * n), moments_part,
                    &j);
    hd_team_run(cpu->team, j.walk.sets * (size_t)a->groups, 1 + HD_GRAIN / (8 * (j.walk.chunks + 1)),
                stat_part, &j);
    hd_team_run(cpu->team, j.walk.rows, hd_grain_rows(n), apply_part, &j);
    return HD_OK;
}
