/* Models from folders that transformers wrote, and such folders from models. */
#ifndef HD_HUB_IMPORT_H
#define HD_HUB_IMPORT_H

#include "task/model_folder.h"

/* Makes the model in folder `to` of the published one in `from`. `to` must not be there or be empty; after a
   failure it is as it was. */
hd_status hd_import(const char *from, const char *to, hd_backend *backend, hd_err *err);
/* Whether it is a published config.json, or a folder with one. */
bool hd_import_is_published(const char *path);
/* The model that it describes, without weights; a decoder's tokenizer is not opened. *type: its "model_type".
 */
hd_status hd_import_describe(hd_model_folder *out, const char **type, const char *path, hd_err *err);
/* The other way: a bert becomes a BERT, a gpt a GPT-2, a Transformer that normalizes behind its layers a
   MarianMT, one that does before them a Pegasus; what was imported becomes one of its family again. hd_import
   reads all of these. */
hd_status hd_export(const char *from, const char *to, hd_backend *backend, hd_err *err);
/* The same with batch norms moved into the convolutions before them; HD_EARG where there are none. */
hd_status hd_export_folded(const char *from, const char *to, hd_backend *backend, hd_err *err);

#endif
