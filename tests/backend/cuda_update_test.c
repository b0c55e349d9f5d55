/* The optimizer on the device against the cpu: sums of squares, clipping and its count of updates, the rules
   over several steps with one that is skipped between them, shadows and averages. */
#define PAIR_WHOLE 1
#include "backend/pair.h"

static const size_t counts[] = {1, 7, 64, 1000, 100003, 2000000};
enum { SMALL = 4 };

static bool left_out(size_t i)
{
    return i >= SMALL && small_only();
}

static hd_real *data(const twin *t, int side)
{
    return t ? t->on[side].data : NULL;
}

static void square_sum(void **state)
{
    pair *p = pair_of(state);
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        for (int how = 0; how < 2; how++) {
            if (left_out(i)) continue;
            begin_case(p, "square_sum of %zu how %d", counts[i], how);
            double begun = how ? 12.5 : 0, got[2];
            void *sum[2];
            twin_bytes(p, sum, &begun, sizeof begun);
            twin *x = twin_normal(p, "x", 1, counts[i], REAL | FLAT, 0.1);
            RUN(p, square_sum, .sum = sum[side], .x = data(x, side), .count = counts[i]);
            for (int side = 0; side < 2; side++)
                p->side[side]->download(p->side[side], got + side, sum[side], sizeof *got);
            /* the cpu sums runs of 16384 numbers in f32 */
            if (!(fabs(got[1] - got[0]) <= 1e-5 * fabs(got[0])))
                fault(p, "%.9g, expected %.9g", got[1], got[0]);
            p->compared++;
        }
    pair_done(p);
}

static hd_step step_of(pair *p, int side, const hd_step *at)
{
    hd_step s;
    p->side[side]->download(p->side[side], &s, at, sizeof s);
    return s;
}

static void check_steps(pair *p, void *const at[2])
{
    hd_step ref = step_of(p, 0, at[0]), out = step_of(p, 1, at[1]);
    if (ref.skip != out.skip) fault(p, "skip is %d, expected %d", out.skip, ref.skip);
    if (ref.updates != out.updates) fault(p, "updates are %u, expected %u", out.updates, ref.updates);
    if (!ref.skip && !(fabs(out.norm - ref.norm) <= 1e-5 * fabs(ref.norm)))
        fault(p, "norm is %.9g, expected %.9g", out.norm, ref.norm);
    if (ref.skip && isfinite(out.norm)) fault(p, "norm is %g, expected none", out.norm);
    if (!ref.skip && !(fabsf(out.clip - ref.clip) <= 1e-5f * ref.clip))
        fault(p, "clip is %.9g, expected %.9g", (double)out.clip, (double)ref.clip);
    if (ref.seed != out.seed || ref.number != out.number || ref.rate != out.rate || ref.weight != out.weight)
        fault(p, "the step block has changed elsewhere");
    p->compared++;
}

static void clip(void **state)
{
    pair *p = pair_of(state);
    const double sums[] = {0, 4, 1e6, 1e-20, INFINITY, NAN, 1e300};
    const float limits[] = {0, 1, 1000};
    for (size_t i = 0; i < COUNT_OF(sums); i++)
        for (size_t j = 0; j < COUNT_OF(limits); j++) {
            begin_case(p, "clip of %g at %g", sums[i], (double)limits[j]);
            hd_step now = pair_now;
            now.weight = 20, now.clip = -1, now.skip = -1, now.updates = 41;
            uint32_t updates = 42, got[2];
            void *step[2], *sum[2], *count[2];
            twin_bytes(p, step, &now, sizeof now);
            twin_bytes(p, sum, &sums[i], sizeof *sums);
            twin_bytes(p, count, &updates, sizeof updates);
            RUN(p, clip, .step = step[side], .sum = sum[side], .updates = count[side], .limit = limits[j]);
            check_steps(p, step);
            double left = 1;
            p->side[1]->download(p->side[1], &left, sum[1], sizeof left);
            if (left != 0) fault(p, "the sum is %g afterwards", left);
            for (int side = 0; side < 2; side++)
                p->side[side]->download(p->side[side], got + side, count[side], sizeof *got);
            if (got[0] != got[1]) fault(p, "%u updates, expected %u", got[1], got[0]);
        }
    pair_done(p);
}

