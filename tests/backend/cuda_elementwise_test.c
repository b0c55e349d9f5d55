/* Elementwise kernels, column sums and totals on the device against the cpu. The masks of dropout must be the
   same element for element: a resumed or a divided training run draws them again. */
#include "backend/pair.h"

static const struct {
    size_t rows, cols;
} sizes[] = {{1, 1},   {5, 3},   {3, 7},    {4, 8},    {17, 17},   {33, 33},
             {40, 64}, {6, 100}, {130, 24}, {2, 1000}, {300, 512}, {1030, 1024}};
enum { LARGE = 10 }; /* sizes from here on */

/* Every size in every layout. */
#define EACH_SIZE(p, i)                                         \
    for ((p)->layout = 0; (p)->layout < LAYOUTS; (p)->layout++) \
        for (size_t i = 0; i < COUNT_OF(sizes); i++)            \
            if (i < LARGE || (!small_only() && (p)->layout != ODD))

static void unary(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int f = 0; f < HD_UNARIES; f++)
        for (int same = 0; same < 2; same++) {
            size_t m = sizes[i].rows, n = sizes[i].cols;
            if (i >= LARGE && f % 3) continue;
            begin_case(p, "%s %zux%zu%s", hd_unary_name((hd_unary)f), m, n, same ? " in place" : "");
            float *v = normals(p, m * n, 2);
            for (size_t j = 0; f == HD_log && j < m * n; j++) v[j] = fabsf(v[j]) + 0.01f;
            twin *x = twin_from(p, "x", m, n, ACT, v), *y = same ? x : twin_result(p, "y", m, n, ACT, false);
            RUN(p, unary, .y = ON(y), .x = ON(x), .f = (hd_unary)f);
            check(p, y);
        }
    pair_done(p);
}

/* Where functions saturate: large arguments, and 0. */
static void unary_at_the_ends(void **state)
{
    pair *p = pair_of(state);
    const float ends[] = {0, -0.0f, 1e-6f, -1e-6f, 5, -5, 12, -12, 30, -30, 80, -80, 100, -100, 1000, -1000};
    for (int f = 0; f < HD_UNARIES; f++) {
        if (f == HD_log) continue;
        begin_case(p, "%s at the ends", hd_unary_name((hd_unary)f));
        size_t n =
            f == HD_exp ? 12 : COUNT_OF(ends); /* beyond, exp overflows: where it does is its own affair */
        for (size_t c = 0; c < n; c++) {
            twin *x = twin_from(p, "x", 1, 1, ACT, ends + c), *y = twin_result(p, "y", 1, 1, ACT, false),
                 *dx = twin_result(p, "dx", 1, 1, ACT, false), *dy = twin_normal(p, "dy", 1, 1, ACT, 1);
            RUN(p, unary, .y = ON(y), .x = ON(x), .f = (hd_unary)f);
            check(p, y);
            if (!hd_unary_keeps_x((hd_unary)f)) continue;
            RUN(p, unary_back, .dx = ON(dx), .dy = ON(dy), .kept = ON(x), .f = (hd_unary)f);
            check(p, dx);
        }
    }
    pair_done(p);
}

/* What f' is computed from: the argument, or the value (of the dropout, too, for relu). */
static float *kept_of(pair *p, hd_unary f, size_t count)
{
    float *x = normals(p, count, 1);
    for (size_t i = 0; i < count; i++) {
        if (f == HD_relu) x[i] = x[i] > 0 ? x[i] : 0;
        if (f == HD_log || f == HD_exp) x[i] = fabsf(x[i]) + 0.1f;
        if (f == HD_sigmoid) x[i] = 1 / (1 + expf(-x[i]));
        if (f == HD_tanh) x[i] = tanhf(x[i]);
    }
    return x;
}

