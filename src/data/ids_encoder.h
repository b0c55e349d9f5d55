/* Sentences to ids, a block at a time, by a team: each worker encodes into a list of its own, and whoever
   asks gets them in order, so the result does not depend on who did what. */
#ifndef HD_DATA_IDS_ENCODER_H
#define HD_DATA_IDS_ENCODER_H

#include "base/system/team.h"
#include "data/sentences.h"

enum { HD_IDS_ENCODER_BLOCK = 1 << 14 }; /* sentences */

typedef struct hd_ids_encoder {
    const hd_tokenizer *tokenizer[2];
    hd_team *team; /* NULL: the caller does it */
    int workers;
    struct hd_ids_encoder_worker *worker; /* [workers] */
    struct hd_ids_encoder_found *found;   /* [HD_IDS_ENCODER_BLOCK] */
    const hd_sentences *from;
    size_t first; /* sentence of the block */
} hd_ids_encoder;

/* Side i is encoded with tokenizer[i]; they may be one. Borrows all. */
hd_status hd_ids_encoder_init(hd_ids_encoder *e, const hd_tokenizer *const tokenizer[2], hd_team *team,
                              hd_err *err);
void hd_ids_encoder_release(hd_ids_encoder *e); /* accepts {0} */

/* Encodes `count` sentences from `first` on, at most HD_IDS_ENCODER_BLOCK, in place of those before. */
hd_status hd_ids_encoder_run(hd_ids_encoder *e, const hd_sentences *from, size_t first, size_t count,
                             hd_err *err);

/* Ids of a sentence of the block, counted from 0; valid until the next run. */
const int32_t *hd_ids_encoder_at(const hd_ids_encoder *e, size_t i, int side, size_t *len);

#endif
