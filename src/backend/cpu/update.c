/* The optimizer's passes over flat buffers. The sum of squares goes through fixed chunks, so that the clip
   factor has the same bits on any number of threads. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vector.h"
#include "backend/rounding.h"

enum { CHUNK = 1 << 14 };

typedef struct squares {
    const hd_square_sum_args *a;
    double *partial;
} squares;

static void square_sum_part(void *arg, size_t begin, size_t end, int worker)
{
    squares *s = arg;
    (void)worker;
    for (size_t chunk = begin; chunk < end; chunk++) {
        size_t from = chunk * CHUNK, n = s->a->count - from < CHUNK ? s->a->count - from : CHUNK;
        const hd_real *x = s->a->x + from;
        vec sum = hd_set(0);
        HD_COLUMNS(n, { sum += L(x) * L(x); });
        s->partial[chunk] = (double)hd_sum(sum);
    }
}

hd_status KERNEL(square_sum)(hd_backend *b, const hd_square_sum_args *a)
{
    hd_cpu *cpu = (hd_cpu *)b;
    size_t chunks = (a->count + CHUNK - 1) / CHUNK;
    squares s = {a, (double *)hd_cpu_shared(cpu, chunks * sizeof(double))};
    if (!s.partial) return HD_ENOMEM;
    hd_team_run(cpu->team, chunks, 1, square_sum_part, &s);
    for (size_t i = 0; i < chunks; i++) *a->sum += s.partial[i];
    return HD_OK;
}

hd_status KERNEL(clip)(hd_backend *b, const hd_clip_args *a)
{
    hd_step *s = a->step;
    (void)b;
    s->norm = sqrt(*a->sum) / s->weight;
    s->skip = !isfinite(s->norm);
    s->clip = a->limit > 0 && s->norm > (double)a->limit ? (float)((double)a->limit / s->norm) : 1;
    *a->sum = 0;
    if (!s->skip) s->updates = ++*a->updates;
    return HD_OK;
}

typedef struct factors {
    vec grad, rate, beta1, rest1, beta2, rest2, eps, decay, keep, fix2;
} factors;

INLINE vec rule_adam(const factors *f, vec w, vec g, vec *m, vec *v)
{
    *m = f->beta1 * *m + f->rest1 * g;
    *v = f->beta2 * *v + f->rest2 * g * g;
    return f->keep * w - f->rate * *m / (hd_sqrt(*v * f->fix2) + f->eps);
}

static void adam_run(const hd_update_args *a, const factors *f, size_t from, size_t n)
{
    hd_real *w = a->value + from, *grad = a->grad + from, *first = a->first + from,
            *second = a->second + from;
    HD_COLUMNS(n, {
        vec value = L(w), m1 = L(first), v1 = L(second);
        vec g = L(grad) * f->grad + f->decay * value;
        S(w, rule_adam(f, value, g, &m1, &v1));
        S(first, m1);
        S(second, v1);
        S(grad, hd_set(0));
    });
}

static void sgd_run(const hd_update_args *a, const factors *f, size_t from, size_t n)
{
    hd_real *w = a->value + from, *grad = a->grad + from, *first = a->first ? a->first + from : NULL;
    vec momentum = hd_set(a->momentum);
    HD_COLUMNS(n, {
        vec value = L(w);
        vec g = L(grad) * f->grad + f->decay * value;
        if (first) {
            vec u = momentum * L(first) + g;
            S(first, u);
            g = a->nesterov ? g + momentum * u : u;
        }
        S(w, f->keep * value - f->rate * g);
        S(grad, hd_set(0));
    });
}

/* Of weights that are in bf16 alone: through floats of a part of the chunk. */
static void small_run(const hd_update_args *a, const factors *f, size_t from, size_t n)
{
    enum { PART = 256 };
    for (size_t at = from, count; at < from + n; at += count) {
        float exact[PART];
        hd_real value[PART];
        count = from + n - at < PART ? from + n - at : PART;
        hd_convert(value, HD_REAL, a->shadow + at, HD_BF16, count);
        hd_update_args part = *a;
        part.value = value, part.grad += at;
        part.first = a->first ? a->first + at : NULL, part.second = a->second ? a->second + at : NULL;
        if (a->rule == HD_ADAM)
            adam_run(&part, f, 0, count);
        else
            sgd_run(&part, f, 0, count);
        for (size_t i = 0; i < count; i++) {
            uint32_t bits;
            exact[i] = (float)value[i];
            memcpy(&bits, &exact[i], sizeof bits);
            a->shadow[at + i] =
                hd_rounding_bf16(bits, hd_rounding_draw(a->place + at + i, (uint32_t)a->step->updates));
        }
    }
}

static void update_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_update_args *a = arg;
    const hd_step *s = a->step;
    size_t from = begin * CHUNK, till = end * CHUNK < a->count ? end * CHUNK : a->count;
    (void)worker;
    if (s->skip) {
        memset(a->grad + from, 0, (till - from) * sizeof *a->grad);
        return;
    }
    double rate = (double)s->rate * (double)a->factor, t = (double)s->updates;
    double fix1 = a->rule == HD_ADAM ? 1 - pow((double)a->beta1, t) : 1,
           fix2 = a->rule == HD_ADAM ? 1 - pow((double)a->beta2, t) : 1;
    factors f = {.grad = hd_set((double)s->clip / s->weight),
                 .rate = hd_set(rate / fix1),
                 .beta1 = hd_set(a->beta1),
                 .rest1 = hd_set(1 - (double)a->beta1),
                 .beta2 = hd_set(a->beta2),
                 .rest2 = hd_set(1 - (double)a->beta2),
                 .eps = hd_set(a->eps),
                 .decay = hd_set(a->decoupled ? 0 : (double)a->decay),
                 .keep = hd_set(a->decoupled ? 1 - rate * (double)a->decay : 1),
                 .fix2 = hd_set(1 / fix2)};
    if (!a->value)
        small_run(a, &f, from, till - from);
    else if (a->rule == HD_ADAM)
        adam_run(a, &f, from, till - from);
    else
        sgd_run(a, &f, from, till - from);
}

hd_status KERNEL(update)(hd_backend *b, const hd_update_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, (a->count + CHUNK - 1) / CHUNK, 1, update_part, (void *)a);
    return HD_OK;
}

static void average_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_average_args *a = arg;
    size_t from = begin * CHUNK, n = (end * CHUNK < a->count ? end * CHUNK : a->count) - from;
    hd_real *mean = a->mean + from;
    const hd_real *value = a->value + from;
    double t = a->step->updates, early = (1 + t) / (10 + t),
           decay = early < (double)a->decay ? early : (double)a->decay;
    vec keep = hd_set((hd_real)decay), rest = hd_set((hd_real)(1 - decay));
    (void)worker;
    HD_COLUMNS(n, { S(mean, keep * L(mean) + rest * L(value)); });
}

/* Activations are f32 here: there is no shadow to renew. */
hd_status KERNEL(cast)(hd_backend *b, const hd_cast_args *a)
{
    (void)b;
    hd_convert(a->shadow, HD_BF16, a->value, HD_REAL, a->count);
    return HD_OK;
}

hd_status KERNEL(average)(hd_backend *b, const hd_average_args *a)
{
    if (a->step->skip) return HD_OK;
    hd_team_run(((hd_cpu *)b)->team, (a->count + CHUNK - 1) / CHUNK, 1, average_part, (void *)a);
    return HD_OK;
}
