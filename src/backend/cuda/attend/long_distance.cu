/* Gradients of the vectors of distances in long items, from the slopes (gradients of scores) of a slice:
   those of a tile of queries, moved into a band (band.h), are the gradients of its products with blocks of 64
   vectors. All that belong to one block are multiplied with their queries and summed up, those of every few
   items by threads of their own, and the sums are added in a fixed order. Slices keep the scratch in
   proportion to the queries themselves, however long the items are. Easy to get wrong: the first vector
   serves all distances that are farther. */
#include "backend/cuda/attend/long_back.h"

enum { THREADS = GROUP, CHUNKS = 32, ADDERS = 256, TILE = ROWS * ROWS };
enum { AS_QUERIES = 16 }; /* slopes of a slice, in sizes of q; more where that is little */
static const size_t LEAST_ROOM = (size_t)16 << 20;

static int tiles_of(const attend_of *t)
{
    return (t->longest_q + ROWS - 1) / ROWS;
}

/* Tiles of keys that a tile of queries may meet, and so blocks of vectors. */
static int width_of(const attend_of *t)
{
    int all = tiles_of(t), far = t->block > 0 ? (2 * t->block - 1 + ROWS - 1) / ROWS + 1 : all;
    return far < all ? far : all;
}

/* Tiles of slopes that a slice may have: at least those of one tile of queries. */
static size_t most_of(const attend_of *t)
{
    size_t bytes = AS_QUERIES * (size_t)t->q.rows * t->heads * t->d * sizeof(bf16);
    size_t most = max(bytes, LEAST_ROOM) / (TILE * sizeof(bf16));
    return max(most, (size_t)width_of(t));
}

/* A slice of full size. */
static slice largest(const attend_of *t)
{
    int tiles = tiles_of(t), width = width_of(t);
    size_t most = most_of(t), units = most / slice_begin(tiles, width);
    slice s = {0, 1, 0, 1, 0, tiles, width, NULL, NULL, NULL};
    if (units < 1)
        s.tiles = (int)(most / width);
    else if (units < (size_t)t->items)
        s.items = (int)units;
    else {
        size_t times = ((size_t)t->heads + units / t->items - 1) / (units / t->items);
        s.items = t->items, s.heads = (int)(((size_t)t->heads + times - 1) / times);
    }
    return s;
}

static size_t sum_bytes(const attend_of *t, const slice *s)
{
    return (size_t)CHUNKS * s->heads * s->width * ROWS * t->d * sizeof(float);
}

/* Of sums that go on in the next slice. */
static size_t carry_bytes(const attend_of *t, const slice *s)
{
    return s->tiles < tiles_of(t) ? (size_t)tiles_of(t) * 2 * ROWS * t->d * sizeof(float) : 0;
}

size_t hd_attend_slice_bytes(const attend_of *t)
{
    slice s = largest(t);
    size_t each = s.tiles < tiles_of(t) ? (size_t)s.tiles * s.width : slice_begin(s.tiles, s.width);
    return sum_bytes(t, &s) + carry_bytes(t, &s) + (size_t)s.items * s.heads * each * TILE * sizeof(bf16);
}

bool hd_attend_slice_next(const attend_of *t, void *room, slice *s)
{
    slice all = largest(t);
    int tiles = tiles_of(t);
    char *carry = (char *)room + sum_bytes(t, &all);
    if (s->slopes) s->tile += s->tiles;
    if (s->tile >= tiles) s->tile = 0, s->item += s->items;
    if (s->item >= t->items) s->item = 0, s->head += s->heads;
    if (s->head >= t->heads) return false;
    s->tiles = min(all.tiles, tiles - s->tile), s->items = min(all.items, t->items - s->item);
    s->heads = min(all.heads, t->heads - s->head), s->width = all.width;
    s->sums = (float *)room, s->carry = carry_bytes(t, &all) ? (float4 *)carry : NULL;
    s->slopes = (bf16 *)(carry + carry_bytes(t, &all));
    return true;
}

/* A tile of queries of an item; behind the last item of the slice there is none. */
typedef struct spot {
    int item, tile;
} spot;

/* Blocks of vectors that a tile of queries meets. */
DEVICE int met_by(const attend_of &t, int tile)
{
    return tile + 1 - block_begin(t, tile * ROWS) / ROWS;
}

