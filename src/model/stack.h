/* A stack of Transformer blocks, of an encoder or a decoder. Tensors carry the names of a published model. */
#ifndef HD_MODEL_STACK_H
#define HD_MODEL_STACK_H

#include "nn/layer.h"

/* What the tensors of a block are called behind the name of the stack and the number of the layer. */
typedef struct hd_stack_names {
    const char *layers;                    /* before the number */
    const char *self, *cross;              /* attention */
    const char *query, *key, *value, *out; /* of either */
    const char *norm[3];                   /* of self, cross, feed-forward */
    const char *in, *back;                 /* of the feed-forward layer */
    const char *gated[2];                  /* of a gated one in place of `in`; NULL: there is none */
    const char *last;                      /* the norm behind all layers */
} hd_stack_names;

extern const hd_stack_names hd_stack_marian, hd_stack_bert, hd_stack_t5_encoder, hd_stack_t5_decoder;

/* Numbers that are added to scores by how far the key is from the query: one for each head and bucket of
   distances. All layers of a stack share them. */
typedef struct hd_relative {
    size_t buckets; /* 0: none */
    int reach;      /* the distance from which all share the last bucket */
} hd_relative;

typedef struct hd_stack_opt {
    int layers, heads;
    size_t width, inner; /* d_model, feed-forward */
    size_t head_width;   /* 0: width / heads */
    bool pre_norm;
    bool plain;           /* no bias in attention, no gain and bias in norms */
    bool unbiased;        /* no bias anywhere */
    bool rms;             /* norms by the root of the mean square, with a gain alone */
    bool unscaled_scores; /* not divided by sqrt(columns of a head) */
    bool gated;           /* the feed-forward layer has a gate */
    hd_relative relative; /* of self-attention */
    bool cross;           /* a decoder's: it sees what came before and asks the memory */
    float eps;
    hd_unary act;
    float dropout, attention_dropout, inner_dropout; /* of branches; of weights; of the hidden layer */
    bool recompute;                                  /* keep no activations inside blocks */
    const char *name;                                /* "model.encoder", borrowed for the making */
    const hd_stack_names *names;                     /* NULL: MarianMT's */
} hd_stack_opt;

typedef struct hd_stack {
    hd_stack_opt opt;
    hd_block *block;
    hd_norm_layer last; /* after pre-norm blocks */
} hd_stack;

/* Columns of all heads together. */
size_t hd_stack_attention_width(const hd_stack_opt *o);

hd_status hd_stack_make(hd_stack *out, hd_params *p, const hd_stack_opt *opt, hd_err *err);
void hd_stack_release(hd_stack *s); /* accepts {0} */

/* slot: NULL, or the first of HD_STACK_SLOTS a layer, GROW and FIXED by turns. Memory is not read once the
   slots hold it. */
enum { HD_STACK_SLOTS = 2 };
hd_rows hd_stack_of(hd_run *r, const hd_stack *s, hd_rows x, hd_rows memory, hd_slot *slot);
/* What an encoder's first blocks give, 1 to all of them; the norm after pre-norm blocks comes behind all
   alone. The others are not run. */
hd_rows hd_stack_behind(hd_run *r, const hd_stack *s, int layers, hd_rows x);

#endif
