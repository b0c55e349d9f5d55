/* What kernels share on the device side: matrices of f32 or bf16, loads of eight numbers, sums over a warp
   and a block in a fixed order, the random masks. */
#ifndef HD_BACKEND_CUDA_DEVICE_H
#define HD_BACKEND_CUDA_DEVICE_H

#include <cuda_bf16.h>

#include "backend/cuda/cuda.h"

#ifndef HD_BOTH
#error "compile with -DHD_BOTH='__host__ __device__'"
#endif
#include "base/rng.h"

#define DEVICE    static __device__ __forceinline__
#define FULL_WARP 0xFFFFFFFFu

typedef __nv_bfloat16 bf16;

/* -- matrices of either type, told apart at run time: for kernels that move few bytes -- */

typedef struct mat {
    void *p;    /* NULL: absent */
    bool small; /* bf16 */
    int rows, cols;
    size_t stride;
} mat;

static inline mat mat_of(const hd_tensor *t)
{
    mat m = {};
    if (!t) return m;
    m.p = t->data, m.small = t->dtype == HD_BF16;
    m.rows = (int)hd_rows_of(t), m.cols = (int)hd_cols_of(t), m.stride = t->stride;
    return m;
}

DEVICE float mat_get(const mat &m, size_t r, size_t c)
{
    size_t i = r * m.stride + c;
    return m.small ? __bfloat162float(((const bf16 *)m.p)[i]) : ((const float *)m.p)[i];
}
DEVICE void mat_put(const mat &m, size_t r, size_t c, float v)
{
    size_t i = r * m.stride + c;
    if (m.small)
        ((bf16 *)m.p)[i] = __float2bfloat16(v);
    else
        ((float *)m.p)[i] = v;
}
DEVICE void mat_put_or_add(const mat &m, size_t r, size_t c, float v, bool add)
{
    mat_put(m, r, c, add ? mat_get(m, r, c) + v : v);
}

/* -- one type, known to the compiler: for kernels that move many bytes -- */

DEVICE float to_float(float x)
{
    return x;
}
DEVICE float to_float(bf16 x)
{
    return __bfloat162float(x);
}
DEVICE void set_float(float *p, float x)
{
    *p = x;
}
DEVICE void set_float(bf16 *p, float x)
{
    *p = __float2bfloat16(x);
}

/* Eight neighbors at a 16-byte (bf16) or 32-byte (f32) boundary. */
DEVICE void load8(float v[8], const bf16 *p)
{
    uint4 raw = *(const uint4 *)p;
    const __nv_bfloat162 *h = (const __nv_bfloat162 *)&raw;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float2 f = __bfloat1622float2(h[i]);
        v[2 * i] = f.x, v[2 * i + 1] = f.y;
    }
}
DEVICE void load8(float v[8], const float *p)
{
    float4 a = ((const float4 *)p)[0], b = ((const float4 *)p)[1];
    v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w, v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
}
DEVICE void store8(bf16 *p, const float v[8])
{
    uint4 raw;
    __nv_bfloat162 *h = (__nv_bfloat162 *)&raw;
#pragma unroll
    for (int i = 0; i < 4; i++) h[i] = __floats2bfloat162_rn(v[2 * i], v[2 * i + 1]);
    *(uint4 *)p = raw;
}
DEVICE void store8(float *p, const float v[8])
{
    ((float4 *)p)[0] = make_float4(v[0], v[1], v[2], v[3]);
    ((float4 *)p)[1] = make_float4(v[4], v[5], v[6], v[7]);
}

/* W (1 or 8) neighbors as floats. */
template <int W, typename T> DEVICE void load_wide(float v[W], const T *p)
{
    if constexpr (W == 8)
        load8(v, p);
    else
        v[0] = to_float(p[0]);
}
template <int W, typename T> DEVICE void store_wide(T *p, const float v[W])
{
    if constexpr (W == 8)
        store8(p, v);
    else
        set_float(p, v[0]);
}

/* Host: whether every row of t begins at such a boundary and is a multiple of eight long; NULL is fine. */
static inline bool by_eights(const hd_tensor *t)
{
    return !t || (hd_cols_of(t) % 8 == 0 && t->stride % 8 == 0 && (uintptr_t)t->data % 16 == 0);
}

/* -- sums and maxima, the same on every thread; the order never changes -- */

DEVICE float warp_sum(float x)
{
#pragma unroll
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(FULL_WARP, x, d);
    return x;
}
DEVICE float warp_max(float x)
{
#pragma unroll
    for (int d = 16; d; d >>= 1) x = fmaxf(x, __shfl_xor_sync(FULL_WARP, x, d));
    return x;
}
/* Over a block of whole warps; `room` is 32 floats of shared memory, free again after the call. */
DEVICE float block_sum(float x, float *room)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    x = warp_sum(x);
    if (!lane) room[warp] = x;
    __syncthreads();
    x = warp_sum(lane < warps ? room[lane] : 0);
    __syncthreads();
    return x;
}
DEVICE float block_max(float x, float *room)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    x = warp_max(x);
    if (!lane) room[warp] = x;
    __syncthreads();
    x = warp_max(lane < warps ? room[lane] : -INFINITY);
    __syncthreads();
    return x;
}

/* -- random masks: the same as the cpu's, element for element -- */

typedef struct draw_of {
    const hd_step *step;
    const int32_t *item, *pos, *key;
    uint32_t op, below; /* 16-bit draws below it are dropped */
    float scale;        /* of what is kept */
    bool whole;         /* the item's one draw holds for all of it */
} draw_of;

static inline draw_of draw_make(const hd_draw *d)
{
    draw_of m = {};
    m.step = d->step, m.op = d->op, m.whole = d->whole;
    m.below = (uint32_t)(d->p * 65536.0f + 0.5f);
    if (m.below > 65535) m.below = 65535;
    m.scale = (float)(65536.0 / (65536.0 - m.below));
    if (d->seg && d->seg->item) m.item = d->seg->item, m.pos = d->seg->pos, m.key = d->seg->key;
    return m;
}

DEVICE uint64_t draw_key(const draw_of &d, uint32_t r)
{
    uint32_t item = 0, row = r;
    if (d.item) {
        int32_t i = d.item[r];
        item = (uint32_t)(d.key && i >= 0 ? d.key[i] : i);
        row = (uint32_t)d.pos[r];
    }
    if (d.whole) row = HD_RNG_WHOLE;
    return hd_rng_row_key(d.step->seed, d.step->number, d.op, item, row);
}

/* 0 or scale for column c of the row with this key. */
DEVICE float draw_mask(const draw_of &d, uint64_t key, uint32_t c)
{
    if (d.whole) c = 0;
    uint32_t h = hd_rng_mix(key, c / 2);
    return ((c & 1 ? h >> 16 : h & 0xFFFF) >= d.below) ? d.scale : 0.0f;
}
/* The same for columns c .. c+7, c even. */
DEVICE void draw_mask8(float m[8], const draw_of &d, uint64_t key, uint32_t c)
{
    if (d.whole) {
        float all = draw_mask(d, key, 0);
#pragma unroll
        for (int i = 0; i < 8; i++) m[i] = all;
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint32_t h = hd_rng_mix(key, c / 2 + i);
        m[2 * i] = (h & 0xFFFF) >= d.below ? d.scale : 0.0f;
        m[2 * i + 1] = (h >> 16) >= d.below ? d.scale : 0.0f;
    }
}

#endif
