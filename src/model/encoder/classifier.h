/* Classifiers: a body, one vector of each item from its rows, and a linear layer with a row for every class,
   or with one row where a number is asked for. With HD_POOL_each every row keeps its own vector and gets its
   own class: a tagger. */
#ifndef HD_MODEL_ENCODER_CLASSIFIER_H
#define HD_MODEL_ENCODER_CLASSIFIER_H

#include "model/encoder/body.h"

/* X(name, what an item's vector is) */
#define HD_POOL_LIST(X)                                                                                  \
    X(last, "the states a recurrent encoder ends with, of both directions; of another one the last row") \
    X(mean, "the mean of its rows")                                                                      \
    X(max, "the largest value of each column")                                                           \
    X(first, "its first row; of a BERT what its pooler makes of it")                                     \
    X(each, "a vector for every row: a tagger")

#define X(name, text) HD_POOL_##name,
typedef enum hd_pool_kind { HD_POOL_LIST(X) HD_POOLS } hd_pool_kind;
#undef X

extern const char *const hd_pool_names[HD_POOLS + 1]; /* ends with NULL */

/* What the outputs of the last layer are, and how they are learned. */
typedef struct hd_head hd_head;

typedef struct hd_classifier_opt {
    hd_body_opt body; /* whether a BERT has a pooler and a head is seen to */
    hd_pool_kind pool;
    size_t classes;      /* 0: none, the body of pictures alone */
    bool bare;           /* items are read without special tokens around them, as a published GPT-2's */
    bool teacher;        /* a second layer, on the second row, which learned from a teacher: the answer is the
                            mean of both; for inference only */
    const hd_head *head; /* NULL: hd_head_classes */
    hd_frozen frozen;    /* borrowed for the making */
} hd_classifier_opt;

typedef struct hd_classifier {
    hd_classifier_opt opt; /* with a head */
    hd_model body;
    hd_params *params;    /* the body's, with the layer */
    hd_dense out, second; /* second: see opt.teacher */
} hd_classifier;

hd_status hd_classifier_new(hd_classifier **out, hd_backend *backend, const hd_classifier_opt *opt,
                            bool training, hd_err *err);
void hd_classifier_free(hd_classifier *m); /* accepts NULL */

/* Items in backend memory. */
typedef struct hd_class_batch {
    hd_items in;        /* type: 0 of a first text, 1 of a second; only a BERT reads it */
    const int32_t *row; /* HD_POOL_each: the rows that get a class, `rows` of them; NULL: all */
    size_t rows;
    const hd_seg *items;   /* a row for each item, for draws; only of a BERT or a language model */
    const int32_t *target; /* a class for each item, or for each such row; -1: none */
    /* Where items are mixed with others: a second class for each item (-1: none), and the weights of the two,
       [N,1]. NULL: they are not. */
    const int32_t *other;
    hd_tensor *own_share, *other_share;
    hd_tensor *value;  /* [N, classes] what is true of each item, where that is no class */
    hd_tensor *weight; /* [N,1] of that; 0: nothing is known */
    /* A language model may learn its own task beside: the token after each row (-1: none) and the weight of
       that, [R,1], in the sum of all losses. NULL: it does not. */
    const int32_t *next;
    hd_tensor *share;
} hd_class_batch;

struct hd_head {
    size_t least, most; /* classes */
    const char *wants;  /* said where there are fewer or more, or where `each` is asked for in vain */
    bool each;          /* rows may have a vector each */
    /* Losses, [N,1], of the vectors v. */
    hd_tensor *(*loss)(hd_run *r, const hd_dense *out, hd_tensor *v, const hd_class_batch *b,
                       const hd_loss_opt *opt);
    hd_tensor *(*answer)(hd_run *r, hd_tensor *logits); /* NULL: they are the answers */
    hd_tensor *(*logp)(hd_run *r, hd_tensor *logits);   /* log-probabilities; NULL: they are numbers */
    const char *probs; /* the formula of probabilities; NULL: that of the softmax */
};

/* One of the classes is true; answers are log-probabilities. */
extern const hd_head hd_head_classes;
/* A number is asked for, the loss is the squared error. */
extern const hd_head hd_head_number;

/* Losses, [N,1]: one for each target. What b->next asks for is learned, too, but is not among them. */
hd_tensor *hd_classifier_loss(hd_run *r, const hd_classifier *m, const hd_class_batch *b,
                              const hd_loss_opt *opt);
/* What the head answers, [N, classes]; reads no target. */
hd_tensor *hd_classifier_answer(hd_run *r, const hd_classifier *m, const hd_class_batch *b);
/* Log-probabilities of the classes, [N, classes], or the numbers, [N,1]. */
hd_tensor *hd_classifier_logp(hd_run *r, const hd_classifier *m, const hd_class_batch *b);

static inline hd_model hd_classifier_model(const hd_classifier *m)
{
    return (hd_model){&hd_model_classifier, m->params, (void *)m};
}

double hd_classifier_flops(const hd_classifier *m, double items, double length); /* of a forward pass */

#endif
