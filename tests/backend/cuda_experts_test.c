/* The kernels of a mixture of experts on the device against the cpu. */
#include "backend/pair.h"

typedef struct shape {
    size_t rows, experts;
    hd_routing how;
    int seg; /* of seg_from; 0: rows of all items */
} shape;

static const shape shapes[] = {
    {1, 4, {.used = 2, .normalized = true, .scaling = 1}, 0},
    {37, 8, {.used = 2, .normalized = true, .scaling = 1}, FILL},
    {300, 64, {.used = 8, .scaling = 1}, GAPS | FILL},
    {129, 16, {.used = 4, .groups = 4, .groups_used = 2, .group_best = 1, .scaling = 16}, 0},
    {256,
     256,
     {.router = HD_ROUTER_SIGMOID,
      .used = 8,
      .groups = 8,
      .groups_used = 4,
      .group_best = 2,
      .normalized = true,
      .scaling = 2.5f},
     GAPS},
    {70, 5, {.router = HD_ROUTER_SIGMOID, .used = 5, .scaling = 1}, 0},
    {2000, 128, {.used = 8, .normalized = true, .scaling = 1}, 0},
    {40, 1024, {.used = 64, .scaling = 1}, 0},
};

static twin_seg *seg_of(pair *p, const shape *s)
{
    int32_t *len = lengths(p, 4, 1, (int)(s->rows + 3) / 4);
    return seg_from(p, len, 4, s->seg);
}

/* Scores differ in their last bits: logits that are far apart keep the choice the same. */
static float *apart(pair *p, size_t rows, size_t experts)
{
    float *x = pair_take(p, 2, rows * experts * sizeof *x);
    int32_t *order = pair_take(p, 2, experts * sizeof *order);
    hd_rng rng = hd_rng_make(5, p->seed++);
    for (size_t r = 0; r < rows; r++) {
        for (size_t e = 0; e < experts; e++) order[e] = (int32_t)e;
        for (size_t e = experts; e > 1; e--) {
            size_t with = hd_rng_below(&rng, (uint32_t)e);
            int32_t t = order[e - 1];
            order[e - 1] = order[with], order[with] = t;
        }
        for (size_t e = 0; e < experts; e++)
            x[r * experts + e] = 6 * (float)order[e] / (float)experts - 3 + (float)e * 1e-4f;
    }
    return x;
}

static void route(void **state)
{
    pair *p = pair_of(state);
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (size_t i = 0; i < COUNT_OF(shapes); i++)
            for (int by_item = 0; by_item < 2; by_item++) {
                const shape *s = &shapes[i];
                size_t used = (size_t)s->how.used, loads = by_item ? 4 : 1;
                begin_case(p, "%zu rows, %zu of %zu experts, %zu loads", s->rows, used, s->experts, loads);
                twin_seg *seg = seg_of(p, s);
                int32_t *none = pair_take(p, 2, loads * s->experts * sizeof *none);
                twin_ints *load = ints_from(p, none, loads * s->experts);
                twin *logits =
                         twin_from(p, "logits", seg->rows, s->experts, REAL, apart(p, seg->rows, s->experts)),
                     *bias = i % 2 ? twin_normal(p, "bias", 1, s->experts, REAL | FLAT, 1e-5) : NULL,
                     *ids = twin_result(p, "ids", seg->rows, used, INT, false),
                     *weights = twin_result(p, "weights", seg->rows, used, REAL, false),
                     *scores = twin_result(p, "scores", seg->rows, s->experts, REAL, false);
                RUN(p, route, .ids = ON(ids), .weights = ON(weights), .scores = ON(scores),
                    .logits = ON(logits), .bias = ON(bias), .item = seg->on[side].item,
                    .load = load->on[side], .loads = loads, .how = s->how);
                check_same(p, ids, NULL);
                check(p, weights);
                check(p, scores);
                check_ints(p, "load", load);
                twin *dweights = twin_normal(p, "dweights", seg->rows, used, REAL, 1),
                     *dlogits = twin_result(p, "dlogits", seg->rows, s->experts, REAL, false);
                RUN(p, route_back, .dlogits = ON(dlogits), .dweights = ON(dweights), .ids = ON(ids),
                    .weights = ON(weights), .scores = ON(scores), .item = seg->on[side].item,
                    .load = load->on[side], .loads = loads, .coef = 0.3f, .how = s->how);
                check(p, dlogits);
            }
    pair_done(p);
}

