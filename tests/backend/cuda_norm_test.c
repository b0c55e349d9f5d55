/* Layer norm and RMS norm with residual and dropout, forward and back, on the device against the cpu. */
#include "backend/pair.h"

static const struct {
    size_t rows, cols;
} sizes[] = {{1, 1},      {4, 3},      {5, 7},    {6, 8},    {17, 17},  {33, 33},   {9, 100},
             {70, 64},    {3, 520},    {66, 256}, {2, 1024}, {3, 2049}, {300, 512}, {1000, 1024},
             {300, 2048}, {2000, 512}, {5, 4096}, {2, 8192}, {3, 8200}};
enum { LARGE = 12 };

#define EACH_SIZE(p, i)                                         \
    for ((p)->layout = 0; (p)->layout < LAYOUTS; (p)->layout++) \
        for (size_t i = 0; i < COUNT_OF(sizes); i++)            \
            if (i < LARGE || (!small_only() && (p)->layout != ODD))

static twin_seg *seg_for(pair *p, size_t rows, int how)
{
    int32_t half = (int32_t)rows / 2, len[] = {half, 0, (int32_t)rows - half};
    return how ? seg_from(p, len, 3, KEYS) : NULL;
}

static void norm(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int how = 0; how < 64; how++) {
        size_t m = sizes[i].rows, n = sizes[i].cols;
        bool rms = how & 1, branch = how & 2, sum = branch && how & 4, gain = how & 8, bias = how & 16,
             stat = how & 32;
        float drop = branch && how & 16 ? 0.2f : 0;
        if (i >= LARGE && how % 11) continue;
        /* the device may take mean and deviation from the sum before or after it is rounded: in a row of a
           few numbers that lie close together this is all the difference */
        if (p->bf16 && branch && n < 16) continue;
        bool from_one = rms && gain && !bias;
        begin_case(p, "norm %zux%zu rms %d branch %d sum %d gain %d bias %d stat %d drop %g from one %d", m,
                   n, rms, branch, sum, gain, bias, stat, (double)drop, from_one);
        p->whole = how & 8;
        twin_seg *seg = seg_for(p, m, how & 4);
        twin *x = twin_normal(p, "x", m, n, ACT, 2),
             *b = branch ? twin_normal(p, "branch", m, n, ACT, 1) : NULL,
             *s = sum ? twin_result(p, "sum", m, n, ACT, false) : NULL,
             *y = twin_result(p, "y", m, n, ACT, false),
             *g = gain ? twin_normal(p, "gain", 1, n, REAL | FLAT, 1) : NULL,
             *c = bias ? twin_normal(p, "bias", 1, n, REAL | FLAT, 1) : NULL,
             *t = stat ? twin_result(p, "stat", m, 2, REAL | FLAT, false) : NULL;
        RUN(p, norm, .y = ON(y), .sum = ON(s), .stat = ON(t), .x = ON(x), .branch = ON(b), .gain = ON(g),
            .bias = ON(c), .eps = 1e-5f, .rms = rms, .from_one = from_one, .draw = DRAW(p, drop, seg));
        check(p, s);
        check(p, y);
        if (t) compare(p, t, (close_enough){.tolerance = p->bf16 && branch ? TOLERANCE_BF16 : TOLERANCE_F32});
    }
    pair_done(p);
}

/* Numbers far from 0 beside their deviation: the mean must not be lost in the squares. */
static void norm_far_from_zero(void **state)
{
    pair *p = pair_of(state);
    for (int rms = 0; rms < 2; rms++) {
        size_t m = 5, n = 512;
        begin_case(p, "far from zero rms %d", rms);
        float *v = normals(p, m * n, 1);
        for (size_t i = 0; i < m * n; i++) v[i] = 100 + 4 * roundf(v[i]); /* bf16 numbers */
        twin *x = twin_from(p, "x", m, n, ACT, v), *y = twin_result(p, "y", m, n, ACT, false),
             *t = twin_result(p, "stat", m, 2, REAL | FLAT, false);
        RUN(p, norm, .y = ON(y), .x = ON(x), .stat = ON(t), .eps = 1e-6f, .rms = rms);
        check(p, y);
        check(p, t);
    }
    pair_done(p);
}

static void norm_back(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int how = 0; how < 128; how++) {
        size_t m = sizes[i].rows, n = sizes[i].cols;
        bool rms = how & 1, branch = how & 2, add_branch = how & 4, add_x = how & 8, gain = how & 16,
             dsum = how & 32, only = how & 64;
        if ((i >= LARGE && how % 13) || (!branch && add_branch)) continue;
        float drop = branch && how & 8 ? 0.2f : 0;
        begin_case(p, "norm_back %zux%zu rms %d branch %d adds %d %d gain %d dsum %d drop %g only %d", m, n,
                   rms, branch, add_x, add_branch, gain, dsum, (double)drop, only);
        p->whole = how & 16;
        twin_seg *seg = seg_for(p, m, how & 4);
        float *v = normals(p, m * n, 2), *t = normals(p, 2 * m, 1);
        for (size_t r = 0; r < m; r++)
            t[2 * r] = rms ? 0 : 0.1f * t[2 * r], t[2 * r + 1] = 0.4f + 0.1f * fabsf(t[2 * r + 1]);
        bool no_dx = only && branch;
        twin *sum = twin_from(p, "sum", m, n, ACT, v), *stat = twin_from(p, "stat", m, 2, REAL | FLAT, t),
             *dy = twin_normal(p, "dy", m, n, ACT, 1),
             *g = gain ? twin_normal(p, "gain", 1, n, REAL | FLAT, 1) : NULL,
             *more = dsum ? twin_normal(p, "dsum", m, n, ACT, 1) : NULL,
             *dx = no_dx ? NULL : twin_result(p, "dx", m, n, ACT, add_x),
             *db = branch ? twin_result(p, "dbranch", m, n, ACT, add_branch) : NULL,
             *dgain = gain && !only ? twin_result(p, "dgain", 1, n, REAL | FLAT, true) : NULL,
             *dbias = gain && (how & 8 || !only) ? twin_result(p, "dbias", 1, n, REAL | FLAT, true) : NULL;
        RUN(p, norm_back, .dx = ON(dx), .dbranch = ON(db), .dgain = ON(dgain), .dbias = ON(dbias),
            .dy = ON(dy), .dsum = ON(more), .sum = ON(sum), .stat = ON(stat), .gain = ON(g), .rms = rms,
            .from_one = rms && dsum, .add_x = add_x, .add_branch = add_branch, .draw = DRAW(p, drop, seg));
        check(p, dx);
        if (db)
            compare(p, db,
                    (close_enough){.tolerance = tolerance_of(p, db),
                                   .zeros = drop > 0 && !add_branch && n > 1 && !p->whole});
        check(p, dgain);
        check(p, dbias);
    }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(norm), PAIR_TEST(norm_far_from_zero), PAIR_TEST(norm_back))
