/* The registry of backends, and their common parts. */
#include "backend/backend.h"

#include <math.h>
#include <string.h>

#include "backend/ranks.h"
#include "base/log.h"

static const struct {
    const char *name;
    hd_status (*make)(hd_backend **, const hd_backend_opt *, hd_err *);
    void (*list)(hd_device_fn *, void *);
} registry[] = {
#define X(name) {#name, hd_backend_new_##name, hd_backend_list_##name},
    HD_BACKEND_LIST(X)
#undef X
};
enum { BACKENDS = sizeof registry / sizeof *registry };

/* b, once all processes have one; sums of two kinds would deadlock. */
static hd_status meet(hd_backend **out, hd_backend *b, size_t kind, hd_err *err)
{
    double kinds = (double)kind;
    hd_status s = b->dry ? HD_OK : hd_ranks_agree(HD_OK, &kinds, 1, err);
    if (!s && !b->dry && hd_ranks() > 1 && (size_t)kinds != kind * (size_t)hd_ranks())
        s = hd_err_set(err, HD_EARG,
                       "the processes are on different kinds of devices: give all the same --device");
    if (!s && b->meet) s = b->meet(b, err);
    if (s)
        hd_backend_free(b);
    else
        *out = b;
    return s;
}

typedef struct unused {
    const hd_log *log;
    bool told;
} unused;

/* The first of several cards: the reason is usually the same for all. */
static void tell_unused(void *context, const hd_device *d)
{
    unused *u = context;
    if (u->told || !d->name[0] || !d->why[0]) return;
    hd_log_say(u->log, HD_WARN, "%s %d (%s) is not used: %s", d->backend, d->number, d->name, d->why);
    u->told = true;
}

hd_status hd_backend_new(hd_backend **out, const char *name, const hd_backend_opt *opt, hd_err *err)
{
    bool any = !strcmp(name, "auto");
    hd_backend *b = NULL;
    for (size_t i = 0; i < BACKENDS; i++) {
        hd_err absent = {0};
        if (!any && strcmp(name, registry[i].name)) continue;
        hd_status s = registry[i].make(&b, opt, &absent);
        if (!s) return meet(out, b, i, err);
        if (!any || s != HD_EMISSING) return hd_err_set(err, s, "%s", absent.text);
        if (opt && opt->log) registry[i].list(tell_unused, &(unused){.log = opt->log});
    }
    return hd_err_set(err, HD_EMISSING,
                      "there is no device '%s' in this build (there is: auto"
#define X(n) ", " #n
                      HD_BACKEND_LIST(X)
#undef X
                          ")",
                      name);
}

hd_status hd_backend_again(hd_backend **out, const hd_backend *b, int threads, hd_err *err)
{
    bool small = b->compute == HD_BF16 || b->weights == HD_BF16;
    hd_precision same = b->weights == HD_I8 ? HD_PRECISION_INT8
                        : small             ? HD_PRECISION_BF16
                                            : HD_PRECISION_F32;
    return hd_backend_new(out, b->name, &(hd_backend_opt){.threads = threads, .precision = same, .like = b},
                          err);
}

void hd_backend_list(hd_device_fn *tell, void *context)
{
    for (size_t i = 0; i < BACKENDS; i++) registry[i].list(tell, context);
#ifndef HD_WITH_CUDA
    tell(context, &(hd_device){.backend = "cuda", .why = "this build is without CUDA"});
#endif
}

typedef struct wanted {
    const char *name;
    hd_device *out;
    bool found;
} wanted;

static void take(void *context, const hd_device *d)
{
    wanted *w = context;
    if (w->found || d->why[0] || (strcmp(w->name, "auto") && strcmp(w->name, d->backend))) return;
    *w->out = *d, w->found = true;
}

bool hd_backend_find(hd_device *out, const char *name)
{
    wanted w = {.name = name, .out = out};
    hd_backend_list(take, &w);
    return w.found;
}

const char *const hd_kernel_names[HD_KERNELS] = {
#define X(name) #name,
    HD_KERNEL_LIST(X)
#undef X
};

const char *const hd_precision_names[] = {"auto", "f32", "bf16", "int8", NULL};

hd_precision hd_precision_of(const hd_backend *b)
{
    const hd_dtype t = b->compute == HD_REAL ? b->weights : b->compute;
    return t == HD_I8 ? HD_PRECISION_INT8 : t == HD_BF16 ? HD_PRECISION_BF16 : HD_PRECISION_F32;
}

void hd_backend_free(hd_backend *b)
{
    if (b) b->free(b);
}

static void *source_get(void *context, size_t bytes)
{
    hd_backend *b = context;
    return b->alloc(b, bytes);
}

static void source_put(void *context, void *block, size_t bytes)
{
    hd_backend *b = context;
    b->release(b, block, bytes);
}

hd_allocator hd_backend_allocator(hd_backend *b)
{
    return (hd_allocator){source_get, source_put, b};
}

void hd_backend_gone(hd_backend *b, uint64_t serial)
{
    if (b->gone) b->gone(b->gone_context, serial);
}

hd_status hd_backend_nomem(hd_backend *b, size_t bytes, hd_err *err)
{
    if (!b->error[0]) return hd_err_nomem(err, bytes);
    hd_err_set(err, HD_ENOMEM, "%s", b->error);
    b->error[0] = 0;
    return HD_ENOMEM;
}

static const struct {
    const char *name;
    int keeps_x;
} unaries[] = {{"identity", 0},
#define y                       0
#define x                       1
#define X(name, kept, f, slope) {#name, kept},
               HD_UNARY_LIST(X)
#undef X
#undef x
#undef y
};

const char *hd_unary_name(hd_unary f)
{
    return unaries[f].name;
}
int hd_unary_keeps_x(hd_unary f)
{
    return unaries[f].keeps_x;
}

int hd_unary_find(const char *name)
{
    for (int i = 0; i < HD_UNARIES; i++)
        if (!strcmp(unaries[i].name, name)) return i;
    return -1;
}

int hd_relative_bucket(int distance, int buckets, bool both_ways, int reach)
{
    int base = 0, d = distance;
    if (both_ways) {
        buckets /= 2;
        if (d > 0) base = buckets;
        d = d < 0 ? -d : d;
    } else {
        d = d < 0 ? -d : 0;
    }
    int exact = buckets / 2;
    if (d < exact) return base + d;
    /* in float, as transformers computes it: where the logarithm of a distance lies on an edge, double finds
       the bucket on its other side */
    float share = logf((float)d / (float)exact) / (float)log((double)reach / exact);
    int bucket = exact + (int)(share * (float)(buckets - exact));
    return base + (bucket < buckets - 1 ? bucket : buckets - 1);
}
