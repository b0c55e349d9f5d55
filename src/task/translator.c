/* The folder of a translator. */
#include "task/translator.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/stepper.h"
#include "train/checkpoint.h"
#include "train/published.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_CONFIG = 1 << 20, MOST_LAYERS = 1000, MOST_SIZE = 1 << 20 };

/* X(key, field of hd_encdec_opt, least): whole numbers of config.json */
#define SIZES(X)                           \
    X("encoder_layers", encoder_layers, 1) \
    X("decoder_layers", decoder_layers, 1) \
    X("heads", heads, 1)                   \
    X("width", width, 1)                   \
    X("inner", inner, 1)                   \
    X("positions", positions, 2)
/* X(key, field) */
#define SWITCHES(X)               \
    X("tied", tied)               \
    X("pre_norm", pre_norm)       \
    X("output_bias", output_bias) \
    X("learned_positions", learned_positions)

static hd_status tokeniser_path(char to[HD_PATH], const char *folder, bool shared, int side,
                                hd_tokeniser_kind kind, hd_err *err)
{
    hd_tokeniser_place place = shared ? HD_OF_BOTH : side ? HD_OF_TARGET : HD_OF_SOURCE;
    return hd_path(to, folder, hd_tokeniser_file(kind, place), err);
}

/* -- writing -- */

static hd_status save_text(const char *folder, const char *name, const hd_text *t, hd_err *err)
{
    char path[HD_PATH];
    hd_status s = hd_text_status(t, err);
    if (!s) s = hd_path(path, folder, name, err);
    return s ? s : hd_save_bytes(path, t->data, t->size, err);
}

static hd_status save_config(const hd_translator *t, const char *folder, hd_err *err)
{
    const hd_encdec_opt *o = &t->model->opt;
    hd_text c = {0};
    hd_text_put(&c, "{\"format\": 1,\n \"task\": \"translate\",\n \"model\": \"transformer\"");
#define X(key, field, least) hd_text_print(&c, ",\n \"" key "\": %zu", (size_t)o->field);
    SIZES(X)
#undef X
#define X(key, field) hd_text_print(&c, ",\n \"" key "\": %s", o->field ? "true" : "false");
    SWITCHES(X)
#undef X
    hd_text_print(&c, ",\n \"activation\": \"%s\",\n \"eps\": %.9g", hd_unary_name(o->act), (double)o->eps);
    hd_text_print(&c, ",\n \"longest\": %zu,\n \"source_tokeniser\": \"%s\",\n \"target_tokeniser\": \"%s\"",
                  t->longest, hd_tokeniser_name(hd_tokeniser_kind_of(t->tokeniser[0])),
                  hd_tokeniser_name(hd_tokeniser_kind_of(t->tokeniser[1])));
    hd_text_print(&c, ",\n \"shared_tokeniser\": %s}\n",
                  t->tokeniser[0] == t->tokeniser[1] ? "true" : "false");
    hd_status s = save_text(folder, "config.json", &c, err);
    hd_text_release(&c);
    return s;
}

hd_status hd_translator_save(const hd_translator *t, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    bool shared = t->tokeniser[0] == t->tokeniser[1];
    hd_status s = hd_path(path, folder, HD_PUBLISHED_KEPT, err);
    if (!s) s = hd_folder_remove(path, err); /* of an earlier run */
    for (int side = 0; !s && side < (shared ? 1 : 2); side++) {
        s = tokeniser_path(path, folder, shared, side, hd_tokeniser_kind_of(t->tokeniser[side]), err);
        if (!s) s = hd_tokeniser_save(t->tokeniser[side], path, err);
    }
    return s ? s : save_config(t, folder, err);
}

