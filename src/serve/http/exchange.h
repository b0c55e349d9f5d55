/* A request on its way, between the daemon that speaks HTTP and the threads that compute. The lock guards
   what both sides touch: whether the connection is suspended, and the bytes of a stream. */
#ifndef HD_SERVE_HTTP_EXCHANGE_H
#define HD_SERVE_HTTP_EXCHANGE_H

#include <pthread.h>

#include "serve/http/http.h"

enum { HD_REPLY_HEADERS = 16 };

typedef struct hd_exchange {
    hd_request shown; /* first: users have its address */
    hd_http_user user;
    atomic_size_t holders; /* the daemon until it is over, and who computes */
    hd_http *http;
    void *connection;                    /* of the daemon */
    struct hd_exchange *before, *behind; /* in the daemon's list of those that are not over */
    hd_text uri, body;
    atomic_bool looked; /* its headers are complete */
    bool too_large;
    double began, first; /* when it came, and when the first piece of its stream did */

    pthread_mutex_t lock;
    bool suspended, called; /* the connection is; it was woken before it was */
    bool over;              /* the daemon is done with it: the connection may be another's */
    hd_text out;            /* of a stream, what is not sent yet, from byte `sent` on */
    size_t sent;
    bool full;       /* more than HD_STREAM_LOW has not been read since there was HD_STREAM_HIGH */
    bool ended, cut; /* the stream is complete; it is not, and will not be */

    /* the answer */
    bool answered, streams, waits;
    double until; /* of a stream: when it is to be over; 0: none */
    int status;
    const char *type;
    hd_text reply;
    struct {
        const char *name;
        char value[160];
    } header[HD_REPLY_HEADERS];
    size_t headers;
} hd_exchange;

/* NULL: no memory. uri: as it was sent. */
hd_exchange *hd_exchange_new(const hd_http_user *user, const char *uri);
/* The daemon is done: nobody waits any more, and it is dropped. */
void hd_exchange_over(hd_exchange *x);
/* False: it was woken meanwhile, and is to be begun again at once. Otherwise the connection is suspended. */
bool hd_exchange_suspend(hd_exchange *x);
/* Bytes of the stream into `to`: their number, 0 with the connection suspended, -1 at the end, -2 where it
   was cut. */
long hd_exchange_read(hd_exchange *x, char *to, size_t most);
void hd_exchange_gone(void *exchange); /* nobody is at the other end */

/* -- of the daemon -- */

void hd_daemon_suspend(void *connection);
void hd_daemon_resume(void *connection);
const char *hd_daemon_header(void *connection, const char *name);

#endif
