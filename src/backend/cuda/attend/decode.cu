/* Attention of single queries over many keys (a step of decoding): a block or a warp takes one head of one
   item, a few lanes share a key, and every such group walks over its own keys; the groups are merged at the
   end. Bound by latency: loads of several keys are under way before the first is used, the block of the next
   ones is known before, and a thread takes few enough registers for all warps to run at once. */
#include "backend/cuda/attend/attend.h"

enum { AHEAD = 2, MANY = 8, SOME = 4, SOLO = 4 };
enum { SHARES = 32, LEAST_KEYS = 512 };

/* Eight numbers as they lie: until they are used, bf16 takes half the registers. */
template <typename T> struct eight {
    uint4 raw[sizeof(T) / 2];
};
template <typename T> DEVICE void fetch8(eight<T> &e, const T *p)
{
#pragma unroll
    for (int i = 0; i < (int)sizeof(T) / 2; i++) e.raw[i] = ((const uint4 *)p)[i];
}

/* Which block key j lies in, read before it is known whether there is such a key; 0 where there is no table.
 */
DEVICE int block_of(const attend_of &t, const place &p, int j)
{
    return p.page && j / HD_PAGE_ROWS < t.pages ? p.page[j / HD_PAGE_ROWS] : 0;
}

/* LANES lanes to a key, eight columns each; WARPS warps to a head of an item. A warp takes some keys at a
   time, all of one block. MORE: with vectors of distances, of the same type, local blocks, a window or a cap.
 */
template <typename T, int LANES, int WARPS, bool MORE>
static __global__ void decode(const __grid_constant__ attend_of t, const mat y, const mat lse,
                              const attend_parts parts)
{
    __shared__ float room[WARPS][LANES][8], tops[WARPS], sums[WARPS];
    int lane = threadIdx.x % 32, warp = WARPS > 1 ? threadIdx.x / 32 : 0;
    size_t unit = WARPS > 1 ? blockIdx.x : (size_t)blockIdx.x * SOLO + threadIdx.x / 32;
    if (unit >= (size_t)t.items * t.heads) return; /* whole warps, and whole blocks where they meet later */
    place p = place_at(t, (int)(unit / t.heads), (int)(unit % t.heads));
    constexpr int each = 32 / LANES, some = each * AHEAD, step = WARPS * some;
    static_assert(HD_PAGE_ROWS % some == 0, "keys of one turn lie in one block");
    int low = MORE ? first_key(t, p.tk - 1) : 0, begin = low / step * step + warp * some, end = p.tk;
    if (WARPS > 1 && parts.to) {
        int lowest = low / parts.least * parts.least, keys = part_keys(parts, max(0, p.tk - lowest));
        lowest += (int)blockIdx.y * keys;
        if (lowest >= p.tk) return;
        begin = max(begin, lowest + warp * some), end = min(end, lowest + keys);
    }
    int part = lane % LANES, mine = lane / LANES, block = block_of(t, p, begin);
    if (!p.tq) return;
    bool has = part * 8 < t.d, has_value = part * 8 < t.dv;
    float q[8] = {}, acc[8] = {}, top = -INFINITY, sum = 0;
    if (has) load8(q, (const T *)t.q.p + p.qrow * t.q.stride + (size_t)p.head * t.d + part * 8);
    const T *k = (const T *)t.k.p + (size_t)p.group * t.d + part * 8;
    const T *v = (const T *)t.v.p + (size_t)p.group * t.dv + part * 8;
    for (int first = begin; first < end; first += step) { /* the same for the whole warp */
        eight<T> kx[AHEAD] = {}, vx[AHEAD] = {}, ex[AHEAD] = {};
        float s[AHEAD];
        unsigned row = mine + (p.page ? (unsigned)block * HD_PAGE_ROWS + first % HD_PAGE_ROWS
                                      : (unsigned)p.krow + first);
        const T *kp = k + row * t.k.stride, *vp = v + row * t.v.stride;
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            int j = first + i * each + mine;
            bool there = j < end && j >= low;
            if (MORE && t.distance.p && there && has)
                fetch8(ex[i], (const T *)t.distance.p + distance_at(t, p, 0, j) + part * 8);
            if (there && has) fetch8(kx[i], kp + i * each * t.k.stride);
            if (there && has_value) fetch8(vx[i], vp + i * each * t.v.stride);
        }
        block = block_of(t, p, first + step);
        float most = top;
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            float x[8];
            load8(x, (const T *)&kx[i]);
            if (MORE) {
                float e[8];
                load8(e, (const T *)&ex[i]);
#pragma unroll
                for (int c = 0; c < 8; c++) x[c] += e[c];
            }
            s[i] = 0;
#pragma unroll
            for (int c = 0; c < 8; c++) s[i] = fmaf(q[c], x[c], s[i]);
#pragma unroll
            for (int d = LANES / 2; d; d >>= 1) s[i] += __shfl_xor_sync(FULL_WARP, s[i], d);
            int j = first + i * each + mine;
            s[i] = j < end && j >= low ? s[i] * t.scale : -INFINITY;
            if (MORE && t.cap > 0 && s[i] != -INFINITY) s[i] = t.cap * tanhf(s[i] / t.cap);
            most = fmaxf(most, s[i]);
        }
        float less = most == -INFINITY ? 0 : most, shrink = expf(top - less);
        top = most, sum *= shrink;
#pragma unroll
        for (int c = 0; c < 8; c++) acc[c] *= shrink;
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            float w = expf(s[i] - less), x[8];
            load8(x, (const T *)&vx[i]);
            sum += w;
#pragma unroll
            for (int c = 0; c < 8; c++) acc[c] = fmaf(w, x[c], acc[c]);
        }
    }
    /* the groups of a warp, then the warps */
    float most = top;
