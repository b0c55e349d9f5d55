/* Lines that a verb answers one by one, alike for all verbs: one answer a line; a line that cannot be read or
   answered gives an empty answer and a warning, and in the end their number and exit status 1. At a terminal
   the user is told what to type. */
#ifndef HD_CLI_FRAME_INPUT_H
#define HD_CLI_FRAME_INPUT_H

#include "base/arena.h"
#include "base/file/lines.h"
#include "base/text.h"
#include "cli/frame/option.h"

/* Paragraphs of a verb's help. */
#define HD_INPUT_FILES \
    "Lines come from the files, plain or compressed (gzip, xz, zstd), or from standard input."
#define HD_INPUT_ABOUT                                                                                     \
    "A line that cannot be read or answered gives an empty line, with --json an object with \"line\" and " \
    "\"error\", and a warning; the exit status is then 1. A line has at most " HD_LINE_LONGEST_TEXT "."

enum { HD_INPUT_FILES_MOST = 10000 };

/* The operands in the usage of a verb that reads lines for a model. */
#define HD_INPUT_OPERANDS .operands = "MODEL [FILE...]", .least = 1, .most = 1 + HD_INPUT_FILES_MOST

/* What is refused, besides lines that are too long. */
typedef enum hd_input_check {
    HD_INPUT_TEXT,  /* what is not UTF-8, and zero bytes */
    HD_INPUT_ZEROS, /* what is not UTF-8 */
    HD_INPUT_BYTES  /* nothing: the verb checks its parts itself */
} hd_input_check;

typedef struct hd_input_line {
    hd_line text;     /* followed by a zero byte; empty where it could not be read */
    const char *why;  /* NULL, or why it could not be read */
    const char *file; /* where it stands, for messages */
    size_t at;        /* its number there, from 1 */
    size_t number;    /* its number in all files, from 1 */
    /* Of verbs whose lines have parts or form groups, set by the verb. */
    hd_line source, target;
    size_t group;
} hd_input_line;

typedef struct hd_command hd_command;

typedef struct hd_input {
    const hd_command *command;
    hd_words files; /* those not opened yet */
    const char *what, *done, *file;
    hd_input_check check;
    hd_lines *lines;
    bool live;            /* someone types them */
    size_t count, bad;    /* lines read, and those refused */
    hd_input_line *chunk; /* lines that are held */
    size_t held, room;
    hd_arena memory; /* of theirs */
} hd_input;

/* The operands behind the first `skip`; none: standard input. Borrowed from the command. */
hd_words hd_input_files(const hd_command *c, int skip);

/* If `path` is standard input and that is a terminal, says what to type: "a line to translate". Returns
   whether it is. */
bool hd_input_await(const hd_command *c, const char *path, const char *what);

/* Opens the files behind the model into c->in, which was {0}: lines of `what`, which shall be "translated".
 */
hd_status hd_input_open(hd_command *c, const char *what, const char *done, hd_input_check check, hd_err *err);
/* Closes c->in; if lines were refused, says how many were not "translated", and c->exit is a failure. */
void hd_input_close(hd_command *c); /* accepts {0} */

/* The next line, valid until the next call; text.text is NULL at the end. */
hd_status hd_input_next(hd_input *in, hd_input_line *line, hd_err *err);

/* Copies a line behind those that are held; parts that lie in it go with it. */
hd_status hd_input_hold(hd_input *in, hd_input_line line, hd_err *err);
/* Copies a text that is to stay as long as the lines that are held; NULL on failure. */
const char *hd_input_copy(hd_input *in, hd_line text, hd_err *err);
void hd_input_drop(hd_input *in); /* those that are held */

/* Answers `count` lines, which are valid until it returns. */
typedef hd_status hd_input_answer(hd_command *c, const hd_input_line *lines, size_t count, hd_err *err);
/* Opens texts and has all lines answered, up to `most` at once, fewer when whoever writes them pauses. */
hd_status hd_input_each(hd_command *c, const char *what, const char *done, size_t most,
                        hd_input_answer *answer, hd_err *err);

/* Appends the answer to a line, with its line end. */
typedef hd_status hd_input_answer_one(hd_command *c, hd_line line, hd_text *to, hd_err *err);
/* Has all lines of what was opened answered one by one. An answer that fails because of its line is replaced.
 */
hd_status hd_input_each_one(hd_command *c, bool json, hd_input_answer_one *answer, hd_err *err);

/* Is the failure one of the line and not of the run? If so, *err is cleared and its text goes to why. */
bool hd_input_forgives(hd_err *err, hd_err *why);

/* Counts a line as refused and warns: "FILE:NUMBER: why: result". */
void hd_input_refuse(hd_input *in, const hd_input_line *line, const char *why, const char *result);
#define HD_INPUT_EMPTY "answered with an empty line"

/* Refuses a line and appends the answer that stands for it. */
void hd_input_stand_in(hd_input *in, hd_text *to, bool json, const hd_input_line *line, const char *why);

#endif
