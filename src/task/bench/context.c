/* Writing behind a long text. Reading it would take minutes on a CPU, and says nothing about writing. */
#include "task/bench/context.h"

#include "base/mem.h"

enum { CHUNK = 1024 };

void hd_bench_context_release(hd_bench_context *c)
{
    hd_stepping_free(c->stepping);
    *c = (hd_bench_context){0};
}

/* Numbers as a slot has them, in host memory of the step. */
static void *draw(hd_run *r, size_t count, hd_dtype type)
{
    hd_rng rng = hd_rng_make(3, 0);
    hd_real *x = hd_host_take(r, count * sizeof *x);
    void *y = hd_host_take(r, count * hd_dtype_bytes(type));
    if (!x || !y) return NULL;
    for (size_t i = 0; i < count; i++) x[i] = (hd_real)(hd_rng_unit(&rng) - 0.5);
    hd_convert(y, type, x, HD_REAL, count);
    return y;
}

/* Rows that no text gave, in all slots. */
static void fill(hd_run *r, hd_cache *cache, int32_t rows)
{
    hd_run_begin(r, HD_INFERENCE);
    const hd_seg *seg = hd_seg_of(r, &rows, 1, NULL);
    const hd_tensor *like = &hd_cache_slot(cache, 0)->t;
    const size_t columns = hd_cols_of(like), count = (size_t)rows * columns;
    const void *host = draw(r, count, like->dtype);
    hd_tensor *x = host ? hd_new(r, (size_t)rows, columns) : NULL;
    if (!x || !seg) return;
    r->backend->upload(r->backend, x->data, host, count * hd_dtype_bytes(x->dtype));
    for (size_t i = 0; i < cache->slots; i++) hd_slot_grow(r, hd_cache_slot(cache, i), (hd_rows){x, seg});
}

static hd_status fault(const hd_run *r, hd_err *err)
{
    if (r->err.status) return hd_err_set(err, r->err.status, "%s", r->err.text);
    return r->backend->error[0] ? hd_err_set(err, HD_EDEVICE, "%s", r->backend->error) : HD_OK;
}

hd_status hd_bench_context_make(hd_bench_context *c, hd_run *r, const hd_gpt *m, size_t seen, hd_err *err)
{
    const int32_t first = 0, one = 1;
    const hd_stepping_ask ask = {"prompt", &first, &one, 1, m->opt.vocab, m->opt.positions};
    hd_status s = hd_gpt_stepping(&c->stepping, m, &ask, err);
    if (s) return s;
    hd_run_begin(r, HD_INFERENCE);
    hd_arrivals a = hd_stepping_next(r, c->stepping, 1);
    hd_stepping_join(r, c->stepping, &a);
    for (size_t done = 1; done < seen && !r->err.status;) {
        const size_t rows = seen - done < CHUNK ? seen - done : CHUNK;
        fill(r, c->stepping->cache, (int32_t)rows);
        done += rows;
    }
    return fault(r, err);
}

hd_status hd_bench_context_write(hd_bench_context *c, hd_run *r, size_t tokens, hd_err *err)
{
    const int32_t id = 1;
    char first;
    for (size_t i = 0; i < tokens && !r->err.status; i++) {
        hd_run_begin(r, HD_INFERENCE);
        hd_tensor *y = hd_stepping_step(r, c->stepping, &id, 1);
        if (y && i + 1 == tokens) r->backend->download(r->backend, &first, y->data, 1);
    }
    return fault(r, err);
}
