/* The right to write in a folder, which one process has at a time: a lock (flock) on a file in it, which the
   end of the process gives back, however it comes. Who only reads takes none. */
#ifndef HD_BASE_FILE_LOCK_H
#define HD_BASE_FILE_LOCK_H

#include "base/file/folder.h"

/* In the folder while the lock is held; a killed process leaves it there. */
#define HD_LOCK_FILE "heed.lock"

typedef struct hd_lock {
    bool held;
    bool made; /* the folder was not there before */
    int file;
    char folder[HD_PATH], path[HD_PATH];
} hd_lock;

/* Makes the folder unless it is there, and locks it. HD_EFILE with the folder and the process where another
   one holds it. */
hd_status hd_lock_take(hd_lock *l, const char *folder, hd_err *err);

/* Accepts one that is zeroed or released. A folder that was made and has nothing in it goes, too. Safe in a
   signal handler. */
void hd_lock_release(hd_lock *l);

#endif
