/* The look-ahead mask: the slide's table, and what a word that is changed changes elsewhere. */
#include <math.h>

#include "lab/attention/leak.h"
#include "lab/desk.h"

enum { WORDS = 4, LENGTH = HD_LEAK_LENGTH };

/* -- "I am a student" -- */

static const char *const words[WORDS] = {"I", "am", "a", "student"};
static const double scores[] = {0.7, 0.1, 0.1, 0.1, 0.1, 0.6, 0.2, 0.1,
                                0.1, 0.3, 0.6, 0.1, 0.1, 0.3, 0.3, 0.3};
static const double printed[] = {1, 0, 0, 0, 0.37, 0.62, 0, 0, 0.26, 0.3, 0.43, 0, 0.21, 0.26, 0.26, 0.26};
static const double exact[] = {1,          0,          0,          0,          0.37754067, 0.62245933,
                               0,          0,          0.25838965, 0.31559783, 0.42601251, 0,
                               0.21439866, 0.26186711, 0.26186711, 0.26186711};

/* Scores handed to attention itself: queries and keys of zeros, and values whose mixture shows the weights.
 */
static hd_status weigh(double *masked, double *weight, double *first, const hd_lab *lab, hd_err *err)
{
    hd_run *r = lab->run;
    hd_rng rng = hd_rng_make(lab->seed, 1);
    const double zero[WORDS] = {0};
    hd_run_begin(r, HD_INFERENCE);
    const hd_attend_opt o = {
        .heads = 1, .mask = HD_CAUSAL, .ragged = hd_desk_rows(r, WORDS * WORDS, 1, scores)};
    hd_tensor *none = hd_desk_rows(r, WORDS, 1, zero), *v = hd_desk_normal(r, WORDS, 3, &rng);
    hd_desk_read(weight, r, hd_desk_attend(r, none, none, hd_desk_unit(r, WORDS), &o, "masked", masked));
    hd_tensor *y = hd_attend(r, hd_desk_item(r, none), hd_desk_item(r, none), hd_desk_item(r, v), &o).t;
    *first = hd_desk_gap(r, y ? hd_slice_rows(r, y, 0, 1) : NULL, v ? hd_slice_rows(r, v, 0, 1) : NULL);
    return hd_run_status(r, err);
}

/* -- what leaks -- */

static const struct {
    const char *name;
    hd_mask mask[HD_LEAK_LAYERS];
} kinds[] = {
    {"both layers masked (decoder)", {HD_CAUSAL, HD_CAUSAL}},
    {"the first layer alone", {HD_CAUSAL, HD_FULL}},
    {"the second layer alone", {HD_FULL, HD_CAUSAL}},
    {"no mask (encoder)", {HD_FULL, HD_FULL}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char *const places[LENGTH] = {"1", "2", "3", "4", "5", "6"};

static void show_student(hd_paper *to, const double *masked, const double *weight)
{
    hd_paper_say(to, "\"I am a student\": the slide's scores, with minus infinity above the diagonal, and "
                     "the softmax of each row, computed by the engine's attention.");
    hd_paper_table_of(to, "Masked scores", WORDS + 1, 1);
    hd_paper_cell(to, "word");
    for (int k = 0; k < WORDS; k++) hd_paper_cell(to, "%s", words[k]);
    for (int i = 0; i < WORDS * WORDS; i++) {
        if (i % WORDS == 0) hd_paper_cell(to, "%s", words[i / WORDS]);
        hd_paper_cell(to, isfinite(masked[i]) ? "%.1f" : "-inf", masked[i]);
    }
    hd_paper_cells(to, &(hd_cells){.title = "Weights of \"I am a student\"",
                                   .across = "word that is looked at",
                                   .downward = "word that looks",
                                   .value = weight,
                                   .rows = WORDS,
                                   .cols = WORDS,
                                   .row = words,
                                   .col = words,
                                   .full = 1,
                                   .digits = 4});
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    double masked[WORDS * WORDS], weight[WORDS * WORDS], first, moved[LENGTH * LENGTH], all[LENGTH * LENGTH];
    double back[KINDS] = {0}, least = (double)INFINITY, gap = 0, cut = 0; /* most that an earlier row moved */
    hd_status s = weigh(masked, weight, &first, lab, err);
    for (int k = 0; k < KINDS; k++)
        for (int n = 0; !s && n < lab->seeds; n++) {
            s = hd_leak_of(moved, lab->run, kinds[k].mask, lab->seed + (uint64_t)n, err);
            for (int i = 0; !s && i < LENGTH * LENGTH; i++) {
                if (i % LENGTH < i / LENGTH) back[k] = fmax(back[k], moved[i]);
                if (k == KINDS - 1) least = fmin(least, moved[i]);
                if (!k) all[i] = n ? fmax(all[i], moved[i]) : moved[i];
            }
        }
    if (s) return s;
    for (int i = 0; i < WORDS * WORDS; i++)
        gap = fmax(gap, fabs(weight[i] - exact[i])), cut = fmax(cut, fabs(weight[i] - printed[i]));
    show_student(to, masked, weight);
    hd_paper_cells(to,
                   &(hd_cells){.title = "How far a row moves when a word is another one, both layers masked",
                               .across = "row of the result",
                               .downward = "word that is changed",
                               .value = all,
                               .rows = LENGTH,
                               .cols = LENGTH,
                               .row = places,
                               .col = places,
                               .full = 2,
                               .digits = 2});
    hd_paper_table_of(to, "How far rows before the changed word move at most, two layers, all seeds", 2, 1);
    hd_paper_cell(to, "mask"), hd_paper_cell(to, "largest change");
    for (int k = 0; k < KINDS; k++)
        hd_paper_cell(to, "%s", kinds[k].name), hd_paper_cell(to, "%.2g", back[k]);
    hd_paper_claim(
        to, "The mask adds minus infinity above the diagonal, and softmax makes 0 of it.", gap < 1e-6,
        "The 16 weights are those of the slide's scores to %.1g. The slide cuts them to two decimals "
        "(0.3 for 0.3156), off by up to %.3f, so that its rows add up to 0.99.",
        gap, cut);
    hd_paper_claim(to, "A position sees itself: the first one is its own value.", first < 1e-6,
                   "The first row of attention is v_0 to %.1g. A slide sums to i - 1, which would leave the "
                   "first position nothing; its softmax goes to i, and so must the sum.",
                   first);
    hd_paper_claim(to, "With a mask no word of the future changes a row.", back[0] <= 0,
                   "In two masked layers rows before a changed word move by %.1g.", back[0]);
    hd_paper_claim(to, "Every layer of the decoder needs the mask.", back[1] > 1e-3 && back[2] > 1e-3,
                   "With a mask in the first or in the second layer alone they move by up to %.2f and %.2f.",
                   back[1], back[2]);
    hd_paper_claim(to, "The encoder has no mask: all of the input is there.", least > 1e-6,
                   "Every word moves every row, by %.1g at least.", least);
    return HD_OK;
}

const hd_experiment hd_experiment_mask = {
    .name = "mask",
    .title = "No look at the future",
    .lecture = 1,
    .rows = "140-146",
    .claim =
        "A decoder must not look at words that are still to be said: their scores become minus infinity, "
        "in every layer.",
    .run = run,
};
