/* A folder that appears whole or not at all: it is written under a temporary name beside its place, and then
   renamed. */
#ifndef HD_BASE_FILE_STAGING_H
#define HD_BASE_FILE_STAGING_H

#include "base/file/lock.h"

typedef struct hd_staging {
    const char *path;    /* what the caller calls the place; borrowed */
    char place[HD_PATH]; /* without links */
    char temp[HD_PATH];  /* to be written in */
    hd_lock lock;        /* of the place */
} hd_staging;

/* `path` must not be there, or be empty, or a link to such a folder. What killed processes left is removed.
 */
hd_status hd_staging_begin(hd_staging *s, const char *path, hd_err *err);

/* With HD_OK puts what is in s->temp in its place; with a failure, s->temp goes and the place is as it was.
   Returns the failure, or one of its own. */
hd_status hd_staging_end(hd_staging *s, hd_status status, hd_err *err);

#endif
