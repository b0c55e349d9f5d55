/* Order: self-attention without parameters, and words that change their places. */
#include <math.h>

#include "lab/desk.h"
#include "nn/position.h"

enum { N = 5, D = 16 };

static const char *const words[N] = {"the", "food", "was", "not", "good"};
static const int32_t moved[N] = {0, 1, 2, 4, 3}, shuffled[N] = {3, 0, 4, 2, 1}; /* "good not" */

typedef struct found {
    double weight[2][N * N];   /* as it stands, and with two words exchanged */
    double formula;            /* how far attention is from softmax(X X^T) X */
    double plain, placed;      /* how far rows are from those of the words in their old order */
    double same, near_and_far; /* of a word that comes again: the difference of its two weights */
} found;

static hd_tensor *attended(hd_run *r, hd_tensor *x, double *weight)
{
    return hd_desk_attend(r, x, x, x, &(hd_attend_opt){.heads = 1, .scale = 1 / (float)D}, "softmax", weight);
}

/* The largest difference of the weights that two equal words get. */
static double difference(hd_run *r, hd_tensor *x, int first, int later)
{
    double w[N * N], most = 0;
    attended(r, x, w);
    for (int i = 0; i < N; i++) most = fmax(most, fabs(w[i * N + first] - w[i * N + later]));
    return most;
}

static hd_status look(found *to, const hd_lab *lab, uint64_t seed, hd_err *err)
{
    hd_run *r = lab->run;
    hd_rng rng = hd_rng_make(seed, 3);
    hd_real p[N * D];
    double unused[N * N];
    hd_sinusoid_fill(p, N, D, &(hd_sinusoid){0});
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *x = hd_desk_normal(r, N, D, &rng), *places = hd_from(r, N, D, p),
              *y = attended(r, x, to->weight[0]);
    const int32_t *index = hd_ints(r, shuffled, N);
    hd_tensor *z = hd_gather(r, x, index, N, 1);
    hd_tensor *by_hand =
        hd_matmul(r, hd_softmax(r, hd_scale(r, hd_linear(r, x, x, NULL, HD_IDENTITY), 1 / (float)D)), x);
    to->formula = hd_desk_gap(r, y, by_hand);
    to->plain = hd_desk_gap(r, attended(r, z, unused), hd_gather(r, y, index, N, 1));
    hd_tensor *known = attended(r, hd_add(r, x, places), unused);
    to->placed = hd_desk_gap(r, attended(r, hd_add(r, z, places), unused), hd_gather(r, known, index, N, 1));
    attended(r, hd_gather(r, x, hd_ints(r, moved, N), N, 1), to->weight[1]);
    hd_tensor *twice = hd_gather(r, x, hd_ints(r, (int32_t[N]){0, 1, 2, 3, 0}, N), N, 1);
    to->same = difference(r, twice, 0, N - 1);
    to->near_and_far = difference(r, hd_add(r, twice, places), 0, N - 1);
    return hd_run_status(r, err);
}

static void show(hd_paper *to, const double *weight, const int32_t *at, const char *title)
{
    const char *name[N];
    for (int i = 0; i < N; i++) name[i] = words[at[i]];
    hd_paper_cells(to, &(hd_cells){.title = title,
                                   .across = "word that is looked at",
                                   .downward = "word that looks",
                                   .value = weight,
                                   .rows = N,
                                   .cols = N,
                                   .row = name,
                                   .col = name,
                                   .full = 0.5,
                                   .digits = 2});
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    static const int32_t plain[N] = {0, 1, 2, 3, 4};
    found f[HD_LAB_SEEDS], most = {.placed = (double)INFINITY, .near_and_far = (double)INFINITY};
    hd_status s = HD_OK;
    for (int i = 0; !s && i < lab->seeds; i++) {
        s = look(&f[i], lab, lab->seed + (uint64_t)i, err);
        most.formula = fmax(most.formula, f[i].formula), most.plain = fmax(most.plain, f[i].plain);
        most.same = fmax(most.same, f[i].same), most.placed = fmin(most.placed, f[i].placed);
        most.near_and_far = fmin(most.near_and_far, f[i].near_and_far);
    }
    if (s) return s;
    hd_paper_say(to,
                 "Five words with random vectors X of %d columns, and self-attention with no parameter at "
                 "all: softmax(X X^T / %d) X. Then two words change places.",
                 D, D);
    show(to, f[0].weight[0], plain, "The weights of a sentence");
    show(to, f[0].weight[1], moved,
         "The same with the last two words exchanged: rows and columns move along");
    hd_paper_table_of(to, "Largest differences, by seed", 4, 1);
    hd_paper_cell(to, "seed"), hd_paper_cell(to, "from softmax(X X^T) X");
    hd_paper_cell(to, "words moved"), hd_paper_cell(to, "moved, with positions");
    for (int i = 0; i < lab->seeds; i++) {
        hd_paper_cell(to, "%llu", (unsigned long long)lab->seed + (unsigned long long)i);
        hd_paper_cell(to, "%.1g", f[i].formula), hd_paper_cell(to, "%.1g", f[i].plain);
        hd_paper_cell(to, "%.2g", f[i].placed);
    }
    hd_paper_claim(to, "Basic self-attention has no parameters: the embeddings decide all.",
                   most.formula < 1e-5, "The engine's attention is softmax(X X^T) X to %.1g.", most.formula);
    hd_paper_claim(to, "Words in another order give the same rows in that order.", most.plain < 1e-5,
                   "Rows of all seeds are the same to %.1g.", most.plain);
    hd_paper_claim(to, "With positions they do not.", most.placed > 0.05,
                   "They differ by at least %.2g once positions are added to the words.", most.placed);
    hd_paper_claim(to, "Without positions a word that comes again gets the same attention at any distance.",
                   most.same < 1e-6 && most.near_and_far > 1e-3,
                   "The weights of the two differ by %.1g without positions, by at least %.2g with them.",
                   most.same, most.near_and_far);
    return HD_OK;
}

const hd_experiment hd_experiment_order = {
    .name = "order",
    .title = "A set of words",
    .lecture = 1,
    .rows = "116, 121, 122",
    .claim = "Self-attention alone ignores order: move the words, and the results move with them.",
    .run = run,
};
