/* Heads: shapes and counts as Keras prints them, what a head is, and one or several of them learned. */
#include <math.h>

#include "lab/attention/printed.h"
#include "lab/desk.h"
#include "lab/learner.h"

enum { WIDTH = 16, LENGTH = 6, HEADS = 4, KINDS = 3, ACROSS = HEADS * (LENGTH + 1) - 1 };

/* How far four heads together are from each of them alone, side by side; and their weights from sums of 1. */
static hd_status compare(double *apart, double *sums, double *weight, const hd_lab *lab, uint64_t seed,
                         hd_err *err)
{
    const size_t each = WIDTH / HEADS;
    hd_run *r = lab->run;
    hd_rng rng = hd_rng_make(seed, 9);
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *in[3], *alone[HEADS];
    double unused[LENGTH * LENGTH];
    for (int i = 0; i < 3; i++) in[i] = hd_desk_normal(r, LENGTH, WIDTH, &rng);
    hd_tensor *y =
        hd_desk_attend(r, in[0], in[1], in[2], &(hd_attend_opt){.heads = HEADS}, "softmax", weight);
    for (size_t h = 0; h < HEADS && in[2]; h++)
        alone[h] = hd_desk_attend(
            r, hd_slice_cols(r, in[0], h * each, each), hd_slice_cols(r, in[1], h * each, each),
            hd_slice_cols(r, in[2], h * each, each), &(hd_attend_opt){.heads = 1}, "softmax", unused);
    *apart = hd_desk_gap(r, y, hd_concat_cols(r, alone, HEADS)), *sums = 0;
    for (int i = 0; i < HEADS * LENGTH; i++) {
        double sum = -1;
        for (int k = 0; k < LENGTH; k++) sum += weight[i * LENGTH + k];
        *sums = fmax(*sums, fabs(sum));
    }
    return hd_run_status(r, err);
}

static const int tried[KINDS] = {1, 2, 8};

static hd_status learn(double *share, const hd_lab *lab, int heads, uint64_t seed, hd_err *err)
{
    const uint32_t updates = lab->full ? 1600 : 400;
    hd_learner_opt o = hd_learner_block(HD_EXERCISE_brackets, 8, 32, seed);
    o.model.stack.heads = heads;
    return hd_learner_taught(share, lab->run, &o, updates, 0.005, (const int32_t[]){0}, 1, err);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    double apart = 0, sums = 0, weight[HEADS * LENGTH * LENGTH];
    hd_spread right[KINDS];
    hd_status s = hd_printed_put(to, lab, err);
    for (int i = 0; !s && i < lab->seeds; i++) {
        double one, sum;
        s = compare(&one, &sum, weight, lab, lab->seed + (uint64_t)i, err);
        apart = fmax(apart, one), sums = fmax(sums, sum);
    }
    for (int k = 0; k < KINDS; k++) {
        double v[HD_LAB_SEEDS];
        for (int i = 0; !s && i < lab->seeds; i++)
            s = learn(&v[i], lab, tried[k], lab->seed + (uint64_t)i, err);
        if (!s) s = hd_lab_tell(lab, (k + 1.0) / KINDS, err);
        if (s) return s;
        right[k] = hd_spread_of(v, (size_t)lab->seeds);
    }
    double shown[LENGTH * ACROSS];
    for (int i = 0; i < LENGTH * ACROSS; i++) {
        const int h = i % ACROSS / (LENGTH + 1), k = i % ACROSS % (LENGTH + 1);
        shown[i] = k < LENGTH ? weight[(h * LENGTH + i / ACROSS) * LENGTH + k] : (double)NAN;
    }
    hd_paper_cells(to,
                   &(hd_cells){.title = "Four heads look at six words, side by side",
                               .across = "words that are looked at, head after head (white: 0, dark blue: 1)",
                               .downward = "word that looks",
                               .value = shown,
                               .rows = LENGTH,
                               .cols = ACROSS,
                               .full = 1,
                               .digits = -1});
    hd_paper_table_of(to, "Which brackets close those that are open, eight of them, 32 columns in all", 2, 1);
    hd_paper_cell(to, "heads"), hd_paper_cell(to, "brackets right, %%");
    for (int k = 0; k < KINDS; k++) hd_paper_cell(to, "%d", tried[k]), hd_spread_percent(to, right[k]);
    hd_paper_claim(to, "A head is attention of its own; results lie side by side.", apart < 1e-5,
                   "Four heads together are the four alone to %.1g.", apart);
    hd_paper_claim(to, "Each head has a matrix of weights, whose rows sum to 1.", sums < 1e-5,
                   "(heads, 6, 6), and sums are 1 to %.1g.", sums);
    hd_paper_claim(
        to, "Several heads learn more than one of the same width.", right[KINDS - 1].low > right[0].high,
        "With the same updates and as many columns %.0f %% of the brackets are right with %d heads, %.0f %% "
        "with one.",
        100 * right[KINDS - 1].mean, tried[KINDS - 1], 100 * right[0].mean);
    return HD_OK;
}

const hd_experiment hd_experiment_heads = {
    .name = "heads",
    .title = "Several heads",
    .lecture = 1,
    .rows = "131-134",
    .claim = "Several heads look at a sentence independently, each with maps of its own; their results are "
             "put side by side and mapped back to the width.",
    .run = run,
};
