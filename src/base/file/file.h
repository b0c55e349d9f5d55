/* Files: read-only mapping, and saves that are whole or absent. */
#ifndef HD_BASE_FILE_FILE_H
#define HD_BASE_FILE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hd_map {
    const uint8_t *data; /* never NULL after success, also for an empty file */
    size_t size;
} hd_map;

hd_status hd_map_open(hd_map *out, const char *path,
                      hd_err *err); /* regular files only; the message names the path and why */
void hd_map_close(hd_map *m);       /* accepts a zeroed one */
/* These bytes were read and are not needed soon: their pages are dropped from this process's memory. */
void hd_map_forget(const hd_map *m, const void *from, size_t bytes);

/* All bytes of a regular file of at most `most` in memory of the caller, who frees it. Where many threads
   read small files, this costs them less than mappings, and a file that another program shortens meanwhile is
   an error of who parses it. */
hd_status hd_file_read(uint8_t **out, size_t *size, const char *path, size_t most, hd_err *err);

enum { HD_FILE_BEGINS = 48 };
/* Says how a file begins that is not what it should be, for a message: "it is empty". */
void hd_file_begins(char to[HD_FILE_BEGINS], const uint8_t *bytes, size_t size);

/* A file being saved under a temporary name beside its target. Nothing is visible at `path` until
   hd_save_commit, which syncs the file, renames it and syncs the folder. Leftovers of killed saves of the
   same file are removed first. */
typedef struct hd_save hd_save;

hd_status hd_save_open(hd_save **out, const char *path, hd_err *err);
hd_status hd_save_write(hd_save *s, const void *data, size_t bytes, hd_err *err);
/* CRC-32C of everything written so far; and a rewrite of bytes, which does not change it. */
uint32_t hd_save_checksum(const hd_save *s);
hd_status hd_save_patch(hd_save *s, size_t at, const void *data, size_t bytes, hd_err *err);
hd_status hd_save_commit(hd_save *s, hd_err *err); /* frees s, whether it succeeds or not */
void hd_save_abandon(hd_save *s);                  /* removes the temporary file; accepts NULL */

/* All of it at once. */
hd_status hd_save_bytes(const char *path, const void *data, size_t bytes, hd_err *err);
/* Copies the file `name` of one folder, of at most `most` bytes, into another. One that is not there is fine;
   one that is in the other folder already stays, unless `replace`. */
hd_status hd_file_carry(const char *from, const char *to, const char *name, size_t most, bool replace,
                        hd_err *err);

#endif
