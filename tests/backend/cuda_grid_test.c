/* Pixels, patches and pooling over grids on the device against the cpu: windows of all shapes, pictures of
   different sizes, some of them none, rows of no item. */
#include "backend/pair.h"

static const struct {
    size_t items, cols;
    int most; /* cells of a side */
} batches[] = {{1, 1, 1},  {1, 3, 7},  {3, 8, 9},   {5, 3, 12},
               {4, 17, 8}, {70, 2, 5}, {6, 64, 14}, {16, 256, 28}};
enum { LARGE = 7 };

static const hd_grid_window windows[] = {
    {{3, 3}, {1, 1}, {1, 1}}, {{3, 3}, {2, 2}, {1, 1}}, {{1, 1}, {1, 1}, {0, 0}}, {{1, 1}, {2, 2}, {0, 0}},
    {{7, 7}, {2, 2}, {3, 3}}, {{2, 3}, {3, 1}, {0, 1}}, {{2, 2}, {2, 2}, {0, 0}}, {{2, 1}, {1, 3}, {1, 0}},
};

#define EACH_CASE(p, i, w)                                            \
    for ((p)->layout = 0; (p)->layout < LAYOUTS; (p)->layout++)       \
        for (size_t i = 0; i < COUNT_OF(batches); i++)                \
            if (i < LARGE || (!small_only() && (p)->layout == DENSE)) \
                for (size_t w = 0; w < COUNT_OF(windows); w++)

/* Sizes that the window fits, or 0, 0. */
static int32_t *sizes(pair *p, size_t items, int most, const hd_grid_window *w)
{
    int32_t *size = pair_take(p, 2, (2 * items + 1) * sizeof *size);
    hd_rng rng = hd_rng_make(12, p->seed++);
    for (size_t i = 0; i < items; i++) {
        for (size_t k = 0; k < 2; k++) {
            int least = w->kernel[k] - 2 * w->padding[k];
            if (least < 1) least = 1;
            size[2 * i + k] = least + (int32_t)hd_rng_below(&rng, (uint32_t)most);
        }
        if (i % 5 == 3) size[2 * i] = size[2 * i + 1] = 0;
    }
    return size;
}

/* Segments with these grids; how: FILL, GAPS are not for grids. */
static twin_seg *grid_from(pair *p, const int32_t *size, size_t items, int how)
{
    int32_t *len = pair_take(p, 2, (items + 1) * sizeof *len);
    for (size_t i = 0; i < items; i++) len[i] = size[2 * i] * size[2 * i + 1];
    twin_seg *s = seg_from(p, len, items, how);
    twin_ints *grid = ints_from(p, size, 2 * items);
    for (int side = 0; side < 2; side++) s->on[side].grid = grid->on[side];
    return s;
}

static int32_t *places(pair *p, const int32_t *size, size_t items, const hd_grid_window *w)
{
    int32_t *to = pair_take(p, 2, (2 * items + 1) * sizeof *to);
    for (size_t i = 0; i < 2 * items; i++)
        to[i] = hd_grid_places(size[i], w->kernel[i % 2], w->stride[i % 2], w->padding[i % 2]);
    return to;
}

