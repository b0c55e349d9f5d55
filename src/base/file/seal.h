/* The seal of a folder: in its config.json, as the last key "crc32c", the checksums of the small files
   beside it and of everything before the key itself. So damage is noticed before the folder is used as a
   model. */
#ifndef HD_BASE_FILE_SEAL_H
#define HD_BASE_FILE_SEAL_H

#include <jansson.h>

#include "base/status.h"

#define HD_SEAL_KEY "crc32c"

/* Rewrites config.json of the folder with the checksums of those files that exist; names end with NULL. */
hd_status hd_seal_folder(const char *folder, const char *const *names, hd_err *err);

/* Checks the files whose checksums are in config.json, parsed as `config`. Without the key, as in older
   folders, nothing is checked; a missing file is left to its reader. The message gives the remedy. */
hd_status hd_seal_check(const char *folder, const json_t *config, hd_err *err);

#endif
