/* Batch norm and group norm, forward and back, on the device against the cpu: live and given statistics, rows
   of no item, what is added, activations. */
#include "backend/pair.h"

static const struct {
    size_t rows, cols;
} sizes[] = {{1, 1},   {4, 6},    {7, 8},     {18, 24},  {33, 30},   {9, 96},     {70, 64},
             {3, 520}, {66, 256}, {20, 1024}, {3, 2050}, {9000, 64}, {2000, 512}, {4000, 48}};
enum { LARGE = 11 };

#define EACH_SIZE(p, i)                                         \
    for ((p)->layout = 0; (p)->layout < LAYOUTS; (p)->layout++) \
        for (size_t i = 0; i < COUNT_OF(sizes); i++)            \
            if (i < LARGE || (!small_only() && (p)->layout == DENSE))

static twin_seg *seg_for(pair *p, size_t rows, bool fill)
{
    int32_t half = (int32_t)rows / 2, third = (int32_t)rows / 3,
            len[] = {half, 0, third, (int32_t)rows - half - third};
    return seg_from(p, len, 4, fill ? FILL | LOOSE : 0);
}

typedef struct how {
    bool together, given, segments, fill, affine, add, renews;
    int groups;
    hd_unary act;
} how;

static how how_of(int bits, size_t cols)
{
    how h = {.together = bits & 1,
             .segments = bits & 2,
             .fill = (bits & 6) == 6,
             .affine = bits & 8,
             .add = bits & 16};
    h.given = h.together && bits & 4 && !h.fill, h.renews = h.together && bits & 8;
    h.groups = h.together ? (int)cols : cols % 2 ? 1 : cols % 3 ? 2 : 6;
    h.act = bits & 16 ? HD_relu : bits & 8 ? HD_gelu : HD_IDENTITY;
    return h;
}

static void group_norm(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int bits = 0; bits < 32; bits++) {
        how h = how_of(bits, sizes[i].cols);
        if (i >= LARGE && bits % 5) continue;
        begin_case(p, "group_norm %zux%zu bits %d", sizes[i].rows, sizes[i].cols, bits);
        twin_seg *seg = h.segments ? seg_for(p, sizes[i].rows, h.fill) : NULL;
        size_t m = seg ? seg->rows : sizes[i].rows, n = sizes[i].cols,
               sets = seg && !h.together ? seg->items : 1;
        float *running = normals(p, n, 1);
        for (size_t c = 0; c < n; c++) running[c] = 0.5f + fabsf(running[c]);
        twin *x = seg ? twin_owned(p, "x", seg, n, ACT, 2) : twin_normal(p, "x", m, n, ACT, 2),
             *add = !h.add ? NULL
                    : seg  ? twin_owned(p, "add", seg, n, ACT, 1)
                           : twin_normal(p, "add", m, n, ACT, 1),
             *y = twin_result(p, "y", m, n, ACT, false),
             *before = h.act == HD_gelu ? twin_result(p, "before", m, n, ACT, false) : NULL,
             *gain = h.affine ? twin_normal(p, "gain", 1, n, REAL | FLAT, 1) : NULL,
             *bias = h.affine ? twin_normal(p, "bias", 1, n, REAL | FLAT, 1) : NULL,
             *stat = twin_result(p, "stat", 2 * sets, n, REAL | FLAT, false),
             *mean = h.given || h.renews ? twin_normal(p, "mean", 1, n, REAL | FLAT, 1) : NULL,
             *variance = mean ? twin_from(p, "variance", 1, n, REAL | FLAT, running) : NULL;
        RUN(p, group_norm, .y = ON(y), .before = ON(before), .x = ON(x), .add = ON(add), .gain = ON(gain),
            .bias = ON(bias), .stat = ON(stat), .mean = ON(mean), .variance = ON(variance),
            .seg = seg ? &seg->on[side] : NULL, .groups = h.groups, .together = h.together, .given = h.given,
            .eps = 1e-2f, .momentum = 0.1f, .act = h.act);
        check(p, y);
        check(p, before);
        check(p, stat);
        check(p, mean);
        check(p, variance);
    }
    pair_done(p);
}

/* Numbers far from 0 beside their deviation: the mean must not be lost in the squares. */
static void far_from_zero(void **state)
{
    pair *p = pair_of(state);
    for (int together = 0; together < 2; together++) {
        size_t m = 700, n = 64;
        begin_case(p, "far from zero together %d", together);
        float *v = normals(p, m * n, 1);
        for (size_t i = 0; i < m * n; i++) v[i] = 100 + 4 * roundf(v[i]); /* bf16 numbers */
        twin *x = twin_from(p, "x", m, n, ACT, v), *y = twin_result(p, "y", m, n, ACT, false),
             *stat = twin_result(p, "stat", 2, n, REAL | FLAT, false);
        RUN(p, group_norm, .y = ON(y), .x = ON(x), .stat = ON(stat), .groups = together ? 64 : 8,
            .together = together, .eps = 1e-6f);
        check(p, y);
        check(p, stat);
    }
    pair_done(p);
}

static void group_norm_back(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int bits = 0; bits < 64; bits++) {
        how h = how_of(bits, sizes[i].cols);
        bool adds = bits & 32, only = bits & 16;
        if (i >= LARGE && bits % 9) continue;
        begin_case(p, "group_norm_back %zux%zu bits %d", sizes[i].rows, sizes[i].cols, bits);
        twin_seg *seg = h.segments ? seg_for(p, sizes[i].rows, h.fill) : NULL;
        size_t m = seg ? seg->rows : sizes[i].rows, n = sizes[i].cols,
               sets = seg && !h.together ? seg->items : 1;
        float *t = normals(p, 2 * sets * n, 1);
        for (size_t s = 0; s < sets; s++)
            for (size_t c = 0; c < n; c++) /* the columns of a group share theirs */
                t[2 * s * n + c] = 0.2f, t[(2 * s + 1) * n + c] = 0.4f + 0.1f * (float)s;
        twin *x = seg ? twin_owned(p, "x", seg, n, ACT, 2) : twin_normal(p, "x", m, n, ACT, 2),
             *dz = seg ? twin_owned(p, "dz", seg, n, ACT, 1) : twin_normal(p, "dz", m, n, ACT, 1),
             *stat = twin_from(p, "stat", 2 * sets, n, REAL | FLAT, t),
             *gain = h.affine ? twin_normal(p, "gain", 1, n, REAL | FLAT, 1) : NULL,
             *dx = only && adds ? NULL : twin_result(p, "dx", m, n, ACT, adds),
             *dgain = h.affine && !only ? twin_result(p, "dgain", 1, n, REAL | FLAT, true) : NULL,
             *dbias = h.affine ? twin_result(p, "dbias", 1, n, REAL | FLAT, true) : NULL;
        RUN(p, group_norm_back, .dx = ON(dx), .dgain = ON(dgain), .dbias = ON(dbias), .dz = ON(dz),
            .x = ON(x), .gain = ON(gain), .stat = ON(stat), .seg = seg ? &seg->on[side] : NULL,
            .groups = h.groups, .together = h.together, .given = h.given, .add = adds);
        check(p, dx);
        check_same(p, dz, NULL);
        check(p, dgain);
        check(p, dbias);
    }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(group_norm), PAIR_TEST(far_from_zero), PAIR_TEST(group_norm_back))
