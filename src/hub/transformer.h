/* Transformers of `heed translate` as transformers has them: MarianMT, which normalizes behind each layer,
   and Pegasus, which does before, with the same names of tensors and the same sinusoids. */
#ifndef HD_HUB_TRANSFORMER_H
#define HD_HUB_TRANSFORMER_H

#include "hub/family.h"

typedef struct hd_family_form {
    const char *name;                /* for people */
    const char *type, *architecture; /* for config.json */
    bool pre_norm;
    bool one_table;  /* of source, target and output */
    long long vocab; /* where config.json does not say it */
} hd_family_form;

bool hd_family_transformer_has(hd_model_config *c, const hd_family_form *form);
hd_status hd_family_transformer_import(const hd_passage *p, const hd_family_form *form, hd_model_config *c,
                                       hd_err *err);
/* HD_EARG where transformers has no such model; the text says what to train instead. */
hd_status hd_family_transformer_export(const hd_passage *p, const hd_family_form *form, hd_err *err);

#endif
