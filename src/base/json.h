/* JSON: Jansson, with its memory counted, limited and failed like all other (base/mem.h). */
#ifndef HD_BASE_JSON_H
#define HD_BASE_JSON_H

#include <jansson.h>

#include "base/arena.h"
#include "base/status.h"

/* Hooks Jansson up, once, and forgets earlier failures of this thread. Before any use of Jansson. */
void hd_json_begin(void);
/* Bytes of the last block Jansson did not get since then; 0: it got all. */
size_t hd_json_missed(void);

/* Parses into the arena, refusing repeated names. NULL: see hd_json_missed, then *e. The result goes with the
 * arena and must not be given to json_decref. */
json_t *hd_json_load(hd_arena *arena, const char *text, size_t length, json_error_t *e);

/* The same of a file of at most `most` bytes. The message names file and line. */
hd_status hd_json_read(json_t **out, hd_arena *arena, const char *path, size_t most, hd_err *err);

#endif
