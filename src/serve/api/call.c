/* A request while a protocol answers it: its route, who may ask, what is asked, and the way through an
   engine. Everything here runs in the thread of the HTTP server but job_done. */
#include "serve/api/call.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/system/clock.h"

static const hd_protocol *const protocols[] = {
#define X(name) &hd_protocol_##name,
    HD_PROTOCOL_LIST(X)
#undef X
};

enum { PROTOCOLS = sizeof protocols / sizeof *protocols };

/* -- answers -- */

void hd_call_fail(hd_call *c, int status, const char *format, ...)
{
    char text[600];
    hd_text body = {0};
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->protocol->write_error(&body, status, text);
    hd_request_answer(c->request, status, "application/json", &body);
}

void hd_call_answer(hd_call *c, hd_text *json)
{
    hd_text_put(json, "\n");
    if (json->missed) {
        hd_text_release(json);
        hd_call_fail(c, 503, "out of memory");
    } else {
        hd_request_answer(c->request, 200, "application/json", json);
    }
}

static const char *type_of(const char *name)
{
    static const struct {
        const char *end, *type;
    } known[] = {{".html", "text/html; charset=utf-8"},
                 {".css", "text/css; charset=utf-8"},
                 {".js", "text/javascript; charset=utf-8"},
                 {".json", "application/json"},
                 {".svg", "image/svg+xml"}};
    const char *end = strrchr(name, '.');
    for (size_t i = 0; end && i < sizeof known / sizeof *known; i++)
        if (!strcmp(end, known[i].end)) return known[i].type;
    return "application/octet-stream";
}

void hd_call_give(hd_call *c, const char *name, const void *bytes, size_t size, const char *policy)
{
    hd_text body = {0};
    hd_text_add(&body, bytes, size);
    if (body.missed) {
        hd_text_release(&body);
        hd_call_fail(c, 503, "out of memory");
        return;
    }
    hd_request_put_header(c->request, "Content-Security-Policy", policy);
    hd_request_put_header(c->request, "Cache-Control", "no-cache");
    hd_request_answer(c->request, 200, type_of(name), &body);
}

void *hd_call_take(hd_call *c, size_t count, size_t size)
{
    hd_err err = {0};
    void *block = hd_arena_array(&c->memory, count, size, &err);
    if (!block) hd_call_fail(c, 503, "%s", err.text);
    return block;
}

/* -- engines -- */

/* In the engine's thread. */
static void job_done(hd_job *j)
{
    hd_request *r = j->context;
    hd_request_wake(r);
    hd_request_drop(r);
}

static void put_retry(hd_call *c, double seconds)
{
    char text[32];
    snprintf(text, sizeof text, "%.0f", ceil(seconds));
    hd_request_put_header(c->request, "Retry-After", text);
    snprintf(text, sizeof text, "%.0f", 1e3 * seconds);
    hd_request_put_header(c->request, "retry-after-ms", text);
}

void hd_call_submit(hd_call *c, hd_engine *e, hd_job *j)
{
    double retry = 1;
    const bool goes_on = c->job; /* the call was let in with another job */
    if (!goes_on && atomic_load(&c->desk->draining)) {
        put_retry(c, retry);
        hd_call_fail(c, 503, "the server is shutting down");
        return;
    }
    if (!goes_on && !hd_quota_take(&c->desk->quota, c->owner, j->tokens, hd_seconds(), &retry)) {
        put_retry(c, retry);
        hd_call_fail(c, 429, "Slowdown: too many tokens a minute, try again in %.0f s", ceil(retry));
        return;
    }
    j->owner = c->owner;
    j->cancel = &c->request->gone;
    if (c->desk->deadline > 0 && !(j->deadline > 0)) j->deadline = hd_seconds() + c->desk->deadline;
    if (!j->done) j->done = job_done;
    j->context = c->request;
    c->job = j;
    hd_engine_hold(e); /* which may be the one it has: nobody is to think that it is free */
    if (c->engine) hd_engine_drop(c->engine);
    c->engine = e;
    hd_request_hold(c->request);
    if (hd_engine_submit(e, j, &retry)) {
        hd_request_wait(c->request);
        return;
    }
    c->job = NULL;
    hd_request_drop(c->request);
    put_retry(c, retry);
    hd_call_fail(c, 503, "Slowdown: too many requests wait, try again in %.0f s", retry);
}

int hd_call_status(const hd_call *c)
{
    static const int status[HD_JOB_ENDS] = {
        [HD_JOB_DONE] = 200, [HD_JOB_CANCELED] = 503, [HD_JOB_LATE] = 504, [HD_JOB_STOPPED] = 503};
    const hd_job *j = c->job;
    return j->end != HD_JOB_FAILED                                   ? status[j->end]
           : j->err.status == HD_EARG || j->err.status == HD_EFORMAT ? 400
           : j->err.status == HD_ELIMIT                              ? 413
                                                                     : 500;
}

const char *hd_call_reason(const hd_call *c)
{
    const hd_job *j = c->job;
    return j->end == HD_JOB_LATE      ? "the request took too long: --deadline of the server"
           : j->end == HD_JOB_STOPPED ? "the server is shutting down"
           : *j->err.text             ? j->err.text
                                      : "canceled";
}

bool hd_call_done(hd_call *c, bool goes_on)
{
    if (goes_on || c->job->end == HD_JOB_DONE) return true;
    hd_call_fail(c, hd_call_status(c), "%s", hd_call_reason(c));
    return false;
}

/* -- routes -- */

