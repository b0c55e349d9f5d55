/* The way back of attention on the device against the cpu: every gradient, added to or written. */
#include "backend/cuda_attend.h"

/* Weights and the gradients of scores are rounded to bf16 for the products they go through, and the device
   may take sum(dy * y) from a rounded y: three roundings and that of the result. */
#define TOLERANCE_BACK 2e-2

/* The gradient of a score is a difference, exactly 0 where there is but one key. What rounding leaves of it
   is of the size of sum(dy * y) * 2^-9, less among more keys. */
static void check_back(pair *p, const twin *t, const attending *c)
{
    if (!t) return;
    int keys = c->k_most ? c->k_most : c->q_most;
    close_enough k = {.tolerance = TOLERANCE_F32};
    if (p->bf16) k.tolerance = TOLERANCE_BACK, k.floor = 5e-3 / sqrt((double)(keys > 0 ? keys : 1));
    compare(p, t, k);
}

/* What attend gives, as the device would hand it on: y of the compute type, lse of f32. Rows of no item are
   zeros in y, and whatever there was in lse. */
static void forward(pair *p, scene *s, twin **y, twin **lse)
{
    size_t rows = s->qs->rows, n = s->h * s->dv;
    float *zeros = pair_take(p, 2, rows * n * sizeof *zeros);
    twin *a = twin_from(p, "y", rows, n, REAL | FLAT, zeros),
         *b = twin_result(p, "lse", rows, s->h, REAL | FLAT, false);
    RUN_ON(p, 0, attend, .y = ON(a), .q = ON(s->q), .k = ON(s->k), .v = ON(s->v), .lse = ON(b),
           .at = &s->at[side]);
    *y = twin_from(p, "y", rows, n, ACT, a->on[0].data);
    *lse = twin_from(p, "lse", rows, s->h, REAL | FLAT, b->on[0].data);
}

/* A gradient to be added to; a fresh one holds NaN in the rows of items, numbers that must stay in the
 * others. */
static twin *gradient(pair *p, const char *name, const twin_seg *seg, size_t cols, bool fresh)
{
    float *v = normals(p, seg->rows * cols, 1);
    for (size_t i = 0; fresh && i < seg->rows * cols; i++)
        if (seg->owned[i / cols]) v[i] = NAN;
    return twin_from(p, name, seg->rows, cols, ACT, v);
}

enum { DQ = 1, DK = 2, DV = 4, OTHERS = 8, ALL = 15 };

static void check_case(pair *p, const attending *c, int which, bool fresh)
{
    begin_case(p, "%s, which %d, fresh %d", c->name, which, fresh);
    scene *s = scene_of(p, c);
    twin *y, *lse;
    forward(p, s, &y, &lse);
    bool others = which & OTHERS;
    twin *dy = twin_owned(p, "dy", s->qs, s->h * s->dv, ACT, 1),
         *dq = which & DQ ? gradient(p, "dq", s->qs, s->h * s->d, fresh) : NULL,
         *dk = which & DK ? gradient(p, "dk", s->ks, s->hk * s->d, fresh) : NULL,
         *dv = which & DV ? gradient(p, "dv", s->ks, s->hk * s->dv, fresh) : NULL,
         *dadditive =
             s->additive && others ? twin_result(p, "dadditive", 1, s->h * s->d, REAL | FLAT, true) : NULL,
         *dtable =
             s->table && others ? twin_result(p, "dtable", s->table->rows, s->h, REAL | FLAT, true) : NULL,
         *ddistance = s->distance && others
                          ? twin_result(p, "ddistance", s->distance->rows, s->d, REAL | FLAT, true)
                          : NULL,
         *dcenter = s->center && others
                        ? twin_result(p, "dcenter", s->center->rows, s->center->cols, ACT, true)
                        : NULL,
         *dragged =
             s->ragged && others ? twin_result(p, "dragged", s->total, s->h, s->ragged->kind, true) : NULL,
         *dgate = s->gate && others ? twin_result(p, "dgate", 1, s->h, REAL | FLAT, true) : NULL;
    RUN(p, attend_back, .dq = ON(dq), .dk = ON(dk), .dv = ON(dv), .dadditive = ON(dadditive),
        .dtable = ON(dtable), .ddistance = ON(ddistance), .dcenter = ON(dcenter), .dragged = ON(dragged),
        .dgate = ON(dgate), .fresh_q = fresh, .fresh_k = fresh, .fresh_v = fresh, .dy = ON(dy), .y = ON(y),
        .q = ON(s->q), .k = ON(s->k), .v = ON(s->v), .lse = ON(lse), .at = &s->at[side]);
    const twin *all[] = {dq, dk, dv, dadditive, dtable, ddistance, dcenter, dragged, dgate};
    for (size_t i = 0; i < COUNT_OF(all); i++) check_back(p, all[i], c);
}

static void attend_back(void **state)
{
    pair *p = pair_of(state);
    EACH_ATTENDING(p, c)
    for (int fresh = 0; fresh < 2; fresh++) check_case(p, c, ALL, fresh);
    pair_done(p);
}

static void any_gradient_may_be_absent(void **state)
{
    pair *p = pair_of(state);
    EACH_ATTENDING(p, c)
    for (int which = 1; which < ALL; which++) {
        if (c->large || c->fast || p->layout != which % LAYOUTS) continue;
        if (which == OTHERS &&
            !(c->table || c->span || c->center || c->ragged || c->gate || c->score == HD_ADDITIVE))
            continue;
        check_case(p, c, which, which % 2);
    }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(attend_back), PAIR_TEST(any_gradient_may_be_absent))
