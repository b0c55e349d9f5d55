/* A corpus in ids, packed: what batches are made from. */
#ifndef HD_DATA_CORPUS_H
#define HD_DATA_CORPUS_H

#include "data/ids_encoder.h"

typedef struct hd_corpus {
    int sides;    /* 1 or 2 */
    size_t count; /* sentences, or pairs; below 2^31 */
    struct {
        int32_t *id;   /* without specials */
        size_t *begin; /* [count + 1] in id */
        size_t room;
    } side[2];
    size_t places;
    uint64_t hash; /* of all ids: tells a changed corpus from the same */
} hd_corpus;

typedef struct hd_corpus_opt {
    size_t longest;     /* tokens of a sentence; 0: no limit */
    hd_policy too_long; /* SKIP (default), CUT or ERROR */
    hd_policy empty;    /* what has no tokens: SKIP (default) or ERROR */
    hd_team *team;      /* shares the work; NULL: the caller does it. The result is the same */
    const hd_log *log;  /* gets the warnings; may be NULL */
} hd_corpus_opt;

/* Encodes side 0 of the sentences with tokenizer[0], side 1 with tokenizer[1] (they may be one). report may
   be NULL; it points into the sentences. Fails where nothing is left. */
hd_status hd_corpus_make(hd_corpus *out, const hd_sentences *from, const hd_tokenizer *const tokenizer[2],
                         const hd_corpus_opt *opt, hd_report *report, hd_err *err);
void hd_corpus_release(hd_corpus *c); /* accepts {0} */

static inline size_t hd_corpus_len(const hd_corpus *c, int side, size_t i)
{
    return c->side[side].begin[i + 1] - c->side[side].begin[i];
}

/* Takes the ids of a sentence, of each side. */
typedef struct hd_ids_sink {
    hd_status (*put)(void *context, const int32_t *const ids[2], const size_t len[2], hd_err *err);
    void *context;
} hd_ids_sink;

/* Encodes, leaves out and cuts as hd_corpus_make does, wherever the ids then go. Adds to the report. */
hd_status hd_corpus_encode(hd_ids_sink to, const hd_sentences *from, hd_ids_encoder *encoder,
                           const hd_corpus_opt *opt, hd_report *report, hd_err *err);

/* The hash of a corpus with one side of one sentence more. */
uint64_t hd_corpus_hash(uint64_t hash, const int32_t *ids, size_t len);

#endif
