/* Losses with their gradients on the device against the cpu. */
#include "backend/pair.h"

static const struct {
    size_t rows, cols;
} sizes[] = {{1, 1},   {5, 3},    {4, 7},    {6, 8},      {17, 17},    {9, 33},    {6, 100},
             {3, 264}, {7, 1000}, {2, 2049}, {300, 1000}, {40, 32768}, {500, 8000}};
enum { LARGE = 10 };

#define EACH_SIZE(p, i)                                         \
    for ((p)->layout = 0; (p)->layout < LAYOUTS; (p)->layout++) \
        for (size_t i = 0; i < COUNT_OF(sizes); i++)            \
            if (i < LARGE || (!small_only() && (p)->layout == DENSE))

static void cross_entropy(void **state)
{
    pair *p = pair_of(state);
    enum { NO_DX, DX, DX_ADD, DX_IS_X, WAYS };
    EACH_SIZE(p, i)
    for (int way = 0; way < WAYS; way++)
        for (int how = 0; how < 24; how++) {
            size_t m = sizes[i].rows, n = sizes[i].cols;
            bool logp = how & 1, weighted = how & 2, loss = !(how & 4 && way), policy = how & 16;
            float smoothing = how & 8 ? 0.1f : 0;
            if (i >= LARGE && how != 3 && how != 8 && how != 19) continue;
            begin_case(p, "cross_entropy %zux%zu way %d how %d", m, n, way, how);
            float *v = normals(p, m * n, 3), *w = normals(p, m, 1),
                  *drawn = normals(p, m * HD_POLICY_COLUMNS, 1);
            int32_t *target = pair_take(p, 2, m * sizeof *target);
            for (size_t r = 0; r < m; r++) {
                for (size_t c = 0; c < n; c++) v[r * n + c] += r % 6 == 4 ? 512 : 0;
                w[r] = r % 9 == 8 ? 0 : fabsf(w[r]) + 0.1f;
                /* far from what is clipped, so that rounding does not decide; some as they were */
                drawn[r * HD_POLICY_COLUMNS + HD_POLICY_BEFORE] = r % 4 == 3 ? NAN : r % 2 ? -40 : 2;
                drawn[r * HD_POLICY_COLUMNS + HD_POLICY_ADVANTAGE] = r % 2 ? 1 : -0.5f;
                drawn[r * HD_POLICY_COLUMNS + HD_POLICY_REFERENCE] = -30;
                target[r] = r % 5 == 3 ? (r % 2 ? -1 : -100) : (int32_t)(r * 2654435761u % n);
            }
            if (m > 1) target[m - 1] = (int32_t)n - 1;
            twin *x = twin_from(p, "x", m, n, ACT, v),
                 *rows = policy ? twin_from(p, "policy", m, HD_POLICY_COLUMNS, REAL | FLAT, drawn) : NULL,
                 *weight = weighted ? twin_from(p, "weight", m, 1, REAL | FLAT, w) : NULL,
                 *l = loss ? twin_result(p, "loss", m, 1, REAL | FLAT, false) : NULL,
                 *q = logp ? twin_result(p, "logp", m, 1, REAL | FLAT, false) : NULL,
                 *dx = way == NO_DX     ? NULL
                       : way == DX_IS_X ? x
                                        : twin_result(p, "dx", m, n, ACT, way == DX_ADD);
            twin_ints *t = ints_from(p, target, m);
            RUN(p, cross_entropy, .loss = ON(l), .logp = ON(q), .dx = ON(dx), .x = ON(x),
                .target = t->on[side], .weight = ON(weight), .policy_rows = ON(rows),
                .policy = {0.2f, 0.28f, 0.1f}, .smoothing = smoothing, .coef = 0.5f, .add = way == DX_ADD);
            check(p, l);
            check(p, q);
            /* numbers of a wide row are small: the floor must be smaller */
            if (dx)
                compare(p, dx,
                        (close_enough){.tolerance = tolerance_of(p, dx),
                                       .floor = tolerance_of(p, dx) / 50 / (way == DX_ADD ? 1 : (double)n)});
        }
    pair_done(p);
}