hd_status hd_translator_remove(const char *folder, hd_err *err)
{
    static const char *const fixed[] = {"train", "config.json", "model.safetensors"};
    char path[HD_PATH];
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < sizeof fixed / sizeof *fixed; i++) {
        s = hd_path(path, folder, fixed[i], err);
        if (!s) s = hd_folder_remove(path, err);
    }
    for (int i = 0; !s && i < 4 * HD_TOKENISERS; i++) {
        s = tokeniser_path(path, folder, i & 1, i >> 1 & 1, (hd_tokeniser_kind)(i >> 2), err);
        if (!s) s = hd_folder_remove(path, err);
    }
    return s;
}

hd_status hd_translator_publish(const hd_translator *t, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    static const hd_meta meta[] = {{"format", "pt"}};
    hd_status s = hd_path(path, folder, "model.safetensors", err);
    return s ? s : hd_params_save(&t->model->params, path, meta, 1, err);
}

/* -- reading -- */

typedef struct config {
    const char *path;
    const json_t *object;
    hd_err *err;
    hd_status status;
} config;

static const json_t *member(config *c, const char *key, bool (*fits)(const json_t *), const char *what)
{
    const json_t *v = c->status ? NULL : json_object_get(c->object, key);
    if (c->status || (v && fits(v))) return v;
    c->status = hd_err_set(c->err, HD_EFORMAT, v ? "%s: \"%s\" is not %s" : "%s: \"%s\" is missing: %s",
                           c->path, key, what);
    return NULL;
}

static bool is_integer(const json_t *v)
{
    return json_is_integer(v);
}
static bool is_switch(const json_t *v)
{
    return json_is_boolean(v);
}
static bool is_text(const json_t *v)
{
    return json_is_string(v);
}
static bool is_number(const json_t *v)
{
    return json_is_number(v);
}

static size_t size_in(config *c, const char *key, long long least)
{
    const json_t *v = member(c, key, is_integer, "a whole number");
    long long n = v ? json_integer_value(v) : least;
    if (v && (n < least || n > MOST_SIZE))
        c->status = hd_err_set(c->err, HD_EFORMAT, "%s: \"%s\" is %lld, which no model has", c->path, key, n);
    return (size_t)(c->status ? least : n);
}

static const char *text_in(config *c, const char *key)
{
    const json_t *v = member(c, key, is_text, "a text");
    return v ? json_string_value(v) : "";
}

static void expect(config *c, const char *key, const char *value)
{
    const char *v = text_in(c, key);
    if (!c->status && strcmp(v, value))
        c->status =
            hd_err_set(c->err, HD_EFORMAT, "%s: \"%s\" is \"%.40s\", not \"%s\"", c->path, key, v, value);
}

static void read_model(config *c, hd_encdec_opt *o, size_t *longest)
{
    *o = (hd_encdec_opt){.sinusoid = {.halves = true}}; /* as Marian has them */
    if (size_in(c, "format", 1) != 1 && !c->status)
        c->status = hd_err_set(c->err, HD_EFORMAT,
                               "%s: \"format\" is of a newer heed: this one reads format 1", c->path);
    expect(c, "task", "translate");
    expect(c, "model", "transformer");
#define X(key, field, least) o->field = (__typeof__(o->field))size_in(c, key, least);
    SIZES(X)
#undef X
#define X(key, field) o->field = json_is_true(member(c, key, is_switch, "true or false"));
    SWITCHES(X)
#undef X
    *longest = size_in(c, "longest", 1);
    o->eps = (float)json_number_value(member(c, "eps", is_number, "a number"));
    const char *act = text_in(c, "activation");
    int found = hd_unary_find(act);
    if (!c->status && found < 0)
        c->status = hd_err_set(c->err, HD_EFORMAT, "%s: there is no activation \"%.40s\"", c->path, act);
    if (!c->status && (o->encoder_layers > MOST_LAYERS || o->decoder_layers > MOST_LAYERS))
        c->status = hd_err_set(c->err, HD_EFORMAT, "%s: more than %d layers", c->path, MOST_LAYERS);
    o->act = found < 0 ? HD_IDENTITY : (hd_unary)found;
}

