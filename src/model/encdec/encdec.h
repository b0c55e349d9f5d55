/* Encoder-decoders: from the Transformer of "Attention Is All You Need" and T5 to the recurrent ones before
   it, and what mixes both. Tensors carry MarianMT's names or T5's, recurrent layers PyTorch's. One forward
   serves training (tape, no cache) and decoding (cache, no tape). */
#ifndef HD_MODEL_ENCDEC_ENCDEC_H
#define HD_MODEL_ENCDEC_ENCDEC_H

#include "model/config.h"
#include "model/encoder/encoder.h"
#include "model/encdec/recurrent_decoder.h"
#include "model/sound/sound_encoder.h"
#include "model/vision/image_encoder.h"
#include "model/type.h"
#include "nn/position.h"

/* What tensors are called. */
typedef struct hd_encdec_names {
    const char *prefix;                      /* of all but the output layer */
    const hd_stack_names *encoder, *decoder; /* blocks */
    const char *side[2];                     /* behind the prefix: of the encoder, of the decoder */
    const char *table;                       /* token vectors, behind the side */
    const char *positions, *fit;             /* behind the prefix */
    const char *output;
} hd_encdec_names;

extern const hd_encdec_names hd_encdec_marian, hd_encdec_t5, hd_encdec_vision, hd_encdec_whisper;

typedef struct hd_encdec_opt {
    hd_stages encoder, decoder;         /* a decoder's recurrent stage comes first. Empty: a transformer */
    int encoder_layers, decoder_layers; /* of stages that do not say */
    hd_stack_opt stack; /* as of hd_encoder_opt; on both sides. Its dropout is that of embeddings, too;
           relative positions take the place of the others */
    size_t source_vocab, target_vocab;
    bool pictures;              /* sources are pictures: no vocabulary, and stages, if any, on top of: */
    hd_image_encoder_opt image; /* their encoder */
    bool sounds;                /* sources are frames of sound: no vocabulary either, and stages on top of: */
    hd_sound_encoder_opt sound; /* their front; width, places and name are seen to */
    float ctc; /* share of CTC in loss and search, from a layer on the encoder's rows; 0: there is none. 1:
                  the decoder is "none" */
    bool tied; /* one table for source, target and output; the vocabularies are one then */
    bool own_output;    /* tied: but the output layer has a table of its own */
    bool scaled_output; /* rows are divided by sqrt(width) before the output layer */
    bool unscaled;      /* no sqrt(width) on embeddings; blocks that are plain have none either */
    bool output_bias;
    hd_unary cell; /* of rnn stages: tanh or sigmoid; HD_IDENTITY: tanh */
    bool learned_positions, no_positions;
    size_t positions; /* longest sentence */
    hd_sinusoid sinusoid;
    bool reverse_source;
    float source_dropout;               /* of whole source tokens */
    hd_recurrent_decoder_opt recurrent; /* of a recurrent decoder */
    const hd_encdec_names *names;       /* NULL: MarianMT's */
    hd_frozen frozen;
} hd_encdec_opt;

/* What all T5 have in common; sizes, gate and output are left to say. */
hd_encdec_opt hd_encdec_opt_t5(void);
/* The same of all Whispers: sizes and features are left to say. */
hd_encdec_opt hd_encdec_opt_whisper(void);

typedef struct hd_encdec {
    hd_encdec_opt opt; /* stages resolved */
    hd_params params;
    hd_image_encoder image; /* the front of `encoder`, where sources are pictures */
    hd_sound_encoder sound; /* the same, where they are sound */
    hd_encoder encoder;
    hd_front target;
    hd_recurrent_decoder cells; /* the decoder's recurrent stage, if it has one */
    hd_dense fit;               /* the encoder's rows to the width of blocks; w NULL: they fit */
    hd_stack stack[HD_STAGES];  /* the decoder's blocks */
    int stacks;
    hd_param *output, *output_bias;
    hd_dense ctc;       /* w NULL: there is none */
    hd_feeding feeding; /* in training: hd_encdec_feed */
} hd_encdec;

