/* The right to write in a folder, held by one process at a time: a lock (flock) on a file in it, released
   when the process ends in any way. Readers take no lock. */
#ifndef HD_BASE_FILE_LOCK_H
#define HD_BASE_FILE_LOCK_H

#include "base/file/folder.h"

/* Exists while the lock is held; a killed process leaves it behind. */
#define HD_LOCK_FILE "heed.lock"

typedef struct hd_lock {
    bool held;
    bool made; /* the folder was not there before */
    int file;
    char folder[HD_PATH], path[HD_PATH];
} hd_lock;

/* Creates the folder unless it exists, and locks it. HD_EFILE if another process holds the lock; the text
   names both. */
hd_status hd_lock_take(hd_lock *l, const char *folder, hd_err *err);

/* Accepts a zeroed or released one. An empty folder that was created for it is removed. Safe in a
   signal handler. */
void hd_lock_release(hd_lock *l);

#endif
