/* The model in a folder, whatever its task: for those who can ask the same of all of them. */
#ifndef HD_TASK_ANY_MODEL_H
#define HD_TASK_ANY_MODEL_H

#include "task/labeller.h"
#include "task/language.h"
#include "task/masked.h"
#include "task/translator.h"

typedef struct hd_any_model { /* one of them */
    hd_translator *translator;
    hd_language *language;
    hd_masked *masked;
    hd_labeller *labeller;
} hd_any_model;

/* Opened for inference, with the best weights. Its memory comes from the backend, which must outlive it. */
hd_status hd_any_model_open(hd_any_model *out, const char *folder, hd_backend *backend, hd_err *err);
void hd_any_model_release(hd_any_model *m); /* accepts {0} */

#endif
