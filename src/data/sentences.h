/* Sentences of a corpus as read, in memory: one side (a text) or two (a parallel corpus). */
#ifndef HD_DATA_SENTENCES_H
#define HD_DATA_SENTENCES_H

#include <stdint.h>

#include "base/file/lines.h"
#include "data/report.h"
#include "text/tokenizer.h"

typedef struct hd_sentences {
    int sides;     /* 1 or 2 */
    size_t count;  /* sentences, or pairs of them */
    char *file[2]; /* what they were read from; one name for a tab-separated file */
    struct {
        char *bytes; /* one behind the other */
        size_t *end; /* [count] */
        size_t used, room;
    } side[2];
    uint32_t *line; /* [count] number in the file, from 1 */
    size_t places;
} hd_sentences;

typedef struct hd_read_opt {
    const char *source; /* a file, plain or compressed (gzip, xz, zstd); "-": standard input */
    const char *target; /* another, parallel to it; NULL: none */
    bool tabs;          /* source has both sides: the first two columns, parted by a tab */
    hd_policy broken;   /* lines that are not UTF-8 or hold a zero byte: ERROR (default) or SKIP */
    hd_policy empty;    /* lines of spaces or nothing: SKIP (default) or ERROR */
    size_t longest;     /* bytes of a line; 0: HD_LINE_LONGEST. A longer one is an error */
    const hd_log *log;  /* gets the warnings; may be NULL */
} hd_read_opt;

/* Reads and checks. report (may be NULL) gets the counts; it points into out. Fails where nothing is left. */
hd_status hd_sentences_read(hd_sentences *out, const hd_read_opt *opt, hd_report *report, hd_err *err);
void hd_sentences_release(hd_sentences *s); /* accepts {0} */

static inline hd_line hd_sentence(const hd_sentences *s, int side, size_t i)
{
    size_t begin = i ? s->side[side].end[i - 1] : 0;
    return (hd_line){s->side[side].bytes + begin, s->side[side].end[i] - begin};
}

/* Moves about `fraction` of the sentences from s to out: those whose hash says so, whatever their place.
   Equal sentences (pairs) stay together, and more of a corpus moves no sentence to the other part. */
hd_status hd_sentences_split(hd_sentences *s, double fraction, hd_sentences *out, hd_err *err);

/* Lines for a vocabulary: side 0, side 1, or (both) one and then the other. The walk is the feed's context.
 */
typedef struct hd_sentence_walk {
    const hd_sentences *of;
    int side, last;
    size_t next;
} hd_sentence_walk;

hd_feed hd_sentences_feed(const hd_sentences *s, int side, bool both, hd_sentence_walk *walk);

#endif
