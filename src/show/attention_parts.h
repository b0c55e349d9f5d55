/* Attention of a translation, part by part: that is how the model saw a line. */
#ifndef HD_SHOW_ATTENTION_PARTS_H
#define HD_SHOW_ATTENTION_PARTS_H

#include "show/attention.h"
#include "task/translate/translate.h"

typedef struct hd_attention_of { /* all borrowed */
    const hd_translator *by;
    const hd_translation *found; /* its first hypothesis is meant */
    hd_line line, prefix;        /* as translated, for names of unknown words; {0}: not given */
    size_t number;               /* of the line, from 1; 0: none */
} hd_attention_of;

/* Called with each part that says something, from 0 on; the maps are valid until it returns. */
typedef hd_status hd_attention_take(void *context, size_t part, const hd_attention_maps *maps, hd_err *err);
hd_status hd_attention_parts(hd_run *r, const hd_attention_of *of, hd_attention_take *take, void *context,
                             hd_err *err);

#endif