static const struct {
    const char *name;
    hd_rule rule;
    float momentum, decay;
    bool decoupled, nesterov, first;
} rules[] = {{"adam", HD_ADAM, 0, 0, false, false, true},
             {"adam, decay", HD_ADAM, 0, 0.1f, false, false, true},
             {"adamw", HD_ADAM, 0, 0.1f, true, false, true},
             {"sgd", HD_SGD, 0, 0, false, false, false},
             {"sgd, decay", HD_SGD, 0, 0.1f, false, false, false},
             {"sgd, decoupled", HD_SGD, 0, 0.1f, true, false, false},
             {"momentum", HD_SGD, 0.9f, 0.01f, false, false, true},
             {"nesterov", HD_SGD, 0.9f, 0.01f, true, true, true}};

/* The shadow holds the device's own values, rounded. */
static void check_shadow(pair *p, const uint16_t *shadow, const twin *value)
{
    if (!shadow) return;
    size_t n = value->cols;
    float *v = twin_read(p, value, 1);
    uint16_t *got = malloc((n + 1) * sizeof *got);
    p->side[1]->download(p->side[1], got, shadow, n * sizeof *got);
    for (size_t i = 0; i < n; i++)
        if (got[i] != bf16_of(v[i])) {
            fault(p, "shadow[%zu] of %.9g is %.9g", i, (double)v[i], (double)of_bf16(got[i]));
            break;
        }
    p->compared++;
    free(v), free(got);
}

static void update(void **state)
{
    pair *p = pair_of(state);
    enum { STEPS = 6, INFINITE = 3 };
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        for (size_t r = 0; r < COUNT_OF(rules); r++)
            for (int shadows = 0; shadows < 2; shadows++) {
                size_t n = counts[i];
                if (left_out(i) || (n > 200000 && r % 4 != 2)) continue;
                begin_case(p, "%s of %zu shadow %d", rules[r].name, n, shadows);
                bool adam = rules[r].rule == HD_ADAM;
                float *zero = pair_take(p, 2, n * sizeof *zero);
                twin *value = twin_normal(p, "value", 1, n, REAL | FLAT, 1),
                     *grad = twin_from(p, "grad", 1, n, REAL | FLAT, zero),
                     *first = rules[r].first ? twin_from(p, "first", 1, n, REAL | FLAT, zero) : NULL,
                     *second = adam ? twin_from(p, "second", 1, n, REAL | FLAT, zero) : NULL,
                     *mean = twin_normal(p, "mean", 1, n, REAL | FLAT, 1);
                uint16_t *shadow[2] = {NULL, NULL};
                for (int side = 0; shadows && side < 2; side++)
                    shadow[side] = pair_take(p, side, n * sizeof **shadow);
                if (shadows) RUN(p, cast, .shadow = shadow[side], .value = data(value, side), .count = n);
                hd_step now = pair_now;
                now.weight = 20, now.rate = 0.01f, now.updates = 0;
                double nothing = 0;
                uint32_t none = 0;
                void *step[2], *sum[2], *count[2];
                twin_bytes(p, step, &now, sizeof now);
                twin_bytes(p, sum, &nothing, sizeof nothing);
                twin_bytes(p, count, &none, sizeof none);
                for (int t = 0; t < STEPS; t++) {
                    float *g = normals(p, n, 20);
                    if (t == INFINITE) g[n / 2] = INFINITY;
                    for (int side = 0; side < 2; side++) twin_load(p, grad, side, g);
                    RUN(p, square_sum, .sum = sum[side], .x = data(grad, side), .count = n);
                    RUN(p, clip, .step = step[side], .sum = sum[side], .updates = count[side],
                        .limit = t % 2 ? 0.5f : 0);
                    RUN(p, update, .value = data(value, side), .grad = data(grad, side),
                        .first = data(first, side), .second = data(second, side), .shadow = shadow[side],
                        .count = n, .step = step[side], .rule = rules[r].rule, .factor = 0.5f,
                        .momentum = rules[r].momentum, .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-9f,
                        .decay = rules[r].decay, .decoupled = rules[r].decoupled,
                        .nesterov = rules[r].nesterov);
                    RUN(p, average, .mean = data(mean, side), .value = data(value, side), .count = n,
                        .decay = t < 3 ? 0.3f : 0.999f, .step = step[side]);
                    check_steps(p, step);
                    check(p, value);
                    check_same(p, grad, NULL); /* zeros, skipped or not */
                    check(p, first);
                    check(p, second);
                    check(p, mean);
                    if (!p->only_cpu) check_shadow(p, shadow[1], value); /* the cpu has none */
                }
            }
    pair_done(p);
}

