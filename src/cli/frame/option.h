/* Options on the command line: the parser, what it suggests for a name it does not know, and how help shows a
   row. */
#ifndef HD_CLI_FRAME_OPTION_H
#define HD_CLI_FRAME_OPTION_H

#include "run/option.h"

typedef struct hd_words {
    char **word; /* borrowed from argv; text values point into it */
    int count;
} hd_words;

/* Fills the structs of both sets, zero before: first every default, then what words say. What is no option
   stays in words, in order; with `leading`, everything from the first such word on. HD_EARG on failure; the
   text names the option. */
hd_status hd_option_parse(const hd_option_set sets[2], hd_words *words, bool leading, hd_err *err);

enum { HD_OPTION_SUGGESTION = 160 };

/* ", did you mean '--width'?" for a name that is not in the tables: what heed calls what others call so, else
   the row spelled most like it; "" when none is near. dashes: "--" or "". */
const char *hd_option_suggestion(const hd_option_set sets[2], const char *typed, const char *dashes,
                                 char buffer[HD_OPTION_SUGGESTION]);

/* "-t, --threads N"; "--train FILE [FILE]" */
const char *hd_option_form(const hd_option *o, char *buffer, size_t size);

/* The help text with the default behind it; "": none. */
const char *hd_option_help(const hd_option *o, const char *fallback, char *buffer, size_t size);

#endif
