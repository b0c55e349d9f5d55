/* Models with what is around them, on the heap. */
#ifndef OWNED_H
#define OWNED_H

#include "check.h"

#include "base/mem.h"
#include "task/label/labeler.h"
#include "task/language/language.h"
#include "task/masked/masked.h"
#include "task/translate/translate.h"

CHECK_UNUSED static hd_status folder_open(hd_model_folder **out, const char *folder, const char *task,
                                          hd_backend *b, hd_weights which, hd_err *err)
{
    hd_model_folder *f = hd_mem_zero(sizeof *f);
    hd_status s = f ? hd_model_folder_open(f, folder, task, b, which, err) : hd_err_nomem(err, sizeof *f);
    if (s)
        hd_mem_free(f);
    else
        *out = f;
    return s;
}

CHECK_UNUSED static void folder_free(hd_model_folder *f)
{
    if (f) hd_model_folder_release(f);
    hd_mem_free(f);
}

/* What it holds, in the caller's memory. */
CHECK_UNUSED static hd_model_folder owned(hd_model_folder *f)
{
    hd_model_folder x = *f;
    hd_mem_free(f);
    return x;
}

CHECK_UNUSED static bool is_language(const hd_model_folder *f)
{
    return f->model.type->stepper && !f->model.type->decode;
}

#endif