static void regrid(void **state)
{
    pair *p = pair_of(state);
    static const size_t items[] = {1, 2, 7, 64, 1000, 2500};
    for (size_t i = 0; i < COUNT_OF(items); i++)
        for (size_t w = 0; w < COUNT_OF(windows); w++)
            for (size_t more = 0; more < 10; more += 9) {
                size_t n = items[i], rows = more;
                begin_case(p, "regrid of %zu items, window %zu, %zu rows more", n, w, more);
                int32_t *size = sizes(p, n, 9, &windows[w]), *to = places(p, size, n, &windows[w]);
                for (size_t k = 0; k < n; k++) rows += (size_t)(to[2 * k] * to[2 * k + 1]);
                twin_ints *s = ints_from(p, size, 2 * n),
                          *out[5] = {ints_from(p, size, n), ints_from(p, size, n), ints_from(p, size, 2 * n)};
                int32_t *room = pair_take(p, 2, (rows + 1) * sizeof *room);
                out[3] = ints_from(p, room, rows), out[4] = ints_from(p, room, rows);
                RUN(p, regrid, .begin = out[0]->on[side], .len = out[1]->on[side], .grid = out[2]->on[side],
                    .item = out[3]->on[side], .pos = out[4]->on[side], .size = s->on[side], .items = n,
                    .rows = rows, .window = windows[w]);
                if (p->broken) continue;
                static const char *const names[] = {"begin", "len", "grid", "item", "pos"};
                for (int k = 0; k < 5; k++) check_ints(p, names[k], out[k]);
                assert_memory_equal(out[2]->on[0], to, 2 * n * sizeof *to);
            }
    pair_done(p);
}

static void lead(void **state)
{
    pair *p = pair_of(state);
    static const size_t items[] = {1, 2, 7, 300, 1000};
    for (size_t i = 0; i < COUNT_OF(items); i++)
        for (int32_t more = 1; more < 4; more += 2)
            for (int how = 0; how <= FILL; how += FILL) {
                size_t n = items[i];
                begin_case(p, "%d rows before each of %zu items, how %d", more, n, how);
                int32_t *size = sizes(p, n, 9, &windows[2]);
                twin_seg *from = grid_from(p, size, n, how);
                size_t rows = from->rows;
                for (size_t k = 0; k < n; k++) rows += size[2 * k] ? (size_t)more : 0;
                int32_t *room = pair_take(p, 2, (rows + n + 1) * sizeof *room);
                twin_ints *out[5] = {ints_from(p, room, n), ints_from(p, room, n), ints_from(p, room, rows),
                                     ints_from(p, room, rows), ints_from(p, room, rows)};
                RUN(p, lead, .begin = out[0]->on[side], .len = out[1]->on[side], .item = out[2]->on[side],
                    .pos = out[3]->on[side], .index = out[4]->on[side], .from = &from->on[side], .rows = rows,
                    .lead = more);
                if (p->broken) continue;
                static const char *const names[] = {"begin", "len", "item", "pos", "index"};
                for (int k = 0; k < 5; k++) check_ints(p, names[k], out[k]);
            }
    pair_done(p);
}

static void pixels(void **state)
{
    pair *p = pair_of(state);
    static const int squares[] = {1, 2, 4, 5, 8, 16};
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (int channels = 1; channels <= 3; channels += 2)
            for (size_t k = 0; k < COUNT_OF(squares); k++)
                for (int how = 0; how <= FILL; how += FILL) {
                    enum { ITEMS = 9 };
                    int side_ = squares[k];
                    hd_grid_window w = {{side_, side_}, {side_, side_}, {0, 0}};
                    begin_case(p, "pixels, %d channels, squares of %d, how %d", channels, side_, how);
                    int32_t *size = sizes(p, ITEMS, 40, &w), begin[ITEMS], bytes = 0;
                    for (size_t i = 0; i < ITEMS; i++)
                        begin[i] = bytes, bytes += channels * size[2 * i] * size[2 * i + 1];
                    uint8_t *byte = pair_take(p, 2, (size_t)bytes + 1);
                    for (int32_t i = 0; i < bytes; i++) byte[i] = (uint8_t)(i * 89 + i / 251);
                    void *there[2];
                    twin_bytes(p, there, byte, (size_t)bytes + 1);
                    twin_seg *to = grid_from(p, places(p, size, ITEMS, &w), ITEMS, how);
                    twin_ints *b = ints_from(p, begin, ITEMS), *s = ints_from(p, size, 2 * ITEMS);
                    twin *worth = twin_normal(p, "worth", (size_t)channels, 256, REAL | FLAT, 1),
                         *y = twin_result(p, "y", to->rows, (size_t)(channels * side_ * side_), ACT, false);
                    RUN(p, pixels, .y = ON(y),
                        .in = &((hd_pixels){.bytes = there[side],
                                            .begin = b->on[side],
                                            .size = s->on[side],
                                            .channels = channels,
                                            .worth = worth->on[side].data,
                                            .items = ITEMS}),
                        .to = ON(to), .p = side_);
                    if (p->bf16)
                        check(p, y);
                    else
                        check_same(p, y, NULL);
                }
    pair_done(p);
}