/* Weights in bf16 alone: the same draws, so that only what lies within the last bits of a float of where
   rounding turns differs, by one step. */
static void check_small(pair *p, uint16_t *const shadow[2], size_t n)
{
    uint16_t *got[2];
    size_t off = 0;
    for (int side = 0; side < 2; side++) {
        got[side] = malloc((n + 1) * sizeof **got);
        p->side[side]->download(p->side[side], got[side], shadow[side], n * sizeof **got);
    }
    for (size_t i = 0; i < n; i++) {
        int d = got[0][i] - got[1][i];
        if (d < -1 || d > 1) fault(p, "weight %zu is %x, expected %x", i, got[1][i], got[0][i]);
        off += d != 0;
    }
    if (off > 2 + n / 1000) fault(p, "%zu of %zu weights differ", off, n);
    p->compared++;
    free(got[0]), free(got[1]);
}

static void small_weights(void **state)
{
    pair *p = pair_of(state);
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        for (size_t r = 0; r <= COUNT_OF(rules); r++) { /* the last is Muon's */
            size_t n = counts[i], k = r < COUNT_OF(rules) ? r : 0;
            if (left_out(i) || n > 200000) continue;
            begin_case(p, "%s of %zu in bf16 alone", r < COUNT_OF(rules) ? rules[r].name : "muon", n);
            float *zero = pair_take(p, 2, n * sizeof *zero);
            twin *value = twin_normal(p, "value", 1, n, REAL | FLAT, 1),
                 *grad = twin_from(p, "grad", 1, n, REAL | FLAT, zero),
                 *move = twin_normal(p, "move", 1, n, REAL | FLAT, 0.1),
                 *first = rules[k].first ? twin_from(p, "first", 1, n, REAL | FLAT, zero) : NULL,
                 *second = rules[k].rule == HD_ADAM ? twin_from(p, "second", 1, n, REAL | FLAT, zero) : NULL;
            uint16_t *shadow[2];
            for (int side = 0; side < 2; side++) shadow[side] = pair_take(p, side, n * sizeof **shadow);
            RUN(p, cast, .shadow = shadow[side], .value = data(value, side), .count = n);
            for (uint32_t t = 1; t < 4; t++) {
                hd_step now = pair_now;
                void *step[2];
                now.weight = 20, now.rate = 0.01f, now.updates = t, now.clip = 1, now.skip = t == 2;
                twin_bytes(p, step, &now, sizeof now);
                float *g = normals(p, n, 20);
                for (int side = 0; side < 2; side++) twin_load(p, grad, side, g);
                if (r == COUNT_OF(rules))
                    RUN(p, descend, .shadow = shadow[side], .place = 5, .x = &move->on[side],
                        .step = step[side], .factor = 1, .decay = 0.1f, .scale = 1.5f);
                else
                    RUN(p, update, .grad = data(grad, side), .first = data(first, side),
                        .second = data(second, side), .shadow = shadow[side], .place = 5, .count = n,
                        .step = step[side], .rule = rules[k].rule, .factor = 0.5f,
                        .momentum = rules[k].momentum, .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-9f,
                        .decay = rules[k].decay, .decoupled = rules[k].decoupled,
                        .nesterov = rules[k].nesterov);
                check_small(p, shadow, n);
                if (r < COUNT_OF(rules)) check_same(p, grad, NULL);
            }
        }
    pair_done(p);
}

