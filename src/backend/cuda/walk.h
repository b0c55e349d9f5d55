/* How kernels walk matrices: one body serves rows of eights of one type (bf16 or float) and, number by
   number, everything else (`either`). A warp stays in one row, so that the key of a random mask is drawn once
   for many columns. */
#ifndef HD_BACKEND_CUDA_WALK_H
#define HD_BACKEND_CUDA_WALK_H

#include "backend/cuda/device.h"

struct either {
}; /* bf16 or float, told apart at run time */

template <class T> struct step_of {
    enum { W = 8 };
};
template <> struct step_of<either> {
    enum { W = 1 };
};

/* The W numbers of m from row r, column c. */
template <class T> DEVICE void get(float *v, const mat &m, size_t r, size_t c)
{
    if constexpr (step_of<T>::W == 1)
        v[0] = mat_get(m, r, c);
    else
        load8(v, (const T *)m.p + r * m.stride + c);
}

template <class T> DEVICE void put(const mat &m, size_t r, size_t c, const float *v)
{
    if constexpr (step_of<T>::W == 1)
        mat_put(m, r, c, v[0]);
    else
        store8((T *)m.p + r * m.stride + c, v);
}

template <class T> DEVICE void put_or_add(const mat &m, size_t r, size_t c, float *v, bool add)
{
    if (add) {
        float old[step_of<T>::W];
        get<T>(old, m, r, c);
        for (int i = 0; i < step_of<T>::W; i++) v[i] += old[i];
    }
    put<T>(m, r, c, v);
}

template <class T> DEVICE void masks(float *m, const draw_of &d, uint64_t key, uint32_t c)
{
    if constexpr (step_of<T>::W == 1)
        m[0] = draw_mask(d, key, c);
    else
        draw_mask8(m, d, key, c);
}

/* Eight numbers as they lie in memory: half the registers for bf16, and a load that nothing waits for yet. */
template <class T> struct raw8 {
    uint4 q[sizeof(T) / 2];
};
template <class T> DEVICE void load_raw(raw8<T> *to, const mat &m, size_t r, size_t c)
{
    const uint4 *p = (const uint4 *)((const T *)m.p + r * m.stride + c);
#pragma unroll
    for (int i = 0; i < (int)sizeof(T) / 2; i++) to->q[i] = p[i];
}

/* The warp's part of a matrix: up to SPAN steps of a lane in one row. */
typedef struct span {
    unsigned row;
    int from, till;
} span;

enum { SPAN = 4, WALK_WARPS = 8, WALK_THREADS = 32 * WALK_WARPS };

template <class T> DEVICE bool span_of(span *s, int rows, int cols)
{
    const int size = 32 * SPAN * step_of<T>::W;
    unsigned spans = (unsigned)((cols + size - 1) / size), unit = blockIdx.x * WALK_WARPS + threadIdx.x / 32;
    s->row = unit / spans;
    s->from = (int)(unit - s->row * spans) * size;
    s->till = min(cols, s->from + size);
    return s->row < (unsigned)rows;
}

#define LANE_STEPS(T, c, s) \
    for (int c = (s).from + (int)(threadIdx.x % 32) * step_of<T>::W; c < (s).till; c += 32 * step_of<T>::W)

/* -- host side -- */

typedef enum walk_kind { WALK_ANY, WALK_BF16, WALK_F32 } walk_kind;

/* What fits all of n tensors; NULLs fit anything. */
static inline walk_kind walk_kind_of(const hd_tensor *const *t, int n)
{
    bool small = true, plain = true, eights = true;
    for (int i = 0; i < n; i++) {
        if (!t[i]) continue;
        small &= t[i]->dtype == HD_BF16, plain &= t[i]->dtype == HD_F32, eights &= by_eights(t[i]);
    }
    return !eights || small == plain ? WALK_ANY : small ? WALK_BF16 : WALK_F32;
}

static inline unsigned walk_blocks(walk_kind kind, const hd_tensor *t)
{
    size_t size = 32 * SPAN * (kind == WALK_ANY ? 1 : 8), spans = (hd_cols_of(t) + size - 1) / size;
    return hd_blocks(hd_rows_of(t) * spans, WALK_WARPS);
}

/* Sums down the columns: blocks of 32 steps of columns and `each` rows, which fill the card a few times over.
 */
typedef struct chunking {
    dim3 grid;
    size_t chunks, each;
} chunking;

static inline chunking chunking_of(const hd_cuda *c, walk_kind kind, size_t rows, size_t n)
{
    size_t wide = kind == WALK_ANY ? 32 : 256, across = (n + wide - 1) / wide;
    size_t chunks = (size_t)c->processors * 8 / across, most = (rows + 31) / 32; /* each warp gets 4 rows */
    if (chunks > most) chunks = most;
    if (chunks < 1) chunks = 1;
    size_t each = (rows + chunks - 1) / chunks;
    chunks = (rows + each - 1) / each;
    return (chunking){dim3((unsigned)across, (unsigned)chunks), chunks, each};
}

#define WALK(kind, kernel, blocks, threads, stream, ...)                       \
    do {                                                                       \
        if ((kind) == WALK_BF16)                                               \
            kernel<bf16><<<(blocks), (threads), 0, (stream)>>>(__VA_ARGS__);   \
        else if ((kind) == WALK_F32)                                           \
            kernel<float><<<(blocks), (threads), 0, (stream)>>>(__VA_ARGS__);  \
        else                                                                   \
            kernel<either><<<(blocks), (threads), 0, (stream)>>>(__VA_ARGS__); \
    } while (0)

/* y[c] += sum over p of part[p][c] for c < cols, z[c - cols] likewise for the columns from there to `width`;
   part is dense [parts, width]; y or z may be NULL. In reduce.cu. */
void hd_cuda_add_parts(hd_cuda *c, float *y, float *z, const float *part, int parts, int cols, int width);

#endif
