/* Adapters of the package peft: folders with adapter_config.json and adapter_model.safetensors. */
#ifndef HD_HUB_DECODER_ADAPTER_H
#define HD_HUB_DECODER_ADAPTER_H

#include "backend/backend.h"

/* Whether a folder is one, and no model. */
bool hd_adapter_published(const char *folder);
/* Makes the adapter in folder `to` of the published one in `from` and the model in the folder `base`, which
   it belongs to. `to` must not be there or be empty; after a failure it is as it was. */
hd_status hd_adapter_import(const char *from, const char *base, const char *to, hd_backend *backend,
                            hd_err *err);
/* The other way, of an adapter's folder. base: what peft is to call its model; NULL: the folder here. */
hd_status hd_adapter_export(const char *from, const char *base, const char *to, hd_backend *backend,
                            hd_err *err);
/* Whether the model of a folder is an adapter. */
hd_status hd_adapter_is(bool *out, const char *folder, hd_err *err);

#endif
