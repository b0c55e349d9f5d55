/* A folder that appears whole or not at all: it is written under a temporary name beside its target and
   then renamed. */
#ifndef HD_BASE_FILE_STAGING_H
#define HD_BASE_FILE_STAGING_H

#include "base/file/lock.h"

typedef struct hd_staging {
    const char *path;    /* the target as the caller gave it; borrowed */
    char place[HD_PATH]; /* with links resolved */
    char temp[HD_PATH];  /* to write in */
    hd_lock lock;        /* of the target */
    bool unsynced;       /* there are files of hd_staging_write */
} hd_staging;

/* `path` must not exist, or be an empty folder or a link to one. Leftovers of killed processes are
   removed. */
hd_status hd_staging_begin(hd_staging *s, const char *path, hd_err *err);

/* Makes room for such a folder: one that is not empty is removed where `overwrite` says so and nothing but
   `ours` (names, up to a NULL) is in it; anything else there is somebody's. `program`: who writes it, for
   errors. */
hd_status hd_staging_make_room(const char *path, bool overwrite, const char *program, const char *const *ours,
                               hd_err *err);

/* Writes a new file, `name` below s->temp. All of these are synced together, in the end: thousands of small
   files would take minutes otherwise. */
hd_status hd_staging_write(hd_staging *s, const char *name, const void *data, size_t bytes, hd_err *err);

/* With HD_OK, moves s->temp to the target; with a failure, removes s->temp and leaves the target
   unchanged. Returns that failure, or its own. */
hd_status hd_staging_end(hd_staging *s, hd_status status, hd_err *err);

#endif
