/* Folders that become other folders: all of the new one is written beside its place and then renamed. */
#include "task/import.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "task/family.h"
#include "task/family_sentence.h"

static const struct {
    const char *name;
    const hd_family *family;
} families[] = {
#define X(name, text) {#name, &hd_family_##name},
    HD_FAMILY_LIST(X)
#undef X
};

static const hd_family *family_of(hd_model_config *c)
{
    const char *type = hd_model_config_text(c, "model_type");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strcmp(families[i].name, type)) return families[i].family;
    hd_text known = {0};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        hd_text_print(&known, i ? ", %s" : "%s", families[i].name);
    hd_model_config_refuse(c, "\"model_type\" is \"%.40s\"; heed imports %s", type,
                           known.data ? known.data : "others");
    hd_text_release(&known);
    return NULL;
}

/* A folder beside `path` that becomes it. */
static hd_status begin(char to[HD_PATH], const char *path, hd_err *err)
{
    bool empty = false;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    int n = snprintf(to, HD_PATH, "%.*s.tmp.%ld.0", (int)length, path, (long)getpid());
    if (n < 0 || n >= HD_PATH) return hd_err_set(err, HD_ELIMIT, "%.80s...: the path is too long", path);
    hd_status s = hd_folder_empty(path, &empty, err);
    if (!s && !empty)
        s = hd_err_set(err, HD_EFILE, "%s: is already there and not empty: name another folder", path);
    if (!s) s = hd_folder_remove(to, err);
    return s ? s : hd_folder_make(to, NULL, err);
}

static hd_status finish(const char *from, const char *to, hd_status s, hd_err *err)
{
    if (!s) s = hd_folder_sync(from, err);
    if (!s && rename(from, to))
        s = hd_err_set(err, HD_EFILE, "%s: cannot put the folder there: %s", to, strerror(errno));
    if (s) hd_folder_remove(from, NULL);
    return s;
}

hd_status hd_import(const char *from, const char *to, hd_backend *backend, hd_err *err)
{
    char made[HD_PATH];
    hd_model_config c;
    hd_model_config_read(&c, from, "save_pretrained() of transformers", err);
    const hd_family *family = c.status ? NULL : family_of(&c);
    hd_status s = c.status;
    if (!s && !family->sentences) s = hd_family_sentence_refuse(from, err);
    if (!s) s = begin(made, to, err);
    if (!s) {
        const hd_passage p = {from, made, backend};
        s = family->import(&p, &c, err);
        if (!s) s = hd_family_carry(&p, err);
        s = finish(made, to, s, err);
    }
    hd_model_config_release(&c);
    return s;
}

/* The family that the model of a folder belongs to. */
static hd_status family_to(const hd_family **out, const char *folder, hd_err *err)
{
    hd_model_config c;
    hd_model_config_open(&c, folder, err);
    const char *task = hd_model_config_text(&c, "task");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (families[i].family->has(&c)) *out = families[i].family;
    if (!*out) hd_model_config_refuse(&c, "\"task\" is \"%.40s\": transformers has no such model", task);
    hd_model_config_release(&c);
    return c.status;
}

hd_status hd_export(const char *from, const char *to, hd_backend *backend, hd_err *err)
{
    char made[HD_PATH];
    const hd_family *family = NULL;
    hd_status s = family_to(&family, from, err);
    if (!s) s = begin(made, to, err);
    if (s) return s;
    const hd_passage p = {from, made, backend};
    s = family->export(&p, err);
    if (!s) s = hd_family_carry(&p, err);
    return finish(made, to, s, err);
}
