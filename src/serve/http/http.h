/* HTTP behind a narrow interface. One thread speaks with all connections and calls the functions of the
   user; whoever computes an answer meanwhile sits in another thread, never touches a socket and only calls
   hd_request_wake, hd_request_send and hd_request_end.

   A request is whole before it is begun: method, path, query, headers and body, within limits. It is answered
   at once (hd_request_answer), later (hd_request_wait, then hd_request_wake from any thread, after which it
   is begun again with `woken`), or as a stream. Who has gone away is noticed while an answer is computed:
   `gone` is set, and it is woken. */
#ifndef HD_SERVE_HTTP_HTTP_H
#define HD_SERVE_HTTP_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/text.h"

typedef struct hd_http hd_http;

typedef struct hd_request {
    uint64_t id;
    const char *method, *path; /* the path with its escapes resolved, without the query */
    const char *query;         /* as it was sent, behind the '?'; "": none */
    const char *body;          /* followed by a zero byte; never NULL */
    size_t body_size;
    uint64_t peer;    /* the address that asks, as a number */
    bool woken;       /* it was begun before, and waited */
    atomic_bool gone; /* nobody waits for the answer any more */
    void *of;         /* the user's */
} hd_request;

typedef struct hd_http_user {
    /* Once the headers are there: an answer now spares the body. */
    void (*look)(void *context, hd_request *r);
    /* Answers, begins a stream, or waits. */
    void (*begin)(void *context, hd_request *r);
    /* The answer is sent, or nobody waits for it: its status (0: none) and the seconds since the request
       came, and those to the first piece of a stream (0: it was none). */
    void (*over)(void *context, hd_request *r, int status, double seconds, double first);
    /* What `of` holds is freed: nobody holds the request any more. Any thread. */
    void (*release)(void *context, hd_request *r);
    void *context;
} hd_http_user;

typedef struct hd_http_opt {
    int listener;         /* a socket that listens; the server closes it in the end */
    size_t connections;   /* most of them */
    size_t body;          /* most bytes of a body */
    double head_seconds;  /* to the end of the headers, since the connection was made or the answer before */
    double body_seconds;  /* to the end of the body, since then */
    double write_seconds; /* for an answer; for a stream, after it should have ended */
    hd_http_user user;
    const hd_log *log;
} hd_http_opt;

/* A socket that listens at an address in numbers or "localhost"; port 0: any that is free. In *loopback
   whether nobody but this machine reaches it. */
hd_status hd_http_listen(int *out, const char *address, int port, bool *loopback, hd_err *err);
/* Whether nobody but this machine reaches a socket that listens. */
bool hd_http_is_loopback(int listener);
enum { HD_HTTP_ADDRESS = 80 };
/* "127.0.0.1:8080", as it is put into a URL. */
const char *hd_http_address(int listener, char to[HD_HTTP_ADDRESS]);

/* Takes the listener over, also when it fails. HD_EMISSING in a build without libmicrohttpd. */
hd_status hd_http_open(hd_http **out, const hd_http_opt *opt, hd_err *err);
void hd_http_quiet(hd_http *h); /* no further connections; those that are go on */
bool hd_http_busy(hd_http *h);  /* some request is not answered yet */
void hd_http_close(hd_http *h); /* all connections, whatever they wait for; accepts NULL */

/* -- in the thread of the server, from `look` and `begin` -- */

const char *hd_request_header(const hd_request *r, const char *name); /* NULL: it has none */
/* A header of the answer to come. */
void hd_request_put_header(hd_request *r, const char *name, const char *value);
/* Takes the text over. type: of the content; NULL: there is none. */
void hd_request_answer(hd_request *r, int status, const char *type, hd_text *body);
/* until: when the stream is to be over, on the clock of hd_seconds, however slowly it is read; 0: it has all
   the time as long as something is read now and then. */
void hd_request_stream(hd_request *r, int status, const char *type, double until);
void hd_request_wait(hd_request *r);

/* -- from any thread that holds it -- */

void hd_request_hold(hd_request *r);
void hd_request_drop(hd_request *r);
void hd_request_wake(hd_request *r);
/* Bytes of a stream. False: nobody reads them any more. */
bool hd_request_send(hd_request *r, const char *bytes, size_t count);
/* Whether so much waits to be read that no more should be sent: from HD_STREAM_HIGH bytes until they are
   HD_STREAM_LOW. */
enum { HD_STREAM_HIGH = 256 << 10, HD_STREAM_LOW = 64 << 10 };
bool hd_request_full(hd_request *r);
void hd_request_end(hd_request *r);

#endif
