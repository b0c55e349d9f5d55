/* Families of models that others publish, as folders that transformers reads: config.json with "model_type",
   model.safetensors, the tokenizer's files. A family is a line in HD_FAMILY_LIST and hd_family_NAME, in a
   file that others of its form may share. What is done alike with all of them is import.c. */
#ifndef HD_HUB_FAMILY_H
#define HD_HUB_FAMILY_H

#include "hub/keys.h"
#include "model/encoder/bert.h"
#include "model/encoder/classifier.h"
#include "model/encdec/encdec.h"
#include "model/lm/lm.h"
#include "model/vision/detr.h"
#include "task/model_folder.h"
#include "text/published/tokenizer_json_write.h"

/* X(its name in C, what it is here) */
#define HD_FAMILY_LIST(X)                                          \
    X(bert, "a masked language model: fill, embed")                \
    X(roberta, "a masked language model: fill, embed")             \
    X(xlm_roberta, "a masked language model: fill, embed")         \
    X(distilbert, "a masked language model: fill, embed")          \
    X(electra, "a masked language model: fill, embed")             \
    X(mpnet, "a masked language model: fill, embed")               \
    X(gpt2, "a language model: generate, perplexity, embed")       \
    X(llama, "a language model: generate, chat, perplexity")       \
    X(mistral, "a language model: generate, chat, perplexity")     \
    X(qwen2, "a language model: generate, chat, perplexity")       \
    X(qwen3, "a language model: generate, chat, perplexity")       \
    X(gemma, "a language model: generate, chat, perplexity")       \
    X(gemma2, "a language model: generate, chat, perplexity")      \
    X(gemma3_text, "a language model: generate, chat, perplexity") \
    X(mixtral, "a language model: generate, chat, perplexity")     \
    X(olmoe, "a language model: generate, chat, perplexity")       \
    X(qwen3_moe, "a language model: generate, chat, perplexity")   \
    X(deepseek_v2, "a language model: generate, chat, perplexity") \
    X(deepseek_v3, "a language model: generate, chat, perplexity") \
    X(marian, "a translator: translate, rank, explain")            \
    X(pegasus, "a translator: translate, rank, explain")           \
    X(t5, "a translator: translate, rank, explain")                \
    X(mt5, "a translator: translate, rank, explain")               \
    X(vit, "a classifier of pictures: classify, embed")            \
    X(deit, "a classifier of pictures: classify, embed")           \
    X(vision_encoder_decoder, "a captioner: caption")              \
    X(detr, "a detector: detect")                                  \
    X(whisper, "a transcriber: transcribe")

/* A model on its way from one folder to another. */
typedef struct hd_passage {
    const struct hd_family *family;
    const char *from, *to; /* `to` is there and empty; borrowed. NULL: the model is described alone */
    hd_model_folder m;     /* importing: first with its tokenizers, labels and pooling alone */
    /* Importing, what it becomes: a model of these options. */
    hd_train_task task;
    hd_status (*make)(hd_model *out, struct hd_passage *p, hd_backend *backend, hd_err *err);
    hd_bert_opt bert;
    hd_lm_opt lm;
    hd_encdec_opt encdec;
    hd_classifier_opt classifier;
    hd_detr_opt detr;
    bool copies;                          /* of a translator: its output is a copy of the target's table */
    const struct hd_safetensors *weights; /* in place of those in `from`; borrowed; NULL: none */
    char left_out[32];                    /* tensors whose names begin so say nothing; "": none */
} hd_passage;

/* For `make`: of p->bert and so on. */
hd_status hd_passage_bert(hd_model *out, hd_passage *p, hd_backend *backend, hd_err *err);
hd_status hd_passage_lm(hd_model *out, hd_passage *p, hd_backend *backend, hd_err *err);
hd_status hd_passage_encdec(hd_model *out, hd_passage *p, hd_backend *backend, hd_err *err);
hd_status hd_passage_classifier(hd_model *out, hd_passage *p, hd_backend *backend, hd_err *err);

