/* Classifiers: an encoder, one vector of each item from its rows, and a linear layer with a row for every
   class. With HD_POOL_each every row keeps its own vector and gets its own class: a tagger. */
#ifndef HD_MODEL_CLASSIFIER_H
#define HD_MODEL_CLASSIFIER_H

#include "model/encoder.h"

/* X(name, what an item's vector is) */
#define HD_POOL_LIST(X)                                                                                  \
    X(last, "the states a recurrent encoder ends with, of both directions; of another one the last row") \
    X(mean, "the mean of its rows")                                                                      \
    X(max, "the largest value of each column")                                                           \
    X(first, "its first row")                                                                            \
    X(each, "a vector for every row: a tagger")

#define X(name, text) HD_POOL_##name,
typedef enum hd_pool_kind { HD_POOL_LIST(X) HD_POOLS } hd_pool_kind;
#undef X

extern const char *const hd_pool_names[HD_POOLS + 1]; /* ends with NULL */

typedef struct hd_classifier_opt {
    hd_stages encoder; /* with its layers */
    hd_pool_kind pool;
    size_t vocab, classes, positions; /* positions: rows of an item, where blocks come first */
    size_t width, inner;
    int heads;
    bool post_norm;
    hd_unary act; /* of the feed-forward layers */
    float dropout;
} hd_classifier_opt;

typedef struct hd_classifier {
    hd_classifier_opt opt;
    hd_params params;
    hd_encoder encoder;
    hd_param *positions; /* NULL: none */
    hd_dense out;
} hd_classifier;

hd_status hd_classifier_new(hd_classifier **out, hd_backend *backend, const hd_classifier_opt *opt,
                            bool training, hd_err *err);
void hd_classifier_free(hd_classifier *m); /* accepts NULL */

/* Items in backend memory. */
typedef struct hd_class_batch {
    const hd_seg *seg;
    const int32_t *ids;
    const int32_t *row; /* HD_POOL_each: the rows that get a class, `rows` of them; NULL: all */
    size_t rows;
    const int32_t *target; /* a class for each item, or for each such row; -1: none */
} hd_class_batch;

/* Losses, [N,1]: one for each target. */
hd_tensor *hd_classifier_loss(hd_run *r, const hd_classifier *m, const hd_class_batch *b,
                              const hd_loss_opt *opt);
/* Log-probabilities of the classes, [N, classes]; reads no target. */
hd_tensor *hd_classifier_logp(hd_run *r, const hd_classifier *m, const hd_class_batch *b);

double hd_classifier_flops(const hd_classifier *m, double items, double length); /* of a forward pass */

#endif
