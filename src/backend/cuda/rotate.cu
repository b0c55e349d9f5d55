/* Rotation of pairs of columns: a thread for each row and pair, which serves all heads of the row. */
#include "backend/cuda/device.h"

enum { THREADS = 256 };

template <class T>
__global__ void __launch_bounds__(THREADS)
    rotate_kernel(const __grid_constant__ hd_rotation by, T *x, size_t stride, size_t units,
                  const int32_t *pos, int heads, bool back)
{
    size_t unit = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (unit >= units) return;
    size_t r = unit / by.pairs;
    int k = (int)(unit % by.pairs), other = by.interleaved ? 1 : by.pairs;
    float s, c;
    sincosf(hd_rotation_angle(&by, k, pos[r]), &s, &c);
    c *= by.factor, s *= back ? -by.factor : by.factor;
    T *p = x + r * stride + by.first + (by.interleaved ? 2 * k : k);
    for (int h = 0; h < heads; h++, p += by.width) {
        float a = to_float(p[0]), b = to_float(p[other]);
        set_float(p, a * c - b * s);
        set_float(p + other, b * c + a * s);
    }
}

extern "C" hd_status hd_cuda_rotate(hd_backend *b, const hd_rotate_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    size_t units = hd_rows_of(a->x) * (size_t)a->by->pairs;
    if (!units || !a->heads) return HD_OK;
    unsigned blocks = hd_blocks(units, THREADS);
    if (a->x->dtype == HD_BF16)
        rotate_kernel<<<blocks, THREADS, 0, c->stream>>>(*a->by, (bf16 *)a->x->data, a->x->stride, units,
                                                         a->pos, a->heads, a->back);
    else
        rotate_kernel<<<blocks, THREADS, 0, c->stream>>>(*a->by, (float *)a->x->data, a->x->stride, units,
                                                         a->pos, a->heads, a->back);
    return hd_cuda_done(c, "rotate");
}