static void unary_back(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int f = 0; f < HD_UNARIES; f++)
        for (int how = 0; how < 3; how++) { /* =, +=, dx is dy */
            size_t m = sizes[i].rows, n = sizes[i].cols;
            if (i >= LARGE && f % 3 != how % 3) continue;
            begin_case(p, "%s %zux%zu how %d", hd_unary_name((hd_unary)f), m, n, how);
            twin *kept = twin_from(p, "kept", m, n, ACT, kept_of(p, (hd_unary)f, m * n)),
                 *dy = twin_normal(p, "dy", m, n, ACT, 1),
                 *dx = how == 2 ? dy : twin_result(p, "dx", m, n, ACT, how == 1);
            RUN(p, unary_back, .dx = ON(dx), .dy = ON(dy), .kept = ON(kept), .f = (hd_unary)f,
                .add = how == 1);
            check(p, dx);
        }
    pair_done(p);
}

/* With a draw: dropout of dy first. The cpu does it in two steps here. */
static void unary_back_through_dropout(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int f = 0; f < HD_UNARIES; f++)
        for (int how = 0; how < 4; how++) {
            size_t m = sizes[i].rows, n = sizes[i].cols;
            if (i >= LARGE && f > HD_gelu) continue;
            begin_case(p, "%s %zux%zu how %d", hd_unary_name((hd_unary)f), m, n, how);
            int32_t len[] = {(int32_t)(m / 3), 0, (int32_t)(m - m / 3)};
            twin_seg *seg = how & 1 ? seg_from(p, len, 3, KEYS) : NULL;
            bool add = how == 2, same = how == 3;
            twin *kept = twin_from(p, "kept", m, n, ACT, kept_of(p, (hd_unary)f, m * n)),
                 *dy = twin_normal(p, "dy", m, n, ACT, 1),
                 *dx = same ? dy : twin_result(p, "dx", m, n, ACT, add),
                 *middle = twin_result(p, "middle", m, n, REAL, false);
            if (f == HD_relu) RUN(p, dropout, .y = ON(kept), .x = ON(kept), .draw = DRAW(p, 0.3f, seg));
            RUN_ON(p, 0, dropout, .y = ON(middle), .x = ON(dy), .draw = DRAW(p, 0.3f, seg));
            RUN_ON(p, 0, unary_back, .dx = ON(dx), .dy = ON(middle), .kept = ON(kept), .f = (hd_unary)f,
                   .add = add);
            RUN_ON(p, 1, unary_back, .dx = ON(dx), .dy = ON(dy), .kept = ON(kept), .f = (hd_unary)f,
                   .add = add, .draw = DRAW(p, 0.3f, seg));
            compare(p, dx,
                    (close_enough){.tolerance = tolerance_of(p, dx), .zeros = f == HD_IDENTITY && !add});
        }
    pair_done(p);
}

/* With the sums of the columns, as the gradient of a bias before a function and its dropout. */
static void unary_back_with_sums(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int f = 0; f <= HD_gelu; f++)
        for (int how = 0; how < 4; how++) {
            size_t m = sizes[i].rows, n = sizes[i].cols;
            begin_case(p, "%s %zux%zu how %d", hd_unary_name((hd_unary)f), m, n, how);
            float drop = how & 1 ? 0.3f : 0;
            twin_seg *seg = NULL;
            twin *kept = twin_from(p, "kept", m, n, ACT, kept_of(p, (hd_unary)f, m * n)),
                 *dy = twin_normal(p, "dy", m, n, ACT, 1),
                 *dx = how & 2 ? dy : twin_result(p, "dx", m, n, ACT, false),
                 *sums = twin_result(p, "sums", 1, n, REAL | FLAT, true);
            if (f == HD_relu && drop > 0)
                RUN(p, dropout, .y = ON(kept), .x = ON(kept), .draw = DRAW(p, drop, seg));
            RUN(p, unary_back, .dx = ON(dx), .dy = ON(dy), .kept = ON(kept), .sums = ON(sums),
                .f = (hd_unary)f, .draw = DRAW(p, drop, seg));
            check(p, dx);
            /* the device adds before it rounds, and terms of both signs leave a small sum */
            compare(p, sums, (close_enough){.tolerance = tolerance_of(p, dx), .floor = p->bf16 ? 2e-2 : 0});
        }
    pair_done(p);
}

