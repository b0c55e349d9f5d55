/* Recurrent cells over time: one launch a step, for as many steps as the longest item may have; blocks whose
   items are all done leave at once. A block makes the gates of TILE_ITEMS items and TILE_UNITS units from a
   product with w, then the cells. States go from one launch to the next in f32, through two buffers in turn:
   other blocks still read the one that a step began with. Numbers of items that are not at work may be
   anything; they are computed with, but stay in their own sums. */
#include "backend/cuda/function.h"

enum {
    TILE_ITEMS = 16,
    TILE_UNITS = 32,
    DEPTH = 32,
    THREADS = 256,
    EACH = TILE_ITEMS * TILE_UNITS / THREADS
};

typedef struct recur_of {
    mat y, kept, z, last, start;           /* forward; y, kept and start also back */
    mat dz, dn, before, dstart, dy, dlast; /* back */
    const void *w;                         /* float or bf16 */
    size_t w_stride;
    const float *bias;
    const int32_t *begin, *len;
    int items, width, act;
    bool reverse;
    float *state[2]; /* forward [items, width]: h; back [items, G * width]: gradients of w h + bias */
    float *beside;   /* back [items, width]: GRU's gradient of h that passes w by */
    float *cell;     /* [items, width]: c, back its gradient */
} recur_of;

/* The row of an item at a time that it lives to see. */
DEVICE size_t row_at(const recur_of &k, int item, int t)
{
    return (size_t)k.begin[item] + (k.reverse ? k.len[item] - 1 - t : t);
}

/* The latest of the tile's items has more than this many steps. */
DEVICE int longest_of(const recur_of &k, int first)
{
    int most = 0;
    for (int i = first; i < first + TILE_ITEMS && i < k.items; i++) most = max(most, k.len[i]);
    return most;
}

/* Column c of a state; 0 where it has none. */
DEVICE float state_get(const mat &m, int item, int c)
{
    return m.p && c < m.cols ? mat_get(m, item, c) : 0;
}

/* -- forward -- */

/* The first states; an item without rows ends with its start. */
static __global__ void start_kernel(recur_of k, bool lstm)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x, i = at / k.width, u = at - i * k.width;
    if (i >= (size_t)k.items) return;
    float h = state_get(k.start, (int)i, (int)u), c = lstm ? state_get(k.start, (int)i, k.width + (int)u) : 0;
    k.state[0][at] = h;
    if (lstm) k.cell[at] = c;
    if (!k.last.p || k.len[i] > 0) return;
    mat_put(k.last, i, u, h);
    if (lstm) mat_put(k.last, i, k.width + u, c);
}

/* sum[e][g] = row (item e of the thread) of h times row (gate g of its unit) of w. */
template <class T, int G>
DEVICE void multiply_gates(float (*sum)[G], const recur_of &k, const float *h, int item, int unit)
{
    __shared__ float from[TILE_ITEMS][DEPTH], weight[G][TILE_UNITS][DEPTH + 1];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const T *w = (const T *)k.w;
    for (int depth = 0; depth < k.width; depth += DEPTH) {
        bool inside = depth + lane < k.width;
        for (int i = warp; i < TILE_ITEMS; i += THREADS / 32)
            from[i][lane] = inside && item + i < k.items ? h[(size_t)(item + i) * k.width + depth + lane] : 0;
        for (int r = warp; r < G * TILE_UNITS; r += THREADS / 32) {
            int g = r / TILE_UNITS, u = r % TILE_UNITS;
            weight[g][u][lane] =
                inside && unit + u < k.width
                    ? to_float(w[((size_t)g * k.width + unit + u) * k.w_stride + depth + lane])
                    : 0;
        }
        __syncthreads();
#pragma unroll 8
        for (int d = 0; d < DEPTH; d++)
#pragma unroll
            for (int e = 0; e < EACH; e++)
#pragma unroll
                for (int g = 0; g < G; g++)
                    sum[e][g] += from[warp + e * (THREADS / 32)][d] * weight[g][lane][d];
        __syncthreads();
    }
}

