/* What is asked of a model that gives labels: a folder whose config.json says the task, with a tokenizer
   file, labels.txt unless labels are numbers, and model.safetensors. What tells such tasks apart is one
   struct, in a file of its own. */
#ifndef HD_TASK_LABEL_LABELER_H
#define HD_TASK_LABEL_LABELER_H

#include "data/image/loader.h"
#include "data/labels/examples.h"
#include "metric/confusion.h"
#include "metric/figure.h"
#include "model/encoder/classifier.h"
#include "nn/pixels.h"
#include "task/list.h"
#include "task/model_folder.h"

/* What was found on labeled items. */
typedef struct hd_judged {
    size_t count;                 /* answers */
    double loss;                  /* their sum */
    hd_figure figure[HD_FIGURES]; /* the foremost first */
    hd_confusion confusion;       /* where one class is true; else without classes. To be released */
} hd_judged;

/* Answers on their way to a judgment. */
typedef struct hd_judging {
    const hd_examples *x;
    size_t classes, answers;
    double loss, *guess; /* [answers, guesses] 0 where another process asks */
    bool ranked;         /* how many are among the most likely is asked for, too, */
    double near;         /* which is this (metric/confusion.h) */
} hd_judging;

/* What is sent of a batch. */
typedef struct hd_packing {
    hd_run *r;
    const hd_examples *x;
    const uint32_t *which; /* [count] examples */
    size_t count, classes;
    size_t rows, items; /* with what they are filled up with */
    const int32_t *key;
    size_t types;    /* of tokens */
    float smoothing; /* of what is true */
} hd_packing;

/* A task that gives labels, hd_label_NAME of the name it has in run/task_list.h: `form` of its hd_task. */
typedef struct hd_label_kind {
    const hd_head *head;
    bool each;            /* every token of a sentence has a label: the pool is HD_POOL_each */
    bool by_loss;         /* the best model is that of the least loss, not of the highest first figure */
    const char *predicts; /* "labels", "numbers" */
    const char *problem;  /* "problem_type" of a published classifier; NULL: it has another architecture */
    const char *loss, *loss_title; /* what the mean loss is called in an evaluation; NULL: it is not shown */

    hd_labeled_column *column; /* of labels in a table; NULL: a token and its label a line */
    /* Writes such a column. */
    void (*put_labels)(hd_text *to, const hd_labeled *x, size_t item, const hd_vocab *labels);
    /* Sends what is true of the items where no class is. NULL: a class is. */
    void (*send)(const hd_packing *p, hd_class_batch *out);
    /* The bias that training begins with. NULL: it is drawn. */
    void (*begin)(hd_real *bias, const hd_examples *x);

    bool guesses_all; /* a guess for each class, not one for all */
    /* Keeps what is guessed by answer i, and adds to the loss. */
    void (*hear)(hd_judging *j, size_t i, const hd_real *answer);
    /* Once all are there: figures, and what else there is. */
    hd_status (*judge)(hd_judged *out, const hd_judging *j, hd_err *err);

    double (*probability)(hd_real answer); /* NULL: answers are numbers */
    int top;          /* labels of an item that are shown, the most likely first, unless told; 0: all */
    double threshold; /* of the probability of those */
} hd_label_kind;

/* Of a task, or of the model in a folder. NULL: it gives no labels. */
const hd_label_kind *hd_label_kind_of(hd_train_task task);
const hd_label_kind *hd_labeler_kind(const hd_model_folder *f);

/* Reads labeled items: a table, or a token and its label a line. */
hd_status hd_label_kind_read(const hd_label_kind *k, hd_labeled *out, hd_vocab *labels, const char *path,
                             hd_err *err);

/* Appends a text as an item without a label; of a model of pairs two texts, a tab between; of a tagger a
   sentence, blanks between its tokens. */
hd_status hd_labeler_take(hd_labeled *items, const hd_model_folder *f, hd_line text, hd_err *err);
/* How its items become examples. */
static inline hd_examples_opt hd_labeler_examples(const hd_classifier_opt *o)
{
    return (hd_examples_opt){.each = o->pool == HD_POOL_each, .bare = o->bare, .longest = o->body.positions};
}

/* Sends the examples of these numbers, which are also the keys of their random draws. The number tells the
   shape they are filled up to. o: of the run that learns from them; NULL: they are only asked for. A failure
   stays in the run. */
uint64_t hd_labeler_send(hd_run *r, hd_class_batch *out, const hd_model_folder *f, const hd_examples *x,
                         const uint32_t *which, size_t count, const hd_train_options *o);

/* Told [classes] answers in turn, of each example or, of a tagger, each label; of several processes each is
   told of a part of them, and judging puts them together. */
typedef void hd_labeler_hear(void *context, size_t i, const hd_real *answer);
hd_status hd_labeler_ask(hd_run *r, const hd_model_folder *f, const hd_examples *x, hd_labeler_hear *hear,
                         void *context, hd_err *err);
/* Asks for all examples. */
typedef hd_status hd_labeler_asker(void *context, hd_labeler_hear *hear, void *of, hd_err *err);
hd_status hd_labeler_judge_with(hd_judged *out, const hd_model_folder *f, const hd_examples *x,
                                hd_labeler_asker *ask, void *context, hd_err *err);
hd_status hd_labeler_judge(hd_judged *out, hd_run *r, const hd_model_folder *f, const hd_examples *x,
                           hd_err *err);
/* The same of a file, as hd_label_kind_read reads it, or of a folder with a file for each class. */
hd_status hd_labeler_judge_file(hd_judged *out, hd_run *r, const hd_model_folder *f, const char *path,
                                hd_err *err);

/* The likeliest class of [classes] answers after `last`, which is that of the rank before; equal ones in
   their order. classes: there is none, as NaN has no order. */
size_t hd_labeler_next_best(const hd_real *answer, size_t classes, size_t rank, size_t last);

/* -- pictures (picture_ask.c, picture_data.c) -- */

/* The data that these paths are: a folder with a subfolder a class, a list (relative to `images`; NULL: to
   its own folder), an IDX file of pictures and one of labels. An empty list of labels gets those found. */
hd_status hd_labeler_read_pictures(hd_image_set *out, hd_vocab *labels, const char *const *path, int count,
                                   const char *images, bool skip, hd_err *err);

/* Sends a batch of them; x has the labels, NULL: they are only asked for. The number tells the shape. *pixels
   must live as long as the step. */
uint64_t hd_labeler_send_pictures(hd_run *r, hd_class_batch *out, hd_pixels *pixels, const hd_model_folder *f,
                                  const hd_examples *x, const hd_image_batch *b);
/* As hd_labeler_ask and _judge, in the order of the set. threads: that decode; 0: as many as there are cores.
 */
hd_status hd_labeler_ask_pictures(hd_run *r, const hd_model_folder *f, const hd_image_set *set, int threads,
                                  hd_labeler_hear *hear, void *context, hd_err *err);
hd_status hd_labeler_judge_pictures(hd_judged *out, hd_run *r, const hd_model_folder *f,
                                    const hd_image_set *set, int threads, hd_err *err);
/* How its model reads a picture. */
static inline const hd_image_prepare *hd_labeler_prepare(const hd_model_folder *f)
{
    return &hd_model_folder_classifier(f)->opt.body.image.prepare;
}

#endif
