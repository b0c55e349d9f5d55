/* Sorting by expert, stably and without waiting for the host: warps count the experts in chunks of
   assignments, a block for each expert sums over the chunks, and warps put the assignments of their chunk
   where they belong, those of one expert in the order of lanes. One chunk, as steps of decoding have it, is
   sorted by one warp at once. */
#include "backend/cuda/device.h"

enum { CHUNK = 256, WARPS = 4, SUMMING = 256 };

typedef struct sorting {
    const int32_t *ids;
    size_t ids_stride;
    int used, count, experts, chunks; /* count: assignments */
    int32_t *counts;                  /* [experts, chunks], then the totals of experts */
    int32_t *begin, *token, *place;
    float *load;
} sorting;

DEVICE int id_of(const sorting &k, int i)
{
    return i < k.count ? k.ids[(size_t)(i / k.used) * k.ids_stride + i % k.used] : -1;
}

/* A warp's own numbers of all experts are in shared memory. */
static __global__ void count_kernel(const __grid_constant__ sorting k)
{
    extern __shared__ int32_t room[];
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, chunk = (int)blockIdx.x * WARPS + warp;
    int32_t *own = room + warp * k.experts;
    if (chunk >= k.chunks) return;
    for (int e = lane; e < k.experts; e += 32) own[e] = 0;
    __syncwarp();
    for (int i = chunk * CHUNK + lane; i < (chunk + 1) * CHUNK; i += 32) {
        int id = id_of(k, i);
        if (id >= 0) atomicAdd(own + id, 1);
    }
    __syncwarp();
    for (int e = lane; e < k.experts; e += 32) k.counts[(size_t)e * k.chunks + chunk] = own[e];
}

/* counts become the sum of the chunks before; a block has an expert. */
static __global__ void sum_kernel(const __grid_constant__ sorting k)
{
    __shared__ int32_t part[SUMMING / 32];
    int e = (int)blockIdx.x, warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, before = 0;
    int32_t *row = k.counts + (size_t)e * k.chunks;
    for (int at = 0; at < k.chunks; at += SUMMING) {
        int i = at + (int)threadIdx.x, own = i < k.chunks ? row[i] : 0, sum = own;
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            int other = __shfl_up_sync(FULL_WARP, sum, d);
            if (lane >= d) sum += other;
        }
        if (lane == 31) part[warp] = sum;
        __syncthreads();
        int all = 0;
        for (int w = 0; w < SUMMING / 32; w++) {
            if (w < warp) sum += part[w];
            all += part[w];
        }
        if (i < k.chunks) row[i] = before + sum - own;
        before += all;
        __syncthreads();
    }
    if (threadIdx.x) return;
    k.counts[(size_t)k.experts * k.chunks + e] = before;
    if (k.load) k.load[e] += (float)before;
}

/* A warp puts the assignments of a chunk; next: where the first of each expert goes, `all`: those of all
   chunks that have an expert. */
DEVICE void put_chunk(const sorting &k, int chunk, int32_t *next, int all)
{
    int lane = (int)threadIdx.x % 32;
    for (int at = chunk * CHUNK; at < (chunk + 1) * CHUNK && at < k.count; at += 32) {
        int i = at + lane, id = id_of(k, i);
        unsigned alike = __match_any_sync(FULL_WARP, id), lower = alike & ((1u << lane) - 1);
        int to = id >= 0 ? next[id] + __popc(lower) : -1;
        __syncwarp();
        if (id >= 0 && !lower) next[id] += __popc(alike);
        __syncwarp();
        if (i >= k.count) continue;
        k.place[i] = to;
        if (to >= 0) k.token[to] = i / k.used;
        if (i >= all) k.token[i] = -1;
    }
}

static __global__ void sort_kernel(const __grid_constant__ sorting k)
{
    extern __shared__ int32_t room[];
    int lane = (int)threadIdx.x, before = 0;
    for (int e = lane; e < k.experts; e += 32) room[e] = 0;
    __syncwarp();
    for (int i = lane; i < k.count; i += 32) {
        int id = id_of(k, i);
        if (id >= 0) atomicAdd(room + id, 1);
    }
    __syncwarp();
    for (int at = 0; at < k.experts; at += 32) {
        int e = at + lane, own = e < k.experts ? room[e] : 0, sum = own;
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            int other = __shfl_up_sync(FULL_WARP, sum, d);
            if (lane >= d) sum += other;
        }
        if (e < k.experts) {
            room[e] = k.begin[e] = before + sum - own;
            if (k.load) k.load[e] += (float)own;
        }
        before += __shfl_sync(FULL_WARP, sum, 31);
    }
    if (!lane) k.begin[k.experts] = before;
    __syncwarp();
    put_chunk(k, 0, room, before);
}

static __global__ void place_kernel(const __grid_constant__ sorting k)
{
    extern __shared__ int32_t room[];
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, chunk = (int)blockIdx.x * WARPS + warp;
    const int32_t *total = k.counts + (size_t)k.experts * k.chunks;
    int32_t *next = room + warp * k.experts;
    if (chunk >= k.chunks) return;
    int before = 0;
    for (int at = 0; at < k.experts; at += 32) { /* where each expert begins, and this chunk's rows of it */
        int e = at + lane, own = e < k.experts ? total[e] : 0, sum = own;
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            int other = __shfl_up_sync(FULL_WARP, sum, d);
            if (lane >= d) sum += other;
        }
        if (e < k.experts) {
            next[e] = before + sum - own + k.counts[(size_t)e * k.chunks + chunk];
            if (!chunk) k.begin[e] = before + sum - own;
        }
        before += __shfl_sync(FULL_WARP, sum, 31);
    }
    if (!chunk && !lane) k.begin[k.experts] = before;
    __syncwarp();
    put_chunk(k, chunk, next, before);
}

extern "C" hd_status hd_cuda_dispatch(hd_backend *b, const hd_dispatch_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    sorting k = {};
    k.ids = (const int32_t *)a->ids->data, k.ids_stride = a->ids->stride;
    k.used = (int)hd_cols_of(a->ids), k.count = (int)hd_count_of(a->ids), k.experts = (int)a->experts;
    k.chunks = (int)hd_blocks(k.count, CHUNK);
    if (!k.chunks) k.chunks = 1;
    k.begin = a->begin, k.token = a->token, k.place = a->place;
    k.load = a->load ? (float *)a->load->data : NULL;
    if (k.chunks == 1) {
        sort_kernel<<<1, 32, (size_t)k.experts * sizeof(int32_t), c->stream>>>(k);
        return hd_cuda_done(c, "dispatch");
    }
    k.counts = (int32_t *)hd_cuda_scratch(c, (size_t)(k.chunks + 1) * k.experts * sizeof(int32_t));
    if (!k.counts) return HD_ENOMEM;
    size_t room = (size_t)WARPS * k.experts * sizeof(int32_t);
    unsigned blocks = hd_blocks(k.chunks, WARPS);
    count_kernel<<<blocks, 32 * WARPS, room, c->stream>>>(k);
    sum_kernel<<<k.experts, SUMMING, 0, c->stream>>>(k);
    place_kernel<<<blocks, 32 * WARPS, room, c->stream>>>(k);
    return hd_cuda_done(c, "dispatch");
}
