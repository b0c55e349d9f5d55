/* Options from a YAML file: names and values are those of the command line, which wins. A name may be written
   with '_' for '-'; an option of several values takes a list; a flag takes true or false. */
#ifndef HD_CLI_FRAME_CONFIG_H
#define HD_CLI_FRAME_CONFIG_H

#include "base/arena.h"
#include "base/text.h"
#include "cli/frame/option.h"

enum { HD_CONFIG_LARGEST = 1 << 20 }; /* bytes of a file */

/* Reads the file that the option "config" names, if a table has such a row and it was given. To be called
   after hd_option_parse, with `given` in both sets: rows given there keep their values, the others are set
   and marked. Text values live in `texts`. HD_EFILE or HD_ENOMEM when the file cannot be read; HD_EARG when
   an option is wrong, HD_EFORMAT or HD_ELIMIT when the file is. The text names file and line. */
hd_status hd_config_read(const hd_option_set sets[2], hd_arena *texts, hd_err *err);

/* "name: value" lines, as hd_config_read takes them, of every row that has a value and that is to be kept. */
typedef bool hd_config_keeps(const hd_option *row, const void *options);
void hd_config_write(hd_text *to, const hd_option *table, const void *options, hd_config_keeps *keeps);

#endif
