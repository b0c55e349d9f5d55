/* LibreTranslate's interface but for translating (translation.c), with the words of its errors, which clients
   look for. */
#include "serve/api/libretranslate.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

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
const char *hd_libre_code(const char *code)
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

const char *hd_libre_name_of(const char *code, hd_libre_name *to)
{
    const char *name = hd_language_name(code);
    if (!name) name = hd_language_name(short_form(code));
    snprintf(to->text, sizeof to->text, "%s", name ? name : code);
    if (name && *name >= 'a' && *name <= 'z') to->text[0] = (char)(*name - 'a' + 'A');
    return to->text;
}

const char *hd_libre_known(const hd_models *m, int side, const char *code)
{
    const char *forms[] = {code, hd_libre_code(code), short_form(code)};
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
        if (!strcasecmp(m->at[i].source, source)) hd_member_text(to, NULL, hd_libre_code(m->at[i].target));
    hd_member_end(to, ']');
}

static void put_language(hd_text *to, const hd_models *m, const char *code)
{
    hd_libre_name name;
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "code", hd_libre_code(code));
    hd_member_text(to, "name", hd_libre_name_of(code, &name));
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

/* -- detect and the rest -- */

void hd_libre_put_guess(hd_text *to, const char *key, const hd_guessed *g)
{
    hd_member_begin(to, key, '{');
    hd_member_number(to, "confidence", g->confidence, 3);
    hd_member_text(to, "language", hd_libre_code(g->language));
    hd_member_end(to, '}');
}

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
    for (size_t i = 0; i < count; i++) hd_libre_put_guess(&out, NULL, &g[i]);
    hd_member_end(&out, ']');
    hd_call_answer(c, &out);
}

static void put_default(hd_text *to, const char *key, const char *code)
{
    hd_libre_name name;
    hd_member_begin(to, key, '{');
    hd_member_text(to, "code", hd_libre_code(code));
    hd_member_text(to, "name", hd_libre_name_of(code, &name));
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
    {"POST", "/translate", hd_translation_begin, hd_translation_finish, false},
    {"POST", "/detect", detect, NULL, false},
    {"GET", "/languages", languages, NULL, true},
    {"GET", "/frontend/settings", settings, NULL, true},
    {"GET", "/health", health, NULL, true},
    {"POST", "/suggest", refuse, NULL, false},
    {"POST", "/translate_file", refuse, NULL, false},
    {0},
};

const hd_protocol hd_protocol_libretranslate = {routes, write_error, .no_key = 400, .wrong_key = 403};
