/* Elementwise kernels: functions, sums, products, dropout, noise, the bf16 shadow. An output may be one of
   the inputs: every thread reads what it writes, and before. */
#include "backend/cuda/function.h"
#include "backend/cuda/walk.h"

template <class T> __global__ void unary_kernel(mat y, mat x, int f)
{
    span s;
    if (!span_of<T>(&s, y.rows, y.cols)) return;
    LANE_STEPS(T, c, s)
    {
        float v[step_of<T>::W];
        get<T>(v, x, s.row, c);
        unary_values<step_of<T>::W>(v, f);
        put<T>(y, s.row, c, v);
    }
}

extern "C" hd_status hd_cuda_unary(hd_backend *b, const hd_unary_args *a)
{
    hd_cuda *k = (hd_cuda *)b;
    if (!hd_count_of(a->y)) return HD_OK;
    const hd_tensor *all[] = {a->y, a->x};
    walk_kind kind = walk_kind_of(all, 2);
    WALK(kind, unary_kernel, walk_blocks(kind, a->y), WALK_THREADS, k->stream, mat_of(a->y), mat_of(a->x),
         (int)a->f);
    return hd_cuda_done(k, "unary");
}

/* relu's kept value after its dropout tells both: what was dropped is not positive either */
template <class T> __global__ void unary_back_kernel(mat dx, mat dy, mat kept, int f, bool add, draw_of d)
{
    const int W = step_of<T>::W;
    span s;
    if (!span_of<T>(&s, dx.rows, dx.cols)) return;
    bool drawn = d.below && f != HD_relu;
    float scale = d.below && f == HD_relu ? d.scale : 1.0f;
    uint64_t key = drawn ? draw_key(d, s.row) : 0;
    LANE_STEPS(T, c, s)
    {
        float v[W], u[W];
        get<T>(v, dy, s.row, c);
        get<T>(u, kept, s.row, c);
        unary_slopes<W>(v, u, f);
        if (drawn) {
            masks<T>(u, d, key, (uint32_t)c);
            for (int i = 0; i < W; i++) v[i] *= u[i];
        }
        for (int i = 0; i < W; i++) v[i] *= scale;
        put_or_add<T>(dx, s.row, c, v, add);
    }
}

/* The lane's part of the rows from `from` on; sum gets what its columns add up to. f: of a constant the
   compiler makes a loop without branches. */
template <class T>
DEVICE void slope_rows(float *sum, const mat &dx, const mat &dy, const mat &kept, int f, const draw_of &d,
                       int c, int from, int till)
{
    const int W = step_of<T>::W;
    bool drawn = d.below && f != HD_relu;
    float scale = d.below && f == HD_relu ? d.scale : 1.0f;
#pragma unroll 4
    for (int r = from; r < till; r += WALK_WARPS) {
        float v[W], u[W];
        get<T>(v, dy, (size_t)r, c);
        get<T>(u, kept, (size_t)r, c);
        unary_slopes<W>(v, u, f);
        if (drawn) {
            masks<T>(u, d, draw_key(d, (uint32_t)r), (uint32_t)c);
            for (int i = 0; i < W; i++) v[i] *= u[i];
        }
        for (int i = 0; i < W; i++) v[i] *= scale, sum[i] += v[i];
        put<T>(dx, (size_t)r, c, v);
    }
}

/* The same as unary_back_kernel, and each block's sums of its columns: rows [chunk * each, + each) of 32
   steps of columns, warps take rows in turn. */
