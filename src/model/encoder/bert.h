/* BERT: the Transformer's encoder alone, which fills in what is masked. Every row sees all of its item.
   Tensors carry BERT's names. */
#ifndef HD_MODEL_ENCODER_BERT_H
#define HD_MODEL_ENCODER_BERT_H

#include "model/config.h"
#include "model/stack.h"
#include "nn/front.h"
#include "model/type.h"

typedef struct hd_bert_opt {
    hd_stack_opt stack; /* inner 0: 4 * width; eps 0: 1e-12; act HD_IDENTITY: gelu; its dropout is that of
                           embeddings and attention weights, too */
    size_t vocab, positions;
    size_t offset;       /* rows of the table of positions before the first of them */
    size_t types;        /* of tokens; 0: 2, of a first text and of a second */
    bool no_types;       /* types is then 0 */
    size_t embedding;    /* columns of a token's vector, of which a layer makes the width; 0: the width */
    bool headless;       /* without what predicts words: hd_bert_logits and hd_bert_loss are not for it */
    bool pooler;         /* with hd_bert_pooled */
    hd_unary pooler_act; /* HD_IDENTITY: tanh */
    char family[24]; /* what transformers calls it, for export; empty: a BERT, or with an offset a RoBERTa */
} hd_bert_opt;

typedef struct hd_bert {
    hd_bert_opt opt;
    hd_params params;
    hd_front front;
    hd_stack stack;
    hd_dense transform; /* of the head that predicts, before its norm */
    hd_norm_layer head;
    hd_param *bias; /* of the output layer, whose weights are the word vectors */
    hd_dense pooler;
} hd_bert;

/* Items in backend memory, and the rows of them that are asked for. Numbers that are -1 stand for nothing:
   what a batch is filled up with. */
typedef struct hd_bert_batch {
    const hd_seg *seg;
    const int32_t *ids, *type; /* [R] */
    const int32_t *place;      /* [count] rows */
    const int32_t *target;     /* [count] what belongs there; not read by hd_bert_logits */
    size_t count;
} hd_bert_batch;

/* Registers the parameters: the caller may add more of its own and then calls hd_params_ready. */
hd_status hd_bert_make(hd_bert **out, hd_backend *backend, const hd_bert_opt *opt, hd_err *err);
/* Both in one. */
hd_status hd_bert_new(hd_bert **out, hd_backend *backend, const hd_bert_opt *opt, bool training, hd_err *err);
void hd_bert_free(hd_bert *m); /* accepts NULL */

/* The rows of the last block. */
hd_rows hd_bert_rows(hd_run *r, const hd_bert *m, const hd_items *in);
/* Those of block number `layers`, 1 to all; the later ones are not run. */
hd_rows hd_bert_rows_at_layer(hd_run *r, const hd_bert *m, int layers, const hd_items *in);
/* A vector of each item, [N, width]: pooler_act of a layer on its first row. */
hd_tensor *hd_bert_pooled(hd_run *r, const hd_bert *m, hd_rows x);
/* [count, V] of the rows asked for. */
hd_tensor *hd_bert_logits(hd_run *r, const hd_bert *m, const hd_bert_batch *b);
/* Losses of the rows asked for, [count,1]; also a start of backward. */
hd_tensor *hd_bert_loss(hd_run *r, const hd_bert *m, const hd_bert_batch *b, const hd_loss_opt *opt);
/* Of a forward pass over items of a length, of which `asked` rows are asked for. */
double hd_bert_flops(const hd_bert *m, double items, double length, double asked);

#define HD_BERT_OFFSET "position_offset" /* the key of what is 0 where it is missing */
#define HD_BERT_FAMILY "family"

/* Its keys in config.json, also where it is a part of another model. */
void hd_bert_config_write(hd_text *to, const hd_bert_opt *o);
void hd_bert_config_read(hd_model_config *c, hd_bert_opt *o);

static inline hd_model hd_bert_model(const hd_bert *m)
{
    return (hd_model){&hd_model_bert, (hd_params *)&m->params, (void *)m};
}

#endif