/* Which of the operands are parameters or statistics, f32 whatever the compute type. */
static const struct {
    int y, x, z;
} mixes[] = {{ACT, ACT, ACT}, {ACT, ACT, REAL}, {REAL, ACT, ACT}, {REAL, REAL, REAL}, {ACT, REAL, ACT}};

static void mix(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int how = 0; how < 8; how++) /* z: none, one row, whole, whole in place; each = and += */
        for (size_t k = 0; k < (p->bf16 ? COUNT_OF(mixes) : 1); k++) {
            size_t m = sizes[i].rows, n = sizes[i].cols;
            if (i >= LARGE && k > 1) continue;
            begin_case(p, "mix %zux%zu how %d kinds %zu", m, n, how, k);
            int z_kind = how / 2;
            bool add = how & 1, same = z_kind == 3 && mixes[k].x == mixes[k].y;
            twin *x = twin_normal(p, "x", m, n, mixes[k].x, 1),
                 *z = z_kind ? twin_normal(p, "z", z_kind == 1 ? 1 : m, n, mixes[k].z, 1) : NULL,
                 *y = same ? x : twin_result(p, "y", m, n, mixes[k].y, add);
            if (same && add) continue;
            float a = i % 2 ? 1 : 0.75f, b = i % 3 ? -1 : 1.5f;
            RUN(p, mix, .y = ON(y), .x = ON(x), .z = ON(z), .a = a, .b = b, .add = add);
            check(p, y);
        }
    pair_done(p);
}

static void mul(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int how = 0; how < 8; how++) /* z: whole, one row, one column, one number */
        for (size_t k = 0; k < (p->bf16 ? COUNT_OF(mixes) : 1); k++) {
            size_t m = sizes[i].rows, n = sizes[i].cols;
            if (i >= LARGE && k > 1) continue;
            begin_case(p, "mul %zux%zu how %d kinds %zu", m, n, how, k);
            bool add = how & 1;
            twin *x = twin_normal(p, "x", m, n, mixes[k].x, 1),
                 *z = twin_normal(p, "z", how & 2 ? 1 : m, how & 4 ? 1 : n, mixes[k].z, 1),
                 *y = twin_result(p, "y", m, n, mixes[k].y, add);
            RUN(p, mul, .y = ON(y), .x = ON(x), .z = ON(z), .add = add);
            check(p, y);
        }
    pair_done(p);
}

static void dropout(void **state)
{
    pair *p = pair_of(state);
    const float shares[] = {0, 0.1f, 0.5f, 0.999f};
    EACH_SIZE(p, i)
    for (int how = 0; how < 32; how++) {
        float share = shares[how / 4 % 4];
        bool add = how & 1, same = !add && i % 2;
        int32_t third = (int32_t)sizes[i].rows / 3,
                len[] = {third, 0, (int32_t)sizes[i].rows - 2 * third, third};
        begin_case(p, "dropout %zux%zu how %d", sizes[i].rows, sizes[i].cols, how);
        p->whole = how >= 16;
        twin_seg *seg = how & 2 ? seg_from(p, len, 4, (i & 1 ? KEYS : 0) | (i & 2 ? FILL : 0) | GAPS) : NULL;
        size_t m = seg ? seg->rows : sizes[i].rows, n = sizes[i].cols;
        twin *x = twin_normal(p, "x", m, n, ACT, 1), *y = same ? x : twin_result(p, "y", m, n, ACT, add);
        RUN(p, dropout, .y = ON(y), .x = ON(x), .draw = DRAW(p, share, seg), .add = add);
        compare(p, y, (close_enough){.tolerance = tolerance_of(p, y), .zeros = !add});
    }
    pair_done(p);
}

