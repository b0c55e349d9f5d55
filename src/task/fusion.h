/* A language model that has a say in a search: its folder, and what the tokens of the model that writes are
   called there (shallow fusion). */
#ifndef HD_TASK_FUSION_H
#define HD_TASK_FUSION_H

#include "decode/joint/mix.h"
#include "task/model_folder.h"

typedef struct hd_fusion {
    hd_model_folder lm;
    int32_t *token; /* [tokens of the writer]: the language model's; -1: none */
    int32_t start;  /* what a text begins behind there */
} hd_fusion;

/* Opens the language model in a folder, in the backend, which must outlive it. Refuses one that knows fewer
   than half of the pieces of `writer`; a piece that it does not know is <unk> there. */
hd_status hd_fusion_open(hd_fusion *out, const char *folder, const hd_tokenizer *writer, hd_backend *backend,
                         hd_err *err);
void hd_fusion_release(hd_fusion *f); /* accepts {0} */

/* Its part in a mix over so many items; f must outlive it. */
hd_status hd_fusion_part(hd_mix_part *out, const hd_fusion *f, size_t items, double weight, hd_err *err);

#endif