template <class T>
__global__ void unary_back_sums_kernel(float *part, mat dx, mat dy, mat kept, int f, draw_of d, int each)
{
    const int W = step_of<T>::W;
    __shared__ float room[WALK_WARPS][32 * W];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.x * 32 * W, c = first + lane * W;
    int from = blockIdx.y * each + warp, till = c < dx.cols ? min(dx.rows, blockIdx.y * each + each) : 0;
    float sum[W] = {};
    if (f == HD_gelu_tanh)
        slope_rows<T>(sum, dx, dy, kept, HD_gelu_tanh, d, c, from, till);
    else if (f == HD_gelu)
        slope_rows<T>(sum, dx, dy, kept, HD_gelu, d, c, from, till);
    else if (f == HD_relu)
        slope_rows<T>(sum, dx, dy, kept, HD_relu, d, c, from, till);
    else
        slope_rows<T>(sum, dx, dy, kept, f, d, c, from, till);
    for (int i = 0; i < W; i++) room[warp][lane * W + i] = sum[i];
    __syncthreads();
    for (int i = threadIdx.x; i < 32 * W && first + i < dx.cols; i += blockDim.x) {
        float all = 0;
        for (int w = 0; w < WALK_WARPS; w++) all += room[w][i];
        part[(size_t)blockIdx.y * dx.cols + first + i] = all;
    }
}

static hd_status back_with_sums(hd_cuda *c, const hd_unary_back_args *a, const hd_tensor *kept,
                                walk_kind kind)
{
    size_t n = hd_cols_of(a->dx);
    chunking k = chunking_of(c, kind, hd_rows_of(a->dx), n);
    float *part = (float *)hd_cuda_scratch(c, k.chunks * n * sizeof(float));
    if (!part) return HD_ENOMEM;
    WALK(kind, unary_back_sums_kernel, k.grid, WALK_THREADS, c->stream, part, mat_of(a->dx), mat_of(a->dy),
         mat_of(kept), (int)a->f, draw_make(&a->draw), (int)k.each);
    hd_cuda_add_parts(c, (float *)a->sums->data, NULL, part, (int)k.chunks, (int)n, (int)n);
    return hd_cuda_done(c, "unary_back");
}

extern "C" hd_status hd_cuda_unary_back(hd_backend *b, const hd_unary_back_args *a)
{
    hd_cuda *k = (hd_cuda *)b;
    if (!hd_count_of(a->dx)) return HD_OK;
    const hd_tensor *kept = a->f == HD_IDENTITY ? a->dy : a->kept, *all[] = {a->dx, a->dy, kept};
    walk_kind kind = walk_kind_of(all, 3);
    if (a->sums) return back_with_sums(k, a, kept, kind);
    WALK(kind, unary_back_kernel, walk_blocks(kind, a->dx), WALK_THREADS, k->stream, mat_of(a->dx),
         mat_of(a->dy), mat_of(kept), (int)a->f, a->add, draw_make(&a->draw));
    return hd_cuda_done(k, "unary_back");
}

template <class T> __global__ void gate_kernel(mat y, mat x, mat z, int f)
{
    const int W = step_of<T>::W;
    span s;
    if (!span_of<T>(&s, y.rows, y.cols)) return;
    LANE_STEPS(T, c, s)
    {
        float v[W], u[W];
        get<T>(v, x, s.row, c);
        get<T>(u, z, s.row, c);
        unary_values<W>(v, f);
        for (int i = 0; i < W; i++) v[i] *= u[i];
        put<T>(y, s.row, c, v);
    }
}

extern "C" hd_status hd_cuda_gate(hd_backend *b, const hd_gate_args *a)
{
    hd_cuda *k = (hd_cuda *)b;
    if (!hd_count_of(a->y)) return HD_OK;
    const hd_tensor *all[] = {a->y, a->x, a->z};
    walk_kind kind = walk_kind_of(all, 3);
    WALK(kind, gate_kernel, walk_blocks(kind, a->y), WALK_THREADS, k->stream, mat_of(a->y), mat_of(a->x),
         mat_of(a->z), (int)a->f);
    return hd_cuda_done(k, "gate");
}

