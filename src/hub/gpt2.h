/* What folders of GPT-2 share (family_gpt2_parts.c), whether they predict words (family_gpt2.c) or give
   labels (family_gpt2_labels.c). */
#ifndef HD_HUB_GPT2_H
#define HD_HUB_GPT2_H

#include "model/lm/lm.h"
#include "hub/family.h"

#define HD_GPT2_LABELS "GPT2ForSequenceClassification" /* in "architectures" */

extern const char *const hd_family_gpt2_ignored[]; /* tensors that say nothing; ends with NULL */

hd_lm_opt hd_family_gpt2_config(hd_model_config *c);
/* The folder's tokenizer, which may have fewer pieces; its special tokens become those of the model. */
void hd_family_gpt2_tokenizer(hd_model_config *c, const char *folder, hd_lm_opt *o, hd_tokenizer **t);

/* HD_EARG where transformers has no such GPT-2. */
hd_status hd_family_gpt2_check(const hd_lm_opt *o, const char *folder, hd_err *err);
/* Begins a config.json, without its last bracket. */
void hd_family_gpt2_put(hd_text *to, const char *architecture, const hd_lm_opt *o, const hd_tokenizer *t);
/* As transformers names the tensors of the body where there are others beside it: older versions load no file
   where only some have the prefix, or none. `but`: one that gets none. */
hd_status hd_family_gpt2_add_prefix(hd_params *p, const char *but, hd_err *err);

/* A classifier, or a model that gives a number. */
hd_status hd_family_gpt2_import_labels(const hd_passage *p, hd_model_config *c, hd_err *err);
hd_status hd_family_gpt2_export_labels(const hd_passage *p, hd_err *err);

#endif
