/* Bodies of classifiers: what makes rows of vectors from tokens or pixels. An encoder of stages, a model that
   has learned from plain text (a BERT, or a language model with states), or an encoder of pictures. */
#ifndef HD_MODEL_ENCODER_BODY_H
#define HD_MODEL_ENCODER_BODY_H

#include "model/encoder/bert.h"
#include "model/encoder/encoder.h"
#include "model/lm/lm.h"
#include "model/vision/image_encoder.h"

typedef struct hd_body_opt {
    const hd_model_type *type; /* hd_model_bert, that of lm.kind or of image.kind, or hd_model_encoder:
                                  stages, as NULL is */
    size_t positions;          /* most rows of an item; of a BERT or a gpt no more than its own; of pictures
                                  filled in */
    size_t vocab;              /* stages; the others have their own */
    /* of stages */
    hd_stages encoder;  /* with its layers */
    hd_stack_opt stack; /* as of hd_encoder_opt */
    hd_unary cell;      /* of rnn stages: tanh or sigmoid; HD_IDENTITY: tanh */
    bool one_hot;     /* a token's vector has a 1 in its own column and nothing else, and is not learned; the
                         first stage recurs */
    hd_bert_opt bert; /* of a BERT; without its head */
    hd_lm_opt lm;     /* of a language model */
    hd_image_encoder_opt image; /* of an encoder of pictures */
} hd_body_opt;

/* What a model that can be a body has for it: how it is made from its options and kept in config.json. All
   else is asked of the model that it becomes. */
typedef struct hd_body_functions {
    size_t stack, vocab; /* where its own are in hd_body_opt */
    bool pictures;       /* it reads pictures: there is no vocabulary, and positions follow from the rest */
    /* Registers the parameters in out->params; completes the options. */
    hd_status (*make)(hd_model *out, hd_body_opt *o, hd_backend *backend, hd_err *err);
    void (*write)(hd_text *to, const hd_body_opt *o);
    void (*read)(hd_model_config *c, hd_body_opt *o);
} hd_body_functions;

extern const hd_body_functions hd_body_bert, hd_body_lm;

const hd_model_type *hd_body_model(const hd_body_opt *o); /* that it is to be; its name: "bert", "gpt", ... */
hd_stack_opt *hd_body_stack(hd_body_opt *o);
size_t hd_body_vocab(const hd_body_opt *o);
size_t hd_body_width(const hd_body_opt *o); /* of a token's vector */
float hd_body_dropout(const hd_body_opt *o);
bool hd_body_reads_pictures(const hd_body_opt *o);

/* Its layers, as in "bert:2" or "bi-lstm:1". */
const char *hd_body_text(const hd_body_opt *o, char buf[HD_STAGES_TEXT]);

/* Registers the parameters in out->params: the caller may add more of its own before they are made ready. */
hd_status hd_body_make(hd_model *out, hd_body_opt *o, hd_backend *backend, hd_err *err);

/* Its keys in config.json: "encoder" has stages, "model" the name of another. */
void hd_body_config_write(hd_text *to, const hd_body_opt *o);
void hd_body_config_read(hd_model_config *c, hd_body_opt *o);

/* What hd_model_encoder is of. */
typedef struct hd_encoder_model {
    hd_body_opt opt;
    hd_params params;
    hd_encoder encoder;
} hd_encoder_model;

#endif
