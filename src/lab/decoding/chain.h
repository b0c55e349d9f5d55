/* A Markov chain of words as what searches step through: the next word by the last one. It remembers what the
   search asked, so that the tree it went through can be drawn. */
#ifndef HD_LAB_DECODING_CHAIN_H
#define HD_LAB_DECODING_CHAIN_H

#include "decode/search.h"
#include "view/paper/paper.h"

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

/* The lecture's two examples, with what a beam of 1, 2 and 3 holds when it stops, and the four best of all.
 */
enum { HD_CHAIN_EXAMPLES = 2, HD_CHAIN_BEAMS = 3, HD_CHAIN_BEST = 4 };
typedef struct hd_chain_sentence {
    int32_t ids[3];
    size_t length;
    double product;
} hd_chain_sentence;
extern const char *const hd_chain_names[4]; /* of words */
extern const struct hd_chain_example {
    const char *name, *title;
    size_t words;
    double next[4][4]; /* the first row: after <sos> */
    hd_chain_sentence beam[HD_CHAIN_BEAMS][HD_CHAIN_BEAMS], all[HD_CHAIN_BEST];
} hd_chain_examples[HD_CHAIN_EXAMPLES];
void hd_chain_begin(hd_chain *c, const struct hd_chain_example *x);

/* How the lecture searches: a beam of that width, 0: greedily, -1: the whole tree; sentences of at most so
   many words. The search ends when the best of the beam has. */
hd_search_opt hd_chain_options(int beam, size_t limit);
/* Searches; the caller frees what was found. end and kind are as in o, which needs a limit. */
hd_status hd_chain_search(hd_found **out, hd_chain *c, hd_run *r, const hd_search_opt *o, hd_err *err);

/* The tree that the last search went through, with what it found: products of the words up to each. */
enum { HD_CHAIN_TWIGS = 128 };
void hd_chain_tree(hd_paper *to, const hd_chain *c, const hd_found *f, const char *title, const char *how);

#endif
