/* A verb of the program: what it takes, what is opened for it, the function that does it, and where that
   writes. Brings what most verbs use: memory, lines of input, options, models, JSON. */
#ifndef HD_CLI_FRAME_VERB_H
#define HD_CLI_FRAME_VERB_H

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "cli/frame/input.h"
#include "cli/frame/machine.h"
#include "cli/frame/option.h"
#include "cli/frame/verb_list.h"
#include "cli/frame/attending.h"
#include "task/model_folder.h"
#include "view/draw/json_members.h"
#include "view/draw/markup.h"

/* What an output stream is. */
typedef struct hd_terminal {
    FILE *file;
    bool is_terminal;
    bool color; /* a terminal, NO_COLOR unset or empty, TERM not dumb */
    int width;  /* columns to fill: the terminal's or $COLUMNS, 40 to 100; 80 where unknown */
} hd_terminal;

hd_terminal hd_terminal_of(FILE *file);
/* Does the locale's character set have the signs? Asked without setting the locale of the process. */
bool hd_terminal_utf8(void);

/* Escape codes, or "" without color. */
const char *hd_terminal_bold(const hd_terminal *t);
const char *hd_terminal_plain(const hd_terminal *t);

/* A log to `err` (borrowed, stderr's): "heed: warning: ...". */
hd_log hd_terminal_log(const hd_terminal *err, hd_level most);

/* -- verbs -- */

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

/* Options that many verbs have. The struct of a verb that computes begins with them; rows fill those it has.
 */
typedef struct hd_usual {
    bool json;
    const char *plot;
    hd_weights weights;
    hd_machine_options machine;
    hd_attending_options attending;
    const char *heads;
} hd_usual;

/* What is opened before a verb runs, and closed after it. */
typedef enum hd_opens {
    HD_OPENS_NOTHING,
    HD_OPENS_CPU,  /* a machine; the verb has no options for it */
    HD_OPENS_MODEL /* the machine of the usual options, once --plot is known to be writable, and the model in
                      the folder that the first operand names */
} hd_opens;

typedef hd_status hd_verb_fn(hd_command *c, hd_err *err);

typedef struct hd_usage {
    const char *operands;       /* as in "[VERB]" or "FILE..."; NULL when the verb takes none */
    int least, most;            /* how many of them */
    const char *about;          /* paragraphs, each ended by a newline but the last */
    const hd_option *options;   /* the verb's own; those of every verb are added */
    size_t size;                /* of the struct the options fill */
    const hd_example *examples; /* ends with a row without command; may be NULL */
    bool spreads;               /* may run as several processes, which a launcher starts */
    /* Of a table whose rows depend on one another: what help shows of each (rows are 0 before), by what is
       given in `set`, which may be NULL. NULL: every row with its default. */
    hd_status (*show)(hd_row_help *rows, const hd_option_set *set, hd_err *err);

    hd_opens opens;
    const char *task; /* of the model; NULL: any */
    bool pictures;    /* the model may be one that reads pictures */
    bool sounds;      /* ... that reads sounds */
    bool gradients;   /* it may ask for them: values of weights stay beside their forms */
    size_t call;      /* of the verb's own struct, which begins with a hd_command; 0: it has none */
    /* Before anything is opened: whether the options go together. May be NULL. */
    hd_verb_fn *check;
    /* Does it. A failure is said, and the exit status is 1. The caller flushes stdout and finds out whether
       it could be written. */
    hd_verb_fn *run;
    void (*release)(hd_command *c); /* what the verb's own struct holds; may be NULL */
} hd_usage;

/* Options of every verb. */
typedef struct hd_common {
    bool quiet, verbose, help;
    int threads; /* 0: all cores */
} hd_common;

extern const hd_option hd_common_options[];

typedef struct hd_verb hd_verb;

/* One call of a verb. */
struct hd_command {
    /* all of it borrowed */
    const hd_verb *verb;
    const void *options;      /* the verb's struct, filled */
    const hd_usual *usual;    /* the same of a verb that opens a model */
    const hd_option_set *set; /* the same with its table, and behind it hd_common_options */
    hd_common common;
    hd_words operands;
    hd_terminal out, err; /* stdout and stderr */
    hd_log log;
    /* opened by the usage, or by the verb, and closed for it */
    hd_machine machine;
    hd_model_folder model; /* of its tokens that are <unk> a warning is given in the end */
    hd_attending attending;
    hd_heads heads; /* factors of --heads, which the machine's run carries; {0}: none */
    hd_input in;
    bool misused; /* a failure is one of the command line, and the exit status 2 */
    int exit;     /* the exit status of a verb that does not fail */
};

/* Was the option of this name given, on the command line or in a file? */
bool hd_command_given(const hd_command *c, const char *name);

struct hd_verb {
    const char *name; /* "heed" for the program itself */
    const char *summary;
    const hd_usage *usage;
};

#define X(name, summary) extern const hd_usage hd_verb_##name;
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

/* Checks, opens, runs the verb and closes. Returns the exit status. */
int hd_command_run(hd_command *c);

/* NULL with a text that suggests the nearest verb. */
const hd_verb *hd_verb_find(const char *name, hd_err *err);

/* Each says "heed VERB: text" on stderr and returns the exit status. */
int hd_command_fail(const hd_command *c, const hd_err *err);
int hd_verb_misused(const hd_verb *v, const hd_err *err); /* out of memory is a failure here, too */

#endif
