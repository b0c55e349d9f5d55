/* All score functions of the lectures on one sentence: a decoder's state looks at four of an encoder. */
#include <math.h>

#include "lab/desk.h"

enum { STATES = 4, D = 3, HIDDEN = 5 };

static const double h_dec[] = {-0.09, 0.14, -0.96};
static const double h_enc[] = {0.24, 0.22, 0.23, 0.89, 0.36, -0.28, -0.13, 0.4, -0.88, 0.33, 0.34, -0.58};
static const double w_a[] = {-0.74, -0.37, -0.27, 0.14, -0.12, 0.98, -0.8, -0.58, -0.68};
static const double w_a2[] = {0.31,  -0.49, -0.07, -0.51, -0.68, -0.78, 0.31,  -0.72, -0.61, -0.26,
                              0.64,  -0.81, 0.68,  -0.81, 0.95,  -0.06, 0.95,  0.21,  0.48,  -0.92,
                              -0.43, -0.76, -0.41, -0.76, -0.36, -0.17, -0.87, 0.38,  0.13,  -0.47};
static const double w_a1[] = {0.05, -0.81, 0.15, 0.86, -0.36};

typedef enum kind { DOT, SCALED, BILINEAR, MLP, KINDS } kind;

/* The weights and the context were computed with PyTorch from the lectures' formulas. */
static const struct {
    const char *name, *formula;
    double score[STATES], weight[STATES], context[D];
} kinds[KINDS] = {
    {"dot product",
     "h_dec . h_enc",
     {-0.2116, 0.2391, 0.9125, 0.5747},
     {0.12751662, 0.2001259, 0.39242549, 0.27993199},
     {0.25007829, 0.35224605, -0.53440142}},
    {"scaled dot product",
     "h_dec . h_enc / sqrt(3)",
     {-0.12216732, 0.13804445, 0.52683212, 0.3318032},
     {0.17284945, 0.22422113, 0.33076905, 0.27216037},
     {0.28785362, 0.34358863, -0.47195633}},
    {"bilinear (general)",
     "h_dec W h_enc",
     {0.518423, 0.738622, -0.59831, 0.004514},
     {0.3152759, 0.39293615, 0.10320478, 0.18858317},
     {0.47419522, 0.3162179, -0.23770711}},
    {"MLP (additive)",
     "w tanh(W [h_dec; h_enc])",
     {-0.82225634, -1.2284913, -0.52668926, -0.80772889},
     {0.24846725, 0.16551736, 0.33391221, 0.25210319},
     {0.24672805, 0.33352901, -0.42925999}},
};

typedef struct found {
    double score[STATES], weight[STATES], context[D], gap;
} found;

/* W [h_dec; h_enc] is the sum of two products, one for each half of W's columns. */
static hd_status look(found *to, const hd_lab *lab, kind k, hd_err *err)
{
    hd_run *r = lab->run;
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *q = hd_desk_rows(r, 1, D, h_dec), *h = hd_desk_rows(r, STATES, D, h_enc), *key = h;
    hd_attend_opt o = {.heads = 1, .scale = k == SCALED ? 0 : 1};
    if (k == BILINEAR) q = hd_matmul(r, q, hd_desk_rows(r, D, D, w_a));
    if (k == MLP) {
        hd_tensor *w = hd_desk_rows(r, HIDDEN, 2 * D, w_a2);
        o = (hd_attend_opt){.heads = 1, .score = HD_ADDITIVE, .additive = hd_desk_rows(r, 1, HIDDEN, w_a1)};
        q = hd_linear(r, q, hd_slice_cols(r, w, 0, D), NULL, HD_IDENTITY);
        key = hd_linear(r, h, hd_slice_cols(r, w, D, D), NULL, HD_IDENTITY);
    }
    hd_desk_attend(r, q, key, h, &o, "scaled", to->score);
    hd_desk_read(to->context, r, hd_desk_attend(r, q, key, h, &o, "softmax", to->weight));
    to->gap = 0;
    for (int i = 0; i < STATES; i++)
        to->gap = fmax(
            to->gap, fmax(fabs(to->score[i] - kinds[k].score[i]), fabs(to->weight[i] - kinds[k].weight[i])));
    for (int i = 0; i < D; i++) to->gap = fmax(to->gap, fabs(to->context[i] - kinds[k].context[i]));
    return hd_run_status(r, err);
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

static int best_of(const found *f)
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
    found f[KINDS];
    double score = 0, weighted[2] = {0}, all[KINDS * STATES], gap = 0, sums = 0;
    hd_status s = by_hand(&score, weighted, lab, err);
    for (int k = 0; !s && k < KINDS; k++) s = look(&f[k], lab, (kind)k, err);
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
        names[k] = kinds[k].name;
        hd_paper_cell(to, "%s", kinds[k].name), hd_paper_cell(to, "%s", kinds[k].formula);
        for (int i = 0; i < STATES; i++) {
            hd_paper_cell(to, "%.4f", f[k].score[i]);
            all[k * STATES + i] = f[k].weight[i], sum += f[k].weight[i];
        }
        hd_paper_cell(to, "(%.3f, %.3f, %.3f)", f[k].context[0], f[k].context[1], f[k].context[2]);
        gap = fmax(gap, f[k].gap), sums = fmax(sums, fabs(sum - 1));
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
                   best_of(&f[DOT]) == best_of(&f[SCALED]) &&
                       f[SCALED].weight[best_of(&f[DOT])] < f[DOT].weight[best_of(&f[DOT])],
                   "The largest is %.3f, divided %.3f, of the same state.", f[DOT].weight[best_of(&f[DOT])],
                   f[SCALED].weight[best_of(&f[SCALED])]);
    hd_paper_claim(to, "A matrix in between makes another choice possible.",
                   best_of(&f[BILINEAR]) != best_of(&f[DOT]),
                   "The dot product looks at %s most, the bilinear score with these weights at %s.",
                   states[best_of(&f[DOT])], states[best_of(&f[BILINEAR])]);
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
