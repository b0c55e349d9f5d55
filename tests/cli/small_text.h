/* A small text for models that are trained within a test: the file t in the scratch folder. */
#ifndef HD_TESTS_CLI_SMALL_TEXT_H
#define HD_TESTS_CLI_SMALL_TEXT_H

#include "check.h"
#include "cli/shell.h"

static int small_text(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    char text[4096];
    size_t n = 0;
    for (int i = 0; n + 40 < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s\n", i % 3 ? "the cat sat" : "a dog ran on");
    put_file(at("t"), text);
    return 0;
}

#endif
