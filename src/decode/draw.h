/* Tokens drawn by their probability: of search, of generation, of whoever samples. A draw depends on the
   seed, the number of the text, that of the sample and which token it is, and on nothing beside it. */
#ifndef HD_DECODE_DRAW_H
#define HD_DECODE_DRAW_H

#include "op/op.h"

typedef struct hd_draw_opt {
    float temperature; /* 1: the model's own probabilities; 0: always the likeliest token */
    size_t top_k;      /* 0: all */
    float top_p;       /* 0: all */
    float min_p;       /* least probability, as a share of the likeliest token's; 0: any */
    uint64_t seed;
    const bool *banned;               /* [vocab], or NULL: tokens never to be drawn */
    const hd_columns *const *columns; /* of the rows of scores, or NULL: a column is a token */
    int32_t end; /* banned too while a text would be shorter than min_length with it; -1: none */
    size_t min_length;
} hd_draw_opt;

typedef struct hd_lot { /* one draw */
    int32_t row;        /* of the scores */
    int32_t key;        /* number of the text */
    int32_t sample;     /* and of the sample */
    uint32_t number;    /* which token of it, from 1 */
} hd_lot;

/* token[i] = the column that lot i gives. scores [rows, vocab]: logits or log-probabilities. False after a
   failure, which stays in the run. Where nothing is allowed, any token is drawn. */
bool hd_draw_tokens(hd_run *r, hd_tensor *scores, const hd_lot *lot, size_t n, const hd_draw_opt *o,
                    int32_t *token);

#endif
