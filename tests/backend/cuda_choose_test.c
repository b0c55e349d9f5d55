/* Choosing columns on the device against the cpu. The ids of `top` are the same to the last; those of
   `sample` but for rows where the draw falls within a rounding of the border between two columns. */
#include "backend/pair.h"

static const struct {
    size_t rows, cols;
} sizes[] = {{1, 1},   {5, 3},    {4, 7},    {6, 8},      {17, 17},   {9, 33},
             {6, 100}, {8, 1000}, {3, 2049}, {300, 1000}, {64, 32768}};
enum { LARGE = 9 };

#define EACH_SIZE(p, i)                                         \
    for ((p)->layout = 0; (p)->layout < LAYOUTS; (p)->layout++) \
        for (size_t i = 0; i < COUNT_OF(sizes); i++)            \
            if (i < LARGE || (!small_only() && (p)->layout == DENSE))

/* Rows with ties, NaN, infinities and both zeros among them. */
static float *hard(pair *p, size_t m, size_t n)
{
    float *v = normals(p, m * n, 3);
    for (size_t r = 0; r < m; r++)
        for (size_t c = 0; c < n; c++) {
            float *x = v + r * n + c;
            switch (r % 8) {
            case 1:
                *x = roundf(*x);
                break; /* ties, -0 and +0 */
            case 2:
                *x = c % 3 ? *x : NAN;
                break;
            case 3:
                *x = NAN;
                break;
            case 4:
                *x = c % 2 ? -INFINITY : *x;
                break;
            case 5:
                *x = 1.5f;
                break;
            case 6:
                *x = c % 5 == 4 ? INFINITY : c % 7 == 3 ? NAN : *x;
                break;
            }
        }
    return v;
}

static void top(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p, i)
    for (int k = 1; k <= 40; k += k < 9 ? 1 : k < 32 ? 7 : 8)
        for (int how = 0; how < 3; how++) {
            size_t m = sizes[i].rows, n = sizes[i].cols;
            if ((size_t)k > n || (i >= LARGE && k % 3 != 1)) continue;
            begin_case(p, "top %d of %zux%zu how %d", k, m, n, how);
            twin *x = twin_from(p, "x", m, n, how == 2 ? REAL : ACT, hard(p, m, n)),
                 *ids = twin_result(p, "ids", m, (size_t)k, INT | FLAT, false),
                 *values = how ? twin_result(p, "values", m, (size_t)k, REAL | FLAT, false) : NULL;
            RUN(p, top, .ids = ON(ids), .values = ON(values), .x = ON(x), .k = k);
            check_same(p, ids, NULL);
            check_same(p, values, NULL);
        }
    pair_done(p);
}

/* exp differs in its last bits from one side to the other, so a draw within 1e-6 of a border may fall to
   either side; so may a column at the border of top_p. That is one row in a hundred thousand; one in a
   hundred would be something else. Logarithms are compared where the ids are the same. */
static void check_draws(pair *p, const twin *ids, const twin *logp)
{
    if (p->broken) return;
    float *a = twin_read(p, ids, 0), *b = twin_read(p, ids, 1);
    bool *same = pair_take(p, 2, ids->rows);
    size_t differ = 0;
    for (size_t r = 0; r < ids->rows; r++) {
        size_t at = r * ids->wide + ids->left;
        same[r] = !memcmp(a + at, b + at, sizeof *a);
        differ += !same[r];
    }
    if (differ > (ids->rows + 99) / 100) fault(p, "%zu of %zu draws differ", differ, ids->rows);
    float *u = logp ? twin_read(p, logp, 0) : NULL, *v = logp ? twin_read(p, logp, 1) : NULL;
    for (size_t r = 0; logp && r < ids->rows; r++) {
        size_t at = r * logp->wide + logp->left;
        if (same[r] ? !(fabsf(u[at] - v[at]) <= 1e-4f * (1 + fabsf(u[at]))) : !isfinite(v[at])) {
            fault(p, "logp[%zu]: %.7g, expected %.7g", r, (double)v[at], (double)u[at]);
            break;
        }
    }
    free(u), free(v);
    p->compared++;
    free(a), free(b);
}

static void sample(void **state)
{
    pair *p = pair_of(state);
    static const struct {
        float temperature, top_p;
        int top_k;
    } options[] = {{1, 1, 0},      {0.7f, 1, 0}, {1.5f, 1, 5},    {1, 0.9f, 0},   {0.8f, 0.5f, 10},
                   {1, 0.95f, 40}, {1, 1, 1},    {1, 0.0001f, 0}, {1, 1, 100000}, {0.01f, 1, 0}};
    EACH_SIZE(p, i)
    for (size_t o = 0; o < COUNT_OF(options); o++)
        for (int how = 0; how < 4; how++) {
            size_t m = sizes[i].rows, n = sizes[i].cols;
            if (i >= LARGE && how % 3) continue;
            begin_case(p, "sample %zux%zu options %zu how %d", m, n, o, how);
            int32_t half = (int32_t)m / 2, len[] = {half, 0, (int32_t)m - half};
            twin_seg *seg = how & 1 ? seg_from(p, len, 3, o % 2 ? KEYS : 0) : NULL;
            float *v = normals(p, m * n, 2);
            for (size_t j = 0; j < m * n; j++)
                v[j] = j / n % 3 == 1 && j % 2 ? -INFINITY : j / n % 3 == 2 ? roundf(v[j]) : v[j];
            for (size_t r = 0; r < m; r++) v[r * n] = 1; /* some column is always possible */
            twin *x = twin_from(p, "x", m, n, how & 2 ? REAL : ACT, v),
                 *ids = twin_result(p, "ids", m, 1, INT | FLAT, false),
                 *logp = how != 3 ? twin_result(p, "logp", m, 1, REAL | FLAT, false) : NULL;
            RUN(p, sample, .ids = ON(ids), .logp = ON(logp), .x = ON(x),
                .temperature = options[o].temperature, .top_p = options[o].top_p, .top_k = options[o].top_k,
                .draw = DRAW(p, 0, seg));
            check_draws(p, ids, logp);
        }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(top), PAIR_TEST(sample))
