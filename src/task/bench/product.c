/* The largest matrix product of a device. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/system/clock.h"
#include "task/bench/bench.h"

static hd_status fill(hd_backend *b, hd_tensor *t, size_t n, hd_err *err)
{
    hd_rng rng = hd_rng_make(2, 0);
    hd_real *x = hd_mem_array(n * n, sizeof *x);
    void *small = hd_mem_array(n * n, hd_dtype_bytes(b->compute)), *data = b->alloc(b, n * n * sizeof *x);
    hd_status st = x && small && data ? HD_OK : hd_backend_nomem(b, n * n * sizeof *x, err);
    for (size_t i = 0; !st && i < n * n; i++) x[i] = (hd_real)(hd_rng_unit(&rng) - 0.5);
    if (!st) hd_convert(small, b->compute, x, HD_REAL, n * n);
    if (!st) b->upload(b, data, small, n * n * hd_dtype_bytes(b->compute));
    *t = hd_shaped(data, b->compute, 2, (const size_t[]){n, n});
    hd_mem_free(x);
    hd_mem_free(small);
    return st;
}

hd_status hd_bench_product(hd_backend *b, size_t n, int rounds, double *rate, hd_err *err)
{
    hd_tensor t[3] = {{0}};
    hd_status st = HD_OK;
    char first;
    for (int i = 0; !st && i < 3; i++) st = fill(b, &t[i], n, err);
    hd_gemm_args g = {.y = &t[2], .a = &t[0], .b = &t[1], .b_transposed = true};
    double began = 0;
    for (int i = -3; !st && i < rounds; i++) {
        if (!i) b->download(b, &first, t[2].data, 1), began = hd_seconds();
        st = b->kernel.gemm(b, &g);
    }
    if (!st) b->download(b, &first, t[2].data, 1);
    *rate = 2.0 * (double)n * (double)n * (double)n * rounds / (hd_seconds() - began);
    for (int i = 0; i < 3; i++)
        if (t[i].data) b->release(b, t[i].data, n * n * sizeof(hd_real));
    return st;
}
