/* Runs a command of the shell and keeps what it prints. Include after cmocka.h. */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

/* Keeps the first room - 1 bytes; returns the exit status, or minus the signal that ended it. */
static int command_run(char *out, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int command_run(char *out, size_t room, const char *format, ...)
{
    char *command;
    va_list args;
    va_start(args, format);
    assert_true(vasprintf(&command, format, args) >= 0);
    va_end(args);
    FILE *from = popen(command, "r");
    assert_non_null(from);
    out[fread(out, 1, room - 1, from)] = 0;
    int status = pclose(from);
    free(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#endif
