/* Heads: shapes and counts as Keras prints them, what a head is, and one or several of them learned. */
#include <math.h>

#include "lab/desk.h"
#include "lab/learner.h"
#include "nn/layer.h"

enum { WIDTH = 16, LENGTH = 6, HEADS = 4, KINDS = 3, ACROSS = HEADS * (LENGTH + 1) - 1 };

static const struct {
    int heads;
    size_t key_dim, printed; /* parameters, by golden.json */
} layers[] = {{1, 2, 150}, {3, 2, 418}, {3, 5, 1021}};
enum { LAYERS = sizeof layers / sizeof *layers };

/* A layer of attention: its parameters, and the shape of what it makes of LENGTH rows. */
static hd_status build(size_t *numbers, size_t *inner, size_t shape[2], const hd_lab *lab, size_t width,
                       int heads, size_t key_dim, hd_err *err)
{
    hd_run *r = lab->run;
    hd_params p;
    hd_rng rng = hd_rng_make(lab->seed, 8);
    hd_params_init(&p, r->backend);
    hd_mha m = hd_mha_make(&p, &(hd_mha_opt){.width = width,
                                             .head_width = key_dim,
                                             .heads = heads,
                                             .init = {HD_INIT_XAVIER, 1, 0},
                                             .name = "mha",
                                             .query = "query",
                                             .key = "key",
                                             .value = "value",
                                             .out = "output"});
    hd_status s = hd_params_ready(&p, false, err);
    if (!s) s = hd_params_draw(&p, lab->seed, err);
    if (!s) {
        hd_run_begin(r, HD_INFERENCE);
        hd_rows x = hd_desk_item(r, hd_desk_normal(r, LENGTH, width, &rng));
        hd_tensor *y = hd_mha_of(r, &m, x, x, HD_FULL, NULL).t;
        *numbers = hd_params_size(&p), *inner = hd_cols_of(&m.out.w->t);
        shape[0] = y ? hd_rows_of(y) : 0, shape[1] = y ? hd_cols_of(y) : 0;
        s = hd_run_status(r, err);
    }
    hd_params_release(&p);
    return s;
}

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
    size_t numbers[LAYERS + 1] = {0}, inner[LAYERS + 1] = {0}, shape[LAYERS + 1][2] = {0};
    double apart = 0, sums = 0, weight[HEADS * LENGTH * LENGTH];
    hd_spread right[KINDS];
    bool counted = true;
    hd_status s = build(&numbers[LAYERS], &inner[LAYERS], shape[LAYERS], lab, 4, 8, 4, err);
    for (size_t i = 0; !s && i < LAYERS; i++) {
        s = build(&numbers[i], &inner[i], shape[i], lab, WIDTH, layers[i].heads, layers[i].key_dim, err);
        counted = counted && numbers[i] == layers[i].printed && shape[i][0] == LENGTH && shape[i][1] == WIDTH;
    }
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
    hd_paper_say(
        to,
        "A layer with h heads has h maps of queries, keys and values, each key_dim columns wide; six rows "
        "of 16 numbers go in, and as many come out.");
    hd_paper_table_of(to, "MultiHeadAttention on (None, 6, 16), as Keras prints it", 7, 0);
    hd_paper_row(to, "heads\tkey_dim\tquery, key, value\tbias\toutput\tscores\tparameters");
    for (size_t i = 0; i < LAYERS; i++) {
        const int h = layers[i].heads, k = (int)(inner[i] / (size_t)h);
        hd_paper_row(to, "%d\t%d\t(16, %d, %d)\t(%d, %d)\t(%d, %d, 16), (16)\t(None, %d, 6, 6)\t%zu", h, k, h,
                     k, h, k, h, k, h, numbers[i]);
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
    hd_paper_claim(
        to, "The layers have 150, 418 and 1021 parameters and give back what shape they got.", counted,
        "%zu, %zu and %zu. For one head the slide lists (16, 1, 2) four times, which would be nine tensors; "
        "the layer has eight.",
        numbers[0], numbers[1], numbers[2]);
    hd_paper_claim(to, "Eight heads of four columns go from 4 to 32 and back to 4.",
                   inner[LAYERS] == 32 && shape[LAYERS][1] == 4, "From 4 to %zu to %zu.", inner[LAYERS],
                   shape[LAYERS][1]);
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
             "put side by "
             "side and mapped back to the width.",
    .run = run,
};
