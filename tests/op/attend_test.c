/* Attention in float against loops in double that follow the definition, for every option and many
   combinations; dropout by way of values that show the weights; and the same bits with a probe attached as
   without. */
#include "check.h"

enum { ITEMS = 4, MOST_HEADS = 8 };

typedef struct shape {
    const char *name;
    int items;
    int32_t qbegin[ITEMS], tq[ITEMS], kbegin[ITEMS], tk[ITEMS];
    size_t rq, rk; /* rows of the tensors; 0: as many as the last segment needs */
    bool overlap;
    int heads, kv_heads, d, dv;
    float scale, sigma, dropout;
    hd_mask mask;
    int window, block, span, buckets, reach, center;
    bool additive, both_ways, ragged, gate;
} shape;

/* Everything an attention takes, in host memory. */
typedef struct inputs {
    hd_real *q, *k, *v, *additive, *table, *distance, *center, *ragged, *gate;
    size_t rq, rk, pairs, d, dv, heads, groups;
} inputs;

static hd_real *numbers(size_t count, double spread, uint64_t seed)
{
    hd_real *x = malloc((count + 1) * sizeof *x);
    fill_normal(x, count, spread, seed);
    return x;
}

static inputs make_inputs(const shape *s)
{
    inputs n = {.d = (size_t)s->d,
                .dv = (size_t)(s->dv ? s->dv : s->d),
                .heads = (size_t)s->heads,
                .groups = (size_t)(s->kv_heads ? s->kv_heads : s->heads)};
    for (int i = 0; i < s->items; i++) {
        n.pairs += (size_t)s->tq[i] * (size_t)s->tk[i];
        if ((size_t)(s->qbegin[i] + s->tq[i]) > n.rq) n.rq = (size_t)(s->qbegin[i] + s->tq[i]);
        if ((size_t)(s->kbegin[i] + s->tk[i]) > n.rk) n.rk = (size_t)(s->kbegin[i] + s->tk[i]);
    }
    if (s->rq) n.rq = s->rq;
    if (s->rk) n.rk = s->rk;
    n.q = numbers(n.rq * n.heads * n.d, 1, 1), n.k = numbers(n.rk * n.groups * n.d, 1, 2),
    n.v = numbers(n.rk * n.groups * n.dv, 1, 3);
    n.additive = numbers(n.heads * n.d, 1, 4), n.table = numbers((size_t)s->buckets * n.heads, 1, 5),
    n.center = numbers(n.rq * (size_t)s->center, 3, 6);
    n.ragged = numbers(n.pairs * n.heads, 1, 7), n.gate = numbers(n.heads, 1, 8);
    n.distance = numbers(n.heads * (size_t)s->span * n.d, 1, 9);
    return n;
}

static void free_inputs(inputs *n)
{
    free(n->q), free(n->k), free(n->v), free(n->additive), free(n->table), free(n->center), free(n->ragged),
        free(n->gate), free(n->distance);
}

