/* A number for every text. */
#include <stdio.h>
#include <string.h>

#include "metric/correlation.h"
#include "task/label/labeler.h"

/* With a point, whatever the locale of the program around us. */
static void put_number(hd_text *to, const hd_labeled *x, size_t item, const hd_vocab *labels)
{
    char digits[40];
    (void)labels;
    snprintf(digits, sizeof digits, "%.17g", x->value[x->first[item]]);
    char *comma = strchr(digits, ',');
    if (comma) *comma = '.';
    hd_text_put(to, digits);
}

/* Of the items that fill up none is known. */
static void send(const hd_packing *p, hd_class_batch *out)
{
    hd_real *value = hd_host_take(p->r, (2 * p->items + 1) * sizeof *value), *weight = value + p->items;
    if (!value) return;
    for (size_t i = 0; i < p->count; i++) {
        double v = p->x->value[p->x->first[p->which[i]]];
        if (v == v) value[i] = (hd_real)v, weight[i] = 1;
    }
    out->value = hd_from(p->r, p->items, 1, value);
    out->weight = hd_from(p->r, p->items, 1, weight);
}

/* Numbers are guessed to be the mean at first: what is left to learn is how they differ from it. */
static void begin(hd_real *bias, const hd_examples *x)
{
    double sum = 0;
    for (size_t i = 0; i < x->labels; i++) sum += x->value[i];
    *bias = (hd_real)(sum / (double)x->labels);
}

static void hear(hd_judging *j, size_t i, const hd_real *number)
{
    double error = (double)*number - j->x->value[i];
    j->guess[i] = (double)*number;
    j->loss += error * error;
}

static hd_status judge(hd_judged *out, const hd_judging *j, hd_err *err)
{
    double spearman = 0;
    hd_status s = hd_spearman(&spearman, j->guess, j->x->value, j->answers, err);
    if (s) return s;
    double pearson = hd_pearson(j->guess, j->x->value, j->answers);
    out->figure[0] = (hd_figure){"pearson", "Pearson", .value = pearson};
    out->figure[1] = (hd_figure){"spearman", "Spearman", .value = spearman};
    return HD_OK;
}

const hd_label_kind hd_label_regress = {.head = &hd_head_number,
                                        .by_loss = true,
                                        .predicts = "numbers",
                                        .problem = "regression",
                                        .loss = "squared_error",
                                        .loss_title = "mean squared error",
                                        .column = hd_labeled_number,
                                        .put_labels = put_number,
                                        .send = send,
                                        .begin = begin,
                                        .hear = hear,
                                        .judge = judge};
