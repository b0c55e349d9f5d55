/* Gradients of attention in all its options and many of their combinations. A case names its segments and
 * options; the leaves follow from them. */
#include "op/gradient.h"

enum { ITEMS = 4 };

typedef struct shape {
    const char *name;
    int32_t tq[ITEMS], tk[ITEMS]; /* tk all 0 and not `cross`: keys are as the queries */
    int items;
    bool cross;
    bool shared;                /* key segments overlap: items 0 and 1 read the same rows */
    int heads, kv_heads, d, dv; /* dv 0: d */
    float scale, sigma, dropout, cap;
    hd_mask mask;
    int window, block, span, buckets, reach;
    bool additive, both_ways, ragged, gate, one_tensor;
    int center; /* columns of it */
} shape;

static size_t sum_of(const int32_t *n, int items)
{
    size_t sum = 0;
    for (int i = 0; i < items; i++) sum += (size_t)n[i];
    return sum;
}

static const int32_t *keys_of(const shape *s)
{
    return s->cross || s->shared ? s->tk : s->tq;
}

static size_t key_rows(const shape *s)
{
    size_t rows = sum_of(keys_of(s), s->items);
    return s->shared ? rows - (size_t)s->tk[1] : rows;
}

static const hd_seg *key_segments(hd_run *r, const shape *s)
{
    if (!s->shared) return hd_seg_of(r, keys_of(s), (size_t)s->items, NULL);
    int32_t begin[ITEMS] = {0}; /* item 1 begins where item 0 does */
    for (int i = 2; i < s->items; i++) begin[i] = i == 2 ? s->tk[0] : begin[i - 1] + s->tk[i - 1];
    return seg_at(r, begin, s->tk, (size_t)s->items, key_rows(s), true);
}

/* Leaves q k v, then those that the options ask for, in the order taken here. */
static hd_tensor *attend(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    const int32_t number[ITEMS] = {40, 2, 77, 5};
    size_t next = s->one_tensor ? 1 : 3;
    hd_attend_opt o = {.heads = s->heads,
                       .kv_heads = s->kv_heads,
                       .scale = s->scale,
                       .cap = s->cap,
                       .mask = s->mask,
                       .window = s->window,
                       .block = s->block,
                       .dropout = s->dropout,
                       .table_both_ways = s->both_ways,
                       .table_reach = s->reach,
                       .sigma = s->sigma};
    if (s->additive) o.score = HD_ADDITIVE, o.additive = x[next++];
    if (s->buckets) o.table = x[next++];
    if (s->span) o.distance = x[next++];
    if (s->center) o.center = x[next++];
    if (s->ragged) o.ragged = x[next++];
    if (s->gate) o.gate = x[next++];
    const hd_seg *qseg = hd_seg_of(r, s->tq, (size_t)s->items, number), *kseg = key_segments(r, s);
    hd_rows q = {x[0], qseg}, k = {x[s->one_tensor ? 0 : 1], kseg}, v = {x[s->one_tensor ? 0 : 2], kseg};
    return hd_attend(r, q, k, v, &o).t;
}

static gradient_case case_of(const shape *s)
{
    gradient_case c = CASE(s->name, attend, .opt = s);
    size_t heads = (size_t)s->heads, groups = s->kv_heads ? (size_t)s->kv_heads : heads, d = (size_t)s->d,
           dv = s->dv ? (size_t)s->dv : d;
    size_t rq = sum_of(s->tq, s->items), rk = key_rows(s), n = 0, pairs = 0;
    for (int i = 0; i < s->items; i++) pairs += (size_t)s->tq[i] * (size_t)keys_of(s)[i];
    c.leaf[n++] = (leaf)LEAF("q", rq, heads * d);
    if (!s->one_tensor) {
        c.leaf[n++] = (leaf)LEAF("k", rk, groups * d);
        c.leaf[n++] = (leaf)LEAF("v", rk, groups * dv);
    }
    if (s->additive) c.leaf[n++] = (leaf)LEAF("additive", 1, heads * d);
    if (s->buckets) c.leaf[n++] = (leaf)LEAF("table", (size_t)s->buckets, heads);
    if (s->span) c.leaf[n++] = (leaf)LEAF("distance", heads * (size_t)s->span, d);
    if (s->center) c.leaf[n++] = (leaf)LEAF("center", rq, (size_t)s->center);
    if (s->ragged) c.leaf[n++] = (leaf)LEAF("ragged", pairs, heads);
    if (s->gate) c.leaf[n++] = (leaf)LEAF("gate", 1, heads);
    return c;
}

#define SELF(...)         .items = 3, .tq = {5, 1, 3}, __VA_ARGS__
#define CROSS(...)        .items = 3, .cross = true, .tq = {4, 1, 3}, .tk = {3, 5, 6}, __VA_ARGS__
#define HOLLOW(...)       .items = 4, .cross = true, .tq = {3, 2, 0, 2}, .tk = {4, 0, 3, 2}, __VA_ARGS__
#define SHARED(...)       .items = 3, .shared = true, .tq = {3, 2, 2}, .tk = {5, 3, 4}, __VA_ARGS__
#define HEADS(h, d_, ...) .heads = h, .d = d_, __VA_ARGS__

