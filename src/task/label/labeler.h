/* A classifier or a tagger with its tokenizer and labels, the folder it lies in (config.json with "task":
   "classify", "regress" or "tag", the tokenizer file, labels.txt unless labels are numbers,
   model.safetensors), and what is asked of it. */
#ifndef HD_TASK_LABEL_LABELER_H
#define HD_TASK_LABEL_LABELER_H

#include "data/labels/examples.h"
#include "metric/confusion.h"
#include "metric/figure.h"
#include "model/classifier.h"
#include "task/model_folder.h"

typedef struct hd_labeler {
    hd_classifier *model;
    hd_tokenizer *tokenizer;
    hd_vocab labels;     /* one label a line in labels.txt, in the order of the classes; of numbers none */
    bool pairs;          /* its items are pairs of texts */
    hd_backend *backend; /* borrowed */
} hd_labeler;

static inline hd_train_task hd_labeler_task(const hd_classifier_opt *o)
{
    return o->pool == HD_POOL_each ? HD_TRAIN_TAG : o->numbers ? HD_TRAIN_REGRESS : HD_TRAIN_CLASSIFY;
}

/* Refuses a folder of another task with a text that names the verb it is for. HD_TRAIN_CLASSIFY and
   HD_TRAIN_REGRESS are both those of `heed classify`. */
hd_status hd_labeler_open(hd_labeler **out, const char *folder, hd_train_task task, hd_backend *backend,
                          hd_err *err);
void hd_labeler_free(hd_labeler *l);                    /* accepts NULL */
void hd_labeler_release(hd_labeler *l);                 /* what it holds; accepts {0} */
hd_model_folder hd_labeler_folder(const hd_labeler *l); /* all of it is borrowed */
hd_labeler hd_labeler_of(const hd_model_folder *f);     /* the same the other way round */
hd_status hd_labeler_save(const hd_labeler *l, const char *folder, hd_err *err);    /* all but weights */
hd_status hd_labeler_publish(const hd_labeler *l, const char *folder, hd_err *err); /* the weights */
/* Reads back what hd_labeler_save wrote: tokenizer, labels, and the options of a model that is not made. */
hd_status hd_labeler_describe(hd_labeler *out, hd_classifier_opt *opt, const char *folder, hd_err *err);

/* Appends a text as an item without a label; of a model of pairs two texts, a tab between; of a tagger a
   sentence, blanks between its tokens. */
hd_status hd_labeler_take(hd_labeled *items, const hd_labeler *l, hd_line text, hd_err *err);
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
hd_status hd_labeler_ask(hd_run *r, const hd_labeler *l, const hd_examples *x, hd_labeler_hear *hear,
                         void *context, hd_err *err);

typedef struct hd_judged {
    double loss;              /* minus the sum of log-probabilities of the truth, or of squared errors */
    hd_confusion confusion;   /* of classes; to be released */
    double pearson, spearman; /* of numbers */
} hd_judged;
hd_status hd_labeler_judge(hd_judged *out, hd_run *r, const hd_labeler *l, const hd_examples *x, hd_err *err);
/* What is said of it, the foremost first: of classes accuracy, macro-F1, of two the F1 of the second, and
   Matthews' correlation; of numbers Pearson's and Spearman's. */
void hd_judged_figures(const hd_judged *j, hd_figure out[HD_FIGURES]);

#endif
