/* Bodies of classifiers: what makes rows of vectors from tokens. An encoder of stages, or a model that has
   learned from plain text: a BERT, or a language model with states. */
#ifndef HD_MODEL_BODY_H
#define HD_MODEL_BODY_H

#include "model/bert.h"
#include "model/encoder.h"
#include "model/lm/lm.h"

typedef enum hd_body_kind {
    HD_BODY_stages, /* an encoder of stages of layers */
    HD_BODY_bert,
    HD_BODY_lm /* a language model with states: rnn, gru, lstm or gpt */
} hd_body_kind;

typedef struct hd_body_opt {
    hd_body_kind kind;
    size_t positions; /* most rows of an item; of a BERT or a gpt no more than its own */
    size_t vocab;     /* stages; the others have their own */
    /* of stages */
    hd_stages encoder;  /* with its layers */
    hd_stack_opt stack; /* as of hd_encoder_opt */
    hd_unary cell;      /* of rnn stages: tanh or sigmoid; HD_IDENTITY: tanh */
    bool one_hot;     /* a token's vector has a 1 in its own column and nothing else, and is not learned; the
                         first stage recurs */
    hd_bert_opt bert; /* of a BERT; without its head */
    hd_lm_opt lm;     /* of a language model */
} hd_body_opt;

size_t hd_body_vocab(const hd_body_opt *o);
size_t hd_body_width(const hd_body_opt *o); /* of a token's vector */
float hd_body_dropout(const hd_body_opt *o);
void hd_body_set_dropout(hd_body_opt *o, float dropout);
const char *hd_body_model(const hd_body_opt *o); /* "bert", "gpt", ...; of stages "encoder" */

/* Its layers, as in "bert:2" or "bi-lstm:1". */
const char *hd_body_text(const hd_body_opt *o, char buf[HD_STAGES_TEXT]);

typedef struct hd_body {
    hd_body_opt opt;
    hd_params *params; /* all of them lie in it */
    size_t out;        /* columns of its rows */
    hd_params own;     /* of stages */
    hd_encoder encoder;
    hd_bert *bert;
    hd_lm *lm;
} hd_body;

/* Registers the parameters in b->params: the caller may add more of its own before hd_body_ready. Must not be
   moved. To be released, also after a failure. */
hd_status hd_body_make(hd_body *b, hd_backend *backend, const hd_body_opt *opt, hd_err *err);
hd_status hd_body_ready(hd_body *b, bool training, hd_err *err);
void hd_body_release(hd_body *b); /* accepts {0} */

/* A row for each token. type: of the tokens, which only a BERT reads. */
hd_rows hd_body_rows(hd_run *r, const hd_body *b, const int32_t *ids, const int32_t *type, const hd_seg *seg);

/* The model that it is: a BERT, a language model or an encoder of stages. */
hd_model hd_body_as_model(const hd_body *b);

double hd_body_flops(const hd_body *b, double items, double length); /* of a forward pass */

#endif
