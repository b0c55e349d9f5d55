/* What sets of pictures and sounds share: files are named below a folder, and a part of them is held back. */
#ifndef HD_DATA_SET_H
#define HD_DATA_SET_H

#include <stdint.h>

#include "base/file/folder.h"
#include "base/file/lines.h"

/* Spaces around are no part of it. */
hd_line hd_set_trimmed(hd_line t);

/* Where a file of the set lies: below the root, unless its name begins with a slash. *path is `name` or
   `below`. */
hd_status hd_set_path(const char **path, char below[HD_PATH], const char *root, const char *name,
                      hd_err *err);

#define HD_SET_HASH 0xcbf29ce484222325u /* to begin with */
/* Continues the hash `before` (FNV-1a). */
uint64_t hd_set_hash_bytes(uint64_t before, const void *bytes, size_t size);

/* The items in an order that the seed and their marks decide, not the order they are in; one label (NULL:
   they have none) behind the other. The caller frees it; NULL: no memory. */
size_t *hd_set_draw(const uint64_t *mark, const int32_t *label, size_t count, uint64_t seed);

#endif
