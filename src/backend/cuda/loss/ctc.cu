/* CTC: one block an item walks its frames, a thread to every so-manieth state, all in logarithms; each frame
   is kept less its largest. What the states of a frame add to the columns of x is summed by one thread a
   column, from state to state with the same label, so that no order is left to chance. */
#include "backend/cuda/walk.h"

enum { PAD = 2, MOST_SHARED = 40 << 10, MOST_THREADS = 256 };

typedef struct align_of {
    mat x, forward, lse, weight, loss, logp, dx;
    const int32_t *begin, *len, *item, *label, *label_begin, *label_len;
    int blank, items, states; /* states: at most, of an item */
    float coef;
    float *room;   /* scratch of the blocks where shared memory does not hold it; NULL: it does */
    int32_t *next; /* [items, states]: the next state with the same label, or -1 */
    int32_t *head; /* [items, cols]: the first state of a column; -1: none, -2: the item is left out */
} align_of;

static align_of align_make(const hd_alignment *of)
{
    align_of k = {};
    k.x = mat_of(of->x), k.forward = mat_of(of->forward), k.lse = mat_of(of->lse);
    k.weight = mat_of(of->weight);
    k.begin = of->seg->begin, k.len = of->seg->len, k.item = of->seg->item;
    k.label = of->label, k.label_begin = of->labels->begin, k.label_len = of->labels->len;
    k.blank = of->blank, k.items = (int)of->seg->items, k.states = 2 * (int)of->labels->longest + 1;
    return k;
}

/* What a block holds of its item. */
typedef struct item_of {
    const int32_t *label;
    int first, frames, labels, states;
    float *row[2], *skip; /* as on the cpu; skip is one state ahead of the rows' margins */
    int *column;
} item_of;

static size_t room_bytes(const align_of &k)
{
    return (size_t)4 * (k.states + 2 * PAD) * sizeof(float);
}

DEVICE item_of item_make(const align_of &k, float *shared)
{
    int i = blockIdx.x, each = k.states + 2 * PAD;
    float *at = k.room ? k.room + (size_t)i * 4 * each : shared;
    item_of t;
    t.label = k.label + k.label_begin[i];
    t.first = k.begin[i], t.frames = k.len[i], t.labels = k.label_len[i], t.states = 2 * t.labels + 1;
    t.row[0] = at + PAD, t.row[1] = at + each + PAD, t.skip = at + 2 * each,
    t.column = (int *)(at + 3 * each);
    return t;
}

/* Whether the labels fit the frames, for all threads of a block. */
DEVICE bool item_fits(const align_of &k, const item_of &t, float *sums)
{
    int bad = 0;
    float repeats = 0;
    for (int u = threadIdx.x; u < t.labels; u += blockDim.x) {
        int c = t.label[u];
        bad |= c < 0 || c >= k.x.cols || c == k.blank;
        repeats += u && c == t.label[u - 1];
    }
    repeats = block_sum(repeats, sums);
    return !__syncthreads_or(bad) && t.labels + (int)repeats <= t.frames;
}

DEVICE void lay_states(const align_of &k, const item_of &t)
{
    for (int s = threadIdx.x; s < t.states + 2 * PAD; s += blockDim.x) {
        t.row[0][s - PAD] = t.row[1][s - PAD] = HD_CTC_NONE;
        if (s >= t.states + PAD) continue;
        bool label = s < t.states && s % 2;
        bool may = s == t.states || (label && (s == 1 || t.label[s / 2] != t.label[s / 2 - 1]));
        t.skip[s] = may ? 0 : HD_CTC_NONE;
        if (s < t.states) t.column[s] = label ? t.label[s / 2] : k.blank;
    }
    __syncthreads();
}

DEVICE float sum_of_logs(float a, float b, float c)
{
    float m = fmaxf(fmaxf(a, b), c);
    return m + logf(expf(a - m) + expf(b - m) + expf(c - m));
}

static __global__ void lse_kernel(align_of k)
{
    size_t r = (size_t)blockIdx.x * WALK_WARPS + threadIdx.x / 32;
    if (r >= (size_t)k.x.rows || k.item[r] < 0) return;
    int lane = threadIdx.x % 32;
    float max = -INFINITY, sum = 0;
    for (int c = lane; c < k.x.cols; c += 32) max = fmaxf(max, mat_get(k.x, r, c));
    max = warp_max(max);
    for (int c = lane; c < k.x.cols; c += 32) sum += expf(mat_get(k.x, r, c) - max);
    sum = warp_sum(sum);
    if (!lane) mat_put(k.lse, r, 0, max + logf(sum));
}

