/* GLUE: the published averages computed again, its figures by hand, and a model of the user's on its sets. */
#include <math.h>

#include "lab/pretrained/graded.h"
#include "metric/confusion.h"
#include "metric/correlation.h"

enum { SYSTEMS = 5, GPT = 2, BASE, LARGE };

static const char *const systems[SYSTEMS] = {"before GPT", "BiLSTM+ELMo", "OpenAI GPT", "BERT base",
                                             "BERT large"};
/* In the order of hd_glue_sets, and the average that is printed. */
static const double table[SYSTEMS][HD_GLUE_SETS + 1] = {
    {80.6, 80.1, 66.1, 82.3, 93.2, 35.0, 81.0, 86.0, 61.7, 74.0},
    {76.4, 76.1, 64.8, 79.8, 90.4, 36.0, 73.3, 84.9, 56.8, 71.0},
    {82.1, 81.4, 70.3, 87.4, 91.3, 45.4, 80.0, 82.3, 56.0, 75.1},
    {84.6, 83.4, 71.2, 90.5, 93.5, 52.1, 85.8, 88.9, 66.4, 79.6},
    {86.7, 85.9, 72.1, 92.7, 94.9, 60.5, 86.5, 89.3, 70.1, 82.1}};

/* -- what is published -- */

static void recompute(hd_paper *to)
{
    const char *names[HD_GLUE_SETS];
    double mean[SYSTEMS] = {0}, value[SYSTEMS * HD_GLUE_SETS];
    int off = 0;
    for (int i = 0; i < HD_GLUE_SETS; i++) names[i] = hd_glue_sets[i].name;
    for (int i = 0; i < SYSTEMS * HD_GLUE_SETS; i++) {
        value[i] = table[i / HD_GLUE_SETS][i % HD_GLUE_SETS];
        mean[i / HD_GLUE_SETS] += value[i] / HD_GLUE_SETS;
    }
    hd_paper_cells(to, &(hd_cells){.title = "GLUE, as published with BERT (points of 100)",
                                   .across = "set",
                                   .downward = "system",
                                   .value = value,
                                   .rows = SYSTEMS,
                                   .cols = HD_GLUE_SETS,
                                   .row = systems,
                                   .col = names,
                                   .full = 100,
                                   .digits = 1});
    hd_paper_table_of(to, "The average of nine numbers", 3, 1);
    hd_paper_row(to, "system\tprinted\tcomputed again");
    for (int i = 0; i < SYSTEMS; i++) {
        hd_paper_row(to, "%s\t%.1f\t%.2f", systems[i], table[i][HD_GLUE_SETS], mean[i]);
        off += fabs(mean[i] - table[i][HD_GLUE_SETS]) > 0.05 + 1e-9;
    }
    hd_paper_claim(to, "BERT has 82.1 on average, and GPT 75.1.",
                   fabs(mean[LARGE] - 82.1) < 0.05 && fabs(mean[GPT] - 75.1) < 0.05,
                   "The mean over nine numbers, in which MNLI counts twice, is %.2f and %.2f.", mean[LARGE],
                   mean[GPT]);
    hd_paper_claim(
        to, "The averages are the means of their rows.", !off,
        "%d of %d are not what the nine numbers give: of BiLSTM+ELMo that is %.2f, and 71.0 is printed.", off,
        SYSTEMS, mean[1]);
    if (off)
        hd_paper_note(
            to, "The row of GPT, too, is not that of its own paper (table 5 of the slides): STS-B 80.0 for "
                "82.0, QNLI 87.4 for 88.1, MNLI 82.1 for 81.8.");
}

/* -- by hand -- */

static hd_status by_hand(hd_paper *to, hd_err *err)
{
    static const size_t cells[4] = {2, 1, 2, 3}; /* no taken for no, for yes; yes for no, for yes */
    static const double x[] = {1, 2, 2, 3}, y[] = {1, 2, 3, 4}, a[] = {1, 2, 3, 4}, b[] = {1, 2, 3, 5};
    hd_confusion c = {0}, same = {0};
    double spearman = 0;
    hd_status s = hd_confusion_init(&c, 2, err);
    if (!s) s = hd_confusion_init(&same, 2, err);
    for (size_t i = 0; !s && i < 4; i++)
        for (size_t k = 0; !s && k < cells[i]; k++) s = hd_confusion_add(&c, i / 2, i % 2, err);
    for (size_t i = 0; !s && i < 10; i++) s = hd_confusion_add(&same, i < 7, 1, err);
    if (!s) s = hd_spearman(&spearman, x, y, 4, err);
    double f1 = hd_confusion_class(&c, 1).f1, matthews = hd_confusion_matthews(&c),
           pearson = hd_pearson(a, b, 4);
    if (!s)
        hd_paper_claim(
            to, "Figures are those of their definitions.",
            fabs(f1 - 2.0 / 3) < 1e-12 && fabs(matthews - 4 / sqrt(240)) < 1e-12 &&
                fabs(pearson - 6.5 / sqrt(43.75)) < 1e-12 && fabs(spearman - 4.5 / sqrt(22.5)) < 1e-12,
            "With 3 of 5 positive and 2 of 3 negative items right F1 is %.4f and Matthews' correlation %.4f. "
            "Pearson's of 1 2 3 4 and 1 2 3 5 is %.4f, Spearman's of 1 2 2 3 and 1 2 3 4 %.4f.",
            f1, matthews, pearson, spearman);
    if (!s)
        hd_paper_claim(
            to, "Matthews' correlation is 0 where the answer is always the same.",
            fabs(hd_confusion_matthews(&same)) <= 0 && hd_confusion_accuracy(&same) > 0.69,
            "Who always says yes where 7 of 10 are yes has an accuracy of %.0f %% and an F1 of %.0f %%: "
            "that is why CoLA is not judged by those.",
            100 * hd_confusion_accuracy(&same), 100 * hd_confusion_class(&same, 1).f1);
    hd_confusion_release(&c);
    hd_confusion_release(&same);
    return s;
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_paper_say(to, "Nine numbers for eight sets of sentences. CoLA is judged by Matthews' correlation, QQP "
                     "and MRPC by F1, "
                     "STS-B by Spearman's correlation, the others by accuracy, all in points of 100.");
    recompute(to);
    hd_status s = by_hand(to, err);
    return s || !lab->model ? s : hd_graded_put(to, lab, table[BASE], err);
}

const hd_experiment hd_experiment_glue = {
    .name = "glue",
    .title = "GLUE and its figures",
    .lecture = 4,
    .rows = "171-173",
    .claim = "BERT has 82.1 points on GLUE: an average of figures that measure different things.",
    .takes = "classify, regress",
    .reads = "GLUE",
    .run = run,
};