/* Slopes are of the argument or of the value: keeps_x says which. */
template <class T>
__global__ void gate_back_kernel(mat dx, mat dz, mat dy, mat x, mat z, int f, bool keeps_x, bool add)
{
    const int W = step_of<T>::W;
    span s;
    if (!span_of<T>(&s, dx.rows, dx.cols)) return;
    LANE_STEPS(T, c, s)
    {
        float d[W], v[W], u[W], value[W];
        get<T>(d, dy, s.row, c);
        get<T>(v, x, s.row, c);
        get<T>(u, z, s.row, c);
        for (int i = 0; i < W; i++) value[i] = v[i];
        unary_values<W>(value, f);
        for (int i = 0; i < W; i++) {
            u[i] *= d[i], d[i] *= value[i];
            if (!keeps_x) v[i] = value[i];
        }
        unary_slopes<W>(u, v, f);
        put_or_add<T>(dx, s.row, c, u, add);
        put_or_add<T>(dz, s.row, c, d, add);
    }
}

extern "C" hd_status hd_cuda_gate_back(hd_backend *b, const hd_gate_back_args *a)
{
    hd_cuda *k = (hd_cuda *)b;
    if (!hd_count_of(a->dx)) return HD_OK;
    const hd_tensor *all[] = {a->dx, a->dz, a->dy, a->x, a->z};
    walk_kind kind = walk_kind_of(all, 5);
    WALK(kind, gate_back_kernel, walk_blocks(kind, a->dx), WALK_THREADS, k->stream, mat_of(a->dx),
         mat_of(a->dz), mat_of(a->dy), mat_of(a->x), mat_of(a->z), (int)a->f, hd_unary_keeps_x(a->f) != 0,
         a->add);
    return hd_cuda_done(k, "gate_back");
}

/* Without z, x is read in its place and not used: a load behind a branch would wait for the first one. */
template <class T> __global__ void mix_kernel(mat y, mat x, mat z, float p, float q, bool add, bool both)
{
    const int W = step_of<T>::W;
    span s;
    if (!span_of<T>(&s, y.rows, y.cols)) return;
    LANE_STEPS(T, c, s)
    {
        float v[W], u[W];
        get<T>(v, x, s.row, c);
        get<T>(u, z, s.row, c);
        for (int i = 0; i < W; i++) v[i] = both ? p * v[i] + q * u[i] : p * v[i];
        put_or_add<T>(y, s.row, c, v, add);
    }
}

/* z as a matrix of as many rows as there are: one row is met again and again */
static mat spread(const hd_tensor *z)
{
    mat m = mat_of(z);
    if (m.rows == 1) m.stride = 0;
    return m;
}

extern "C" hd_status hd_cuda_mix(hd_backend *b, const hd_mix_args *a)
{
    hd_cuda *k = (hd_cuda *)b;
    if (!hd_count_of(a->y)) return HD_OK;
    const hd_tensor *all[] = {a->y, a->x, a->z};
    walk_kind kind = walk_kind_of(all, 3);
    WALK(kind, mix_kernel, walk_blocks(kind, a->y), WALK_THREADS, k->stream, mat_of(a->y), mat_of(a->x),
         a->z ? spread(a->z) : mat_of(a->x), a->a, a->b, a->add, a->z != NULL);
    return hd_cuda_done(k, "mix");
}

template <class T> __global__ void mul_kernel(mat y, mat x, mat z, bool column, bool add)
{
    const int W = step_of<T>::W;
    span s;
    if (!span_of<T>(&s, y.rows, y.cols)) return;
    float by = column ? mat_get(z, s.row, 0) : 1;
    LANE_STEPS(T, c, s)
    {
        float v[W], u[W];
        get<T>(v, x, s.row, c);
        if (!column) get<T>(u, z, s.row, c);
        for (int i = 0; i < W; i++) v[i] *= column ? by : u[i];
        put_or_add<T>(y, s.row, c, v, add);
    }
}

