/* GGUF files made into folders as transformers has them: config.json, tokenizer.json, tokenizer_config.json;
   and their weights under its names. What is read from there on is a published model like any other. */
#ifndef HD_HUB_GGUF_UNPACK_H
#define HD_HUB_GGUF_UNPACK_H

#include "base/json.h"
#include "tensor/gguf.h"
#include "tensor/safetensors.h"

/* Whether a file begins as GGUF files do. */
bool hd_gguf_is(const char *path);

typedef struct hd_gguf_unpacked {
    hd_safetensors *weights; /* made from the file */
    hd_gguf *file;
    struct hd_gguf_sources *sources;
} hd_gguf_unpacked;

/* Into an existing folder, but for the weights. Accepts {0}, also for the release. */
hd_status hd_gguf_unpack(hd_gguf_unpacked *out, const char *path, const char *folder, hd_err *err);
void hd_gguf_unpacked_release(hd_gguf_unpacked *u);

/* -- for the files of this folder -- */

/* What an architecture of llama.cpp is to transformers. */
typedef struct hd_gguf_arch {
    const char *name;  /* "general.architecture" */
    const char *type;  /* "model_type" */
    const char *class; /* "architectures" */
    bool turned;       /* rows of queries and keys are in the order of pairs (2k, 2k + 1) */
    int gemma;         /* Gemma 1 to 3: gains of norms are 1 more than in a folder; 0: none of them */
    bool experts;      /* it has "expert_count" */
    bool latent;       /* DeepSeek's attention */
    bool raw_weights;  /* of experts: they do not add up to 1 */
} hd_gguf_arch;

typedef struct hd_gguf_model {
    const hd_gguf *file;
    const hd_gguf_arch *arch;
    const char *folder;
    size_t heads, kv_heads, head_width;
    size_t plain, value; /* of latent attention: columns of a head without rotation, and of values */
    size_t vocab;        /* rows of the table of tokens */
    bool tied;
} hd_gguf_model;

hd_status hd_gguf_put_config(hd_gguf_model *m, hd_err *err); /* fills the sizes of m, too */
/* The sources are those of the tensors, from the file of m. */
hd_status hd_gguf_weights(hd_gguf_unpacked *out, const hd_gguf_model *m, hd_err *err);
void hd_gguf_sources_free(struct hd_gguf_sources *s); /* accepts NULL */
hd_status hd_gguf_put_tokenizer(const hd_gguf_model *m, hd_err *err);

/* -- for config.c and family.c -- */

typedef struct hd_gguf_writer {
    const hd_gguf_model *m;
    json_t *to;
    hd_err *err;
    hd_status status;
} hd_gguf_writer;

/* Values behind "ARCHITECTURE.": a size (0: it is not there, which only `optional` ones may do), a number. */
size_t hd_gguf_size(hd_gguf_writer *w, const char *key, bool optional);
double hd_gguf_number(const hd_gguf_writer *w, const char *key, double otherwise);
void hd_gguf_put_size(hd_gguf_writer *w, const char *key, size_t n);

/* What Gemma, models with experts and DeepSeek have beside, each where m is one. */
void hd_gguf_put_gemma(hd_gguf_writer *w);
void hd_gguf_put_experts(hd_gguf_writer *w);
void hd_gguf_put_latent(hd_gguf_writer *w, hd_gguf_model *m);

/* A whole number of "tokenizer.ggml.KEY"; -1: it is not there. */
int64_t hd_gguf_token(const hd_gguf *g, const char *key);

#endif
