/* The data of a run, whatever its task: which files it is, whether it fits in memory or goes to shards, and
   the vocabulary that is learned from it. Where several processes train together, the first one learns the
   vocabulary and writes the shards, and all call these functions. */
#ifndef HD_RUN_DATA_H
#define HD_RUN_DATA_H

#include "data/files.h"
#include "data/shards/shards.h"
#include "run/session.h"

/* The files that an option names, and those in folders that it names. */
hd_status hd_data_files(hd_files *out, const hd_texts *given, hd_err *err);

/* Where the shards of the training data are or go: --shards, or train/shards of the model's folder where the
   files are larger than a quarter of the free memory. A run that is resumed has them if it began with them.
   "": the data stays in memory. */
hd_status hd_data_place(char folder[HD_PATH], const hd_session *s, const hd_files *files, hd_err *err);

/* What identifies shards: the files, how they are read (`reading`, any number) and the tokenizers. */
hd_status hd_data_identity(hd_shards_opt *out, uint32_t sides, const hd_files *files, uint64_t reading,
                           const hd_tokenizer *const tokenizer[2], hd_err *err);

/* Opens the shards; where there are none in the folder, the first process writes them before. Those of
   other data are refused. */
typedef hd_status hd_shards_write(void *context, hd_shards_writer *to, hd_err *err);
hd_status hd_data_shards(hd_shards **out, hd_session *s, const char *folder, const hd_shards_opt *opt,
                         hd_shards_write *write, void *context, hd_err *err);

/* Learns a vocabulary. Only the first process calls for the lines. */
hd_status hd_data_learn(hd_tokenizer **out, hd_tokenizer_kind kind, hd_feed lines,
                        const hd_tokenizer_opt *opt, hd_err *err);

/* How much of a text of so many bytes SentencePiece learns from, and whether a line is of that. */
double hd_data_sampled(hd_tokenizer_kind kind, uint64_t bytes);
bool hd_data_sample(double share, uint64_t line);

#endif
