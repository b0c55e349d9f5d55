/* Tables of columns parted by commas, named in the first line. A field in quotes may hold commas and,
   doubled, quotes; it ends on its line. */
#ifndef HD_DATA_IMAGE_SET_CSV_H
#define HD_DATA_IMAGE_SET_CSV_H

#include "base/file/lines.h"
#include "base/text.h"

typedef struct hd_csv {
    hd_lines *lines;
    hd_text text; /* of the fields, each followed by a zero byte */
    size_t *begin;
    size_t fields, room;
} hd_csv;

/* Opens the file and reads the first line. */
hd_status hd_csv_open(hd_csv *out, const char *path, hd_err *err);
void hd_csv_close(hd_csv *c); /* accepts {0} */
/* The next line that is not empty; *more is false at the end. */
hd_status hd_csv_next(hd_csv *c, bool *more, hd_err *err);
/* Field i of the line without spaces around it; text NULL: there are fewer. */
hd_line hd_csv_field(const hd_csv *c, size_t i);
/* The column of this name; SIZE_MAX: none. Capitals do not count. */
size_t hd_csv_column(const hd_csv *c, const char *name);

#endif
