/* The files of a published tokenizer, as they were read: saving it writes the same bytes under the same
   names. */
#ifndef HD_TEXT_PUBLISHED_FILE_SET_H
#define HD_TEXT_PUBLISHED_FILE_SET_H

#include "base/file/folder.h"
#include "base/json.h"
#include "base/file/lines.h"
#include "base/text.h"

enum { HD_FILE_SET_MOST = 4, HD_FILE_SET_BYTES = 1 << 26 };

typedef struct hd_file_set {
    struct {
        const char *name; /* borrowed: a constant */
        hd_text bytes;
    } at[HD_FILE_SET_MOST];
    int count;
} hd_file_set;

void hd_file_set_release(hd_file_set *f); /* accepts {0} */

/* Path of the file `name` that belongs to the one at `path`: in the same folder, and if that is called
   source.X or target.X, with the same prefix. */
hd_status hd_beside(char to[HD_PATH], const char *path, const char *name, hd_err *err);
bool hd_is_called(const char *path, const char *ending); /* the path ends so */

/* The file at path; if that is called `name` and does not exist, the one called `instead` beside it, if it
   exists. */
hd_status hd_file_set_find(char to[HD_PATH], const char *path, const char *name, const char *instead,
                           hd_err *err);

/* Reads a file into the set under `name`; *out is borrowed from the set. At most HD_FILE_SET_BYTES, and
   UTF-8 if `utf8`. */
hd_status hd_file_set_read(hd_file_set *f, const char *path, const char *name, bool utf8, hd_line *out,
                           hd_err *err);
/* The file `name` beside path, or {NULL} if it does not exist. */
hd_status hd_file_set_read_beside(hd_file_set *f, const char *path, const char *name, hd_line *out,
                                  hd_err *err);
/* Writes all beside path, and removes those of the names in `others` (ends with NULL) that are not in it. */
hd_status hd_file_set_save(const hd_file_set *f, const char *path, const char *const *others, hd_err *err);

/* Removes the next line from *text, without its "\n" or "\r\n"; false: end of the text. */
bool hd_take_line(hd_line *text, hd_line *line);

/* JSON of a file that was read; the message names file and line. */
hd_status hd_file_json(json_t **out, hd_arena *arena, hd_line text, const char *path, hd_err *err);

#endif
