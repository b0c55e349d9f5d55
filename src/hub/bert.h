/* Families of models that are BERTs here, under other names and with other parts: one hd_bert_form each. */
#ifndef HD_HUB_BERT_H
#define HD_HUB_BERT_H

#include "hub/family.h"

/* What a part of a tensor's name is here and in the files of a family; NULL ends a list. */
typedef const char *hd_renamed[2];

/* What "ForPreTraining" in "architectures" is. */
typedef enum hd_pretraining { HD_PRETRAINING_NONE, HD_PRETRAINING_WORDS, HD_PRETRAINING_BARE } hd_pretraining;

typedef struct hd_bert_form {
    const char *title; /* what begins the names in "architectures" */
    hd_pretraining pretraining;
    const char *prefix;       /* of tensors, where it is "bert." here */
    const hd_key *keys;       /* of hd_bert_opt; but for positions, which all say alike */
    hd_bert_opt base;         /* what config.json does not say; an offset: one follows from "pad_token_id" */
    const char *predicts;     /* ending of a tensor of the head that predicts words */
    bool gelu;                /* that head always has this activation */
    const hd_renamed *head;   /* names that begin so and have no prefix; NULL: as here */
    const hd_renamed *labels; /* ... of a model with labels, looked for first */
    const hd_renamed *blocks; /* what is within names that have the prefix, each where it occurs */
    hd_tokenizer_kind native; /* whose files transformers reads as they are */
} hd_bert_form;

/* Keys that most have. */
#define HD_BERT_KEYS(N, H, C, F)                                                                           \
    HD_KEY(WHOLE, "num_hidden_layers", hd_bert_opt, stack.layers, HD_MOST_LAYERS, N),                      \
        HD_KEY(WHOLE, "num_attention_heads", hd_bert_opt, stack.heads, HD_MOST_HEADS, H),                  \
        HD_KEY(WHOLE, "hidden_size", hd_bert_opt, stack.width, HD_MOST_SIZE, C),                           \
        HD_KEY(WHOLE, "intermediate_size", hd_bert_opt, stack.inner, 4 * HD_MOST_SIZE, F),                 \
        HD_KEY(UNARY, "hidden_act", hd_bert_opt, stack.act, 0, HD_gelu),                                   \
        HD_KEY(REAL, "hidden_dropout_prob", hd_bert_opt, stack.dropout, HD_KEY_DROPOUT, 0.1),              \
        HD_KEY(REAL, "attention_probs_dropout_prob", hd_bert_opt, stack.attention_dropout, HD_KEY_DROPOUT, \
               0.1),                                                                                       \
        HD_KEY(REAL, "layer_norm_eps", hd_bert_opt, stack.eps, 1, 1e-12)
#define HD_BERT_VOCAB(otherwise) HD_KEY(WHOLE, "vocab_size", hd_bert_opt, vocab, 64 * HD_MOST_SIZE, otherwise)
#define HD_BERT_TYPES            HD_KEY(WHOLE, "type_vocab_size", hd_bert_opt, types, HD_MOST_SIZE, 2)

/* RoBERTa's, which others have, too. */
extern const hd_renamed hd_roberta_head[], hd_roberta_labels[];

/* Numbers from 0 on, which older files hold. */
#define HD_BERT_IGNORED ".position_ids", ".token_type_ids"

extern const hd_family_form hd_bert_family_form;

#endif