/* All rows and a chunk in the middle; more columns than cells. */
static void patches(void **state)
{
    pair *p = pair_of(state);
    EACH_CASE(p, i, w)
    for (int how = 0; how < 4; how++) {
        size_t n = batches[i].cols, items = batches[i].items;
        begin_case(p, "patches of %zu items up to %d, %zu columns, window %zu, how %d", items,
                   batches[i].most, n, w, how);
        int32_t *size = sizes(p, items, batches[i].most, &windows[w]);
        twin_seg *from = grid_from(p, size, items, how & 1 ? FILL : 0),
                 *to = grid_from(p, places(p, size, items, &windows[w]), items, how & 1 ? FILL : 0);
        size_t first = how & 2 ? to->rows / 3 : 0, rows = how & 2 ? (to->rows + 2) / 3 : to->rows,
               cols = n * (size_t)(windows[w].kernel[0] * windows[w].kernel[1]);
        if (how & 1) cols = (cols + 7) / 8 * 8;
        twin *x = twin_owned(p, "x", from, n, ACT, 1), *y = twin_result(p, "y", rows, cols, ACT, false);
        RUN(p, patches, .y = ON(y), .x = ON(x), .to = ON(to), .from = ON(from), .window = windows[w],
            .first = first);
        check_same(p, y, NULL);
    }
    pair_done(p);
}

static void patches_back(void **state)
{
    pair *p = pair_of(state);
    EACH_CASE(p, i, w)
    for (int how = 0; how < 8; how++) {
        size_t n = batches[i].cols, items = batches[i].items;
        bool add = how & 2, part = how & 4;
        begin_case(p, "patches_back of %zu items up to %d, %zu columns, window %zu, how %d", items,
                   batches[i].most, n, w, how);
        int32_t *size = sizes(p, items, batches[i].most, &windows[w]);
        twin_seg *from = grid_from(p, size, items, how & 1 ? FILL : 0),
                 *to = grid_from(p, places(p, size, items, &windows[w]), items, 0);
        size_t first = part ? to->rows / 3 : 0, rows = part ? (to->rows + 2) / 3 : to->rows,
               cols = n * (size_t)(windows[w].kernel[0] * windows[w].kernel[1]);
        twin *dy = twin_normal(p, "dy", rows, cols, ACT, 1),
             *dx = twin_result(p, "dx", from->rows, n, ACT, add);
        RUN(p, patches_back, .dx = ON(dx), .dy = ON(dy), .to = ON(to), .from = ON(from), .window = windows[w],
            .first = first, .begin = 0, .end = from->rows, .add = add);
        check(p, dx);
    }
    pair_done(p);
}

static void transpose(void **state)
{
    pair *p = pair_of(state);
    static const size_t shapes[][3] = {{1, 1, 1}, {2, 3, 9}, {5, 9, 8}, {64, 3, 49}, {33, 32, 9}, {7, 1, 12}};
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (size_t i = 0; i < COUNT_OF(shapes); i++)
            for (int add = 0; add < 2; add++) {
                size_t all = shapes[i][1] * shapes[i][2], more = add ? 0 : 5;
                begin_case(p, "transpose %zu of %zu x %zu, add %d", shapes[i][0], shapes[i][1], shapes[i][2],
                           add);
                twin *x = twin_normal(p, "x", shapes[i][0], all + 3, REAL, 1),
                     *y = twin_result(p, "y", shapes[i][0], all + more, add ? REAL : ACT, add);
                RUN(p, transpose, .y = ON(y), .x = ON(x), .height = shapes[i][1], .width = shapes[i][2],
                    .add = add);
                check(p, y);
            }
    pair_done(p);
}

