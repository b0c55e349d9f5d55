/* How a model is graded by GLUE. */
#include "lab/pretrained/graded.h"

#include <math.h>
#include <string.h>

#include "task/label/labeler.h"

enum { FEW = 200 }; /* items of a set, small */

/* Whether the labels of a set are those of the model, whose numbers they get. */
static bool fits(hd_labeled *x, const hd_glue_set *set, const hd_model_folder *f)
{
    size_t n = hd_glue_labels(set);
    int32_t number[HD_GLUE_LABELS];
    if (!strcmp(f->task->name, "regress") != !n || hd_labeled_pairs(x) != f->pairs || f->pictures)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((number[i] = hd_glue_label(set, i, &f->labels)) < 0) return false;
    for (size_t i = 0; n && i < x->labels; i++) x->label[i] = number[x->label[i]];
    return n == 0 || n == f->labels.count;
}

/* What always the same answer gets by that figure; positive: the label that F1 is of. */
static double guess_of(const hd_labeled *x, const char *figure, int32_t positive)
{
    size_t count[HD_GLUE_LABELS] = {0}, most = 0;
    for (size_t i = 0; i < x->labels; i++)
        if (x->label[i] >= 0 && ++count[x->label[i]] > most) most = count[x->label[i]];
    if (!strcmp(figure, "accuracy")) return (double)most / (double)x->labels;
    if (strcmp(figure, "f1")) return 0;
    return 2 * (double)count[positive] / (double)(x->labels + count[positive]);
}

static double value_of(const hd_judged *j, const char *figure, int32_t positive)
{
    if (!strcmp(figure, "f1")) return hd_confusion_class(&j->confusion, (size_t)positive).f1;
    for (int i = 0; i < HD_FIGURES && j->figure[i].name; i++)
        if (!strcmp(j->figure[i].name, figure)) return j->figure[i].value;
    return NAN;
}

static hd_status judge_set(hd_paper *to, const hd_lab *lab, int number, const char *path, double beside,
                           int found[2], hd_err *err)
{
    const hd_glue_set *set = &hd_glue_sets[number];
    const hd_model_folder *f = lab->model;
    const hd_examples_opt o = hd_labeler_examples(&hd_model_folder_classifier(f)->opt);
    hd_labeled x = {0};
    hd_examples e = {0};
    hd_judged j = {0};
    hd_status s = hd_glue_read(&x, set, path, err);
    const bool is = !s && fits(&x, set, f);
    if (is && !lab->full && x.count > FEW) x.count = FEW, x.units = x.begin[FEW], x.labels = x.first[FEW];
    if (is) s = hd_examples_make(&e, &x, f->tokenizer[0], &o, err);
    if (is && !s) s = hd_labeler_judge(&j, lab->run, f, &e, err);
    if (is && !s) {
        const int32_t positive = hd_glue_labels(set) ? hd_glue_label(set, 1, &f->labels) : -1;
        double value = value_of(&j, set->figure, positive), guess = guess_of(&x, set->figure, positive);
        hd_paper_row(to, "%s\t%s\t%zu\t%.1f\t%.1f\t%.1f", set->name, set->figure, x.count, 100 * value,
                     100 * guess, beside);
        found[0]++, found[1] += value > guess;
    }
    hd_confusion_release(&j.confusion);
    hd_examples_release(&e);
    hd_labeled_release(&x);
    return s;
}

hd_status hd_graded_put(hd_paper *to, const hd_lab *lab, const double beside[HD_GLUE_SETS], hd_err *err)
{
    char path[HD_PATH];
    int there = 0, found[2] = {0};
    hd_status s = HD_OK;
    hd_paper_table_of(to, "Your model, on what is held back (dev), beside BERT base as published (test)", 6,
                      2);
    hd_paper_row(to, "set\tfigure\titems\tyour model\talways the same\tBERT base");
    for (int i = 0; !s && i < HD_GLUE_SETS; i++) {
        if (!hd_glue_path(path, &hd_glue_sets[i], lab->data)) continue;
        there++;
        s = judge_set(to, lab, i, path, beside[i], found, err);
        if (!s) s = hd_lab_tell(lab, (i + 1.0) / HD_GLUE_SETS, err);
    }
    if (!s && !there)
        s = hd_err_set(err, HD_EARG,
                       "%s: no set of GLUE in it: it has folders such as CoLA with a file dev.tsv",
                       lab->data);
    if (!s && !found[0])
        s = hd_err_set(err, HD_EARG, "none of the %d sets in %s has the labels of this model", there,
                       lab->data);
    if (!s)
        hd_paper_claim(to, "This model knows more than always the same answer.", found[1] == found[0],
                       "It is better on %d of the %d sets whose labels it has.", found[1], found[0]);
    return s;
}
