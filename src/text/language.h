/* Languages by their codes and English names. */
#ifndef HD_TEXT_LANGUAGE_H
#define HD_TEXT_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>

extern const char *const hd_language_codes[]; /* ends with NULL */

/* The code of a language that is called by its code or a name, in letters of any case; NULL: there is none.
 */
const char *hd_language_code(const char *called);
const char *hd_language_name(const char *code); /* NULL: there is none */
/* Whether its words are written without spaces between them. */
bool hd_language_unspaced(const char *code);

#endif
