/* Asking a folder for its task. What is wrong with a folder is left to whoever opens it for good. */
#include "task/any_model.h"

#include <string.h>

#include "base/folder.h"
#include "base/json.h"

enum { MOST_CONFIG = 1 << 20 };

/* Whether config.json says that it is a language model; fails only for lack of memory. */
static hd_status speaks(bool *out, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_arena arena;
    json_t *object = NULL;
    hd_err why = {0};
    *out = false;
    if (hd_path(path, folder, "config.json", &why)) return HD_OK;
    hd_arena_init(&arena, hd_source_host, 0);
    hd_status s = hd_json_read(&object, &arena, path, MOST_CONFIG, &why);
    const char *task = s ? NULL : json_string_value(json_object_get(object, "task"));
    *out = task && !strcmp(task, "lm");
    hd_arena_release(&arena);
    return s == HD_ENOMEM ? hd_err_set(err, s, "%s", why.text) : HD_OK;
}

hd_status hd_any_model_open(hd_any_model *out, const char *folder, hd_backend *backend, hd_err *err)
{
    bool language = false;
    *out = (hd_any_model){0};
    hd_status s = speaks(&language, folder, err);
    if (s) return s;
    return language ? hd_language_open(&out->language, folder, backend, err)
                    : hd_translator_open(&out->translator, folder, backend, HD_WEIGHTS_BEST, err);
}

void hd_any_model_release(hd_any_model *m)
{
    hd_translator_free(m->translator);
    hd_language_free(m->language);
    *m = (hd_any_model){0};
}
