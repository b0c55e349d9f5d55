/* Folders that become other folders, whole or not at all. */
#include "hub/import.h"

#include <string.h>

#include "base/file/staging.h"
#include "hub/family.h"
#include "hub/sentence.h"

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

hd_status hd_import(const char *from, const char *to, hd_backend *backend, hd_err *err)
{
    hd_staging made;
    hd_model_config c;
    hd_model_config_read(&c, from, "save_pretrained() of transformers", err);
    const hd_family *family = c.status ? NULL : family_of(&c);
    hd_status s = c.status;
    if (!s && !family->sentences) s = hd_family_sentence_refuse(from, err);
    if (!s) s = hd_staging_begin(&made, to, err);
    if (!s) {
        const hd_passage p = {from, made.temp, backend};
        s = family->import(family, &p, &c, err);
        if (!s) s = hd_family_carry(&p, err);
        if (!s) s = hd_model_config_seal(made.temp, err); /* with the files that were carried over, too */
        s = hd_staging_end(&made, s, err);
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
        if (families[i].family->has(families[i].family, &c)) *out = families[i].family;
    if (!*out) hd_model_config_refuse(&c, "\"task\" is \"%.40s\": transformers has no such model", task);
    hd_model_config_release(&c);
    return c.status;
}

hd_status hd_export(const char *from, const char *to, hd_backend *backend, hd_err *err)
{
    hd_staging made;
    const hd_family *family = NULL;
    hd_status s = family_to(&family, from, err);
    if (!s) s = hd_staging_begin(&made, to, err);
    if (s) return s;
    const hd_passage p = {from, made.temp, backend};
    s = family->export(family, &p, err);
    if (!s) s = hd_family_carry(&p, err);
    return hd_staging_end(&made, s, err);
}
