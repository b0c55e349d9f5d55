/* What a model is to all that is not written for one model: a table of functions. `heed info`, `embed`,
   `explain`, attention pictures, model folders and search see a model only through it. A model leaves what it
   does not have NULL, and callers ask for that, never for a name. Models are listed in model/list.h. What
   tensors are called stands in their parameters. */
#ifndef HD_MODEL_TYPE_H
#define HD_MODEL_TYPE_H

#include "model/details.h"
#include "model/list.h"
#include "model/stages.h"
#include "model/stepper.h"
#include "nn/cache/cache.h"
#include "nn/front.h"
#include "nn/layer.h"
#include "nn/param.h"

/* X(NAME, name, stack and sublayer as a probe names them, what people call it): kinds of attention */
#define HD_ATTENTION_LIST(X)                                       \
    X(ENCODER, "encoder", "enc", "self", "encoder self-attention") \
    X(DECODER, "decoder", "dec", "self", "decoder self-attention") \
    X(CROSS, "cross", "dec", "cross", "cross-attention")

typedef enum hd_attention_kind {
#define X(id, name, stack, sublayer, title) HD_ATTENTION_##id,
    HD_ATTENTION_LIST(X)
#undef X
        HD_ATTENTION_KINDS
} hd_attention_kind;

const char *hd_attention_name(hd_attention_kind k);  /* "cross" */
const char *hd_attention_title(hd_attention_kind k); /* "cross-attention" */

/* The layers that attend, of one kind: those of the stages one after the other. */
typedef struct hd_attention_layers {
    bool bare;               /* a probe's names begin with the layer, not with the stack */
    size_t layers, heads;    /* heads: most of any layer */
    size_t first[HD_STAGES]; /* of a stage, among all layers */
    size_t count[HD_STAGES]; /* its layers; 0: it has none of the kind */
    size_t each[HD_STAGES];  /* heads of each of them */
} hd_attention_layers;

void hd_attention_layers_add(hd_attention_layers *a, int stage, int layers, int heads);

typedef struct hd_model_sizes {
    int layers;                 /* whose rows can be had */
    size_t vocab, target_vocab; /* ids that it reads; target: of the second side, if it has one */
    size_t positions;           /* most tokens of an item; INT32_MAX: any number */
    bool fills;                 /* `fill` can be asked */
    const hd_dense *pooler;     /* the layer of `pooled`; NULL: that cannot be asked */
    size_t backward;            /* the last columns of a row that come from reading backward */
    bool bare;                  /* items have no special tokens around them */
    const struct hd_image_prepare
        *image; /* how it reads a picture (data/image/prepare.h); NULL: it does not */
    const struct hd_features_opt *sound; /* how it reads sound (data/sound/features.h); NULL: it does not */
} hd_model_sizes;

struct hd_preparing;      /* model/prepare.h */
struct hd_body_functions; /* model/body.h */
struct hd_lm;             /* model/lm/lm.h */
struct hd_lm_batch;
struct hd_ngram_share;

typedef struct hd_model {
    const struct hd_model_type *type;
    hd_params *params; /* NULL: it is counted, not trained by gradients */
    void *self;        /* hd_encdec, hd_bert, hd_lm, hd_encoder_model, hd_classifier */
} hd_model;

/* What a layer on top of a model's rows applies dropout to. */
typedef enum hd_head_dropout {
    HD_HEAD_DROPOUT_NONE, /* the model has done so */
    HD_HEAD_DROPOUT_ROWS,
    HD_HEAD_DROPOUT_POOLED
} hd_head_dropout;

/* What only language models have. */
typedef struct hd_lm_functions {
    hd_status (*make)(struct hd_lm *m, hd_backend *b, hd_err *err); /* opt is set; registers parameters */
    void (*free)(struct hd_lm *m);
    /* Losses of the rows, [R,1]; also a start of backward. state: what is carried from window to window of as
     * many texts, made by `state`, or NULL: every window begins anew. Not for counted models. */
    hd_tensor *(*loss)(hd_run *r, const struct hd_lm *m, const struct hd_lm_batch *b, hd_cache *state,
                       const hd_loss_opt *opt);
    hd_status (*state)(hd_cache **out, const struct hd_lm *m, size_t items, hd_err *err);
    /* Losses of rows of the last layer, [R,1], as `loss` has them. */
    hd_tensor *(*loss_of)(hd_run *r, const struct hd_lm *m, hd_rows rows, const int32_t *target,
                          const hd_loss_opt *opt);
    bool looks_back; /* loss reads batch.before */
    bool blocks;     /* it is a stack of Transformer blocks, whose options it has */
    /* The ids before a token, the nearest first, to what loss reads, in place; NULL: the ids themselves. */
    void (*features)(const struct hd_lm *m, int32_t *out);
    /* Counted models: */
    hd_status (*count)(struct hd_lm *m, const int32_t *ids, size_t n, hd_err *err); /* a whole text, once */
    double (*score)(const struct hd_lm *m, const int32_t *ids, size_t n); /* sum of log-probabilities */
    /* How a token after a window got its probability, HD_NGRAM_MOST at most; returns how many. */
    size_t (*shares)(const struct hd_lm *m, const int32_t *window, size_t n, int32_t token,
                     struct hd_ngram_share *out);
    hd_status (*save)(const struct hd_lm *m, const char *folder, hd_err *err);
    hd_status (*load)(struct hd_lm *m, const char *folder, hd_err *err);
} hd_lm_functions;

