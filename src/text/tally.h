/* Counts of what a tokenizer had no piece for, while texts are encoded, from any number of threads. */
#ifndef HD_TEXT_TALLY_H
#define HD_TEXT_TALLY_H

#include <stdbool.h>
#include <stddef.h>

enum { HD_UNKNOWN_WORDS = 3, HD_UNKNOWN_ROOM = 40 };

typedef struct hd_unknown {
    size_t tokens, unknown;                       /* encoded so far, and <unk> among them */
    char word[HD_UNKNOWN_WORDS][HD_UNKNOWN_ROOM]; /* the first distinct words they stand for; cut to fit */
    size_t words;
} hd_unknown;

typedef struct hd_tally hd_tally;

hd_tally *hd_tally_new(void);    /* NULL: no memory */
void hd_tally_free(hd_tally *t); /* accepts NULL */
void hd_tally_add(hd_tally *t, size_t tokens, size_t unknown);
bool hd_tally_wants_words(hd_tally *t);
void hd_tally_add_word(hd_tally *t, const char *text, size_t size);
hd_unknown hd_tally_of(hd_tally *t);

#endif
