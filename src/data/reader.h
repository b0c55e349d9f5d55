/* Reading the sentences of a corpus from its files, all at once or piece by piece. */
#ifndef HD_DATA_READER_H
#define HD_DATA_READER_H

#include "data/files.h"
#include "data/sentences.h"

typedef struct hd_read_opt {
    const char *source;   /* a file, plain or compressed (gzip, xz, zstd); "-": standard input */
    const char *target;   /* another, parallel to it; NULL: none */
    const hd_files *more; /* further files, may be NULL: sources and targets in turn, or sources alone */
    bool tabs;            /* files have both sides: the first two columns, parted by a tab */
    hd_policy broken;     /* lines that are not UTF-8 or hold a zero byte: ERROR (default) or SKIP */
    hd_policy empty;      /* lines of spaces or nothing: SKIP (default) or ERROR */
    size_t longest;       /* bytes of a line; 0: HD_LINE_LONGEST. A longer one is an error */
    const hd_log *log;    /* gets the warnings; may be NULL */
} hd_read_opt;

/* Reads and checks. report (may be NULL) gets the counts; it points into out. Fails where nothing is left. */
hd_status hd_sentences_read(hd_sentences *out, const hd_read_opt *opt, hd_report *report, hd_err *err);

typedef struct hd_reader hd_reader;

/* Borrows what the options point to. */
hd_status hd_reader_open(hd_reader **out, const hd_read_opt *opt, hd_err *err);
void hd_reader_close(hd_reader *r); /* accepts NULL */

/* The next sentences, about so many bytes of them, in place of those that are in `into`, which is {0} at
   first; none are left where it has none. At the end of all files what was left out is said in the log. */
hd_status hd_reader_next(hd_reader *r, hd_sentences *into, size_t bytes, hd_err *err);

#endif
