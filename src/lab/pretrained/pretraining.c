/* Learning from plain text first: what it is worth with few examples, what tasks are that are told in the
   input, and how many parameters a thousand times more are. */
#include <math.h>

#include "lab/pretrained/sizes.h"
#include "lab/pretrained/told.h"
#include "lab/pretrained/tuner.h"
#include "lab/sweep.h"

enum { READ = 150, TUNED = 40 };
static const int32_t examples[] = {4, 8, 16, 32};
enum { POINTS = sizeof examples / sizeof *examples, FEW = 1 };

/* The rows of the paper's table 5, with its numbers: the mean that is printed, then those of eight sets. */
static const struct {
    const char *name;
    hd_lm_kind kind;
    bool reads;
    double beside, published[9];
} kinds[] = {
    {"Transformer, all of it", HD_LM_gpt, true, 0.5, {74.7, 45.4, 91.3, 82.3, 82.0, 70.3, 81.8, 88.1, 56.0}},
    {"without pre-training", HD_LM_gpt, false, 0.5, {59.9, 18.9, 84.0, 79.4, 30.9, 65.5, 75.7, 71.2, 53.8}},
    {"without the loss of words", HD_LM_gpt, true, 0, {75.0, 47.9, 92.0, 84.9, 83.2, 69.8, 81.1, 86.9, 54.4}},
    {"LSTM, all of it", HD_LM_lstm, true, 0.5, {69.1, 30.3, 90.5, 83.2, 71.8, 68.1, 73.7, 81.1, 54.6}}};
enum { KINDS = sizeof kinds / sizeof *kinds, ALL = 0, SCRATCH, NO_WORDS, LSTM };

typedef struct study {
    bool same;                     /* a loss of words of weight 0 and none give the same weights */
    double right[2][HD_LAB_SEEDS]; /* share of answers, without a task told and with it */
    double leak;                   /* by how much a later word changes what is said of earlier ones */
} study;

/* -- plain text first, then few labels -- */

static hd_status tune(double *share, const hd_lab *lab, size_t k, uint64_t seed, void *context, hd_err *err)
{
    hd_tuner t;
    (void)context;
    hd_status s = hd_tuner_open(&t, lab->run, kinds[k].kind, seed, err);
    if (!s && kinds[k].reads) s = hd_tuner_read(&t, lab->full ? 4 * READ : READ, err);
    if (!s) s = hd_tuner_keep(&t, err);
    for (int i = 0; !s && i < POINTS; i++) {
        s = hd_tuner_return(&t, err);
        if (!s) s = hd_tuner_tune(&t, examples[i], TUNED, kinds[k].beside, err);
        if (!s) s = hd_tuner_judge(&share[i], &t, err);
    }
    hd_tuner_close(&t);
    return s;
}

static hd_status compare(study *y, const hd_lab *lab, hd_err *err)
{
    hd_tuner t[2] = {0};
    hd_status s = HD_OK;
    for (int i = 0; !s && i < 2; i++) {
        s = hd_tuner_open(&t[i], lab->run, HD_LM_gpt, lab->seed, err);
        if (!s) s = hd_tuner_tune(&t[i], examples[0], 10, i ? -1 : 0, err);
        if (!s) s = hd_tuner_keep(&t[i], err);
    }
    y->same = !s && hd_tuner_same(&t[0], &t[1]);
    for (int i = 0; i < 2; i++) hd_tuner_close(&t[i]);
    return s;
}

static hd_status tell(study *y, const hd_lab *lab, int number, bool told, hd_err *err)
{
    hd_told found;
    hd_status s = hd_told_measure(&found, lab, lab->seed + (uint64_t)number, told, err);
    y->right[told][number] = found.right, y->leak = fmax(y->leak, found.leak);
    return s;
}

/* -- the paper -- */

static void put(hd_paper *to, const hd_sweep *w)
{
    hd_paper_table_of(to, "The same four models in the paper on GPT (table 5): the mean of eight sets", 4, 1);
    hd_paper_row(to, "model\tprinted\tcomputed again\there, %d examples", examples[FEW]);
    for (int k = 0; k < KINDS; k++) {
        double mean = 0;
        for (int i = 1; i < 9; i++) mean += kinds[k].published[i] / 8;
        hd_paper_row(to, "%s\t%.1f\t%.2f\t%.0f", kinds[k].name, kinds[k].published[0], mean,
                     w->spread[k][FEW].mean);
    }
    hd_paper_say(to, "The mean of the LSTM is printed cut, not rounded.");
}

