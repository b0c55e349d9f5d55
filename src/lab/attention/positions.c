/* Positions: what sinusoids promise, where a promise is too strong, and what a model does without them. */
#include <math.h>
#include <stdio.h>

#include "lab/attention/waves.h"
#include "lab/learner.h"
#include "nn/position.h"

enum { LENGTH = 7 };

/* -- the table -- */

static hd_status show_table(hd_paper *to, hd_waves *all, size_t tables, hd_err *err)
{
    enum { SHOWN = 32, FAR = HD_WAVES_FAR };
    hd_real p[SHOWN * SHOWN];
    hd_status s = HD_OK;
    double shade[SHOWN * SHOWN], x[FAR + 1], share[FAR + 1];
    char number[SHOWN][4];
    const char *names[SHOWN];
    for (int i = 0; i < SHOWN; i++)
        snprintf(number[i], sizeof number[i], "%d", i), names[i] = i % 4 ? "" : number[i];
    hd_sinusoid_fill(p, SHOWN, SHOWN, &(hd_sinusoid){0});
    for (size_t i = 0; i < SHOWN * SHOWN; i++) shade[i] = (double)p[i];
    for (size_t i = 0; !s && i < tables; i++) s = hd_waves_measure(&all[i], err);
    if (s) return s;
    hd_paper_say(to,
                 "Column 2i is the sine, column 2i + 1 the cosine of position / 10000^(2i/d). Lecture 002 "
                 "prints 1000 for 10000, a slip; lecture 004 counts frequencies from l = 1, the paper "
                 "from 0: both are measured.");
    hd_paper_cells(to, &(hd_cells){.title = "The positional encoding of 32 positions in 32 columns",
                                   .across = "column (sine and cosine in turn; blue above 0, orange below)",
                                   .downward = "position",
                                   .value = shade,
                                   .rows = SHOWN,
                                   .cols = SHOWN,
                                   .row = names,
                                   .col = names,
                                   .full = 1,
                                   .digits = -1});
    hd_paper_plot(to, &(hd_series_plot){.title = "Products of two positions",
                                        .across = "distance of the two positions",
                                        .upward = "product, as a share of that at distance 0"});
    for (size_t i = 0; i < tables; i++) {
        char name[48];
        for (int k = 0; k <= FAR; k++) x[k] = k, share[k] = all[i].product[k] / all[i].product[0];
        snprintf(name, sizeof name, "%zu columns%s", all[i].d,
                 all[i].first ? ", frequencies from l = 1" : "");
        hd_paper_line(to, name, &(hd_series){.x = x, .y = share, .count = FAR + 1});
    }
    static const char *const heads[] = {"encoding",      "norm squared", "nearest two",
                                        "error of M_17", "falls until",  "and then"};
    hd_paper_table_of(to, "The first 600 positions: products fall until a distance, and then grow", 6, 1);
    for (size_t i = 0; i < 6; i++) hd_paper_cell(to, "%s", heads[i]);
    for (size_t i = 0; i < tables; i++) {
        const hd_waves *t = &all[i];
        hd_paper_cell(to, "d = %zu%s", t->d, t->first ? ", l from 1" : "");
        hd_paper_cell(to, "%.4f", t->norm[1]);
        hd_paper_cell(to, "%.3f", t->nearest);
        hd_paper_cell(to, "%.1g", t->shift);
        hd_paper_cell(to, "%d: %.3f", t->falls_to, t->product[t->falls_to]);
        hd_paper_cell(to, "%d: %.3f", t->falls_to + 1, t->product[t->falls_to + 1]);
    }
    return HD_OK;
}

static void judge_table(hd_paper *to, const hd_waves *all, size_t tables)
{
    double norm = 0, shift = 0, apart = 0, nearest = (double)INFINITY;
    bool falls = true;
    for (size_t i = 0; i < tables; i++) {
        const double half = (double)all[i].d / 2;
        norm = fmax(norm, fmax(all[i].norm[1] - half, half - all[i].norm[0]) / half);
        shift = fmax(shift, all[i].shift), apart = fmax(apart, all[i].apart / half);
        nearest = fmin(nearest, all[i].nearest), falls = falls && !all[i].falls_to;
    }
    hd_paper_claim(to, "Every position has a vector of its own.", nearest > 0.01,
                   "The nearest two of 600 are %.3f apart.", nearest);
    hd_paper_claim(to, "All of them have the same norm.", norm < 1e-5,
                   "The square is d/2 to %.1g of it: one sine and one cosine for each frequency.", norm);
    hd_paper_claim(to, "A shift is one matrix: P(t + tau) = M_tau P(t) at any t.", shift < 1e-5,
                   "The largest error of a number is %.1g.", shift);
    hd_paper_claim(to, "The product of two depends on their distance alone.", apart < 1e-5,
                   "At any time it is the same to %.1g of the largest.", apart);
    hd_paper_claim(to, "The correlation of two falls with their distance, strictly.", falls,
                   "With %zu columns it falls until distance %d and then grows; with %zu until %d.", all[0].d,
                   all[0].falls_to, all[2].d, all[2].falls_to);
    if (!falls)
        hd_paper_note(to,
                      "It is largest at distance 0 and smaller far away on the whole, but sums of cosines "
                      "swing: the inequality of the slide does not hold for every pair of distances.");
}

/* -- learning -- */

static hd_status learn(double *share, const hd_lab *lab, bool blind, uint64_t seed, hd_err *err)
{
    const uint32_t updates = lab->full ? 1600 : 350;
    hd_learner_opt o = hd_learner_block(HD_EXERCISE_reverse, LENGTH, 32, seed);
    o.model.no_positions = blind;
    return hd_learner_taught(share, lab->run, &o, updates, 0.005, (const int32_t[]){0}, 1, err);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_waves all[] = {{.d = 6}, {.d = 6, .first = 1}, {.d = 512}, {.d = 512, .first = 1}};
    double share[2][HD_LAB_SEEDS];
    hd_status s = show_table(to, all, sizeof all / sizeof *all, err);
    for (int i = 0; !s && i < lab->seeds; i++) {
        for (int k = 0; !s && k < 2; k++) s = learn(&share[k][i], lab, k, lab->seed + (uint64_t)i, err);
        if (!s) s = hd_lab_tell(lab, (i + 1.0) / lab->seeds, err);
    }
    if (s) return s;
    const hd_spread with = hd_spread_of(share[0], (size_t)lab->seeds),
                    none = hd_spread_of(share[1], (size_t)lab->seeds);
    hd_paper_table_of(to, "Seven words backwards, learned by a Transformer of one layer", 2, 1);
    hd_paper_cell(to, "model"), hd_paper_cell(to, "words right, %%");
    hd_paper_cell(to, "with positions"), hd_spread_percent(to, with);
    hd_paper_cell(to, "without"), hd_spread_percent(to, none);
    judge_table(to, all, sizeof all / sizeof *all);
    hd_paper_claim(to, "Without positions self-attention reads a set: order cannot be learned.",
                   with.low > 0.9 && none.high < with.low - 0.3,
                   "Said backwards, %.0f %% of the words are right with positions and %.0f %% without, where "
                   "the model knows which words there are and not in what order.",
                   100 * with.mean, 100 * none.mean);
    return HD_OK;
}

const hd_experiment hd_experiment_positions = {
    .name = "positions",
    .title = "Where a word stands",
    .lecture = 1,
    .rows = "107-115",
    .claim = "Self-attention treats its input as a set; vectors of sines and cosines that are added to the "
             "words say where each of them stands.",
    .run = run,
};