/* The spot itself, or the next one whose queries meet block `far` of vectors. */
DEVICE spot settle(const attend_of &t, const slice &s, spot at, int far, int chunks)
{
    for (; at.item < s.item + s.items; at.item += chunks, at.tile = max(far, s.tile)) {
        int end = min(s.tile + s.tiles, (t.qlen[at.item] + ROWS - 1) / ROWS);
        for (; at.tile < end; at.tile++)
            if (far < met_by(t, at.tile)) return at;
    }
    return at;
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

/* A wide band has the slopes that a tile of queries has for BLOCKS blocks of vectors: one tile more. */
template <int BLOCKS> constexpr int wide = (BLOCKS + 2) * ROWS + 8;

template <int BLOCKS> DEVICE void put_wide(uint16_t *at, const uint4 &x, int keys)
{
    const uint32_t w[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
        for (int i = 0; i < 2; i++)
            at[(m / 2 * 8 + i) * (wide<BLOCKS> - 1) + keys + m % 2 * 8] = (uint16_t)(i ? w[m] >> 16 : w[m]);
}

/* s.sums [chunks, heads, width, 64, D]: threads own the sums of one chunk of items and BLOCKS blocks of
   vectors, for which they need the same queries and nearly the same slopes. */
template <int D, int BLOCKS>
static __global__ void __launch_bounds__(THREADS, D *BLOCKS > 192 ? 2 : 3)
    sum_slopes(const __grid_constant__ attend_of t, const slice s, int chunks)
{
    extern __shared__ __align__(1024) char attend_room[];
    bf16 *queries = (bf16 *)attend_room;
    uint16_t *band = (uint16_t *)(queries + 2 * ROWS * D);
    int which = (int)blockIdx.x / s.heads, head = (int)blockIdx.x % s.heads, chunk = which % chunks;
    int far = which / chunks * BLOCKS; /* near ones first: they are long */
    int lane = threadIdx.x % 32, own = threadIdx.x / 32 * 16;
    spot at = settle(t, s, {s.item + chunk, max(far, s.tile)}, far, chunks), next = at;
    auto after = [&](const spot &x) { return settle(t, s, {x.item, x.tile + 1}, far, chunks); };
    auto copy_next = [&](int stage) {
        if (next.item < s.item + s.items) {
            int begin = next.tile * ROWS;
            slabs_copy<D, ROWS, THREADS>(queries + stage * ROWS * D, t.q, t.qbegin[next.item] + begin,
                                         (size_t)(s.head + head) * D, t.qlen[next.item] - begin);
            next = after(next);
        }
        copy_commit();
    };
    copy_next(0);
    uint16_t *cells = band + (own + lane % 4 * 2) * (wide<BLOCKS> - 1) + ROWS - 1 + lane / 4;
    float sum[BLOCKS][D / 8][4] = {};
    for (int stage = 0; at.item < s.item + s.items; at = after(at), stage ^= 1) {
        int met = met_by(t, at.tile);
        bf16 *tile = slice_slopes(s, at.item, s.head + head, at.tile);
#pragma unroll
        for (int b = 0; b <= BLOCKS; b++) { /* the farthest first */
            int distance = far + BLOCKS - b;
            uint4 x[4] = {};
            if (distance < met)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    x[k] = *slopes_at(tile + (size_t)distance * TILE, threadIdx.x / 32, k);
#pragma unroll
            for (int k = 0; k < 4; k++) put_wide<BLOCKS>(cells, x[k], b * ROWS + 16 * k);
        }
        copy_wait<0>();
        copies_shown();
        __syncthreads();
        copy_next(stage ^ 1);
        group_matrix right = slabs_at<D, true>(queries + stage * ROWS * D, 0, ROWS);
        uint32_t left[2][4][4];
#pragma unroll
        for (int b = 1; b <= BLOCKS; b++) {
            if (far + BLOCKS - b >= met) continue;
            if (b > 2) group_wait<1>(sum[BLOCKS - b + 2]);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                int row = 16 * k + lane % 8 + lane / 16 * 8, col = b * ROWS + own + lane / 8 % 2 * 8;
                load_matrices_turned(left[b & 1][k], band + row * wide<BLOCKS> + col);
            }
            group_add<D>(sum[BLOCKS - b], left[b & 1], right);
        }
#pragma unroll
        for (int b = 0; b < BLOCKS; b++) group_wait<0>(sum[b]);
        __syncthreads(); /* nobody reads the band any more */
    }
    copy_wait<0>();
    float *to = s.sums + (((size_t)chunk * s.heads + head) * s.width + far) * ROWS * D;
#pragma unroll
    for (int b = 0; b < BLOCKS; b++)
        if (far + b < s.width) put_sums<D>(to + b * ROWS * D, sum[b], t.scale);
}

/* A thread adds up one number of one vector. */
static __global__ void add_sums(const slice s, int chunks, int span, int rows, int longest, mat to)
{
    size_t i = (size_t)blockIdx.x * ADDERS + threadIdx.x;
    if (i >= (size_t)s.heads * rows * to.cols) return;
    int column = (int)(i % to.cols), row = (int)(i / to.cols % rows), head = (int)(i / to.cols / rows);
    int first = rows - 1 - row, end = first == span - 1 ? longest : first + 1; /* distances */
    size_t chunk_size = (size_t)s.heads * s.width * ROWS * to.cols;
    double sum = 0;
    for (int distance = first; distance < min(end, s.width * ROWS); distance++) {
        size_t vector = (size_t)distance / ROWS * ROWS + (ROWS - 1 - distance % ROWS);
        const float *at = s.sums + ((size_t)head * s.width * ROWS + vector) * to.cols + column;
        for (int chunk = 0; chunk < chunks; chunk++) sum += at[chunk * chunk_size];
    }
    mat_put_or_add(to, (size_t)(s.head + head) * span + (span - rows) + row, column, (float)sum, true);
}

template <int D> static void launch(hd_cuda *c, const attend_of *t, const slice *s, int chunks)
{
    constexpr int BLOCKS = D > 64 ? 2 : 3; /* as many as registers have room for */
    size_t room = (2 * ROWS * D + ROWS * wide<BLOCKS>)*sizeof(bf16);
    unsigned blocks = (unsigned)(chunks * s->heads * ((s->width + BLOCKS - 1) / BLOCKS));
    cudaFuncSetAttribute(sum_slopes<D, BLOCKS>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    sum_slopes<D, BLOCKS><<<blocks, THREADS, room, c->stream>>>(*t, *s, chunks);
}

void hd_attend_slope_sums(hd_cuda *c, const attend_of *t, const attend_grads *g, const slice *s)
{
    int rows = t->longest_k < t->span ? t->longest_k : t->span, chunks = min((int)CHUNKS, s->items);
    if (t->d == 32)
        launch<32>(c, t, s, chunks);
    else if (t->d == 64)
        launch<64>(c, t, s, chunks);
    else
        launch<128>(c, t, s, chunks);
    add_sums<<<hd_blocks((size_t)s->heads * rows * t->d, ADDERS), ADDERS, 0, c->stream>>>(
        *s, chunks, t->span, rows, t->longest_k, g->ddistance);
}
