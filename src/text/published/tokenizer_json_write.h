/* The tokenizer of a model for transformers: tokenizer.json, which gives the same ids, and
   tokenizer_config.json. */
#ifndef HD_TEXT_PUBLISHED_TOKENIZER_JSON_WRITE_H
#define HD_TEXT_PUBLISHED_TOKENIZER_JSON_WRITE_H

#include "text/tokenizer.h"

/* How a model reads texts. Unused ids are -1. */
typedef struct hd_text_form {
    int native;          /* the kind whose own files transformers reads for such a model; -1: none */
    int32_t lead, trail; /* before the first text, after each */
    const char *mask;    /* the text of the mask, whose id is the first after the vocabulary if the
                            tokenizer has none; NULL: the model has no mask */
    bool continues;      /* its output continues the text it read */
    bool types;          /* it reads token types: which rows belong to a second text */
    size_t longest;      /* tokens of a text; 0: no limit is known */
} hd_text_form;

/* Writes into a folder that has the tokenizer's own files. Writes nothing if transformers reads those
   files. */
hd_status hd_tokenizer_json_save(const hd_tokenizer *t, const hd_text_form *how, const char *folder,
                                 hd_err *err);

#endif