#pragma unroll
    for (int d = LANES; d < 32; d <<= 1) most = fmaxf(most, __shfl_xor_sync(FULL_WARP, most, d));
    float shrink = top == -INFINITY ? 0 : expf(top - most);
    sum *= shrink;
#pragma unroll
    for (int c = 0; c < 8; c++) acc[c] *= shrink;
#pragma unroll
    for (int d = LANES; d < 32; d <<= 1) {
        sum += __shfl_xor_sync(FULL_WARP, sum, d);
#pragma unroll
        for (int c = 0; c < 8; c++) acc[c] += __shfl_xor_sync(FULL_WARP, acc[c], d);
    }
    T *to = (T *)y.p + p.qrow * y.stride + (size_t)p.head * t.dv;
    float all = most, total = sum;
    if (WARPS == 1) {
        float factor = total == 0 ? 0 : 1 / total;
#pragma unroll
        for (int c = 0; c < 8; c++) acc[c] *= factor;
        if (lane < LANES && has_value) store8(to + part * 8, acc);
        if (lse.p && !lane) mat_put(lse, p.qrow, p.head, total > 0 ? all + logf(total) : INFINITY);
        return;
    }
    if (lane < LANES) {
#pragma unroll
        for (int c = 0; c < 8; c++) room[warp][part][c] = acc[c];
        tops[warp] = most, sums[warp] = sum;
    }
    __syncthreads();
    all = -INFINITY, total = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) all = fmaxf(all, tops[w]);
    float share[WARPS];
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
        share[w] = tops[w] != -INFINITY ? expf(tops[w] - all) : 0;
        total += share[w] * sums[w];
    }
    float factor = total == 0 ? 0 : 1 / total, *leave = parts.to ? part_at(t, parts, p, blockIdx.y) : NULL;
    for (int c = threadIdx.x; c < t.dv; c += blockDim.x) {
        float out = 0;
#pragma unroll
        for (int w = 0; w < WARPS; w++) out = fmaf(share[w], room[w][c / 8][c % 8], out);
        if (leave)
            leave[c] = out;
        else
            set_float(to + c, out * factor);
    }
    if (leave) {
        if (!threadIdx.x) leave[t.dv] = all, leave[t.dv + 1] = total;
        return;
    }
    if (lse.p && !threadIdx.x) mat_put(lse, p.qrow, p.head, total > 0 ? all + logf(total) : INFINITY);
}

/* Few units want many warps each, for the latency, and many keys more blocks; many units want one warp each,
   so that all are under way at once. */
template <typename T, int LANES, bool MORE>
static bool launch_warps(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse, size_t room)
{
    unsigned units = (unsigned)(t->items * t->heads);
    attend_parts parts = hd_attend_parts(c, t, (int)units, SHARES, LEAST_KEYS);
    if (parts.count > 1 && units <= (unsigned)c->processors) { /* as many warps as without parts */
        char *scratch = (char *)hd_cuda_scratch(c, room + hd_attend_parts_bytes(t, &parts));
        if (!scratch) return false;
        parts.to = (float *)(scratch + room);
        decode<T, LANES, MANY, MORE>
            <<<dim3(units, (unsigned)parts.count), 32 * MANY, 0, c->stream>>>(*t, y, lse, parts);
        hd_attend_join(c, t, &parts, y, lse);
    } else if (units <= (unsigned)c->processors)
        decode<T, LANES, MANY, MORE><<<units, 32 * MANY, 0, c->stream>>>(*t, y, lse, parts);
    else if (units <= 8u * (unsigned)c->processors)
        decode<T, LANES, SOME, MORE><<<units, 32 * SOME, 0, c->stream>>>(*t, y, lse, parts);
    else
        decode<T, LANES, 1, MORE><<<hd_blocks(units, SOLO), 32 * SOLO, 0, c->stream>>>(*t, y, lse, parts);
    return true;
}

template <typename T, int LANES>
static bool launch_lanes(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse, size_t room)
{
    return hd_attend_far(t) || hd_attend_bent(t) ? launch_warps<T, LANES, true>(c, t, y, lse, room)
                                                 : launch_warps<T, LANES, false>(c, t, y, lse, room);
}

/* room: of the scratch, which others use. */
template <typename T>
static bool launch(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse, size_t room)
{
    int wide = t->d > t->dv ? t->d : t->dv;
    return wide <= 32    ? launch_lanes<T, 4>(c, t, y, lse, room)
           : wide <= 64  ? launch_lanes<T, 8>(c, t, y, lse, room)
           : wide <= 128 ? launch_lanes<T, 16>(c, t, y, lse, room)
                         : launch_lanes<T, 32>(c, t, y, lse, room);
}

bool hd_attend_decode(hd_cuda *c, const attend_of *t, const hd_attend_args *a)
{
    const hd_tensor *const all[] = {a->q, a->k, a->v, a->y};
    if (t->drops || t->d % 8 || t->dv % 8 || t->d > 256 || t->dv > 256) return false;
    for (int i = 0; i < 4; i++)
        if (all[i]->dtype != a->q->dtype || !by_eights(all[i])) return false;
    attend_of with = *t;
    if (a->q->dtype == HD_BF16) {
        size_t bytes = hd_attend_near_bytes(a->at);
        void *room = bytes ? hd_cuda_scratch(c, bytes) : NULL;
        if (bytes && !room) return false;
        hd_attend_narrow(c, &with, a->at, room);
        return launch<bf16>(c, &with, mat_of(a->y), mat_of(a->lse), bytes);
    }
    return by_eights(a->at->distance) && launch<float>(c, &with, mat_of(a->y), mat_of(a->lse), 0);
}
