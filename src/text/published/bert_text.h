/* Text as BERT normalizes it, and the origin of each of its bytes. */
#ifndef HD_TEXT_PUBLISHED_BERT_TEXT_H
#define HD_TEXT_PUBLISHED_BERT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

typedef struct hd_bert_rules {
    bool clean;    /* removes control characters, and makes all white space U+0020 */
    bool chinese;  /* spaces around CJK ideographs */
    bool unaccent; /* decompose (NFD), drop accents */
    bool lower;
} hd_bert_rules;

typedef struct hd_bert_text {
    hd_text text;
    struct hd_origin {
        uint32_t begin, end; /* of the original character, in bytes */
    } * from;                /* [text.size] */
    size_t room;
} hd_bert_text;

void hd_bert_text_release(hd_bert_text *t); /* accepts {0} */

/* Replaces the contents of t. Invalid UTF-8 becomes U+FFFD, which `clean` drops. */
hd_status hd_bert_text_set(hd_bert_text *t, const hd_bert_rules *r, const char *text, size_t size,
                           hd_err *err);

#endif
