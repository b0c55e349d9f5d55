/* Muon's passes over a matrix; its products are gemm's. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vector.h"
#include "backend/rounding.h"

enum { CHUNK = 1 << 14 };

static size_t chunks_of(size_t count)
{
    return (count + CHUNK - 1) / CHUNK;
}

/* The numbers of chunks begin .. end-1 of count: *from gets the first; returns how many. */
static size_t chunk_run(size_t count, size_t begin, size_t end, size_t *from)
{
    *from = begin * CHUNK;
    return (end * CHUNK < count ? end * CHUNK : count) - *from;
}

static void moment_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_moment_args *a = arg;
    const hd_step *s = a->step;
    size_t from, n = chunk_run(a->count, begin, end, &from);
    (void)worker;
    hd_real *y = a->y + from, *grad = a->grad + from, *first = a->first + from;
    if (s->skip) {
        memset(grad, 0, n * sizeof *grad);
        return;
    }
    vec scale = hd_set((double)s->clip / s->weight), keep = hd_set(a->momentum),
        rest = hd_set(1 - (double)a->momentum);
    HD_COLUMNS(n, {
        vec g = rest * (L(grad) * scale);
        vec m = keep * L(first) + g;
        S(first, m);
        S(y, keep * m + g);
        S(grad, hd_set(0));
    });
}

hd_status KERNEL(moment)(hd_backend *b, const hd_moment_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, chunks_of(a->count), 1, moment_part, (void *)a);
    return HD_OK;
}

static void unit_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_unit_args *a = arg;
    size_t from, n = chunk_run(hd_count_of(a->y), begin, end, &from);
    (void)worker;
    const hd_real *x = a->x + from;
    hd_real *y = (hd_real *)a->y->data + from;
    vec by = hd_set(1 / (sqrt(*a->sum) + 1e-7));
    HD_COLUMNS(n, { S(y, L(x) * by); });
}

hd_status KERNEL(unit)(hd_backend *b, const hd_unit_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, chunks_of(hd_count_of(a->y)), 1, unit_part, (void *)a);
    *a->sum = 0;
    return HD_OK;
}

/* Of weights that are in bf16 alone. */
static void descend_small(const hd_descend_args *a, size_t from, size_t n)
{
    double rate = (double)a->step->rate * (double)a->factor;
    float keep = (float)(1 - rate * (double)a->decay), by = (float)(rate * (double)a->scale);
    for (size_t i = from; i < from + n; i++) {
        float w;
        uint32_t bits;
        hd_convert(&w, HD_F32, a->shadow + i, HD_BF16, 1);
        w = keep * w - by * (float)((const hd_real *)a->x->data)[i];
        memcpy(&bits, &w, sizeof bits);
        a->shadow[i] = hd_rounding_bf16(bits, hd_rounding_draw(a->place + i, (uint32_t)a->step->updates));
    }
}

static void descend_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_descend_args *a = arg;
    size_t from, n = chunk_run(hd_count_of(a->x), begin, end, &from);
    (void)worker;
    double rate = (double)a->step->rate * (double)a->factor;
    vec keep = hd_set(1 - rate * (double)a->decay), by = hd_set(rate * (double)a->scale);
    const hd_real *x = (const hd_real *)a->x->data + from;
    if (!a->value) {
        descend_small(a, from, n);
        return;
    }
    hd_real *value = a->value + from;
    HD_COLUMNS(n, { S(value, keep * L(value) - by * L(x)); });
}

hd_status KERNEL(descend)(hd_backend *b, const hd_descend_args *a)
{
    if (!a->step->skip)
        hd_team_run(((hd_cpu *)b)->team, chunks_of(hd_count_of(a->x)), 1, descend_part, (void *)a);
    return HD_OK;
}