static void distance(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int how = 0; how < 32; how++) {
        size_t m = sizes[i].rows, n = sizes[i].cols;
        hd_distance_kind kind = how & 1 ? HD_BINARY : HD_SQUARED;
        bool weighted = how & 2, dx = how & 4, dtarget = how & 8 && kind == HD_SQUARED;
        int target_kind = how & 16 ? REAL : ACT;
        if (i >= LARGE && how % 7) continue;
        begin_case(p, "distance %zux%zu how %d", m, n, how);
        float *v = normals(p, m * n, 1), *w = normals(p, m, 1);
        for (size_t j = 0; kind == HD_BINARY && j < m * n; j++) v[j] = 1 / (1 + expf(-v[j]));
        for (size_t r = 0; r < m; r++) w[r] = r % 9 == 8 ? 0 : fabsf(w[r]) + 0.1f;
        twin *x = twin_normal(p, "x", m, n, ACT, kind == HD_BINARY ? 20 : 1),
             *t = twin_from(p, "target", m, n, target_kind, v),
             *weight = weighted ? twin_from(p, "weight", m, 1, REAL | FLAT, w) : NULL,
             *loss = twin_result(p, "loss", m, 1, REAL | FLAT, false),
             *gx = dx ? twin_result(p, "dx", m, n, ACT, true) : NULL,
             *gt = dtarget ? twin_result(p, "dtarget", m, n, target_kind, true) : NULL;
        RUN(p, distance, .loss = ON(loss), .dx = ON(gx), .dtarget = ON(gt), .x = ON(x), .target = ON(t),
            .weight = ON(weight), .kind = kind, .coef = 0.25f);
        check(p, loss);
        check(p, gx);
        check(p, gt);
    }
    pair_done(p);
}

/* |x - t| of any shape, and boxes: apart, one in the other, equal, without area; a row of weight 0 holds NaN.
 */
static void boxes(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int how = 0; how < 8; how++) {
        bool giou = how & 1, weighted = how & 2, slopes = how & 4;
        size_t m = sizes[i].rows, n = giou ? 4 : sizes[i].cols;
        begin_case(p, "%s %zux%zu how %d", giou ? "giou" : "absolute", m, n, how);
        float *v = normals(p, m * n, 1), *u = normals(p, m * n, 1), *w = normals(p, m, 1);
        for (size_t r = 0; r < m; r++) {
            for (size_t c = 2; giou && c < 4; c++)
                v[r * n + c] = fabsf(v[r * n + c]), u[r * n + c] = fabsf(u[r * n + c]);
            if (giou && r % 7 == 2) v[r * n + 2] = 0;
            if (r % 7 == 3) memcpy(v + r * n, u + r * n, n * sizeof *v);
            w[r] = r % 9 == 8 ? 0 : fabsf(w[r]) + 0.1f;
            if (weighted && w[r] == 0) v[r * n] = NAN;
        }
        twin *x = twin_from(p, "x", m, n, ACT, v), *t = twin_from(p, "target", m, n, ACT, u),
             *weight = weighted ? twin_from(p, "weight", m, 1, REAL | FLAT, w) : NULL,
             *loss = twin_result(p, "loss", m, 1, REAL | FLAT, false),
             *gx = slopes ? twin_result(p, "dx", m, n, ACT, true) : NULL,
             *gt = slopes ? twin_result(p, "dtarget", m, n, ACT, true) : NULL;
        RUN(p, distance, .loss = ON(loss), .dx = ON(gx), .dtarget = ON(gt), .x = ON(x), .target = ON(t),
            .weight = ON(weight), .kind = giou ? HD_GIOU : HD_ABSOLUTE, .coef = 0.5f);
        check(p, loss);
        check(p, gx);
        check(p, gt);
    }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(cross_entropy), PAIR_TEST(distance), PAIR_TEST(boxes))
