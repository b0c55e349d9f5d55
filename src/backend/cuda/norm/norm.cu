/* Layer norm and RMS norm, with the residual add and its dropout in the same pass: a warp holds a row of up
   to 1024 columns in registers, a block one of up to 8192, so every tensor is read and written once. What is
   normed is the sum as it is stored (rounded to bf16), because the way back starts from that. */
#include "backend/cuda/walk.h"

enum { NORM_WARPS = 8, BACK_WARPS = 4, WIDEST = 1024, WIDEST_NORM = NORM_WARPS * WIDEST };

typedef struct norm_of {
    mat y, sum, stat, x, branch;
    const float *gain, *bias;
    float eps;
    bool rms;
    float one; /* added to the gain */
    draw_of draw;
} norm_of;

DEVICE float inverse_sd(float squares, int n, float eps)
{
    return 1.0f / sqrtf(squares / (float)n + eps);
}

/* N: runs of eight that a thread holds; TEAM: threads of a row, a warp or the block */
template <class T, int N, int TEAM> __global__ void __launch_bounds__(32 * NORM_WARPS) norm_kernel(norm_of k)
{
    __shared__ float room[32];
    auto team_sum = [&](float x) { return TEAM > 32 ? block_sum(x, room) : warp_sum(x); };
    int lane = threadIdx.x % TEAM, n = k.x.cols;
    size_t r = (size_t)blockIdx.x * (32 * NORM_WARPS / TEAM) + threadIdx.x / TEAM;
    if (r >= (size_t)k.x.rows) return; /* all of a team */
    raw8<T> x[N], branch[N];
    float v[N][8], sum = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < N; i++)
        if ((i * TEAM + lane) * 8 < n) load_raw<T>(&x[i], k.x, r, (i * TEAM + lane) * 8);
    if (k.branch.p) {
#pragma unroll
        for (int i = 0; i < N; i++)
            if ((i * TEAM + lane) * 8 < n) load_raw<T>(&branch[i], k.branch, r, (i * TEAM + lane) * 8);
    }
    uint64_t key = k.branch.p && k.draw.below ? draw_key(k.draw, (uint32_t)r) : 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        int c = (i * TEAM + lane) * 8;
        if (c >= n) continue;
        load8(v[i], (const T *)&x[i]);
        if (k.branch.p) {
            float u[8], m[8];
            load8(u, (const T *)&branch[i]);
            if (k.draw.below) {
                draw_mask8(m, k.draw, key, (uint32_t)c);
#pragma unroll
                for (int j = 0; j < 8; j++) u[j] *= m[j];
            }
#pragma unroll
            for (int j = 0; j < 8; j++) v[i][j] += u[j];
            store8((T *)&x[i], v[i]);
            load8(v[i], (const T *)&x[i]);
            if (k.sum.p) store8((T *)k.sum.p + r * k.sum.stride + c, v[i]);
        }
#pragma unroll
        for (int j = 0; j < 8; j++) sum += v[i][j];
    }
    float mean = k.rms ? 0 : team_sum(sum) / (float)n;
#pragma unroll
    for (int i = 0; i < N; i++)
        if ((i * TEAM + lane) * 8 < n) {
#pragma unroll
            for (int j = 0; j < 8; j++) squares += (v[i][j] - mean) * (v[i][j] - mean);
        }
    float scale = inverse_sd(team_sum(squares), n, k.eps);
#pragma unroll
    for (int i = 0; i < N; i++) {
        int c = (i * TEAM + lane) * 8;
        if (c >= n) continue;
        float w[8];
#pragma unroll
        for (int j = 0; j < 8; j++) v[i][j] = (v[i][j] - mean) * scale;
        if (k.gain) {
            load8(w, k.gain + c);
#pragma unroll
            for (int j = 0; j < 8; j++) v[i][j] *= w[j] + k.one;
        }
        if (k.bias) {
            load8(w, k.bias + c);
#pragma unroll
            for (int j = 0; j < 8; j++) v[i][j] += w[j];
        }
        store8((T *)k.y.p + r * k.y.stride + c, v[i]);
    }
    if (k.stat.p && !lane) mat_put(k.stat, r, 0, mean), mat_put(k.stat, r, 1, scale);
}

