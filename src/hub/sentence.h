/* What sentence-transformers keeps beside a BERT: where a text is cut, how its rows become one vector and
   whether that is made 1 long. */
#ifndef HD_HUB_SENTENCE_H
#define HD_HUB_SENTENCE_H

#include "hub/family.h"
#include "task/masked/masked.h"

/* Fills `longest`, `pool` and `normalize`. A folder without modules.json has the first alone: it is no
   sentence model. HD_EFORMAT where its vectors are made in a way that heed does not have. */
hd_status hd_family_sentence_read(hd_model_folder *m, const hd_bert_opt *o, const char *folder, hd_err *err);
/* The files of a sentence model that read_sentence reads, as all versions read them. */
hd_status hd_family_sentence_save(const hd_model_folder *m, const char *folder, hd_err *err);
/* HD_EFORMAT where the folder is that of a sentence model: only those of encoders are read. */
hd_status hd_family_sentence_refuse(const char *folder, hd_err *err);

#endif
