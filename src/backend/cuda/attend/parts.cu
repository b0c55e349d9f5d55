/* Single queries over many keys in parts: blocks take some keys each and leave a sum, its weight and the
   largest score; here the parts of a head become one, in a fixed order. How keys are shared out depends on
   their number, never on how they lie: keys in blocks give the same bits. */
#include "backend/cuda/attend/attend.h"

enum { GROUPS = 8, COLUMNS = 32 };

attend_parts hd_attend_parts(const hd_cuda *c, const attend_of *t, int units, int most, int least)
{
    attend_parts p = {};
    p.least = least;
    p.most = units > 0 ? 4 * c->processors / units : 1;
    p.most = p.most < 1 ? 1 : p.most > most ? most : p.most;
    int units_of_keys = (t->longest_k + least - 1) / least;
    p.count = units_of_keys < p.most ? units_of_keys : p.most;
    return p;
}

size_t hd_attend_parts_bytes(const attend_of *t, const attend_parts *p)
{
    return (size_t)t->items * t->heads * p->count * (t->dv + PART_MORE) * sizeof(float);
}

/* A block makes COLUMNS columns of a head: the first warp weighs the parts, groups of threads sum every
   GROUPS-th of them, and the sums of the groups are added in order. */
static __global__ void __launch_bounds__(GROUPS *COLUMNS)
    join(const __grid_constant__ attend_of t, const attend_parts parts, const mat y, const mat lse)
{
    __shared__ float weights[MOST_PARTS], sums[GROUPS][COLUMNS];
    place p = place_at(t, (int)(blockIdx.x / t.heads), (int)(blockIdx.x % t.heads));
    if (!p.tq) return;
    int low = first_key(t, p.tk - 1) / parts.least * parts.least, seen = max(0, p.tk - low);
    int keys = part_keys(parts, seen), count = (seen + keys - 1) / keys;
    int lane = threadIdx.x % COLUMNS, group = threadIdx.x / COLUMNS,
        column = (int)blockIdx.y * COLUMNS + lane;
    if (!group) {
        float top = -INFINITY, total = 0;
        for (int i = lane; i < count; i += 32) top = fmaxf(top, part_at(t, parts, p, i)[t.dv]);
        top = warp_max(top);
        for (int i = lane; i < count; i += 32) {
            const float *x = part_at(t, parts, p, i) + t.dv;
            weights[i] = x[0] == -INFINITY ? 0 : expf(x[0] - top);
            total += weights[i] * x[1];
        }
        total = warp_sum(total);
        float factor = total == 0 ? 0 : 1 / total;
        for (int i = lane; i < count; i += 32) weights[i] *= factor;
        if (lse.p && !blockIdx.y && !lane)
            mat_put(lse, p.qrow, p.head, total > 0 ? top + logf(total) : INFINITY);
    }
    __syncthreads();
    float sum = 0;
    if (column < t.dv)
#pragma unroll 8
        for (int i = group; i < count; i += GROUPS)
            sum = fmaf(weights[i], part_at(t, parts, p, i)[column], sum);
    sums[group][lane] = sum;
    __syncthreads();
    if (group || column >= t.dv) return;
    for (int i = 1; i < GROUPS; i++) sum += sums[i][lane];
    mat_put(y, p.qrow, (size_t)p.head * t.dv + column, sum);
}

void hd_attend_join(hd_cuda *c, const attend_of *t, const attend_parts *parts, const mat &y, const mat &lse)
{
    dim3 blocks((unsigned)(t->items * t->heads), hd_blocks((size_t)t->dv, COLUMNS));
    join<<<blocks, GROUPS * COLUMNS, 0, c->stream>>>(*t, *parts, y, lse);
}
