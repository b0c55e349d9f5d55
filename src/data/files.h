/* A list of files to read: those that were named, and those in folders that were. */
#ifndef HD_DATA_FILES_H
#define HD_DATA_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hd_files {
    char **at;
    size_t count, room;
} hd_files;

/* Appends a file, or the files of a folder in the order of their names, without those that begin with a dot.
   Folders below it do not count. Fails where a folder has none. */
hd_status hd_files_add(hd_files *f, const char *path, hd_err *err);
void hd_files_release(hd_files *f); /* accepts {0} */

/* Bytes of all, compressed files counted with what they about unpack to; standard input and pipes as none. */
uint64_t hd_files_bytes(const hd_files *f);

/* A hash of what is in the files and of their order, whatever their names. Reads all of them. Fails for what
   can be read once only. */
hd_status hd_files_hash(uint64_t *out, const hd_files *f, hd_err *err);

#endif