/* weights[row of the pair][head] by definition; zero where the query does not see the key */
static double *weights_by_definition(const shape *s, const inputs *n)
{
    double *all = calloc(n->pairs * n->heads + 1, sizeof *all), scale = s->scale != 0 ? (double)s->scale
                                                                        : s->additive
                                                                            ? 1
                                                                            : 1 / sqrt((double)n->d);
    size_t first = 0;
    for (int i = 0; i < s->items; first += (size_t)s->tq[i] * (size_t)s->tk[i], i++)
        for (size_t h = 0; h < n->heads; h++)
            for (int a = 0; a < s->tq[i]; a++) {
                size_t row = (size_t)(s->qbegin[i] + a), g = h * n->groups / n->heads;
                int at = a + s->tk[i] - s->tq[i];
                double max = -INFINITY, sum = 0;
                for (int j = 0; j < s->tk[i]; j++) {
                    double *w = &all[(first + (size_t)(a * s->tk[i] + j)) * n->heads + h], score = 0;
                    *w = -INFINITY;
                    double where = !s->center
                                       ? at
                                       : (double)n->center[row * (size_t)s->center + (s->center > 1 ? h : 0)];
                    double middle = s->center ? fmin(fmax(where, 0), s->tk[i] - 1) : at;
                    if ((s->mask == HD_CAUSAL && j > at) || (s->window && fabs(j - middle) > s->window))
                        continue;
                    if (s->block && j < (at / s->block - 1) * s->block) continue;
                    const hd_real *q = n->q + row * n->heads * n->d + h * n->d,
                                  *k = n->k + ((size_t)(s->kbegin[i] + j) * n->groups + g) * n->d;
                    for (size_t c = 0; c < n->d; c++)
                        score += s->additive
                                     ? (double)n->additive[h * n->d + c] * tanh((double)q[c] + (double)k[c])
                                     : (double)q[c] * (double)k[c];
                    for (size_t c = 0; s->span && c < n->d; c++) {
                        int far = at - j < s->span ? s->span - 1 - (at - j) : 0;
                        score += (double)q[c] *
                                 (double)n->distance[(h * (size_t)s->span + (size_t)far) * n->d + c];
                    }
                    score *= scale;
                    if (s->buckets)
                        score += (double)n->table[(size_t)hd_relative_bucket(j - at, s->buckets, s->both_ways,
                                                                             s->reach ? s->reach : 128) *
                                                      n->heads +
                                                  h];
                    if (s->center && s->sigma > 0)
                        score -= (j - where) * (j - where) / (2 * (double)s->sigma * (double)s->sigma);
                    if (s->ragged)
                        score += (double)n->ragged[(first + (size_t)(a * s->tk[i] + j)) * n->heads + h];
                    *w = score, max = fmax(max, score);
                }
                for (int pass = 0; pass < 2; pass++)
                    for (int j = 0; j < s->tk[i]; j++) {
                        double *w = &all[(first + (size_t)(a * s->tk[i] + j)) * n->heads + h];
                        if (!pass)
                            *w = *w > -INFINITY ? exp(*w - max) : 0, sum += *w;
                        else if (sum > 0)
                            *w /= sum;
                    }
            }
    return all;
}

/* y [rq, heads*dv] from weights; rows outside every segment stay zero */
static double *outputs_by_definition(const shape *s, const inputs *n, const double *weights)
{
    double *y = calloc(n->rq * n->heads * n->dv + 1, sizeof *y);
    size_t pair = 0;
    for (int i = 0; i < s->items; i++)
        for (int a = 0; a < s->tq[i]; a++)
            for (int j = 0; j < s->tk[i]; j++, pair++)
                for (size_t h = 0; h < n->heads; h++)
                    for (size_t c = 0; c < n->dv; c++)
                        y[((size_t)(s->qbegin[i] + a) * n->heads + h) * n->dv + c] +=
                            weights[pair * n->heads + h] * (s->gate ? (double)n->gate[h] : 1) *
                            (double)n->v[((size_t)(s->kbegin[i] + j) * n->groups + h * n->groups / n->heads) *
                                             n->dv +
                                         c];
    return y;
}

static bool gapless(const shape *s, const int32_t *begin, const int32_t *len, size_t rows)
{
    int32_t at = 0;
    for (int i = 0; i < s->items; i++) {
        if (begin[i] != at) return false;
        at += len[i];
    }
    return (size_t)at == rows;
}

static const hd_seg *segments(hd_run *r, const shape *s, const int32_t *begin, const int32_t *len,
                              size_t rows, bool overlap)
{
    if (gapless(s, begin, len, rows)) return hd_seg_of(r, len, (size_t)s->items, NULL);
    return seg_at(r, begin, len, (size_t)s->items, rows, overlap);
}

static hd_real *attend(hd_run *r, const shape *s, const inputs *n, hd_mode mode)
{
    hd_run_begin(r, mode);
    poison_step(r, 1 << 20);
    hd_attend_opt o = {.heads = s->heads,
                       .kv_heads = s->kv_heads,
                       .scale = s->scale,
                       .mask = s->mask,
                       .window = s->window,
                       .block = s->block,
                       .dropout = s->dropout,
                       .table_both_ways = s->both_ways,
                       .table_reach = s->reach,
                       .sigma = s->sigma};
    hd_rows q = {hd_from(r, n->rq, n->heads * n->d, n->q), segments(r, s, s->qbegin, s->tq, n->rq, false)};
    hd_rows k = {hd_from(r, n->rk, n->groups * n->d, n->k),
                 segments(r, s, s->kbegin, s->tk, n->rk, s->overlap)};
    hd_rows v = {hd_from(r, n->rk, n->groups * n->dv, n->v), k.seg};
    if (s->additive) o.score = HD_ADDITIVE, o.additive = hd_from(r, 1, n->heads * n->d, n->additive);
    if (s->buckets) o.table = hd_from(r, (size_t)s->buckets, n->heads, n->table);
    if (s->span) o.distance = hd_from(r, n->heads * (size_t)s->span, n->d, n->distance);
    if (s->center) o.center = hd_from(r, n->rq, (size_t)s->center, n->center);
    if (s->ragged) o.ragged = hd_from(r, n->pairs, n->heads, n->ragged);
    if (s->gate) o.gate = hd_from(r, 1, n->heads, n->gate);
    return host_copy(r, hd_attend(r, q, k, v, &o).t);
}

