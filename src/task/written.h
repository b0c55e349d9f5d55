/* Texts that a search found, of captioners and speech recognizers: best first for every item. */
#ifndef HD_TASK_WRITTEN_H
#define HD_TASK_WRITTEN_H

#include "base/arena.h"
#include "decode/search.h"
#include "text/tokenizer.h"

typedef struct hd_written {
    const char *text;
    const int32_t *ids; /* end token included, where it has one */
    const hd_real *logp;
    size_t length;
    double sum, score; /* as of hd_guess */
    bool finished;
} hd_written;

typedef struct hd_written_all {
    hd_written **of; /* [count], in the order of the items: best first */
    size_t *found;   /* [count] how many */
    size_t count;
    hd_arena memory; /* of everything above */
} hd_written_all;

/* Takes what a search found for so many items; found is not read where there are none. */
hd_status hd_written_make(hd_written_all *out, const hd_found *found, size_t count, const hd_tokenizer *t,
                          hd_err *err);
void hd_written_release(hd_written_all *w); /* accepts {0} */

#endif
