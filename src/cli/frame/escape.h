/* Escapes in texts of the command line. */
#ifndef HD_CLI_FRAME_ESCAPE_H
#define HD_CLI_FRAME_ESCAPE_H

#include "base/text.h"

/* Appends the text with a line end for \\n, a tab for \\t and \\ for two of them; before any other letter a
   backslash is itself. */
void hd_unescape(hd_text *to, const char *text, size_t size);

#endif
