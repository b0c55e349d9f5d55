/* The tokenizer that a path stands for, whatever it is: a model's folder, a folder with the tokenizer of a
   published checkpoint, or one of its files. */
#ifndef HD_TEXT_TOKENIZER_FIND_H
#define HD_TEXT_TOKENIZER_FIND_H

#include "text/tokenizer.h"

/* `target`: that of the target where there are two. Fails with a text that says what was looked for. */
hd_status hd_tokenizer_open_any(hd_tokenizer **out, const char *path, bool target, hd_err *err);
/* The same of one tokenizer; a list of pieces is of the kind that is named, where that is words or
 * characters.
 */
hd_status hd_tokenizer_open_as(hd_tokenizer **out, hd_tokenizer_kind kind, const char *path, hd_err *err);

/* A member of config.json, by the key of today or that of an earlier version; NULL: there is none. */
json_t *hd_tokenizer_member(const json_t *config, const char *key);

#endif
