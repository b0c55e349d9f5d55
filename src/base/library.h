/* Shared libraries that are loaded when they are first needed: the program starts where they are missing, and
   says so where they would be used. */
#ifndef HD_BASE_LIBRARY_H
#define HD_BASE_LIBRARY_H

#include <stddef.h>

#include "base/status.h"

typedef struct hd_library {
    const char *name;           /* for messages: "cuBLASLt" */
    const char *const *file;    /* its file names, tried in this order; ends with NULL */
    const char *const *folder;  /* where to look behind the places the system knows; ends with NULL */
    const char *only;           /* NULL, or the folder to look in instead of all these places */
    const char *remedy;         /* the end of the message: "install libcublas-13-0" */
    const char *const *symbols; /* the functions that are wanted; ends with NULL */
} hd_library;

/* Puts the addresses of the functions into `to`, in their order. HD_EMISSING, with a text that names the
   library, what is wrong with it and the remedy, where it or one of them is not there. A library that was
   loaded stays until the process ends: it may have threads and handlers of its own. */
hd_status hd_library_load(const hd_library *l, void **to, hd_err *err);

#endif
