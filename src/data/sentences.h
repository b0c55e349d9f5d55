/* Sentences of a corpus as read, in memory: one side (a text) or two (a parallel corpus). */
#ifndef HD_DATA_SENTENCES_H
#define HD_DATA_SENTENCES_H

#include <stdint.h>

#include "base/file/lines.h"
#include "data/report.h"
#include "text/tokenizer.h"

/* The files that sentences come from, one for each side or one for both. */
typedef struct hd_origin_files {
    char *name[2];  /* one name for a tab-separated file */
    uint32_t first; /* lines of the files before them */
} hd_origin_files;

typedef struct hd_sentences {
    int sides;    /* 1 or 2 */
    size_t count; /* sentences, or pairs of them */
    struct {
        char *bytes; /* one behind the other */
        size_t *end; /* [count] */
        size_t used, room;
    } side[2];
    uint32_t *line; /* [count] number of the line, from 1, counted over all files */
    size_t places;
    hd_origin_files *origin;
    size_t origins;
} hd_sentences;

void hd_sentences_release(hd_sentences *s); /* accepts {0} */

/* To put them together: the files that the next ones come from, then sentences. */
hd_status hd_sentences_begin(hd_sentences *s, const char *const name[2], uint32_t lines_before, hd_err *err);
hd_status hd_sentences_add(hd_sentences *s, const hd_line text[2], uint32_t line, hd_err *err);
void hd_sentences_clear(hd_sentences *s); /* but for the files; memory stays for the next ones */

static inline hd_line hd_sentence(const hd_sentences *s, int side, size_t i)
{
    size_t begin = i ? s->side[side].end[i - 1] : 0;
    return (hd_line){s->side[side].bytes + begin, s->side[side].end[i] - begin};
}

/* The file that a line, counted over all, is in; *number: which of its lines. The name lives as long as s. */
const char *hd_sentences_file(const hd_sentences *s, int side, uint32_t line, size_t *number);

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
