/* Attention on the device against the cpu, with everything that can bend its scores. */
#include "backend/cuda_attend.h"

/* Besides the result, the weights are rounded to bf16 for the product with the values: one rounding of 2^-9
   as a rule for each, independent of each other. */
#define TOLERANCE_Y 1e-2
/* Scores of bf16 numbers are summed in f32 and never rounded, but their order and exp differ. */
#define TOLERANCE_SCORES 1e-3

static double of(const pair *p, double small)
{
    return p->bf16 ? small : TOLERANCE_F32;
}

static void attend(void **state)
{
    pair *p = pair_of(state);
    EACH_ATTENDING(p, c)
    for (int with_lse = 0; with_lse < 2; with_lse++) {
        begin_case(p, "%s, lse %d", c->name, with_lse);
        scene *s = scene_of(p, c);
        twin *y = twin_result(p, "y", s->qs->rows, s->h * s->dv, ACT, false),
             *lse = with_lse ? twin_result(p, "lse", s->qs->rows, s->h, REAL | FLAT, false) : NULL;
        RUN(p, attend, .y = ON(y), .q = ON(s->q), .k = ON(s->k), .v = ON(s->v), .lse = ON(lse),
            .at = &s->at[side]);
        compare(p, y, (close_enough){.tolerance = of(p, TOLERANCE_Y), .rows = s->qs->owned});
        if (lse) compare(p, lse, (close_enough){.tolerance = of(p, TOLERANCE_SCORES), .rows = s->qs->owned});
    }
    pair_done(p);
}

static void probes(void **state)
{
    pair *p = pair_of(state);
    EACH_ATTENDING(p, c)
    for (int which = p->layout == DENSE ? 1 : 8; which < 16;
         which += which == 8 ? 7 : which) { /* each, then all */
        begin_case(p, "%s, probes %d", c->name, which);
        scene *s = scene_of(p, c);
        twin *y = twin_result(p, "y", s->qs->rows, s->h * s->dv, ACT, false),
             *lse = which & 1 ? twin_result(p, "lse", s->qs->rows, s->h, REAL | FLAT, false) : NULL;
        const char *const names[] = {"raw", "scaled", "masked", "weights"};
        twin *out[4];
        for (int i = 0; i < 4; i++)
            out[i] = which >> i & 1 ? twin_result(p, names[i], s->total, s->h, REAL | FLAT, false) : NULL;
        RUN(p, attend, .y = ON(y), .q = ON(s->q), .k = ON(s->k), .v = ON(s->v), .lse = ON(lse),
            .at = &s->at[side], .raw = ON(out[0]), .scaled = ON(out[1]), .masked = ON(out[2]),
            .weights = ON(out[3]), .out_begin = s->begin->on[side]);
        compare(p, y, (close_enough){.tolerance = of(p, TOLERANCE_Y), .rows = s->qs->owned});
        if (lse) compare(p, lse, (close_enough){.tolerance = of(p, TOLERANCE_SCORES), .rows = s->qs->owned});
        for (int i = 0; i < 4; i++)
            if (out[i]) compare(p, out[i], (close_enough){.tolerance = of(p, TOLERANCE_SCORES)});
    }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(attend), PAIR_TEST(probes))