#define SELF(...) \
    .items = 3, .qbegin = {0, 5, 6}, .tq = {5, 1, 9}, .kbegin = {0, 5, 6}, .tk = {5, 1, 9}, __VA_ARGS__
#define CROSS(...) \
    .items = 3, .qbegin = {0, 4, 5}, .tq = {4, 1, 9}, .kbegin = {0, 3, 8}, .tk = {3, 5, 6}, __VA_ARGS__
/* rows that belong to nobody among queries and keys, an item without keys, one without queries */
#define GAPS(...)                                                                                        \
    .items = 4, .qbegin = {1, 4, 7, 7}, .tq = {3, 2, 0, 4}, .kbegin = {2, 6, 6, 12}, .tk = {4, 0, 3, 7}, \
    .rq = 13, .rk = 20, __VA_ARGS__
#define SHARED(...)                                                                                          \
    .items = 3, .qbegin = {0, 3, 5}, .tq = {3, 2, 2}, .kbegin = {0, 0, 2}, .tk = {6, 6, 5}, .overlap = true, \
    __VA_ARGS__
#define LARGE(...) \
    .items = 2, .qbegin = {0, 130}, .tq = {130, 3}, .kbegin = {0, 300}, .tk = {300, 9}, __VA_ARGS__

static const shape shapes[] = {
    {"one head", SELF(.heads = 1, .d = 7)},
    {"eight heads", SELF(.heads = 8, .d = 4)},
    {"heads over fewer", SELF(.heads = 4, .kv_heads = 2, .d = 5, .dv = 3)},
    {"heads over one, wide", SELF(.heads = 4, .kv_heads = 1, .d = 16, .dv = 40)},
    {"scale", SELF(.heads = 2, .d = 8, .scale = 0.3f)},
    {"causal", SELF(.heads = 2, .d = 8, .mask = HD_CAUSAL)},
    {"window", SELF(.heads = 2, .d = 8, .window = 2)},
    {"causal window", SELF(.heads = 2, .d = 8, .mask = HD_CAUSAL, .window = 2)},
    {"cross", CROSS(.heads = 2, .d = 8)},
    {"cross causal", CROSS(.heads = 2, .d = 8, .mask = HD_CAUSAL)},
    {"one query of each head", .items = 3, .qbegin = {0, 1, 2}, .tq = {1, 1, 1}, .kbegin = {0, 70, 103},
     .tk = {70, 33, 32}, .heads = 5, .d = 16, .gate = true},
    {"cross window", CROSS(.heads = 2, .d = 8, .window = 1)},
    {"gaps", GAPS(.heads = 2, .d = 8)},
    {"gaps, causal, gate", GAPS(.heads = 2, .d = 8, .mask = HD_CAUSAL, .gate = true)},
    {"shared keys", SHARED(.heads = 2, .d = 8)},
    {"shared keys, causal", SHARED(.heads = 2, .d = 8, .mask = HD_CAUSAL)},
    {"additive", CROSS(.heads = 2, .d = 8, .additive = true)},
    {"additive, scale, causal, odd",
     SELF(.heads = 3, .d = 5, .additive = true, .scale = 0.5f, .mask = HD_CAUSAL)},
    {"table", SELF(.heads = 2, .d = 8, .buckets = 8, .reach = 6, .mask = HD_CAUSAL)},
    {"table both ways", CROSS(.heads = 2, .d = 8, .buckets = 8, .reach = 6, .both_ways = true)},
    {"distances", SELF(.heads = 2, .d = 8, .span = 12, .mask = HD_CAUSAL)},
    {"distances beyond the table", SELF(.heads = 2, .d = 8, .span = 3, .mask = HD_CAUSAL)},
    {"one distance", GAPS(.heads = 2, .d = 5, .span = 1, .mask = HD_CAUSAL)},
    {"distances, heads over fewer", CROSS(.heads = 4, .kv_heads = 2, .d = 6, .span = 4, .mask = HD_CAUSAL)},
    {"local blocks", SELF(.heads = 2, .d = 8, .block = 2, .mask = HD_CAUSAL)},
    {"local blocks of 1", CROSS(.heads = 2, .d = 8, .block = 1, .mask = HD_CAUSAL)},
    {"distances, local blocks", SELF(.heads = 2, .d = 8, .span = 6, .block = 3, .mask = HD_CAUSAL)},
    {"center", CROSS(.heads = 2, .d = 8, .center = 1, .sigma = 1.5f)},
    {"window around a center", CROSS(.heads = 2, .d = 8, .center = 1, .sigma = 1.5f, .window = 2)},
    {"window around a center alone", GAPS(.heads = 2, .d = 8, .center = 2, .window = 1)},
    {"center for each head", GAPS(.heads = 2, .d = 8, .center = 2, .sigma = 0.7f)},
    {"ragged", GAPS(.heads = 2, .d = 8, .ragged = true)},
    {"gate", SELF(.heads = 4, .kv_heads = 2, .d = 4, .gate = true)},
    {"everything on dot",
     CROSS(.heads = 4, .kv_heads = 2, .d = 6, .dv = 10, .scale = 0.4f, .mask = HD_CAUSAL, .window = 4,
           .buckets = 6, .reach = 8, .center = 4, .sigma = 2, .ragged = true, .gate = true)},
    {"everything on additive",
     GAPS(.heads = 2, .kv_heads = 1, .d = 6, .dv = 3, .additive = true, .window = 3, .buckets = 8,
          .both_ways = true, .center = 1, .sigma = 2, .ragged = true, .gate = true)},
    {"many", LARGE(.heads = 2, .d = 16)},
    {"many, causal", LARGE(.heads = 2, .d = 16, .mask = HD_CAUSAL)},
    {"many, window", LARGE(.heads = 2, .d = 16, .window = 20)},
    {"many, causal window, table",
     LARGE(.heads = 2, .kv_heads = 1, .d = 16, .mask = HD_CAUSAL, .window = 20, .buckets = 16, .reach = 100)},
    {"many, distances", LARGE(.heads = 2, .d = 16, .mask = HD_CAUSAL, .span = 300)},
    {"many, distances beyond the table",
     LARGE(.heads = 2, .kv_heads = 1, .d = 16, .mask = HD_CAUSAL, .span = 37, .scale = 0.2f)},
    {"many, distances, local blocks",
     LARGE(.heads = 2, .d = 16, .mask = HD_CAUSAL, .span = 100, .block = 50, .window = 70, .gate = true)},
    {"many, distances, table, ragged",
     LARGE(.heads = 2, .d = 7, .mask = HD_CAUSAL, .span = 256, .buckets = 8, .reach = 20, .ragged = true)},
    {"beyond a block of k, window", .items = 1, .tq = {700}, .tk = {1400}, .heads = 1, .d = 4, .window = 600},
};

