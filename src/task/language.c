/* The folder of a language model. */
#include "task/language.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "task/model_config.h"
#include "task/translator.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_CONFIG = 1 << 20, MOST_SIZE = 1 << 20, MOST_BUCKETS = 1 << 28, MOST_LAYERS = 1000 };

/* X(key, field of hd_lm_opt, least, most): whole numbers of config.json */
#define SIZES(X)                           \
    X("order", order, 1, 1000)             \
    X("buckets", buckets, 0, MOST_BUCKETS) \
    X("layers", layers, 1, MOST_LAYERS)    \
    X("heads", heads, 1, 1024)             \
    X("width", width, 1, MOST_SIZE)        \
    X("inner", inner, 0, 4 * MOST_SIZE)    \
    X("context", context, 1, MOST_SIZE)    \
    X("vocabulary", vocab, 1, 64 * MOST_SIZE)
/* X(key, field) */
#define SWITCHES(X)           \
    X("post_norm", post_norm) \
    X("tied", tied)
/* X(key, field, most) */
#define REALS(X)       \
    X("add_k", k, 1e9) \
    X("dropout", dropout, 0.999)

static hd_status tokeniser_path(char to[HD_PATH], const char *folder, hd_tokeniser_kind kind, hd_err *err)
{
    return hd_path(to, folder, hd_tokeniser_file(kind, HD_OF_BOTH), err);
}

/* -- writing -- */

static void put_real(hd_text *t, const char *key, double x)
{
    char digits[40];
    snprintf(digits, sizeof digits, "%.9g", x);
    char *comma = strchr(digits, ','); /* the program around us may have set a locale */
    if (comma) *comma = '.';
    hd_text_print(t, ",\n \"%s\": %s", key, digits);
}

static hd_status save_config(const hd_language *l, const char *folder, hd_err *err)
{
    const hd_lm_opt *o = &l->lm->opt;
    char path[HD_PATH];
    hd_text c = {0};
    hd_text_print(&c, "{\"format\": 1,\n \"task\": \"lm\",\n \"model\": \"%s\"", hd_lm_names[o->kind]);
#define X(key, field, least, most) hd_text_print(&c, ",\n \"" key "\": %zu", (size_t)o->field);
    SIZES(X)
#undef X
#define X(key, field) hd_text_print(&c, ",\n \"" key "\": %s", o->field ? "true" : "false");
    SWITCHES(X)
#undef X
#define X(key, field, most) put_real(&c, key, (double)o->field);
    REALS(X)
#undef X
    hd_text_print(&c, ",\n \"smoothing\": \"%s\",\n \"activation\": \"%s\",\n \"tokeniser\": \"%s\"}\n",
                  hd_smoothing_names[o->smoothing], hd_unary_name(o->act),
                  hd_tokeniser_name(hd_tokeniser_kind_of(l->tokeniser)));
    hd_status s = hd_text_status(&c, err);
    if (!s) s = hd_path(path, folder, "config.json", err);
    if (!s) s = hd_save_bytes(path, c.data, c.size, err);
    hd_text_release(&c);
    return s;
}

hd_status hd_language_save(const hd_language *l, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_status s = tokeniser_path(path, folder, hd_tokeniser_kind_of(l->tokeniser), err);
    if (!s) s = hd_tokeniser_save(l->tokeniser, path, err);
    return s ? s : save_config(l, folder, err);
}

hd_status hd_language_publish(const hd_language *l, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    static const hd_meta meta[] = {{"format", "pt"}};
    if (!l->lm->params) return l->lm->type->save(l->lm, folder, err);
    hd_status s = hd_path(path, folder, "model.safetensors", err);
    return s ? s : hd_params_save(l->lm->params, path, meta, 1, err);
}

hd_status hd_language_remove(const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_status s = hd_translator_remove(folder, err);
    if (!s) s = hd_path(path, folder, HD_NGRAM_FILE, err);
    return s ? s : hd_folder_remove(path, err);
}

/* -- reading -- */

typedef struct config {
    const char *path;
    const json_t *object;
    hd_err *err;
    hd_status status;
} config;

#define REFUSE(c, ...) ((c)->status = hd_err_set((c)->err, HD_EFORMAT, __VA_ARGS__))

static const json_t *member(config *c, const char *key, bool fits, const json_t *v, const char *what)
{
    if (c->status) return NULL;
    if (!v) return REFUSE(c, "%s: \"%s\" is missing: %s", c->path, key, what), NULL;
    if (!fits) return REFUSE(c, "%s: \"%s\" is not %s", c->path, key, what), NULL;
    return v;
}

static long long whole_in(config *c, const char *key, long long least, long long most)
{
    const json_t *v = json_object_get(c->object, key);
    v = member(c, key, json_is_integer(v), v, "a whole number");
    long long n = v ? json_integer_value(v) : least;
    if (v && (n < least || n > most)) REFUSE(c, "%s: \"%s\" is %lld, which no model has", c->path, key, n);
    return c->status ? least : n;
}

static double real_in(config *c, const char *key, double most)
{
    const json_t *v = json_object_get(c->object, key);
    v = member(c, key, json_is_number(v), v, "a number");
    double x = v ? json_number_value(v) : 0;
    if (v && !(x >= 0 && x <= most)) REFUSE(c, "%s: \"%s\" is %g, which no model has", c->path, key, x);
    return c->status ? 0 : x;
}

static bool switch_in(config *c, const char *key)
{
    const json_t *v = json_object_get(c->object, key);
    return json_is_true(member(c, key, json_is_boolean(v), v, "true or false"));
}

