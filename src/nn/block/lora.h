/* Low-rank adaptation (LoRA): to a weight W that stays as it is, scale * B A is added, whose two thin
   matrices are all that is learned. A [rank, in], B [out, rank]; B begins with zeros, so that nothing is
   added at first. Tensors carry the names that the package peft gives them. */
#ifndef HD_NN_BLOCK_LORA_H
#define HD_NN_BLOCK_LORA_H

#include "nn/param.h"
#include "op/op.h"

enum { HD_LORA_TARGETS = 4096, HD_LORA_MOST_RANK = 1 << 14 };

typedef struct hd_lora_opt {
    int rank;                      /* 0: none */
    double alpha;                  /* scale is alpha / rank */
    float dropout;                 /* of what A reads */
    char targets[HD_LORA_TARGETS]; /* last parts of the names of linear layers, with commas between; "all" */
    char base[16];                 /* checksum of the file of the weights that stay; "": not known */
} hd_lora_opt;

typedef struct hd_lora { /* of some rows of a weight */
    hd_param *a, *b;
    size_t row;
    float scale, dropout;
    struct hd_lora *next;
} hd_lora;

/* Freezes all parameters there are and adds the matrices for those that targets name. Before
   hd_params_ready; files hold only what was added from here on. HD_EARG where a target names none. */
hd_status hd_lora_add(hd_params *p, const hd_lora_opt *o, hd_err *err);
void hd_lora_free(hd_lora *l); /* with those behind it; accepts NULL */

/* Whether this weight, or some of its rows, is of a layer that something is added to. */
bool hd_lora_at(const hd_param *w);

/* act(x w^T + bias), with what is added to w. The one way of all linear layers that can have it. */
hd_tensor *hd_lora_linear(hd_run *r, hd_rows x, hd_param *w, hd_tensor *bias, hd_unary act);

/* Adds all of it to the weights, for good: files hold a model like any other from here on. */
hd_status hd_lora_merge(hd_params *p, hd_err *err);

#endif
