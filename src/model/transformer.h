/* The encoder-decoder Transformer of "Attention Is All You Need". Tensors carry MarianMT's names. One forward
 * serves training (tape, no cache) and decoding (cache, no tape). */
#ifndef HD_MODEL_TRANSFORMER_H
#define HD_MODEL_TRANSFORMER_H

#include "nn/layer.h"
#include "nn/position.h"

typedef struct hd_transformer_opt {
    int encoder_layers, decoder_layers, heads;
    size_t width, inner; /* d_model, feed-forward */
    size_t source_vocab, target_vocab;
    bool tied; /* one table for source, target and output; the vocabularies are one then */
    bool pre_norm;
    bool plain; /* as in the lectures: no bias in attention, no gain and bias in norms, no sqrt(width) on
                   embeddings */
    bool output_bias;
    float eps;
    hd_unary act;
    float dropout, attention_dropout,
        inner_dropout; /* of embeddings and branches; of weights; of the hidden layer */
    bool learned_positions;
    size_t positions; /* longest sentence */
    hd_sinusoid sinusoid;
    bool recompute; /* keep no activations inside blocks */
    hd_frozen frozen;
} hd_transformer_opt;

typedef struct hd_transformer {
    hd_transformer_opt opt;
    hd_params params;
    hd_embedding source, target;
    hd_block *encoder, *decoder;
    hd_norm_layer encoder_norm, decoder_norm; /* after pre-norm stacks */
    hd_param *output, *output_bias, *positions;
} hd_transformer;

/* Registers and allocates the parameters; values are drawn or loaded by the caller. */
hd_status hd_transformer_new(hd_transformer **out, hd_backend *backend, const hd_transformer_opt *opt,
                             bool training, hd_err *err);
void hd_transformer_free(hd_transformer *m);

/* A cache for decoding `items` sentences. */
hd_status hd_transformer_cache(hd_cache **out, const hd_transformer *m, size_t items, hd_err *err);

hd_rows hd_transformer_encode(hd_run *r, const hd_transformer *m, const int32_t *ids, const hd_seg *seg);
/* Rows of the decoder for target ids (shifted by the caller). memory is not read once the cache holds it. */
hd_rows hd_transformer_decode(hd_run *r, const hd_transformer *m, const int32_t *ids, const hd_seg *seg,
                              hd_rows memory, hd_cache *cache);
hd_tensor *hd_transformer_logits(hd_run *r, const hd_transformer *m, hd_rows x);
hd_tensor *hd_transformer_loss(hd_run *r, const hd_transformer *m, hd_rows x, const int32_t *target,
                               const hd_loss_opt *opt);

/* Multiply-adds times two of the matrix products of one forward pass over these tokens, all sentences alike.
 */
double hd_transformer_flops(const hd_transformer_opt *o, double sentences, double source, double target);

#endif
