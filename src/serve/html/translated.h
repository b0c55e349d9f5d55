/* A text in HTML with the translations of its passages in place of them. */
#ifndef HD_SERVE_HTML_TRANSLATED_H
#define HD_SERVE_HTML_TRANSLATED_H

#include "serve/html/alignment.h"

typedef struct hd_html_translated { /* all borrowed */
    hd_run *run;
    const hd_model_folder *by;
    const hd_translation *of;    /* [passages] what was found for their texts; without hypothesis: it stays */
    bool (*over)(void *context); /* asked before each passage with tags: whether nobody waits any more */
    void *context;
} hd_html_translated;

/* Whether it needs the run and the model: some passage has tags. */
bool hd_html_has_tags(const hd_html *h);
hd_status hd_html_write_translated(hd_text *to, const hd_html *h, const hd_html_translated *t, hd_err *err);

#endif
