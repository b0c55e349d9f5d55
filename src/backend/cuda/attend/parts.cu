/* Single queries over many keys in parts: blocks take some keys each and leave a sum, its weight and the
   largest score; here the parts of a head become one, in a fixed order. How keys are shared out depends on
   their number, never on how they lie: keys in blocks give the same bits. */
#include "backend/cuda/attend/attend.h"

enum { THREADS = 128 };

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

static __global__ void join(const __grid_constant__ attend_of t, const attend_parts parts, const mat y,
                            const mat lse)
{
    place p = place_at(t, (int)(blockIdx.x / t.heads), (int)(blockIdx.x % t.heads));
    if (!p.tq) return;
    int low = first_key(t, p.tk - 1) / parts.least * parts.least, seen = max(0, p.tk - low);
    int keys = part_keys(parts, seen), count = (seen + keys - 1) / keys;
    float top = -INFINITY, total = 0;
    for (int i = 0; i < count; i++) top = fmaxf(top, part_at(t, parts, p, i)[t.dv]);
    for (int i = 0; i < count; i++) {
        const float *x = part_at(t, parts, p, i) + t.dv;
        total += x[0] == -INFINITY ? 0 : expf(x[0] - top) * x[1];
    }
    float factor = total == 0 ? 0 : 1 / total;
    for (int c = threadIdx.x; c < t.dv; c += THREADS) {
        float sum = 0;
#pragma unroll 8
        for (int i = 0; i < count; i++) {
            const float *x = part_at(t, parts, p, i);
            sum = fmaf(x[t.dv] == -INFINITY ? 0 : expf(x[t.dv] - top), x[c], sum);
        }
        mat_put(y, p.qrow, (size_t)p.head * t.dv + c, sum * factor);
    }
    if (lse.p && !threadIdx.x) mat_put(lse, p.qrow, p.head, total > 0 ? top + logf(total) : INFINITY);
}

void hd_attend_join(hd_cuda *c, const attend_of *t, const attend_parts *parts, const mat &y, const mat &lse)
{
    join<<<(unsigned)(t->items * t->heads), THREADS, 0, c->stream>>>(*t, *parts, y, lse);
}
