/* Softmax over rows and down segments, with logarithms and the ways back, on the device against the cpu. */
#include "backend/pair.h"

static const struct {
    size_t rows, cols;
} sizes[] = {{1, 1},   {5, 3},    {4, 7},    {3, 8},     {17, 17},    {9, 33},     {6, 100},
             {40, 64}, {2, 1000}, {3, 2049}, {300, 512}, {700, 1024}, {40, 32768}, {6, 50304}};
enum { LARGE = 10 };

#define EACH_SIZE(p, i)                                         \
    for ((p)->layout = 0; (p)->layout < LAYOUTS; (p)->layout++) \
        for (size_t i = 0; i < COUNT_OF(sizes); i++)            \
            if (i < LARGE || (!small_only() && (p)->layout == DENSE))

/* Logits with rows that are hard: far from 0, partly and wholly -inf. */
static float *hard(pair *p, size_t m, size_t n)
{
    float *v = normals(p, m * n, 3);
    for (size_t r = 0; r < m; r++)
        for (size_t c = 0; c < n; c++) {
            float *x = v + r * n + c;
            if (r % 5 == 1) *x += 1024;
            if (r % 5 == 2) *x -= 512;
            if (r % 5 == 3 && c % 2) *x = -INFINITY;
            if (r % 5 == 4) *x = -INFINITY;
        }
    return v;
}

/* Shares of a wide row are small: what is let pass of a 0 must be smaller. */
static void check_shares(pair *p, const twin *t, const bool *rows, size_t among)
{
    double tolerance = tolerance_of(p, t);
    compare(p, t,
            (close_enough){.tolerance = tolerance, .floor = tolerance / 50 / (double)among, .rows = rows});
}

static void softmax(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int how = 0; how < 6; how++) { /* y: activation, statistic; in place */
        size_t m = sizes[i].rows, n = sizes[i].cols;
        bool log = how & 1, same = how / 2 == 2;
        begin_case(p, "softmax %zux%zu how %d", m, n, how);
        twin *x = twin_from(p, "x", m, n, ACT, hard(p, m, n)),
             *y = same ? x : twin_result(p, "y", m, n, how / 2 ? REAL : ACT, false);
        RUN(p, softmax, .y = ON(y), .x = ON(x), .log = log);
        check_shares(p, y, NULL, log ? 1 : n);
    }
    pair_done(p);
}

static void softmax_back(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int how = 0; how < 8; how++) {
        size_t m = sizes[i].rows, n = sizes[i].cols;
        bool log = how & 1, add = how & 2;
        int kind = how & 4 ? REAL : ACT; /* logarithms are f32, and so is what flows into them */
        begin_case(p, "softmax_back %zux%zu how %d", m, n, how);
        twin *x = twin_normal(p, "x", m, n, REAL, 2), *y = twin_result(p, "y", m, n, REAL, false);
        RUN_ON(p, 0, softmax, .y = ON(y), .x = ON(x), .log = log);
        float *whole = twin_read(p, y, 0), *v = pair_take(p, 2, m * n * sizeof *v);
        for (size_t r = 0; r < m; r++) memcpy(v + r * n, whole + r * y->wide + y->left, n * sizeof *v);
        free(whole);
        twin *kept = twin_from(p, "kept", m, n, kind, v), *dy = twin_normal(p, "dy", m, n, kind, 1),
             *dx = twin_result(p, "dx", m, n, ACT, add);
        RUN(p, softmax_back, .dx = ON(dx), .dy = ON(dy), .y = ON(kept), .log = log, .add = add);
        check_shares(p, dx, NULL, log || add ? 1 : n);
    }
    pair_done(p);
}

static const struct {
    size_t items, cols;
    int least, most;
} batches[] = {{1, 1, 1, 1},   {3, 1, 1, 9},    {5, 3, 0, 7},   {4, 8, 0, 40},
               {9, 17, 0, 33}, {7, 100, 0, 70}, {6, 8, 3, 300}, {20, 512, 0, 200}};
enum { LARGE_BATCH = 7 };

#define EACH_BATCH(p, i)                                        \
    for ((p)->layout = 0; (p)->layout < LAYOUTS; (p)->layout++) \
        for (size_t i = 0; i < COUNT_OF(batches); i++)          \
            if (i < LARGE_BATCH || !small_only())

static void segment_softmax(void **state)
{
    pair *p = pair_of(state);
    EACH_BATCH(p, i)
    for (int how = 0; how < 16; how++) {
        size_t n = batches[i].cols;
        bool log = how & 1;
        begin_case(p, "segment_softmax %zu items of %d-%d, %zu columns, how %d", batches[i].items,
                   batches[i].least, batches[i].most, n, how);
        twin_seg *seg = seg_from(p, lengths(p, batches[i].items, batches[i].least, batches[i].most),
                                 batches[i].items, (how & 4 ? GAPS | FILL : 0) | (how & 8 ? LOOSE : 0));
        float *v = normals(p, seg->rows * n, 3);
        for (size_t r = 0; r < seg->rows; r++)
            for (size_t c = 0; c < n; c++)
                v[r * n + c] = !seg->owned[r] ? NAN
                               : c % 4 == 3   ? -INFINITY
                                              : v[r * n + c] + (c % 4 == 2 ? 512 : 0);
        twin *x = twin_from(p, "x", seg->rows, n, ACT, v),
             *y = twin_result(p, "y", seg->rows, n, how & 2 ? REAL : ACT, false);
        RUN(p, segment_softmax, .y = ON(y), .x = ON(x), .seg = ON(seg), .log = log);
        check_rows(p, y, seg->owned);
    }
    pair_done(p);
}

static void segment_softmax_back(void **state)
{
    pair *p = pair_of(state);
    EACH_BATCH(p, i)
    for (int how = 0; how < 32; how++) {
        size_t n = batches[i].cols;
        bool log = how & 1, add = how & 2, overlap = how & 16;
        if (overlap && !add) continue; /* which item would win is nobody's business */
        begin_case(p, "segment_softmax_back %zu items of %d-%d, %zu columns, how %d", batches[i].items,
                   batches[i].least, batches[i].most, n, how);
        twin_seg *seg =
            seg_from(p, lengths(p, batches[i].items, batches[i].least, batches[i].most), batches[i].items,
                     (how & 4 ? GAPS | FILL : 0) | (how & 8 ? LOOSE : 0) | (overlap ? OVERLAP : 0));
        int kind = how & 8 ? REAL : ACT;
        float *v = normals(p, seg->rows * n, 1);
        for (size_t r = 0; r < seg->rows * n; r++) v[r] = log ? -fabsf(v[r]) : 0.1f * fabsf(v[r]);
        twin *y = twin_from(p, "y", seg->rows, n, kind, v), *dy = twin_owned(p, "dy", seg, n, kind, 1),
             *dx = twin_result(p, "dx", seg->rows, n, ACT, add);
        RUN(p, segment_softmax_back, .dx = ON(dx), .dy = ON(dy), .y = ON(y), .seg = ON(seg), .log = log,
            .add = add);
        compare(p, dx,
                (close_enough){.tolerance = tolerance_of(p, dx) * (overlap ? 2 : 1), .rows = seg->owned});
    }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(softmax), PAIR_TEST(softmax_back), PAIR_TEST(segment_softmax),
          PAIR_TEST(segment_softmax_back))
