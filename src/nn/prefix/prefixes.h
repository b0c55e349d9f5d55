/* What a cache has read before, for texts that begin alike: whole blocks of its rows, with the tokens they
   are of. Those that were not used for the longest time go first. */
#ifndef HD_NN_PREFIX_PREFIXES_H
#define HD_NN_PREFIX_PREFIXES_H

#include "nn/cache/cache.h"

/* Blocks of a cache that an item begins with. */
typedef struct hd_begun {
    const int32_t *block;
    size_t blocks;
} hd_begun;

typedef struct hd_prefix {
    int32_t *ids, *block; /* of its rows, and of its blocks; one memory, from ids */
    size_t blocks;
    uint64_t used; /* when */
} hd_prefix;

typedef struct hd_prefixes {
    hd_prefix *at;
    size_t count, room;
    size_t blocks, most; /* held, and how many may be */
    uint64_t clock;
} hd_prefixes;

void hd_prefixes_release(hd_prefixes *p, hd_cache *c); /* accepts {0} */
/* Keeps what an item of the cache has read, `count` tokens. Without memory it does not. */
void hd_prefixes_add(hd_prefixes *p, hd_cache *c, size_t item, const int32_t *ids, size_t count);
/* The most blocks that a text of these tokens can begin with, so that one token at least is left to be read.
 */
hd_begun hd_prefixes_find(hd_prefixes *p, const int32_t *ids, size_t count);

#endif