/* A logarithm of a logarithm: where the inner one is near 0 or 1 an error of it grows. */
static void gumbel(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int how = 0; how < 4; how++) {
        int32_t third = (int32_t)sizes[i].rows / 3,
                len[] = {third, 0, (int32_t)sizes[i].rows - 2 * third, third};
        begin_case(p, "gumbel %zux%zu how %d", sizes[i].rows, sizes[i].cols, how);
        twin_seg *seg = how & 2 ? seg_from(p, len, 4, (i & 1 ? KEYS : 0) | (i & 2 ? FILL : 0) | GAPS) : NULL;
        size_t m = seg ? seg->rows : sizes[i].rows, n = sizes[i].cols;
        twin *x = twin_normal(p, "x", m, n, ACT, 1), *y = how & 1 ? x : twin_result(p, "y", m, n, ACT, false);
        RUN(p, gumbel, .y = ON(y), .x = ON(x), .draw = DRAW(p, 0, seg));
        compare(p, y, (close_enough){.tolerance = 4 * tolerance_of(p, y)});
    }
    pair_done(p);
}

static void column_sum(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int kind = ACT; kind <= (p->bf16 ? REAL : ACT); kind++) {
        begin_case(p, "column_sum %zux%zu", sizes[i].rows, sizes[i].cols);
        twin *x = twin_normal(p, "x", sizes[i].rows, sizes[i].cols, kind, 1),
             *y = twin_result(p, "y", 1, sizes[i].cols, REAL | FLAT, true);
        RUN(p, column_sum, .y = ON(y), .x = ON(x));
        check(p, y);
    }
    pair_done(p);
}

/* In double: also a few large numbers among many small ones come out. */
static void total(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int how = 0; how < 4; how++) {
        size_t m = sizes[i].rows, n = sizes[i].cols;
        begin_case(p, "total %zux%zu how %d", m, n, how);
        float *v = normals(p, m * n, 1);
        for (size_t j = 0; j < m * n; j++) v[j] = fabsf(v[j]) * (j % 50 ? 1 : 1000);
        twin *x = twin_from(p, "x", m, n, how & 2 ? ACT : REAL, v),
             *y = twin_result(p, "y", 1, 1, REAL | FLAT, how & 1);
        RUN(p, total, .y = ON(y), .x = ON(x), .scale = how & 1 ? 1 : 0.125f, .add = how & 1);
        compare(p, y, (close_enough){.tolerance = 1e-6});
    }
    pair_done(p);
}

static void gate(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int f = 0; f < HD_UNARIES; f++)
        for (int add = 0; add < 2; add++) {
            size_t m = sizes[i].rows, n = sizes[i].cols;
            if (i >= LARGE && f % 3) continue;
            begin_case(p, "gate of %s %zux%zu, add %d", hd_unary_name((hd_unary)f), m, n, add);
            float *v = normals(p, m * n, 1);
            for (size_t j = 0; f == HD_log && j < m * n; j++) v[j] = fabsf(v[j]) + 0.1f;
            for (size_t j = 0; f == HD_relu && j < m * n; j++) v[j] += v[j] < 0 ? -0.1f : 0.1f;
            twin *x = twin_from(p, "x", m, n, ACT, v), *z = twin_normal(p, "z", m, n, ACT, 1),
                 *y = twin_result(p, "y", m, n, ACT, false), *dy = twin_normal(p, "dy", m, n, ACT, 1),
                 *dx = twin_result(p, "dx", m, n, ACT, add), *dz = twin_result(p, "dz", m, n, ACT, add);
            RUN(p, gate, .y = ON(y), .x = ON(x), .z = ON(z), .f = (hd_unary)f);
            check(p, y);
            RUN(p, gate_back, .dx = ON(dx), .dz = ON(dz), .dy = ON(dy), .x = ON(x), .z = ON(z),
                .f = (hd_unary)f, .add = add);
            check(p, dx);
            check(p, dz);
        }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(gate), PAIR_TEST(unary), PAIR_TEST(unary_at_the_ends), PAIR_TEST(unary_back),
          PAIR_TEST(unary_back_through_dropout), PAIR_TEST(unary_back_with_sums), PAIR_TEST(mix),
          PAIR_TEST(mul), PAIR_TEST(dropout), PAIR_TEST(gumbel), PAIR_TEST(column_sum), PAIR_TEST(total))
