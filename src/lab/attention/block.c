/* One block opened: the worked example of lecture 003 step by step, and blocks without one of their parts. */
#include <math.h>

#include "lab/attention/tower.h"
#include "lab/experiment.h"
#include "show/lecture.h"

/* -- the worked example -- */

static double root(double x)
{
    return sqrt(fmax(x, 0));
}

typedef struct inside {
    double mean, sd, sample; /* of the first row of add1: by n, by n - 1 */
    double normed, below;    /* how far rows of norm1 are from mean 0 and deviation 1; the least after ReLU */
    double residual;         /* how far add1 is from X + what attention gives */
} inside;

static hd_status open_block(inside *to, hd_paper *paper, const hd_lab *lab, hd_err *err)
{
    enum { STEPS = 9, COLS = HD_LECTURE_WIDTH };
    static const char *const steps[STEPS] = {"enc.X",       "enc.mha_out",    "enc.add1",
                                             "enc.norm1",   "enc.ffn.hidden", "enc.ffn.relu",
                                             "enc.ffn.out", "enc.add2",       "enc.norm2"};
    static const char *const what[STEPS] = {"words with positions",
                                            "attention, times W_O",
                                            "sum of both",
                                            "norm of each row",
                                            "x W1 + b1",
                                            "ReLU",
                                            "times W2 + b2",
                                            "sum",
                                            "norm: the block's output"};
    const hd_explain_matrix *m[STEPS] = {0};
    double row[STEPS * COLS];
    hd_explain *x = NULL;
    hd_status s = hd_explain_run(&x, lab->run->backend, &(hd_explain_opt){0}, err);
    *to = (inside){0};
    hd_paper_say(paper,
                 "The worked example of lecture 003: what the vector of the word \"how\" becomes in the "
                 "encoder's block. 'heed explain' shows all of it.");
    hd_paper_table_of(paper, "The first row (\"how\") on its way through the encoder's block of lecture 003",
                      4, 2);
    hd_paper_row(paper, "matrix\twhat it is\tmean\tdeviation");
    for (int i = 0; !s && i < STEPS; i++) {
        double sum = 0, squares = 0;
        m[i] = hd_explain_find(x, steps[i]);
        if (!m[i]) s = hd_err_set(err, HD_EARG, "the worked example has no %s", steps[i]);
        for (int c = 0; !s && c < COLS; c++) {
            double v = row[i * COLS + c] = (double)m[i]->value[c];
            sum += v, squares += v * v;
        }
        const double mean = sum / COLS, spread = squares - COLS * mean * mean;
        if (i == 2) to->mean = mean, to->sd = root(spread / COLS), to->sample = root(spread / (COLS - 1));
        hd_paper_row(paper, "%s\t%s\t%.2f\t%.2f", steps[i], what[i], fabs(mean) < 0.005 ? 0 : mean,
                     root(spread / COLS));
    }
    if (!s)
        hd_paper_cells(paper, &(hd_cells){.title = "Its numbers, step by step",
                                          .across = "column (blue above 0, orange below)",
                                          .downward = "matrix",
                                          .value = row,
                                          .rows = STEPS,
                                          .cols = COLS,
                                          .row = steps,
                                          .full = 3,
                                          .digits = 2});
    for (size_t i = 0; !s && i < m[0]->rows * m[0]->cols; i++)
        to->residual = fmax(to->residual,
                            fabs((double)m[0]->value[i] + (double)m[1]->value[i] - (double)m[2]->value[i])),
        to->below = fmin(to->below, (double)m[5]->value[i]);
    for (size_t r = 0; !s && r < m[3]->rows; r++) {
        double sum = 0, squares = 0;
        for (size_t c = 0; c < m[3]->cols; c++)
            sum += (double)m[3]->value[r * m[3]->cols + c],
                squares += pow((double)m[3]->value[r * m[3]->cols + c], 2);
        to->normed = fmax(to->normed, fmax(fabs(sum), fabs(squares / (double)m[3]->cols - 1)));
    }
    hd_explain_free(x);
    return s;
}

/* -- blocks without one of their parts -- */

static const struct {
    const char *name;
    hd_tower_opt less;
} kinds[] = {{"whole blocks", {0}},
             {"without residuals", {.no_residual = true}},
             {"without norms", {.no_norm = true}},
             {"without feed-forward layers", {.no_inner = true}}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static hd_status learn(double *last, const hd_lab *lab, int kind, uint64_t seed, hd_err *err)
{
    hd_tower_opt o = kinds[kind].less;
    o.updates = lab->full ? 1500 : 300;
    return hd_tower_learn(last, lab->run, &o, seed, err);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    inside in;
    hd_spread loss[KINDS];
    hd_status s = open_block(&in, to, lab, err);
    for (int k = 0; k < KINDS; k++) {
        double v[HD_LAB_SEEDS];
        for (int i = 0; !s && i < lab->seeds; i++) s = learn(&v[i], lab, k, lab->seed + (uint64_t)i, err);
        if (!s) s = hd_lab_tell(lab, (k + 1.0) / KINDS, err);
        if (s) return s;
        loss[k] = hd_spread_of(v, (size_t)lab->seeds);
    }
    hd_paper_say(
        to, "Then three blocks on top of each other learn to turn sentences of six words round, whole or "
            "with one of their parts switched off.");
    hd_paper_table_of(to, "Six words to be turned round, three blocks, one part switched off", 2, 1);
    hd_paper_cell(to, "blocks"), hd_paper_cell(to, "loss, nats a word (chance: %.2f)", log(HD_TOWER_WORDS));
    for (int k = 0; k < KINDS; k++)
        hd_paper_cell(to, "%s", kinds[k].name),
            hd_paper_cell(to, "%.3f (%.3f to %.3f)", loss[k].mean, loss[k].low, loss[k].high);
    hd_paper_claim(to, "The input of a part is added to what it gives.", in.residual < 1e-5,
                   "add1 is X + attention W_O to %.1g; the slides leave W_O out, their numbers contain it.",
                   in.residual);
    hd_paper_claim(to, "The norm brings each row to mean 0 and deviation 1.",
                   in.normed < 1e-3 && fabs(in.sd - 1.41) < 0.006,
                   "Rows of norm1 are there to %.1g. A slide says \"for each column\", but its numbers are "
                   "those of rows, "
                   "and its deviation, 1.41, divides by 6 (%.2f) and not by 5 (%.2f).",
                   in.normed, in.sd, in.sample);
    hd_paper_claim(to, "ReLU leaves nothing below 0.", in.below >= 0, "The least number is %.2g.", in.below);
    hd_paper_claim(to, "Blocks on top of each other do not learn without residuals.",
                   loss[1].low > loss[0].high + 0.5,
                   "After the same updates the loss is %.2f with them and %.2f without; guessing has %.2f.",
                   loss[0].mean, loss[1].mean, log(HD_TOWER_WORDS));
    return HD_OK;
}

const hd_experiment hd_experiment_block = {
    .name = "block",
    .title = "One block opened",
    .lecture = 3,
    .rows = "136, 149-155",
    .claim = "A block is attention and a feed-forward layer, each with its input added and then normed.",
    .run = run,
};
