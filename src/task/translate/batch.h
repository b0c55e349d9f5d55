/* A batch of sentence pairs in backend memory. */
#ifndef HD_TASK_TRANSLATE_BATCH_H
#define HD_TASK_TRANSLATE_BATCH_H

#include "data/batch.h"
#include "model/encdec/encdec.h"

typedef struct hd_translate_batch { /* lives as long as its step */
    const hd_seg *in, *out;
    const int32_t *source, *input, *output;
} hd_translate_batch;

/* Sends sentences from .. to-1 of a batch, laid out as m needs them; the number tells the shape it is filled
   up to. */
uint64_t hd_translate_send(hd_run *r, hd_translate_batch *out, const hd_encdec *m, const hd_batch *b,
                           size_t from, size_t to);
/* The losses of its rows. */
hd_tensor *hd_translate_loss(hd_run *r, const hd_encdec *m, const hd_translate_batch *b, float smoothing);

#endif
