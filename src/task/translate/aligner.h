/* Which source token each target token of sentence pairs is aligned to: the one that cross-attention looks at
   most when the token is predicted. Counted over a corpus, this is the file of a shortlist. */
#ifndef HD_TASK_TRANSLATE_ALIGNER_H
#define HD_TASK_TRANSLATE_ALIGNER_H

#include "base/text.h"
#include "data/corpus.h"
#include "op/run.h"
#include "task/model_folder.h"

typedef struct hd_aligner hd_aligner;

/* Fails where the model has no cross-attention over tokens. The folder is borrowed. */
hd_status hd_aligner_new(hd_aligner **out, const hd_model_folder *f, hd_err *err);
void hd_aligner_free(hd_aligner *a); /* accepts NULL */

/* Counts the tokens of these pairs. tell may be NULL. */
hd_status hd_aligner_add(hd_aligner *a, hd_run *r, const hd_corpus *pairs, hd_err *err);

/* Appends the lines of a file as task/translate/lexicon.h reads it: the `best` likeliest targets of each
   source token, and the probability of all target tokens. */
hd_status hd_aligner_write(hd_aligner *a, size_t best, hd_text *to, hd_err *err);

#endif
