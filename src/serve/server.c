/* A server. Easy to get wrong: requests point to jobs, jobs to requests; engines end first, which wakes all
   that wait, and the desk, which both read, last. */
#include "serve/server.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/clock.h"
#include "serve/api/call.h"
#include "serve/cage.h"

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
    hd_engine **old; /* that others took the place of */
    size_t olds, room;
};

static hd_status listen_at(hd_server *s, const hd_server_opt *o, int *listener, hd_err *err)
{
    bool loopback = o->listener >= 0 && hd_http_is_loopback(o->listener);
    char address[HD_HTTP_ADDRESS];
    hd_status st = HD_OK;
    *listener = o->listener;
    if (o->listener < 0) st = hd_http_listen(listener, o->address, o->port, &loopback, err);
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

/* Before the thread that speaks with others starts; those of the engines enter by themselves. */
static void enter_cage(hd_server *s)
{
    const hd_log *log = &s->desk.log;
    size_t n = s->desk.models.count;
    const char **folder = hd_mem_array(n, sizeof *folder);
    bool cpu = folder;
    for (size_t i = 0; cpu && i < n; i++) {
        folder[i] = s->desk.models.at[i].folder;
        cpu = hd_engine_on_cpu(s->desk.models.at[i].engine);
    }
    if (cpu) {
        bool files = hd_cage_files(folder, n, log), calls = hd_cage_calls(log);
        if (files && calls) hd_log_say(log, HD_DEBUG, "no other files, no other programs from now on");
    } else {
        hd_log_say(log, HD_INFO, "without Landlock and seccomp: drivers of a device need files and calls");
    }
    hd_mem_free(folder);
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
                  .most_tokens = o->tokens,
                  .began = (int64_t)time(NULL),
                  .log = o->engine.log};
    pthread_mutex_init(&s->desk.lock, NULL);
    hd_engine_opt engine = o->engine;
    engine.cage = o->cage;
    hd_status st = o->key_file ? hd_gate_read(&s->desk.gate, o->key_file, err) : HD_OK;
    if (!st && o->lab) st = hd_shelf_open(&s->desk.lab, o->lab, err);
    if (!st) st = listen_at(s, o, &listener, err);
    if (!st) st = hd_models_open(&s->desk.models, &engine, err);
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
    if (o->cage) enter_cage(s);
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

static bool is_used(hd_engine *e)
{
    hd_engine_load l = hd_engine_now(e);
    return l.waiting || l.running || hd_engine_held(e);
}

bool hd_server_tidy(hd_server *s)
{
    const size_t before = s->olds;
    for (size_t i = 0; i < s->olds;) {
        if (is_used(s->old[i])) {
            i++;
            continue;
        }
        hd_engine_free(s->old[i]);
        s->old[i] = s->old[--s->olds];
    }
    if (s->olds < before) hd_mem_return_freed();
    return s->olds;
}

static void exchange(hd_server *s, hd_served *m, hd_engine *e, uint64_t stamp)
{
    hd_engine *old = m->engine;
    pthread_mutex_lock(&s->desk.lock);
    m->engine = e, m->stamp = stamp;
    pthread_mutex_unlock(&s->desk.lock);
    s->old[s->olds++] = old;
}

void hd_server_reload(hd_server *s)
{
    const hd_log *log = &s->desk.log;
    for (size_t i = 0; i < s->desk.models.count; i++) {
        hd_served *m = &s->desk.models.at[i];
        hd_err err = {0};
        uint64_t stamp;
        if (!hd_served_changed(m)) continue;
        hd_status st = hd_mem_reserve(&s->old, &s->room, s->olds + 1, sizeof *s->old, &err);
        hd_engine *e = st ? NULL : hd_served_reopen(m, &stamp, &err);
        if (e) exchange(s, m, e, stamp);
        hd_log_say(log, e ? HD_INFO : HD_WARN, "%s: %s", m->name, e ? "opened anew" : err.text);
    }
}

static size_t jobs_left(hd_server *s)
{
    size_t left = 0;
    for (size_t i = 0; i < s->desk.models.count; i++) {
        hd_engine_load l = hd_engine_now(s->desk.models.at[i].engine);
        left += l.waiting + l.running;
    }
    for (size_t i = 0; i < s->olds; i++) left += is_used(s->old[i]);
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
    for (size_t i = 0; i < s->olds; i++) hd_engine_stop(s->old[i]);
    hd_http_close(s->http);
    for (size_t i = 0; i < s->olds; i++) hd_engine_free(s->old[i]);
    hd_mem_free(s->old);
    hd_models_close(&s->desk.models);
    hd_gate_release(&s->desk.gate);
    hd_shelf_release(&s->desk.lab);
    pthread_mutex_destroy(&s->desk.lock);
    hd_mem_free(s);
}
