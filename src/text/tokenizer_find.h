/* The tokenizer of a path: a model folder, a folder with the tokenizer of a published checkpoint, or one
   of its files. */
#ifndef HD_TEXT_TOKENIZER_FIND_H
#define HD_TEXT_TOKENIZER_FIND_H

#include "text/tokenizer.h"

/* `target`: the target's, if there are two. Fails with a text that says what was looked for. */
hd_status hd_tokenizer_open_any(hd_tokenizer **out, const char *path, bool target, hd_err *err);
/* The same for one tokenizer; a list of pieces has the kind that is named, if that is words or characters. */
hd_status hd_tokenizer_open_as(hd_tokenizer **out, hd_tokenizer_kind kind, const char *path, hd_err *err);

/* A member of config.json, by its current key or that of an earlier version; NULL: there is none. */
json_t *hd_tokenizer_member(const json_t *config, const char *key);

#endif
