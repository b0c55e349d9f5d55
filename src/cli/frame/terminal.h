/* What an output stream is: a terminal or not, how wide, colored or not; and the log that goes to stderr. */
#ifndef HD_CLI_FRAME_TERMINAL_H
#define HD_CLI_FRAME_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

#include "base/log.h"

typedef struct hd_terminal {
    FILE *file;
    bool is_terminal;
    bool color; /* a terminal, NO_COLOR unset or empty, TERM not dumb */
    int width;  /* columns to fill: the terminal's or $COLUMNS, 40 to 100; 80 where unknown */
} hd_terminal;

hd_terminal hd_terminal_of(FILE *file);

/* Escape codes, or "" without color. */
const char *hd_terminal_bold(const hd_terminal *t);
const char *hd_terminal_plain(const hd_terminal *t);

/* A log to `err` (borrowed, stderr's): "heed: warning: ...". */
hd_log hd_terminal_log(const hd_terminal *err, hd_level most);

#endif
