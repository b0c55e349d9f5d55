/* Folders: making, listing, removing, and paths below them. */
#ifndef HD_BASE_FILE_FOLDER_H
#define HD_BASE_FILE_FOLDER_H

#include <stdbool.h>

#include "base/status.h"

enum { HD_PATH = 4096 };

/* "folder/name" in `to`; fails where it does not fit. */
hd_status hd_path(char to[HD_PATH], const char *folder, const char *name, hd_err *err);

/* The folder that `path` is in: "." for a name alone. */
void hd_parent(char to[HD_PATH], const char *path);

/* Makes the folder unless it is there; *made (may be NULL) says which. Its parent must be there, and is
   synced. */
hd_status hd_folder_make(const char *path, bool *made, hd_err *err);

/* Calls fn with the name of everything in the folder, in no order, until it fails. */
typedef hd_status hd_folder_fn(void *context, const char *name, hd_err *err);
hd_status hd_folder_each(const char *path, hd_folder_fn *fn, void *context, hd_err *err);

/* One that is not there is empty, and so is one with nothing but a lock (base/file/lock.h) and what a killed
   save left. */
hd_status hd_folder_empty(const char *path, bool *empty, hd_err *err);
/* With all below it; what is not there is removed already. Of a link the link alone. */
hd_status hd_folder_remove(const char *path, hd_err *err);
hd_status hd_folder_sync(const char *path, hd_err *err);

/* Whether a file is called as those that are being saved (base/file/file.h). */
bool hd_is_temporary(const char *name);
/* Removes what saves of a killed process left in the folder. */
hd_status hd_folder_sweep(const char *path, hd_err *err);

#endif
