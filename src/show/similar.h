/* How alike the vectors of one word are in several sentences. The word is found as a whole, letter case and
   the like folded the way the tokenizer folds them; where it has several pieces its vector is the mean of
   their rows. Every time it stands somewhere counts. */
#ifndef HD_SHOW_SIMILAR_H
#define HD_SHOW_SIMILAR_H

#include "show/embed.h"

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
    size_t count, room, width;
    hd_arena memory; /* of the texts */
} hd_similar;

void hd_similar_init(hd_similar *s, const char *word);
void hd_similar_release(hd_similar *s); /* accepts {0} */

/* Adds the places of the word in these lines, of which `before` were read already. opt says the layer.
   why[i] becomes NULL, or why line i has no place. HD_ELIMIT where there are too many. */
hd_status hd_similar_add(hd_similar *s, hd_run *r, const hd_model_folder *m, const hd_line *line,
                         size_t count, size_t before, const hd_embed_opt *opt, const char **why, hd_err *err);

double hd_similar_cosine(const hd_similar *s, size_t i, size_t k);

#endif
