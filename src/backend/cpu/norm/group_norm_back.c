/* Norms over rows, backward: sums of dz and of dz times the normed value by chunk, laid together in double,
 * in order. */
#include "backend/cpu/norm/group.h"

typedef struct job {
    group_walk walk;
    const hd_group_norm_back_args *a;
    hd_real *mean; /* [sets, 2, cols]: means of dz and of dz h over the group, both with the gain */
} job;

/* Chunks of all sets, one after the other. */
static void sums_part(void *arg, size_t begin, size_t end, int worker)
{
    const job *j = arg;
    const group_walk *w = &j->walk;
    size_t n = w->cols, from;
    (void)worker;
    for (size_t k = begin; k < end; k++) {
        size_t set = k / w->chunks, till = group_rows(w, set, k % w->chunks, &from), count = 0;
        hd_real *plain = w->part + k * 2 * n, *normed = plain + n;
        const hd_real *mean = hd_row(j->a->stat, 2 * set), *inverse = hd_row(j->a->stat, 2 * set + 1);
        memset(plain, 0, 2 * n * sizeof *plain);
        for (size_t r = from; r < till; r++) {
            if (!group_owns(w, r)) continue;
            const hd_real *x = hd_row(j->a->x, r), *dz = hd_row(j->a->dz, r);
            HD_COLUMNS(n, {
                vec g = L(dz);
                vec h = (L(x) - L(mean)) * L(inverse);
                S(plain, L(plain) + g);
                S(normed, L(normed) + g * h);
            });
            count++;
        }
        w->count[k] = count;
    }
}

/* Groups of columns: gain and bias get the sums of all sets. */
static void means_part(void *arg, size_t begin, size_t end, int worker)
{
    const job *j = arg;
    const hd_group_norm_back_args *a = j->a;
    const group_walk *w = &j->walk;
    size_t n = w->cols, width = n / (size_t)a->groups;
    const hd_real *gain = a->gain ? a->gain->data : NULL;
    (void)worker;
    for (size_t first = begin * width; first < end * width; first += width)
        for (size_t set = 0; set < w->sets; set++) {
            double m1 = 0, m2 = 0, rows = 0;
            for (size_t k = 0; k < w->chunks; k++) rows += (double)w->count[set * w->chunks + k];
            for (size_t c = first; c < first + width; c++) {
                double s1 = 0, s2 = 0, by = gain ? (double)gain[c] : 1;
                for (size_t k = 0; k < w->chunks; k++) {
                    const hd_real *part = w->part + (set * w->chunks + k) * 2 * n;
                    s1 += (double)part[c], s2 += (double)part[n + c];
                }
                if (a->dbias) ((hd_real *)a->dbias->data)[c] += (hd_real)s1;
                if (a->dgain) ((hd_real *)a->dgain->data)[c] += (hd_real)s2;
                m1 += by * s1, m2 += by * s2;
            }
            double all = a->given || rows <= 0 ? 0 : 1 / (rows * (double)width);
            hd_real *mean = j->mean + set * 2 * n;
            for (size_t c = first; c < first + width; c++)
                mean[c] = (hd_real)(m1 * all), mean[n + c] = (hd_real)(m2 * all);
        }
}

static void slope_part(void *arg, size_t begin, size_t end, int worker)
{
    const job *j = arg;
    const hd_group_norm_back_args *a = j->a;
    size_t n = j->walk.cols;
    const hd_real *gain = a->gain ? a->gain->data : NULL;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        hd_real *dx = a->dx ? hd_row(a->dx, r) : NULL;
        if (!group_owns(&j->walk, r)) {
            if (dx && !a->add) memset(dx, 0, n * sizeof *dx);
            memset(hd_row(a->dz, r), 0, n * sizeof *dx);
        }
        if (!dx || !group_owns(&j->walk, r)) continue;
        size_t set = group_set(&j->walk, r);
        const hd_real *x = hd_row(a->x, r), *dz = hd_row(a->dz, r), *mean = hd_row(a->stat, 2 * set),
                      *inverse = hd_row(a->stat, 2 * set + 1), *m1 = j->mean + set * 2 * n, *m2 = m1 + n;
        HD_COLUMNS(n, {
            vec k = L(inverse);
            vec h = (L(x) - L(mean)) * k;
            vec g = L(dz);
            if (gain) g *= L(gain);
            vec d = (g - L(m1) - h * L(m2)) * k;
            S(dx, a->add ? L(dx) + d : d);
        });
    }
}

hd_status KERNEL(group_norm_back)(hd_backend *b, const hd_group_norm_back_args *a)
{
    hd_cpu *cpu = (hd_cpu *)b;
    job j = {.a = a};
    size_t n = hd_cols_of(a->x), sets = hd_group_sets(a->seg, a->together);
    if (!hd_count_of(a->x)) return HD_OK;
    if (!group_walk_init(&j.walk, cpu, a->x, a->seg, a->together, sets * 2 * n, &j.mean)) return HD_ENOMEM;
    hd_team_run(cpu->team, sets * j.walk.chunks, 1 + HD_GRAIN / (GROUP_CHUNK * n), sums_part, &j);
    hd_team_run(cpu->team, (size_t)a->groups, 1 + HD_GRAIN / (8 * (sets * j.walk.chunks + 1)), means_part,
                &j);
    if (a->dx || (a->seg && !a->seg->full))
        hd_team_run(cpu->team, j.walk.rows, hd_grain_rows(n), slope_part, &j);
    return HD_OK;
}
