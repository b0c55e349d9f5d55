/* LibreTranslate's interface, with the words of its errors, which clients look for. A text of several lines
   is translated line by line, as `heed translate` does. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "serve/api/call.h"
#include "text/language.h"

static void write_error(hd_text *to, int status, const char *text)
{
    (void)status;
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "error", text);
    hd_text_put(to, "}\n");
}

/* -- languages -- */

/* Codes that clients use besides those that replies have. */
static const char *long_form(const char *code)
{
    static const char *const forms[][2] = {{"zh", "zh-Hans"}, {"zt", "zh-Hant"}, {"pb", "pt-BR"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcasecmp(code, forms[i][0])) return forms[i][1];
    return code;
}

static const char *short_form(const char *code)
{
    static const char *const forms[][2] = {{"zh-Hans", "zh"}, {"zh-Hant", "zt"}, {"pt-BR", "pb"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcasecmp(code, forms[i][0])) return forms[i][1];
    return code;
}

typedef struct language_name {
    char text[40];
} language_name;

/* "English" */
static const char *name_of(const char *code, language_name *to)
{
    const char *name = hd_language_name(code);
    if (!name) name = hd_language_name(short_form(code));
    snprintf(to->text, sizeof to->text, "%s", name ? name : code);
    if (name && *name >= 'a' && *name <= 'z') to->text[0] = (char)(*name - 'a' + 'A');
    return to->text;
}

/* As the models call it; the code itself where none does. */
static const char *known_form(const hd_models *m, int side, const char *code)
{
    const char *forms[] = {code, long_form(code), short_form(code)};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (hd_models_speak(m, side, forms[i])) return forms[i];
    return code;
}

/* Whether a language was named before number i on this side. */
static bool named_before(const hd_models *m, size_t i, int side)
{
    for (size_t j = 0; j < i; j++)
        if (!strcasecmp(side ? m->at[j].target : m->at[j].source, side ? m->at[i].target : m->at[i].source))
            return true;
    return false;
}

static void put_targets(hd_text *to, const hd_models *m, const char *source)
{
    hd_member_begin(to, "targets", '[');
    for (size_t i = 0; i < m->count; i++)
        if (!strcasecmp(m->at[i].source, source)) hd_member_text(to, NULL, long_form(m->at[i].target));
    hd_member_end(to, ']');
}

static void put_language(hd_text *to, const hd_models *m, const char *code)
{
    language_name name;
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "code", long_form(code));
    hd_member_text(to, "name", name_of(code, &name));
    put_targets(to, m, code);
    hd_member_end(to, '}');
}

/* All that are read, then those that are only written. */
static void languages(hd_call *c)
{
    const hd_models *m = &c->desk->models;
    hd_text out = {0};
    hd_member_begin(&out, NULL, '[');
    for (size_t i = 0; i < m->count; i++)
        if (*m->at[i].source && !named_before(m, i, 0)) put_language(&out, m, m->at[i].source);
    for (size_t i = 0; i < m->count; i++)
        if (*m->at[i].target && !hd_models_speak(m, 0, m->at[i].target) && !named_before(m, i, 1))
            put_language(&out, m, m->at[i].target);
    hd_member_end(&out, ']');
    hd_call_answer(c, &out);
}

/* -- texts -- */

typedef struct translation {
    hd_translate_job job; /* the engine's while it runs */
    size_t *first;        /* [texts + 1]: lines of each text */
    const char **text;    /* [texts] */
    size_t texts;
    bool list; /* the answer is a list, too */
    bool echo; /* what comes back is what was sent */
    size_t alternatives;
    hd_guessed detected; /* language NULL: it was not asked for */
} translation;

static void release_translation(void *own)
{
    hd_translations_release(&((translation *)own)->job.found);
}

/* The texts of q; false: that is answered. */
static bool read_texts(hd_call *c, translation *t)
{
    const json_t *q = json_object_get(c->params, "q");
    t->list = json_is_array(q);
    t->texts = t->list ? json_array_size(q) : 1;
    if (!t->texts || (!t->list && (!json_is_string(q) || !json_string_length(q))))
        return hd_call_fail(c, 400, "Invalid request: missing q parameter"), false;
    if (t->texts > c->desk->most_texts)
        return hd_call_fail(c, 400, "Invalid request: request exceeds text limit (%zu)", c->desk->most_texts),
               false;
    t->text = hd_call_take(c, t->texts, sizeof *t->text);
    for (size_t i = 0; t->text && i < t->texts; i++) {
        t->text[i] = json_string_value(t->list ? json_array_get(q, i) : q);
        if (!t->text[i]) return hd_call_fail(c, 400, "Invalid request: q must hold texts"), false;
    }
    return t->text != NULL;
}

/* Cuts the texts into lines; false: that is answered. */
static bool cut_lines(hd_call *c, translation *t)
{
    size_t count = 0, bytes = 0;
    for (size_t i = 0; i < t->texts; i++)
        for (const char *at = t->text[i]; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) count++;
    hd_line *line = hd_call_take(c, count, sizeof *line);
    t->first = line ? hd_call_take(c, t->texts + 1, sizeof *t->first) : NULL;
    if (!t->first) return false;
    t->job.line = line, t->job.lines = count;
    count = 0;
    for (size_t i = 0; i < t->texts; i++) {
        for (const char *at = t->text[i], *end; at; at = end ? end + 1 : NULL) {
            end = strchr(at, '\n');
            size_t size = end ? (size_t)(end - at) : strlen(at);
            bytes += size;
            line[count++] = (hd_line){at, size};
        }
        t->first[i + 1] = count;
    }
    t->job.job.tokens = bytes / 3 + count;
    return true;
}

/* -- translate -- */

static void put_joined(hd_text *to, const char *key, const translation *t, size_t text, size_t which)
{
    hd_text joined = {0};
    for (size_t i = t->first[text]; i < t->first[text + 1]; i++) {
        const hd_translation *f = &t->job.found.of[i];
        if (i > t->first[text]) hd_text_put(&joined, "\n");
        if (f->count) hd_text_put(&joined, f->hypothesis[which < f->count ? which : 0].text);
    }
    hd_member_bytes(to, key, joined.data ? joined.data : "", joined.size);
    if (joined.missed) to->missed = joined.missed;
    hd_text_release(&joined);
}

static void put_text(hd_text *to, const char *key, const translation *t, size_t text)
{
    if (t->echo)
        hd_member_text(to, key, t->text[text]);
    else
        put_joined(to, key, t, text, 0);
}

/* Further translations of a text: of each line the next one, as long as some line has one. */
static void put_alternatives(hd_text *to, const char *key, const translation *t, size_t text)
{
    size_t most = 0;
    for (size_t i = t->first[text]; !t->echo && i < t->first[text + 1]; i++)
        if (t->job.found.of[i].count > most) most = t->job.found.of[i].count;
    hd_member_begin(to, key, '[');
    for (size_t n = 1; n < most && n <= t->alternatives; n++) put_joined(to, NULL, t, text, n);
    hd_member_end(to, ']');
}

static void put_detected(hd_text *to, const char *key, const hd_guessed *g)
{
    hd_member_begin(to, key, '{');
    hd_member_number(to, "confidence", g->confidence, 3);
    hd_member_text(to, "language", long_form(g->language));
    hd_member_end(to, '}');
}

/* One thing for each text, in a list where texts were one. */
static void put_each(hd_text *to, const char *key, const translation *t,
                     void (*put)(hd_text *to, const char *key, const translation *t, size_t text))
{
    if (t->list) hd_member_begin(to, key, '[');
    for (size_t i = 0; i < t->texts; i++) put(to, t->list ? NULL : key, t, i);
    if (t->list) hd_member_end(to, ']');
}

static void put_detection(hd_text *to, const char *key, const translation *t, size_t text)
{
    (void)text;
    put_detected(to, key, &t->detected);
}

static void write_translation(hd_call *c, const translation *t)
{
    hd_text out = {0};
    hd_member_begin(&out, NULL, '{');
    if (t->alternatives) put_each(&out, "alternatives", t, put_alternatives);
    if (t->detected.language) put_each(&out, "detectedLanguage", t, put_detection);
    put_each(&out, "translatedText", t, put_text);
    hd_member_end(&out, '}');
    hd_call_answer(c, &out);
}

/* The model for what was asked; NULL: that is answered, or nothing is to be translated. */
static const hd_served *choose(hd_call *c, translation *t)
{
    const hd_models *m = &c->desk->models;
    const char *source = hd_params_text(c->params, "source"), *target = hd_params_text(c->params, "target");
    if (!source || !*source || !target || !*target)
        return hd_call_fail(c, 400, "Invalid request: missing %s parameter",
                            source && *source ? "target" : "source"),
               NULL;
    if (!strcasecmp(source, "auto")) {
        if (!hd_models_detect(m, (hd_line){t->text[0], strlen(t->text[0])}, &t->detected, 1))
            return hd_call_fail(c, 400, "auto is not supported"), NULL;
        source = t->detected.language;
    }
    source = known_form(m, 0, source), target = known_form(m, 1, target);
    bool knows_source = hd_models_speak(m, 0, source), knows_target = hd_models_speak(m, 1, target);
    t->echo = !strcasecmp(source, target) && (knows_source || knows_target);
    if (t->echo) return NULL;
    if (!knows_source || !knows_target)
        return hd_call_fail(c, 400, "%.40s is not supported", knows_source ? target : source), NULL;
    const hd_served *s = hd_models_pair(m, source, target);
    language_name a, b;
    if (!s)
        hd_call_fail(c, 400, "%s (%s) is not available as a target language from %s (%s)",
                     name_of(target, &a), target, name_of(source, &b), source);
    return s;
}

static void translate(hd_call *c)
{
    const json_t *form = json_object_get(c->params, "format");
    const char *format = hd_params_text(c->params, "format");
    long alternatives;
    translation *t = hd_call_take(c, 1, sizeof *t);
    if (!t) return;
    c->own = t, c->release = release_translation;
    if (!read_texts(c, t)) return;
    if ((form && !format && !json_is_null(form)) ||
        (format && *format && strcmp(format, "text") && strcmp(format, "html"))) {
        hd_call_fail(c, 400, "%.40s format is not supported", format ? format : "that");
        return;
    }
    if (format && !strcmp(format, "html")) {
        hd_call_fail(c, 400, "html format is not supported");
        return;
    }
    if (!hd_params_whole(c->params, "alternatives", -1000000, (long)c->desk->most_best - 1, 0,
                         &alternatives)) {
        hd_call_fail(c, 400, "Invalid request: alternatives must be a number of at most %zu",
                     c->desk->most_best - 1);
        return;
    }
    t->alternatives = alternatives > 0 ? (size_t)alternatives : 0;
    const hd_served *s = choose(c, t);
    if (!s) {
        if (t->echo) write_translation(c, t);
        return;
    }
    t->job.best = t->alternatives + 1;
    if (cut_lines(c, t)) hd_call_submit(c, s->engine, &t->job.job);
}

static void translated(hd_call *c)
{
    write_translation(c, c->own);
}

/* -- detect and the rest -- */

static void detect(hd_call *c)
{
    enum { MOST = 3 };
    const char *q = hd_params_text(c->params, "q");
    hd_guessed g[MOST];
    hd_text out = {0};
    if (!q || !*q) {
        hd_call_fail(c, 400, "Invalid request: missing q parameter");
        return;
    }
    size_t count = hd_models_detect(&c->desk->models, (hd_line){q, strlen(q)}, g, MOST);
    if (!count || g[0].confidence <= 0) g[0] = (hd_guessed){"en", 0}, count = 1;
    hd_member_begin(&out, NULL, '[');
    for (size_t i = 0; i < count; i++) put_detected(&out, NULL, &g[i]);
    hd_member_end(&out, ']');
    hd_call_answer(c, &out);
}

static void put_default(hd_text *to, const char *key, const char *code)
{
    language_name name;
    hd_member_begin(to, key, '{');
    hd_member_text(to, "code", long_form(code));
    hd_member_text(to, "name", name_of(code, &name));
    hd_member_end(to, '}');
}

static void settings(hd_call *c)
{
    const hd_models *m = &c->desk->models;
    const char *source = "en", *target = "en";
    for (size_t i = m->count; i--;)
        if (*m->at[i].source) source = m->at[i].source, target = m->at[i].target;
    hd_text out = {0};
    hd_member_begin(&out, NULL, '{');
    hd_member_number(&out, "charLimit", -1, 3);
    hd_member_count(&out, "frontendTimeout", 500);
    hd_member_flag(&out, "apiKeys", c->desk->gate.keys > 0);
    hd_member_flag(&out, "keyRequired", c->desk->gate.keys > 0);
    hd_member_flag(&out, "suggestions", false);
    hd_member_flag(&out, "filesTranslation", false);
    hd_member_begin(&out, "supportedFilesFormat", '[');
    hd_member_end(&out, ']');
    hd_member_begin(&out, "language", '{');
    put_default(&out, "source", source);
    put_default(&out, "target", target);
    hd_text_put(&out, "}}");
    hd_call_answer(c, &out);
}

static void health(hd_call *c)
{
    hd_text out = {0};
    if (atomic_load(&c->desk->draining)) {
        hd_call_fail(c, 503, "the server is shutting down");
        return;
    }
    hd_text_put(&out, "{\"status\": \"ok\"}");
    hd_call_answer(c, &out);
}

static void refuse(hd_call *c)
{
    hd_call_fail(c, 403, "this server does not take that");
}

static const hd_endpoint routes[] = {
    {"POST", "/translate", translate, translated, false},
    {"POST", "/detect", detect, NULL, false},
    {"GET", "/languages", languages, NULL, true},
    {"GET", "/frontend/settings", settings, NULL, true},
    {"GET", "/health", health, NULL, true},
    {"POST", "/suggest", refuse, NULL, false},
    {"POST", "/translate_file", refuse, NULL, false},
    {0},
};

const hd_protocol hd_protocol_libretranslate = {routes, write_error, .no_key = 400, .wrong_key = 403};
