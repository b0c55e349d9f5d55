/* Texts in HTML: the passages that are to be translated, without tags, and the tags, which are put around the
   words of the translation that stand for those they were around. Any bytes of UTF-8 are read; what is not
   well formed is kept as it is.

       hd_html h;
       hd_html_read(&h, bytes, &err);
       ... hd_html_text(&h, i) for i < h.passages is translated, and words are aligned ...
       hd_html_write(&to, &h, put, context, &err);
       hd_html_release(&h);

   A passage is what stands between block elements, <br> and other tags that begin a line: of inline elements
   it has both tags or one of them. Every tag of the text is written once, byte by byte as it was. */
#ifndef HD_SERVE_HTML_HTML_H
#define HD_SERVE_HTML_HTML_H

#include "base/file/lines.h"
#include "base/text.h"
#include "task/translate/translate.h"

enum { HD_HTML_DEPTH = 64 }; /* elements in elements; a passage of more stays as it is */

/* A tag in a passage, a comment, a script: whatever is no text. An element has its two tags, everything else
   is at one place. */
typedef struct hd_html_tag {
    hd_span open, close; /* bytes of what was read; close without bytes: at one place */
    size_t begin, end;   /* bytes of the passage's text that it is around; equal at one place */
    size_t next;         /* number of the tag behind this one and those in it */
    bool loose;          /* a tag whose other one is not in the passage: they keep their order */
    bool spaced[2];      /* there is white space before it, and behind it */
} hd_html_tag;

typedef struct hd_html_passage {
    hd_span whole;          /* bytes of what was read */
    hd_span lead, trail;    /* of those the white space before the first word and behind the last */
    size_t text, size;      /* its text: bytes of hd_html.text */
    size_t first_tag, tags; /* of hd_html.tag, in their order */
} hd_html_passage;

typedef struct hd_html {
    hd_line bytes; /* borrowed */
    hd_html_passage *passage;
    size_t passages, passages_room;
    hd_html_tag *tag;
    size_t tags, tags_room;
    hd_text text;
} hd_html;

/* Fails for lack of memory alone. */
hd_status hd_html_read(hd_html *out, hd_line bytes, hd_err *err);
void hd_html_release(hd_html *h); /* accepts {0} */
/* White space in it is single spaces. */
hd_line hd_html_text(const hd_html *h, size_t passage);

/* Writes all of it, with what `put` writes in place of each passage. */
typedef hd_status hd_html_put(hd_text *to, const hd_html *h, size_t passage, void *context, hd_err *err);
hd_status hd_html_write(hd_text *to, const hd_html *h, hd_html_put *put, void *context, hd_err *err);
/* Appends a text with its '<', '>', '&' and spaces that do not break as entities. */
void hd_html_escape(hd_text *to, const char *text, size_t size);

/* -- words -- */

/* Words and marks of a text: what tags are put around. */
typedef struct hd_html_words {
    hd_span *at;
    size_t count, room;
} hd_html_words;

void hd_html_words_release(hd_html_words *w);
/* Those of a passage are also cut where it has tags. */
hd_status hd_html_words_read(hd_html_words *out, hd_line text, hd_err *err);
hd_status hd_html_words_of(hd_html_words *out, const hd_html *h, size_t passage, hd_err *err);

/* Which words belong together; HD_HTML_NONE: no such word. */
#define HD_HTML_NONE SIZE_MAX
typedef struct hd_html_links {
    size_t *source; /* [words of the translation] */
    size_t *target; /* [words of the passage] */
} hd_html_links;

void hd_html_links_release(hd_html_links *l);

/* Writes the translation of a passage with its tags. */
hd_status hd_html_place(hd_text *to, const hd_html *h, size_t passage, hd_line translation,
                        const hd_html_words *source, const hd_html_words *target, const hd_html_links *links,
                        hd_err *err);

#endif
