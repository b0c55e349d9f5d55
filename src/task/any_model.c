/* Asking a folder for its task. What is wrong with a folder is left to whoever opens it for good. */
#include "task/any_model.h"

#include <string.h>

#include "base/file/folder.h"
#include "base/json.h"

enum { MOST_CONFIG = 1 << 20 };

hd_status hd_any_model_kind(hd_model_kind *out, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_arena arena;
    json_t *object = NULL;
    hd_err why = {0};
    *out = HD_MODEL_TRANSLATOR;
    if (hd_path(path, folder, "config.json", &why)) return HD_OK;
    hd_arena_init(&arena, hd_allocator_host, 0);
    hd_status s = hd_json_read(&object, &arena, path, MOST_CONFIG, &why);
    const char *task = s ? NULL : json_string_value(json_object_get(object, "task"));
    if (task && !strcmp(task, "lm")) *out = HD_MODEL_LANGUAGE;
    if (task && !strcmp(task, "mlm")) *out = HD_MODEL_MASKED;
    if (task && (!strcmp(task, "classify") || !strcmp(task, "regress"))) *out = HD_MODEL_CLASSIFIER;
    if (task && !strcmp(task, "tag")) *out = HD_MODEL_TAGGER;
    hd_arena_release(&arena);
    return s == HD_ENOMEM ? hd_err_set(err, s, "%s", why.text) : HD_OK;
}

hd_status hd_any_model_open(hd_any_model *out, const char *folder, hd_backend *backend, hd_err *err)
{
    hd_model_kind is = HD_MODEL_TRANSLATOR;
    *out = (hd_any_model){0};
    hd_status s = hd_any_model_kind(&is, folder, err);
    if (s) return s;
    if (is == HD_MODEL_LANGUAGE) return hd_language_open(&out->language, folder, backend, err);
    if (is == HD_MODEL_MASKED) return hd_masked_open(&out->masked, folder, backend, err);
    if (is == HD_MODEL_CLASSIFIER) return hd_labeler_open(&out->labeler, folder, HD_CLASSIFY, backend, err);
    if (is == HD_MODEL_TAGGER) return hd_labeler_open(&out->labeler, folder, HD_TAG, backend, err);
    return hd_translator_open(&out->translator, folder, backend, HD_WEIGHTS_BEST, err);
}

void hd_any_model_release(hd_any_model *m)
{
    hd_translator_free(m->translator);
    hd_language_free(m->language);
    hd_masked_free(m->masked);
    hd_labeler_free(m->labeler);
    *m = (hd_any_model){0};
}