static const char *text_in(config *c, const char *key)
{
    const json_t *v = json_object_get(c->object, key);
    v = member(c, key, json_is_string(v), v, "a text");
    return v ? json_string_value(v) : "";
}

static int name_in(config *c, const char *key, const char *const *names, int count)
{
    const char *v = text_in(c, key);
    for (int i = 0; !c->status && i < count; i++)
        if (!strcmp(names[i], v)) return i;
    if (!c->status) REFUSE(c, "%s: there is no %s \"%.40s\"", c->path, key, v);
    return 0;
}

static void read_model(config *c, hd_lm_opt *o)
{
    *o = (hd_lm_opt){0};
    if (whole_in(c, "format", 1, 1 << 20) != 1 && !c->status)
        REFUSE(c, "%s: \"format\" is of a newer heed: this one reads format 1", c->path);
    const char *task = text_in(c, "task");
    if (!c->status && strcmp(task, "lm")) c->status = hd_task_refuse(c->path, task, "lm", c->err);
    o->kind = (hd_lm_kind)name_in(c, "model", hd_lm_names, HD_LM_KINDS);
#define X(key, field, least, most) o->field = (__typeof__(o->field))whole_in(c, key, least, most);
    SIZES(X)
#undef X
#define X(key, field) o->field = switch_in(c, key);
    SWITCHES(X)
#undef X
#define X(key, field, most) o->field = (__typeof__(o->field))real_in(c, key, most);
    REALS(X)
#undef X
    o->smoothing = (hd_smoothing)name_in(c, "smoothing", hd_smoothing_names, HD_SMOOTHINGS);
    const char *act = text_in(c, "activation");
    int found = c->status ? 0 : hd_unary_find(act);
    if (found < 0) REFUSE(c, "%s: there is no activation \"%.40s\"", c->path, act);
    o->act = found < 0 ? HD_IDENTITY : (hd_unary)found;
    if (!c->status && o->kind == HD_LM_gpt && o->width % (size_t)o->heads)
        REFUSE(c, "%s: a width of %zu cannot be split over %d heads", c->path, o->width, o->heads);
}

static void open_tokeniser(config *c, const char *folder, hd_lm_opt *o, hd_tokeniser **tokeniser)
{
    char path[HD_PATH];
    const char *name = text_in(c, "tokeniser");
    int kind = c->status ? 0 : hd_tokeniser_find(name);
    if (kind < 0) REFUSE(c, "%s: there is no tokeniser \"%.40s\"", c->path, name);
    if (!c->status) c->status = tokeniser_path(path, folder, (hd_tokeniser_kind)kind, c->err);
    if (!c->status) c->status = hd_tokeniser_open(tokeniser, (hd_tokeniser_kind)kind, path, c->err);
    if (c->status) return;
    if (hd_tokeniser_size(*tokeniser) != o->vocab)
        REFUSE(c, "%s: the vocabulary of %zu pieces is not that of %s, which has %zu", c->path, o->vocab,
               path, hd_tokeniser_size(*tokeniser));
    hd_special special = hd_tokeniser_special(*tokeniser);
    o->start = special.start, o->end = special.end, o->unk = special.unk;
}

static hd_status no_model(const char *folder, hd_err *err)
{
    return access(folder, F_OK)
               ? hd_err_set(err, HD_EFILE, "%s: there is no such folder", folder)
               : hd_err_set(err, HD_EFILE, "%s: holds no model (no config.json): `heed train` makes one",
                            folder);
}

hd_status hd_language_describe(const char *folder, hd_lm_opt *opt, hd_tokeniser **tokeniser, hd_err *err)
{
    char path[HD_PATH];
    hd_arena arena;
    json_t *object = NULL;
    hd_status s = hd_path(path, folder, "config.json", err);
    if (!s && access(path, F_OK)) return no_model(folder, err);
    *tokeniser = NULL;
    hd_arena_init(&arena, hd_source_host, 0);
    if (!s) s = hd_json_read(&object, &arena, path, MOST_CONFIG, err);
    config c = {path, object, err, s};
    if (!s) read_model(&c, opt);
    if (!c.status) open_tokeniser(&c, folder, opt, tokeniser);
    if (c.status) {
        hd_tokeniser_free(*tokeniser);
        *tokeniser = NULL;
    }
    hd_arena_release(&arena);
    return c.status;
}

static hd_status load_weights(hd_language *l, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_safetensors *file = NULL;
    if (!l->lm->params) return l->lm->type->load(l->lm, folder, err);
    hd_status s = hd_path(path, folder, "model.safetensors", err);
    if (!s && access(path, F_OK))
        return hd_err_set(err, HD_EFILE, "%s: not there: the training saved no model yet", path);
    if (!s) s = hd_safetensors_open(&file, path, err);
    if (!s) s = hd_params_load(l->lm->params, file, err);
    hd_safetensors_free(file);
    return s;
}

hd_status hd_language_open(hd_language **out, const char *folder, hd_backend *backend, hd_err *err)
{
    hd_lm_opt opt;
    hd_language *l = hd_mem_zero(sizeof *l);
    if (!l) return hd_err_nomem(err, sizeof *l);
    l->backend = backend;
    hd_status s = hd_language_describe(folder, &opt, &l->tokeniser, err);
    if (!s) s = hd_lm_new(&l->lm, &opt, backend, false, err);
    if (!s) s = load_weights(l, folder, err);
    if (s)
        hd_language_free(l);
    else
        *out = l;
    return s;
}

void hd_language_free(hd_language *l)
{
    if (!l) return;
    hd_lm_free(l->lm);
    hd_tokeniser_free(l->tokeniser);
    hd_mem_free(l);
}