/* Any width and type: a block to a row, which it goes through three times. */
DEVICE float summed(const norm_of &k, size_t r, int c, uint64_t key)
{
    float v = mat_get(k.x, r, c);
    if (!k.branch.p) return v;
    v += mat_get(k.branch, r, c) * (k.draw.below ? draw_mask(k.draw, key, (uint32_t)c) : 1.0f);
    return k.x.small ? __bfloat162float(__float2bfloat16(v)) : v;
}

static __global__ void norm_wide_kernel(norm_of k)
{
    __shared__ float room[32];
    size_t r = blockIdx.x;
    int n = k.x.cols;
    float mean = 0, squares = 0;
    uint64_t key = k.branch.p && k.draw.below ? draw_key(k.draw, (uint32_t)r) : 0;
    if (!k.rms) {
        for (int c = threadIdx.x; c < n; c += blockDim.x) mean += summed(k, r, c, key);
        mean = block_sum(mean, room) / (float)n;
    }
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        float v = summed(k, r, c, key) - mean;
        squares += v * v;
    }
    float scale = inverse_sd(block_sum(squares, room), n, k.eps);
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        float s = summed(k, r, c, key), v = (s - mean) * scale;
        if (k.branch.p && k.sum.p) mat_put(k.sum, r, c, s);
        if (k.gain) v *= k.gain[c] + k.one;
        if (k.bias) v += k.bias[c];
        mat_put(k.y, r, c, v);
    }
    if (k.stat.p && !threadIdx.x) mat_put(k.stat, r, 0, mean), mat_put(k.stat, r, 1, scale);
}

static const float *floats(const hd_tensor *t)
{
    return t ? (const float *)t->data : NULL;
}

template <class T> static void norm_launch(hd_cuda *c, const norm_of *k)
{
    unsigned blocks = hd_blocks((size_t)k->x.rows, NORM_WARPS), rows = (unsigned)k->x.rows;
    const unsigned threads = 32 * NORM_WARPS;
    if (k->x.cols <= 256)
        norm_kernel<T, 1, 32><<<blocks, threads, 0, c->stream>>>(*k);
    else if (k->x.cols <= 512)
        norm_kernel<T, 2, 32><<<blocks, threads, 0, c->stream>>>(*k);
    else if (k->x.cols <= WIDEST)
        norm_kernel<T, 4, 32><<<blocks, threads, 0, c->stream>>>(*k);
    else if (k->x.cols <= 2 * WIDEST)
        norm_kernel<T, 1, threads><<<rows, threads, 0, c->stream>>>(*k);
    else
        norm_kernel<T, 4, threads><<<rows, threads, 0, c->stream>>>(*k);
}

extern "C" hd_status hd_cuda_norm(hd_backend *b, const hd_norm_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    if (!hd_count_of(a->x)) return HD_OK;
    const hd_tensor *all[] = {a->y, a->sum, a->x, a->branch};
    walk_kind kind = walk_kind_of(all, 4);
    if (hd_cols_of(a->x) > WIDEST_NORM || !by_eights(a->gain) || !by_eights(a->bias)) kind = WALK_ANY;
    norm_of k = {
        mat_of(a->y),       mat_of(a->sum),  mat_of(a->stat), mat_of(a->x), mat_of(a->branch),
        floats(a->gain),    floats(a->bias), a->eps,          a->rms,       a->from_one ? 1.0f : 0.0f,
        draw_make(&a->draw)};
    if (kind == WALK_BF16)
        norm_launch<bf16>(c, &k);
    else if (kind == WALK_F32)
        norm_launch<float>(c, &k);
    else
        norm_wide_kernel<<<(unsigned)k.x.rows, 256, 0, c->stream>>>(k);
    return hd_cuda_done(c, "norm");
}

typedef struct back_of {
    mat dx, dbranch, dy, dsum, sum, stat;
    const float *gain;
    float *part; /* [blocks, 2, cols]: each block's share of dgain and dbias; NULL: nobody asks */
    bool rms, add_x, add_branch;
    float one; /* added to the gain */
    draw_of draw;
} back_of;

/* Lays the warps' sums of gain and bias together, one warp after the other, and hands them out. */
template <int N> DEVICE void hand_out(float *part, float (*dgain)[8], float (*dbias)[8], int n)
{
    __shared__ float room[2][N * 256];
    int lane = threadIdx.x % 32;
    for (int warp = 0; warp < BACK_WARPS; warp++) {
        if ((int)threadIdx.x / 32 == warp) {
#pragma unroll
            for (int i = 0; i < N; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    int c = (i * 32 + lane) * 8 + j;
                    room[0][c] = dgain[i][j] + (warp ? room[0][c] : 0);
                    room[1][c] = dbias[i][j] + (warp ? room[1][c] : 0);
                }
        }
        __syncthreads();
    }
    part += (size_t)blockIdx.x * 2 * n;
    for (int c = threadIdx.x; c < n; c += blockDim.x) part[c] = room[0][c], part[n + c] = room[1][c];
}

