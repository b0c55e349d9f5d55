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
        if (c->fast) continue;
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

/* clang-format off */
static const attending paged[] = {
    {.name = "one", .heads = 1, .d = 16, .items = 1, .q_least = 1, .q_most = 1, .k_least = 1, .k_most = 1},
    {.name = "decoding", .heads = 4, .d = 64, .items = 9, .q_least = 1, .q_most = 1, .k_least = 1, .k_most = 70,
     .mask = HD_CAUSAL},
    {.name = "4 on 2", .heads = 4, .kv = 2, .d = 32, .items = 6, .q_least = 1, .q_most = 1, .k_least = 1,
     .k_most = 50},
    {.name = "fill items", .heads = 2, .d = 64, .items = 8, .q_least = 0, .q_most = 1, .k_least = 0, .k_most = 20},
    {.name = "d 20", .heads = 2, .d = 20, .items = 4, .q_least = 1, .q_most = 1, .k_least = 1, .k_most = 33},
    {.name = "6 heads on 2, d 20", .heads = 6, .kv = 2, .d = 20, .items = 4, .q_least = 1, .q_most = 1,
     .k_least = 1, .k_most = 40},
    {.name = "d 7", .heads = 3, .d = 7, .dv = 5, .items = 4, .q_least = 1, .q_most = 1, .k_least = 1, .k_most = 49},
    {.name = "window", .heads = 2, .d = 16, .items = 5, .q_least = 1, .q_most = 1, .k_least = 0, .k_most = 50,
     .window = 18, .mask = HD_CAUSAL},
    {.name = "window, cap", .heads = 4, .kv = 2, .d = 64, .items = 5, .q_least = 1, .q_most = 1, .k_least = 0,
     .k_most = 150, .window = 40, .cap = 1.5f, .mask = HD_CAUSAL},
    {.name = "table", .heads = 4, .d = 32, .items = 5, .q_least = 1, .q_most = 1, .k_least = 1, .k_most = 60,
     .mask = HD_CAUSAL, .table = ONE_WAY},
    {.name = "additive", .heads = 2, .d = 70, .dv = 33, .items = 6, .q_least = 0, .q_most = 1, .k_least = 0,
     .k_most = 60, .score = HD_ADDITIVE},
    {.name = "distances", .heads = 4, .d = 64, .items = 5, .q_least = 1, .q_most = 1, .k_least = 1, .k_most = 90,
     .mask = HD_CAUSAL, .span = 40},
    {.name = "distances, local blocks", .heads = 2, .d = 32, .items = 5, .q_least = 1, .q_most = 1, .k_least = 1,
     .k_most = 200, .mask = HD_CAUSAL, .span = 64, .block = 24},
    {.name = "center", .heads = 1, .d = 32, .items = 4, .q_least = 1, .q_most = 1, .k_least = 1, .k_most = 40,
     .center = ONE_CENTER, .window = 5},
    {.name = "some of 1", .heads = 8, .d = 64, .items = 40, .q_least = 1, .q_most = 1, .k_least = 1, .k_most = 150,
     .mask = HD_CAUSAL},
    {.name = "many of 1", .heads = 8, .d = 64, .items = 300, .q_least = 1, .q_most = 1, .k_least = 1,
     .k_most = 70, .mask = HD_CAUSAL},
    {.name = "to 700, d 128, 8 on 2", .heads = 8, .kv = 2, .d = 128, .items = 12, .q_least = 1, .q_most = 1,
     .k_least = 1, .k_most = 700},
    {.name = "to 5000 in parts", .heads = 4, .kv = 2, .d = 64, .items = 3, .q_least = 1, .q_most = 1, .k_least = 0,
     .k_most = 5000, .mask = HD_CAUSAL},
    {.name = "to 5000 in parts, window, cap", .heads = 2, .d = 64, .items = 3, .q_least = 1, .q_most = 1,
     .k_least = 1, .k_most = 5000, .mask = HD_CAUSAL, .window = 1700, .cap = 2},
};
/* clang-format on */

static void same_as_in_order(pair *p, const twin *x, const twin *y)
{
    for (int side = 0; side < 2 && !p->broken; side++) {
        float *a = twin_read(p, x, side), *b = twin_read(p, y, side);
        if (memcmp(a, b, x->rows * x->wide * sizeof *a)) fault(p, "side %d: other bits than in order", side);
    }
}

