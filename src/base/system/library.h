/* Shared libraries loaded on first use: the program starts without them and reports a missing one when it
   is needed. */
#ifndef HD_BASE_SYSTEM_LIBRARY_H
#define HD_BASE_SYSTEM_LIBRARY_H

#include <stddef.h>

#include "base/status.h"

typedef struct hd_library {
    const char *name;           /* for messages: "cuBLASLt" */
    const char *const *file;    /* its file names, tried in this order; ends with NULL */
    const char *const *folder;  /* where to look after the system's own places; ends with NULL */
    const char *only;           /* NULL, or the folder to look in instead of all these places */
    const char *remedy;         /* the end of the message: "install libcublas-13-0" */
    const char *const *symbols; /* the functions needed; ends with NULL */
} hd_library;

/* Stores the addresses of the functions in `to`, in the same order. HD_EMISSING if the library or a
   function is missing; the text names the library, the reason and the remedy. A loaded library stays until
   the process ends: it may have threads and handlers of its own. */
hd_status hd_library_load(const hd_library *l, void **to, hd_err *err);

/* Whatever is loaded now stays until the process ends, also what others close: for libraries that unload
   modules while threads of theirs may still call into them. What cannot be kept is left as it is. */
void hd_libraries_keep(void);

#endif
