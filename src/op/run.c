/* The run context: step memory and the first error. */
#include "op/run.h"

#include <string.h>

#include "base/mem.h"
#include "op/replay.h"

enum { HOST_CHUNK = 256 * 1024, STEP_CHUNK = 4 * 1024 * 1024 };

hd_status hd_run_init(hd_run *r, hd_backend *backend, hd_err *err)
{
    *r = (hd_run){.backend = backend, .now = {.weight = 1, .clip = 1}};
    hd_arena_init(&r->host, hd_allocator_host, HOST_CHUNK);
    hd_arena_init(&r->step, hd_backend_allocator(backend), STEP_CHUNK);
    hd_pool_init(&r->grads, hd_backend_allocator(backend));
    r->grads.keep = backend->capture != NULL;
    r->block = backend->alloc(backend, sizeof *r->block);
    if (!r->block) return hd_backend_nomem(backend, sizeof *r->block, err);
    hd_send_block(r);
    return HD_OK;
}

void hd_run_release(hd_run *r)
{
    if (!r->backend) return;
    hd_graphs_free(r);
    hd_arena_release(&r->host);
    hd_arena_release(&r->step);
    hd_pool_release(&r->grads);
    if (r->block) r->backend->release(r->backend, r->block, sizeof *r->block);
    *r = (hd_run){0};
}

void hd_send_block(hd_run *r)
{
    r->backend->upload(r->backend, r->block, &r->now, sizeof r->now);
}

void hd_run_begin(hd_run *r, hd_mode mode)
{
    hd_arena_reset(&r->host);
    hd_arena_reset(&r->step);
    hd_pool_reset(&r->grads);
    r->err = (hd_err){0};
    r->last = NULL;
    r->taping = r->training = mode == HD_TRAIN;
    r->draws = 0;
    r->scope[0] = 0;
    r->again = false;
    r->steps++;
    hd_send_block(r);
    if (r->halt && atomic_load_explicit(r->halt, memory_order_relaxed))
        hd_fail(r, HD_ESTOPPED, "%s", hd_status_text(HD_ESTOPPED));
}

hd_status hd_run_status(const hd_run *r, hd_err *err)
{
    return r->err.status ? hd_err_set(err, r->err.status, "%s", r->err.text) : HD_OK;
}

void *hd_fail(hd_run *r, hd_status s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    hd_err_setv(&r->err, s, format, args);
    va_end(args);
    return NULL;
}

void *hd_host_take(hd_run *r, size_t bytes)
{
    if (r->err.status) return NULL;
    void *p = hd_arena_take(&r->host, bytes);
    if (!p) return hd_err_nomem(&r->err, bytes), NULL;
    return memset(p, 0, bytes);
}

void *hd_step_take(hd_run *r, size_t bytes)
{
    if (r->err.status) return NULL;
    void *p = hd_arena_take(&r->step, bytes);
    if (!p) hd_backend_nomem(r->backend, bytes, &r->err);
    return p;
}

void hd_call_failed(hd_run *r, hd_status s, const char *kernel)
{
    char *said = r->backend->error;
    if (said[0])
        hd_fail(r, s, "%s", said); /* it names the kernel that failed, which may be an earlier one */
    else
        hd_fail(r, s, "%s: %s", kernel, hd_status_text(s));
    said[0] = 0;
}

hd_tensor *hd_new_of(hd_run *r, hd_dtype dtype, size_t rows, size_t cols)
{
    size_t count, bytes;
    if (!hd_size_mul(rows, cols, &count) || !hd_size_mul(count, hd_dtype_bytes(dtype), &bytes))
        return hd_fail(r, HD_ELIMIT, "a tensor of %zu x %zu is too large", rows, cols);
    hd_tensor *t = hd_host_take(r, sizeof *t);
    void *data = t ? hd_step_take(r, bytes) : NULL;
    if (!data) return NULL;
    *t = hd_shaped(data, dtype, 2, (const size_t[]){rows, cols});
    return t;
}

