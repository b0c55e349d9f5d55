/* Families of models that others publish, as folders that transformers reads: config.json with "model_type",
   model.safetensors, the tokenizer's files. A family is a line in HD_FAMILY_LIST and
   hd_family_NAME, in a file that others of its form may share. */
#ifndef HD_HUB_FAMILY_H
#define HD_HUB_FAMILY_H

#include "backend/backend.h"
#include "model/config.h"

/* X("model_type", what it is here) */
#define HD_FAMILY_LIST(X)                                    \
    X(bert, "a masked language model: fill, embed")          \
    X(roberta, "a masked language model: fill, embed")       \
    X(gpt2, "a language model: generate, perplexity, embed") \
    X(marian, "a translator: translate, rank, explain")      \
    X(pegasus, "a translator: translate, rank, explain")     \
    X(t5, "a translator: translate, rank, explain")          \
    X(mt5, "a translator: translate, rank, explain")

/* One folder that becomes another; all of it is borrowed. */
typedef struct hd_passage {
    const char *from, *to; /* `to` is there and empty */
    hd_backend *backend;   /* that holds the weights on the way */
} hd_passage;

typedef struct hd_family hd_family;

/* The functions get the family itself. */
struct hd_family {
    const void *form; /* what tells families of the same functions apart: their file knows what it is */
    bool sentences;   /* it reads what sentence-transformers adds to a folder */
    /* Whether a model folder's config.json is of this family. */
    bool (*has)(const hd_family *f, hd_model_config *c);
    /* Makes a model of a published folder; *c is its config.json, which the faults in it are told to. */
    hd_status (*import)(const hd_family *f, const hd_passage *p, hd_model_config *c, hd_err *err);
    /* The other way. */
    hd_status (*export)(const hd_family *f, const hd_passage *p, hd_err *err);
};

#define X(name, text) extern const hd_family hd_family_##name;
HD_FAMILY_LIST(X)
#undef X

/* -- for the files of families -- */

/* What config.json says, or `otherwise` where it lacks the key: what transformers takes then. */
long long hd_family_whole(hd_model_config *c, const char *key, long long least, long long most,
                          long long otherwise);
bool hd_family_switch(hd_model_config *c, const char *key, bool otherwise);
hd_unary hd_family_activation(hd_model_config *c, const char *otherwise);
hd_unary hd_family_activation_called(hd_model_config *c, const char *name); /* as transformers calls it */
/* Refuses a switch that is not as models are here. */
void hd_family_insist(hd_model_config *c, const char *key, bool value);
/* ... an id that is not the tokenizer's. */
void hd_family_insist_id(hd_model_config *c, const char *key, int32_t id);

/* Refuses a "vocab_size" that is less than the tokenizer's pieces, or more than padding makes it. */
void hd_family_check_vocab(hd_model_config *c, size_t vocab, const hd_tokenizer *t, size_t pieces);

/* Whether the key is there and says this. */
bool hd_family_says(hd_model_config *c, const char *key, const char *text);
/* ... in config.json of a model folder. */
hd_status hd_family_folder_says(bool *out, const char *folder, const char *key, const char *text,
                                hd_err *err);

/* What transformers calls it; NULL: it has none such. */
const char *hd_family_activation_name(hd_unary act);

/* Copies files that say nothing about the model here but belong to it: how to generate with it, how to show
   its tokens. What the new folder has already stays. */
hd_status hd_family_carry(const hd_passage *p, hd_err *err);

hd_status hd_family_save_config(const hd_text *config, const char *folder, hd_err *err);

#endif
