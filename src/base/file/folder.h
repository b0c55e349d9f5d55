/* Folders: making, listing, removing, and paths below them. */
#ifndef HD_BASE_FILE_FOLDER_H
#define HD_BASE_FILE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum { HD_PATH = 4096 };

/* "folder/name" in `to`; fails if it does not fit. */
hd_status hd_path(char to[HD_PATH], const char *folder, const char *name, hd_err *err);

/* The folder that contains `path`: "." for a plain name. */
void hd_parent(char to[HD_PATH], const char *path);

/* Creates the folder unless it exists; *made (may be NULL) tells which. Its parent must exist and is
   synced. */
hd_status hd_folder_make(const char *path, bool *made, hd_err *err);

/* Calls fn with the name of everything in the folder, in no order, until it fails. */
typedef hd_status hd_folder_fn(void *context, const char *name, hd_err *err);
hd_status hd_folder_each(const char *path, hd_folder_fn *fn, void *context, hd_err *err);

/* The names of all that is in a folder but what begins with a dot, in the order of their bytes: it is the
   same on every machine. */
typedef struct hd_folder_list {
    char **at;
    size_t count, room;
} hd_folder_list;
hd_status hd_folder_names(hd_folder_list *out, const char *path, hd_err *err);
void hd_folder_list_release(hd_folder_list *n); /* accepts {0} */

bool hd_is_folder(const char *path); /* follows links */

/* A missing folder is empty, and so is one with only a lock (base/file/lock.h) and leftovers of killed
   saves. */
hd_status hd_folder_empty(const char *path, bool *empty, hd_err *err);
/* Recursively; a missing one is fine. Of a link only the link. */
hd_status hd_folder_remove(const char *path, hd_err *err);
hd_status hd_folder_sync(const char *path, hd_err *err);

/* Whether it is the name of a temporary file of a save (base/file/file.h). */
bool hd_is_temporary(const char *name);
/* Removes leftovers of killed saves from the folder. */
hd_status hd_folder_sweep(const char *path, hd_err *err);

#endif