/* A block walks over rows, so that the sums down the columns stay in registers until its end. */
template <class T, int N>
__global__ void __launch_bounds__(32 * BACK_WARPS, N * sizeof(T) <= 6 ? 4 : 2) norm_back_kernel(back_of k)
{
    int lane = threadIdx.x % 32, n = k.sum.cols;
    float dgain[N][8] = {}, dbias[N][8] = {};
    for (size_t r = (size_t)blockIdx.x * BACK_WARPS + threadIdx.x / 32; r < (size_t)k.sum.rows;
         r += (size_t)gridDim.x * BACK_WARPS) {
        raw8<T> dy[N], x[N], more[N];
#pragma unroll
        for (int i = 0; i < N; i++) {
            int c = (i * 32 + lane) * 8;
            if (c >= n) continue;
            load_raw<T>(&dy[i], k.dy, r, c);
            load_raw<T>(&x[i], k.sum, r, c);
        }
        if (k.dsum.p) {
#pragma unroll
            for (int i = 0; i < N; i++)
                if ((i * 32 + lane) * 8 < n) load_raw<T>(&more[i], k.dsum, r, (i * 32 + lane) * 8);
        }
        float mean = mat_get(k.stat, r, 0), scale = mat_get(k.stat, r, 1), m1 = 0, m2 = 0;
        uint64_t key = k.dbranch.p && k.draw.below ? draw_key(k.draw, (uint32_t)r) : 0;
#pragma unroll
        for (int i = 0; i < N; i++) {
            int c = (i * 32 + lane) * 8;
            if (c >= n) continue;
            float g[8], h[8], w[8];
            load8(g, (const T *)&dy[i]);
            load8(h, (const T *)&x[i]);
            if (k.gain) load8(w, k.gain + c);
#pragma unroll
            for (int j = 0; j < 8; j++) {
                h[j] = (h[j] - mean) * scale;
                dgain[i][j] += g[j] * h[j];
                dbias[i][j] += g[j];
                if (k.gain) g[j] *= w[j] + k.one;
                m1 += g[j], m2 += g[j] * h[j];
            }
        }
        m1 = k.rms ? 0 : warp_sum(m1) / (float)n;
        m2 = warp_sum(m2) / (float)n;
#pragma unroll
        for (int i = 0; i < N; i++) {
            int c = (i * 32 + lane) * 8;
            if (c >= n) continue;
            float g[8], h[8], w[8], d[8];
            load8(g, (const T *)&dy[i]);
            load8(h, (const T *)&x[i]);
            if (k.gain) load8(w, k.gain + c);
#pragma unroll
            for (int j = 0; j < 8; j++)
                d[j] = ((k.gain ? g[j] * (w[j] + k.one) : g[j]) - m1 - (h[j] - mean) * scale * m2) * scale;
            if (k.dsum.p) {
                load8(g, (const T *)&more[i]);
#pragma unroll
                for (int j = 0; j < 8; j++) d[j] += g[j];
            }
            if (k.dx.p) {
#pragma unroll
                for (int j = 0; j < 8; j++) h[j] = d[j];
                put_or_add<T>(k.dx, r, c, h, k.add_x);
            }
            if (k.dbranch.p) { /* after dx: the two may be the same */
                if (k.draw.below) {
                    draw_mask8(w, k.draw, key, (uint32_t)c);
#pragma unroll
                    for (int j = 0; j < 8; j++) d[j] *= w[j];
                }
                put_or_add<T>(k.dbranch, r, c, d, k.add_branch);
            }
        }
    }
    if (k.part) hand_out<N>(k.part, dgain, dbias, n);
}

