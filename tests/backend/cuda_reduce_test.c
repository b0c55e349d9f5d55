/* Reductions of segments to one row, and their ways back, on the device against the cpu. */
#include "backend/pair.h"

static const struct {
    size_t items, cols;
    int least, most;
} batches[] = {{1, 1, 1, 1},   {3, 1, 1, 9},    {5, 3, 0, 7},  {4, 8, 0, 40},    {9, 17, 0, 33},
               {6, 33, 0, 20}, {7, 100, 0, 70}, {5, 64, 0, 0}, {64, 512, 0, 60}, {5, 1024, 100, 700}};
enum { LARGE = 8 };
static const char *const names[] = {"sum", "mean", "max", "first", "last"};

#define EACH_BATCH(p, i)                                        \
    for ((p)->layout = 0; (p)->layout < LAYOUTS; (p)->layout++) \
        for (size_t i = 0; i < COUNT_OF(batches); i++)          \
            if (i < LARGE || (!small_only() && (p)->layout == DENSE))

static twin_seg *seg_for(pair *p, size_t i, int how, const char *name)
{
    begin_case(p, "%s of %zu items of %d-%d, %zu columns, how %d", name, batches[i].items, batches[i].least,
               batches[i].most, batches[i].cols, how);
    return seg_from(p, lengths(p, batches[i].items, batches[i].least, batches[i].most), batches[i].items,
                    how);
}

static void reduce(void **state)
{
    pair *p = pair_of(state);
    const int hows[] = {0, GAPS | FILL, OVERLAP, LOOSE | KEYS};
    EACH_BATCH(p, i)
    for (size_t h = 0; h < COUNT_OF(hows); h++)
        for (int kind = HD_SUM; kind <= HD_LAST; kind++)
            for (int with = 0; with < 2; with++) {
                twin_seg *seg = seg_for(p, i, hows[h], names[kind]);
                size_t n = batches[i].cols;
                float *v = normals(p, seg->rows * n, 1);
                for (size_t r = 0; r < seg->rows; r++)
                    for (size_t c = 0; c < n; c++) {
                        float *x = v + r * n + c;
                        if (kind == HD_MAX) *x = roundf(2 * *x); /* ties: the first row wins */
                        if (!seg->owned[r]) *x = NAN;
                    }
                twin *x = twin_from(p, "x", seg->rows, n, ACT, v),
                     *y = twin_result(p, "y", seg->items, n, ACT, false),
                     *which = kind == HD_MAX && with
                                  ? twin_result(p, "which", seg->items, n, INT | FLAT, false)
                                  : NULL;
                RUN(p, reduce, .y = ON(y), .which = ON(which), .x = ON(x), .seg = ON(seg),
                    .kind = (hd_reduction)kind);
                check(p, y);
                check_same(p, which, NULL);
            }
    pair_done(p);
}

/* A row of the item for each column, or -1. */
static twin *some_rows(pair *p, const twin_seg *seg, size_t n)
{
    float *v = normals(p, seg->items * n, 1);
    hd_rng rng = hd_rng_make(5, 5);
    for (size_t i = 0; i < seg->items * n; i++) {
        int32_t len = seg->len[i / n],
                row = len ? seg->begin[i / n] + (int32_t)hd_rng_below(&rng, (uint32_t)len) : -1;
        memcpy(v + i, &row, sizeof row);
    }
    return twin_from(p, "which", seg->items, n, INT | FLAT, v);
}

static void reduce_back(void **state)
{
    pair *p = pair_of(state);
    const int hows[] = {0, GAPS | FILL, OVERLAP, LOOSE | KEYS};
    EACH_BATCH(p, i)
    for (size_t h = 0; h < COUNT_OF(hows); h++)
        for (int kind = HD_SUM; kind <= HD_LAST; kind++) {
            twin_seg *seg = seg_for(p, i, hows[h], names[kind]);
            size_t n = batches[i].cols;
            twin *dx = twin_result(p, "dx", seg->rows, n, ACT, true),
                 *dy = twin_normal(p, "dy", seg->items, n, ACT, 1),
                 *which = kind == HD_MAX ? some_rows(p, seg, n) : NULL;
            RUN(p, reduce_back, .dx = ON(dx), .dy = ON(dy), .which = ON(which), .seg = ON(seg),
                .kind = (hd_reduction)kind);
            /* rows of two items may be rounded twice */
            compare(p, dx, (close_enough){.tolerance = tolerance_of(p, dx) * (hows[h] & OVERLAP ? 2 : 1)});
        }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(reduce), PAIR_TEST(reduce_back))
