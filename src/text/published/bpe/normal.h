/* What is done to a text before it is cut: normalizers of tokenizer.json, and the part of its pre-tokenizer
   Metaspace that changes the text. Every byte of the result knows where in the text it comes from. */
#ifndef HD_TEXT_PUBLISHED_BPE_NORMAL_H
#define HD_TEXT_PUBLISHED_BPE_NORMAL_H

#include "text/published/tokenizer_json.h"

enum { HD_NORMAL_MOST = 8, HD_NORMAL_BYTES = 16 };

typedef enum hd_normal_kind {
    HD_NORMAL_NFC,
    HD_NORMAL_PREPEND, /* `to` in front of what follows a token of the raw text, or the beginning */
    HD_NORMAL_REPLACE, /* `from` by `to` */
    HD_NORMAL_FIRST,   /* `to` in front of the text, unless it begins so */
    HD_NORMAL_ALWAYS,  /* ... in front of what follows any token, too */
} hd_normal_kind;

typedef struct hd_normal {
    struct {
        hd_normal_kind kind;
        char from[HD_NORMAL_BYTES], to[HD_NORMAL_BYTES];
    } step[HD_NORMAL_MOST];
    int count;
} hd_normal;

/* Adds a step; the texts have less than HD_NORMAL_BYTES bytes. */
hd_status hd_normal_add(hd_normal *n, const hd_tokenizer_json *j, hd_normal_kind kind, const char *from,
                        const char *to);
/* The steps of "normalizer". */
hd_status hd_normal_read(hd_normal *n, const hd_tokenizer_json *j);

/* Memory that is reused; {0} is empty. */
typedef struct hd_normalized {
    hd_text text;
    uint32_t *from; /* [text.size + 1] bytes of the original in front of each byte of the text */
    size_t room;
    hd_text next; /* of the next step */
    uint32_t *next_from;
    size_t next_room;
} hd_normalized;

void hd_normalized_release(hd_normalized *n);

/* size > 0. first: it is the beginning of a text; lead: in front of it is a token of the raw text, or
 * nothing.
 */
hd_status hd_normal_apply(const hd_normal *n, const char *text, size_t size, bool first, bool lead,
                          hd_normalized *out, hd_err *err);

#endif
