/* One of the classes for every text, or for every token of a sentence. */
#include <math.h>

#include "task/label/labeler.h"

static void put_label(hd_text *to, const hd_labeled *x, size_t item, const hd_vocab *labels)
{
    hd_text_put(to, hd_vocab_piece(labels, x->label[x->first[item]]));
}

static void hear(hd_judging *j, size_t i, const hd_real *logp)
{
    size_t best = 0;
    for (size_t k = 1; k < j->classes; k++)
        if (logp[k] > logp[best]) best = k;
    j->guess[i] = (double)best;
    if (j->ranked) {
        size_t truth = (size_t)j->x->label[i], before = 0;
        for (size_t k = 0; k < j->classes; k++)
            before += logp[k] > logp[truth] || (logp[k] == logp[truth] && k < truth);
        j->near += before < HD_CONFUSION_NEAR;
    }
    j->loss -= (double)logp[j->x->label[i]];
}

/* Accuracy, macro-F1, of two classes the F1 of the second, and Matthews' correlation. */
static hd_status judge(hd_judged *out, const hd_judging *j, hd_err *err)
{
    hd_confusion *c = &out->confusion;
    hd_figure *f = out->figure;
    hd_status s = hd_confusion_init(c, j->classes, err);
    for (size_t i = 0; !s && i < j->answers; i++)
        s = hd_confusion_add(c, (size_t)j->x->label[i], (size_t)j->guess[i], err);
    if (s) return s;
    c->near = (size_t)j->near;
    *f++ = (hd_figure){"accuracy", "accuracy", hd_confusion_accuracy(c), .share = true};
    *f++ = (hd_figure){"macro_f1", "macro-F1", hd_confusion_macro_f1(c), .share = true};
    if (c->classes == 2) *f++ = (hd_figure){"f1", "F1", hd_confusion_class(c, 1).f1, .share = true};
    *f++ = (hd_figure){"matthews", "Matthews", .value = hd_confusion_matthews(c)};
    if (!isnan(hd_confusion_near(c)))
        *f++ = (hd_figure){"top5_accuracy", "top-5 accuracy", hd_confusion_near(c), .share = true};
    return HD_OK;
}

static double probability(hd_real logp)
{
    return exp((double)logp);
}

const hd_label_kind hd_label_classify = {.head = &hd_head_classes,
                                         .predicts = "labels",
                                         .problem = "single_label_classification",
                                         .column = hd_labeled_name,
                                         .put_labels = put_label,
                                         .hear = hear,
                                         .judge = judge,
                                         .probability = probability,
                                         .top = 1};

const hd_label_kind hd_label_tag = {.head = &hd_head_classes,
                                    .each = true,
                                    .predicts = "labels of tokens",
                                    .hear = hear,
                                    .judge = judge,
                                    .probability = probability,
                                    .top = 1};
