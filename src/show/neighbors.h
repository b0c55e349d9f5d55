/* Neighbors in the table of token vectors: the pieces whose vectors point most nearly where that of a word
   points, or a sum of words ("king - man + woman"). A table knows the pieces of its tokenizer and nothing
   else: the vector of a word of several pieces is their mean, and an answer is always one piece. */
#ifndef HD_SHOW_NEIGHBORS_H
#define HD_SHOW_NEIGHBORS_H

#include "task/model_folder.h"

enum { HD_TERMS_MOST = 16 };

typedef struct hd_term {
    hd_line word; /* no zero byte need stand behind it */
    bool minus;
} hd_term;

typedef struct hd_terms {
    hd_term at[HD_TERMS_MOST];
    size_t count;
} hd_terms;

/* Words with a + or - before each but the first, all of them apart by blanks. They stay in `text`. */
hd_status hd_terms_read(hd_terms *out, const char *text, hd_err *err);

typedef struct hd_neighbor {
    int32_t id;
    double cosine;
} hd_neighbor;

typedef struct hd_neighbors {
    hd_neighbor *at; /* the nearest first, of equals the smaller id; to be freed with hd_neighbors_release */
    size_t count;    /* as many as asked for, or all there are */
} hd_neighbors;

/* Neither specials nor pieces of the words themselves are among them. HD_EARG where the model has no table,
   the vocabulary no piece for a word, or the sum no direction. */
hd_status hd_neighbors_find(hd_neighbors *out, const hd_model_folder *m, const hd_terms *of, size_t top,
                            hd_err *err);
void hd_neighbors_release(hd_neighbors *n); /* accepts {0} */

#endif
