/* The files of the page, which are part of the program: no name leads to the file system. */
#ifndef HD_SERVE_PAGE_FILES_H
#define HD_SERVE_PAGE_FILES_H

#include <stddef.h>

typedef struct hd_page_file {
    const char *name; /* "page.css" */
    const char *bytes;
    size_t size;
} hd_page_file;

extern const hd_page_file hd_page_files[]; /* ends with one without name; made by cmake/embed.cmake */

#endif
