/* What is asked of a classifier or a tagger: a folder whose config.json says "task": "classify", "regress" or
   "tag", with a tokenizer file, labels.txt unless labels are numbers, and model.safetensors. */
#ifndef HD_TASK_LABEL_LABELER_H
#define HD_TASK_LABEL_LABELER_H

#include "data/labels/examples.h"
#include "metric/confusion.h"
#include "metric/figure.h"
#include "model/classifier.h"
#include "task/model_folder.h"

static inline hd_train_task hd_labeler_task(const hd_classifier_opt *o)
{
    return o->pool == HD_POOL_each ? HD_TRAIN_TAG : o->numbers ? HD_TRAIN_REGRESS : HD_TRAIN_CLASSIFY;
}

/* Appends a text as an item without a label; of a model of pairs two texts, a tab between; of a tagger a
   sentence, blanks between its tokens. */
hd_status hd_labeler_take(hd_labeled *items, const hd_model_folder *f, hd_line text, hd_err *err);
/* How its items become examples. */
static inline hd_examples_opt hd_labeler_examples(const hd_classifier_opt *o)
{
    return (hd_examples_opt){.each = o->pool == HD_POOL_each, .bare = o->bare, .longest = o->body.positions};
}

/* Sends the examples of these numbers, which are also the keys of their random draws. The number tells the
   shape they are filled up to. lm_loss: the weight of the loss that a language model below has on the mean
   token of an item, in training; 0: it has none. A failure stays in the run. */
uint64_t hd_labeler_send(hd_run *r, hd_class_batch *out, const hd_examples *x, const uint32_t *which,
                         size_t count, const hd_classifier_opt *o, float lm_loss);

/* Told the log-probabilities of every label in turn, or the number; of several processes each is told of a
   part of them, and judging puts them together. */
typedef void hd_labeler_hear(void *context, size_t label, const hd_real *logp);
hd_status hd_labeler_ask(hd_run *r, const hd_model_folder *f, const hd_examples *x, hd_labeler_hear *hear,
                         void *context, hd_err *err);

typedef struct hd_judged {
    double loss;              /* minus the sum of log-probabilities of the truth, or of squared errors */
    hd_confusion confusion;   /* of classes; to be released */
    double pearson, spearman; /* of numbers */
} hd_judged;
hd_status hd_labeler_judge(hd_judged *out, hd_run *r, const hd_model_folder *f, const hd_examples *x,
                           hd_err *err);
/* What is said of it, the foremost first: of classes accuracy, macro-F1, of two the F1 of the second, and
   Matthews' correlation; of numbers Pearson's and Spearman's. */
void hd_judged_figures(const hd_judged *j, hd_figure out[HD_FIGURES]);

#endif
