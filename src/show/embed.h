/* Lines as vectors: the rows a model makes of them, each pooled to one or as they are. What a line gives
   depends neither on the others nor on the number of threads.

   Of a translator they are the rows of its encoder, one for each token of the line and one for its end. Of a
   language model they are the states of its last layer after each token of the line; the start token is read
   first and has no row of its own. Of a masked language model they are the rows of its last block, one for
   the start, each token and the end: the first is that of the start. Of a classifier they are the rows of its
   body for the same, whatever that is; of a tagger for each token. Those of an earlier layer are what it
   hands to the next; of the table of token vectors each token has the one it has everywhere. */
#ifndef HD_SHOW_EMBED_H
#define HD_SHOW_EMBED_H

#include "base/arena.h"
#include "data/image/image.h"
#include "task/model_folder.h"

typedef struct hd_embed_opt {
    hd_pooling pool;
    bool normalize; /* every vector to length 1; one of zeros stays */
    bool cut;       /* cut lines that are too long, keeping the end token; otherwise they have no vector */
    size_t rows;    /* in a batch, about; 0: HD_EMBED_ROWS */
    int layer;      /* whose rows they are, 1 to hd_embed_layers; 0: the last one's */
    bool table;     /* the rows of the embedding table instead */
} hd_embed_opt;

enum { HD_EMBED_ROWS = 4096 };

typedef struct hd_embedded {
    hd_status status; /* HD_OK, or why there is no vector; `why` is the text, constant */
    const char *why;
    const int32_t *ids; /* [tokens] that have a row */
    size_t tokens;      /* 0: an empty line has no vector */
    size_t vectors;     /* 1, or as many as tokens */
    hd_real *vector;    /* [vectors, width] */
} hd_embedded;

typedef struct hd_embeddings {
    hd_embedded *of; /* [count], in the order of the lines */
    size_t count, width;
    hd_ids ids;      /* of all lines */
    hd_arena memory; /* of everything else */
} hd_embeddings;

/* HD_EARG if the model has no such rows: n-grams, and models with a fixed window. HD_ELIMIT if it has rows
   but not this layer, or no pooler. */
hd_status hd_embed_check(const hd_model_folder *m, const hd_embed_opt *opt, hd_err *err);

/* Lines without a vector (not UTF-8, a NUL, too long and not cut) have their own status; the call fails
   only if memory runs out or the like. */
hd_status hd_embed_lines(hd_embeddings *out, hd_run *r, const hd_model_folder *m, const hd_line *line,
                         size_t count, const hd_embed_opt *opt, hd_err *err);
/* The same of one picture, as it was decoded; its rows have no ids. */
hd_status hd_embed_picture(hd_embeddings *out, hd_run *r, const hd_model_folder *m, const hd_image *picture,
                           const hd_embed_opt *opt, hd_err *err);
void hd_embeddings_release(hd_embeddings *e); /* accepts {0} */

#endif
