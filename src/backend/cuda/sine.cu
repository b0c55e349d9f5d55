/* The sine code of positions: a warp for each number. */
#include "backend/cuda/device.h"

enum { WARPS = 8 };

static __global__ void sine_kernel(mat y, mat x, mat dx, mat dy, float scale, float fall)
{
    int unit = (int)(blockIdx.x * WARPS + threadIdx.x / 32), lane = (int)threadIdx.x % 32;
    if (unit >= x.rows * x.cols) return;
    int r = unit / x.cols, i = unit % x.cols, n = (dy.p ? dy.cols : y.cols) / x.cols, from = i ^ 1;
    float at = mat_get(x, r, from) * scale, sum = 0;
    for (int k = 2 * lane; k + 1 < n; k += 64) {
        float wave = exp2f(-fall * (float)k / (float)n), s, c;
        sincosf(at * wave, &s, &c);
        int to = i * n + k;
        if (y.p)
            mat_put(y, r, to, s), mat_put(y, r, to + 1, c);
        else
            sum += wave * (mat_get(dy, r, to) * c - mat_get(dy, r, to + 1) * s);
    }
    if (!dx.p) return;
    sum = warp_sum(sum);
    if (!lane) mat_put_or_add(dx, r, from, sum * scale, true);
}

extern "C" hd_status hd_cuda_sine(hd_backend *b, const hd_sine_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    if (!hd_count_of(a->x)) return HD_OK;
    sine_kernel<<<hd_blocks(hd_count_of(a->x), WARPS), 32 * WARPS, 0, c->stream>>>(
        mat_of(a->y), mat_of(a->x), mat_of(a->dx), mat_of(a->dy), a->scale, log2f(a->temperature));
    return hd_cuda_done(c, "sine");
}
