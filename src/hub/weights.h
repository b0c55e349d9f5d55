/* The weights in a published folder: model.safetensors, or the files that model.safetensors.index.json names;
   else pytorch_model.bin, or those of pytorch_model.bin.index.json. */
#ifndef HD_HUB_WEIGHTS_H
#define HD_HUB_WEIGHTS_H

#include "nn/param.h"

/* Tensors that say nothing here, by their names: tables that are computed, layers that are not run. */
typedef struct hd_weights_ignored {
    const char *const *endings; /* ends with NULL */
    const char *start;          /* "": none */
} hd_weights_ignored;

/* made: tensors in place of those in the folder (hd_safetensors_made); NULL: none. */

/* Fills all parameters. A tensor that none of them is gets refused by its name, but for those that are
   ignored. Numbers of 16 bits are widened. */
hd_status hd_family_weights_load(hd_params *p, const char *folder, const hd_safetensors *made,
                                 const hd_weights_ignored *ignored, hd_err *err);
/* Whether a tensor has a name that ends so. */
hd_status hd_family_weights_have(bool *out, const char *folder, const char *ending, hd_err *err);
/* Whether the files may hold the parameters, which need no memory (of the null backend): a config.json can
   ask for any size. Differences that are not so large are told by the tensor's name when weights are loaded.
 */
hd_status hd_family_weights_fit(const hd_params *p, const char *folder, const hd_safetensors *made,
                                hd_err *err);

#endif
