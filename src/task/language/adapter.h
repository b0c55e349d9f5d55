/* The folder of an adapter (nn/block/lora.h): a model folder whose weights are adapter_model.safetensors,
   LoRA's matrices alone, and adapter_config.json, both as the package peft has them. The last one names the
   folder of the model that they are added to, which stays as it is. */
#ifndef HD_TASK_LANGUAGE_ADAPTER_H
#define HD_TASK_LANGUAGE_ADAPTER_H

#include "model/lm/lm.h"
#include "run/options.h"
#include "task/model_folder.h"

#define HD_ADAPTER_CONFIG "adapter_config.json"

/* What the options of a run say; rank 0: nothing. base: the folder of --from. */
hd_status hd_adapter_options(hd_lora_opt *out, const hd_train_options *o, const char *base, hd_err *err);

/* The checksum of its weights; "": the file has none. */
hd_status hd_adapter_checksum(char to[16], const char *base, hd_err *err);

/* The folder that adapter_config.json names, to be freed. */
hd_status hd_adapter_base(char **out, const char *folder, hd_err *err);
/* Gives the model the weights of the base; HD_EFORMAT where it is not that which the adapter was made with.
 */
hd_status hd_adapter_load_base(const hd_lm *m, const char *base, const char *folder, hd_err *err);
/* Both, and then an ordinary model: what was learned is part of the weights, and f has no base any more. */
hd_status hd_adapter_load(hd_model_folder *f, const char *folder, hd_weights which, hd_err *err);

/* Writes adapter_config.json. base: the folder or name that it is to have. */
hd_status hd_adapter_save(const hd_lm *m, const char *base, const char *folder, hd_err *err);

#endif
