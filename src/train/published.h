/* The weights that a run has published in its folder, whatever the task: model.safetensors, or of an adapter
   adapter_model.safetensors. */
#ifndef HD_TRAIN_PUBLISHED_H
#define HD_TRAIN_PUBLISHED_H

#include "nn/param.h"

#define HD_PUBLISHED_KEPT "train/best.safetensors" /* where they are kept, below the folder */

/* Replaces them, and reads them back. */
hd_status hd_published_save(const hd_params *p, const char *folder, hd_err *err);
hd_status hd_published_save_int8(const hd_params *p, const char *folder, hd_err *err); /* nn/weight/form.h */
hd_status hd_published_load(hd_params *p, const char *folder, hd_err *err);

/* Keeps the model.safetensors of now below train/; puts back what was kept, if something was. */
hd_status hd_published_keep(const char *folder, hd_err *err);
hd_status hd_published_restore(const char *folder, hd_err *err);

#endif
