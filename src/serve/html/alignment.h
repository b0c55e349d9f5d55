/* Which words of a translation stand for which of the text: those that cross-attention looks at most. */
#ifndef HD_SERVE_HTML_ALIGNMENT_H
#define HD_SERVE_HTML_ALIGNMENT_H

#include "op/run.h"
#include "serve/html/html.h"

typedef struct hd_html_aligned { /* all borrowed */
    const hd_model_folder *by;
    const hd_translation *found; /* its first hypothesis is used, and must be there */
    hd_line line;                /* as it was translated */
    const hd_html_words *source, *target;
} hd_html_aligned;

/* Where the model has no attention between both, words of the same places belong together. The lists are the
   caller's to be released, whatever becomes of it. */
hd_status hd_html_align(hd_html_links *out, hd_run *r, const hd_html_aligned *of, hd_err *err);

#endif
