/* The model in a folder, whatever its task: for those who can ask the same of all of them. */
#ifndef HD_TASK_ANY_MODEL_H
#define HD_TASK_ANY_MODEL_H

#include "task/label/labeler.h"
#include "task/language/language.h"
#include "task/masked/masked.h"
#include "task/translate/translator.h"

typedef struct hd_any_model { /* one of them */
    hd_translator *translator;
    hd_language *language;
    hd_masked *masked;
    hd_labeler *labeler;
} hd_any_model;

typedef enum hd_model_kind {
    HD_MODEL_TRANSLATOR,
    HD_MODEL_LANGUAGE,
    HD_MODEL_MASKED,
    HD_MODEL_CLASSIFIER,
    HD_MODEL_TAGGER
} hd_model_kind;

/* What config.json says that it is; a translator where it says nothing that is known. Fails only for lack of
   memory: what is wrong with a folder is left to whoever opens it for good. */
hd_status hd_any_model_kind(hd_model_kind *out, const char *folder, hd_err *err);

/* Opened for inference, with the best weights. Its memory comes from the backend, which must outlive it. */
hd_status hd_any_model_open(hd_any_model *out, const char *folder, hd_backend *backend, hd_err *err);
void hd_any_model_release(hd_any_model *m); /* accepts {0} */

#endif