extern "C" hd_status hd_cuda_mul(hd_backend *b, const hd_mul_args *a)
{
    hd_cuda *k = (hd_cuda *)b;
    if (!hd_count_of(a->y)) return HD_OK;
    bool column = hd_cols_of(a->z) == 1;
    const hd_tensor *all[] = {a->y, a->x, column ? NULL : a->z};
    walk_kind kind = walk_kind_of(all, 3);
    WALK(kind, mul_kernel, walk_blocks(kind, a->y), WALK_THREADS, k->stream, mat_of(a->y), mat_of(a->x),
         spread(a->z), column, a->add);
    return hd_cuda_done(k, "mul");
}

template <class T> __global__ void dropout_kernel(mat y, mat x, bool add, draw_of d)
{
    const int W = step_of<T>::W;
    span s;
    if (!span_of<T>(&s, y.rows, y.cols)) return;
    uint64_t key = d.below ? draw_key(d, s.row) : 0;
    LANE_STEPS(T, c, s)
    {
        float v[W], m[W];
        get<T>(v, x, s.row, c);
        if (d.below) {
            masks<T>(m, d, key, (uint32_t)c);
            for (int i = 0; i < W; i++) v[i] *= m[i];
        }
        put_or_add<T>(y, s.row, c, v, add);
    }
}

extern "C" hd_status hd_cuda_dropout(hd_backend *b, const hd_dropout_args *a)
{
    hd_cuda *k = (hd_cuda *)b;
    if (!hd_count_of(a->y)) return HD_OK;
    const hd_tensor *all[] = {a->y, a->x};
    walk_kind kind = walk_kind_of(all, 2);
    WALK(kind, dropout_kernel, walk_blocks(kind, a->y), WALK_THREADS, k->stream, mat_of(a->y), mat_of(a->x),
         a->add, draw_make(&a->draw));
    return hd_cuda_done(k, "dropout");
}

template <class T> __global__ void gumbel_kernel(mat y, mat x, draw_of d)
{
    const int W = step_of<T>::W;
    span s;
    if (!span_of<T>(&s, y.rows, y.cols)) return;
    uint64_t key = draw_key(d, s.row);
    LANE_STEPS(T, c, s)
    {
        float v[W];
        get<T>(v, x, s.row, c);
        for (int i = 0; i < W; i++) v[i] -= logf(-logf(hd_rng_between(key, (uint32_t)(c + i))));
        put<T>(y, s.row, c, v);
    }
}

extern "C" hd_status hd_cuda_gumbel(hd_backend *b, const hd_gumbel_args *a)
{
    hd_cuda *k = (hd_cuda *)b;
    if (!hd_count_of(a->y)) return HD_OK;
    const hd_tensor *all[] = {a->y, a->x};
    walk_kind kind = walk_kind_of(all, 2);
    WALK(kind, gumbel_kernel, walk_blocks(kind, a->y), WALK_THREADS, k->stream, mat_of(a->y), mat_of(a->x),
         draw_make(&a->draw));
    return hd_cuda_done(k, "gumbel");
}

/* The first `eights` runs of eight go together, what is left one by one. */
__global__ void cast_kernel(bf16 *to, const float *from, size_t eights, size_t count)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < eights) {
        float v[8];
        load8(v, from + 8 * i);
        store8(to + 8 * i, v);
    } else if (8 * eights + (i - eights) < count) {
        size_t at = 8 * eights + (i - eights);
        to[at] = __float2bfloat16(from[at]);
    }
}

extern "C" hd_status hd_cuda_cast(hd_backend *b, const hd_cast_args *a)
{
    hd_cuda *k = (hd_cuda *)b;
    if (!a->count) return HD_OK;
    bool aligned = (uintptr_t)a->shadow % 16 == 0 && (uintptr_t)a->value % 16 == 0;
    size_t eights = aligned ? a->count / 8 : 0, threads = eights + (a->count - 8 * eights);
    cast_kernel<<<hd_blocks(threads, 256), 256, 0, k->stream>>>((bf16 *)a->shadow, a->value, eights,
                                                                a->count);
    return hd_cuda_done(k, "cast");
}
