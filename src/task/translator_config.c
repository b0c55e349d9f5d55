/* config.json of a translator, written and read. */
#include "task/translator_config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/text.h"
#include "task/model_config.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_CONFIG = 1 << 20, MOST_LAYERS = 1000, MOST_SIZE = 1 << 20 };

/* X(key, field of hd_encdec_opt, least): whole numbers */
#define LAYERS(X)                          \
    X("encoder_layers", encoder_layers, 1) \
    X("decoder_layers", decoder_layers, 1)
#define SIZES(X)         \
    X("heads", heads, 1) \
    X("width", width, 1) \
    X("inner", inner, 1) \
    X("positions", positions, 2)
/* X(key, field) */
#define SWITCHES(X)               \
    X("tied", tied)               \
    X("pre_norm", pre_norm)       \
    X("output_bias", output_bias) \
    X("learned_positions", learned_positions)

/* Of what is not a plain Transformer. */
#define STAGES(X)         \
    X("encoder", encoder) \
    X("decoder", decoder)
/* X(key, field, names, how many) */
#define CHOICES(X)                                                       \
    X("context", recurrent.context, hd_context_names, HD_CONTEXTS)       \
    X("score", recurrent.score, hd_scoring_names, HD_SCORINGS)           \
    X("attention", recurrent.locality, hd_locality_names, HD_LOCALITIES) \
    X("query", recurrent.query, hd_asking_names, HD_ASKINGS)             \
    X("begin", recurrent.begin, hd_beginning_names, HD_BEGINNINGS)       \
    X("read", recurrent.read, hd_reading_names, HD_READINGS)
#define MORE_SIZES(X)                \
    X("window", recurrent.window, 0) \
    X("attention_heads", recurrent.heads, 0)
#define MORE_SWITCHES(X)                      \
    X("project", recurrent.project)           \
    X("feed_context", recurrent.feed_context) \
    X("skips", recurrent.skips)               \
    X("no_feedback", recurrent.no_feedback)   \
    X("relu", recurrent.relu)                 \
    X("reverse_source", reverse_source)

static const char transformer[] = "transformer", encdec[] = "encoder-decoder";

static bool plain(const hd_stages *s)
{
    return !s->count || (s->count == 1 && s->at[0].kind == HD_STAGE_transformer);
}

const char *hd_translator_model_name(const hd_encdec_opt *o)
{
    return plain(&o->encoder) && plain(&o->decoder) ? transformer : encdec;
}

/* -- writing -- */

#define PUT_SIZE(key, field, least)          hd_text_print(to, ",\n \"" key "\": %zu", (size_t)o->field);
#define PUT_SWITCH(key, field)               hd_text_print(to, ",\n \"" key "\": %s", o->field ? "true" : "false");
#define PUT_TEXT(key, value)                 hd_text_print(to, ",\n \"" key "\": \"%s\"", value);
#define PUT_STAGES(key, field)               PUT_TEXT(key, hd_stages_text(&o->field, text))
#define PUT_CHOICE(key, field, names, count) PUT_TEXT(key, names[o->field])

static void put_model(hd_text *to, const hd_encdec_opt *o)
{
    char text[HD_STAGES_TEXT];
    const char *name = hd_translator_model_name(o);
    PUT_TEXT("model", name)
    if (name == transformer) {
        LAYERS(PUT_SIZE)
    } else {
        STAGES(PUT_STAGES)
    }
    SIZES(PUT_SIZE)
    SWITCHES(PUT_SWITCH)
    if (name == encdec) {
        CHOICES(PUT_CHOICE)
        MORE_SIZES(PUT_SIZE)
        MORE_SWITCHES(PUT_SWITCH)
    }
    PUT_TEXT("activation", hd_unary_name(o->act))
    hd_text_print(to, ",\n \"eps\": %.9g", (double)o->eps);
}

