/* The tokeniser that a path stands for, whatever it is: a model's folder, a folder with the tokeniser of a
   published checkpoint, or one of its files. */
#ifndef HD_TEXT_TOKENISER_FIND_H
#define HD_TEXT_TOKENISER_FIND_H

#include "text/tokeniser.h"

/* `target`: that of the target where there are two. Fails with a text that says what was looked for. */
hd_status hd_tokeniser_open_any(hd_tokeniser **out, const char *path, bool target, hd_err *err);
/* The same of one tokeniser; a list of pieces is of the kind that is named, where that is words or
 * characters.
 */
hd_status hd_tokeniser_open_as(hd_tokeniser **out, hd_tokeniser_kind kind, const char *path, hd_err *err);

#endif
