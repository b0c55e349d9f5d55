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

static void give(hd_call *c, const char *name)
{
    const hd_page_file *f = hd_page_files;
    while (f->name && strcmp(f->name, name)) f++;
    if (!f->name) {
        hd_call_fail(c, 404, "Not found");
        return;
    }
    hd_call_give(c, name, f->bytes, f->size,
                 "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
                 "form-action 'none'; frame-ancestors 'none'");
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