static bool leads_to(const hd_endpoint *r, const char *path)
{
    size_t size = strlen(r->path);
    return !strcmp(r->path, path) || (size > 1 && r->path[size - 1] == '/' && !strncmp(r->path, path, size));
}

/* Finds the route; methods: those that the path has, where it has not this one. */
static const hd_endpoint *find_route(hd_call *c, const char *method, char *methods, size_t room)
{
    bool head = !strcmp(method, "HEAD");
    *methods = 0;
    for (size_t p = 0; p < PROTOCOLS; p++) {
        const char *prefix = protocols[p]->prefix;
        if (prefix && !strncmp(c->request->path, prefix, strlen(prefix))) c->protocol = protocols[p];
        for (const hd_endpoint *r = protocols[p]->routes; r->path; r++) {
            if (!leads_to(r, c->request->path)) continue;
            c->protocol = protocols[p];
            if (!strcmp(r->method, head ? "GET" : method)) return r;
            size_t used = strlen(methods);
            snprintf(methods + used, room - used, "%s%s", !strcmp(r->method, "GET") ? "GET, HEAD" : r->method,
                     ", ");
        }
    }
    return NULL;
}

static void look(void *context, hd_request *r)
{
    hd_desk *desk = context;
    hd_call *c = hd_mem_zero(sizeof *c);
    char methods[128];
    if (!c) {
        hd_request_answer(r, 503, NULL, NULL);
        return;
    }
    r->of = c;
    *c = (hd_call){.desk = desk, .request = r, .protocol = protocols[0]};
    hd_arena_init(&c->memory, hd_allocator_host, 4096);
    c->route = find_route(c, r->method, methods, sizeof methods);
    const char *origin = hd_request_header(r, "Origin");
    if (!hd_gate_is_host(&desk->gate, hd_request_header(r, "Host")))
        hd_call_fail(c, 403, "this server is not called by that Host: start it with --host NAME");
    else if (strcmp(r->method, "GET") && strcmp(r->method, "HEAD") && !hd_gate_is_origin(&desk->gate, origin))
        hd_call_fail(c, 403, "pages of that Origin may not ask: start the server with --origin URL");
    else if (!c->route && !*methods)
        hd_call_fail(c, 404, "Not found");
    else if (!c->route) {
        snprintf(methods + strlen(methods), sizeof methods - strlen(methods), "OPTIONS");
        hd_request_put_header(r, "Allow", methods);
        if (!strcmp(r->method, "OPTIONS"))
            hd_request_answer(r, 204, NULL, NULL);
        else
            hd_call_fail(c, 405, "Method not allowed");
    }
    if (origin && desk->gate.origins && hd_gate_is_origin(&desk->gate, origin)) {
        hd_request_put_header(r, "Access-Control-Allow-Origin", origin);
        hd_request_put_header(r, "Access-Control-Allow-Headers", "Authorization, Content-Type");
        hd_request_put_header(r, "Access-Control-Allow-Methods", "GET, POST");
        hd_request_put_header(r, "Vary", "Origin");
    }
}

/* Whether a key was given that is known; if not, that is answered. */
static bool may_ask(hd_call *c)
{
    static const char bearer[] = "Bearer ";
    const hd_gate *g = &c->desk->gate;
    c->owner = c->request->peer;
    if (!g->keys || c->route->open) return true;
    const char *auth = hd_request_header(c->request, "Authorization");
    const char *key = hd_request_header(c->request, "X-Api-Key");
    if (auth && !strncasecmp(auth, bearer, sizeof bearer - 1)) key = auth + sizeof bearer - 1;
    if (!key || !*key) key = hd_params_text(c->params, "api_key");
    if (!key || !*key)
        hd_call_fail(c, c->protocol->no_key, "an API key is required");
    else if (!(c->owner = hd_gate_number(g, key)))
        hd_call_fail(c, c->protocol->wrong_key, "Invalid API key");
    else
        return true;
    return false;
}

static void handle(hd_call *c)
{
    hd_request *r = c->request;
    hd_err err = {0};
    if (r->woken) {
        if (c->streams || hd_call_done(c, false)) c->route->finish(c);
        return;
    }
    const char *type = r->body_size ? hd_request_header(r, "Content-Type") : NULL;
    if (hd_params_read(&c->params, &c->memory, type, r->query, r->body, r->body_size, &err))
        hd_call_fail(c, err.status == HD_ENOMEM ? 503 : 400, "%s", err.text);
    else if (may_ask(c))
        c->route->begin(c);
}

static void begin(void *context, hd_request *r)
{
    hd_desk *desk = context;
    pthread_mutex_lock(&desk->lock);
    handle(r->of);
    pthread_mutex_unlock(&desk->lock);
}

/* In the first place that is its own or nobody's. */
static void over(void *context, hd_request *r, int status, double seconds, double first)
{
    hd_desk *desk = context;
    const hd_call *c = r->of;
    if (!c || !c->route) return;
    for (size_t i = 0; i < HD_ROUTES; i++) {
        hd_traffic *t = &desk->traffic[i];
        if (t->route && t->route != c->route) continue;
        t->route = c->route;
        hd_histogram_add(&t->seconds[status / 100 % 6], HD_SECONDS_LEAST, seconds);
        if (first > 0) hd_histogram_add(&t->first, HD_SECONDS_LEAST, first);
        return;
    }
}

static void release(void *context, hd_request *r)
{
    hd_call *c = r->of;
    (void)context;
    if (c->release && c->own) c->release(c->own);
    if (c->engine) hd_engine_drop(c->engine);
    hd_arena_release(&c->memory);
    hd_mem_free(c);
}

const hd_http_user hd_api_user = {.look = look, .begin = begin, .over = over, .release = release};
