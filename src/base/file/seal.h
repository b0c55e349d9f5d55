/* The seal of a folder: in its config.json, as the last key "crc32c", the checksums of the small files beside
   it and of all that stands before the key itself. So damage is seen before it is taken for a model. */
#ifndef HD_BASE_FILE_SEAL_H
#define HD_BASE_FILE_SEAL_H

#include <jansson.h>

#include "base/status.h"

#define HD_SEAL_KEY "crc32c"

/* Writes config.json of the folder again with the checksums of those of the files that are there; names end
   with NULL. */
hd_status hd_seal_folder(const char *folder, const char *const *names, hd_err *err);

/* Checks the files that config.json, parsed as `config`, has checksums of. One that lacks the key, as older
   ones do, is not checked; a file that is not there is left to whoever reads it. The message says what to do.
 */
hd_status hd_seal_check(const char *folder, const json_t *config, hd_err *err);

#endif
