/* A shortlist: the target tokens that a translation may have, of those that its source has, so that an output
   layer multiplies hundreds of rows instead of all. */
#ifndef HD_MODEL_ENCDEC_SHORTLIST_H
#define HD_MODEL_ENCDEC_SHORTLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hd_shortlist {
    size_t sources, targets; /* sizes of the vocabularies */
    size_t *begin;           /* [sources + 1] in target: those of each source token */
    int32_t *target;
    int32_t *always; /* of every source */
    size_t always_count;
    bool copies; /* the vocabulary is one: a source token may stand in the target */
} hd_shortlist;

void hd_shortlist_free(hd_shortlist *s); /* of hd_mem_*, as all in it; accepts NULL and half-built */

#endif