static const shape shapes[] = {
    {"one head", SELF(HEADS(1, 3))},
    {"two heads", SELF(HEADS(2, 3))},
    {"four heads", SELF(HEADS(4, 2))},
    {"four heads over two", SELF(HEADS(4, 3, .kv_heads = 2))},
    {"four heads over one", SELF(HEADS(4, 3, .kv_heads = 1, .mask = HD_CAUSAL))},
    {"wide values", SELF(HEADS(2, 3, .dv = 5))},
    {"narrow values", SELF(HEADS(4, 5, .kv_heads = 2, .dv = 2))},
    {"q, k and v in one", SELF(HEADS(2, 3, .one_tensor = true, .mask = HD_CAUSAL))},
    {"scale", SELF(HEADS(2, 3, .scale = 0.7f))},
    {"cap", SELF(HEADS(2, 3, .cap = 0.9f))},
    {"cap and scale", CROSS(HEADS(4, 3, .kv_heads = 2, .scale = 0.7f, .cap = 2, .dropout = 0.3f))},
    {"cap, causal, a window, a gate",
     SELF(HEADS(2, 3, .cap = 1.5f, .mask = HD_CAUSAL, .window = 1, .gate = true))},
    {"scale of one", SELF(HEADS(2, 3, .scale = 1))},
    {"causal", SELF(HEADS(2, 3, .mask = HD_CAUSAL))},
    {"window", SELF(HEADS(2, 3, .window = 1))},
    {"causal window", SELF(HEADS(2, 3, .mask = HD_CAUSAL, .window = 2))},
    {"cross", CROSS(HEADS(2, 3))},
    {"cross causal", CROSS(HEADS(2, 3, .mask = HD_CAUSAL))},
    {"cross window", CROSS(HEADS(2, 3, .window = 1))},
    {"new rows after a cache", .items = 3, .cross = true, .tq = {1, 2, 1}, .tk = {7, 4, 1},
     HEADS(2, 3, .mask = HD_CAUSAL)},
    {"new rows after a cache, window", .items = 3, .cross = true, .tq = {1, 2, 1}, .tk = {7, 4, 1},
     HEADS(2, 3, .mask = HD_CAUSAL, .window = 2)},
    {"no keys, no queries", HOLLOW(HEADS(2, 3))},
    {"no keys, no queries, causal", HOLLOW(HEADS(2, 3, .mask = HD_CAUSAL, .gate = true))},
    {"shared keys", SHARED(HEADS(2, 3))},
    {"shared keys, two heads over one, causal", SHARED(HEADS(2, 3, .kv_heads = 1, .mask = HD_CAUSAL))},
    {"additive", CROSS(HEADS(2, 3, .additive = true))},
    {"additive, scale, causal", SELF(HEADS(2, 5, .additive = true, .scale = 0.5f, .mask = HD_CAUSAL))},
    {"additive, four heads over two", CROSS(HEADS(4, 2, .kv_heads = 2, .dv = 3, .additive = true))},
    {"additive, shared keys", SHARED(HEADS(2, 3, .additive = true))},
    {"relative one way", SELF(HEADS(2, 3, .buckets = 4, .reach = 4, .mask = HD_CAUSAL))},
    {"relative both ways", SELF(HEADS(2, 3, .buckets = 8, .reach = 4, .both_ways = true))},
    {"relative, default reach", CROSS(HEADS(2, 3, .buckets = 6))},
    {"relative, new rows after a cache", .items = 2, .cross = true, .tq = {1, 2}, .tk = {9, 6},
     HEADS(2, 3, .buckets = 8, .reach = 6, .mask = HD_CAUSAL)},
    {"distances", SELF(HEADS(2, 3, .span = 5, .mask = HD_CAUSAL))},
    {"distances beyond the table", SELF(HEADS(2, 3, .span = 2, .mask = HD_CAUSAL))},
    {"more distances than keys", SELF(HEADS(2, 3, .span = 9, .mask = HD_CAUSAL))},
    {"distances, scale of one", SELF(HEADS(2, 3, .span = 3, .scale = 1, .mask = HD_CAUSAL))},
    {"distances, four heads over two", SELF(HEADS(4, 3, .kv_heads = 2, .span = 3, .mask = HD_CAUSAL))},
    {"distances, q, k and v in one", SELF(HEADS(2, 3, .span = 4, .one_tensor = true, .mask = HD_CAUSAL))},
    {"distances, new rows after a cache", .items = 3, .cross = true, .tq = {1, 2, 1}, .tk = {7, 4, 1},
     HEADS(2, 3, .span = 5, .mask = HD_CAUSAL)},
    {"distances, no keys, no queries", HOLLOW(HEADS(2, 3, .span = 3, .mask = HD_CAUSAL))},
    {"distances, shared keys", SHARED(HEADS(2, 3, .span = 3, .mask = HD_CAUSAL))},
    {"distances, window", SELF(HEADS(2, 3, .span = 3, .window = 3, .mask = HD_CAUSAL))},
    {"distances, dropout, gate",
     SELF(HEADS(2, 3, .span = 4, .dropout = 0.3f, .gate = true, .mask = HD_CAUSAL))},
    {"distances, local blocks", SELF(HEADS(2, 3, .span = 4, .block = 2, .mask = HD_CAUSAL))},
    {"local blocks", SELF(HEADS(2, 3, .block = 2, .mask = HD_CAUSAL))},
    {"gaussian, one center", CROSS(HEADS(2, 3, .center = 1, .sigma = 1.3f))},
    {"gaussian, one center, three heads", SELF(HEADS(3, 2, .center = 1, .sigma = 0.9f, .window = 2))},
    {"gaussian, a center for each head", CROSS(HEADS(2, 3, .center = 2, .sigma = 2))},
    {"ragged", CROSS(HEADS(2, 3, .ragged = true))},
    {"ragged, causal", SELF(HEADS(2, 3, .ragged = true, .mask = HD_CAUSAL))},
    {"ragged, nothing for some", HOLLOW(HEADS(2, 3, .ragged = true))},
    {"gate", SELF(HEADS(4, 2, .gate = true))},
    {"gate, four heads over two", SELF(HEADS(4, 2, .kv_heads = 2, .gate = true, .mask = HD_CAUSAL))},
    {"dropout", SELF(HEADS(2, 3, .dropout = 0.3f))},
    {"dropout, causal window", SELF(HEADS(2, 3, .dropout = 0.3f, .mask = HD_CAUSAL, .window = 1))},
    {"dropout, gate", CROSS(HEADS(4, 2, .kv_heads = 2, .dv = 3, .dropout = 0.5f, .gate = true))},
    {"everything on dot", CROSS(HEADS(4, 3, .kv_heads = 2, .dv = 2, .scale = 0.8f, .mask = HD_CAUSAL,
                                      .window = 4, .block = 3, .span = 3, .dropout = 0.25f, .buckets = 6,
                                      .reach = 8, .center = 4, .sigma = 1.5f, .ragged = true, .gate = true))},
    {"everything on additive",
     SELF(HEADS(2, 3, .kv_heads = 1, .dv = 2, .additive = true, .window = 3, .dropout = 0.25f, .buckets = 8,
                .both_ways = true, .reach = 8, .center = 1, .sigma = 1.5f, .ragged = true, .gate = true))},
};

