/* Lines of a text as read, before they are tokens: a vocabulary is learned from the part that is trained on.
 */
#ifndef HD_TASK_LANGUAGE_TEXT_H
#define HD_TASK_LANGUAGE_TEXT_H

#include "task/language.h"

typedef struct hd_plain_text {
    char *bytes; /* of all lines, without what ended them */
    size_t *end; /* [lines] */
    size_t lines, size, room, places;
} hd_plain_text;

/* Empty lines count; one that is not UTF-8 is refused. "-": standard input. A text without a line is none. */
hd_status hd_plain_text_read(hd_plain_text *out, const char *path, hd_err *err);
void hd_plain_text_release(hd_plain_text *t); /* accepts {0} */

/* How many lines are left when the last `fraction` of them is taken: at least one on either side. HD_EARG
   where there are too few. */
hd_status hd_kept_lines(size_t *out, size_t lines, double fraction, hd_err *err);

/* Lines from .. to-1 as a feed for a vocabulary; the walk is its context. */
typedef struct hd_plain_walk {
    const hd_plain_text *text;
    size_t next, to;
} hd_plain_walk;

hd_feed hd_plain_feed(hd_plain_walk *walk);

/* The same lines as tokens. */
hd_status hd_stream_text_of(hd_stream_text *out, const hd_plain_text *text, size_t from, size_t to,
                            const hd_tokeniser *t, hd_err *err);

#endif
