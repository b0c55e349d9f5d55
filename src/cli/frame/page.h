/* The pages the program writes about itself, all from the tables of verbs and options. */
#ifndef HD_CLI_FRAME_PAGE_H
#define HD_CLI_FRAME_PAGE_H

#include "cli/frame/verb.h"

extern const char *const hd_shells[]; /* names of the shells that can be completed in, ended by NULL */

/* given: the options of the verb on whose account help is shown; NULL: none. */
hd_status hd_page_help(const hd_terminal *to, const hd_verb *v, const hd_option_set *given, hd_err *err);
hd_status hd_page_man(const hd_terminal *to, const hd_verb *v, hd_err *err); /* roff, section 1 */
void hd_page_completion(const hd_terminal *to, int shell);                   /* index in hd_shells */
void hd_page_version(FILE *to);

/* A page about a verb, or about the program. */
typedef struct hd_page {
    const hd_terminal *to;
    const hd_verb *verb;
    hd_row_help *rows; /* what the verb says of its own options; NULL: all but hidden ones are shown */
    int middle;        /* where help has its second column */
    /* of the option that is visited */
    const char *heading;  /* of its group, if it is the first there; else NULL */
    const char *fallback; /* its default; "": none */
} hd_page;

typedef void hd_page_option(hd_page *p, const hd_option *o);

/* Visits the verb's own options, then those of every verb; the program has only its own. */
void hd_page_each(hd_page *p, hd_page_option *visit);
/* Has the rows made before. given: as of hd_page_help. */
hd_status hd_page_rows(hd_page *p, const hd_option_set *given, hd_err *err);

#endif
