/* Multi-head latent attention: keys and values of all heads come from one short vector of a row, which is all
   that a cache keeps, beside one rotated key that all heads share. */
#ifndef HD_NN_BLOCK_LATENT_H
#define HD_NN_BLOCK_LATENT_H

#include <stddef.h>

typedef struct hd_latent_opt {
    size_t rank;                  /* columns of the vector; 0: no latent attention */
    size_t query_rank;            /* of one that queries come from; 0: straight from the row */
    size_t plain, rotated, value; /* columns of a head: of queries and keys without and with rotation, of
                                     values */
} hd_latent_opt;

#endif
