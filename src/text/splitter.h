/* Sentences of a line of running text, in any language: decided by end marks, the text after them, and
   lists of abbreviations of European languages. Text that is already tokenized ("He sleeps . She wakes .")
   and text without capitals are recognized as such. Everything that is not white space between two sentences
   belongs to one of them. */
#ifndef HD_TEXT_SPLITTER_H
#define HD_TEXT_SPLITTER_H

#include <stdbool.h>

#include "base/file/lines.h"

typedef struct hd_splitter {
    hd_line text; /* borrowed */
    size_t at;    /* the bytes before it were returned */
    bool plain;   /* no capital letter anywhere: a lowercase letter may begin a sentence */
    bool spaced;  /* marks are separated by spaces, as tokenizers leave them */
} hd_splitter;

hd_splitter hd_splitter_of(hd_line text);

/* The next sentence, without the white space around it; false: there is none. Sentences come in order, in
   linear time. Any bytes are accepted. */
bool hd_splitter_next(hd_splitter *s, hd_line *sentence);

#endif