static bool pools(const hd_grid_window *w)
{
    return 2 * w->padding[0] <= w->kernel[0] && 2 * w->padding[1] <= w->kernel[1];
}

/* Rounded numbers, so that maxima tie: the first wins. */
static void pool(void **state)
{
    pair *p = pair_of(state);
    EACH_CASE(p, i, w)
    if (pools(&windows[w]))
        for (int how = 0; how < 6; how++) {
            size_t n = batches[i].cols, items = batches[i].items;
            bool most = how & 1, with = how & 4;
            begin_case(p, "pool %s of %zu items up to %d, %zu columns, window %zu, how %d",
                       most ? "max" : "mean", items, batches[i].most, n, w, how);
            int32_t *size = sizes(p, items, batches[i].most, &windows[w]);
            twin_seg *from = grid_from(p, size, items, how & 2 ? FILL : 0),
                     *to = grid_from(p, places(p, size, items, &windows[w]), items, how & 2 ? FILL : 0);
            float *v = normals(p, from->rows * n, 1);
            for (size_t k = 0; k < from->rows * n; k++) v[k] = from->owned[k / n] ? roundf(2 * v[k]) : NAN;
            twin *x = twin_from(p, "x", from->rows, n, ACT, v),
                 *y = twin_result(p, "y", to->rows, n, ACT, false),
                 *which = most && with ? twin_result(p, "which", to->rows, n, INT | FLAT, false) : NULL;
            RUN(p, pool, .y = ON(y), .which = ON(which), .x = ON(x), .to = ON(to), .from = ON(from),
                .window = windows[w], .kind = most ? HD_GRID_MAX : HD_GRID_MEAN);
            check(p, y);
            check_same(p, which, NULL);
        }
    pair_done(p);
}

static void pool_back(void **state)
{
    pair *p = pair_of(state);
    EACH_CASE(p, i, w)
    if (pools(&windows[w]))
        for (int how = 0; how < 8; how++) {
            size_t n = batches[i].cols, items = batches[i].items;
            bool most = how & 1, add = how & 4;
            begin_case(p, "pool_back %s of %zu items up to %d, %zu columns, window %zu, how %d",
                       most ? "max" : "mean", items, batches[i].most, n, w, how);
            int32_t *size = sizes(p, items, batches[i].most, &windows[w]);
            twin_seg *from = grid_from(p, size, items, how & 2 ? FILL : 0),
                     *to = grid_from(p, places(p, size, items, &windows[w]), items, how & 2 ? FILL : 0);
            twin *x = twin_owned(p, "x", from, n, ACT, 1), *y = twin_result(p, "y", to->rows, n, ACT, false),
                 *which = most ? twin_result(p, "which", to->rows, n, INT | FLAT, false) : NULL,
                 *dy = twin_normal(p, "dy", to->rows, n, ACT, 1),
                 *dx = twin_result(p, "dx", from->rows, n, ACT, add);
            hd_grid_pool kind = most ? HD_GRID_MAX : HD_GRID_MEAN;
            RUN(p, pool, .y = ON(y), .which = ON(which), .x = ON(x), .to = ON(to), .from = ON(from),
                .window = windows[w], .kind = kind);
            RUN(p, pool_back, .dx = ON(dx), .dy = ON(dy), .which = ON(which), .to = ON(to), .from = ON(from),
                .window = windows[w], .kind = kind, .add = add);
            check(p, dx);
        }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(regrid), PAIR_TEST(lead), PAIR_TEST(pixels), PAIR_TEST(patches), PAIR_TEST(patches_back),
          PAIR_TEST(transpose), PAIR_TEST(pool), PAIR_TEST(pool_back))
