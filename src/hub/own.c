/* The object "heed" of a config.json that transformers reads. */
#include "hub/own.h"

#include <unistd.h>

#include "text/tokenizer_find.h"

static const char HEED[] = "heed";

static const char *const keys[HD_PLACES] = {
    [HD_OF_SOURCE] = "source_tokenizer", [HD_OF_TARGET] = "target_tokenizer", [HD_OF_BOTH] = "tokenizer"};

/* -- reading -- */

hd_model_config hd_family_own(const hd_model_config *c)
{
    hd_model_config own = *c;
    own.object = json_object_get(c->object, HEED);
    return own;
}

void hd_family_own_end(hd_model_config *c, const hd_model_config *own)
{
    if (!c->status) c->status = own->status;
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
                                   HEED);
        return;
    }
    hd_family_open_tokenizer(c, folder, &t[0]);
    t[1] = t[0];
}

/* -- writing -- */

static void put_key(hd_text *own, const char *key)
{
    hd_text_print(own, "%s\"%s\": ", own->size ? ", " : "", key);
}

static void put_tokenizer(hd_text *own, hd_tokenizer_place place, const hd_tokenizer *t)
{
    put_key(own, keys[place]);
    hd_text_print(own, "\"%s\"", hd_tokenizer_name(hd_tokenizer_kind_of(t)));
}

void hd_family_own_tokenizer(hd_text *own, const hd_tokenizer *t)
{
    if (hd_tokenizer_learns(hd_tokenizer_kind_of(t))) put_tokenizer(own, HD_OF_BOTH, t);
}

void hd_family_own_tokenizers(hd_text *own, hd_tokenizer *const t[2])
{
    if (t[0] == t[1]) {
        hd_family_own_tokenizer(own, t[0]);
    } else if (hd_tokenizer_kind_of(t[0]) != HD_TOKENIZER_marian) {
        put_tokenizer(own, HD_OF_SOURCE, t[0]);
        put_tokenizer(own, HD_OF_TARGET, t[1]);
    }
}

void hd_family_own_size(hd_text *own, const char *key, size_t n)
{
    put_key(own, key);
    hd_text_print(own, "%zu", n);
}

void hd_family_own_switch(hd_text *own, const char *key, bool value)
{
    put_key(own, key);
    hd_text_put(own, value ? "true" : "false");
}

void hd_family_own_put(hd_text *to, hd_text *own)
{
    if (own->size) hd_text_print(to, ",\n \"%s\": {%s}", HEED, own->data);
    if (own->missed) to->missed = own->missed;
    hd_text_release(own);
}
