/* A verb of the program: what it takes, and the function that does it. */
#ifndef HD_CLI_FRAME_VERB_H
#define HD_CLI_FRAME_VERB_H

#include "base/text.h"
#include "cli/frame/option.h"
#include "cli/frame/terminal.h"
#include "cli/frame/verb_list.h"

/* A run that a signal stopped ends with HD_EXIT_SIGNAL and the number of the signal, as shells count it. */
enum { HD_EXIT_OK = 0, HD_EXIT_FAILURE = 1, HD_EXIT_USAGE = 2, HD_EXIT_SIGNAL = 128 };

typedef struct hd_example {
    const char *command, *help;
} hd_example;

/* How help shows a row of a table. */
typedef struct hd_row_help {
    bool left_out;
    char fallback[56]; /* "": none */
} hd_row_help;

typedef struct hd_usage {
    const char *operands;       /* as in "[VERB]" or "FILE..."; NULL when the verb takes none */
    int least, most;            /* how many of them */
    const char *about;          /* paragraphs, each ended by a newline but the last */
    const hd_option *options;   /* the verb's own; those of every verb are added */
    size_t size;                /* of the struct the options fill */
    const hd_example *examples; /* ends with a row without command; may be NULL */
    bool spreads;               /* may run as several processes, which a launcher starts */
    /* Of a table whose rows depend on one another: what help shows of each, by what is given in `set`. NULL:
       every row with its default. */
    hd_status (*show)(hd_row_help *rows, const hd_option_set *set, hd_err *err);
} hd_usage;

/* Options of every verb. */
typedef struct hd_common {
    bool quiet, verbose, help;
    int threads; /* 0: all cores */
} hd_common;

extern const hd_option hd_common_options[];

typedef struct hd_verb hd_verb;

/* One call of a verb; all of it is borrowed. */
typedef struct hd_command {
    const hd_verb *verb;
    const void *options;   /* the verb's struct, filled */
    const hd_given *given; /* one for each row of the verb's table, then of hd_common_options */
    hd_common common;
    hd_words operands;
    hd_terminal out, err; /* stdout and stderr */
    hd_log log;
} hd_command;

/* Was the option of this name given, on the command line or in a file? */
bool hd_command_given(const hd_command *c, const char *name);

/* Returns the exit status. The caller flushes stdout and finds out whether it could be written. */
typedef int hd_verb_fn(const hd_command *c);

struct hd_verb {
    const char *name; /* "heed" for the program itself */
    const char *summary;
    const hd_usage *usage;
    hd_verb_fn *run;
};

#define X(name, summary)       \
    hd_verb_fn hd_verb_##name; \
    extern const hd_usage hd_verb_##name##_usage;
HD_VERB_LIST(X)
#undef X

extern const hd_verb hd_program; /* heed without a verb: --help, --version and what the build asks for */
extern const hd_verb hd_verbs[]; /* ends with a row without name */

typedef struct hd_title {
    char text[64];
} hd_title;

/* "heed explain", joined by a space or, for man pages, a dash; "heed" for the program itself. */
const char *hd_verb_title(const hd_verb *v, char joint, hd_title *buffer);

/* Writes to standard output; now: what was written must arrive at once, for whoever waits for it. A failure
   says why, and is not said once more at the end of the program: the verb ends with it. */
hd_status hd_command_put(const hd_command *c, const char *data, size_t size, bool now, hd_err *err);
/* The same of a text, which is released; or the failure that it holds. */
hd_status hd_command_put_text(const hd_command *c, hd_text *text, bool now, hd_err *err);
/* The same at once, unless making the text failed with `s`, which is then returned. */
hd_status hd_command_put_page(const hd_command *c, hd_text *page, hd_status s, hd_err *err);

/* NULL with a text that suggests the nearest verb. */
const hd_verb *hd_verb_find(const char *name, hd_err *err);

/* Each says "heed VERB: text" on stderr and returns the exit status. */
int hd_command_fail(const hd_command *c, const hd_err *err);
int hd_verb_misused(const hd_verb *v, const hd_err *err); /* out of memory is a failure here, too */

#endif
