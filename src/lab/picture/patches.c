/* Patches: a picture as a sentence of small squares, and what their positions are for. */
#include <math.h>

#include "base/mem.h"
#include "lab/picture/viewer.h"
#include "lab/sweep.h"

static const int32_t updates[] = {0, 30, 60, 90, 120, 180};
enum { POINTS = sizeof updates / sizeof *updates, LAST = POINTS - 1, SIDE = HD_VIEWER_SIDE };

static const struct {
    const char *name;
    hd_viewer_order order;
    bool nowhere;
} kinds[] = {{"patches in order", HD_VIEWER_PLAIN, false},
             {"shuffled, in all pictures alike", HD_VIEWER_ONE, false},
             {"shuffled anew in each picture", HD_VIEWER_ANY, false},
             {"in order, without positions", HD_VIEWER_PLAIN, true}};
enum { IN_ORDER, ALIKE, ANEW, NOWHERE, KINDS };

typedef struct found {
    double color[KINDS][HD_LAB_SEEDS]; /* share that is right at last */
    double moved[KINDS];               /* by how much answers change when patches are shuffled, the most */
    double shades[2][SIDE * SIDE];     /* of a picture, as it is and shuffled */
} found;

static hd_status learn(double *quarter, const hd_lab *lab, size_t k, uint64_t seed, void *context,
                       hd_err *err)
{
    const uint32_t times = hd_lab_times(lab);
    found *f = context;
    double moved = 0;
    hd_viewer v;
    hd_status s = hd_viewer_open(&v, lab->run, kinds[k].order, kinds[k].nowhere, seed, err);
    for (int i = 0; !s && i < POINTS; i++) {
        const uint32_t steps = i ? (uint32_t)(updates[i] - updates[i - 1]) : 0;
        s = hd_viewer_learn(&v, times * steps, times * (uint32_t)updates[LAST], 0.007, err);
        if (!s) s = hd_viewer_judge(&f->color[k][seed - lab->seed], &quarter[i], &v, err);
    }
    if (!s) s = hd_viewer_compare_shuffled(&moved, f->shades, &v, err);
    f->moved[k] = fmax(f->moved[k], moved);
    hd_viewer_close(&v);
    return s;
}

static hd_status cut_up(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_album_cut cuts[] = {{.side = 16, .patch = 4},
                           {.side = 32, .patch = 4},
                           {.side = 64, .patch = 16},
                           {.side = 224, .patch = 16}};
    enum { CUTS = sizeof cuts / sizeof *cuts };
    bool counted = true;
    double lost = 0;
    hd_status s = HD_OK;
    hd_paper_table_of(to, "Pictures as rows of patches", 4, 0);
    hd_paper_row(to, "picture, pixels\tpatch, pixels\tpatches\tnumbers of a patch");
    for (int i = 0; !s && i < CUTS; i++) {
        hd_album_cut *c = &cuts[i];
        s = hd_album_put_back(c, lab->run, lab->seed, err);
        const size_t across = (size_t)(c->side / c->patch);
        counted = counted && c->patches == across * across, lost = fmax(lost, c->lost);
        hd_paper_row(to, "%d x %d\t%d x %d\t%zu\t%zu", c->side, c->side, c->patch, c->patch, c->patches,
                     c->numbers);
    }
    hd_paper_claim(to,
                   "A picture of H x W pixels is a sentence of HW / P^2 patches, from which it can be put "
                   "together again.",
                   counted && lost == 0, "224 x 224 pixels are %zu patches of 16 x 16; put back, %s.",
                   cuts[CUTS - 1].patches,
                   lost > 0 ? "they are another picture" : "they are the picture, number by number");
    return s;
}

static void judge(hd_paper *to, const hd_sweep *w, const found *f, const hd_lab *lab)
{
    hd_spread color[KINDS], at[KINDS];
    hd_paper_table_of(to, "Pictures said right at last, %", 3, 1);
    hd_paper_row(to, "patches\twhich color\twhich quarter");
    for (int k = 0; k < KINDS; k++) {
        color[k] = hd_spread_of(f->color[k], (size_t)lab->seeds), at[k] = w->spread[k][LAST];
        hd_paper_cell(to, "%s", kinds[k].name), hd_spread_percent(to, color[k]);
        hd_paper_cell(to, "%.0f (%.0f to %.0f)", at[k].mean, at[k].low, at[k].high);
    }
    hd_paper_claim(to, "With positions, self-attention over patches tells what is where.",
                   at[IN_ORDER].low > 60 && color[IN_ORDER].low > 0.5,
                   "%.0f %% of the quarters are right (%.0f to %.0f); one in four would be by chance.",
                   at[IN_ORDER].mean, at[IN_ORDER].low, at[IN_ORDER].high);
    hd_paper_claim(
        to, "Without them a picture is a bag of patches: what there is can be told, where it is cannot.",
        f->moved[NOWHERE] < 1e-4 && f->moved[IN_ORDER] > 0.1 && fmax(at[NOWHERE].high, at[ANEW].high) < 45 &&
            color[NOWHERE].low > 0.5,
        "%.0f %% of the colors are right and %.0f %% of the quarters; patches in another order change no "
        "probability by more than %.1g, with positions by up to %.2f.",
        100 * color[NOWHERE].mean, at[NOWHERE].mean, f->moved[NOWHERE], f->moved[IN_ORDER]);
    hd_paper_claim(
        to, "Which patches are neighbors is learned: pictures all shuffled alike are as easy.",
        at[ALIKE].low > 60,
        "%.0f %% of their quarters are right (%.0f to %.0f), of pictures that are shuffled anew %.0f %%.",
        at[ALIKE].mean, at[ALIKE].low, at[ALIKE].high, at[ANEW].mean);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_sweep *w = NULL;
    found *f = hd_mem_zero(sizeof *f);
    hd_status s = f ? hd_sweep_new(&w, kinds, sizeof *kinds, KINDS, updates, POINTS, err)
                    : hd_err_nomem(err, sizeof *f);
    if (!s) {
        hd_sweep_stretch(w, lab);
        w->title = "In which quarter is it?", w->across = "updates of 32 pictures";
        w->upward = "quarters said right, % (mean and spread of all seeds)";
        w->scale = 100;
        hd_paper_say(to,
                     "A Vision Transformer of one block cuts pictures of a shape into %d patches of %d x %d "
                     "pixels and says which of %d colors the shape has, and in which of %d quarters of the "
                     "picture it is.",
                     HD_VIEWER_PATCHES, HD_VIEWER_PATCH, HD_VIEWER_PATCH, HD_SHAPE_COLORS,
                     HD_VIEWER_QUARTERS);
        s = cut_up(to, lab, err);
    }
    if (!s) s = hd_sweep_measure(w, lab, learn, f, err);
    if (!s) {
        hd_album_put(to, "A picture: how far pixels are from the background", f->shades[0], SIDE);
        hd_album_put(to, "The same, its patches shuffled", f->shades[1], SIDE);
        hd_sweep_put(to, w, lab);
        judge(to, w, f, lab);
    }
    hd_sweep_free(w);
    hd_mem_free(f);
    return s;
}

const hd_experiment hd_experiment_patches = {
    .name = "patches",
    .title = "A picture is worth 16 x 16 words",
    .lecture = 2,
    .rows = "181",
    .claim = "A Transformer reads a picture as a sentence of patches; positions tell it where they were.",
    .run = run,
};
