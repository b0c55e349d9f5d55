/* All score functions of the lectures on one sentence: a decoder's state looks at four of an encoder. */
#include <math.h>

#include "lab/attention/glance.h"

enum { STATES = HD_GLANCE_STATES, D = HD_GLANCE_WIDTH, KINDS = HD_GLANCE_KINDS };

/* How far it is from the lecture's at most. */
static double gap_of(const hd_glance *f, const hd_glance *lecture)
{
    double gap = 0;
    for (int i = 0; i < STATES; i++)
        gap = fmax(gap, fmax(fabs(f->score[i] - lecture->score[i]), fabs(f->weight[i] - lecture->weight[i])));
    for (int i = 0; i < D; i++) gap = fmax(gap, fabs(f->context[i] - lecture->context[i]));
    return gap;
}

/* The two examples of lecture 003: (0.8, 0.2) . (0.7, 0.3), and 0.7 times (0.8, 0.2). */
static hd_status by_hand(double *score, double weighted[2], const hd_lab *lab, hd_err *err)
{
    hd_run *r = lab->run;
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *h = hd_desk_rows(r, 1, 2, (double[]){0.8, 0.2});
    hd_desk_read(score, r, hd_linear(r, hd_desk_rows(r, 1, 2, (double[]){0.7, 0.3}), h, NULL, HD_IDENTITY));
    hd_desk_read(weighted, r, hd_mul(r, h, hd_desk_rows(r, 1, 1, (double[]){0.7})));
    return hd_run_status(r, err);
}

static int best_of(const hd_glance *f)
{
    int best = 0;
    for (int i = 1; i < STATES; i++)
        if (f->weight[i] > f->weight[best]) best = i;
    return best;
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    static const char *const states[] = {"h1", "h2", "h3", "h4"};
    const char *names[KINDS];
    hd_glance f[KINDS];
    double score = 0, weighted[2] = {0}, all[KINDS * STATES], gap = 0, sums = 0;
    hd_status s = by_hand(&score, weighted, lab, err);
    for (int k = 0; !s && k < KINDS; k++) s = hd_glance_of(&f[k], lab->run, (hd_glance_kind)k, err);
    if (s) return s;
    hd_paper_say(to,
                 "One state of a decoder, (-0.09, 0.14, -0.96), looks at four states of an encoder: (0.24, "
                 "0.22, 0.23), (0.89, 0.36, -0.28), (-0.13, 0.4, -0.88), (0.33, 0.34, -0.58).");
    hd_paper_table_of(to, "Scores, and the context that the weights make", STATES + 3, 2);
    hd_paper_cell(to, "score function"), hd_paper_cell(to, "formula");
    for (int i = 0; i < STATES; i++) hd_paper_cell(to, "%s", states[i]);
    hd_paper_cell(to, "context");
    for (int k = 0; k < KINDS; k++) {
        double sum = 0;
        names[k] = hd_glance_rows[k].title;
        hd_paper_cell(to, "%s", names[k]), hd_paper_cell(to, "%s", hd_glance_rows[k].formula);
        for (int i = 0; i < STATES; i++) {
            hd_paper_cell(to, "%.4f", f[k].score[i]);
            all[k * STATES + i] = f[k].weight[i], sum += f[k].weight[i];
        }
        hd_paper_cell(to, "(%.3f, %.3f, %.3f)", f[k].context[0], f[k].context[1], f[k].context[2]);
        gap = fmax(gap, gap_of(&f[k], &hd_glance_rows[k].lecture)), sums = fmax(sums, fabs(sum - 1));
    }
    hd_paper_cells(to, &(hd_cells){.title = "Weights: the softmax of the scores",
                                   .across = "state of the encoder",
                                   .downward = "score function",
                                   .value = all,
                                   .rows = KINDS,
                                   .cols = STATES,
                                   .row = names,
                                   .col = states,
                                   .full = 0.5,
                                   .digits = 4});
    hd_paper_claim(to, "The score (0.8, 0.2) . (0.7, 0.3) is 0.62, and 0.7 of (0.8, 0.2) is (0.56, 0.14).",
                   fabs(score - 0.62) < 1e-6 && fabs(weighted[0] - 0.56) < 1e-6 &&
                       fabs(weighted[1] - 0.14) < 1e-6,
                   "%.4f and (%.4f, %.4f).", score, weighted[0], weighted[1]);
    hd_paper_claim(to, "Each of the four functions gives what its formula says.", gap < 1e-6,
                   "Scores, weights and contexts are those of PyTorch to %.1g.", gap);
    hd_paper_claim(to, "Whatever the function, softmax makes shares of 1 of its scores.", sums < 1e-6,
                   "Weights add up to 1 to %.1g; there is no further 1/N, as one slide writes it.", sums);
    hd_paper_claim(to, "Dividing by sqrt(d) makes weights more even and does not change their order.",
                   best_of(&f[HD_GLANCE_DOT]) == best_of(&f[HD_GLANCE_SCALED]) &&
                       f[HD_GLANCE_SCALED].weight[best_of(&f[HD_GLANCE_DOT])] <
                           f[HD_GLANCE_DOT].weight[best_of(&f[HD_GLANCE_DOT])],
                   "The largest is %.3f, divided %.3f, of the same state.",
                   f[HD_GLANCE_DOT].weight[best_of(&f[HD_GLANCE_DOT])],
                   f[HD_GLANCE_SCALED].weight[best_of(&f[HD_GLANCE_SCALED])]);
    hd_paper_claim(to, "A matrix in between makes another choice possible.",
                   best_of(&f[HD_GLANCE_BILINEAR]) != best_of(&f[HD_GLANCE_DOT]),
                   "The dot product looks at %s most, the bilinear score with these weights at %s.",
                   states[best_of(&f[HD_GLANCE_DOT])], states[best_of(&f[HD_GLANCE_BILINEAR])]);
    return HD_OK;
}

const hd_experiment hd_experiment_scores = {
    .name = "scores",
    .title = "Four ways to compare two states",
    .lecture = 0,
    .rows = "49-54",
    .claim =
        "Attention compares the decoder's state with each of the encoder's, by a product, a product with "
        "a matrix or a small network, and mixes the states by the softmax of these scores.",
    .run = run,
};
