/* Models made ready for a use: the weights that products read get the backend's form for it. HD_PREDICTING is
   for inference only, HD_DECODING is worth it before a search; both must be undone by HD_TRAINING before
   weights change. Freeing a model undoes them, too. */
#ifndef HD_MODEL_PREPARE_H
#define HD_MODEL_PREPARE_H

#include "model/encoder/bert.h"
#include "model/encoder/classifier.h"
#include "model/encdec/encdec.h"
#include "model/lm/gpt.h"
#include "model/lm/lm.h"

/* What is under way; after a failure nothing more is done. Weights may be absent. */
typedef struct hd_preparing {
    hd_status status;
    hd_params *params;
    hd_use use;
    hd_err *err;
    bool marking; /* nothing is prepared: weights of which nothing but the form will be read are marked */
    bool fine;    /* what they give is the answer: small ones have second lines in int8 (tensor/int8.h) */
} hd_preparing;

void hd_prepare(hd_preparing *p, hd_param *w);
void hd_prepare_beside(hd_preparing *p, hd_param *w); /* the same, but its values are read, too */
void hd_prepare_cell(hd_preparing *p, hd_param *w);   /* what only recur reads */
void hd_prepare_gpt(hd_preparing *p, const hd_gpt *m);
void hd_prepare_stack(hd_preparing *p, const hd_stack *k);
void hd_prepare_stack_first(hd_preparing *p, const hd_stack *k); /* for hd_stack_first, too */
void hd_prepare_bert(hd_preparing *p, const hd_bert *m);
void hd_prepare_encoder(hd_preparing *p, const hd_encoder *e);
void hd_prepare_encdec(hd_preparing *p, const hd_encdec *m);
void hd_prepare_recurrent(hd_preparing *p, const hd_recurrent *c);

hd_status hd_encdec_prepare(hd_encdec *m, hd_use use, hd_err *err);
hd_status hd_gpt_prepare(hd_gpt *m, hd_use use, hd_err *err);
hd_status hd_bert_prepare(hd_bert *m, hd_use use, hd_err *err);

#endif
