/* Lines of a text file, plain or compressed (base/file/packed.h), or of standard input. The format is
   detected from the first bytes, not from the name. */
#ifndef HD_BASE_FILE_LINES_H
#define HD_BASE_FILE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* The limit for a line, shared by all readers. */
enum { HD_LINE_LONGEST = 1 << 24 };
#define HD_LINE_LONGEST_TEXT "16 MiB"

/* Bytes of one line. They may contain NUL; another NUL follows them. */
typedef struct hd_line {
    const char *text; /* NULL: end of the file */
    size_t size;
} hd_line;

typedef struct hd_lines_opt {
    size_t longest; /* bytes a line may have; 0: HD_LINE_LONGEST */
    bool utf8;      /* refuse lines that are not UTF-8 */
    bool no_zero;   /* refuse lines that hold a zero byte */
    bool no_mark; /* a byte order mark, which some editors put before a text, is no part of the first line */
    bool goes_on; /* a refused line is returned as an empty one (hd_lines_refused), and reading continues */
} hd_lines_opt;

extern const hd_lines_opt hd_lines_text; /* UTF-8 without zero bytes or a mark */

typedef struct hd_lines hd_lines;

/* "-" is standard input. opt may be NULL. Fails with a text that names the file. */
hd_status hd_lines_open(hd_lines **out, const char *path, const hd_lines_opt *opt, hd_err *err);
void hd_lines_close(hd_lines *l); /* accepts NULL */

/* The next line without its "\n" or "\r\n"; nothing else ends a line, and the last one may have neither.
   It is valid until the next call. Fails with a text that names file and line, and then fails again when
   asked again. */
hd_status hd_lines_next(hd_lines *l, hd_line *line, hd_err *err);

/* Why the last line returned was refused and is empty; NULL: it was not refused. */
const hd_err *hd_lines_refused(const hd_lines *l);

/* Whether the next line, or the end, can be read without blocking. */
bool hd_lines_ready(const hd_lines *l);

size_t hd_lines_count(const hd_lines *l);     /* lines given so far */
const char *hd_lines_name(const hd_lines *l); /* the path, or "standard input"; lives as long as l */

size_t hd_utf8_good(const char *text,
                    size_t size); /* length of the valid UTF-8 prefix; size if all of it is valid */

#endif
