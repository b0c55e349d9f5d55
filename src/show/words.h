/* Words as vectors: neighbors of a word among the token vectors, and how alike its vectors are in several
   sentences. */
#ifndef HD_SHOW_WORDS_H
#define HD_SHOW_WORDS_H

#include "show/embed.h"

/* Neighbors in the table of token vectors: the pieces whose vectors have the largest cosine with that of a
   word, or of a sum of words ("king - man + woman"). A table has only the pieces of its tokenizer: the vector
   of a word of several pieces is their mean, and an answer is always one piece. */

enum { HD_TERMS_MOST = 16 };

typedef struct hd_term {
    hd_line word; /* not terminated */
    bool minus;
} hd_term;

typedef struct hd_terms {
    hd_term at[HD_TERMS_MOST];
    size_t count;
} hd_terms;

/* Words with a + or - before each but the first, separated by spaces. They point into `text`. */
hd_status hd_terms_read(hd_terms *out, const char *text, hd_err *err);

typedef struct hd_neighbor {
    int32_t id;
    double cosine;
} hd_neighbor;

typedef struct hd_neighbors {
    hd_neighbor *at; /* the nearest first, of equals the smaller id; to be freed with hd_neighbors_release */
    size_t count;    /* as many as requested, or all */
} hd_neighbors;

/* Without specials and pieces of the words themselves. HD_EARG if the model has no table, the vocabulary
   no piece for a word, or the sum no direction. */
hd_status hd_neighbors_find(hd_neighbors *out, const hd_model_folder *m, const hd_terms *of, size_t top,
                            hd_err *err);
void hd_neighbors_release(hd_neighbors *n); /* accepts {0} */

/* How alike the vectors of one word are in several sentences. The word is found as a whole,
   with the case folding of the tokenizer; if it has several pieces its vector is the mean of their rows.
   Every occurrence counts. */

enum { HD_SIMILAR_MOST = 1000 }; /* places of a word */

typedef struct hd_place {
    size_t line;       /* its number, from 1 */
    const char *text;  /* all of it */
    size_t begin, end; /* the bytes of the word */
} hd_place;

typedef struct hd_similar {
    const char *word; /* borrowed */
    hd_place *at;     /* [count] */
    double *vector;   /* [count, width], each 1 long or all zeros */
    size_t count, width;
    size_t room, numbers; /* of at, of vector */
    hd_arena memory;      /* of the texts */
} hd_similar;

void hd_similar_init(hd_similar *s, const char *word);
void hd_similar_release(hd_similar *s); /* accepts {0} */

/* Adds the places of the word in these lines; `before` lines were read before. opt has the layer. why[i]
   becomes NULL, or the reason why line i has no place. HD_ELIMIT if there are too many. */
hd_status hd_similar_add(hd_similar *s, hd_run *r, const hd_model_folder *m, const hd_line *line,
                         size_t count, size_t before, const hd_embed_opt *opt, const char **why, hd_err *err);

double hd_similar_cosine(const hd_similar *s, size_t i, size_t k);

#endif