/* What is done with all families of a form; what is NULL has nothing to do. */
typedef struct hd_family_form {
    bool sentences; /* it reads what sentence-transformers adds to a folder */
    /* Whether a model folder's config.json is of this family. */
    bool (*has)(const struct hd_family *f, hd_model_config *c);

    /* Fills p from a published folder, whose config.json is *c: faults in it are told to that. */
    void (*read)(hd_passage *p, hd_model_config *c);
    /* Before weights are loaded: what else tensors may be called, what may be missing. */
    void (*name)(hd_passage *p);
    /* Behind it. */
    hd_status (*complete)(hd_passage *p, hd_err *err);

    /* HD_EARG where transformers has no such model; the text says what to train instead. */
    hd_status (*check)(const hd_passage *p, hd_err *err);
    /* How transformers is to read texts; NULL: the files of its tokenizer say it. */
    hd_text_form (*reads)(const hd_passage *p, const hd_tokenizer *t);
    /* Members of config.json, and those that transformers has no key for. */
    void (*put)(const hd_passage *p, json_t *config, json_t *own);
    /* Further files of the folder. */
    hd_status (*files)(const hd_passage *p, hd_err *err);
    /* Moves batch norms into the weights before them; HD_EARG where there are none. */
    hd_status (*fold)(hd_passage *p, hd_err *err);
    /* Gives tensors the names that they have there. */
    hd_status (*rename)(hd_passage *p, hd_err *err);
} hd_family_form;

typedef struct hd_family {
    const char *type; /* "model_type" */
    const hd_family_form *form;
    const char *const *ignored; /* endings of names of tensors that say nothing; ends with NULL */
    const void *self;           /* what tells families of a form apart: their files know what it is */
} hd_family;

#define X(name, text) extern const hd_family hd_family_##name;
HD_FAMILY_LIST(X)
#undef X

/* -- for the files of families -- */

/* What the name in "architectures" has behind `title`; all of it where it begins otherwise; "Model" where
   there is none. */
const char *hd_family_architecture(const hd_model_config *c, const char *title);

/* What config.json says, or `otherwise` where it lacks the key: what transformers takes then. */
long long hd_family_whole(hd_model_config *c, const char *key, long long least, long long most,
                          long long otherwise);
bool hd_family_switch(hd_model_config *c, const char *key, bool otherwise);
hd_unary hd_family_activation_called(hd_model_config *c, const char *name); /* as transformers calls it */
/* Refuses a switch that is not as models are here. */
void hd_family_insist(hd_model_config *c, const char *key, bool value);
/* ... special tokens that are not the tokenizer's. */
void hd_family_insist_ids(hd_model_config *c, const hd_tokenizer *t);
/* ... heads that do not share the width. */
void hd_family_insist_heads(hd_model_config *c, const hd_stack_opt *o);
/* ... a "vocab_size" that is less than the tokenizer's pieces, or more than padding makes it. */
void hd_family_check_vocab(hd_model_config *c, size_t vocab, const hd_tokenizer *t, size_t pieces);

/* Whether the key is there and says this. */
bool hd_family_says(hd_model_config *c, const char *key, const char *text);

/* What transformers calls it; NULL: it has none such. */
const char *hd_family_activation_name(hd_unary act);
hd_status hd_family_check_activation(hd_unary act, const char *folder, hd_err *err);

/* Gives every tensor that has a name the one that `put` prints for it. */
hd_status hd_family_rename(hd_params *p, void (*put)(hd_text *to, const char *name, const void *context),
                           const void *context, hd_err *err);

/* Copies files that say nothing about the model here but belong to it: how to generate with it, how to show
   its tokens. What the new folder has already stays. */
hd_status hd_family_carry(const hd_passage *p, hd_err *err);

#endif
