/* The Transformer: a stack of blocks that every model with attention is made of. It is an encoder, a decoder
   that sees what came before (causal), one that also asks a memory (cross), by options; tensors carry the
   names of a published model. */
#ifndef HD_MODEL_STACK_H
#define HD_MODEL_STACK_H

#include "nn/block/experts.h"
#include "nn/block/latent.h"
#include "nn/layer.h"
#include "nn/block/rotary.h"

/* What the tensors of a block are called behind the name of the stack and the number of the layer. */
typedef struct hd_stack_names {
    const char *layers;                    /* before the number */
    const char *self, *cross;              /* attention */
    const char *query, *key, *value, *out; /* of either */
    const char *joint;                     /* query, key and value as one tensor, of cross-attention key and
                                              value; NULL: three */
    const char *norm[3];                   /* of self, cross, feed-forward */
    const char *norm_out[3], *norm_in;     /* of their outputs, and of the feed-forward layer's input where
                                              outputs have norms; NULL: these names have none */
    const char *query_norm, *key_norm;     /* of attention; NULL: these names have none */
    const char *in, *back;                 /* of the feed-forward layer */
    const char *gated[2];                  /* of a gated one in place of `in`; NULL: there is none */
    hd_expert_names experts;               /* in place of both; experts.router NULL: there are none */
    const char *last;                      /* the norm behind all layers */
    bool transposed;                       /* files hold weights [in, out] */
    bool norm_first; /* a norm is registered before what it belongs to; sums over all parameters, such as the
                        norm of gradients, go in this order */
} hd_stack_names;

extern const hd_stack_names hd_stack_marian, hd_stack_bert, hd_stack_gpt2, hd_stack_t5_encoder,
    hd_stack_t5_decoder, hd_stack_vit, hd_stack_llama;

/* Numbers that are added to scores by how far the key is from the query: one for each head and bucket of
   distances. All layers of a stack share them. */
typedef struct hd_relative {
    size_t buckets; /* 0: none */
    int reach;      /* the distance from which all share the last bucket */
} hd_relative;

/* X(NAME, name): what the norms of queries and keys go over */
#define HD_QK_NORM_LIST(X) X(NONE, none) X(HEAD, head) X(WHOLE, whole)

#define X(NAME, name) HD_QK_NORM_##NAME,
typedef enum hd_qk_norm { HD_QK_NORM_LIST(X) HD_QK_NORMS } hd_qk_norm;
#undef X

extern const char *const hd_qk_norm_names[HD_QK_NORMS + 1]; /* ends with NULL */

typedef struct hd_stack_opt {
    int layers, heads;
    int kv_heads;        /* of keys and values, each shared by heads / kv_heads queries; 0: as heads */
    size_t width, inner; /* d_model, feed-forward */
    size_t head_width;   /* 0: width / heads */
    bool pre_norm;
    bool plain;           /* as in the lectures: no bias in attention, no gain and bias in norms */
    bool unbiased;        /* no bias anywhere */
    bool unbiased_qkv;    /* no bias of queries, keys and values */
    bool unbiased_keys;   /* ... of keys alone */
    bool unbiased_out;    /* ... of what attention gives */
    bool unbiased_inner;  /* ... of the feed-forward layer */
    bool rms;             /* norms by the root of the mean square, with a gain alone */
    bool unit_gain;       /* gains of norms are how much more than 1 they are */
    bool output_norms;    /* sublayers have a norm on their output, too. Pre-norm */
    hd_qk_norm qk_norm;   /* RMS norms of queries and keys, before the rotation */
    bool unscaled_scores; /* not divided by sqrt(columns of a head) */
    float query_scale;    /* of scores; 0: 1 / sqrt(columns of a head) */
    float score_cap;      /* scores are cap * tanh(score / cap); 0: as they are */
    bool gated;           /* the feed-forward layer has a gate */
    hd_rotary rotary;     /* of self-attention */
    double local_theta; /* of the rotation in layers with a window, which is not scaled then; 0: as others */
    int window;         /* tokens that self-attention sees, its own included; 0: all. Causal */
    int window_every;   /* every so many layers sees all; 0: none does */
    int window_from;    /* layers before it see all */
    hd_experts_opt experts; /* in place of the feed-forward layer */
    hd_latent_opt latent;   /* in place of self-attention's keys and values */
    hd_relative relative;   /* of self-attention */
    int relative_span;      /* vectors of distances in self-attention, for each layer and head; farther ones
                               share the last; 0: none. Causal */
    int local_block; /* self-attention by blocks: rows see their own and the one before; 0: all. Causal */
    bool causal;     /* a row sees itself and what came before in its item */
    bool cross;      /* blocks ask a memory, too */
    float eps;
    hd_unary act;
    float dropout, attention_dropout, inner_dropout; /* of branches; of weights; of the hidden layer */
    float drop_path;  /* stochastic depth: rate of the last layer's branches, linear from 0 of the first */
    bool recompute;   /* keep no activations inside blocks */
    hd_init init;     /* of weights; zeros: Xavier's */
    const char *name; /* "model.encoder" or "", borrowed for the making */
    const hd_stack_names *names; /* NULL: MarianMT's */
} hd_stack_opt;

typedef struct hd_stack {
    hd_stack_opt opt;
    hd_block *block;
    hd_norm_layer last;    /* after pre-norm blocks */
    hd_rotation *rotation; /* [2]: of layers that see all, of those with a window; NULL: none */
} hd_stack;

/* Whether a layer sees no more than the window. */
bool hd_stack_windowed(const hd_stack_opt *o, int layer);

/* Whether the options of attention and norms fit. */
hd_status hd_stack_check(const hd_stack_opt *o, hd_err *err);

hd_status hd_stack_make(hd_stack *out, hd_params *p, const hd_stack_opt *opt, hd_err *err);
void hd_stack_release(hd_stack *s); /* accepts {0} */

/* The kinds of its slots in a cache: a GROW one a layer, and behind it a FIXED one where blocks ask a memory;
   returns how many (kinds may be NULL). */
size_t hd_stack_slots(const hd_stack *s, hd_slot_kind *kinds);
/* slot: NULL, or the first of them. Memory is not read once they hold it. */
hd_rows hd_stack_of(hd_run *r, const hd_stack *s, hd_rows x, hd_rows memory, hd_slot *slot);
/* Fills the FIXED ones alone, before the first rows come; whether it can. */
bool hd_stack_fills(const hd_stack *s);
bool hd_stack_fill(hd_run *r, const hd_stack *s, hd_rows memory, hd_slot *slot);
/* What the first blocks give, 1 to all of them, of a stack without a memory; the norm after pre-norm blocks
   comes behind all alone. The others are not run. */
hd_rows hd_stack_rows_at_layer(hd_run *r, const hd_stack *s, int layers, hd_rows x);

/* What all blocks make of the first row of each item: the last one reads the others for keys and values
   alone. one: segments of a row for each item. Pre-norm blocks without a memory that keep their activations.
 */
hd_rows hd_stack_first(hd_run *r, const hd_stack *s, hd_rows x, const hd_seg *one);

/* What blocks first .. first + count-1 make of x where attention has places, which all of them share; neither
   causal nor cached. */
hd_rows hd_stack_placed(hd_run *r, const hd_stack *s, int first, int count, hd_rows x, hd_rows memory,
                        const hd_places *places);

/* Multiply-adds times two of the matrix products of one forward pass over items of equal length that ask
   memories of equal length. */
double hd_stack_flops(const hd_stack_opt *o, double items, double length, double memory);

#endif
