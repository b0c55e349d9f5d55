/* JSON through Jansson. Its allocators belong to the process, so a library must not set them: a host
 * program's own Jansson objects would be freed by ours. Trees are plain malloc's, and what they need is asked
 * of hd_mem first. */
#ifndef HD_BASE_JSON_H
#define HD_BASE_JSON_H

#include <jansson.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

/* Parses, refusing repeated names. NULL: see hd_json_missed, then *e. The result goes with the arena (its
 * reset or release) and must not be given to json_decref. */
json_t *hd_json_load(hd_arena *arena, const char *text, size_t length, json_error_t *e);
/* The same of a text in which a whole number may be too large for one: then all numbers are reals. */
json_t *hd_json_load_config(hd_arena *arena, const char *text, size_t length, json_error_t *e);

/* The same of a file of at most `most` bytes. The message names file and line. */
hd_status hd_json_read(json_t **out, hd_arena *arena, const char *path, size_t most, hd_err *err);

/* Building a tree: hd_json_begin, then any number of these, which take the value over and accept NULL, then
 * ask hd_json_missed once. Text that is not UTF-8 gets U+FFFD for each byte at fault. */
void hd_json_begin(void);
void hd_json_set(json_t *object, const char *key, json_t *value);
void hd_json_append(json_t *list, json_t *value);
json_t *hd_json_string(const char *text);
json_t *hd_json_real(double value); /* null for what is not finite */
/* Bytes, if known, or 1 for what could not be allocated since hd_json_begin or by hd_json_load; 0: nothing
 * missed. */
size_t hd_json_missed(void);
/* Writes the tree, which it takes over, with Jansson's flags; fails where anything was missed since
 * hd_json_begin. */
hd_status hd_json_write(hd_text *to, json_t *root, size_t flags, hd_err *err);

#endif
