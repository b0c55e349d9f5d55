/* The tokenizer of a model as transformers reads it: tokenizer.json, which gives the same ids, and
   tokenizer_config.json. */
#ifndef HD_TEXT_PUBLISHED_TOKENIZER_JSON_WRITE_H
#define HD_TEXT_PUBLISHED_TOKENIZER_JSON_WRITE_H

#include "text/tokenizer.h"

/* How a model reads texts. Ids that are not put are -1. */
typedef struct hd_text_form {
    int native;          /* the kind whose own files transformers reads for such a model; -1: none */
    int32_t lead, trail; /* before the first text, behind each */
    const char *mask;    /* what stands for the mask, whose id is the first behind the vocabulary where
                            the tokenizer has none; NULL: the model has no mask */
    bool continues;      /* what it writes stands behind the text it read */
    bool types;          /* it is told which rows are of a second text */
    size_t longest;      /* tokens of a text; 0: no limit is known */
} hd_text_form;

/* Into a folder that holds the tokenizer's own files. Writes nothing for one whose files are native. */
hd_status hd_tokenizer_json_save(const hd_tokenizer *t, const hd_text_form *how, const char *folder,
                                 hd_err *err);

#endif
