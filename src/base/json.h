/* JSON through Jansson. Its allocators belong to the process, so a library must not set them: a host
   program's own Jansson objects would be freed by ours. Trees are allocated with malloc, after the memory
   they need was requested from hd_mem. */
#ifndef HD_BASE_JSON_H
#define HD_BASE_JSON_H

#include <jansson.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

/* Parses, refusing repeated names. NULL: see hd_json_missed, then *e. The arena owns the result (until its
   reset or release): do not call json_decref on it. */
json_t *hd_json_load(hd_arena *arena, const char *text, size_t length, json_error_t *e);
/* The same for a text whose integers may be too large: then all numbers are reals. */
json_t *hd_json_load_config(hd_arena *arena, const char *text, size_t length, json_error_t *e);

/* The same for a file of at most `most` bytes. The message names file and line. */
hd_status hd_json_read(json_t **out, hd_arena *arena, const char *path, size_t most, hd_err *err);
/* The same for the text of a file that was read already. */
hd_status hd_json_parse(json_t **out, hd_arena *arena, const void *text, size_t size, const char *path,
                        hd_err *err);

/* To build a tree, call hd_json_begin, then any number of these, which take ownership of the value and
   accept NULL, then check hd_json_missed once. Text that is not UTF-8 gets U+FFFD for each invalid byte. */
void hd_json_begin(void);
void hd_json_set(json_t *object, const char *key, json_t *value);
void hd_json_append(json_t *list, json_t *value);
void hd_json_join(json_t *object, json_t *members); /* sets all of another object, as of json_pack */
json_t *hd_json_string(const char *text);
json_t *hd_json_real(double value); /* null if not finite */
/* Bytes (1 if unknown) that could not be allocated since hd_json_begin or by hd_json_load; 0: none. */
size_t hd_json_missed(void);
/* Writes the tree and takes ownership of it, with Jansson's flags; fails if an allocation failed since
   hd_json_begin. */
hd_status hd_json_write(hd_text *to, json_t *root, size_t flags, hd_err *err);
/* The same into a file of a folder, with an end of line. */
hd_status hd_json_save(json_t *root, size_t flags, const char *folder, const char *name, hd_err *err);

#endif
