/* Gradients of the vectors of distances in long items. Tiles of 64 queries and 64 keys that lie on one
   diagonal meet the same two blocks of vectors (band.h): threads walk down a diagonal of every few items, sum
   up for both blocks in registers and leave the sums in scratch, from which each vector's are added in a
   fixed order. Scores are made once more. Easy to get wrong: a distance lies in the right block of one
   diagonal and in the left one of the diagonal before, and the first vector serves all that are farther. */
#include "backend/cuda/attend/long_back.h"

enum { CHUNKS = 4, ADDERS = 256, STAGES = FAR_STAGES, TENSORS = 4 }; /* q, dy, k, v of a tile */

typedef struct plan {
    int chunks, diagonals; /* of items; of tiles, the main one first */
} plan;

static plan plan_of(const attend_of *t)
{
    plan p = {t->items < CHUNKS ? t->items : CHUNKS, (t->longest_k + ROWS - 1) / ROWS};
    int far = t->block > 0 ? (2 * t->block - 1 + ROWS - 1) / ROWS + 1 : p.diagonals;
    if (far < p.diagonals) p.diagonals = far;
    return p;
}

static size_t numbers_of(const attend_of *t)
{
    plan p = plan_of(t);
    return (size_t)p.chunks * 2 * t->heads * p.diagonals * ROWS * t->d;
}

size_t hd_attend_diagonal_bytes(const attend_of *t)
{
    return numbers_of(t) * sizeof(float);
}

/* A tile of queries of an item; behind the last item there is none. */
typedef struct spot {
    int item, tile;
} spot;

/* The spot itself, or the next one with a tile on the diagonal. */
DEVICE spot settle(const attend_of &t, spot s, int diagonal, int chunks)
{
    while (s.item < t.items && s.tile * ROWS >= t.qlen[s.item]) s.item += chunks, s.tile = diagonal;
    return s;
}

DEVICE two_rows rows_at(const place &p, const beside &b, int a)
{
    two_rows r = {{{INFINITY, 0}, {INFINITY, 0}}, {0, 0}};
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int row = band_row() + half * 8;
        if (a + row < p.tq) r.pair[half] = b.pair[row];
        r.key[half] = b.key[row];
    }
    return r;
}

/* to [64, D] = the sums, scaled. */
template <int D> DEVICE void put_sums(float *to, const float sum[D / 8][4], float scale)
{
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int n = 0; n < D / 8; n++)
            *(float2 *)(to + (band_row() + half * 8) * D + n * 8 + threadIdx.x % 4 * 2) =
                make_float2(sum[n][half * 2] * scale, sum[n][half * 2 + 1] * scale);
}

template <int D, bool DROPS>
static __global__ void __launch_bounds__(THREADS, D > 64 ? 1 : 2)
    diagonals(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g, const saved kept,
              float *part, const plan plan)
{
    extern __shared__ __align__(1024) char attend_room[];
    __shared__ beside rows[STAGES];
    int head = (int)blockIdx.x % t.heads, chunk = (int)blockIdx.x / t.heads % plan.chunks;
    int diagonal = (int)blockIdx.x / t.heads / plan.chunks; /* long ones first */
    bf16 *tiles = (bf16 *)attend_room, *left = tiles + STAGES * TENSORS * ROWS * D, *right = left + ROWS * D;
    uint16_t *band = (uint16_t *)(right + ROWS * D);
    auto copy_tile = [&](const spot &s, int stage) {
        if (s.item < t.items) {
            bf16 *q = tiles + stage * TENSORS * ROWS * D, *k = q + 2 * ROWS * D;
            place p = place_at(t, s.item, head);
            int from = (s.tile - diagonal) * ROWS;
            size_t column = (size_t)head * D;
            copy_queries<D>(t, g, kept, p, head, s.tile * ROWS, q, &rows[stage]);
            slabs_copy<D, ROWS, THREADS>(k, t.k, p.krow + from, column, p.tk - from);
            slabs_copy<D, ROWS, THREADS>(k + ROWS * D, t.v, p.krow + from, column, p.tk - from);
        }
        copy_commit();
    };
    int vector = t.span - 1 - diagonal * ROWS; /* the first row of the right block */
    vectors_copy<D, THREADS>(left, t, head, vector - ROWS);
    vectors_copy<D, THREADS>(right, t, head, vector);
    spot at = settle(t, {chunk, diagonal}, diagonal, plan.chunks);
    copy_tile(at, 0);
    float to_left[D / 8][4] = {}, to_right[D / 8][4] = {};
    for (int stage = 0; at.item < t.items; stage ^= 1) {
        spot next = settle(t, {at.item, at.tile + 1}, diagonal, plan.chunks);
        copy_wait<0>();
        copies_shown();
        __syncthreads(); /* also: nobody reads the tile before this one any more */
        copy_tile(next, stage ^ 1);
        const bf16 *q = tiles + stage * TENSORS * ROWS * D, *dy = q + ROWS * D, *k = dy + ROWS * D,
                   *v = k + ROWS * D;
        group_matrix left_q = slabs_at<D, false>(q, 0, ROWS), left_dy = slabs_at<D, false>(dy, 0, ROWS);
        place p = place_at(t, at.item, head);
        int begin = at.tile * ROWS, from = begin - diagonal * ROWS, a = begin + band_row();
        two_rows r = rows_at(p, rows[stage], begin);
        float s[8][4], ds[8][4];
        auto score = [&] {
            group_scores<D>(s, left_q, ROWS, slabs_at<D, false>(k, 0, ROWS), ROWS);
            group_scores<D>(ds, left_dy, ROWS, slabs_at<D, false>(v, 0, ROWS), ROWS);
        };
        {
            float of_left[8][4], of_right[8][4];
            group_scores<D>(of_left, left_q, ROWS, slabs_at<D, false>(left, 0, ROWS), ROWS);
            group_scores<D>(of_right, left_q, ROWS, slabs_at<D, false>(right, 0, ROWS), ROWS);
            if (D <= 64) score(); /* registers for all four */
            group_wait<(D <= 64 ? 3 : 1)>(of_left);
            band_put(band, 0, of_left);
            group_wait<(D <= 64 ? 2 : 0)>(of_right);
            band_put(band, 1, of_right);
            __syncwarp();
        }
        if (D > 64) score();
        band_view cells = band_at(band, 1);
        group_wait<1>(s);
        band_add(s, cells);
        if (!diagonal || from + ROWS > p.tk) group_hide(t, p, s, a, from);
        if (from < block_begin(t, begin + ROWS - 1)) hide_before(t, p, s, a, from);
        query_weights(t, s, r);
        group_wait<0>(ds);
        query_slopes<DROPS>(t, p, s, ds, from, r);
        band_slopes(ds, cells);
        __syncthreads(); /* the band is of all warps */
        uint32_t of_left[4][4], of_right[4][4];
        band_left<true>(of_left, band, 0, BAND_LEFT);
        band_left<true>(of_right, band, 1, BAND_RIGHT);
        group_add<D>(to_left, of_left, slabs_at<D, true>(q, 0, ROWS));
        group_add<D>(to_right, of_right, slabs_at<D, true>(q, 0, ROWS));
        group_wait<0>(to_left);
        group_wait<0>(to_right);
        at = next;
    }
    copy_wait<0>();
    float *to = part + (((size_t)chunk * 2 * t.heads + head) * plan.diagonals + diagonal) * ROWS * D;
    put_sums<D>(to, to_left, t.scale);
    put_sums<D>(to + (size_t)t.heads * plan.diagonals * ROWS * D, to_right, t.scale);
}