/* Any width and type. A thread meets the same columns in every row, so it can add up in `part` itself. */
static __global__ void norm_back_wide_kernel(back_of k)
{
    __shared__ float room[32];
    int n = k.sum.cols;
    float *part = k.part ? k.part + (size_t)blockIdx.x * 2 * n : NULL;
    for (size_t r = blockIdx.x; r < (size_t)k.sum.rows; r += gridDim.x) {
        bool first = r == blockIdx.x;
        float mean = mat_get(k.stat, r, 0), scale = mat_get(k.stat, r, 1), m1 = 0, m2 = 0;
        uint64_t key = k.dbranch.p && k.draw.below ? draw_key(k.draw, (uint32_t)r) : 0;
        for (int c = threadIdx.x; c < n; c += blockDim.x) {
            float g = mat_get(k.dy, r, c), h = (mat_get(k.sum, r, c) - mean) * scale;
            if (part) {
                part[c] = g * h + (first ? 0 : part[c]);
                part[n + c] = g + (first ? 0 : part[n + c]);
            }
            if (k.gain) g *= k.gain[c] + k.one;
            m1 += g, m2 += g * h;
        }
        m1 = block_sum(m1, room) / (float)n, m2 = block_sum(m2, room) / (float)n;
        if (k.rms) m1 = 0;
        for (int c = threadIdx.x; c < n; c += blockDim.x) {
            float g = mat_get(k.dy, r, c), h = (mat_get(k.sum, r, c) - mean) * scale;
            if (k.gain) g *= k.gain[c] + k.one;
            float d = (g - m1 - h * m2) * scale + (k.dsum.p ? mat_get(k.dsum, r, c) : 0);
            if (k.dx.p) mat_put_or_add(k.dx, r, c, d, k.add_x);
            if (!k.dbranch.p) continue;
            if (k.draw.below) d *= draw_mask(k.draw, key, (uint32_t)c);
            mat_put_or_add(k.dbranch, r, c, d, k.add_branch);
        }
    }
}

template <class T> static void back_launch(hd_cuda *c, const back_of *k, unsigned blocks)
{
    unsigned threads = 32 * BACK_WARPS;
    if (k->sum.cols <= 256)
        norm_back_kernel<T, 1><<<blocks, threads, 0, c->stream>>>(*k);
    else if (k->sum.cols <= 512)
        norm_back_kernel<T, 2><<<blocks, threads, 0, c->stream>>>(*k);
    else if (k->sum.cols <= 768)
        norm_back_kernel<T, 3><<<blocks, threads, 0, c->stream>>>(*k);
    else
        norm_back_kernel<T, 4><<<blocks, threads, 0, c->stream>>>(*k);
}

extern "C" hd_status hd_cuda_norm_back(hd_backend *b, const hd_norm_back_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    size_t n = hd_cols_of(a->sum), rows = hd_rows_of(a->sum);
    if (!n || !rows) return HD_OK;
    const hd_tensor *all[] = {a->dx, a->dbranch, a->dy, a->dsum, a->sum};
    walk_kind kind = walk_kind_of(all, 5);
    if (n > WIDEST || !by_eights(a->gain)) kind = WALK_ANY;
    size_t per_block = kind == WALK_ANY ? 1 : BACK_WARPS, need = (rows + per_block - 1) / per_block;
    size_t narrow = kind == WALK_BF16 ? 768 : 512;
    size_t at_once = kind == WALK_ANY || n <= narrow ? 4 : kind == WALK_BF16 ? 3 : 2; /* by the registers */
    size_t most = (size_t)c->processors * at_once;
    unsigned blocks = (unsigned)(need < most ? need : most);
    back_of k = {mat_of(a->dx),
                 mat_of(a->dbranch),
                 mat_of(a->dy),
                 mat_of(a->dsum),
                 mat_of(a->sum),
                 mat_of(a->stat),
                 floats(a->gain),
                 NULL,
                 a->rms,
                 a->add_x,
                 a->add_branch,
                 a->from_one ? 1.0f : 0.0f,
                 draw_make(&a->draw)};
    if (a->dgain || a->dbias) {
        k.part = (float *)hd_cuda_scratch(c, blocks * 2 * n * sizeof(float));
        if (!k.part) return HD_ENOMEM;
    }
    if (kind == WALK_BF16)
        back_launch<bf16>(c, &k, blocks);
    else if (kind == WALK_F32)
        back_launch<float>(c, &k, blocks);
    else
        norm_back_wide_kernel<<<blocks, 256, 0, c->stream>>>(k);
    if (k.part)
        hd_cuda_add_parts(c, a->dgain ? (float *)a->dgain->data : NULL,
                          a->dbias ? (float *)a->dbias->data : NULL, k.part, (int)blocks, (int)n,
                          (int)(2 * n));
    return hd_cuda_done(c, "norm_back");
}
