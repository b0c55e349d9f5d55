/* Layer norm and RMS norm, with the residual add and its dropout in the same pass. The gradients of gain and
   bias are partial sums over fixed chunks of rows, added in order afterwards. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/exponent.h"
#include "backend/cpu/mask.h"

enum { TOGETHER = 4 }; /* rows whose squares are summed side by side */

/* s = x + mask * branch, for one row */
static void residual_row(hd_real *s, const hd_real *x, const hd_real *branch, size_t n, const hd_draw *draw,
                         size_t r)
{
    if (draw->p <= 0) {
        HD_COLUMNS(n, { S(s, L(x) + L(branch)); });
        return;
    }
    hd_real mask[HD_MASK_RUN];
    hd_mask_rule rule = hd_mask_rule_of(draw);
    uint64_t key = hd_mask_key(draw, r);
    for (size_t from = 0; from < n;
         from += HD_MASK_RUN, s += HD_MASK_RUN, x += HD_MASK_RUN, branch += HD_MASK_RUN) {
        size_t run = n - from < HD_MASK_RUN ? n - from : HD_MASK_RUN;
        hd_mask_fill(mask, key, from, run, rule);
        HD_COLUMNS(run, { S(s, L(x) + L(branch) * L(mask)); });
    }
}

/* The input of a row's norm, in place, and its mean. */
static const hd_real *row_of(const hd_norm_args *a, size_t r, hd_real *mean)
{
    size_t n = hd_cols_of(a->x);
    const hd_real *x = hd_row(a->x, r);
    if (a->branch) {
        hd_real *s = a->sum ? hd_row(a->sum, r) : hd_row(a->y, r);
        residual_row(s, x, hd_row(a->branch, r), n, &a->draw, r);
        x = s;
    }
    *mean = a->rms ? 0 : hd_row_sum(x, n) / (hd_real)n;
    return x;
}

/* Sums of squares of x - mean, of some rows at once: a sum alone would wait for itself. Lanes past the end
   hold the mean and add nothing. */
static void squares_of(hd_real *to, const hd_real *const *x, size_t n, const hd_real *mean)
{
    vec sum[TOGETHER], m[TOGETHER];
    UNROLL for (int i = 0; i < TOGETHER; i++) sum[i] = hd_set(0), m[i] = hd_set(mean[i]);
    HD_COLUMNS(n, {
        UNROLL for (int i = 0; i < TOGETHER; i++)
        {
            vec d = L_FILL(x[i], mean[i]) - m[i];
            sum[i] += d * d;
        }
    });
    UNROLL for (int i = 0; i < TOGETHER; i++) to[i] = hd_sum(sum[i]);
}

static void scale_row(const hd_norm_args *a, size_t r, const hd_real *x, size_t n, hd_real mean,
                      hd_real scale)
{
    hd_real *y = hd_row(a->y, r);
    const hd_real *gain = a->gain ? a->gain->data : NULL, *bias = a->bias ? a->bias->data : NULL;
    vec m = hd_set(mean), k = hd_set(scale), one = hd_set(a->from_one);
    HD_COLUMNS(n, {
        vec v = (L(x) - m) * k;
        if (gain) v *= L(gain) + one;
        if (bias) v += L(bias);
        S(y, v);
    });
    if (a->stat) hd_row(a->stat, r)[0] = mean, hd_row(a->stat, r)[1] = scale;
}

static void norm_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_norm_args *a = arg;
    const size_t n = hd_cols_of(a->x);
    (void)worker;
    for (size_t r = begin, rows; r < end; r += rows) {
        const hd_real *x[TOGETHER];
        hd_real mean[TOGETHER], square[TOGETHER];
        rows = end - r < TOGETHER ? end - r : TOGETHER;
        for (size_t i = 0; i < TOGETHER; i++)
            if (i < rows)
                x[i] = row_of(a, r + i, &mean[i]);
            else
                x[i] = x[0], mean[i] = mean[0];
        squares_of(square, x, n, mean);
        for (size_t i = 0; i < rows; i++)
            scale_row(a, r + i, x[i], n, mean[i],
                      (hd_real)(1 / sqrt((double)(square[i] / (hd_real)n) + (double)a->eps)));
    }
}

hd_status KERNEL(norm)(hd_backend *b, const hd_norm_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->x), hd_grain_rows(hd_cols_of(a->x)), norm_part, (void *)a);
    return HD_OK;
}

enum { CHUNK = 64 };

typedef struct back {
    const hd_norm_back_args *a;
    hd_real *partial; /* [chunks, 2, n]: of gain and bias */
    hd_cpu *cpu;
} back;