/* Beyond a tile of queries (56) and a run of the mask (128). */
static const shape large[] = {
    {"many queries and keys", .items = 2, .cross = true, .tq = {60, 3}, .tk = {140, 5}, HEADS(1, 2)},
    {"many, causal, dropout", .items = 1, .cross = true, .tq = {60}, .tk = {140},
     HEADS(1, 2, .mask = HD_CAUSAL, .dropout = 0.2f)},
    {"many, window, dropout, gate", .items = 1, .cross = true, .tq = {60}, .tk = {135},
     HEADS(2, 1, .kv_heads = 1, .window = 9, .dropout = 0.2f, .gate = true)},
    {"many, distances, dropout", .items = 1, .cross = true, .tq = {60}, .tk = {140},
     HEADS(1, 2, .mask = HD_CAUSAL, .span = 90, .dropout = 0.2f)},
    {"many, distances, local blocks", .items = 2, .cross = true, .tq = {60, 3}, .tk = {140, 5},
     HEADS(1, 2, .mask = HD_CAUSAL, .span = 30, .block = 32)},
    {"many, more queries than keys", .items = 1, .cross = true, .tq = {130}, .tk = {61},
     HEADS(1, 1, .mask = HD_CAUSAL, .buckets = 16, .reach = 40)},
};

static void check_shapes(const shape *s, size_t count)
{
    gradient_case cases[COUNT_OF(shapes)];
    for (size_t i = 0; i < count; i++) cases[i] = case_of(&s[i]);
    check_gradients(cases, count);
}

static void attention_follows_differences(void **state)
{
    (void)state;
    check_shapes(shapes, COUNT_OF(shapes));
}

/* Vectors of two numbers, which other machines have: fewer than are turned at once. */
static void narrow_vectors_follow_differences(void **state)
{
    (void)state;
#ifdef __x86_64__
    setenv("HEED_CPU", "base", 1);
    check_shapes(shapes, COUNT_OF(shapes));
    unsetenv("HEED_CPU");
#endif
}

static void attention_beyond_a_tile_follows_differences(void **state)
{
    (void)state;
    check_shapes(large, COUNT_OF(large));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_follows_differences),
        cmocka_unit_test(narrow_vectors_follow_differences),
        cmocka_unit_test(attention_beyond_a_tile_follows_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
