/* Sentence pairs as --train or --valid names them, read at once or piece by piece. */
#ifndef HD_TASK_TRANSLATE_PAIRS_H
#define HD_TASK_TRANSLATE_PAIRS_H

#include "data/reader.h"
#include "run/options.h"

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

#endif
