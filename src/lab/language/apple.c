/* "apple" in two sentences: by the lecture's numbers, and in a small BERT that has read about both. */
#include <math.h>

#include "lab/desk.h"
#include "lab/language/senses.h"

/* -- the lecture's two sentences -- */

enum { WORDS = 5, PLACE = 2, APPLE = 4, AXES = 2 };

static const double likeness[2] = {0.25, 0.11}; /* of apple and fruit, of apple and brand */
/* Fruits lie along the first axis, brands along the second, apple between them. */
static const double apple[AXES] = {1, 1}, neighbor[2][AXES] = {{2, 0}, {0, 2}};

typedef struct moved {
    double weight[2]; /* of its neighbor and its own, in the row of apple */
    double at[AXES];  /* where apple comes to lie */
} moved;

/* Weights are similarities divided by their sum: attention whose scores are their logarithms. soft: the
   softmax of the similarities themselves, as the slide calls it. */
static hd_status move(moved *to, const hd_lab *lab, int which, bool soft, hd_err *err)
{
    hd_run *r = lab->run;
    double score[WORDS * WORDS], x[WORDS * AXES] = {0}, w[WORDS * WORDS], y[WORDS * AXES];
    const double zero[WORDS] = {0};
    for (int i = 0; i < WORDS * WORDS; i++) {
        int a = i / WORDS, b = i % WORDS;
        double s = a == b                                                           ? 1
                   : a + b == PLACE + APPLE && a != b && (a == PLACE || b == PLACE) ? likeness[which]
                                                                                    : 0;
        score[i] = soft ? s : log(s);
    }
    for (int c = 0; c < AXES; c++) x[PLACE * AXES + c] = neighbor[which][c], x[APPLE * AXES + c] = apple[c];
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *none = hd_desk_rows(r, WORDS, 1, zero);
    const hd_attend_opt o = {.heads = 1, .ragged = hd_desk_rows(r, WORDS * WORDS, 1, score)};
    hd_desk_read(y, r, hd_desk_attend(r, none, none, hd_desk_rows(r, WORDS, AXES, x), &o, "softmax", w));
    to->weight[0] = w[APPLE * WORDS + PLACE], to->weight[1] = w[APPLE * WORDS + APPLE];
    for (int c = 0; c < AXES; c++) to->at[c] = y[APPLE * AXES + c];
    return hd_run_status(r, err);
}

/* -- the paper -- */

static void show(hd_paper *to, const moved *m)
{
    static const char *const names[] = {"fruit", "brand", "apple", "apple beside fruit",
                                        "apple beside brand"};
    const double *const at[] = {neighbor[0], neighbor[1], apple, m[0].at, m[1].at};
    hd_paper_plot(to, &(hd_series_plot){.title = "Where \"apple\" moves to",
                                        .across = "fruits lie to the right",
                                        .upward = "brands lie above"});
    for (int i = 0; i < 5; i++)
        hd_paper_line(to, names[i], &(hd_series){.x = at[i], .y = at[i] + 1, .count = 1});
    hd_paper_table_of(to, "The row of \"apple\": weights of its neighbor and of its own", 3, 1);
    hd_paper_row(to, "weights\tneighbor\tapple");
    for (int i = 0; i < 3; i++) {
        hd_paper_cell(to, i == 2 ? "beside fruit, by softmax"
                          : i    ? "beside brand, by the sum"
                                 : "beside fruit, by the sum");
        hd_paper_cell(to, "%.4f", m[i].weight[0]), hd_paper_cell(to, "%.4f", m[i].weight[1]);
    }
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    moved m[3];
    double c[HD_LAB_SEEDS][2];
    hd_status s = HD_OK;
    for (int i = 0; !s && i < 3; i++) s = move(&m[i], lab, i % 2, i == 2, err);
    for (int i = 0; !s && i < lab->seeds; i++) {
        s = hd_senses_read(c[i], lab, lab->seed + (uint64_t)i, err);
        if (!s) s = hd_lab_tell(lab, (i + 1.0) / lab->seeds, err);
    }
    if (s) return s;
    const hd_spread within = hd_spread_across(&c[0][0], sizeof *c, lab),
                    across = hd_spread_across(&c[0][1], sizeof *c, lab);
    hd_paper_say(
        to,
        "\"my favorite fruit is apple\", \"my favorite brand is apple\": apple is similar to fruit by 0.25 "
        "and to brand by 0.11; other words are similar to none but themselves.");
    show(to, m);
    hd_paper_table_of(to, "Cosine of \"apple\" in two sentences, a BERT of two layers", 2, 1);
    hd_paper_row(to, "sentences\tmean (of all seeds)");
    hd_paper_cell(to, "of one sense"), hd_spread_cell(to, "%.2f", within);
    hd_paper_cell(to, "of two senses"), hd_spread_cell(to, "%.2f", across);
    hd_paper_claim(
        to, "Beside fruit the new vector is 0.2 fruit + 0.8 apple, beside brand 0.1 and 0.9.",
        fabs(m[0].weight[0] - 0.2) < 1e-5 && fabs(m[1].weight[0] - 0.0990991) < 1e-5,
        "%.3f and %.3f, %.3f and %.3f. One column of the slide's second table is a copy of the other.",
        m[0].weight[0], m[0].weight[1], m[1].weight[0], m[1].weight[1]);
    hd_paper_claim(
        to, "These weights are the softmax of the similarities.", fabs(m[2].weight[1] - 0.8) < 0.01,
        "Softmax gives %.3f and %.3f, and something to every other word.", m[2].weight[0], m[2].weight[1]);
    if (fabs(m[2].weight[1] - 0.8) >= 0.01)
        hd_paper_note(
            to, "The slide says softmax; its numbers are similarities divided by the sum of their row.");
    hd_paper_claim(to,
                   "So a word moves toward its neighbor: one vector in a table becomes two in two sentences.",
                   m[0].at[0] > m[0].at[1] && m[1].at[1] > m[1].at[0],
                   "(%.2f, %.2f) beside fruit, (%.2f, %.2f) beside brand.", m[0].at[0], m[0].at[1],
                   m[1].at[0], m[1].at[1]);
    hd_paper_claim(
        to, "In a BERT a word is more like itself in sentences of the same sense.",
        within.low > across.high + 0.1,
        "Cosines are %.2f within a sense and %.2f across; in the table of word vectors they are 1. The "
        "lecture prints 0.71 to 0.82 and 0.42 to 0.53 of a BERT that has read much more.",
        within.mean, across.mean);
    return HD_OK;
}

const hd_experiment hd_experiment_apple = {
    .name = "apple",
    .title = "The word apple in two sentences",
    .lecture = 1,
    .rows = "119, 120, 170",
    .claim = "A table has one vector for a word of two senses. Attention mixes it with its neighbors, so "
             "that in each "
             "sentence it moves toward what it means there.",
    .run = run,
};