hd_tensor *hd_new(hd_run *r, size_t rows, size_t cols)
{
    return hd_new_of(r, r->backend->compute, rows, cols);
}
hd_tensor *hd_new_reals(hd_run *r, size_t rows, size_t cols)
{
    return hd_new_of(r, HD_REAL, rows, cols);
}
hd_tensor *hd_new_ints(hd_run *r, size_t rows, size_t cols)
{
    return hd_new_of(r, HD_I32, rows, cols);
}
hd_dtype hd_type_like(const hd_run *r, const hd_tensor *x)
{
    return x->is_param ? r->backend->compute : x->dtype;
}
hd_tensor *hd_reals_of(hd_run *r, const hd_tensor *param)
{
    hd_tensor *x = param ? hd_host_take(r, sizeof *x) : NULL;
    if (x) *x = *param, x->is_param = false;
    return x;
}
hd_tensor *hd_like(hd_run *r, const hd_tensor *x)
{
    return hd_new_of(r, hd_type_like(r, x), hd_rows_of(x), hd_cols_of(x));
}

void hd_clear(hd_run *r, const hd_tensor *dense)
{
    if (dense && !r->err.status) r->backend->clear(r->backend, dense->data, hd_bytes_of(dense));
}

/* As exp(0): cleared first, since 0 times uninitialized step memory may be NaN. */
hd_tensor *hd_ones(hd_run *r, size_t rows, size_t cols)
{
    hd_tensor *t = hd_new(r, rows, cols);
    hd_clear(r, t);
    HD_CALL(r, unary, .y = t, .x = t, .f = HD_exp);
    return t;
}

hd_tensor *hd_from(hd_run *r, size_t rows, size_t cols, const hd_real *host)
{
    hd_tensor *t = hd_new_reals(r, rows, cols);
    if (t) r->backend->upload(r->backend, t->data, host, rows * cols * sizeof *host);
    return t;
}

int32_t *hd_ints(hd_run *r, const int32_t *host, size_t count)
{
    int32_t *p = hd_step_take(r, count * sizeof *p);
    if (p) r->backend->upload(r->backend, p, host, count * sizeof *p);
    return p;
}

int32_t *hd_ids_within(hd_run *r, const int32_t *ids, size_t live, size_t rows)
{
    if (live == rows) return hd_ints(r, ids, live);
    int32_t *all = hd_host_take(r, rows * sizeof *all);
    for (size_t i = 0; all && i < rows; i++) all[i] = i < live ? ids[i] : -1;
    return all ? hd_ints(r, all, rows) : NULL;
}

bool hd_read(hd_run *r, const hd_tensor *t, hd_real *host)
{
    if (!t || r->err.status) return false;
    size_t size = hd_dtype_bytes(t->dtype), line = hd_cols_of(t) * size, rows = hd_rows_of(t);
    char *to = t->dtype == HD_REAL ? (char *)host : hd_host_take(r, hd_bytes_of(t));
    if (!to) return false;
    if (hd_is_dense(t))
        r->backend->download(r->backend, to, t->data, rows * line);
    else
        for (size_t i = 0; i < rows; i++)
            r->backend->download(r->backend, to + i * line, (char *)t->data + i * t->stride * size, line);
    if (to != (char *)host) hd_convert(host, HD_REAL, to, t->dtype, hd_count_of(t));
    return true;
}

void *hd_fail_number(hd_run *r)
{
    return hd_fail(
        r, HD_ENUMBER,
        "the model's output is not a number: weights in its model.safetensors are too large, from a "
        "training that diverged or a damaged file");
}

bool hd_read_output(hd_run *r, const hd_tensor *t, hd_real *host)
{
    if (!hd_read(r, t, host)) return false;
    return hd_all_finite(host, hd_count_of(t)) || hd_fail_number(r);
}

static size_t up_to(size_t n, size_t grain)
{
    return (n + grain - 1) / grain * grain;
}

