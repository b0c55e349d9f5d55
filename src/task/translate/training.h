/* Training a translator: its options, its data, and the pairs as they are read. */
#ifndef HD_TASK_TRANSLATE_TRAINING_H
#define HD_TASK_TRANSLATE_TRAINING_H

#include "data/corpus.h"
#include "data/reader.h"
#include "data/shards/shards.h"
#include "run/options.h"
#include "run/recipe.h"
#include "task/seq2seq/seq2seq.h"

/* -- options -- */

/* HD_EARG where options do not go together. */
hd_status hd_translate_check(const hd_train_options *o, hd_err *err);
/* The model but for its vocabularies, and what it is fed in training. */
hd_status hd_translate_model(hd_encdec_opt *to, hd_feeding *feeding, const hd_train_options *o, hd_err *err);

extern const hd_recipe hd_recipe_translate;

/* HD_HAS_... of the model. */
hd_run_parts hd_translate_parts(const hd_train_options *o);

/* -- pairs as they are read -- */

typedef struct hd_pairs {
    hd_files files, more; /* all; those behind the first or the first two */
    hd_read_opt read;     /* points into them */
    double fraction;      /* is held back */
    hd_reader *reader;
    hd_sentences text, held; /* of the piece read last, what is held back apart */
} hd_pairs;

/* Files that end in .tsv, and one file alone, have both sides; others come in pairs, source before target. */
hd_status hd_pairs_open(hd_pairs *p, const hd_texts *given, const hd_train_options *o, const hd_log *log,
                        hd_err *err);
void hd_pairs_release(hd_pairs *p); /* accepts {0} */

/* From the first pair on. */
hd_status hd_pairs_rewind(hd_pairs *p, hd_err *err);
/* The next piece: p->text has no sentence behind the end, where nothing is held back either. */
hd_status hd_pairs_next(hd_pairs *p, bool *more, hd_err *err);

/* Lines for a vocabulary, a share of them: a side, or both one after the other. The walk is the feed's
   context, and has the failure that ended it. */
typedef struct hd_pairs_walk {
    hd_pairs *of;
    int side, last;
    size_t next;
    double share;
    uint64_t line, taken;
    bool begun;
    hd_err err;
} hd_pairs_walk;

hd_feed hd_pairs_feed(hd_pairs *p, int side, bool both, double share, hd_pairs_walk *walk);

/* -- data -- */

typedef struct hd_translate_set {
    hd_encdec_opt model;     /* of the folder that the tokenizers come from, if they do */
    hd_sentences valid_text; /* references of the validation */
    hd_corpus train, valid;
    hd_shards *shards; /* the training pairs; NULL: they are in train */
    bool has_valid;
    size_t longest;                     /* tokens of the longest sentence kept for training, end included */
    uint64_t hash;                      /* of the training pairs */
    size_t pairs, source, target, cost; /* of them, ends included */
} hd_translate_set;

/* Reads, learns or opens the tokenizers, which are the caller's, also after a failure; packs or writes
   shards. */
hd_status hd_translate_set_make(hd_translate_set *out, hd_tokenizer *tokenizer[2], hd_session *s,
                                hd_team *team, hd_err *err);
void hd_translate_set_release(hd_translate_set *s);

#endif
