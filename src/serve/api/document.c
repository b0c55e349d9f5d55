/* The OpenAPI document, which describes all interfaces, with the names of the models and languages there are.
   LibreTranslate has its own at /spec, which its clients know by the title. */
#include <string.h>

#include "heed.h"
#include "serve/api/tei.h"
#include "serve/page/files.h"
#include "show/live/inspection.h"
#include "task/language/chat/form.h"

extern const char hd_openapi[]; /* openapi.json, made by cmake/embed.cmake */

/* -- what a model is named for: NULL, not for that -- */

static const char *name_if(const hd_served *m, bool good)
{
    return good ? m->name : NULL;
}

static const char *model_of(const hd_served *m)
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
    return name_if(m, hd_engine_takes(m->engine, HD_JOB_EMBED));
}

static const char *writer_of(const hd_served *m)
{
    return name_if(m, hd_engine_takes(m->engine, HD_JOB_GENERATE));
}

static const char *chatter_of(const hd_served *m)
{
    hd_chat_form form = {0};
    hd_err none = {0};
    const hd_tokenizer *t = hd_engine_model(m->engine)->tokenizer[0];
    bool good = writer_of(m) && !hd_chat_form_open(&form, m->folder, NULL, t, &none);
    hd_chat_form_release(&form);
    return name_if(m, good);
}

static const char *reader_of(const hd_served *m)
{
    return name_if(m, hd_engine_model(m->engine)->tokenizer[0]);
}

static const char *filler_of(const hd_served *m)
{
    return name_if(m, hd_tei_fills(m));
}

static const char *labeler_of(const hd_served *m)
{
    return name_if(m, hd_engine_takes(m->engine, HD_JOB_CLASSIFY));
}

static const char *reranker_of(const hd_served *m)
{
    return name_if(m, hd_tei_reranks(m));
}

static const char *explained_of(const hd_served *m)
{
    hd_inspection_kind kind;
    hd_err none = {0};
    return name_if(m, !hd_inspection_kind_of(&kind, hd_engine_model(m->engine), &none));
}

static const struct {
    const char *mark; /* in the document, for a list of them */
    const char *(*of)(const hd_served *m);
} lists[] = {{"@models", model_of},       {"@sources", source_of},     {"@targets", target_of},
             {"@embedders", embedder_of}, {"@writers", writer_of},     {"@chatters", chatter_of},
             {"@readers", reader_of},     {"@fillers", filler_of},     {"@labelers", labeler_of},
             {"@rerankers", reranker_of}, {"@explained", explained_of}};

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

static void put_files(hd_text *to)
{
    for (const hd_page_file *f = hd_page_files; f->name; f++)
        hd_text_print(to, "%s\"%s\"", f == hd_page_files ? "" : ", ", f->name);
}

/* -- limits -- */

static size_t alternatives(const hd_desk *d)
{
    size_t least = d->most_best;
    for (size_t i = 0; i < d->models.count; i++) {
        size_t beam = hd_engine_options(d->models.at[i].engine)->translate.search.beam;
        if (beam < least) least = beam;
    }
    return least ? least - 1 : 0;
}

static size_t texts(const hd_desk *d)
{
    return d->most_texts;
}

static size_t tokens(const hd_desk *d)
{
    return d->most_tokens;
}

/* The last token that all language models have. */
static size_t vocabulary(const hd_desk *d)
{
    size_t least = INT32_MAX;
    for (size_t i = 0; i < d->models.count; i++) {
        const hd_served *m = &d->models.at[i];
        const hd_tokenizer *t = writer_of(m) ? hd_engine_model(m->engine)->tokenizer[0] : NULL;
        if (t && hd_tokenizer_size(t) < least) least = hd_tokenizer_size(t);
    }
    return least - 1;
}

static const struct {
    const char *mark; /* in the document, for a number */
    size_t (*of)(const hd_desk *d);
} limits[] = {
    {"@alternatives", alternatives}, {"@texts", texts}, {"@tokens", tokens}, {"@vocabulary", vocabulary}};

/* -- the document -- */

static bool is_mark(const char *at, size_t size, const char *mark)
{
    return strlen(mark) == size && !memcmp(at, mark, size);
}

static void put_mark(hd_text *to, const hd_desk *d, const char *at, size_t size)
{
    if (is_mark(at, size, "@files")) put_files(to);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (is_mark(at, size, lists[i].mark)) put_list(to, &d->models, lists[i].of);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (is_mark(at, size, limits[i].mark)) hd_text_print(to, "%zu", limits[i].of(d));
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
        const size_t size = strcspn(mark + 1, "\"");
        put_mark(&out, c->desk, mark + 1, size);
        at = mark + size + 2;
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
