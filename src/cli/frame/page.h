/* The pages the program writes about itself, all from the tables of verbs and options. */
#ifndef HD_CLI_FRAME_PAGE_H
#define HD_CLI_FRAME_PAGE_H

#include "cli/frame/verb.h"

extern const char *const hd_shells[]; /* names of the shells that can be completed in, ended by NULL */

/* given: the options of the verb on whose account help is shown; NULL: none. */
hd_status hd_page_help(const hd_terminal *to, const hd_verb *v, const hd_option_set *given, hd_err *err);
hd_status hd_page_man(FILE *to, const hd_verb *v, hd_err *err); /* roff, section 1 */
void hd_page_completion(FILE *to, int shell);                   /* index in hd_shells */
void hd_page_version(FILE *to);

/* The tables of a verb's page: its own options and those of every verb. The program has only its own. */
typedef struct hd_page_tables {
    const hd_option *table[2];
} hd_page_tables;

hd_page_tables hd_page_options(const hd_verb *v);
const char *hd_page_group(const hd_option *o); /* heading the option stands under */
/* What is shown of each row of both tables; to be released with hd_mem_free. */
hd_status hd_page_rows(hd_row_help **out, const hd_verb *v, const hd_option_set *given, hd_err *err);

#endif