typedef struct hd_model_type {
    const char *name; /* as model/list.h has it */
    void (*free)(void *self);
    /* Tables that are not learned, once the parameters are ready; NULL: it has none, or fills them itself. */
    hd_status (*fill_tables)(void *self, hd_err *err);
    /* What it is made of, for people: "gpt", "bi-gru:1 to gru:1". Into buf where it has to be put together.
     */
    const char *(*title)(const void *self, char *buf, size_t size);
    void (*describe)(const void *self, hd_details *to);
    hd_model_sizes (*sizes)(const void *self);

    /* The model whose rows it reads, which is a part of it; NULL: it makes rows itself. */
    hd_model (*body)(const void *self);
    /* Rows of layer number `layers`, 1 to all, one for each token; the later layers are not run. Every item
       begins anew. Token types are for those that read them; NULL: all of a first text. Of a model of two
       sides the rows of its encoder. NULL: it has no rows. */
    hd_rows (*rows)(hd_run *r, const void *self, int layers, const hd_items *in);
    /* The same of the last layer where nothing but the first row of each item is asked for: perhaps only
       those. NULL: as rows. */
    hd_rows (*first)(hd_run *r, const void *self, const hd_items *in);
    bool reads_types;
    hd_head_dropout head_dropout;
    hd_init head_init; /* of the weight of such a layer; zeros: PyTorch's default */
    size_t (*width)(const void *self, int layer); /* of these rows; 0: of the last layer */
    hd_tensor *(*pooled)(hd_run *r, const void *self,
                         hd_rows last);   /* a vector of each item; see sizes.pooler */
    hd_param *(*table)(const void *self); /* token vectors, [V, width]; NULL: it has none */
    /* Models that fill in what is masked: logits [count, V] of what stands in these rows; see sizes.fills. */
    hd_tensor *(*fill)(hd_run *r, const void *self, const hd_items *in, const int32_t *place, size_t count);
    /* Models of two sides: rows of the second for what it reads, each item with its source. */
    hd_rows (*decode)(hd_run *r, const void *self, const hd_items *source, const hd_items *in);

    /* Continues prompts, or sources that are to be translated, item after item; `start` is what a decoder
       reads first, prompts of language models begin with theirs. They are copied. NULL: it does not write. */
    hd_status (*stepper)(hd_stepper *out, const void *self, const int32_t *ids, const int32_t *len,
                         size_t items, int32_t start, hd_err *err);
    void (*prepare)(struct hd_preparing *p, const void *self); /* the weights of products; NULL: none */

    hd_attention_layers (*attention)(const void *self, hd_attention_kind k); /* NULL: it has none at all */
    hd_attention_kind attends; /* what is shown of it unless something else is asked for */
    /* HD_EARG with why it has no attention of that kind; NULL: there is nothing to add. */
    hd_status (*refuse_attention)(const void *self, hd_attention_kind k, hd_err *err);

    /* What made the matrix that a probe calls `name`; NULL: nothing that is special to it. */
    const char *(*formula)(const void *self, const char *name);
    /* Whether the number in such a name is that of a stage and not of a layer; NULL: never. */
    bool (*numbers_stage)(const void *self, const char *name);
    /* Of a forward pass over items of a length; `outputs`: tokens of the second side of each item, or rows of
       all of them that the output layer sees, for those that have such a choice. */
    double (*flops)(const void *self, double items, double length, double outputs);
    const struct hd_body_functions *as_body; /* of a classifier; NULL: it cannot be one */
    hd_lm_functions lm;                      /* of language models */
} hd_model_type;

#define X(name, text) extern const hd_model_type hd_model_##name;
HD_MODEL_LIST(X)
#undef X

const hd_model_type *hd_model_find(const char *name); /* NULL: there is none */
void hd_model_free(hd_model *m);                      /* accepts {0} */
/* Gives the weights the backend's form for a use. */
hd_status hd_model_prepare(const hd_model *m, hd_use use, hd_err *err);
/* Marks the weights of which nothing but the form is read once they are prepared (hd_param.product). Returns
   whether there are any. */
bool hd_model_mark(const hd_model *m);
/* The model that makes the rows: m, or its body. */
hd_model hd_model_body(const hd_model *m);
/* Rows of the last layer, of a model that has some. */
hd_rows hd_model_rows(hd_run *r, const hd_model *m, const hd_items *in);

#endif
