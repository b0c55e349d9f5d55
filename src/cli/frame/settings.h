/* The values of a table's options as text: to keep them in a file that --config reads, and to compare two
   sets of them. */
#ifndef HD_CLI_FRAME_SETTINGS_H
#define HD_CLI_FRAME_SETTINGS_H

#include "base/text.h"
#include "cli/frame/option.h"

/* "name: value" lines of every row but those named in `but` (ends with NULL). */
void hd_settings_write(hd_text *to, const hd_option *table, const void *into, const char *const *but);

/* Whether a list of names, which ends with NULL, has this one. */
bool hd_settings_named(const char *name, const char *const *list);

#endif