/* Muon's passes: a step, one that is skipped, and another. x is in the type that the card computes with. */
static void muon(void **state)
{
    pair *p = pair_of(state);
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        for (int bf16 = 0; bf16 < 2; bf16++) {
            size_t n = counts[i];
            if (left_out(i)) continue;
            begin_case(p, "muon of %zu%s", n, bf16 ? " in the compute type" : "");
            float *zero = pair_take(p, 2, n * sizeof *zero);
            twin *value = twin_normal(p, "value", 1, n, REAL | FLAT, 1),
                 *grad = twin_from(p, "grad", 1, n, REAL | FLAT, zero),
                 *first = twin_from(p, "first", 1, n, REAL | FLAT, zero),
                 *y = twin_from(p, "direction", 1, n, REAL | FLAT, zero),
                 *x = twin_from(p, "x", 1, n, (bf16 ? ACT : REAL) | FLAT, zero),
                 *move = twin_normal(p, "move", 1, n, (bf16 ? ACT : REAL) | FLAT, 0.1);
            uint16_t *shadow[2] = {NULL, pair_take(p, 1, n * sizeof **shadow)};
            double nothing = 0;
            void *sum[2], *step[2];
            twin_bytes(p, sum, &nothing, sizeof nothing);
            RUN_ON(p, 1, cast, .shadow = shadow[1], .value = data(value, 1), .count = n);
            for (int t = 0; t < 3; t++) {
                hd_step now = pair_now;
                now.weight = 20, now.clip = 0.75f, now.rate = 0.01f, now.skip = t == 1;
                twin_bytes(p, step, &now, sizeof now);
                float *g = normals(p, n, 20);
                for (int side = 0; side < 2; side++) twin_load(p, grad, side, g);
                RUN(p, moment, .y = data(y, side), .grad = data(grad, side), .first = data(first, side),
                    .count = n, .step = step[side], .momentum = 0.95f);
                RUN(p, square_sum, .sum = sum[side], .x = data(y, side), .count = n);
                RUN(p, unit, .y = &x->on[side], .x = data(y, side), .sum = sum[side]);
                RUN(p, descend, .value = data(value, side), .shadow = shadow[side], .x = &move->on[side],
                    .step = step[side], .factor = 40, .decay = 0.1f, .scale = 1.5f);
                check_same(p, grad, NULL); /* zeros, skipped or not */
                check(p, first);
                check(p, y);
                check(p, x);
                check(p, value);
                if (!p->only_cpu) check_shadow(p, shadow[1], value);
            }
        }
    pair_done(p);
}

static void cast(void **state)
{
    pair *p = pair_of(state);
    /* ties to even both ways, the largest, one that becomes infinite, subnormals, both zeros */
    const float hard[] = {1.00390625f, 1.01171875f, 0,         -0.0f, 3.3895314e38f, 3.4e38f, 1e-40f,
                          -1e-42f,     INFINITY,    -INFINITY, NAN};
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        for (size_t from = 0; from < 2; from++) { /* the shadow may begin anywhere in its buffer */
            size_t n = counts[i];
            if (left_out(i)) continue;
            begin_case(p, "cast of %zu from %zu", n, from);
            float *v = normals(p, n + from, 1);
            for (size_t j = 0; j < COUNT_OF(hard) && n > 50; j++) v[from + 3 * j] = hard[j];
            twin *value = twin_from(p, "value", 1, n + from, REAL | FLAT, v);
            uint16_t *shadow = pair_take(p, 1, (n + from) * sizeof *shadow),
                     *got = pair_take(p, 2, (n + from) * sizeof *got);
            RUN_ON(p, 1, cast, .shadow = shadow + from, .value = data(value, 1) + from, .count = n);
            p->side[1]->download(p->side[1], got, shadow, (n + from) * sizeof *got);
            for (size_t j = from; j < n + from; j++)
                if (isnan(v[j]) ? !isnan(of_bf16(got[j])) : got[j] != bf16_of(v[j])) {
                    fault(p, "%.9g becomes %.9g", (double)v[j], (double)of_bf16(got[j]));
                    break;
                }
            p->compared++;
        }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(square_sum), PAIR_TEST(clip), PAIR_TEST(update), PAIR_TEST(small_weights),
          PAIR_TEST(muon), PAIR_TEST(cast))
