/* What folders of BERT share (family_bert_parts.c), whatever head they have: one that predicts words, or none
   (family_bert.c), or one that gives labels (family_bert_labels.c). */
#ifndef HD_HUB_BERT_H
#define HD_HUB_BERT_H

#include "model/bert.h"
#include "hub/family.h"

#define HD_BERT_LABELS "BertForSequenceClassification" /* in "architectures" */
#define HD_BERT_PREFIX "bert."                         /* that a file of the bare model lacks */

/* Sizes and kinds that config.json says; which parts there are, it does not. */
hd_bert_opt hd_family_bert_config(hd_model_config *c);
/* The folder's tokenizer, which must have as many pieces. */
void hd_family_bert_tokenizer(hd_model_config *c, const char *folder, const hd_bert_opt *o, hd_tokenizer **t);
/* Fills the parameters, which are ready, from files that may have older names for them, or no prefix. */
hd_status hd_family_bert_load(hd_params *p, const char *folder, hd_err *err);

/* Begins a config.json, without its last bracket. */
/* The tokenizer, with what transformers needs to read texts as the model does. longest: tokens at which texts
   are cut; 0: where positions end. */
hd_status hd_family_bert_save_tokenizer(const hd_tokenizer *t, const hd_bert_opt *o, size_t longest,
                                        const char *folder, hd_err *err);
void hd_family_bert_put(hd_text *to, const char *architecture, const hd_bert_opt *o, const hd_tokenizer *t);
/* HD_EARG where transformers has no such BERT. */
hd_status hd_family_bert_check(const hd_bert_opt *o, const char *folder, hd_err *err);

/* A classifier, or a model that gives a number. */
hd_status hd_family_bert_import_labels(const hd_passage *p, hd_model_config *c, hd_err *err);
hd_status hd_family_bert_export_labels(const hd_passage *p, hd_err *err);

#endif
