/* Options on the command line and in files, names that are nearly those of an option, and how help shows a
   row. */
#ifndef HD_CLI_FRAME_OPTION_H
#define HD_CLI_FRAME_OPTION_H

#include "base/arena.h"
#include "run/option.h"

/* -- the command line -- */

typedef struct hd_words {
    char **word; /* borrowed from argv; text values point into it */
    int count;
} hd_words;

/* Fills the structs of a set, zero before: first every default, then what words say. What is no option stays
   in words, in order; with `leading`, everything from the first such word on. HD_EARG on failure; the text
   names the option. */
hd_status hd_option_parse(const hd_option_set *set, hd_words *words, bool leading, hd_err *err);

/* "-t, --threads N"; "--train FILE [FILE]" */
const char *hd_option_form(const hd_option *o, char *buffer, size_t size);

/* The help text with the default behind it; "": none. */
const char *hd_option_help(const hd_option *o, const char *fallback, char *buffer, size_t size);

/* -- files, in YAML: names and values are those of the command line, which wins. A name may be written with
   '_' for '-'; an option of several values takes a list; a flag takes true or false. -- */

enum { HD_CONFIG_LARGEST = 1 << 20 }; /* bytes of a file */

/* Reads the file that the option "config" names, if a table has such a row and it was given. To be called
   after hd_option_parse, with `given` in all tables: rows given there keep their values, the others are set
   and marked. Text values live in `texts`. HD_EFILE or HD_ENOMEM when the file cannot be read; HD_EARG when
   an option is wrong, HD_EFORMAT or HD_ELIMIT when the file is. The text names file and line. */
hd_status hd_config_read(const hd_option_set *set, hd_arena *texts, hd_err *err);

/* "name: value" lines, as hd_config_read takes them, of every row that has a value and that is to be kept. */
typedef bool hd_config_keeps(const hd_option *row, const void *options);
void hd_config_write(hd_text *to, const hd_option *table, const void *options, hd_config_keeps *keeps);

/* -- names that are nearly those of an option -- */

/* "Did you mean": the nearest of some known words to a misspelled one. */
typedef struct hd_spelling {
    const char *typed;
    const char *match; /* NULL while nothing is near enough */
    int distance;      /* of match, or the smallest that is too far */
} hd_spelling;

hd_spelling hd_spelling_of(const char *typed);
void hd_spelling_try(hd_spelling *s, const char *known); /* keeps known when nearer than those before */

enum { HD_OPTION_NAME = 64, HD_OPTION_SUGGESTION = 160 }; /* bytes of a name, and of a suggestion */

/* ", did you mean '--width'?" for a name that is not in the tables: what heed calls what others call so, else
   the row spelled most like it; "" when none is near. dashes: "--" or "". */
const char *hd_option_suggestion(const hd_option_set *set, const char *typed, const char *dashes,
                                 char buffer[HD_OPTION_SUGGESTION]);

/* Today's name of what was called so before, or so with that value, if it is in the tables; else NULL. A name
   that moved with any value is not the old one where that is in the tables, too. value: NULL: not known. */
const char *hd_option_renamed(const hd_option_set *set, const char *before, const char *value);

#endif
