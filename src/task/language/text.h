/* Lines of a text as read, before they are tokens: a vocabulary is learned from the part that is trained on.
 */
#ifndef HD_TASK_LANGUAGE_TEXT_H
#define HD_TASK_LANGUAGE_TEXT_H

#include "data/files.h"
#include "run/session.h"
#include "task/language/language.h"

typedef struct hd_plain_text {
    char *bytes; /* of all lines, without what ended them */
    size_t *end; /* [lines] */
    size_t lines, size, room, places;
    bool open; /* the last line goes on elsewhere: no end token stands behind it */
} hd_plain_text;

/* Empty lines count; one that is not UTF-8 is refused. "-": standard input. A text without a line is none. */
hd_status hd_plain_text_read(hd_plain_text *out, const char *path, hd_err *err);
/* Several, one behind the other; none may be without a line. */
hd_status hd_plain_text_read_all(hd_plain_text *out, const hd_files *files, hd_err *err);
void hd_plain_text_release(hd_plain_text *t); /* accepts {0} */

/* Moves the last `fraction` of the characters to tail, the end of a line being one; the cut may be inside a
   line. Either side keeps at least one. HD_EARG where there is only one. */
hd_status hd_plain_text_split(hd_plain_text *t, double fraction, hd_plain_text *tail, hd_err *err);

/* Characters of a line, its end too; and bytes of the first n of them. How many of all are kept where a share
   is held back. */
size_t hd_line_characters(hd_line line);
size_t hd_line_bytes(hd_line line, size_t n);
hd_status hd_characters_kept(size_t *out, size_t all, double fraction, hd_err *err);

/* The lines as a feed for a vocabulary; the walk is its context. */
typedef struct hd_plain_walk {
    const hd_plain_text *text;
    size_t next;
} hd_plain_walk;

hd_feed hd_plain_feed(hd_plain_walk *walk);

/* The same lines as tokens. */
hd_status hd_stream_text_of(hd_stream_text *out, const hd_plain_text *text, const hd_tokenizer *t,
                            hd_err *err);

/* What a run learns from and what it validates with (count 0: nothing), as tokens, and tells the session of
   them. The tokenizer is made where *tokenizer is NULL. whole: all of it must be in memory. */
hd_status hd_stream_texts_read(hd_stream_text *train, hd_stream_text *valid, hd_tokenizer **tokenizer,
                               hd_session *s, bool whole, hd_err *err);

#endif
