/* The OpenAPI document, which describes all interfaces, with the names of the models and languages there are.
   LibreTranslate has its own at /spec, which its clients know by the title. */
#include <string.h>

#include "heed.h"
#include "serve/api/call.h"

extern const char hd_openapi[]; /* openapi.json, made by cmake/embed.cmake */

static bool embeds(const hd_served *m)
{
    return hd_engine_takes(m->engine, HD_JOB_EMBED);
}

static const char *name_of(const hd_served *m)
{
    return m->name;
}

static const char *source_of(const hd_served *m)
{
    return *m->source ? m->source : NULL;
}

static const char *target_of(const hd_served *m)
{
    return *m->target ? m->target : NULL;
}

static const char *embedder_of(const hd_served *m)
{
    return embeds(m) ? m->name : NULL;
}

static const struct {
    const char *mark; /* in the document, for a list of them */
    const char *(*of)(const hd_served *m);
} lists[] = {{"\"@models\"", name_of},
             {"\"@sources\"", source_of},
             {"\"@targets\"", target_of},
             {"\"@embedders\"", embedder_of}};

/* Each once; where there are none, a name that no model has. */
static void put_list(hd_text *to, const hd_models *m, const char *(*of)(const hd_served *m))
{
    hd_text list = {0};
    for (size_t i = 0; i < m->count; i++) {
        const char *name = of(&m->at[i]);
        bool before = !name;
        for (size_t j = 0; !before && j < i; j++) before = of(&m->at[j]) && !strcmp(of(&m->at[j]), name);
        if (!before) hd_member_text(&list, NULL, name);
    }
    hd_text_put(to, list.size ? list.data : "\"none\"");
    hd_text_release(&list);
}

static void write_document(hd_call *c, const char *title)
{
    hd_text out = {0};
    hd_text_print(&out, "{\"openapi\": \"3.1.0\", \"info\": {\"title\": \"%s\", \"version\": \"%s\"},", title,
                  heed_version());
    for (const char *at = hd_openapi + strcspn(hd_openapi, "{") + 1; *at;) {
        const char *mark = strstr(at, "\"@");
        hd_text_add(&out, at, mark ? (size_t)(mark - at) : strlen(at));
        if (!mark) break;
        at = strchr(mark + 1, '"') + 1;
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
            if (!strncmp(mark, lists[i].mark, strlen(lists[i].mark)))
                put_list(&out, &c->desk->models, lists[i].of);
    }
    hd_call_answer(c, &out);
}

static void document(hd_call *c)
{
    write_document(c, "heed");
}

static void spec(hd_call *c)
{
    write_document(c, "LibreTranslate");
}

static void write_error(hd_text *to, int status, const char *text)
{
    hd_protocol_libretranslate.write_error(to, status, text);
}

static const hd_endpoint routes[] = {
    {"GET", "/openapi.json", document, NULL, true},
    {"GET", "/spec", spec, NULL, true},
    {0},
};

const hd_protocol hd_protocol_document = {routes, write_error, .no_key = 401, .wrong_key = 401};
