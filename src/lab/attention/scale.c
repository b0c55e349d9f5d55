/* Why scores are divided by sqrt(d): what softmax makes of those of wide vectors, and learning without it. */
#include <math.h>
#include <stdlib.h>

#include "lab/desk.h"
#include "lab/learner.h"

static const int sizes[] = {4, 16, 64, 256, 1024};
enum { SIZES = sizeof sizes / sizeof *sizes, KEYS = 16, QUERIES = 32, LAST = SIZES - 1 };

typedef struct look {
    double variance, entropy, slope; /* of scores; bits of the weights; gradient of the median query */
} look;

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Random queries over random keys. The slope is a gradient of the engine: of sums of weights times random
   numbers, by the scores of a query. */
static hd_status measure(look *to, const hd_lab *lab, int d, bool scaled, uint64_t seed, hd_err *err)
{
    hd_run *r = lab->run;
    double score[QUERIES * KEYS], weight[QUERIES * KEYS], g[QUERIES * KEYS], norm[QUERIES] = {0}, sum = 0,
                                                                             squares = 0;
    hd_rng rng = hd_rng_make(seed, (uint64_t)d);
    const hd_attend_opt o = {.heads = 1, .scale = scaled ? 0 : 1};
    hd_run_begin(r, HD_TRAIN);
    hd_tensor *q = hd_desk_normal(r, QUERIES, (size_t)d, &rng), *k = hd_desk_normal(r, KEYS, (size_t)d, &rng);
    hd_desk_attend(r, q, k, k, &o, "scaled", score);
    hd_desk_attend(r, q, k, k, &o, "softmax", weight);
    hd_tensor *s = hd_desk_rows(r, QUERIES, KEYS, score), *by = hd_desk_normal(r, QUERIES, KEYS, &rng);
    if (s) s->wants_grad = true;
    hd_sum_loss(r, hd_mul(r, hd_softmax(r, s), by), 1);
    hd_backward(r);
    if (!hd_run_status(r, err)) hd_desk_read(g, r, s->grad);
    *to = (look){0};
    hd_status failed = hd_run_status(r, err);
    for (int i = 0; !failed && i < QUERIES * KEYS; i++) {
        sum += score[i], squares += score[i] * score[i], norm[i / KEYS] += g[i] * g[i];
        if (weight[i] > 0) to->entropy -= weight[i] * log2(weight[i]) / QUERIES;
    }
    qsort(norm, QUERIES, sizeof *norm, rising);
    to->variance = squares / (QUERIES * KEYS) - pow(sum / (QUERIES * KEYS), 2);
    to->slope = sqrt(norm[QUERIES / 2]);
    return failed;
}

static hd_status learn(double *share, const hd_lab *lab, bool scaled, uint64_t seed, hd_err *err)
{
    const uint32_t updates = lab->full ? 1000 : 180;
    hd_learner_opt o = hd_learner_block(HD_EXERCISE_reverse, 6, 64, seed);
    o.model.stack.heads = 1, o.model.stack.unscaled_scores = !scaled;
    return hd_learner_taught(share, lab->run, &o, updates, 0.005, (const int32_t[]){0}, 1, err);
}

typedef struct outcome {
    hd_spread variance[SIZES], entropy[SIZES], slope[SIZES], right;
} outcome;