/* part [chunks, 2, H, diagonals, 64, D]: a thread adds up one number of one vector. */
static __global__ void add_diagonals(const float *part, const plan plan, int heads, int span, int rows,
                                     int longest, mat to)
{
    size_t i = (size_t)blockIdx.x * ADDERS + threadIdx.x;
    if (i >= (size_t)heads * rows * to.cols) return;
    int column = (int)(i % to.cols), row = (int)(i / to.cols % rows), head = (int)(i / to.cols / rows);
    int first = rows - 1 - row, end = first == span - 1 ? longest : first + 1; /* distances */
    ptrdiff_t block = (ptrdiff_t)ROWS * to.cols, side = heads * plan.diagonals * block;
    double sum = 0;
    for (int distance = first; distance < end; distance++) {
        int diagonal = (distance + ROWS - 1) / ROWS, place = diagonal * ROWS - distance;
        const float *at =
            part + (((size_t)head * plan.diagonals + diagonal) * ROWS + place) * to.cols + column;
        for (int chunk = 0; chunk < plan.chunks; chunk++) {
            if (diagonal < plan.diagonals) sum += at[(chunk * 2 + 1) * side];
            if (diagonal && diagonal <= plan.diagonals) sum += at[chunk * 2 * side - block];
        }
    }
    mat_put_or_add(to, (size_t)head * span + (span - rows) + row, column, (float)sum, true);
}

template <int D>
static void launch(hd_cuda *c, const attend_of *t, const attend_grads *g, const saved &kept, float *part)
{
    plan p = plan_of(t);
    size_t room = (STAGES * TENSORS + 2) * ROWS * D * sizeof(bf16) + BAND_CELLS * sizeof(uint16_t);
    unsigned blocks = (unsigned)(p.chunks * t->heads * p.diagonals);
    cudaFuncSetAttribute(diagonals<D, true>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    cudaFuncSetAttribute(diagonals<D, false>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    if (t->drops)
        diagonals<D, true><<<blocks, THREADS, room, c->stream>>>(*t, *g, kept, part, p);
    else
        diagonals<D, false><<<blocks, THREADS, room, c->stream>>>(*t, *g, kept, part, p);
}

void hd_attend_diagonals(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept, float *part)
{
    int rows = t->longest_k < t->span ? t->longest_k : t->span;
    if (t->d == 32)
        launch<32>(c, t, g, kept, part);
    else if (t->d == 64)
        launch<64>(c, t, g, kept, part);
    else
        launch<128>(c, t, g, kept, part);
    add_diagonals<<<hd_blocks((size_t)t->heads * rows * t->d, ADDERS), ADDERS, 0, c->stream>>>(
        part, plan_of(t), t->heads, t->span, rows, t->longest_k, g->ddistance);
}
