/* The pages of `heed lab` under /lab/ (docs/lab.md). Anybody may read them, as the page at /. */
#include <string.h>

#include "serve/api/call.h"

static const char folder[] = "/lab/";

static void write_error(hd_text *to, int status, const char *text)
{
    hd_protocol_libretranslate.write_error(to, status, text);
}

static void give(hd_call *c, const char *name)
{
    const hd_shelved *f = hd_shelf_find(&c->desk->lab, name);
    if (!f) {
        hd_call_fail(c, 404,
                     c->desk->lab.count ? "Not found"
                                        : "The server was started without --lab: `heed lab --all --out "
                                          "DIR` makes the pages, --lab DIR shows them");
        return;
    }
    hd_call_give(c, name, f->bytes, f->size,
                 "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
                 "form-action 'none'; frame-ancestors 'none'");
}

static void file(hd_call *c)
{
    const char *name = c->request->path + strlen(folder);
    give(c, *name ? name : "index.html");
}

/* Without the slash the addresses in the pages would lead elsewhere. */
static void turn(hd_call *c)
{
    hd_text body = {0};
    hd_request_put_header(c->request, "Location", folder);
    hd_request_answer(c->request, 301, "text/plain; charset=utf-8", &body);
}

const hd_protocol hd_protocol_lab = {
    .routes =
        (const hd_endpoint[]){
            {"GET", "/lab", turn, NULL, true},
            {"GET", folder, file, NULL, true},
            {0},
        },
    .write_error = write_error,
    .no_key = 401,
    .wrong_key = 403,
};