/* Keys in blocks give the bits that they give one after the other, on both sides. */
static void blocks(void **state)
{
    pair *p = pair_of(state);
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (const attending *c = paged; c < paged + COUNT_OF(paged); c++) {
            begin_case(p, "%s in blocks", c->name);
            attending with = *c;
            with.k_how = PAGED;
            scene *s = scene_of(p, &with);
            twin_seg *plain = seg_from(p, s->ks->len, c->items, 0);
            int32_t *index = pair_take(p, 2, (plain->rows + 1) * sizeof *index);
            size_t at = 0;
            for (size_t i = 0; i < c->items; i++)
                for (size_t j = 0; j < (size_t)plain->len[i]; j++)
                    index[at++] = s->ks->page[i * s->ks->pages + j / HD_PAGE_ROWS] * HD_PAGE_ROWS +
                                  (int32_t)(j % HD_PAGE_ROWS);
            twin_ints *rows = ints_from(p, index, plain->rows);
            twin *k = twin_result(p, "k", plain->rows, s->hk * s->d, ACT, false),
                 *v = twin_result(p, "v", plain->rows, s->hk * s->dv, ACT, false),
                 *y = twin_result(p, "y", s->qs->rows, s->h * s->dv, ACT, false),
                 *z = twin_result(p, "z", s->qs->rows, s->h * s->dv, ACT, false);
            RUN(p, gather, .y = ON(k), .x = ON(s->k), .index = rows->on[side], .scale = 1);
            RUN(p, gather, .y = ON(v), .x = ON(s->v), .index = rows->on[side], .scale = 1);
            RUN(p, attend, .y = ON(y), .q = ON(s->q), .k = ON(s->k), .v = ON(s->v), .at = &s->at[side]);
            for (int side = 0; side < 2; side++) s->at[side].kseg = ON(plain);
            RUN(p, attend, .y = ON(z), .q = ON(s->q), .k = ON(k), .v = ON(v), .at = &s->at[side]);
            compare(p, y, (close_enough){.tolerance = of(p, TOLERANCE_Y), .rows = s->qs->owned});
            same_as_in_order(p, y, z);
        }
    pair_done(p);
}

/* clang-format off */
static const attending latents[] = {
    {.name = "2 heads", .heads = 2, .d = 24, .dv = 16, .items = 4, .q_least = 0, .q_most = 1, .k_least = 0, .k_most = 70},
    {.name = "4 heads, 80 / 64", .heads = 4, .d = 80, .dv = 64, .items = 5, .q_least = 1, .q_most = 1, .k_least = 1,
     .k_most = 131, .mask = HD_CAUSAL},
    {.name = "16 heads, 576 / 512", .heads = 16, .d = 576, .dv = 512, .items = 3, .q_least = 1, .q_most = 1,
     .k_least = 1, .k_most = 300, .mask = HD_CAUSAL},
    {.name = "20 heads, 576 / 512, window, cap", .heads = 20, .d = 576, .dv = 512, .items = 3, .q_least = 1,
     .q_most = 1, .k_least = 1, .k_most = 400, .mask = HD_CAUSAL, .window = 150, .cap = 3},
    {.name = "6 heads, 640 / 512", .heads = 6, .d = 640, .dv = 512, .items = 2, .q_least = 1, .q_most = 1,
     .k_least = 1, .k_most = 90},
    {.name = "1 item, 16 heads to 9000", .heads = 16, .d = 576, .dv = 512, .items = 1, .q_least = 1, .q_most = 1,
     .k_least = 9000, .k_most = 9000, .mask = HD_CAUSAL, .large = true},
};
/* clang-format on */

/* Values that are the first columns of the keys, which all heads share. */
static void latent(void **state)
{
    pair *p = pair_of(state);
    for (p->layout = 0; p->layout < LAYOUTS; p->layout++)
        for (const attending *c = latents; c < latents + COUNT_OF(latents); c++)
            for (int in_blocks = 0; in_blocks < 2; in_blocks++) {
                if (c->large && (small_only() || p->layout != EIGHTS)) continue;
                begin_case(p, "latent, %s, in blocks %d", c->name, in_blocks);
                attending with = *c;
                with.kv = 1, with.k_how = in_blocks ? PAGED : 0;
                scene *s = scene_of(p, &with);
                twin *y = twin_result(p, "y", s->qs->rows, s->h * s->dv, ACT, false),
                     *lse = twin_result(p, "lse", s->qs->rows, s->h, REAL | FLAT, false);
                RUN(p, attend, .y = ON(y), .q = ON(s->q), .k = ON(s->k),
                    .v = (hd_tensor[]){hd_view_cols(ON(s->k), 0, s->dv)}, .lse = ON(lse), .at = &s->at[side]);
                compare(p, y, (close_enough){.tolerance = of(p, TOLERANCE_Y), .rows = s->qs->owned});
                compare(p, lse, (close_enough){.tolerance = of(p, TOLERANCE_SCORES), .rows = s->qs->owned});
            }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(attend), PAIR_TEST(probes), PAIR_TEST(blocks), PAIR_TEST(latent))
