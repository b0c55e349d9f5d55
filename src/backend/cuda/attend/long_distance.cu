/* Gradients of the vectors of distances in long items, from what the queries' kernel leaves of a slice: the
   gradients of the products of tiles of queries with blocks of 64 vectors (band.h). All that belong to one
   block are multiplied with their queries and summed up, those of every few items by threads of their own,
   and the sums are added in a fixed order. Slices keep the scratch in proportion to the queries themselves,
   however long the items are. Easy to get wrong: the first vector serves all distances that are farther. */
#include "backend/cuda/attend/long_back.h"

enum { CHUNKS = 16, ADDERS = 256, STAGES = 4, TILE = ROWS * ROWS };
enum { AS_QUERIES = 16 }; /* bands of a slice, in sizes of q; more where that is little */
static const size_t LEAST_ROOM = (size_t)16 << 20;

static int tiles_of(const attend_of *t)
{
    return (t->longest_q + ROWS - 1) / ROWS;
}

/* Blocks of vectors that a query may meet. */
static int width_of(const attend_of *t)
{
    int all = tiles_of(t), far = t->block > 0 ? (2 * t->block - 1 + ROWS - 1) / ROWS + 1 : all;
    return far < all ? far : all;
}

/* Tiles of bands that a slice may have: at least those of one tile of queries. */
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
    slice s = {0, 1, 0, 1, 0, tiles, width, NULL};
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

size_t hd_attend_bands_bytes(const attend_of *t)
{
    slice s = largest(t);
    size_t each = s.tiles < tiles_of(t) ? (size_t)s.tiles * s.width : slice_begin(s.tiles, s.width);
    return sum_bytes(t, &s) + (size_t)s.items * s.heads * each * TILE * sizeof(bf16);
}

bool hd_attend_bands_next(const attend_of *t, void *room, slice *s)
{
    slice all = largest(t);
    int tiles = tiles_of(t);
    if (s->bands) s->tile += s->tiles;
    if (s->tile >= tiles) s->tile = 0, s->item += s->items;
    if (s->item >= t->items) s->item = 0, s->head += s->heads;
    if (s->head >= t->heads) return false;
    s->tiles = min(all.tiles, tiles - s->tile), s->items = min(all.items, t->items - s->item);
    s->heads = min(all.heads, t->heads - s->head), s->width = all.width;
    s->bands = (bf16 *)((char *)room + sum_bytes(t, &all));
    return true;
}

/* A tile of queries of an item; behind the last item of the slice there is none. */
typedef struct spot {
    int item, tile;
} spot;