/* One cell: a[g] = w h + bias, z what the input gives. Returns h, changes c, and fills what is kept. */
template <int G> DEVICE float cell_of(const float *a, const float *z, float h, float *c, float *kept, int act)
{
    if (G == 1) {
        float v = a[0] + z[0];
        unary_values<1>(&v, act);
        return v;
    }
    if (G == 3) {
        float r = hd_sigmoid(a[0] + z[0]), u = hd_sigmoid(a[1] + z[1]), n = tanhf(z[2] + r * a[2]);
        kept[0] = r, kept[1] = u, kept[2] = n, kept[3] = a[2];
        return n + u * (h - n);
    }
    float i = hd_sigmoid(a[0] + z[0]), f = hd_sigmoid(a[1] + z[1]), g = tanhf(a[2] + z[2]),
          o = hd_sigmoid(a[G - 1] + z[G - 1]);
    *c = f * *c + i * g;
    kept[0] = i, kept[1] = f, kept[2] = g, kept[3] = o, kept[4] = *c;
    return o * tanhf(*c);
}

template <class T, int G> static __global__ void __launch_bounds__(THREADS) forward_kernel(recur_of k, int t)
{
    const int KEPT = G == 1 ? 0 : G == 3 ? 4 : 5;
    int first = blockIdx.y * TILE_ITEMS, unit = blockIdx.x * TILE_UNITS;
    if (longest_of(k, first) <= t) return;
    float sum[EACH][G] = {};
    multiply_gates<T, G>(sum, k, k.state[t & 1], first, unit);
    int u = unit + threadIdx.x % 32;
    if (u >= k.width) return;
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        int i = first + threadIdx.x / 32 + e * (THREADS / 32);
        if (i >= k.items || k.len[i] <= t) continue;
        size_t row = row_at(k, i, t), at = (size_t)i * k.width + u;
        float z[G], kept[5], c = G == 4 ? k.cell[at] : 0;
#pragma unroll
        for (int g = 0; g < G; g++) {
            z[g] = mat_get(k.z, row, (size_t)g * k.width + u);
            if (k.bias) sum[e][g] += k.bias[(size_t)g * k.width + u];
        }
        float h = cell_of<G>(sum[e], z, k.state[t & 1][at], &c, kept, k.act);
        k.state[(t + 1) & 1][at] = h;
        if (G == 4) k.cell[at] = c;
        mat_put(k.y, row, u, h);
        if (k.kept.p)
#pragma unroll
            for (int j = 0; j < KEPT; j++) mat_put(k.kept, row, (size_t)j * k.width + u, kept[j]);
        if (!k.last.p || t + 1 < k.len[i]) continue;
        mat_put(k.last, i, u, h);
        if (G == 4) mat_put(k.last, i, k.width + u, c);
    }
}

/* -- back -- */

/* sum[e] = row (item e of the thread) of `flow` [items, G * width] times column (its unit) of w. */
template <class T, int G>
DEVICE void multiply_back(float *sum, const recur_of &k, const float *flow, int item, int unit)
{
    __shared__ float from[TILE_ITEMS][DEPTH], weight[DEPTH][TILE_UNITS];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, wide = G * k.width;
    const T *w = (const T *)k.w;
    for (int depth = 0; depth < wide; depth += DEPTH) {
        for (int i = warp; i < TILE_ITEMS; i += THREADS / 32)
            from[i][lane] = depth + lane < wide && item + i < k.items
                                ? flow[(size_t)(item + i) * wide + depth + lane]
                                : 0;
        for (int d = warp; d < DEPTH; d += THREADS / 32)
            weight[d][lane] = depth + d < wide && unit + lane < k.width
                                  ? to_float(w[(size_t)(depth + d) * k.w_stride + unit + lane])
                                  : 0;
        __syncthreads();
#pragma unroll 8
        for (int d = 0; d < DEPTH; d++)
#pragma unroll
            for (int e = 0; e < EACH; e++) sum[e] += from[warp + e * (THREADS / 32)][d] * weight[d][lane];
        __syncthreads();
    }
}

/* What one cell keeps of a row, the step before it, and the gradients of h and c that come in. */
typedef struct cell_back_of {
    float kept[5], h, before, c_before, dh, dc;
} cell_back_of;

/* dz[g], d = the gradient of w h + bias of the last gate, and what goes on to the step before: beside w in
   `beside`, of c in x.dc. */
