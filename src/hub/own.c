/* The object "heed" of a config.json that transformers reads. */
#include "hub/own.h"

#include <unistd.h>

#include "text/tokenizer_find.h"

static const char *const keys[HD_PLACES] = {
    [HD_OF_SOURCE] = "source_tokenizer", [HD_OF_TARGET] = "target_tokenizer", [HD_OF_BOTH] = "tokenizer"};

/* -- reading -- */

hd_model_config hd_family_own(const hd_model_config *c)
{
    return hd_model_config_inside(c, HD_OWN_KEY);
}

void hd_family_own_end(hd_model_config *c, const hd_model_config *own)
{
    hd_model_config_leave(c, own);
}

/* Whether it is said and there: what transformers saved again keeps the key, but not the file. */
static bool open_own(hd_model_config *c, const char *folder, hd_tokenizer_place place, hd_tokenizer **t)
{
    char path[HD_PATH];
    bool found = false;
    hd_model_config own = hd_family_own(c);
    if (hd_model_config_has(&own, keys[place])) {
        hd_tokenizer_kind kind = hd_model_config_tokenizer_kind(&own, keys[place]);
        if (!own.status) own.status = hd_path(path, folder, hd_tokenizer_file(kind, place), c->err);
        found = !own.status && !access(path, F_OK);
        if (found) own.status = hd_tokenizer_open(t, kind, path, c->err);
    }
    hd_family_own_end(c, &own);
    return found;
}

void hd_family_open_tokenizer(hd_model_config *c, const char *folder, hd_tokenizer **t)
{
    if (c->status || open_own(c, folder, HD_OF_BOTH, t) || c->status) return;
    c->status = hd_tokenizer_open_any(t, folder, false, c->err);
}

void hd_family_open_tokenizers(hd_model_config *c, const char *folder, hd_tokenizer *t[2])
{
    if (c->status) return;
    if (open_own(c, folder, HD_OF_SOURCE, &t[0])) {
        if (!c->status && !open_own(c, folder, HD_OF_TARGET, &t[1]))
            hd_model_config_refuse(c, "\"%s\" has a source_tokenizer, but no target_tokenizer in the folder",
                                   HD_OWN_KEY);
        return;
    }
    hd_family_open_tokenizer(c, folder, &t[0]);
    t[1] = t[0];
}

/* -- writing -- */

void hd_family_own_tokenizers(json_t *own, hd_tokenizer *const t[2])
{
    const bool shared = t[0] == t[1];
    for (int side = 0; side < (shared ? 1 : 2); side++) {
        hd_tokenizer_kind kind = hd_tokenizer_kind_of(t[side]);
        if (shared ? hd_tokenizer_learns(kind) : hd_tokenizer_kind_of(t[0]) != HD_TOKENIZER_marian)
            hd_json_set(own,
                        keys[shared ? HD_OF_BOTH
                             : side ? HD_OF_TARGET
                                    : HD_OF_SOURCE],
                        json_string(hd_tokenizer_name(kind)));
    }
}