static __global__ void forward_kernel(align_of k)
{
    extern __shared__ float shared[];
    __shared__ float sums[32];
    item_of t = item_make(k, shared);
    size_t i = blockIdx.x;
    bool fits = item_fits(k, t, sums);
    double sum = 0, weight = k.weight.p ? (double)mat_get(k.weight, i, 0) : 1;
    if (fits) lay_states(k, t);
    if (fits && !threadIdx.x) t.row[0][-1] = 0; /* every path begins before the first state */
    __syncthreads();
    for (int f = 0; fits && f < t.frames; f++) {
        size_t r = (size_t)t.first + f;
        const float *before = t.row[f % 2];
        float *now = t.row[(f + 1) % 2], lse = mat_get(k.lse, r, 0), most = -INFINITY;
        int low = (int)hd_ctc_low(f, t.frames, t.states), high = (int)hd_ctc_high(f, t.states);
        for (int s = threadIdx.x; s < high; s += blockDim.x) {
            float v = HD_CTC_NONE;
            if (s >= low) {
                v = sum_of_logs(before[s], before[s - 1], before[s - 2] + t.skip[s]);
                v += mat_get(k.x, r, t.column[s]) - lse;
                most = fmaxf(most, v);
            }
            now[s] = v;
        }
        most = block_max(most, sums);
        sum += (double)most;
        for (int s = threadIdx.x; s < t.states; s += blockDim.x) {
            if (s >= low && s < high) now[s] -= most;
            mat_put(k.forward, r, s, now[s]);
        }
        if (!f && !threadIdx.x) t.row[0][-1] = HD_CTC_NONE;
        __syncthreads();
    }
    if (threadIdx.x) return;
    if (!fits) sum = -INFINITY;
    if (fits && t.frames) { /* the paths that end in the last blank and in the last label */
        const float *last = t.row[t.frames % 2] + t.states - 1;
        double a = last[0], b = t.labels ? last[-1] : HD_CTC_NONE, m = fmax(a, b);
        sum += m + log(exp(a - m) + exp(b - m));
    }
    mat_put(k.loss, i, 0, fits ? (float)(-weight * sum) : 0);
    if (k.logp.p) mat_put(k.logp, i, 0, (float)sum);
}

/* Walks back and turns `forward` into the probabilities of the states. */
static __global__ void back_kernel(align_of k)
{
    extern __shared__ float shared[];
    __shared__ float sums[32];
    item_of t = item_make(k, shared);
    if (!item_fits(k, t, sums)) return;
    lay_states(k, t);
    if (!threadIdx.x) t.row[t.frames % 2][t.states] = 0; /* the end follows the last two states */
    __syncthreads();
    for (int f = t.frames; f--;) {
        size_t r = (size_t)t.first + f;
        const float *after = t.row[(f + 1) % 2];
        float *now = t.row[f % 2], lse = mat_get(k.lse, r, 0), most = -INFINITY, both = -INFINITY, sum = 0;
        int low = (int)hd_ctc_low(f, t.frames, t.states), high = (int)hd_ctc_high(f, t.states);
        for (int s = threadIdx.x; s < t.states + PAD; s += blockDim.x) {
            bool in = s >= low && s < high;
            float v = in ? sum_of_logs(after[s], after[s + 1], after[s + 2] + t.skip[s + 2]) : HD_CTC_NONE;
            now[s] = v;
            if (!in) continue;
            most = fmaxf(most, v), both = fmaxf(both, v + mat_get(k.forward, r, s));
        }
        most = block_max(most, sums), both = block_max(both, sums);
        for (int s = threadIdx.x; s < t.states; s += blockDim.x) {
            bool in = s >= low && s < high;
            float p = in ? expf(now[s] + mat_get(k.forward, r, s) - both) : 0;
            mat_put(k.forward, r, s, p);
            sum += p;
            if (in) now[s] += mat_get(k.x, r, t.column[s]) - lse - most;
        }
        sum = block_sum(sum, sums);
        for (int s = threadIdx.x; s < t.states; s += blockDim.x)
            mat_put(k.forward, r, s, mat_get(k.forward, r, s) / sum);
    }
}