static void judge(hd_paper *to, const hd_sweep *w, const study *y, const double *size, const hd_lab *lab)
{
    const hd_spread *all = &w->spread[ALL][FEW], *none = &w->spread[SCRATCH][FEW],
                    *bare = &w->spread[NO_WORDS][FEW], *lstm = &w->spread[LSTM][FEW];
    const hd_spread told = hd_spread_of(y->right[1], (size_t)lab->seeds),
                    untold = hd_spread_of(y->right[0], (size_t)lab->seeds);
    hd_paper_claim(to, "GPT is the decoder alone: nothing depends on words to come.", y->leak <= 0,
                   "Another word in the end changes what is said of those before it by %.1g nats.", y->leak);
    hd_paper_claim(to, "Who has read plain text needs few examples.", all->low > none->high + 10,
                   "With %d lines that have a label %.0f %% of new lines are told rightly (%.0f to %.0f), "
                   "without pre-training %.0f %% (%.0f to %.0f); a guess has 50.",
                   examples[FEW], all->mean, all->low, all->high, none->mean, none->low, none->high);
    hd_paper_claim(to, "It is pre-training that counts, not the loss of words beside the labels.",
                   bare->low > none->high + 10 && fabs(all->mean - bare->mean) < (bare->mean - none->mean) / 2,
                   "Without that loss it is %.0f %%; in the paper the mean rises from 74.7 to 75.0.",
                   bare->mean);
    hd_paper_claim(to, "Other language models gain by it, too.", lstm->low > none->high + 10,
                   "An LSTM has %.0f %%. In the paper it stays behind the Transformer, 69.1 to 74.7; so "
                   "small an exercise does not tell the two apart.",
                   lstm->mean);
    hd_paper_claim(to, "A loss of weight 0 is none.", y->same, "After 10 updates all weights are %s.",
                   y->same ? "the same to the last bit" : "not the same");
    hd_paper_claim(to, "One model does several tasks: the input says which.",
                   told.low > 0.9 && untold.high < told.low,
                   "The same numbers have %d answers: where a word says the task %.0f %% (%.0f to %.0f) of "
                   "the right ones get more than half of the probability, where none does %.0f %%.",
                   HD_TOLD_TASKS, 100 * told.mean, 100 * told.low, 100 * told.high, 100 * untold.mean);
    hd_paper_claim(to, "Parameters x1000.", size[2] > 1000 * size[0] && fabs(size[0] / 116534784 - 1) < 1e-9,
                   "GPT-3 has %.0f times as many as GPT-1, GPT-2 %.0f times.", size[2] / size[0],
                   size[1] / size[0]);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    double size[HD_SIZES];
    study y = {0};
    hd_sweep *w = NULL;
    hd_status s = hd_sweep_new(&w, kinds, sizeof *kinds, KINDS, examples, POINTS, err);
    if (s) return s;
    w->title = "Few examples", w->across = "lines with a label", w->scale = 100;
    w->upward = "new lines told rightly, percent (mean and spread of all seeds)";
    w->caption = "New lines told rightly, percent, by the lines with a label", w->corner = "model";
    w->format = "%.0f";
    s = hd_sweep_measure(w, lab, tune, NULL, err);
    if (!s) s = compare(&y, lab, err);
    for (int i = 0; !s && i < 2 * lab->seeds; i++) s = tell(&y, lab, i / 2, i % 2, err);
    if (!s) {
        hd_paper_say(to, "Lines have words of one of two topics, 20 each. Plain text has all of them; lines "
                         "with a label have five of each, and those to be judged only the others: that words "
                         "belong together can be known from plain text alone.");
        hd_sweep_put(to, w, lab);
        put(to, w);
        s = hd_sizes_put(to, size, lab, err);
    }
    if (!s) judge(to, w, &y, size, lab);
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_pretraining = {
    .name = "pretraining",
    .title = "Plain text first",
    .lecture = 4,
    .rows = "174-178, 180",
    .claim = "A language model that has read plain text learns a task from few examples, and can be told the "
             "task in its input.",
    .run = run,
};
