/* The file of a shortlist: which target tokens a source token is translated by. Lines are TARGET SOURCE
   PROBABILITY, parted by a tab or by spaces, as in the files lex.s2t that users of Marian have. Lines whose
   source is NULL have the probability of a token in any translation; without such lines the tokens with the
   smallest ids are taken to be the most frequent. */
#ifndef HD_TASK_TRANSLATE_LEXICON_H
#define HD_TASK_TRANSLATE_LEXICON_H

#include "base/log.h"
#include "model/encdec/encdec.h"
#include "model/encdec/shortlist.h"
#include "task/model_folder.h"

#define HD_LEXICON_NULL "NULL" /* the source of lines that belong to none */

typedef struct hd_lexicon_opt {
    size_t first;      /* so many of the most frequent tokens are in every translation; 0: HD_LEXICON_FIRST */
    size_t best;       /* so many for each source token; 0: HD_LEXICON_BEST */
    const hd_log *log; /* gets warnings; may be NULL */
} hd_lexicon_opt;

enum { HD_LEXICON_FIRST = 100, HD_LEXICON_BEST = 100, HD_LEXICON_MOST = 1000000 };

/* For the translator f. Lines of tokens that it does not have are left out; HD_EFORMAT: a line is malformed,
   or none is left. */
hd_status hd_lexicon_open(hd_shortlist **out, const char *path, const hd_model_folder *f,
                          const hd_lexicon_opt *opt, hd_err *err);

/* "FILE", "FILE,FIRST" or "FILE,FIRST,BEST": the same of an option. */
hd_status hd_lexicon_open_given(hd_shortlist **out, const char *given, const hd_model_folder *f,
                                const hd_log *log, hd_err *err);

#endif
