/* Multi-head latent attention: keys and values of all heads come from one short vector of a row, which is all
   that a cache keeps, beside one rotated key that all heads share. */
#ifndef HD_NN_BLOCK_LATENT_H
#define HD_NN_BLOCK_LATENT_H

#include "nn/layer.h"

typedef struct hd_latent_opt {
    size_t rank;                  /* columns of the vector; 0: no latent attention */
    size_t query_rank;            /* of one that queries come from; 0: straight from the row */
    size_t plain, rotated, value; /* columns of a head: of queries and keys without and with rotation, of
                                     values */
} hd_latent_opt;

typedef struct hd_latent {
    hd_latent_shape shape;
    hd_param *query_in, *query; /* query_in NULL: queries come straight from the row */
    hd_param *keys_in, *keys;   /* to the vector and the shared key; from it to keys and values of heads */
    hd_param *head_keys, *head_values; /* rows of `keys`: of the first head; head_keys NULL: it has none */
    hd_norm_layer query_norm, norm;
    hd_dense out;
    float dropout;
    hd_attend_opt extra;                              /* scale, cap and window */
    const hd_rotation *query_rotation, *key_rotation; /* borrowed; NULL: none */
} hd_latent;

/* Whether sizes fit each other. */
hd_status hd_latent_check(const hd_latent_opt *o, hd_err *err);
/* NULL on failure, which is in p->err. name: that of the attention, before those of its tensors. */
hd_latent *hd_latent_make(hd_params *p, const hd_latent_opt *o, size_t width, int heads, hd_init init,
                          const char *name);
void hd_latent_free(hd_latent *m); /* accepts NULL */

/* Self-attention. Many rows are expanded to keys and values of all heads; single rows ask a cache as it is:
   the products that would expand it are taken in by queries and outputs. */
hd_rows hd_latent_of(hd_run *r, const hd_latent *m, hd_rows x, hd_mask mask, hd_slot *slot);

/* Multiply-adds times two of one row's products, and with each row that it sees. */
double hd_latent_flops(const hd_latent_opt *o, size_t width, int heads);
double hd_latent_score_flops(const hd_latent_opt *o, int heads);

#endif
