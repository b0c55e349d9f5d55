/* Batches of sounds as features: decoded, resampled and transformed in other threads, ahead of the step that
   needs them. A batch is a set of sounds of similar length, formed as those of sentences are (data/epoch.h).
   Order and augmentation are functions of the seed, the epoch and the item alone, whatever the number of
   threads. */
#ifndef HD_DATA_SOUND_LOADER_H
#define HD_DATA_SOUND_LOADER_H

#include "data/sound/features.h"
#include "data/sound/set.h"
#include "data/sound/spec_augment.h"
#include "data/source.h"

typedef struct hd_sound_loader hd_sound_loader;

typedef struct hd_sound_loader_opt {
    const hd_sound_set *set; /* borrowed */
    hd_features_opt features;
    const hd_spec_augment *augment; /* borrowed; NULL: nothing is changed */
    uint64_t seed;
    size_t frames;   /* budget of a batch, all processes together; a sound has no more */
    int threads;     /* that work ahead; 0: as many as there are cores; below 0: none, get does all */
    size_t ahead;    /* batches that are prepared beside that of the caller; 0: 2 */
    bool in_order;   /* not shuffled, and nothing is prepared beyond the end of an epoch: for evaluation */
    int rank, ranks; /* this process and how many there are; 0 of 0 or 1: alone */
} hd_sound_loader_opt;

/* Items from .. to-1 of a batch; arrays have an entry for each. */
typedef struct hd_sound_batch {
    size_t items;
    const uint32_t *which; /* of the set */
    const float *value;    /* [rows, mels]: frames of all items, one item behind the other */
    const int32_t *frames; /* [items] */
    size_t rows, mels;
} hd_sound_batch;

/* Which items a batch has. total: of all processes. */
typedef struct hd_sound_share {
    hd_position at;
    size_t items;
    const uint32_t *which;
    const int32_t *frames;
    size_t total_items, total_frames;
} hd_sound_share;

/* The set has at least one item; each must have a frame, and not more than the budget. */
hd_status hd_sound_loader_new(hd_sound_loader **out, const hd_sound_loader_opt *opt, hd_err *err);
void hd_sound_loader_free(hd_sound_loader *l); /* accepts NULL, at any time */

/* The batches as a source, which lives as long as the loader; its next makes a batch the caller's. */
hd_source *hd_sound_loader_source(hd_sound_loader *l);
size_t hd_sound_loader_batches(hd_sound_loader *l, uint64_t epoch);

/* Makes the batch the caller's, wherever it is; those behind it are begun in other threads. */
hd_status hd_sound_loader_go(hd_sound_loader *l, hd_position at, hd_err *err);
/* The caller's batch, valid until the next one is. */
const hd_sound_share *hd_sound_loader_now(const hd_sound_loader *l);
/* Items from .. to-1 of it, valid until the next call. A sound that cannot be read is the failure of the call
   that asks for it. */
hd_status hd_sound_loader_get(hd_sound_loader *l, size_t from, size_t to, const hd_sound_batch **out,
                              hd_err *err);

#endif
