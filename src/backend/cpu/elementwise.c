/* Elementwise kernels and column sums. Rows are split over workers; sums over rows go through partial sums of
   fixed chunks, so that they do not depend on the number of workers. */
#include "backend/cpu/mask.h"
#include "backend/cpu/product/product.h"

void KERNEL(apply)(hd_unary f, hd_real *out, const hd_real *in, size_t n)
{
    switch (f) {
#define X(name, kept, value, slope) \
    case HD_##name:                 \
        HD_COLUMNS(n, {             \
            vec x = L_FILL(in, 1);  \
            S(out, (value));        \
        });                         \
        break;
        HD_UNARY_LIST(X)
#undef X
    default:
        if (out != in) memcpy(out, in, n * sizeof *out);
    }
}

static void slope_row(hd_unary f, hd_real *dx, const hd_real *dy, const hd_real *kept, size_t n, bool add)
{
    switch (f) {
#define X(name, which, value, slope)        \
    case HD_##name:                         \
        HD_COLUMNS(n, {                     \
            vec x = L_FILL(kept, 1), y = x; \
            (void)x, (void)y;               \
            vec d = L(dy) * (slope);        \
            S(dx, add ? d + L(dx) : d);     \
        });                                 \
        break;
        HD_UNARY_LIST(X)
#undef X
    default:
        HD_COLUMNS(n, { S(dx, add ? L(dx) + L(dy) : L(dy)); });
    }
}

static void unary_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_unary_args *a = arg;
    (void)worker;
    for (size_t r = begin; r < end; r++)
        KERNEL(apply)(a->f, hd_row(a->y, r), hd_row(a->x, r), hd_cols_of(a->x));
}

hd_status KERNEL(unary)(hd_backend *b, const hd_unary_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->y), hd_grain_rows(hd_cols_of(a->y)), unary_part,
                (void *)a);
    return HD_OK;
}

static void unary_back_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_unary_back_args *a = arg;
    size_t n = hd_cols_of(a->dx);
    hd_mask_rule rule = hd_mask_rule_of(&a->draw);
    hd_real mask[HD_MASK_RUN], dropped[HD_MASK_RUN];
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        hd_real *dx = hd_row(a->dx, r);
        const hd_real *dy = hd_row(a->dy, r), *kept = hd_row(a->kept, r);
        if (a->draw.p <= 0) {
            slope_row(a->f, dx, dy, kept, n, a->add);
            continue;
        }
        uint64_t key = hd_mask_key(&a->draw, r);
        for (size_t from = 0; from < n; from += HD_MASK_RUN) {
            size_t run = n - from < HD_MASK_RUN ? n - from : HD_MASK_RUN;
            const hd_real *x = dy + from;
            hd_real *y = dropped;
            hd_mask_fill(mask, key, from, run, rule);
            HD_COLUMNS(run, { S(y, L(x) * L(mask)); });
            slope_row(a->f, dx + from, dropped, kept + from, run, a->add);
        }
    }
}

hd_status KERNEL(unary_back)(hd_backend *b, const hd_unary_back_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->dx), hd_grain_rows(hd_cols_of(a->dx)), unary_back_part,
                (void *)a);
    return a->sums ? b->kernel.column_sum(b, &(hd_column_sum_args){.y = a->sums, .x = a->dx}) : HD_OK;
}

static void gate_row(hd_unary f, hd_real *out, const hd_real *in, const hd_real *gate, size_t n)
{
    switch (f) {
#define X(name, kept, value, slope)  \
    case HD_##name:                  \
        HD_COLUMNS(n, {              \
            vec x = L_FILL(in, 1);   \
            S(out, (value)*L(gate)); \
        });                          \
        break;
        HD_UNARY_LIST(X)
#undef X
    default:
        HD_COLUMNS(n, { S(out, L(in) * L(gate)); });
    }
}

static void gate_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_gate_args *a = arg;
    (void)worker;
    for (size_t r = begin; r < end; r++)
        gate_row(a->f, hd_row(a->y, r), hd_row(a->x, r), hd_row(a->z, r), hd_cols_of(a->y));
}

hd_status KERNEL(gate)(hd_backend *b, const hd_gate_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->y), hd_grain_rows(hd_cols_of(a->y)), gate_part, (void *)a);
    return HD_OK;
}

static void gate_back_row(const hd_gate_back_args *a, size_t r, size_t n)
{
    hd_real *dx = hd_row(a->dx, r), *dz = hd_row(a->dz, r);
    const hd_real *dy = hd_row(a->dy, r), *in = hd_row(a->x, r), *gate = hd_row(a->z, r);
    bool add = a->add;
    switch (a->f) {
#define X(name, kept, value, slope)             \
    case HD_##name:                             \
        HD_COLUMNS(n, {                         \
            vec x = L_FILL(in, 1), y = (value); \
            (void)y;                            \
            vec d = L(dy) * L(gate) * (slope);  \
            vec e = L(dy) * y;                  \
            S(dx, add ? d + L(dx) : d);         \
            S(dz, add ? e + L(dz) : e);         \
        });                                     \
        break;
        HD_UNARY_LIST(X)
#undef X
    default:
        HD_COLUMNS(n, {
            vec d = L(dy) * L(gate);
            vec e = L(dy) * L(in);
            S(dx, add ? d + L(dx) : d);
            S(dz, add ? e + L(dz) : e);
        });
    }
}

static void gate_back_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_gate_back_args *a = arg;
    (void)worker;
    for (size_t r = begin; r < end; r++) gate_back_row(a, r, hd_cols_of(a->dx));
}

hd_status KERNEL(gate_back)(hd_backend *b, const hd_gate_back_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->dx), hd_grain_rows(2 * hd_cols_of(a->dx)), gate_back_part,
                (void *)a);
    return HD_OK;
}

