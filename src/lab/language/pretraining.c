/* Learning from plain text first: what it is worth with few examples, what tasks are that are told in the
   input, and how many parameters a thousand times more are. */
#include <math.h>

#include "base/mem.h"
#include "lab/language/pupil.h"
#include "lab/language/tuner.h"
#include "lab/sweep.h"

enum { WIDTH = 32, READ = 150, TUNED = 40, TASKS = 3, NUMBERS = 8, STREAM = 3000, UPDATES = 150 };
static const int examples[] = {4, 8, 16, 32};
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

/* -- a task, a number and its answer, again and again: a number more than it, two more, ... as the task says
 * -- */

static hd_status do_tasks(study *y, const hd_lab *lab, int number, bool told, hd_err *err)
{
    enum { WINDOW = HD_PUPIL_WINDOW, JUDGED = 20 };
    hd_lm_opt o = hd_pupil_model(HD_LM_gpt, WIDTH, HD_PUPIL_FIRST + TASKS + NUMBERS);
    int32_t ids[STREAM];
    double nats[WINDOW], changed[WINDOW];
    size_t right = 0;
    hd_pupil p;
    hd_rng rng = hd_rng_make(lab->seed + (uint64_t)number, 31);
    o.stack.relative_span = 4, o.no_positions = true; /* a task is told where the number before stands */
    for (int i = 0; i < STREAM; i += 3) {
        int32_t task = (int32_t)hd_rng_below(&rng, TASKS), x = (int32_t)hd_rng_below(&rng, NUMBERS);
        ids[i] = HD_PUPIL_FIRST + (told ? task : 0), ids[i + 1] = HD_PUPIL_FIRST + TASKS + x;
        ids[i + 2] = HD_PUPIL_FIRST + TASKS + (x + task + 1) % NUMBERS;
    }
    hd_status s = hd_pupil_open(&p, lab->run, &o, lab->seed + (uint64_t)number, err);
    if (!s)
        s = hd_pupil_learn(&p, ids, STREAM - JUDGED * WINDOW, lab->full ? 4 * UPDATES : UPDATES, 0.01, err);
    for (int k = 0; !s && k < JUDGED; k++) {
        int32_t *from = ids + STREAM - (k + 1) * WINDOW;
        s = hd_pupil_words(nats, &p, from, WINDOW, err);
        for (int i = 2; i < WINDOW; i += 3) right += nats[i] < log(2); /* it has more than half */
        from[WINDOW - 2] = HD_PUPIL_FIRST;
        if (!s) s = hd_pupil_words(changed, &p, from, WINDOW, err);
        for (int i = 0; !s && i < WINDOW - 2; i++) y->leak = fmax(y->leak, fabs(nats[i] - changed[i]));
    }
    y->right[told][number] = (double)right / (JUDGED * WINDOW / 3);
    hd_pupil_close(&p);
    return s;
}

/* -- sizes -- */

static const struct {
    const char *name;
    int layers, heads;
    size_t width, vocab, context, said; /* said: parameters, in millions, as they are published */
    bool post_norm;
} sizes[] = {{"GPT-1 (2018)", 12, 12, 768, 40478, 512, 117, true},
             {"GPT-2 (2019)", 48, 25, 1600, 50257, 1024, 1558, false},
             {"GPT-3 (2020)", 96, 96, 12288, 50257, 2048, 175000, false}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static hd_status count(double *to, const hd_lab *lab, hd_err *err)
{
    hd_status s = HD_OK;
    for (int i = 0; !s && i < SIZES; i++) {
        hd_gpt *m = NULL; /* its parameters have names and shapes, and no memory */
        s = hd_gpt_make(&m, lab->run->backend,
                        &(hd_gpt_opt){.stack = {.layers = sizes[i].layers,
                                                .heads = sizes[i].heads,
                                                .width = sizes[i].width,
                                                .pre_norm = !sizes[i].post_norm},
                                      .vocab = sizes[i].vocab,
                                      .positions = sizes[i].context},
                        err);
        if (!s) to[i] = (double)hd_params_size(&m->params);
        hd_gpt_free(m);
    }
    return s;
}

/* -- the paper -- */

static void put(hd_paper *to, const hd_sweep *w, const double *size)
{
    hd_paper_table_of(to, "The same four models in the paper on GPT (table 5): the mean of eight sets", 4, 1);
    hd_paper_cell(to, "model"), hd_paper_cell(to, "printed"), hd_paper_cell(to, "computed again");
    hd_paper_cell(to, "here, %d examples", examples[FEW]);
    for (int k = 0; k < KINDS; k++) {
        double mean = 0;
        for (int i = 1; i < 9; i++) mean += kinds[k].published[i] / 8;
        hd_paper_cell(to, "%s", kinds[k].name), hd_paper_cell(to, "%.1f", kinds[k].published[0]);
        hd_paper_cell(to, "%.2f", mean), hd_paper_cell(to, "%.0f", w->spread[k][FEW].mean);
    }
    hd_paper_say(to, "The mean of the LSTM is printed cut, not rounded.");
    hd_paper_table_of(to, "Parameters, counted by making the models", 3, 1);
    hd_paper_cell(to, "model"), hd_paper_cell(to, "published"), hd_paper_cell(to, "counted");
    for (int i = 0; i < SIZES; i++)
        hd_paper_cell(to, "%s", sizes[i].name), hd_paper_cell(to, "%zu million", sizes[i].said),
            hd_paper_cell(to, "%.0f", size[i]);
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
                   bare->low > none->high + 10 && fabs(all->mean - bare->mean) < (all->mean - none->mean) / 2,
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
                   TASKS, 100 * told.mean, 100 * told.low, 100 * told.high, 100 * untold.mean);
    hd_paper_claim(to, "Parameters x1000.", size[2] > 1000 * size[0] && fabs(size[0] / 116534784 - 1) < 1e-9,
                   "GPT-3 has %.0f times as many as GPT-1, GPT-2 %.0f times.", size[2] / size[0],
                   size[1] / size[0]);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    const char *names[KINDS];
    double x[POINTS], size[SIZES];
    study y = {0};
    hd_sweep *w = hd_mem_zero(sizeof *w);
    if (!w) return hd_err_nomem(err, sizeof *w);
    for (int k = 0; k < KINDS; k++) names[k] = kinds[k].name;
    for (int i = 0; i < POINTS; i++) x[i] = examples[i];
    w->title = "Few examples", w->across = "lines with a label", w->scale = 100, w->log_x = true;
    w->upward = "new lines told rightly, percent (mean and spread of all seeds)";
    w->caption = "New lines told rightly, percent, by the lines with a label", w->corner = "model";
    w->format = "%.0f", w->kind = names, w->kinds = KINDS, w->x = x, w->points = POINTS;
    hd_status s = hd_sweep_measure(w, lab, tune, NULL, err);
    if (!s) s = compare(&y, lab, err);
    for (int i = 0; !s && i < 2 * lab->seeds; i++) s = do_tasks(&y, lab, i / 2, i % 2, err);
    if (!s) s = count(size, lab, err);
    if (!s) {
        hd_paper_say(to, "Lines have words of one of two topics, 20 each. Plain text has all of them; lines "
                         "with a label have five of each, and those to be judged only the others: that words "
                         "belong together can be known from plain text alone.");
        hd_sweep_put(to, w, lab);
        put(to, w, size);
        judge(to, w, &y, size, lab);
    }
    hd_mem_free(w);
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