template <int G> DEVICE void cell_back(cell_back_of &x, float *dz, float *d, float *beside, int act)
{
    const float *v = x.kept;
    *beside = 0;
    if (G == 1) {
        dz[0] = x.dh;
        unary_slopes<1>(dz, &x.h, act);
        *d = dz[0];
    } else if (G == 3) {
        float dn = x.dh * (1 - v[1]) * (1 - v[2] * v[2]);
        dz[0] = dn * v[3] * v[0] * (1 - v[0]);
        dz[1] = x.dh * (x.before - v[2]) * v[1] * (1 - v[1]);
        dz[2] = dn;
        *d = dn * v[0], *beside = x.dh * v[1];
    } else {
        float tanh_c = tanhf(v[4]), dc = x.dc + x.dh * v[3] * (1 - tanh_c * tanh_c);
        dz[0] = dc * v[2] * v[0] * (1 - v[0]);
        dz[1] = dc * x.c_before * v[1] * (1 - v[1]);
        dz[2] = dc * v[0] * (1 - v[2] * v[2]);
        dz[G - 1] = *d = x.dh * tanh_c * v[3] * (1 - v[3]);
        x.dc = dc * v[1];
    }
}

/* Item i, unit u at time t; from_later: the gradient of its h that came through w. */
template <int G> DEVICE void item_back(const recur_of &k, int i, int u, int t, float from_later)
{
    const int KEPT = G == 1 ? 0 : G == 3 ? 4 : 5;
    size_t row = row_at(k, i, t), at = (size_t)i * k.width + u;
    bool ends = t + 1 == k.len[i];
    cell_back_of x = {};
    x.dh = ends ? state_get(k.dlast, i, u) : from_later;
    if (G == 3 && !ends) x.dh += k.beside[at];
    if (G == 4) x.dc = ends ? state_get(k.dlast, i, k.width + u) : k.cell[at];
    if (k.dy.p) x.dh += mat_get(k.dy, row, u);
    size_t earlier = k.reverse ? row + 1 : row - 1; /* only where t > 0 */
    x.before = t ? mat_get(k.y, earlier, u) : state_get(k.start, i, u);
    if (G == 1) x.h = mat_get(k.y, row, u);
    if (G == 4)
        x.c_before =
            t ? mat_get(k.kept, earlier, (size_t)4 * k.width + u) : state_get(k.start, i, k.width + u);
#pragma unroll
    for (int j = 0; j < KEPT; j++) x.kept[j] = mat_get(k.kept, row, (size_t)j * k.width + u);
    float dz[G], d, beside;
    cell_back<G>(x, dz, &d, &beside, k.act);
    float *flow = k.state[t & 1] + (size_t)i * G * k.width;
#pragma unroll
    for (int g = 0; g < G; g++) {
        mat_put(k.dz, row, (size_t)g * k.width + u, dz[g]);
        flow[(size_t)g * k.width + u] = g == G - 1 ? d : dz[g];
    }
    if (G == 3) mat_put(k.dn, row, u, d), k.beside[at] = beside;
    if (G == 4) k.cell[at] = x.dc;
    if (k.before.p) mat_put(k.before, row, u, x.before);
}

/* Before the first step: what is left goes to the start. */
template <int G> DEVICE void item_start_back(const recur_of &k, int i, int u, float from_later)
{
    size_t at = (size_t)i * k.width + u;
    bool empty = k.len[i] <= 0;
    if (!k.dstart.p) return;
    float dh = empty ? state_get(k.dlast, i, u) : from_later + (G == 3 ? k.beside[at] : 0);
    mat_put_or_add(k.dstart, i, u, dh, true);
    if (G == 4 && k.dstart.cols > k.width)
        mat_put_or_add(k.dstart, i, k.width + u, empty ? state_get(k.dlast, i, k.width + u) : k.cell[at],
                       true);
}

/* t = -1 is the step to the start. */
template <class T, int G> static __global__ void __launch_bounds__(THREADS) back_kernel(recur_of k, int t)
{
    int first = blockIdx.y * TILE_ITEMS, unit = blockIdx.x * TILE_UNITS, longest = longest_of(k, first);
    if (longest <= t) return;
    float sum[EACH] = {};
    if (longest > t + 1) multiply_back<T, G>(sum, k, k.state[(t + 1) & 1], first, unit);
    int u = unit + threadIdx.x % 32;
    if (u >= k.width) return;
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        int i = first + threadIdx.x / 32 + e * (THREADS / 32);
        if (i >= k.items || k.len[i] <= t) continue;
        if (t < 0)
            item_start_back<G>(k, i, u, sum[e]);
        else
            item_back<G>(k, i, u, t, sum[e]);
    }
}

