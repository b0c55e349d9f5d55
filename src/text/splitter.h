/* Sentences of a line of running text, in whatever language: a mark that ends a sentence and what follows it
   decide, and lists of abbreviations of European languages. Text that was tokenized before ("He sleeps . She
   wakes .") and text without capitals are recognized as such. Everything that is not white space between two
   sentences belongs to one of them. */
#ifndef HD_TEXT_SPLITTER_H
#define HD_TEXT_SPLITTER_H

#include <stdbool.h>

#include "base/file/lines.h"

typedef struct hd_splitter {
    hd_line text; /* borrowed */
    size_t at;    /* the bytes before it were handed out */
    bool plain;   /* no capital letter anywhere: a small letter may begin a sentence */
    bool spaced;  /* marks stand alone, as tokenizers leave them */
} hd_splitter;

hd_splitter hd_splitter_of(hd_line text);

/* The next sentence, without the white space around it; false: there is none. Sentences come in order; time
   grows with the bytes alone. Any bytes are a text. */
bool hd_splitter_next(hd_splitter *s, hd_line *sentence);

#endif
