/* GPT: the Transformer's decoder alone, as a language model. Tensors carry the names of GPT-2, or of Llama:
   all that is called Llama, Mistral, Qwen or Gemma are options of the stack. */
#ifndef HD_MODEL_LM_GPT_H
#define HD_MODEL_LM_GPT_H

#include "model/stack.h"
#include "nn/front.h"
#include "nn/block/lora.h"

/* X(NAME, name, what the positions are, where there are some) */
#define HD_GPT_POSITION_LIST(X)                                    \
    X(LEARNED, learned, "vectors that are learned")                \
    X(SINUSOIDAL, sinusoidal, "sines and cosines of the position") \
    X(PERIODIC, periodic, "sines and cosines of the place in a bar of music, 64 tokens")

#define X(NAME, name, text) HD_GPT_##NAME,
typedef enum hd_gpt_position { HD_GPT_POSITION_LIST(X) HD_GPT_POSITIONS } hd_gpt_position;
#undef X

extern const char *const hd_gpt_position_names[HD_GPT_POSITIONS + 1]; /* ends with NULL */

/* What a published model calls its tensors. */
typedef struct hd_gpt_names {
    const char *prefix, *table, *position;
    const hd_stack_names *blocks;
} hd_gpt_names;

extern const hd_gpt_names hd_gpt_names_gpt2, hd_gpt_names_llama;

typedef struct hd_gpt_opt {
    hd_stack_opt stack;        /* inner 0: 4 * width. With a rotation rows have no other positions */
    const hd_gpt_names *names; /* NULL: GPT-2's */
    hd_gpt_position position;
    size_t vocab, positions;
    float embedding_dropout;
    float embedding_scale; /* of token vectors; 0: by `position` */
    float logit_cap;       /* logits are cap * tanh(logit / cap); 0: as they are */
    bool untied;           /* the output layer has a table of its own */
    bool no_positions;     /* tokens have no positions, of which there are as many as one likes then */
    hd_frozen frozen;
    hd_lora_opt lora; /* what is learned in place of the weights; rank 0: nothing */
} hd_gpt_opt;

typedef struct hd_gpt {
    hd_gpt_opt opt;
    hd_params params;
    hd_front front;
    hd_stack stack;
    hd_param *head; /* the output layer's table */
} hd_gpt;

/* Registers the parameters: the caller may add more of its own and then calls hd_params_ready. */
hd_status hd_gpt_make(hd_gpt **out, hd_backend *backend, const hd_gpt_opt *opt, hd_err *err);
/* Positions that are not learned, once the parameters are ready. */
hd_status hd_gpt_fill(hd_gpt *m, hd_err *err);
/* All in one. */
hd_status hd_gpt_new(hd_gpt **out, hd_backend *backend, const hd_gpt_opt *opt, bool training, hd_err *err);
void hd_gpt_free(hd_gpt *m);
hd_status hd_gpt_cache(hd_cache **out, const hd_gpt *m, size_t items, hd_err *err);
hd_rows hd_gpt_forward(hd_run *r, const hd_gpt *m, const int32_t *ids, const hd_seg *seg, hd_cache *cache);
/* Rows behind the first blocks, 1 to all; the last norm comes behind all alone. The others are not run. */
hd_rows hd_gpt_rows_at_layer(hd_run *r, const hd_gpt *m, int layers, const hd_items *in);
hd_tensor *hd_gpt_logits(hd_run *r, const hd_gpt *m, hd_rows x);
hd_tensor *hd_gpt_loss(hd_run *r, const hd_gpt *m, hd_rows x, const int32_t *target, const hd_loss_opt *opt);
double hd_gpt_flops(const hd_gpt *m, size_t sequences, size_t length);

/* The stepper's inside, for those that read again (model/lm/lm_gpt_stepper.c). */
struct hd_stepping;
struct hd_stepping_ask;
hd_status hd_gpt_stepping(struct hd_stepping **out, const hd_gpt *m, const struct hd_stepping_ask *q,
                          hd_err *err);

#endif
