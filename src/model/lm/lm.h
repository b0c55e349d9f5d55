/* Language models, as training, perplexity, generation and comparison see them. A text is one stream of ids
   in which the end token stands for the end of a line. A model is a line in HD_LM_LIST (model/list.h) and a
   file that defines hd_model_NAME, whose `lm` is filled. */
#ifndef HD_MODEL_LM_LM_H
#define HD_MODEL_LM_LM_H

#include "model/config.h"
#include "model/lm/gpt.h"
#include "model/lm/ngram.h"
#include "model/stack.h"
#include "model/type.h"

#define X(name, text) HD_LM_##name,
typedef enum hd_lm_kind { HD_LM_LIST(X) HD_LM_KINDS } hd_lm_kind;
#undef X

extern const char *const hd_lm_names[HD_LM_KINDS + 1]; /* ends with NULL */
extern const hd_model_type *const hd_lm_types[HD_LM_KINDS];

/* Sizes; a model reads those that it has. */
typedef struct hd_lm_opt {
    hd_lm_kind kind;
    size_t vocab;
    int32_t start, end, unk;
    int order; /* ngram, maxent, ffnn: tokens it knows of at a time, the next one included */
    hd_smoothing smoothing;
    double k;           /* of add-k */
    size_t buckets;     /* maxent: hashed features; 0: as many as keep the table at about 2^25 weights */
    hd_stack_opt stack; /* of a gpt or llama; of the others layers, width, inner, dropout and act. inner 0: 4
                           width (gpt), width (ffnn); eps 0: 1e-5; act HD_IDENTITY: gelu_tanh, tanh (ffnn),
                           tanh (rnn: or sigmoid) */
    size_t context;     /* gpt: positions; rnn, gru, lstm: rows of a window in training */
    float embedding_dropout;          /* gpt */
    float embedding_scale, logit_cap; /* llama; 0: none (model/lm/gpt.h) */
    hd_gpt_position position;         /* gpt */
    size_t positions; /* gpt: most that it may be asked to see, if that is more than `context`, which it
                         learned with; 0: as context */
    size_t align; /* gpt: windows begin at multiples of it, so that a position tells the place in a bar; 0 or
                     1: anywhere */
    bool tied;
    bool no_positions; /* gpt */
    hd_lora_opt lora;  /* of Transformer blocks */
} hd_lm_opt;

typedef struct hd_lm {
    hd_lm_opt opt;
    const hd_model_type *type;
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

/* Registers the parameters, if it has some: the caller may add more of its own and then calls
   hd_params_ready. */
hd_status hd_lm_make(hd_lm **out, const hd_lm_opt *opt, hd_backend *b, hd_err *err);
/* Both in one. */
hd_status hd_lm_new(hd_lm **out, const hd_lm_opt *opt, hd_backend *b, bool training, hd_err *err);
void hd_lm_free(hd_lm *m);         /* accepts NULL */
size_t hd_lm_size(const hd_lm *m); /* parameters, or n-grams */

static inline hd_model hd_lm_model(const hd_lm *m)
{
    return (hd_model){m->type, m->params, (void *)m};
}

/* Its keys in config.json, also where it is a part of another model. */
void hd_lm_config_write(hd_text *to, const hd_lm_opt *o);
void hd_lm_config_read(hd_model_config *c, hd_lm_opt *o);

/* Models that look back: what they read of the tokens before ids[at], where at may be count. out [order - 1]:
   the ids, the nearest first (ffnn), or the buckets of the contexts of 1, 2, ... tokens (maxent). What lies
   before the text is `start`. On the host; any number of threads may call it. */
void hd_lm_features(const hd_lm *m, const int32_t *ids, size_t count, size_t at, int32_t *out);

#endif
