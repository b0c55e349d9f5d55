/* A command of the shell that answers a text. */
#ifndef HD_BASE_SYSTEM_CHILD_H
#define HD_BASE_SYSTEM_CHILD_H

#include "base/text.h"

/* Runs it with `input` on its standard input and appends what it prints; its errors go where ours go. Signals
   of the terminal do not reach it: whoever waits for it decides. HD_EFILE where it cannot be run, fails, or
   prints more than 64 MiB. */
hd_status hd_child_run(const char *command, const char *input, size_t size, hd_text *output, hd_err *err);

#endif