/* Registers and allocates the parameters; values are drawn or loaded by the caller. */
hd_status hd_encdec_new(hd_encdec **out, hd_backend *backend, const hd_encdec_opt *opt, bool training,
                        hd_err *err);
void hd_encdec_free(hd_encdec *m);

/* Whether its sources are tokens. */
static inline bool hd_encdec_reads_tokens(const hd_encdec_opt *o)
{
    return !o->pictures && !o->sounds;
}

/* Whether it has a decoder, and not CTC alone. */
static inline bool hd_encdec_decodes(const hd_encdec_opt *o)
{
    return o->decoder.at[0].kind != HD_STAGE_none;
}

/* Whether its decoder has a recurrent stage. */
static inline bool hd_encdec_recurs(const hd_encdec *m)
{
    return hd_stage_recurs(&m->opt.decoder.at[0]);
}

/* What its decoder is fed from now on while training (at first the truth): without a cache, where dropout
   draws, too. A captured step keeps what it was captured with. Refused for decoders with blocks, which take
   all steps at once. */
hd_status hd_encdec_feed(hd_encdec *m, const hd_feeding *f, hd_err *err);

/* Whether its decoder goes row by row: targets then go through hd_unroll before a step is captured. */
bool hd_encdec_unrolls(const hd_encdec *m);

/* A cache for decoding `items` sentences. */
hd_status hd_encdec_cache(hd_cache **out, const hd_encdec *m, size_t items, hd_err *err);

/* Rows that a picture becomes; of other sources the most that one can. */
size_t hd_encdec_length(const hd_encdec *m);
/* The front of an encoder of pictures or of sound, whose tensors have `name`; *in: columns of its rows. */
hd_status hd_encdec_picture_source(hd_encdec *m, hd_front *out, size_t *in, const char *name, hd_err *err);
hd_status hd_encdec_sound_source(hd_encdec *m, hd_front *out, size_t *in, const char *name, hd_err *err);

hd_encoded hd_encdec_encode(hd_run *r, const hd_encdec *m, const hd_items *in);
/* Rows of the decoder for target ids (shifted by the caller). memory is not read once the cache holds it. */
hd_rows hd_encdec_decode(hd_run *r, const hd_encdec *m, const int32_t *ids, const hd_seg *seg,
                         hd_encoded memory, hd_cache *cache);
hd_tensor *hd_encdec_output_rows(hd_run *r, const hd_encdec *m, hd_rows x); /* what the output layer reads */
hd_tensor *hd_encdec_logits(hd_run *r, const hd_encdec *m, hd_rows x);
hd_tensor *hd_encdec_loss(hd_run *r, const hd_encdec *m, hd_rows x, const int32_t *target,
                          const hd_loss_opt *opt);

/* Logits of CTC for the encoder's rows: columns are target ids, the blank is one that is never a label. */
hd_rows hd_encdec_ctc(hd_run *r, const hd_encdec *m, hd_encoded memory);

/* Multiply-adds times two of the matrix products of one forward pass over these tokens, all sentences alike;
   of pictures source is not read, of sound it is frames. */
double hd_encdec_flops(const hd_encdec *m, double sentences, double source, double target);

/* Its keys in config.json; vocabularies that it does not say are 0. */
void hd_encdec_config_write(hd_text *to, const hd_encdec_opt *o);
void hd_encdec_config_read(hd_model_config *c, hd_encdec_opt *o);
/* What its key "model" says: "transformer", "t5", or "encoder-decoder" where there is more to say. */
const char *hd_encdec_kind(const hd_encdec_opt *o);
/* The key of how many pieces the tokenizer of a side has, or of a T5 rows the table of both. */
const char *hd_encdec_vocab_key(const hd_encdec_opt *o, int side);
void hd_encdec_describe(const void *self, hd_details *to); /* hd_model_type.describe */

static inline hd_model hd_encdec_model(const hd_encdec *m)
{
    return (hd_model){&hd_model_encdec, (hd_params *)&m->params, (void *)m};
}

#endif
