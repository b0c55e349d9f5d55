/* The merges of byte-pair encoding: which two neighbors become one piece, and which pair is merged first. */
#ifndef HD_TEXT_PUBLISHED_MERGES_H
#define HD_TEXT_PUBLISHED_MERGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hd_merge {
    int32_t left, right;
    int32_t made;
    uint32_t rank; /* lower ranks are merged first */
} hd_merge;

typedef struct hd_merges {
    hd_merge *slot; /* hash table; rank UINT32_MAX where empty */
    size_t slots;   /* a power of two */
    size_t count;
} hd_merges;

void hd_merges_release(hd_merges *m); /* accepts {0} */
/* Its rank is the number of earlier merges. HD_EARG without a text if the pair exists already. */
hd_status hd_merges_add(hd_merges *m, int32_t left, int32_t right, int32_t made, hd_err *err);

/* Memory that is reused from word to word; {0} is empty. */
typedef struct hd_merge_room {
    struct hd_merge_symbol *symbol;
    uint64_t *heap;
    size_t room;
} hd_merge_room;

void hd_merge_room_release(hd_merge_room *r);

/* Merges in place: the pair of lowest rank first, of equal ones the leftmost, until no pair is listed. Work
   grows as n log n with the word. */
hd_status hd_merges_apply(const hd_merges *m, int32_t *id, size_t *count, hd_merge_room *r, hd_err *err);

#endif
