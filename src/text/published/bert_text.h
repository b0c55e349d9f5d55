/* Text as BERT normalizes it, and where each byte of it comes from. */
#ifndef HD_TEXT_PUBLISHED_BERT_TEXT_H
#define HD_TEXT_PUBLISHED_BERT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

typedef struct hd_bert_rules {
    bool clean;    /* controls go, every white space is U+0020 */
    bool chinese;  /* spaces around CJK ideographs */
    bool unaccent; /* decompose (NFD), drop accents */
    bool lower;
} hd_bert_rules;

typedef struct hd_bert_text {
    hd_text text;
    struct hd_origin {
        uint32_t begin, end; /* of the character of the original, in bytes */
    } * from;                /* [text.size] */
    size_t room;
} hd_bert_text;

void hd_bert_text_release(hd_bert_text *t); /* accepts {0} */

/* Replaces what is in t. What is not UTF-8 becomes U+FFFD, which `clean` drops. */
hd_status hd_bert_text_set(hd_bert_text *t, const hd_bert_rules *r, const char *text, size_t size,
                           hd_err *err);

#endif
