/* A cache of words and their pieces. It has a fixed size and is shared by all threads: a slot in use by
   another thread counts as empty. */
#ifndef HD_TEXT_PUBLISHED_WORD_CACHE_H
#define HD_TEXT_PUBLISHED_WORD_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { HD_CACHED_BYTES = 22, HD_CACHED_IDS = 9 };

typedef struct hd_word_cache hd_word_cache;

hd_status hd_word_cache_new(hd_word_cache **out, hd_err *err);
void hd_word_cache_free(hd_word_cache *c); /* accepts NULL */

/* The number of pieces of the word, whose ids are stored in id; 0: not cached. */
size_t hd_word_cache_get(hd_word_cache *c, const char *word, size_t size, int32_t id[HD_CACHED_IDS]);
/* Stores it, unless the word is too long or has too many pieces. */
void hd_word_cache_put(hd_word_cache *c, const char *word, size_t size, const int32_t *id, size_t count);

#endif
