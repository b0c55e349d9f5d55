/* The folder of a translator with weights as they begin. Include after cli/shell.h. */
#ifndef TRANSLATING_H
#define TRANSLATING_H

#include <sys/stat.h>

#include "task/small.h"

SCRATCH_UNUSED static void translating_folder(const char *path)
{
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_model_folder *t = small_make(b, HD_TOKENIZER_words, false, false);
    assert_int_equal(mkdir(path, 0777), 0);
    if (hd_model_folder_write(t, path, &err)) fail_msg("%s", err.text);
    folder_free(t);
    hd_backend_free(b);
}

#endif
