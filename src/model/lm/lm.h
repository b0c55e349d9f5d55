/* Language models, as training, perplexity, generation and comparison see them. A text is one stream of ids
   in which the end token stands for the end of a line. A model is a line in HD_LM_LIST and a file that
   defines hd_lm_NAME. */
#ifndef HD_MODEL_LM_LM_H
#define HD_MODEL_LM_LM_H

#include "model/lm/ngram.h"
#include "model/stack.h"
#include "model/stepper.h"
#include "nn/cache.h"
#include "nn/param.h"

/* X(name, what it is) */
#define HD_LM_LIST(X)                                                           \
    X(ngram, "counts of tokens in a row, smoothed")                             \
    X(maxent, "a weight for every hashed context and next token, then softmax") \
    X(ffnn, "a feed-forward network over a window of the last tokens")          \
    X(rnn, "a simple recurrent network")                                        \
    X(gru, "gated recurrent units")                                             \
    X(lstm, "long short-term memory")                                           \
    X(gpt, "the Transformer's decoder alone")

#define X(name, text) HD_LM_##name,
typedef enum hd_lm_kind { HD_LM_LIST(X) HD_LM_KINDS } hd_lm_kind;
#undef X

extern const char *const hd_lm_names[HD_LM_KINDS + 1]; /* ends with NULL */

/* Sizes; a model reads those that it has. */
typedef struct hd_lm_opt {
    hd_lm_kind kind;
    size_t vocab;
    int32_t start, end, unk;
    int order; /* ngram, maxent, ffnn: tokens it knows of at a time, the next one included */
    hd_smoothing smoothing;
    double k;           /* of add-k */
    size_t buckets;     /* maxent: hashed features */
    hd_stack_opt stack; /* of a gpt; of the others layers, width, inner, dropout and act. inner 0: 4 width
                           (gpt), width (ffnn); eps 0: 1e-5; act HD_IDENTITY: gelu_tanh, tanh (ffnn), tanh
                           (rnn: or sigmoid) */
    size_t context;     /* gpt: positions; rnn, gru, lstm: rows of a window in training */
    float embedding_dropout; /* gpt */
    bool tied;
} hd_lm_opt;

typedef struct hd_lm {
    hd_lm_opt opt;
    const struct hd_lm_type *type;
    hd_params *params; /* NULL: it is counted, not trained by gradients */
    void *model;       /* the type's own */
} hd_lm;

/* Windows of a text in backend memory: target[i] comes after ids[i]. before, for those that look back at a
   fixed number of tokens: what hd_lm_features says of each target. */
typedef struct hd_lm_batch {
    const hd_seg *seg;
    const int32_t *ids, *target;
    const int32_t *before; /* [(order - 1) * R], place after place: out[0] of all rows, then out[1] of all */
} hd_lm_batch;

struct hd_preparing; /* model/prepare.h */

typedef struct hd_lm_type {
    hd_status (*make)(hd_lm *m, hd_backend *b, hd_err *err); /* opt is set; registers parameters */
    void (*free)(hd_lm *m);
    /* Losses of the rows, [R,1]; also a start of backward. state: what is carried from window to window of as
     * many texts, made by `state`, or NULL: every window begins anew. Not for counted models. */
    hd_tensor *(*loss)(hd_run *r, const hd_lm *m, const hd_lm_batch *b, hd_cache *state,
                       const hd_loss_opt *opt);
    hd_status (*state)(hd_cache **out, const hd_lm *m, size_t items,
                       hd_err *err); /* NULL: nothing is carried */
    /* States of its last layer, a row for each token that was read; every item begins anew. NULL: it has no
     * such state. */
    hd_rows (*states)(hd_run *r, const hd_lm *m, const int32_t *ids, const hd_seg *seg);
    /* Losses of such rows, [R,1], as `loss` has them. */
    hd_tensor *(*loss_of)(hd_run *r, const hd_lm *m, hd_rows states, const int32_t *target,
                          const hd_loss_opt *opt);
    bool looks_back;                                /* loss reads batch.before */
    void (*features)(const hd_lm *m, int32_t *out); /* the ids before a token, the nearest first, to what loss
                                                       reads, in place; NULL: the ids themselves */
    hd_status (*stepper)(hd_stepper *out, const hd_lm *m, const int32_t *ids, const int32_t *len,
                         size_t items, hd_err *err); /* prompts begin with `start` where a text begins */
    void (*prepare)(struct hd_preparing *p, const hd_lm *m);        /* the weights of products; NULL: none */
    double (*flops)(const hd_lm *m, size_t windows, size_t length); /* of a forward pass */
    /* States of layer number `layers`, 1 to all: the later ones are not run. NULL where `states` is. */
    hd_rows (*behind)(hd_run *r, const hd_lm *m, int layers, const int32_t *ids, const hd_seg *seg);
    hd_param *(*table)(const hd_lm *m); /* token vectors; NULL: it has none */
    /* Counted models: */
    hd_status (*count)(hd_lm *m, const int32_t *ids, size_t n,
                       hd_err *err);                               /* the whole text, then finished */
    double (*score)(const hd_lm *m, const int32_t *ids, size_t n); /* sum of log-probabilities of a text */
    hd_status (*save)(const hd_lm *m, const char *folder, hd_err *err);
    hd_status (*load)(hd_lm *m, const char *folder, hd_err *err);
} hd_lm_type;

/* Registers the parameters, if it has some: the caller may add more of its own and then calls
   hd_params_ready. */
hd_status hd_lm_make(hd_lm **out, const hd_lm_opt *opt, hd_backend *b, hd_err *err);
/* Both in one. */
hd_status hd_lm_new(hd_lm **out, const hd_lm_opt *opt, hd_backend *b, bool training, hd_err *err);
void hd_lm_free(hd_lm *m);         /* accepts NULL */
size_t hd_lm_size(const hd_lm *m); /* parameters, or n-grams */

/* Models that look back: what they read of the tokens before ids[at], where at may be count. out [order - 1]:
   the ids, the nearest first (ffnn), or the buckets of the contexts of 1, 2, ... tokens (maxent). What lies
   before the text is `start`. On the host; any number of threads may call it. */
void hd_lm_features(const hd_lm *m, const int32_t *ids, size_t count, size_t at, int32_t *out);

#define X(name, text) extern const hd_lm_type hd_lm_##name;
HD_LM_LIST(X)
#undef X

#endif
