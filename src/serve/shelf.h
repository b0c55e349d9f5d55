/* Pages of a folder, read once when the server starts: what is shown later depends on no file any more. */
#ifndef HD_SERVE_SHELF_H
#define HD_SERVE_SHELF_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hd_shelved {
    char *name;
    uint8_t *bytes;
    size_t size;
} hd_shelved;

typedef struct hd_shelf {
    hd_shelved *file;
    size_t count, room;
} hd_shelf;

/* All .html, .json and .svg files of the folder, one of them index.html. */
hd_status hd_shelf_open(hd_shelf *s, const char *folder, hd_err *err);
void hd_shelf_release(hd_shelf *s);                                   /* accepts {0} */
const hd_shelved *hd_shelf_find(const hd_shelf *s, const char *name); /* NULL: it is not there */

#endif