/* -- the kernels of the table -- */

#define LAUNCH_CELL(kernel, T, G) kernel<T, G><<<grid, THREADS, 0, c->stream>>>(k, t)
#define LAUNCH_STEP(kernel)                \
    do {                                   \
        if (gates == 1 && small)           \
            LAUNCH_CELL(kernel, bf16, 1);  \
        else if (gates == 1)               \
            LAUNCH_CELL(kernel, float, 1); \
        else if (gates == 3 && small)      \
            LAUNCH_CELL(kernel, bf16, 3);  \
        else if (gates == 3)               \
            LAUNCH_CELL(kernel, float, 3); \
        else if (small)                    \
            LAUNCH_CELL(kernel, bf16, 4);  \
        else                               \
            LAUNCH_CELL(kernel, float, 4); \
    } while (0)

/* What both ways share; scratch for states of `wide` columns and two more of the width. false: no memory. */
static bool recur_make(recur_of *k, hd_cuda *c, const hd_recurrence *re, size_t wide)
{
    size_t items = re->seg->items, width = hd_cols_of(re->w);
    size_t state = (items * wide * sizeof(float) + 255) / 256 * 256,
           one = (items * width * sizeof(float) + 255) / 256 * 256;
    char *room = (char *)hd_cuda_scratch(c, 2 * state + 2 * one);
    bool small = c->base.compute == HD_BF16 && re->w->prepared;
    k->w = small ? re->w->prepared : re->w->data, k->w_stride = re->w->stride;
    k->bias = re->bias ? (const float *)re->bias->data : NULL;
    k->start = mat_of(re->start);
    k->begin = re->seg->begin, k->len = re->seg->len;
    k->items = (int)items, k->width = (int)width, k->act = re->act, k->reverse = re->reverse;
    k->state[0] = (float *)room, k->state[1] = (float *)(room + state);
    k->beside = (float *)(room + 2 * state), k->cell = (float *)(room + 2 * state + one);
    return room != NULL;
}

extern "C" hd_status hd_cuda_recur(hd_backend *b, const hd_recur_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    size_t items = a->re.seg->items, width = hd_cols_of(a->re.w), gates = hd_cell_gates(a->re.cell);
    if (!items || !width) return HD_OK;
    recur_of k = {};
    k.y = mat_of(a->y), k.kept = mat_of(a->kept), k.z = mat_of(a->z), k.last = mat_of(a->last);
    if (!recur_make(&k, c, &a->re, width)) return HD_ENOMEM;
    bool small = k.w == a->re.w->prepared;
    start_kernel<<<hd_blocks(items * width, 256), 256, 0, c->stream>>>(k, gates == 4);
    dim3 grid(hd_blocks(width, TILE_UNITS), hd_blocks(items, TILE_ITEMS));
    for (int t = 0; t < (int)a->re.seg->longest; t++) LAUNCH_STEP(forward_kernel);
    return hd_cuda_done(c, "recur");
}

extern "C" hd_status hd_cuda_recur_back(hd_backend *b, const hd_recur_back_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    size_t items = a->re.seg->items, width = hd_cols_of(a->re.w), gates = hd_cell_gates(a->re.cell);
    if (!items || !width) return HD_OK;
    recur_of k = {};
    k.y = mat_of(a->y), k.kept = mat_of(a->kept), k.dz = mat_of(a->dz), k.dn = mat_of(a->dn);
    k.before = mat_of(a->before), k.dstart = mat_of(a->dstart), k.dy = mat_of(a->dy),
    k.dlast = mat_of(a->dlast);
    if (!recur_make(&k, c, &a->re, gates * width)) return HD_ENOMEM;
    bool small = k.w == a->re.w->prepared;
    dim3 grid(hd_blocks(width, TILE_UNITS), hd_blocks(items, TILE_ITEMS));
    for (int t = (int)a->re.seg->longest - 1; t >= (a->dstart ? -1 : 0); t--) LAUNCH_STEP(back_kernel);
    return hd_cuda_done(c, "recur_back");
}
