/* Lines that a verb answers one by one, in one way for all verbs: as many answers as lines, an empty one for
   a line that cannot be read or answered, with a warning; in the end their number and exit status 1. And what
   is said to someone who is expected to type. */
#ifndef HD_CLI_FRAME_INPUT_H
#define HD_CLI_FRAME_INPUT_H

#include "base/file/lines.h"
#include "base/text.h"
#include "cli/frame/verb.h"

/* A paragraph of a verb's help. */
#define HD_INPUT_ABOUT                                                                                       \
    "A line that cannot be read or answered gives an empty line, with --json an object with \"error\", and " \
    "a "                                                                                                     \
    "warning with its number; the exit status is then 1 in the end. A line has at "                          \
    "most " HD_LINE_LONGEST_TEXT "."

typedef struct hd_input {
    const hd_command *command;
    hd_lines *lines;
    size_t bad; /* lines that were refused */
    bool live;  /* someone types them */
} hd_input;

/* Where `path` is standard input and that a terminal, says what is awaited: "a line to translate". Returns
   whether it is. */
bool hd_input_await(const hd_command *c, const char *path, const char *what);

/* What is refused beside lines that are too long. */
typedef enum hd_input_check {
    HD_INPUT_TEXT,  /* what is not UTF-8, and zero bytes */
    HD_INPUT_ZEROS, /* what is not UTF-8 */
    HD_INPUT_BYTES  /* nothing: the verb checks its parts itself */
} hd_input_check;

hd_status hd_input_open(hd_input *in, const hd_command *c, const char *path, const char *what,
                        hd_input_check check, hd_err *err);

/* The next line, text NULL at the end; *why: NULL, or why an empty one stands for it. Both are valid until
   the next call. */
hd_status hd_input_next(hd_input *in, hd_line *line, const char **why, hd_err *err);

/* Is the failure that of one line and not of the run? Then *err is cleared after its text went to why. */
bool hd_input_forgives(hd_err *err, hd_err *why);

/* Counts a line that is refused, and warns of it: "FILE:NUMBER: why: result". */
void hd_input_refuse(hd_input *in, size_t number, const char *why, const char *result);
#define HD_INPUT_EMPTY "an empty line stands for it"

/* The answer that stands for a refused line, where a verb has no better one. */
void hd_input_stand_in(hd_text *to, bool json, const char *why);

/* Closes; says how many lines were not "translated". Returns the exit status. */
int hd_input_close(hd_input *in, int status, const char *done);

#endif
