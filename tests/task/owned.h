/* Handles of one task as a folder that owns what they own. */
#ifndef OWNED_H
#define OWNED_H

#include "check.h"

#include "base/mem.h"
#include "task/label/labeler.h"
#include "task/language/language.h"
#include "task/masked/masked.h"
#include "task/translate/translator.h"

#define OWNED(kind)                                                     \
    CHECK_UNUSED static hd_model_folder owned_##kind(hd_##kind *handle) \
    {                                                                   \
        hd_model_folder f = hd_##kind##_folder(handle);                 \
        hd_mem_free(handle);                                            \
        return f;                                                       \
    }
OWNED(translator)
OWNED(language)
OWNED(masked)
OWNED(labeler)
#undef OWNED

/* As a folder that borrows. */
#define AS_FOLDER(kind, handle)    \
    (const hd_model_folder[])      \
    {                              \
        hd_##kind##_folder(handle) \
    }

/* And the other way round; borrowed. */
CHECK_UNUSED static hd_language language_in(const hd_model_folder *f)
{
    return (hd_language){f->model.self, f->tokenizer[0], f->backend};
}

CHECK_UNUSED static hd_masked masked_in(const hd_model_folder *f)
{
    return (hd_masked){.model = f->model.self, .tokenizer = f->tokenizer[0], .backend = f->backend};
}

CHECK_UNUSED static bool is_language(const hd_model_folder *f)
{
    return f->model.type->stepper && !f->model.type->decode;
}

#endif