/* The spot itself, or the next one whose queries meet block `far` of vectors. */
DEVICE spot settle(const attend_of &t, const slice &s, spot at, int far, int chunks)
{
    for (; at.item < s.item + s.items; at.item += chunks, at.tile = max(far, s.tile)) {
        int end = min(s.tile + s.tiles, (t.qlen[at.item] + ROWS - 1) / ROWS);
        for (; at.tile < end; at.tile++)
            if (far <= at.tile - block_begin(t, at.tile * ROWS) / ROWS) return at;
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

/* sums [chunks, heads, width, 64, D]: a block owns the sums of one chunk of items and one block of vectors.
 */
template <int D>
static __global__ void __launch_bounds__(THREADS)
    sum_bands(const __grid_constant__ attend_of t, const slice s, float *sums, int chunks)
{
    extern __shared__ __align__(1024) char attend_room[];
    bf16 *bands = (bf16 *)attend_room, *queries = bands + STAGES * TILE;
    int which = (int)blockIdx.x / s.heads, head = (int)blockIdx.x % s.heads, chunk = which % chunks;
    int far = which / chunks, own = threadIdx.x / 32 * 16; /* near ones first: they are long */
    spot next = settle(t, s, {s.item + chunk, max(far, s.tile)}, far, chunks);
    auto copy_next = [&](int stage) {
        if (next.item < s.item + s.items) {
            const bf16 *from = slice_bands(s, next.item, s.head + head, next.tile) + (size_t)far * TILE;
            mat band = {(void *)from, true, ROWS, ROWS, ROWS};
            int begin = next.tile * ROWS;
            slabs_copy<ROWS, ROWS, THREADS>(bands + stage * TILE, band, 0, 0, ROWS);
            slabs_copy<D, ROWS, THREADS>(queries + stage * ROWS * D, t.q, t.qbegin[next.item] + begin,
                                         (size_t)(s.head + head) * D, t.qlen[next.item] - begin);
            next = settle(t, s, {next.item, next.tile + 1}, far, chunks);
        }
        copy_commit();
    };
    int left = 0; /* tiles */
    for (spot at = next; at.item < s.item + s.items; at = settle(t, s, {at.item, at.tile + 1}, far, chunks))
        left++;
    for (int stage = 0; stage < STAGES - 1; stage++) copy_next(stage);
    float sum[D / 8][4] = {};
    for (int stage = 0; left; left--, stage = stage == STAGES - 1 ? 0 : stage + 1) {
        copy_wait<STAGES - 2>();
        copies_shown();
        __syncthreads(); /* also: nobody reads the tile before this one any more */
        copy_next(stage == 0 ? STAGES - 1 : stage - 1);
        uint32_t a[4][4];
#pragma unroll
        for (int k = 0; k < 4; k++) get_a_turned<ROWS>(a[k], bands + stage * TILE, own, 16 * k);
        group_add<D>(sum, a, slabs_at<D, true>(queries + stage * ROWS * D, 0, ROWS));
        group_wait<0>(sum);
    }
    copy_wait<0>();
    put_sums<D>(sums + (((size_t)chunk * s.heads + head) * s.width + far) * ROWS * D, sum, t.scale);
}

/* A thread adds up one number of one vector. */
static __global__ void add_sums(const float *sums, const slice s, int chunks, int span, int rows, int longest,
                                mat to)
{
    size_t i = (size_t)blockIdx.x * ADDERS + threadIdx.x;
    if (i >= (size_t)s.heads * rows * to.cols) return;
    int column = (int)(i % to.cols), row = (int)(i / to.cols % rows), head = (int)(i / to.cols / rows);
    int first = rows - 1 - row, end = first == span - 1 ? longest : first + 1; /* distances */
    size_t chunk_size = (size_t)s.heads * s.width * ROWS * to.cols;
    double sum = 0;
    for (int distance = first; distance < min(end, s.width * ROWS); distance++) {
        size_t vector = (size_t)distance / ROWS * ROWS + (ROWS - 1 - distance % ROWS);
        const float *at = sums + ((size_t)head * s.width * ROWS + vector) * to.cols + column;
        for (int chunk = 0; chunk < chunks; chunk++) sum += at[chunk * chunk_size];
    }
    mat_put_or_add(to, (size_t)(s.head + head) * span + (span - rows) + row, column, (float)sum, true);
}

template <int D> static void launch(hd_cuda *c, const attend_of *t, float *sums, const slice *s, int chunks)
{
    size_t room = STAGES * (TILE + ROWS * D) * sizeof(bf16);
    unsigned blocks = (unsigned)(chunks * s->heads * s->width);
    cudaFuncSetAttribute(sum_bands<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    sum_bands<D><<<blocks, THREADS, room, c->stream>>>(*t, *s, sums, chunks);
}

void hd_attend_bands_sum(hd_cuda *c, const attend_of *t, const attend_grads *g, void *room, const slice *s)
{
    int rows = t->longest_k < t->span ? t->longest_k : t->span, chunks = min((int)CHUNKS, s->items);
    float *sums = (float *)room;
    if (t->d == 32)
        launch<32>(c, t, sums, s, chunks);
    else if (t->d == 64)
        launch<64>(c, t, sums, s, chunks);
    else
        launch<128>(c, t, sums, s, chunks);
    add_sums<<<hd_blocks((size_t)s->heads * rows * t->d, ADDERS), ADDERS, 0, c->stream>>>(
        sums, *s, chunks, t->span, rows, t->longest_k, g->ddistance);
}
