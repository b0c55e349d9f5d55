/* The program as a user meets it: commands of a shell in a folder of the test's own, with $HEED as the
   program. Include after check.h. */
#ifndef SHELL_H
#define SHELL_H

#include "cli/command.h"
#include "scratch.h"

enum { SHELL_ROOM = 1 << 16 };

/* What a user would have to type is in $TINY: options of a model of a few thousand numbers, trained on the
   CPU, whose bits are the same in every run. */
SCRATCH_UNUSED static void shell_prepare(void)
{
    setenv("HEED", HEED_PROGRAM, 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 0); /* seconds a process on aarch64 */
    setenv(
        "TINY",
        "--device cpu --encoder-layers 1 --decoder-layers 1 --width 16 --ffn-size 32 --heads 2 --tokenizer "
        "words "
        "--batch-tokens 200 --max-length 40 --max-positions 64 --lr 0.01 --warmup 5 --schedule inverse_sqrt "
        "--optimizer adam --weight-decay 0 --clip 1 --norm pre --epochs 0 --dropout 0.2 --attention-dropout "
        "0.1 "
        "--ema 0.9 --micro-batches 2 --label-smoothing 0.1 --valid-every 4 --bleu-sentences 10 --save-every "
        "3",
        1);
}

/* Takes out the warnings of unknown words: models of tests know few, and what is said of it is tested in
   unknown_test.c alone. */
SCRATCH_UNUSED static void shell_drop_unknown(char *out)
{
    for (char *at; (at = strstr(out, " tokens are not in the model's vocabulary and read as <unk>"));) {
        char *begin = at, *end = strchr(at, '\n');
        while (begin > out && begin[-1] != '\n') begin--;
        if (!end) break;
        memmove(begin, end + 1, strlen(end + 1) + 1);
    }
}

/* Runs a command in the folder; keeps what it prints on either stream, returns its exit status, or minus the
   signal that ended it. */
SCRATCH_UNUSED static int shell(char out[SHELL_ROOM], const char *command)
{
    int status = command_run(out, SHELL_ROOM, "cd %s && { %s\n} 2>&1", scratch, command);
    shell_drop_unknown(out);
    return status;
}

/* It must succeed; returns what it printed. */
SCRATCH_UNUSED static const char *must_run(const char *command)
{
    static char out[SHELL_ROOM];
    int status = shell(out, command);
    if (status) fail_msg("%s: status %d: %s", command, status, out);
    return out;
}

SCRATCH_UNUSED static void assert_prints(const char *command, int status, const char *expected)
{
    char out[SHELL_ROOM];
    int got = shell(out, command);
    if (got != status || strcmp(out, expected)) fail_msg("%s: status %d, prints '%s'", command, got, out);
}

/* The command fails with this status and one line, which holds all of what is asked for (apart by "|"). */
SCRATCH_UNUSED static void assert_fails(const char *command, int status, const char *parts)
{
    char out[SHELL_ROOM], copy[1024];
    int got = shell(out, command);
    const char *end = strchr(out, '\n');
    if (got != status || !end || end[1]) fail_msg("%s: status %d, prints '%s'", command, got, out);
    snprintf(copy, sizeof copy, "%s", parts);
    for (char *part = strtok(copy, "|"); part; part = strtok(NULL, "|"))
        if (!strstr(out, part)) fail_msg("%s: '%s' does not say '%s'", command, out, part);
}

#endif