/* Exactly the sizes of the batch. */
static hd_bounds bounds_of(const int32_t *len, size_t items)
{
    hd_bounds b = {.items = items};
    for (size_t i = 0; i < items; i++) {
        b.rows += (size_t)len[i];
        if ((size_t)len[i] > b.longest) b.longest = (size_t)len[i];
    }
    return b;
}

static bool trains_captured(const hd_run *r)
{
    return r->captures && r->backend->capture;
}

bool hd_fills_now(const hd_run *r)
{
    return r->training && trains_captured(r);
}

hd_bounds hd_bounds_of(const hd_run *r, const int32_t *len, size_t items)
{
    hd_bounds b = bounds_of(len, items);
    if (!trains_captured(r)) return b;
    size_t longest = 32;
    while (longest < b.longest) longest *= 2;
    return (hd_bounds){up_to(items, 64), up_to(b.rows, b.rows < 8192 ? 128 : 512), longest};
}

hd_bounds hd_bounds_now(const hd_run *r, const int32_t *len, size_t items)
{
    return r->training ? hd_bounds_of(r, len, items) : bounds_of(len, items);
}

hd_seg *hd_seg_of(hd_run *r, const int32_t *len, size_t items, const int32_t *key)
{
    for (size_t i = 0; i < items; i++)
        if (len[i] < 0) return hd_fail(r, HD_EARG, "segment %zu has length %d", i, len[i]);
    return hd_seg_within(r, len, items, key, bounds_of(len, items));
}

/* All numbers are sent in one block: begin, len, key of the items, then item, pos of the rows. */
hd_seg *hd_seg_within(hd_run *r, const int32_t *len, size_t items, const int32_t *key, hd_bounds b)
{
    if (b.rows > INT32_MAX) return hd_fail(r, HD_ELIMIT, "a batch of %zu rows is too large", b.rows);
    size_t n = b.items, count = 3 * n + 2 * b.rows, at = 0;
    hd_seg *s = hd_host_take(r, sizeof *s);
    int32_t *begin = hd_host_take(r, (count + 1) * sizeof *begin);
    if (!s || !begin) return NULL;
    int32_t *lens = begin + n, *keys = lens + n, *item = keys + n, *pos = item + b.rows;
    for (size_t i = 0; i < n; i++) {
        begin[i] = (int32_t)at, lens[i] = i < items ? len[i] : 0,
        keys[i] = key && i < items ? key[i] : (int32_t)i;
        for (int32_t j = 0; j < lens[i]; j++, at++) item[at] = (int32_t)i, pos[at] = j;
    }
    bool full = at == b.rows;
    for (; at < b.rows; at++) item[at] = -1, pos[at] = 0;
    const int32_t *sent = hd_ints(r, begin, count);
    if (!sent) return NULL;
    *s = (hd_seg){.begin = sent,
                  .len = sent + n,
                  .key = key ? sent + 2 * n : NULL,
                  .item = sent + 3 * n,
                  .pos = sent + 3 * n + b.rows,
                  .host_len = lens,
                  .items = n,
                  .rows = b.rows,
                  .longest = b.longest,
                  .full = full};
    return s;
}

const int32_t *hd_seg_lens(hd_run *r, const hd_seg *seg)
{
    if (seg->host_len) return seg->host_len;
    int32_t *len = hd_host_take(r, (seg->items + 1) * sizeof *len);
    if (len) r->backend->download(r->backend, len, seg->len, seg->items * sizeof *len);
    return len;
}

bool hd_seg_fits(hd_run *r, const char *op, const hd_tensor *x, const hd_seg *seg, bool all)
{
    if (!seg || seg->rows == hd_rows_of(x) || (seg->rows < hd_rows_of(x) && (!all || !seg->item)))
        return true;
    hd_fail(r, HD_ESHAPE, "%s: segments of %zu rows, x has %zu", op, seg->rows, hd_rows_of(x));
    return false;
}

hd_draw hd_draw_next(hd_run *r, float p, const hd_seg *seg)
{
    hd_draw d = {.step = r->block, .p = r->training ? p : 0, .seg = seg};
    d.op = r->draws++;
    return d;
}
