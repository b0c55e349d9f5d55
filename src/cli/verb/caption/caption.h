/* What `heed caption` is asked for, and how results are written. */
#ifndef HD_CLI_VERB_CAPTION_CAPTION_H
#define HD_CLI_VERB_CAPTION_CAPTION_H

#include "cli/frame/verb.h"
#include "task/caption/caption.h"

typedef struct hd_caption_options {
    hd_usual usual;
    hd_caption_opt opt; /* but for the kind of search, which this says: */
    bool sample;
    const char *images, *names;
    bool scores;
    const char *boxes;
} hd_caption_options;

/* Appends the captions of a picture, `count` of them, as lines of text or one of JSON. why: NULL, or why
   there are none. */
void hd_caption_write(hd_text *to, const hd_caption_options *o, const hd_tokenizer *t, const char *name,
                      const hd_written *caption, size_t count, const char *why);

#endif
