/* %41 in paths, queries and forms. */
#ifndef HD_SERVE_PARSE_PERCENT_H
#define HD_SERVE_PARSE_PERCENT_H

#include <stdbool.h>

#include "base/text.h"

/* Appends the text with its escapes resolved; plus: a '+' is a blank. False where an escape is not written
   well or means a zero byte; what was appended is then of no use. */
bool hd_percent_decode(hd_text *to, const char *text, size_t size, bool plus);

#endif