static void mix_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_mix_args *a = arg;
    size_t n = hd_cols_of(a->y);
    vec p = hd_set(a->a), q = hd_set(a->b);
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        hd_real *y = hd_row(a->y, r);
        const hd_real *x = hd_row(a->x, r), *z = a->z ? hd_row(a->z, hd_rows_of(a->z) == 1 ? 0 : r) : NULL;
        if (!z && !a->add && a->a == 1)
            memcpy(y, x, n * sizeof *y);
        else if (z)
            HD_COLUMNS(n, {
                vec v = p * L(x) + q * L(z);
                S(y, a->add ? L(y) + v : v);
            });
        else
            HD_COLUMNS(n, {
                vec v = p * L(x);
                S(y, a->add ? L(y) + v : v);
            });
    }
}

hd_status KERNEL(mix)(hd_backend *b, const hd_mix_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->y), hd_grain_rows(hd_cols_of(a->y)), mix_part, (void *)a);
    return HD_OK;
}

static void mul_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_mul_args *a = arg;
    size_t n = hd_cols_of(a->y);
    bool one_row = hd_rows_of(a->z) == 1, one_col = hd_cols_of(a->z) == 1;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        hd_real *y = hd_row(a->y, r);
        const hd_real *x = hd_row(a->x, r), *z = hd_row(a->z, one_row ? 0 : r);
        if (one_col)
            HD_COLUMNS(n, {
                vec v = L(x) * z[0];
                S(y, a->add ? L(y) + v : v);
            });
        else
            HD_COLUMNS(n, {
                vec v = L(x) * L(z);
                S(y, a->add ? L(y) + v : v);
            });
    }
}

hd_status KERNEL(mul)(hd_backend *b, const hd_mul_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->y), hd_grain_rows(hd_cols_of(a->y)), mul_part, (void *)a);
    return HD_OK;
}

static void dropout_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_dropout_args *a = arg;
    size_t n = hd_cols_of(a->y);
    hd_mask_rule rule = hd_mask_rule_of(&a->draw);
    hd_real mask[HD_MASK_RUN];
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        uint64_t key = hd_mask_key(&a->draw, r);
        for (size_t from = 0; from < n; from += HD_MASK_RUN) {
            size_t run = n - from < HD_MASK_RUN ? n - from : HD_MASK_RUN;
            hd_real *y = hd_row(a->y, r) + from;
            const hd_real *x = hd_row(a->x, r) + from;
            hd_mask_fill(mask, key, from, run, rule);
            HD_COLUMNS(run, {
                vec v = L(x) * L(mask);
                S(y, a->add ? L(y) + v : v);
            });
        }
    }
}

hd_status KERNEL(dropout)(hd_backend *b, const hd_dropout_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->y), hd_grain_rows(hd_cols_of(a->y)), dropout_part,
                (void *)a);
    return HD_OK;
}

static void gumbel_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_gumbel_args *a = arg;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        uint64_t key = hd_mask_key(&a->draw, r);
        hd_real *y = hd_row(a->y, r);
        const hd_real *x = hd_row(a->x, r);
        for (size_t c = 0; c < hd_cols_of(a->y); c++)
            y[c] = x[c] - (hd_real)log(-log((double)hd_rng_between(key, (uint32_t)c)));
    }
}

hd_status KERNEL(gumbel)(hd_backend *b, const hd_gumbel_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->y), hd_grain_rows(16 * hd_cols_of(a->y)), gumbel_part,
                (void *)a);
    return HD_OK;
}

enum { CHUNK = 64 }; /* rows of a partial sum */

typedef struct sums {
    const hd_column_sum_args *a;
    hd_real *partial;
} sums;

static void column_sum_part(void *arg, size_t begin, size_t end, int worker)
{
    sums *s = arg;
    size_t n = hd_cols_of(s->a->x), rows = hd_rows_of(s->a->x);
    (void)worker;
    for (size_t chunk = begin; chunk < end; chunk++) {
        hd_real *sum = s->partial + chunk * n;
        size_t till = (chunk + 1) * CHUNK < rows ? (chunk + 1) * CHUNK : rows;
        memset(sum, 0, n * sizeof *sum);
        for (size_t r = chunk * CHUNK; r < till; r++) {
            const hd_real *x = hd_row(s->a->x, r);
            HD_COLUMNS(n, { S(sum, L(sum) + L(x)); });
        }
    }
}

hd_status KERNEL(column_sum)(hd_backend *b, const hd_column_sum_args *a)
{
    hd_cpu *cpu = (hd_cpu *)b;
    size_t n = hd_cols_of(a->x), chunks = (hd_rows_of(a->x) + CHUNK - 1) / CHUNK;
    sums s = {a, (hd_real *)hd_cpu_shared(cpu, chunks * n * sizeof(hd_real))};
    if (!s.partial) return HD_ENOMEM;
    hd_team_run(cpu->team, chunks, 1 + HD_GRAIN / (CHUNK * n + 1), column_sum_part, &s);
    hd_real *y = a->y->data;
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        const hd_real *x = s.partial + chunk * n;
        HD_COLUMNS(n, { S(y, L(y) + L(x)); });
    }
    return HD_OK;
}

hd_status KERNEL(total)(hd_backend *b, const hd_total_args *a)
{
    double sum = 0;
    (void)b;
    for (size_t r = 0; r < hd_rows_of(a->x); r++) {
        const hd_real *x = hd_row(a->x, r);
        for (size_t i = 0; i < hd_cols_of(a->x); i++) sum += (double)x[i];
    }
    hd_real *y = a->y->data;
    y[0] = (hd_real)(a->scale * sum) + (a->add ? y[0] : 0);
    return HD_OK;
}
