/* A server. Easy to get wrong: requests point to jobs, jobs to requests; engines end first, which wakes all
   that wait, and the desk, which both read, last. */
#include "serve/server.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/clock.h"
#include "serve/api/call.h"

enum {
    CONNECTIONS = 12000,
    HEAD_SECONDS = 20,
    BODY_SECONDS = 30,
    WRITE_SECONDS = 30,
    BEST = 16, /* translations of a text */
};

struct hd_server {
    hd_desk desk;
    hd_http *http;
    char url[HD_HTTP_ADDRESS + 16];
};

static hd_status listen_at(hd_server *s, const hd_server_opt *o, int *listener, hd_err *err)
{
    bool loopback = false;
    char address[HD_HTTP_ADDRESS];
    hd_status st = hd_http_listen(listener, o->address, o->port, &loopback, err);
    if (!st && !loopback && !s->desk.gate.keys && !o->public) {
        close(*listener);
        return hd_err_set(err, HD_EARG,
                          "--address %s: other machines could ask: give --key-file FILE, or --public to let "
                          "everybody",
                          o->address);
    }
    if (!st) snprintf(s->url, sizeof s->url, "http://%s", hd_http_address(*listener, address));
    return st;
}

static hd_status open_server(hd_server *s, const hd_server_opt *o, hd_err *err)
{
    int listener = -1;
    s->desk =
        (hd_desk){.models = o->models,
                  .gate = {.host = o->host, .hosts = o->hosts, .origin = o->origin, .origins = o->origins},
                  .quota = {.rate = o->rate},
                  .deadline = o->deadline,
                  .most_texts = o->texts,
                  .most_best = BEST,
                  .began = (int64_t)time(NULL),
                  .log = o->engine.log};
    hd_status st = o->key_file ? hd_gate_read(&s->desk.gate, o->key_file, err) : HD_OK;
    if (!st) st = listen_at(s, o, &listener, err);
    if (!st) st = hd_models_open(&s->desk.models, &o->engine, err);
    if (st && listener >= 0) close(listener);
    if (st) return st;
    hd_http_opt http = {.listener = listener,
                        .connections = CONNECTIONS,
                        .body = o->body,
                        .head_seconds = HEAD_SECONDS,
                        .body_seconds = BODY_SECONDS,
                        .write_seconds = WRITE_SECONDS,
                        .user = hd_api_user,
                        .log = &s->desk.log};
    http.user.context = &s->desk;
    return hd_http_open(&s->http, &http, err);
}

hd_status hd_server_open(hd_server **out, const hd_server_opt *opt, hd_err *err)
{
    hd_server *s = hd_mem_zero(sizeof *s);
    if (!s) return hd_err_nomem(err, sizeof *s);
    hd_status st = open_server(s, opt, err);
    if (st)
        hd_server_free(s);
    else
        *out = s;
    return st;
}

const char *hd_server_url(const hd_server *s)
{
    return s->url;
}

static size_t jobs_left(hd_server *s)
{
    size_t left = 0;
    for (size_t i = 0; i < s->desk.models.count; i++) {
        hd_engine_load l = hd_engine_now(s->desk.models.at[i].engine);
        left += l.waiting + l.running;
    }
    return left;
}

void hd_server_drain(hd_server *s, double seconds)
{
    const struct timespec tick = {.tv_nsec = 10000000};
    double end = hd_seconds() + seconds;
    atomic_store(&s->desk.draining, true);
    hd_http_quiet(s->http);
    while (hd_seconds() < end && (jobs_left(s) || hd_http_busy(s->http))) nanosleep(&tick, NULL);
}

void hd_server_free(hd_server *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->desk.models.count; i++)
        if (s->desk.models.at[i].engine) hd_engine_stop(s->desk.models.at[i].engine);
    hd_http_close(s->http);
    hd_models_close(&s->desk.models);
    hd_gate_release(&s->desk.gate);
    hd_mem_free(s);
}