static void open_tokenisers(config *c, const char *folder, hd_tokeniser *tokeniser[2])
{
    char path[HD_PATH];
    bool shared = json_is_true(member(c, "shared_tokeniser", is_switch, "true or false"));
    const char *name[2] = {text_in(c, "source_tokeniser"), text_in(c, "target_tokeniser")};
    for (int side = 0; !c->status && side < 2; side++) {
        int kind = hd_tokeniser_find(name[side]);
        if (kind < 0) {
            c->status =
                hd_err_set(c->err, HD_EFORMAT, "%s: there is no tokeniser \"%.40s\"", c->path, name[side]);
        } else if (side && shared) {
            tokeniser[1] = tokeniser[0];
        } else {
            c->status = tokeniser_path(path, folder, shared, side, (hd_tokeniser_kind)kind, c->err);
            if (!c->status)
                c->status = hd_tokeniser_open(&tokeniser[side], (hd_tokeniser_kind)kind, path, c->err);
        }
    }
}

static hd_status no_model(const char *folder, hd_err *err)
{
    return access(folder, F_OK)
               ? hd_err_set(err, HD_EFILE, "%s: there is no such folder", folder)
               : hd_err_set(err, HD_EFILE, "%s: holds no model (no config.json): `heed train` makes one",
                            folder);
}

hd_status hd_translator_describe(const char *folder, hd_encdec_opt *opt, hd_tokeniser *tokeniser[2],
                                 size_t *longest, hd_err *err)
{
    char path[HD_PATH];
    hd_arena arena;
    json_t *object = NULL;
    hd_status s = hd_path(path, folder, "config.json", err);
    if (!s && access(path, F_OK)) return no_model(folder, err);
    tokeniser[0] = tokeniser[1] = NULL;
    hd_arena_init(&arena, hd_source_host, 0);
    if (!s) s = hd_json_read(&object, &arena, path, MOST_CONFIG, err);
    config c = {path, object, err, s};
    if (!s) read_model(&c, opt, longest);
    if (!c.status) open_tokenisers(&c, folder, tokeniser);
    if (c.status) {
        hd_tokeniser_free_pair(tokeniser);
    } else {
        opt->source_vocab = hd_tokeniser_size(tokeniser[0]);
        opt->target_vocab = hd_tokeniser_size(tokeniser[1]);
    }
    hd_arena_release(&arena);
    return c.status;
}

static hd_status load_best(hd_translator *t, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_safetensors *file = NULL;
    hd_status s = hd_path(path, folder, "model.safetensors", err);
    if (!s && access(path, F_OK))
        return hd_err_set(err, HD_EFILE, "%s: not there: the training saved no model yet", path);
    if (!s) s = hd_safetensors_open(&file, path, err);
    if (!s) s = hd_params_load(&t->model->params, file, err);
    hd_safetensors_free(file);
    return s;
}

hd_status hd_translator_open(hd_translator **out, const char *folder, hd_backend *backend, hd_weights which,
                             hd_err *err)
{
    hd_encdec_opt opt;
    hd_translator *t = hd_mem_zero(sizeof *t);
    if (!t) return hd_err_nomem(err, sizeof *t);
    hd_status s = hd_translator_describe(folder, &opt, t->tokeniser, &t->longest, err);
    if (!s) s = hd_encdec_new(&t->model, backend, &opt, false, err);
    if (!s)
        s = which == HD_WEIGHTS_LAST ? hd_checkpoint_weights(folder, &t->model->params, err)
                                     : load_best(t, folder, err);
    if (!s) s = hd_encdec_prepare(t->model, HD_DECODING, err);
    if (s)
        hd_translator_free(t);
    else
        *out = t;
    return s;
}

void hd_translator_free(hd_translator *t)
{
    if (!t) return;
    hd_encdec_free(t->model);
    hd_tokeniser_free_pair(t->tokeniser);
    hd_mem_free(t);
}
