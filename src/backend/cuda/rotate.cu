/* Rotation of pairs of columns: a thread takes one pair of a row or eight neighbors, for some heads of the
   row; few rows are shared out by heads. */
#include "backend/cuda/device.h"

enum { THREADS = 256, EIGHT = 8 };

typedef struct turning {
    void *x;
    size_t stride, rows;
    const int32_t *pos;
    int heads, each; /* each: heads of a thread */
    bool back;
} turning;

/* W: pairs of a thread, 1 or 8; these lie in halves. */
template <class T, int W>
__global__ void __launch_bounds__(THREADS)
    rotate_kernel(const __grid_constant__ hd_rotation by, const turning t)
{
    int pieces = by.pairs / W, parts = (t.heads + t.each - 1) / t.each;
    size_t unit = (size_t)blockIdx.x * THREADS + threadIdx.x, r = unit / pieces / parts;
    if (r >= t.rows) return;
    int k = (int)(unit % pieces) * W, first = (int)(unit / pieces % parts) * t.each;
    int other = W == 1 && by.interleaved ? 1 : by.pairs, last = min(t.heads, first + t.each);
    float s[W], c[W];
    int32_t pos = t.pos[r];
#pragma unroll
    for (int i = 0; i < W; i++) {
        sincosf(hd_rotation_angle(&by, k + i, pos), &s[i], &c[i]);
        c[i] *= by.factor, s[i] *= t.back ? -by.factor : by.factor;
    }
    T *p = (T *)t.x + r * t.stride + (size_t)first * by.width + by.first + (other == 1 ? 2 * k : k);
#pragma unroll 2
    for (int h = first; h < last; h++, p += by.width) {
        float a[W], b[W], x[W], y[W];
        load_wide<W>(a, p);
        load_wide<W>(b, p + other);
#pragma unroll
        for (int i = 0; i < W; i++) x[i] = a[i] * c[i] - b[i] * s[i], y[i] = b[i] * c[i] + a[i] * s[i];
        store_wide<W>(p, x);
        store_wide<W>(p + other, y);
    }
}

template <class T> static void launch(hd_cuda *c, const hd_rotation *by, turning t)
{
    bool eights = !by->interleaved && by->pairs % EIGHT == 0 && by->first % EIGHT == 0 &&
                  by->width % EIGHT == 0 && t.stride % EIGHT == 0 && (uintptr_t)t.x % 16 == 0;
    size_t most = (size_t)c->processors * 4 * THREADS; /* threads that are under way at once */
    if (eights && t.rows * (size_t)(by->pairs / EIGHT) < most) eights = false; /* the angles take longer */
    size_t pieces = t.rows * (size_t)(eights ? by->pairs / EIGHT : by->pairs);
    size_t parts = most / pieces;
    if (parts > (size_t)t.heads) parts = (size_t)t.heads;
    if (parts < 1) parts = 1;
    t.each = (int)(((size_t)t.heads + parts - 1) / parts);
    parts = ((size_t)t.heads + (size_t)t.each - 1) / (size_t)t.each;
    unsigned blocks = hd_blocks(pieces * parts, THREADS);
    if (eights)
        rotate_kernel<T, EIGHT><<<blocks, THREADS, 0, c->stream>>>(*by, t);
    else
        rotate_kernel<T, 1><<<blocks, THREADS, 0, c->stream>>>(*by, t);
}

extern "C" hd_status hd_cuda_rotate(hd_backend *b, const hd_rotate_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    turning t = {a->x->data, a->x->stride, hd_rows_of(a->x), a->pos, a->heads, 1, a->back};
    if (!t.rows || !a->by->pairs || !a->heads) return HD_OK;
    a->x->dtype == HD_BF16 ? launch<bf16>(c, a->by, t) : launch<float>(c, a->by, t);
    return hd_cuda_done(c, "rotate");
}
