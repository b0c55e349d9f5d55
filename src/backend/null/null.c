/* The null backend: kernels do nothing and memory has addresses but no bytes. A dry run of a step on it
 * measures what the step needs. */
#include "backend/backend.h"
#include "backend/ranks.h"
#include "base/mem.h"

typedef struct null_backend {
    hd_backend base;
    uintptr_t next; /* addresses only ever rise, so that blocks never seem to overlap */
} null_backend;

#define X(name)                                                            \
    static hd_status null_##name(hd_backend *b, const hd_##name##_args *a) \
    {                                                                      \
        (void)b, (void)a;                                                  \
        return HD_OK;                                                      \
    }
HD_KERNEL_LIST(X)
#undef X

static void *null_alloc(hd_backend *b, size_t bytes)
{
    null_backend *n = (null_backend *)b;
    uintptr_t at = n->next, step = (bytes + HD_ALIGN) / HD_ALIGN * HD_ALIGN;
    if (step < bytes || at + step < at) return NULL;
    n->next = at + step;
    b->used += bytes;
    if (b->used > b->peak) b->peak = b->used;
    return (void *)at;
}

static void null_release(hd_backend *b, void *block, size_t bytes)
{
    (void)block;
    b->used -= bytes;
}
static void null_upload(hd_backend *b, void *to, const void *from, size_t bytes)
{
    (void)b, (void)to, (void)from, (void)bytes;
}
static void null_clear(hd_backend *b, void *block, size_t bytes)
{
    (void)b, (void)block, (void)bytes;
}

static void null_download(hd_backend *b, void *to, const void *from, size_t bytes)
{
    (void)b, (void)from;
    for (size_t i = 0; i < bytes; i++) ((char *)to)[i] = 0;
}

static hd_status null_prepare(hd_backend *b, hd_tensor *w, hd_use use)
{
    (void)b, (void)w, (void)use;
    return HD_OK;
}

static void null_unprepare(hd_backend *b, hd_tensor *w)
{
    (void)b, (void)w;
}

static hd_status null_rank_sum(hd_backend *b, hd_real *x, size_t count)
{
    (void)b, (void)x, (void)count;
    return HD_OK;
}

static void null_free(hd_backend *b)
{
    hd_mem_free(b);
}

hd_status hd_backend_new_null(hd_backend **out, const hd_backend_opt *opt, hd_err *err)
{
    bool bf16 = opt && opt->precision == HD_PRECISION_BF16;
    null_backend *n = hd_mem_zero(sizeof *n);
    if (!n) return hd_err_nomem(err, sizeof *n);
    n->base = (hd_backend){.name = "null",
                           .detail = "null",
                           .dry = true,
                           .compute = bf16 ? HD_BF16 : HD_REAL,
                           .logits = (size_t)16 << 20,
                           .alloc = null_alloc,
                           .release = null_release,
                           .upload = null_upload,
                           .download = null_download,
                           .copy = null_upload,
                           .clear = null_clear,
                           .prepare = null_prepare,
                           .unprepare = null_unprepare,
                           .rank_sum = null_rank_sum,
                           .rank = hd_rank(),
                           .ranks = hd_ranks(),
                           .free = null_free};
#define X(name) n->base.kernel.name = null_##name;
    HD_KERNEL_LIST(X)
#undef X
    n->next = 1 << 20;
    *out = &n->base;
    return HD_OK;
}

/* Nothing computes on it. */
void hd_backend_list_null(hd_device_fn *tell, void *context)
{
    (void)tell, (void)context;
}
