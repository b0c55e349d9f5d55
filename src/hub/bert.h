/* What folders of BERT share (family_bert_parts.c), whatever head they have: one that predicts words, or none
   (family_bert.c), or one that gives labels (family_bert_labels.c). */
#ifndef HD_HUB_BERT_H
#define HD_HUB_BERT_H

#include "model/bert.h"
#include "hub/family.h"

#define HD_BERT_LABELS "ForSequenceClassification" /* in "architectures", behind the title */
#define HD_BERT_PREFIX "bert."                     /* that a file of the bare model lacks */

/* What a tensor's name begins with here and in the files of a family; NULL ends a list. */
typedef const char *hd_renamed[2];

/* A family of models that are BERTs here. */
typedef struct hd_bert_form {
    const char *type, *title; /* "model_type" and what begins the names in "architectures" */
    const char *others;       /* of those that are read besides the one with labels, for people */
    const char *prefix;       /* of tensors, where it is "bert." here */
    const char *predicts;     /* a tensor of the head that predicts words */
    const hd_renamed *head;   /* what else is called otherwise; NULL: nothing */
    const hd_renamed *labels; /* of a model with labels, looked for first */
    hd_tokenizer_kind native; /* whose files transformers reads as they are */
    long long vocab;          /* where config.json does not say it */
    bool offset;              /* positions lie behind the id that fills up */
} hd_bert_form;

/* Sizes and kinds that config.json says; which parts there are, it does not. */
hd_bert_opt hd_family_bert_config(hd_model_config *c, const hd_bert_form *form);
/* The folder's tokenizer, which must have as many pieces. */
void hd_family_bert_tokenizer(hd_model_config *c, const char *folder, const hd_bert_opt *o, hd_tokenizer **t);
/* Fills the parameters, which are ready, from files that may have older names for them, or no prefix. */
hd_status hd_family_bert_load(hd_params *p, const hd_bert_form *form, bool labels, const char *folder,
                              hd_err *err);

/* The tokenizer, with what transformers needs to read texts as the model does. longest: tokens at which texts
   are cut; 0: where positions end. */
hd_status hd_family_bert_save_tokenizer(const hd_tokenizer *t, const hd_bert_form *form, const hd_bert_opt *o,
                                        size_t longest, const char *folder, hd_err *err);
/* Begins a config.json, without its last bracket. kind: the architecture, behind the title. */
void hd_family_bert_put(hd_text *to, const hd_bert_form *form, const char *kind, const hd_bert_opt *o,
                        const hd_tokenizer *t);
/* Gives the parameters the family's names. bare: as a model without a head is saved. */
hd_status hd_family_bert_rename(hd_params *p, const hd_bert_form *form, bool labels, bool bare, hd_err *err);
/* HD_EARG where transformers has no such BERT. */
hd_status hd_family_bert_check(const hd_bert_opt *o, const char *folder, hd_err *err);

/* A classifier, or a model that gives a number. */
hd_status hd_family_bert_import_labels(const hd_passage *p, const hd_bert_form *form, hd_model_config *c,
                                       hd_err *err);
hd_status hd_family_bert_export_labels(const hd_passage *p, const hd_bert_form *form, hd_err *err);

#endif
