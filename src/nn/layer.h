/* Layers: parameters and a forward function over rows. Names of parameters in files are given by the model,
   which follows the nearest Hugging Face model. Every forward works for training (tape, no cache) and
   decoding (cache, no tape). */
#ifndef HD_NN_LAYER_H
#define HD_NN_LAYER_H

#include "nn/cache/cache.h"
#include "nn/param.h"
#include "op/op.h"

/* y = act(x w^T + b) */
typedef struct hd_dense {
    hd_param *w, *b;
} hd_dense;

typedef struct hd_dense_opt {
    hd_init init; /* of the weight */
    bool no_bias, transposed;
} hd_dense_opt;

hd_dense hd_dense_make(hd_params *p, size_t in, size_t out, const hd_dense_opt *o, const char *name);
/* Two of them as one product, with the rows of the second behind those of the first. */
hd_dense hd_dense_pair(hd_params *p, size_t in, size_t out, const hd_dense_opt *o, const char *const name[2]);
hd_tensor *hd_dense_of(hd_run *r, const hd_dense *d, hd_tensor *x, hd_unary act);
/* The same of a layer that LoRA may have added to (nn/block/lora.h). */
hd_tensor *hd_dense_rows(hd_run *r, const hd_dense *d, hd_rows x, hd_unary act);

typedef struct hd_norm_layer {
    hd_param *gain, *bias; /* both NULL: plain standardization */
    float eps;
    bool rms;
    bool from_one; /* the gain is how much more than 1 it is */
} hd_norm_layer;

typedef enum hd_affine { HD_AFFINE, HD_GAIN_ONLY, HD_GAIN_FROM_ONE, HD_PLAIN } hd_affine;
hd_norm_layer hd_norm_make(hd_params *p, size_t width, float eps, bool rms, hd_affine affine,
                           const char *name);
hd_rows hd_norm_of(hd_run *r, const hd_norm_layer *n, hd_rows x);

/* Multi-head attention. q, k and v are one parameter in memory; heads*head_width need not be the width. */
typedef struct hd_mha {
    hd_param *qkv, *qkv_bias;                         /* [(H+2Hk)D, C] */
    hd_param *q, *q_bias, *kv, *kv_bias;              /* its parts for cross-attention */
    hd_param *qk, *qk_bias, *k, *k_bias, *v, *v_bias; /* and where positions are added to q and k alone */
    hd_dense out;
    int heads, kv_heads;
    size_t head_width;
    float dropout;
    bool no_key_bias;                   /* that part of qkv_bias stays 0 */
    hd_attend_opt extra;                /* score, biases, gates and window, if used */
    hd_norm_layer query_norm, key_norm; /* of each head, or where the gain is that wide of all together;
                                           without a gain: none */
    const hd_rotation *rotation;        /* of queries and keys in self-attention; NULL: none. Borrowed */
} hd_mha;

typedef struct hd_mha_opt {
    size_t width, head_width;  /* head_width 0: width / heads */
    int heads, kv_heads;       /* kv_heads 0: as heads */
    bool no_bias, no_qkv_bias; /* anywhere; of q, k and v where files have three tensors */
    bool no_key_bias;          /* of k alone, where files have three tensors */
    bool no_out_bias;
    float dropout;
    hd_init init;
    const char *name, *query, *key, *value, *out; /* "model.encoder.layers.0.self_attn", "q_proj", ... */
    const char *joint; /* q, k and v are one tensor in files; NULL: they are three */
    bool cross;        /* for cross-attention alone: `joint` has k and v, q is `query` */
    bool transposed;   /* files hold `joint` and `out` as [in, out] */
} hd_mha_opt;

hd_mha hd_mha_make(hd_params *p, const hd_mha_opt *o);
/* memory.t == x.t: self-attention. A GROW slot takes the new keys and values in; a FIXED slot is filled on
 * first use and then memory is not read. */
hd_rows hd_mha_of(hd_run *r, const hd_mha *m, hd_rows x, hd_rows memory, hd_mask mask, hd_slot *slot);
/* Fills a FIXED slot with what hd_mha_of would on first use, before anyone asks; not for attention with norms
   of queries and keys, which reads its memory again each time (hd_stack_fills). False after a failure. */
bool hd_mha_fill(hd_run *r, const hd_mha *m, hd_rows memory, hd_slot *slot);

/* Groups of rows that do not see all that their item has: segments of their own over copies of what they see,
   or, the same as a mask, scores that are added. */
typedef struct hd_sight {
    const int32_t *rows;          /* [of asked] what groups see, group after group; NULL: there are none */
    const hd_seg *asking, *asked; /* the groups, and what they see in `rows` */
    hd_tensor *mask;              /* in their place: [sum Tq*Tk, H]; NULL: none */
} hd_sight;

/* What attention reads beside rows: positions that are added to what asks and to what is asked but not to
   values, and who sees what. */
typedef struct hd_places {
    hd_tensor *query, *memory; /* [R, C] of the rows and of the memory; NULL: none */
    hd_sight self, cross;
} hd_places;

/* As hd_mha_of, with places; there is no cache. q, k and v must be three tensors in files. */
hd_rows hd_mha_placed(hd_run *r, const hd_mha *m, hd_rows x, hd_rows memory, const hd_places *p);

/* out(act(in x)), with a gate out(act(in x) * (gate x)). */
typedef struct hd_ffn {
    hd_dense in, out; /* gated: `in` has the rows of the gate behind its own */
    bool gated;
    hd_unary act;
    float dropout; /* on the hidden layer */
} hd_ffn;

hd_rows hd_ffn_of(hd_run *r, const hd_ffn *f, hd_rows x);

/* The residual stream through sublayers. Post-norm: x = norm(x + f(x)). Pre-norm: x = x + f(norm(x)); the
   add is delayed to the next norm, so that both are one pass. */
typedef struct hd_stream {
    hd_rows x;
    hd_tensor *pending; /* pre-norm: branch not yet added */
    bool pre;
    float dropout;           /* of branches */
    float drop_path, late;   /* their stochastic depth; that of the pending one */
    const hd_places *places; /* of attention; NULL: none */
    int32_t *load;           /* of experts, for their balance loss; NULL: none */
} hd_stream;

hd_rows hd_stream_in(hd_run *r, hd_stream *s, const hd_norm_layer *n); /* the input of the sublayer */
void hd_stream_out(hd_run *r, hd_stream *s, const hd_norm_layer *n, hd_rows branch); /* its output */
hd_rows hd_stream_end(hd_run *r, hd_stream *s,
                      const hd_norm_layer *last); /* last: norm after a pre-norm stack, or NULL */

/* Transformer block: self-attention, cross-attention if it has one, feed-forward. */
typedef struct hd_block {
    hd_mha self, cross;
    struct hd_latent *latent; /* in place of self (nn/block/latent.h); NULL: none */
    hd_ffn ffn;
    struct hd_experts *experts; /* in its place (nn/block/experts.h); NULL: none */
    hd_norm_layer norm[3];      /* of self, cross, ffn */
    hd_norm_layer norm_out[3];  /* of what they give, before it is added; without a gain: none */
    bool has_cross;
} hd_block;

void hd_block_of(hd_run *r, const hd_block *b, hd_stream *s, hd_rows memory, hd_mask mask, hd_slot *self,
                 hd_slot *cross);

#endif
