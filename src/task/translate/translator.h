/* A translator: an encoder-decoder with the tokenizers of both its sides, and the folder it lies in:
   config.json, model.safetensors and a tokenizer file for each side (or one for both). Read-only once it is
   open: any number of runs may share one. */
#ifndef HD_TASK_TRANSLATE_TRANSLATOR_H
#define HD_TASK_TRANSLATE_TRANSLATOR_H

#include "model/encdec/encdec.h"
#include "task/model_folder.h"
#include "text/tokenizer.h"

typedef struct hd_translator {
    hd_encdec *model;
    hd_tokenizer *tokenizer[2]; /* of the source and the target; one and the same where they share it */
    size_t longest;             /* tokens of the longest sentence it was trained with, end included */
} hd_translator;

/* Opens the model in a folder for decoding. Its memory comes from the backend, which must outlive it. */
hd_status hd_translator_open(hd_translator **out, const char *folder, hd_backend *backend, hd_weights which,
                             hd_err *err);
void hd_translator_free(hd_translator *t);                    /* accepts NULL */
hd_model_folder hd_translator_folder(const hd_translator *t); /* all of it is borrowed */
hd_translator hd_translator_of(const hd_model_folder *f);     /* the same the other way round */

/* Writes config.json and the tokenizers; the weights come later. */
hd_status hd_translator_save(const hd_translator *t, const char *folder, hd_err *err);
/* Replaces model.safetensors. */
hd_status hd_translator_publish(const hd_translator *t, const char *folder, hd_err *err);

/* Reads back what hd_translator_save wrote, without weights: *opt gets sizes and kinds, the tokenizers are
   opened. The caller frees them. */
hd_status hd_translator_describe(const char *folder, hd_encdec_opt *opt, hd_tokenizer *tokenizer[2],
                                 size_t *longest, hd_err *err);

#endif