/* d = gradient of the normed row's input; also adds the row's part of dgain and dbias. */
static void back_row(const hd_norm_back_args *a, hd_real *d, hd_real *dgain, hd_real *dbias, size_t r)
{
    size_t n = hd_cols_of(a->sum);
    const hd_real *dy = hd_row(a->dy, r), *x = hd_row(a->sum, r), *gain = a->gain ? a->gain->data : NULL;
    vec mean = hd_set(hd_row(a->stat, r)[0]), scale = hd_set(hd_row(a->stat, r)[1]), s1 = hd_set(0),
        s2 = hd_set(0), one = hd_set(a->from_one);
    HD_COLUMNS(n, {
        vec h = (L(x) - mean) * scale, g = L(dy);
        if (dgain) S(dgain, L(dgain) + g * h);
        if (dbias) S(dbias, L(dbias) + g);
        if (gain) g *= L(gain) + one;
        s1 += g;
        s2 += g * h;
    });
    vec m1 = hd_set(a->rms ? 0 : (double)(hd_sum(s1) / (hd_real)n)), m2 = hd_set(hd_sum(s2) / (hd_real)n);
    const hd_real *extra = a->dsum ? hd_row(a->dsum, r) : NULL;
    HD_COLUMNS(n, {
        vec h = (L(x) - mean) * scale, g = L(dy);
        if (gain) g *= L(gain) + one;
        vec v = (g - m1 - h * m2) * scale;
        if (extra) v += L(extra);
        S(d, v);
    });
}

static void branch_row(const hd_norm_back_args *a, const hd_real *d, size_t r)
{
    size_t n = hd_cols_of(a->sum);
    hd_real *to = hd_row(a->dbranch, r), mask[HD_MASK_RUN];
    hd_mask_rule rule = hd_mask_rule_of(&a->draw);
    uint64_t key = a->draw.p > 0 ? hd_mask_key(&a->draw, r) : 0;
    for (size_t from = 0; from < n; from += HD_MASK_RUN, to += HD_MASK_RUN, d += HD_MASK_RUN) {
        size_t run = n - from < HD_MASK_RUN ? n - from : HD_MASK_RUN;
        if (a->draw.p > 0)
            hd_mask_fill(mask, key, from, run, rule);
        else
            for (size_t i = 0; i < run; i++) mask[i] = 1;
        HD_COLUMNS(run, {
            vec v = L(d) * L(mask);
            S(to, a->add_branch ? L(to) + v : v);
        });
    }
}

static void norm_back_part(void *arg, size_t begin, size_t end, int worker)
{
    back *k = arg;
    const hd_norm_back_args *a = k->a;
    size_t n = hd_cols_of(a->sum), rows = hd_rows_of(a->sum);
    hd_real *d = (hd_real *)(k->cpu->scratch + (size_t)worker * k->cpu->scratch_each);
    for (size_t chunk = begin; chunk < end; chunk++) {
        hd_real *dgain = k->partial + chunk * 2 * n, *dbias = dgain + n;
        size_t till = (chunk + 1) * CHUNK < rows ? (chunk + 1) * CHUNK : rows;
        memset(dgain, 0, 2 * n * sizeof *dgain);
        for (size_t r = chunk * CHUNK; r < till; r++) {
            back_row(a, d, a->dgain ? dgain : NULL, a->dbias ? dbias : NULL, r);
            if (a->dx) {
                hd_real *dx = hd_row(a->dx, r);
                HD_COLUMNS(n, { S(dx, a->add_x ? L(dx) + L(d) : L(d)); });
            }
            if (a->dbranch) branch_row(a, d, r);
        }
    }
}

hd_status KERNEL(norm_back)(hd_backend *b, const hd_norm_back_args *a)
{
    hd_cpu *cpu = (hd_cpu *)b;
    size_t n = hd_cols_of(a->sum), chunks = (hd_rows_of(a->sum) + CHUNK - 1) / CHUNK;
    back k = {a, (hd_real *)hd_cpu_shared(cpu, chunks * 2 * n * sizeof(hd_real)), cpu};
    if (!k.partial || !hd_cpu_scratch(cpu, n * sizeof(hd_real))) return HD_ENOMEM;
    hd_team_run(cpu->team, chunks, 1 + HD_GRAIN / (CHUNK * n), norm_back_part, &k);
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        const hd_real *pg = k.partial + chunk * 2 * n, *pb = pg + n;
        hd_real *dgain = a->dgain ? a->dgain->data : NULL, *dbias = a->dbias ? a->dbias->data : NULL;
        if (dgain) HD_COLUMNS(n, { S(dgain, L(dgain) + L(pg)); });
        if (dbias) HD_COLUMNS(n, { S(dbias, L(dbias) + L(pb)); });
    }
    return HD_OK;
}
