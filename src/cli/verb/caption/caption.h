/* What `heed caption` is asked for. */
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

#endif
