/* A Markov chain of words as what searches step through: the next word by the last one. It remembers what the
   search asked, so that the tree it went through can be drawn. */
#ifndef HD_LAB_DECODING_CHAIN_H
#define HD_LAB_DECODING_CHAIN_H

#include "decode/search.h"

enum { HD_CHAIN_WORDS = 8, HD_CHAIN_END = 0, HD_CHAIN_SEATS = 4096, HD_CHAIN_ASKED = 512 };

typedef struct hd_chain_path {
    int parent; /* -1: the beginning */
    int32_t word;
    double product;
} hd_chain_path;

typedef struct hd_chain {
    size_t words;
    double next[HD_CHAIN_WORDS][HD_CHAIN_WORDS]; /* [last][next]; of HD_CHAIN_END: the first word */
    /* of the last search */
    int seat[HD_CHAIN_SEATS]; /* what each is in `asked`; -1: there was no more room */
    int32_t last[HD_CHAIN_SEATS];
    size_t seats;
    hd_chain_path asked[HD_CHAIN_ASKED]; /* beginnings whose next words were asked for */
    size_t askeds;
} hd_chain;

/* Searches; the caller frees what was found. end and kind are as in o, which needs a limit. */
hd_status hd_chain_search(hd_found **out, hd_chain *c, hd_run *r, const hd_search_opt *o, hd_err *err);

#endif