static hd_status try_all(outcome *to, const hd_lab *lab, bool scaled, hd_err *err)
{
    double share[HD_LAB_SEEDS];
    hd_status s = HD_OK;
    for (int c = 0; c < SIZES; c++) {
        look one[HD_LAB_SEEDS];
        for (int i = 0; !s && i < lab->seeds; i++)
            s = measure(&one[i], lab, sizes[c], scaled, lab->seed + (uint64_t)i, err);
        if (s) return s;
        to->variance[c] = hd_spread_across(&one->variance, sizeof *one, lab);
        to->entropy[c] = hd_spread_across(&one->entropy, sizeof *one, lab);
        to->slope[c] = hd_spread_across(&one->slope, sizeof *one, lab);
    }
    for (int i = 0; !s && i < lab->seeds; i++)
        s = learn(&share[i], lab, scaled, lab->seed + (uint64_t)i, err);
    if (!s) to->right = hd_spread_of(share, (size_t)lab->seeds);
    return s ? s : hd_lab_tell(lab, scaled ? 0.5 : 0.99, err);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    static const char *const names[] = {"divided by sqrt(d)", "not divided"};
    outcome of[2];
    double x[SIZES];
    hd_status s = HD_OK;
    for (int k = 0; !s && k < 2; k++) s = try_all(&of[k], lab, !k, err);
    if (s) return s;
    for (int c = 0; c < SIZES; c++) x[c] = sizes[c];
    hd_paper_say(to, "%d random queries look at %d random keys, all numbers normal with variance 1.", QUERIES,
                 KEYS);
    hd_paper_plot(to, &(hd_series_plot){.title = "How even the weights are",
                                        .across = "columns d of queries and keys",
                                        .upward = "entropy of the weights, bits (16 equal ones have 4)",
                                        .log_x = true});
    for (int k = 0; k < 2; k++) hd_spread_line(to, names[k], x, of[k].entropy, SIZES);
    hd_paper_plot(
        to, &(hd_series_plot){.title = "What gradient the softmax lets through",
                              .across = "columns d of queries and keys",
                              .upward = "norm of the gradient by the scores of a query (the median one)",
                              .log_x = true,
                              .log_y = true});
    for (int k = 0; k < 2; k++) hd_spread_line(to, names[k], x, of[k].slope, SIZES);
    hd_paper_table_of(to, "Means of all seeds", 7, 0);
    hd_paper_cell(to, "d");
    hd_paper_row(to, "divided: variance\tbits\tgradient\tnot: variance\tbits\tgradient");
    for (int c = 0; c < SIZES; c++) {
        hd_paper_cell(to, "%d", sizes[c]);
        for (int k = 0; k < 2; k++)
            hd_paper_row(to, "%.2f\t%.2f\t%.2g", of[k].variance[c].mean, of[k].entropy[c].mean,
                         of[k].slope[c].mean);
    }
    hd_paper_table_of(to, "Six words backwards, one head of 64 columns", 2, 1);
    hd_paper_cell(to, "scores"), hd_paper_cell(to, "words right, %%");
    for (int k = 0; k < 2; k++) hd_paper_cell(to, "%s", names[k]), hd_spread_percent(to, of[k].right);
    const outcome *with = &of[0], *none = &of[1];
    hd_paper_claim(to, "Products of random vectors grow with d; divided by sqrt(d) they do not.",
                   with->variance[LAST].low > 0.5 && with->variance[LAST].high < 2 &&
                       none->variance[LAST].low > 0.5 * sizes[LAST],
                   "Of %d columns their variance is %.0f, and %.2f once they are divided.", sizes[LAST],
                   none->variance[LAST].mean, with->variance[LAST].mean);
    hd_paper_claim(to, "Without it the softmax becomes a choice of one key.",
                   none->entropy[LAST].high < 0.5 && with->entropy[LAST].low > 2.5,
                   "With d = %d weights have %.2f bits, divided %.2f of 4.", sizes[LAST],
                   none->entropy[LAST].mean, with->entropy[LAST].mean);
    hd_paper_claim(to, "A softmax that has chosen lets no gradient through.",
                   none->slope[LAST].high < 0.1 * with->slope[LAST].low,
                   "With d = %d the gradient of the median query has a norm of %.1g, divided %.2f.",
                   sizes[LAST], none->slope[LAST].mean, with->slope[LAST].mean);
    hd_paper_claim(to, "Models learn better with it.", with->right.low > none->right.high,
                   "After the same updates %.0f %% of the words are right with it, %.0f %% without.",
                   100 * with->right.mean, 100 * none->right.mean);
    return HD_OK;
}

const hd_experiment hd_experiment_scale = {
    .name = "scale",
    .title = "Why sqrt(d)",
    .lecture = 0,
    .rows = "126",
    .claim = "Scores are divided by the root of the width, so that products of wide vectors do not grow and "
             "the softmax of them stays alive.",
    .run = run,
};
