/* Words of one segment, and their numbers: a word of a reference is worth knowing only where the hypothesis
   has it too. */
#ifndef HD_METRIC_CORPUS_WORD_H
#define HD_METRIC_CORPUS_WORD_H

#include "metric/corpus/runes.h"

#define HD_NO_SYMBOL UINT32_MAX /* number of a word that the hypothesis does not have */

typedef struct hd_word {
    const uint32_t *at; /* into the text it was cut from */
    size_t count;
} hd_word;

typedef struct hd_word_list {
    hd_word *word;
    uint32_t *number; /* [count] once numbered */
    size_t count, room, number_room;
} hd_word_list;

/* {0} is an empty list. */
void hd_word_list_release(hd_word_list *l);
hd_status hd_word_add(hd_word_list *l, const uint32_t *at, size_t count, hd_err *err);

/* Cuts text at whitespace, as Python's split(). The text must outlive the list and stay where it is. */
hd_status hd_word_split(hd_word_list *l, const hd_runes *text, hd_err *err);

/* The distinct words of a hypothesis. */
typedef struct hd_word_book {
    struct hd_word_entry *slot;
    size_t slots, room;
} hd_word_book;

void hd_word_book_release(hd_word_book *b);

/* Numbers the words of the hypothesis from 0; the list must outlive the next calls of hd_word_find. */
hd_status hd_word_number(hd_word_book *b, hd_word_list *hyp, hd_err *err);
hd_status hd_word_find(const hd_word_book *b, hd_word_list *ref, hd_err *err);

#endif
