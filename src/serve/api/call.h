/* A request while a protocol answers it. A protocol is a table of routes and the way it writes errors: one
   file and one line of HD_PROTOCOL_LIST. */
#ifndef HD_SERVE_API_CALL_H
#define HD_SERVE_API_CALL_H

#include <pthread.h>

#include "serve/engine/models.h"
#include "serve/gate.h"
#include "serve/http/http.h"
#include "serve/parse/params.h"
#include "serve/quota.h"
#include "serve/shelf.h"
#include "view/draw/json_members.h"

enum { HD_ROUTES = 64 };

/* Of a route: how long its answers took, by the first digit of their status (0: none was sent). */
typedef struct hd_traffic {
    const struct hd_endpoint *route; /* NULL: of no further one */
    hd_histogram seconds[6];
    hd_histogram first; /* to the first piece of a stream */
} hd_traffic;

/* What all calls of a server share. */
typedef struct hd_desk {
    pthread_mutex_t lock; /* the HTTP thread's while it handles a request; who exchanges engines takes it */
    hd_models models;
    hd_gate gate;
    hd_quota quota; /* the HTTP thread's, as is the next */
    hd_traffic traffic[HD_ROUTES];
    double deadline;      /* seconds for a request */
    size_t most_texts;    /* of a request */
    size_t most_best;     /* translations of a text */
    size_t most_tokens;   /* that a text may be continued by */
    int64_t began;        /* when the server began, as seconds of Unix */
    atomic_bool draining; /* the server ends: nothing new is begun */
    hd_shelf lab;         /* pages of experiments; {0}: there are none */
    hd_log log;
} hd_desk;

typedef struct hd_call hd_call;

typedef struct hd_endpoint {
    const char *method, *path;  /* a path that ends in a slash has anything behind it */
    void (*begin)(hd_call *c);  /* answers, or hands a job to an engine */
    void (*finish)(hd_call *c); /* the job has ended; NULL: it has none */
    bool open;                  /* needs no key */
} hd_endpoint;

typedef struct hd_protocol {
    const hd_endpoint *routes; /* ends with one without path */
    /* The body of an error. */
    void (*write_error)(hd_text *to, int status, const char *text);
    const char *prefix;    /* of paths whose errors are its own, though it has none of them; NULL: none */
    int no_key, wrong_key; /* statuses */
} hd_protocol;

/* In this order routes are looked for; the first one answers what nobody has. */
#define HD_PROTOCOL_LIST(X) \
    X(libretranslate) X(openai) X(llama) X(explain) X(page) X(lab) X(metrics) X(tei) X(document)

#define X(name) extern const hd_protocol hd_protocol_##name;
HD_PROTOCOL_LIST(X)
#undef X

struct hd_call {
    hd_desk *desk;
    hd_request *request;
    const hd_protocol *protocol;
    const hd_endpoint *route;
    hd_arena memory;
    json_t *params; /* an object */
    hd_job *job;    /* that was submitted; NULL: none */
    hd_engine *engine;
    uint64_t owner;             /* who asks: of the key, or else of the address */
    bool streams;               /* `finish` is called as soon as there is something, though the job goes on */
    void *own;                  /* the route's, in `memory` */
    void (*release)(void *own); /* what is not in memory; NULL: nothing */
};

/* The functions that the server calls. */
extern const hd_http_user hd_api_user; /* its context is the desk */

void hd_call_fail(hd_call *c, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Takes a text in JSON over. */
void hd_call_answer(hd_call *c, hd_text *json);
/* Answers with a file by its ending: .html, .css, .js, .json or .svg; policy: what its page may load. */
void hd_call_give(hd_call *c, const char *name, const void *bytes, size_t size, const char *policy);
/* Zeroed memory that lasts as long as the call; NULL: the call has failed. */
void *hd_call_take(hd_call *c, size_t count, size_t size);
/* Hands the job, which must last as long as the call, to an engine and waits; or the call fails. A job with a
   `done` of its own wakes the request and drops it. A call may have one job after another: the deadline of a
   further one is set already. */
void hd_call_submit(hd_call *c, hd_engine *e, hd_job *j);

/* What the end of the job means: a status of HTTP, and why it is no 200. */
int hd_call_status(const hd_call *c);
const char *hd_call_reason(const hd_call *c);
/* Of a job that has ended, or else goes on: whether there is something to answer. If not, that is answered.
 */
bool hd_call_done(hd_call *c, bool goes_on);

#endif