/* Scores of a few units have errors of d * 2^-24; a softmax passes them on, and outputs are means of values
 * below 5. */
static const double NEAR = 3e-6;

static void attention_is_what_the_definition_says(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        inputs n = make_inputs(&shapes[i]);
        double *w = weights_by_definition(&shapes[i], &n), *exact = outputs_by_definition(&shapes[i], &n, w),
               worst = 0;
        hd_real *y = attend(&r, &shapes[i], &n, HD_TRAIN), *other = attend(&r, &shapes[i], &n, HD_INFERENCE);
        for (size_t k = 0; k < n.rq * n.heads * n.dv; k++) {
            double e = fabs((double)y[k] - exact[k]);
            if (!(e <= worst)) worst = e;
        }
        printf("%-40s %.1e\n", shapes[i].name, worst);
        wrong += !(worst < NEAR);
        assert_memory_equal(y, other, n.rq * n.heads * n.dv * sizeof *y); /* taping changes nothing */
        free(w), free(exact), free(y), free(other), free_inputs(&n);
    }
    assert_int_equal(wrong, 0);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Values that are unit vectors: y[a][head][j] is the weight of key j, dropout included. */
static void show_weights(const shape *s, inputs *n)
{
    free(n->v);
    n->dv = 0;
    for (int i = 0; i < s->items; i++)
        if ((size_t)s->tk[i] > n->dv) n->dv = (size_t)s->tk[i];
    n->v = calloc(n->rk * n->groups * n->dv + 1, sizeof *n->v);
    for (int i = 0; i < s->items; i++)
        for (int j = 0; j < s->tk[i]; j++)
            for (size_t g = 0; g < n->groups; g++)
                n->v[((size_t)(s->kbegin[i] + j) * n->groups + g) * n->dv + (size_t)j] = 1;
}

