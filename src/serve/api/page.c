/* The page at / and the files it names (docs/page.md). Anybody may read them: what they ask needs a key where
   one is set. */
#include <string.h>

#include "serve/api/call.h"
#include "serve/page/files.h"

static const char folder[] = "/page/";

static void write_error(hd_text *to, int status, const char *text)
{
    hd_protocol_libretranslate.write_error(to, status, text);
}

static const char *type_of(const char *name)
{
    static const struct {
        const char *end, *type;
    } known[] = {{".html", "text/html; charset=utf-8"},
                 {".css", "text/css; charset=utf-8"},
                 {".js", "text/javascript; charset=utf-8"},
                 {".svg", "image/svg+xml"}};
    const char *end = strrchr(name, '.');
    for (size_t i = 0; end && i < sizeof known / sizeof *known; i++)
        if (!strcmp(end, known[i].end)) return known[i].type;
    return "application/octet-stream";
}

static void give(hd_call *c, const char *name)
{
    hd_text body = {0};
    const hd_page_file *f = hd_page_files;
    while (f->name && strcmp(f->name, name)) f++;
    if (!f->name) {
        hd_call_fail(c, 404, "Not found");
        return;
    }
    hd_text_add(&body, f->bytes, f->size);
    if (body.missed) {
        hd_text_release(&body);
        hd_call_fail(c, 503, "out of memory");
        return;
    }
    hd_request_put_header(
        c->request, "Content-Security-Policy",
        "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'");
    hd_request_put_header(c->request, "Cache-Control", "no-cache");
    hd_request_answer(c->request, 200, type_of(name), &body);
}

static void first(hd_call *c)
{
    give(c, "index.html");
}

static void file(hd_call *c)
{
    give(c, c->request->path + strlen(folder));
}

const hd_protocol hd_protocol_page = {
    .routes =
        (const hd_endpoint[]){
            {"GET", "/", first, NULL, true},
            {"GET", folder, file, NULL, true},
            {0},
        },
    .write_error = write_error,
    .no_key = 401,
    .wrong_key = 403,
};
