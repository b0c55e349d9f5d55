/* A source that was encoded before: the encoder's rows in memory of their own, so that any number of searches
   and passes reads them, beside any others. For decoders of blocks alone. */
#ifndef HD_MODEL_ENCDEC_MEMORY_H
#define HD_MODEL_ENCDEC_MEMORY_H

#include "model/encdec/encdec.h"
#include "model/stepper.h"

typedef struct hd_memory {
    hd_backend *backend;
    hd_tensor rows;
    size_t bytes;
} hd_memory;

/* Encodes the one item of a step that was begun, and ends it: nothing else of the step is valid then. *out is
   kept and made larger where it must be; the backend of the run must outlive it. */
hd_status hd_memory_fill(hd_memory *out, hd_run *r, const hd_encdec *m, const hd_items *in, hd_err *err);
void hd_memory_release(hd_memory *m); /* accepts {0} */

/* Some of them as items that a decoder reads, in the step that was begun. */
hd_encoded hd_memory_rows(hd_run *r, const hd_memory *const *m, size_t items);

typedef struct hd_recall {
    const hd_memory *const *memory; /* [items] */
    size_t items;
    size_t longest; /* most tokens of an item, its prompt included; 0: what the decoder has positions for */
    const int32_t *prompt,
        *len;           /* of each item what the decoder reads before it goes on, one behind the other */
    const int32_t *row; /* NULL, or of each item a row of its prompt: */
    hd_real
        *logp; /* [items, vocab] on the host: log-probabilities of what follows that row, once it joined */
} hd_recall;

/* A stepper on memories, which must outlive it with their list, as must what `logp` points to; prompts are
   copied. */
hd_status hd_encdec_recall_stepper(hd_stepper *out, const hd_encdec *m, const hd_recall *what, hd_err *err);

#endif