/* Which states of an item say the same: a thread to each label looks at the others. */
static __global__ void chain_kernel(align_of k)
{
    __shared__ float sums[32];
    item_of t = item_make(k, NULL);
    int32_t *next = k.next + (size_t)blockIdx.x * k.states, *head = k.head + (size_t)blockIdx.x * k.x.cols;
    int none = item_fits(k, t, sums) ? -1 : -2;
    for (int c = threadIdx.x; c < k.x.cols; c += blockDim.x) head[c] = none;
    __syncthreads();
    if (none == -2) return;
    for (int u = threadIdx.x; u < t.labels; u += blockDim.x) {
        int before = u - 1, behind = u + 1;
        while (before >= 0 && t.label[before] != t.label[u]) before--;
        while (behind < t.labels && t.label[behind] != t.label[u]) behind++;
        next[2 * u + 1] = behind < t.labels ? 2 * behind + 1 : -1;
        if (before < 0) head[t.label[u]] = 2 * u + 1;
    }
}

/* A warp to a frame. */
static __global__ void slope_kernel(align_of k)
{
    size_t r = (size_t)blockIdx.x * WALK_WARPS + threadIdx.x / 32;
    int i = r < (size_t)k.x.rows ? k.item[r] : -1, lane = threadIdx.x % 32;
    if (i < 0) return;
    const int32_t *next = k.next + (size_t)i * k.states, *head = k.head + (size_t)i * k.x.cols;
    if (head[0] == -2) return;
    float by = k.coef * (k.weight.p ? mat_get(k.weight, i, 0) : 1), lse = mat_get(k.lse, r, 0), blank = 0;
    for (int u = lane; u <= k.label_len[i]; u += 32) blank += mat_get(k.forward, r, 2 * u);
    blank = warp_sum(blank);
    for (int c = lane; c < k.x.cols; c += 32) {
        float p = c == k.blank ? blank : 0;
        for (int s = head[c]; s >= 0; s = next[s]) p += mat_get(k.forward, r, s);
        mat_put_or_add(k.dx, r, c, by * (expf(mat_get(k.x, r, c) - lse) - p), true);
    }
}

static unsigned threads_of(const align_of &k)
{
    unsigned threads = hd_blocks((size_t)k.states + PAD, 32) * 32;
    return threads < (unsigned)MOST_THREADS ? threads : (unsigned)MOST_THREADS;
}

extern "C" hd_status hd_cuda_ctc(hd_backend *b, const hd_ctc_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    align_of k = align_make(&a->of);
    if (!k.items) return HD_OK;
    k.loss = mat_of(a->loss), k.logp = mat_of(a->logp);
    size_t room = room_bytes(k), shared = room <= MOST_SHARED ? room : 0;
    if (!shared && !(k.room = (float *)hd_cuda_scratch(c, room * k.items))) return HD_ENOMEM;
    if (k.x.rows) lse_kernel<<<hd_blocks(k.x.rows, WALK_WARPS), WALK_THREADS, 0, c->stream>>>(k);
    forward_kernel<<<(unsigned)k.items, threads_of(k), shared, c->stream>>>(k);
    return hd_cuda_done(c, "ctc");
}

extern "C" hd_status hd_cuda_ctc_back(hd_backend *b, const hd_ctc_back_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    align_of k = align_make(&a->of);
    if (!k.items || !k.x.rows) return HD_OK;
    k.dx = mat_of(a->dx), k.coef = a->coef;
    size_t room = room_bytes(k), shared = room <= MOST_SHARED ? room : 0;
    size_t lists = (size_t)k.items * ((size_t)k.states + k.x.cols) * sizeof(int32_t);
    char *scratch = (char *)hd_cuda_scratch(c, lists + (shared ? 0 : room * k.items));
    if (!scratch) return HD_ENOMEM;
    k.next = (int32_t *)scratch, k.head = k.next + (size_t)k.items * k.states;
    if (!shared) k.room = (float *)(scratch + lists);
    back_kernel<<<(unsigned)k.items, threads_of(k), shared, c->stream>>>(k);
    chain_kernel<<<(unsigned)k.items, threads_of(k), 0, c->stream>>>(k);
    slope_kernel<<<hd_blocks(k.x.rows, WALK_WARPS), WALK_THREADS, 0, c->stream>>>(k);
    return hd_cuda_done(c, "ctc_back");
}
