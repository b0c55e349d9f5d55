/* The run context: step memory and the first error. */
#include "op/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { HOST_CHUNK = 256 * 1024, STEP_CHUNK = 4 * 1024 * 1024 };

hd_status hd_run_init(hd_run *r, hd_backend *backend, hd_err *err)
{
    *r = (hd_run){.backend = backend, .now = {.weight = 1, .clip = 1}};
    hd_arena_init(&r->host, hd_source_host, HOST_CHUNK);
    hd_arena_init(&r->step, hd_backend_source(backend), STEP_CHUNK);
    hd_pool_init(&r->grads, hd_backend_source(backend));
    r->block = backend->alloc(backend, sizeof *r->block);
    if (!r->block) return hd_err_nomem(err, sizeof *r->block);
    hd_send_block(r);
    return HD_OK;
}

void hd_run_release(hd_run *r)
{
    if (!r->backend) return;
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
    hd_send_block(r);
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
    if (!p) hd_err_nomem(&r->err, bytes);
    return p;
}

static hd_tensor *new_tensor(hd_run *r, hd_dtype dtype, size_t rows, size_t cols)
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
    return new_tensor(r, HD_REAL, rows, cols);
}
hd_tensor *hd_new_ints(hd_run *r, size_t rows, size_t cols)
{
    return new_tensor(r, HD_I32, rows, cols);
}
hd_tensor *hd_like(hd_run *r, const hd_tensor *x)
{
    return hd_new(r, hd_rows_of(x), hd_cols_of(x));
}

/* By way of exp(0): cleared first, since 0 times what step memory happens to hold may be NaN. */
hd_tensor *hd_ones(hd_run *r, size_t rows, size_t cols)
{
    hd_tensor *t = hd_new(r, rows, cols);
    if (t) r->backend->clear(r->backend, t->data, hd_count_of(t) * sizeof(hd_real));
    HD_CALL(r, unary, .y = t, .x = t, .f = HD_exp);
    return t;
}

hd_tensor *hd_from(hd_run *r, size_t rows, size_t cols, const hd_real *host)
{
    hd_tensor *t = hd_new(r, rows, cols);
    if (t) r->backend->upload(r->backend, t->data, host, rows * cols * sizeof *host);
    return t;
}

int32_t *hd_ints(hd_run *r, const int32_t *host, size_t count)
{
    int32_t *p = hd_step_take(r, count * sizeof *p);
    if (p) r->backend->upload(r->backend, p, host, count * sizeof *p);
    return p;
}

bool hd_read(hd_run *r, const hd_tensor *t, hd_real *host)
{
    if (!t || r->err.status) return false;
    size_t cols = hd_cols_of(t), rows = hd_rows_of(t);
    if (hd_is_dense(t))
        r->backend->download(r->backend, host, t->data, rows * cols * sizeof *host);
    else
        for (size_t i = 0; i < rows; i++)
            r->backend->download(r->backend, host + i * cols, (hd_real *)t->data + i * t->stride,
                                 cols * sizeof *host);
    return true;
}

hd_seg *hd_seg_of(hd_run *r, const int32_t *len, size_t items, const int32_t *key)
{
    size_t rows = 0, longest = 0;
    for (size_t i = 0; i < items; i++) {
        if (len[i] < 0) return hd_fail(r, HD_EARG, "segment %zu has length %d", i, len[i]);
        rows += (size_t)len[i];
        if ((size_t)len[i] > longest) longest = (size_t)len[i];
    }
    if (rows > INT32_MAX) return hd_fail(r, HD_ELIMIT, "a batch of %zu rows is too large", rows);
    hd_seg *s = hd_host_take(r, sizeof *s);
    int32_t *begin = hd_host_take(r, (2 * items + 1) * sizeof *begin),
            *item = hd_host_take(r, (2 * rows + 1) * sizeof *item);
    if (r->err.status) return NULL;
    int32_t *kept = begin + items, *pos = item + rows;
    for (size_t i = 0, at = 0; i < items; i++) {
        begin[i] = (int32_t)at, kept[i] = len[i];
        for (int32_t j = 0; j < len[i]; j++, at++) item[at] = (int32_t)i, pos[at] = j;
    }
    *s = (hd_seg){.begin = hd_ints(r, begin, items),
                  .len = hd_ints(r, len, items),
                  .item = hd_ints(r, item, rows),
                  .pos = hd_ints(r, pos, rows),
                  .host_len = kept,
                  .key = key ? hd_ints(r, key, items) : NULL,
                  .items = items,
                  .rows = rows,
                  .longest = longest};
    return r->err.status ? NULL : s;
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