static const shape dropped[] = {
    {"dropout", SELF(.heads = 4, .d = 8, .dropout = 0.3f)},
    {"dropout, causal, heads over fewer",
     SELF(.heads = 4, .kv_heads = 2, .d = 8, .mask = HD_CAUSAL, .dropout = 0.5f)},
    {"dropout, gaps, additive", GAPS(.heads = 2, .d = 6, .additive = true, .dropout = 0.2f)},
    {"dropout, many", LARGE(.heads = 2, .d = 4, .dropout = 0.1f)},
    {"dropout, many, window", LARGE(.heads = 2, .d = 4, .window = 30, .dropout = 0.25f)},
};

static void dropout_zeroes_weights_at_its_rate_and_scales_the_others(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    for (size_t i = 0; i < COUNT_OF(dropped); i++) {
        const shape *s = &dropped[i];
        inputs n = make_inputs(s), shown = make_inputs(s);
        show_weights(s, &shown);
        double *w = weights_by_definition(s, &n);
        hd_real *seen = attend(&r, s, &shown, HD_TRAIN), *y = attend(&r, s, &n, HD_TRAIN),
                *still = attend(&r, s, &shown, HD_INFERENCE);
        size_t pair = 0, live = 0, zero = 0;
        for (int item = 0; item < s->items; item++)
            for (int a = 0; a < s->tq[item]; a++)
                for (int j = 0; j < s->tk[item]; j++, pair++)
                    for (size_t h = 0; h < n.heads; h++) {
                        size_t at = ((size_t)(s->qbegin[item] + a) * n.heads + h) * shown.dv + (size_t)j;
                        double *weight = &w[pair * n.heads + h], got = (double)seen[at],
                               kept = *weight / (1 - (double)s->dropout);
                        assert_true(fabs((double)still[at] - *weight) <
                                    NEAR); /* nothing is dropped outside training */
                        if (*weight > 1e-6) live++, zero += got == 0;
                        if (got != 0)
                            assert_true(fabs(got - kept) < NEAR + 1e-5 * kept); /* p is rounded to 1/65536 */
                        *weight = got;
                    }
        /* binomial: four standard deviations */
        double rate = (double)zero / (double)live, p = (double)s->dropout;
        printf("%-40s %.3f of %zu\n", s->name, rate, live);
        assert_true(fabs(rate - p) < 4 * sqrt(p * (1 - p) / (double)live));
        /* and those are the weights that the real values are summed with */
        double *exact = outputs_by_definition(s, &n, w);
        for (size_t k = 0; k < n.rq * n.heads * n.dv; k++)
            assert_true(fabs((double)y[k] - exact[k]) < 2 * NEAR);
        free(w), free(seen), free(y), free(still), free(exact), free_inputs(&n), free_inputs(&shown);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Heads draw for themselves: no head's mask is another's, moved by some columns. */
static void heads_drop_independently(void **state)
{
    (void)state;
    enum { T = 60, HEADS = 3, SHIFTS = 20 };
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_TRAIN);
    hd_real unit[T * T] = {0}, y[T * HEADS * T] = {0};
    for (int i = 0; i < T; i++) unit[i * T + i] = 1;
    const hd_seg *seg = hd_seg_of(&r, (const int32_t[]){T}, 1, NULL);
    hd_rows q = {hd_from(&r, T, HEADS, y), seg}, k = {hd_from(&r, T, 1, y), seg},
            v = {hd_from(&r, T, T, unit), seg};
    hd_rows out = hd_attend(&r, q, k, v, &(hd_attend_opt){.heads = HEADS, .kv_heads = 1, .dropout = 0.5f});
    assert_true(hd_read(&r, out.t, y));
    for (int one = 0; one < HEADS; one++)
        for (int two = 0; two < one; two++)
            for (int shift = -SHIFTS; shift <= SHIFTS; shift++) {
                double same = 0, n = 0;
                for (int a = 0; a < T; a++)
                    for (int j = SHIFTS; j < T - SHIFTS; j++, n++)
                        same += (y[(a * HEADS + one) * T + j] == 0) ==
                                (y[(a * HEADS + two) * T + j + shift] == 0);
                assert_true(fabs(same / n - 0.5) <
                            4.5 * 0.5 /
                                sqrt(n)); /* of 123 comparisons none should be 4.5 standard deviations off */
            }
    hd_run_release(&r);
    hd_backend_free(b);
}

static void pass_over(void *context, hd_run *r, const hd_offer *offer)
{
    (void)context, (void)r, (void)offer;
}

static void a_probe_changes_no_bit(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    const hd_probe probe = {.take = pass_over};
    for (size_t i = 0; i < COUNT_OF(shapes) + COUNT_OF(dropped); i++) {
        const shape *s = i < COUNT_OF(shapes) ? &shapes[i] : &dropped[i - COUNT_OF(shapes)];
        inputs n = make_inputs(s);
        hd_real *y = attend(&r, s, &n, HD_TRAIN);
        r.probe = &probe;
        hd_real *probed = attend(&r, s, &n, HD_TRAIN);
        r.probe = NULL;
        if (memcmp(y, probed, n.rq * n.heads * n.dv * sizeof *y))
            fail_msg("%s: other bits with a probe", s->name);
        free(y), free(probed), free_inputs(&n);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Explicit scores of -inf hide keys; where all are hidden the result is zero and gradients are finite. */
static void hidden_keys_weigh_nothing(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_TRAIN);
    hd_real ragged[9] = {0, -INFINITY, 0, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 1, 1}, y[6], g[9];
    hd_rows x = {random_rows(&r, 3, 2, 1, 1), hd_seg_of(&r, (const int32_t[]){3}, 1, NULL)};
    hd_tensor *scores = hd_from(&r, 9, 1, ragged);
    x.t->wants_grad = scores->wants_grad = true;
    hd_rows out = hd_attend(&r, x, x, x, &(hd_attend_opt){.heads = 1, .ragged = scores});
    hd_sum_loss(&r, hd_mul(&r, out.t, out.t), 1);
    assert_true(hd_read(&r, out.t, y));
    hd_backward(&r);
    assert_run_ok(&r);
    for (int i = 0; i < 6; i++) assert_true(isfinite(y[i]) && (i / 2 != 1 || y[i] == 0));
    hd_read(&r, scores->grad, g);
    for (int i = 0; i < 9; i++) assert_true(isfinite(g[i]) && (ragged[i] > -INFINITY || g[i] == 0));
    hd_read(&r, x.t->grad, y);
    for (int i = 0; i < 6; i++) assert_true(isfinite(y[i]));
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Keys in blocks that lie anywhere give the bits of the same keys one after the other, and what stands in the
   rows of no item, NaN here, gets nowhere. */
static void keys_in_blocks_are_keys(void **state)
{
    (void)state;
    enum { N = 6, HEADS = 2, WIDE = 4, BLOCKS = N * WIDE, ROWS = BLOCKS * HD_PAGE_ROWS };
    const int widths[] = {5, 12, 64}, windows[] = {0, 20, 0, 0}, spans[] = {0, 0, 9, 40},
              local[] = {0, 0, 0, 8};
    const int32_t len[N] = {1, 3, 16, 17, 31, 50}, ones[N] = {1, 1, 1, 1, 1, 1};
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    for (size_t i = 0; i < COUNT_OF(widths) * COUNT_OF(windows); i++) {
        size_t c = HEADS * (size_t)widths[i / COUNT_OF(windows)], at = 0;
        size_t how = i % COUNT_OF(windows);
        hd_attend_opt o = {.heads = HEADS, .mask = HD_CAUSAL, .window = windows[how], .block = local[how]};
        hd_real *plain = numbers(ROWS * c, 1, i), *blocks = malloc(ROWS * c * sizeof *blocks), y[2][N * 128];
        int32_t page[BLOCKS];
        for (size_t j = 0; j < ROWS * c; j++) blocks[j] = NAN;
        for (size_t j = 0; j < BLOCKS; j++) page[j] = (int32_t)(j * 7 % BLOCKS);
        for (size_t item = 0; item < N; item++)
            for (size_t j = 0; j < (size_t)len[item]; j++, at++)
                memcpy(blocks +
                           ((size_t)page[item * WIDE + j / HD_PAGE_ROWS] * HD_PAGE_ROWS + j % HD_PAGE_ROWS) *
                               c,
                       plain + at * c, c * sizeof *plain);
        hd_run_begin(&r, HD_INFERENCE);
        hd_seg *seg = hd_seg_of(&r, len, N, NULL), paged = *seg;
        paged.page = hd_ints(&r, page, BLOCKS), paged.pages = WIDE, paged.rows = ROWS;
        hd_rows q = {random_rows(&r, N, c, 1, 9), hd_seg_of(&r, ones, N, NULL)},
                k[2] = {{hd_from(&r, at, c, plain), seg}, {hd_from(&r, ROWS, c, blocks), &paged}};
        if (spans[how]) o.distance = random_rows(&r, HEADS * (size_t)spans[how], c / HEADS, 1, 10);
        for (int j = 0; j < 2; j++) assert_true(hd_read(&r, hd_attend(&r, q, k[j], k[j], &o).t, y[j]));
        assert_run_ok(&r);
        assert_memory_equal(y[0], y[1], N * c * sizeof **y);
        for (size_t j = 0; j < N * c; j++) assert_true(isfinite(y[1][j]));
        free(plain), free(blocks);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

/* The buckets of T5: 32 both ways up to 128, and one way. */
static void relative_buckets_are_those_of_t5(void **state)
{
    (void)state;
    const int both[][2] = {{0, 0},    {-1, 1},    {1, 17},   {-7, 7},    {7, 23},
                           {-8, 8},   {8, 24},    {-11, 8},  {-12, 9},   {12, 25},
                           {-20, 10}, {-127, 15}, {128, 31}, {5000, 31}, {-5000, 15}};
    const int one[][2] = {{0, 0}, {3, 0}, {-1, 1}, {-15, 15}, {-16, 16}, {-20, 17}, {-127, 31}, {-5000, 31}};
    for (size_t i = 0; i < COUNT_OF(both); i++)
        assert_int_equal(hd_relative_bucket(both[i][0], 32, true, 128), both[i][1]);
    for (size_t i = 0; i < COUNT_OF(one); i++)
        assert_int_equal(hd_relative_bucket(one[i][0], 32, false, 128), one[i][1]);
}

/* Where a logarithm lies on an edge, as PyTorch 2.15.0 has it on a CPU with the formula of transformers: in
   double each of these would be one off. */
static void buckets_on_an_edge_are_those_of_float(void **state)
{
    (void)state;
    const int edge[][4] = {{5, 686, 14, 2},    {5, 686, 98, 3},  {9, 128, 8, 5},   {9, 128, 16, 6},
                           {9, 128, 64, 8},    {10, 160, 10, 6}, {10, 160, 20, 7}, {10, 160, 80, 9},
                           {15, 636, 206, 13}, {17, 27, 12, 10}, {17, 27, 18, 13}, {17, 343, 28, 10}};
    for (size_t i = 0; i < COUNT_OF(edge); i++)
        assert_int_equal(hd_relative_bucket(-edge[i][2], edge[i][0], false, edge[i][1]), edge[i][3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_what_the_definition_says),
        cmocka_unit_test(dropout_zeroes_weights_at_its_rate_and_scales_the_others),
        cmocka_unit_test(heads_drop_independently),
        cmocka_unit_test(a_probe_changes_no_bit),
        cmocka_unit_test(hidden_keys_weigh_nothing),
        cmocka_unit_test(keys_in_blocks_are_keys),
        cmocka_unit_test(relative_buckets_are_those_of_t5),
        cmocka_unit_test(buckets_on_an_edge_are_those_of_float),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