typedef struct sorted {
    twin_ints *begin, *token, *place;
    size_t rows, places;
    bool *owned; /* [places] */
} sorted;

/* Ids by a falling chance, so that experts have many rows, few and none; some rows go nowhere. */
static sorted sorted_of(pair *p, size_t rows, size_t used, size_t experts, twin *load)
{
    sorted s = {.rows = rows, .places = rows * used};
    twin *ids = twin_result(p, "ids", rows, used, INT, false);
    int32_t *host = pair_take(p, 2, rows * used * sizeof *host),
            *zero = pair_take(p, 2, (rows * used + experts + 1) * sizeof *zero);
    hd_rng rng = hd_rng_make(3, p->seed++);
    for (size_t r = 0; r < rows; r++) {
        int32_t first = (int32_t)(hd_rng_unit(&rng) * hd_rng_unit(&rng) * (double)experts);
        for (size_t k = 0; k < used; k++)
            host[r * used + k] = r % 11 == 7 ? -1 : (int32_t)(((size_t)first + k) % experts);
    }
    float *as_floats = pair_take(p, 2, rows * used * sizeof(float));
    memcpy(as_floats, host, rows * used * sizeof *host);
    for (int side = 0; side < 2; side++) twin_load(p, ids, side, as_floats);
    s.begin = ints_from(p, zero, experts + 1);
    s.token = ints_from(p, zero, s.places), s.place = ints_from(p, zero, s.places);
    RUN(p, dispatch, .ids = ON(ids), .begin = s.begin->on[side], .token = s.token->on[side],
        .place = s.place->on[side], .experts = experts, .load = ON(load));
    s.owned = pair_take(p, 2, s.places + 1);
    for (size_t i = 0; i < s.places; i++) s.owned[i] = !p->broken && i < (size_t)s.begin->on[0][experts];
    return s;
}

static const struct {
    size_t rows, used, experts, in, out;
    bool large;
} sizes[] = {{1, 1, 1, 8, 8, false},        {1, 2, 8, 64, 96, false},     {5, 2, 4, 33, 17, false},
             {90, 2, 8, 72, 40, false},     {300, 4, 16, 64, 136, false}, {700, 2, 64, 128, 256, false},
             {1000, 8, 256, 40, 48, false}, {4096, 2, 8, 768, 512, true}};

#define EACH_SIZE(p)                                            \
    for ((p)->layout = 0; (p)->layout < LAYOUTS; (p)->layout++) \
        for (size_t i = 0; i < COUNT_OF(sizes); i++)            \
            if (!sizes[i].large || ((p)->layout == DENSE && !small_only()))

static void dispatch(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p)
    {
        begin_case(p, "%zu rows to %zu of %zu", sizes[i].rows, sizes[i].used, sizes[i].experts);
        twin *load = twin_normal(p, "load", 1, sizes[i].experts, ROUND | FLAT, 0);
        sorted s = sorted_of(p, sizes[i].rows, sizes[i].used, sizes[i].experts, load);
        if (p->broken) continue;
        check_ints(p, "begin", s.begin);
        check_ints(p, "token", s.token);
        check_ints(p, "place", s.place);
        check_same(p, load, NULL);
    }
    pair_done(p);
}