hd_status hd_translator_config_save(const hd_translator_config *c, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_text all = {0}, *to = &all;
    hd_encdec_opt m = c->model;
    /* as a model has them that was made: stages say how many layers they have */
    m.encoder = hd_stages_resolved(&m.encoder, m.encoder_layers);
    m.decoder = hd_stages_resolved(&m.decoder, m.decoder_layers);
    m.encoder_layers = m.encoder.at[0].layers, m.decoder_layers = m.decoder.at[0].layers;
    hd_text_put(to, "{\"format\": 1,\n \"task\": \"translate\"");
    put_model(to, &m);
    hd_text_print(to, ",\n \"longest\": %zu", c->longest);
    PUT_TEXT("source_tokeniser", hd_tokeniser_name(c->tokeniser[0]))
    PUT_TEXT("target_tokeniser", hd_tokeniser_name(c->tokeniser[1]))
    hd_text_print(to, ",\n \"shared_tokeniser\": %s}\n", c->shared ? "true" : "false");
    hd_status s = hd_text_status(to, err);
    if (!s) s = hd_path(path, folder, "config.json", err);
    if (!s) s = hd_save_bytes(path, to->data, to->size, err);
    hd_text_release(to);
    return s;
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

static int choice_in(config *c, const char *key, const char *const *names, int count)
{
    const char *v = text_in(c, key);
    for (int i = 0; !c->status && i < count; i++)
        if (!strcmp(v, names[i])) return i;
    if (!c->status)
        c->status = hd_err_set(c->err, HD_EFORMAT, "%s: there is no %s \"%.40s\"", c->path, key, v);
    return 0;
}

static bool switch_in(config *c, const char *key)
{
    return json_is_true(member(c, key, is_switch, "true or false"));
}

static hd_stages stages_in(config *c, const char *key)
{
    hd_stages s = {0};
    hd_err why = {0};
    const char *text = text_in(c, key);
    if (!c->status && hd_stages_read(&s, text, &why))
        c->status = hd_err_set(c->err, HD_EFORMAT, "%s: \"%s\": %s", c->path, key, why.text);
    return s;
}

#define GET_SIZE(key, field, least)          o->field = (__typeof__(o->field))size_in(c, key, least);
#define GET_SWITCH(key, field)               o->field = switch_in(c, key);
#define GET_STAGES(key, field)               o->field = stages_in(c, key);
#define GET_CHOICE(key, field, names, count) o->field = (__typeof__(o->field))choice_in(c, key, names, count);

static void read_model(config *c, hd_encdec_opt *o)
{
    const char *model = text_in(c, "model");
    bool more = !strcmp(model, encdec);
    *o = (hd_encdec_opt){
        .encoder_layers = 1, .decoder_layers = 1, .sinusoid = {.halves = true}}; /* as Marian */
    if (!c->status && !more && strcmp(model, transformer))
        c->status = hd_err_set(c->err, HD_EFORMAT, "%s: \"model\" is \"%.40s\", not \"%s\" or \"%s\"",
                               c->path, model, transformer, encdec);
    if (more) {
        STAGES(GET_STAGES)
        CHOICES(GET_CHOICE)
        MORE_SIZES(GET_SIZE)
        MORE_SWITCHES(GET_SWITCH)
    } else {
        LAYERS(GET_SIZE)
    }
    SIZES(GET_SIZE)
    SWITCHES(GET_SWITCH)
    o->eps = (float)json_number_value(member(c, "eps", is_number, "a number"));
    const char *act = text_in(c, "activation");
    int found = hd_unary_find(act);
    if (!c->status && found < 0)
        c->status = hd_err_set(c->err, HD_EFORMAT, "%s: there is no activation \"%.40s\"", c->path, act);
    if (!c->status && (o->encoder_layers > MOST_LAYERS || o->decoder_layers > MOST_LAYERS))
        c->status = hd_err_set(c->err, HD_EFORMAT, "%s: more than %d layers", c->path, MOST_LAYERS);
    o->act = found < 0 ? HD_IDENTITY : (hd_unary)found;
}

static hd_tokeniser_kind tokeniser_in(config *c, const char *key)
{
    const char *name = text_in(c, key);
    int kind = c->status ? 0 : hd_tokeniser_find(name);
    if (kind < 0)
        c->status = hd_err_set(c->err, HD_EFORMAT, "%s: there is no tokeniser \"%.40s\"", c->path, name);
    return kind < 0 ? (hd_tokeniser_kind)0 : (hd_tokeniser_kind)kind;
}

static hd_status read_config(hd_translator_config *to, config *c)
{
    if (size_in(c, "format", 1) != 1 && !c->status)
        c->status = hd_err_set(c->err, HD_EFORMAT,
                               "%s: \"format\" is of a newer heed: this one reads format 1", c->path);
    const char *task = text_in(c, "task");
    if (!c->status && strcmp(task, "translate"))
        c->status = hd_task_refuse(c->path, task, "translate", c->err);
    read_model(c, &to->model);
    to->longest = size_in(c, "longest", 1);
    to->shared = switch_in(c, "shared_tokeniser");
    to->tokeniser[0] = tokeniser_in(c, "source_tokeniser");
    to->tokeniser[1] = tokeniser_in(c, "target_tokeniser");
    return c->status;
}

static hd_status no_model(const char *folder, hd_err *err)
{
    return access(folder, F_OK)
               ? hd_err_set(err, HD_EFILE, "%s: there is no such folder", folder)
               : hd_err_set(err, HD_EFILE, "%s: holds no model (no config.json): `heed train` makes one",
                            folder);
}

hd_status hd_translator_config_load(hd_translator_config *c, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_arena arena;
    json_t *object = NULL;
    hd_status s = hd_path(path, folder, "config.json", err);
    if (!s && access(path, F_OK)) return no_model(folder, err);
    hd_arena_init(&arena, hd_source_host, 0);
    if (!s) s = hd_json_read(&object, &arena, path, MOST_CONFIG, err);
    if (!s) s = read_config(c, &(config){path, object, err, HD_OK});
    hd_arena_release(&arena);
    return s;
}
