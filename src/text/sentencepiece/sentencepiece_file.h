/* A SentencePiece model with the bytes of its file, for every tokenizer that has one. */
#ifndef HD_TEXT_SENTENCEPIECE_SENTENCEPIECE_FILE_H
#define HD_TEXT_SENTENCEPIECE_SENTENCEPIECE_FILE_H

#include "base/text.h"
#include "text/sentencepiece/sentencepiece_shim.h"

typedef struct hd_spm_file {
    hd_spm *model;
    hd_text bytes; /* of the file, as read or learned */
} hd_spm_file;

/* The message names the file and says what is expected. */
hd_status hd_spm_file_open(hd_spm_file *f, const char *path, hd_err *err);
hd_status hd_spm_file_load(hd_spm_file *f, hd_err *err); /* loads the model from the bytes */
hd_status hd_spm_file_save(const hd_spm_file *f, const char *path, hd_err *err);
void hd_spm_file_release(hd_spm_file *f); /* accepts {0} */

/* A hd_spm_take that adds to the hd_text `context`. */
bool hd_spm_take_text(void *context, const char *bytes, size_t size);

#endif
