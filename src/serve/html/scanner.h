/* The tokens of HTML: text, tags, and what is neither. */
#ifndef HD_SERVE_HTML_SCANNER_H
#define HD_SERVE_HTML_SCANNER_H

#include "base/file/lines.h"
#include "task/translate/translate.h"

typedef enum hd_html_kind {
    HD_HTML_TEXT,
    HD_HTML_OPEN,
    HD_HTML_CLOSE,
    HD_HTML_ALONE, /* a tag without another: of an element that has none, a comment, a whole script */
} hd_html_kind;

typedef struct hd_html_token {
    hd_html_kind kind;
    hd_span at;   /* bytes */
    hd_span name; /* of a tag; else without bytes */
    bool block;   /* it stands between passages, not in one */
} hd_html_token;

/* The token at *at, which moves behind it; false: there is none, all is read. */
bool hd_html_scan(hd_line bytes, size_t *at, hd_html_token *to);
/* Whether the name of a token is this one, in letters of any case. */
bool hd_html_is_named(hd_line bytes, hd_span name, const char *as);

#endif