static void grouped(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p)
    for (int way = 0; way < 4; way++) {
        bool add = way % 2, across = way / 2;
        size_t in = sizes[i].in, out = sizes[i].out, experts = sizes[i].experts;
        begin_case(p, "%zu rows to %zu of %zu, %zu to %zu, add %d, turned %d", sizes[i].rows, sizes[i].used,
                   experts, in, out, add, across);
        sorted s = sorted_of(p, sizes[i].rows, sizes[i].used, experts, NULL);
        twin *a = twin_normal(p, "a", s.places, in, ACT, 1),
             *b = twin_normal(p, "b", experts * (across ? out : in), across ? in : out, PARAM,
                              1 / sqrt((double)in)),
             *y = twin_result(p, "y", s.places, out, ACT, add);
        RUN(p, grouped, .y = ON(y), .a = ON(a), .b = ON(b), .begin = s.begin->on[side], .experts = experts,
            .b_transposed = across, .add = add);
        check_rows(p, y, s.owned);
    }
    pair_done(p);
}

static void grouped_outer(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p)
    {
        size_t in = sizes[i].in, out = sizes[i].out, experts = sizes[i].experts;
        begin_case(p, "%zu rows to %zu of %zu, %zu x %zu", sizes[i].rows, sizes[i].used, experts, out, in);
        sorted s = sorted_of(p, sizes[i].rows, sizes[i].used, experts, NULL);
        twin *a = twin_normal(p, "a", s.places, out, ACT, 1), *b = twin_normal(p, "b", s.places, in, ACT, 1),
             *y = twin_result(p, "y", experts * out, in, REAL | FLAT, true);
        RUN(p, grouped_outer, .y = ON(y), .a = ON(a), .b = ON(b), .begin = s.begin->on[side],
            .experts = experts);
        check(p, y);
    }
    pair_done(p);
}

static void combine(void **state)
{
    pair *p = pair_of(state);
    EACH_SIZE(p)
    for (int way = 0; way < 4; way++) {
        bool add = way % 2, weighted = way / 2;
        size_t cols = sizes[i].out, rows = sizes[i].rows, used = sizes[i].used;
        begin_case(p, "%zu rows of %zu, %zu of %zu, add %d, weights %d", rows, cols, used, sizes[i].experts,
                   add, weighted);
        sorted s = sorted_of(p, rows, used, sizes[i].experts, NULL);
        twin *x = twin_normal(p, "x", s.places, cols, ACT, 1),
             *w = weighted ? twin_normal(p, "weights", rows, used, REAL, 1) : NULL,
             *y = twin_result(p, "y", rows, cols, ACT, add), *dy = twin_normal(p, "dy", rows, cols, ACT, 1),
             *dx = twin_result(p, "dx", s.places, cols, ACT, add),
             *dw = weighted ? twin_result(p, "dweights", rows, used, REAL, true) : NULL;
        RUN(p, combine, .y = ON(y), .x = ON(x), .weights = ON(w), .place = s.place->on[side],
            .used = (int)used, .add = add);
        check(p, y);
        RUN(p, combine_back, .dx = ON(dx), .dweights = ON(dw), .dy = ON(dy), .x = ON(x), .weights = ON(w),
            .place = s.place->on[side], .used = (int)used, .add = add);
        check_rows(p, dx, s.owned);
        check(p, dw);
    }
    pair_done(p);
}

static void balance(void **state)
{
    pair *p = pair_of(state);
    for (int skip = 0; skip < 2; skip++) {
        begin_case(p, "balance, skip %d", skip);
        float loads[100];
        for (int i = 0; i < 100; i++) loads[i] = (float)(i * 37 % 11);
        hd_step now = pair_now;
        void *step[2];
        now.skip = skip, now.settled = 0.4f;
        twin_bytes(p, step, &now, sizeof now);
        twin *load = twin_from(p, "load", 1, 100, REAL | FLAT, loads),
             *was = twin_normal(p, "was", 1, 100, REAL | FLAT, 1),
             *bias = twin_normal(p, "bias", 1, 100, REAL | FLAT, 1);
        RUN(p, balance, .bias = ON(bias), .load = ON(load), .was = ON(was), .rate = 0.01f,
            .step = step[side]);
        check_same(p, load, NULL);
        check_same(p, was, NULL);
        check(p, bias);
    }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(route), PAIR_TEST(dispatch), PAIR_TEST(grouped), PAIR_TEST(grouped_outer),
          PAIR_TEST(combine), PAIR_TEST(balance))
