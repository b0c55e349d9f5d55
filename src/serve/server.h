/* A server: models, who may ask, HTTP. The functions are those of one thread; the server has threads of its
   own.

       hd_server_open(&server, &opt, &err);
       ... hd_server_url(server) ...
       hd_server_drain(server, 30);
       hd_server_free(server);
*/
#ifndef HD_SERVE_SERVER_H
#define HD_SERVE_SERVER_H

#include "serve/engine/models.h"

typedef struct hd_server hd_server;

typedef struct hd_server_opt {
    hd_models models;     /* borrowed; opened by the server */
    hd_engine_opt engine; /* what all of them share */
    int listener;         /* a socket that listens already, and is taken over; below 0: there is none */
    const char *address;
    int port;                                /* 0: any that is free */
    const char *key_file;                    /* NULL: everybody may ask */
    bool public;                             /* other machines may ask without a key, too */
    const char *const *host, *const *origin; /* serve/gate.h */
    size_t hosts, origins;
    size_t body;     /* most bytes of a request */
    double deadline; /* seconds for a request */
    size_t texts;    /* most of a request */
    const char *lab; /* the folder with pages of experiments; NULL: there are none */
    size_t tokens;   /* most that a text is continued by */
    bool cage;       /* the process gives up what it does not need: serve/cage.h */
    double rate;     /* tokens a minute of a key, or of an address where there are none; 0: any number */
} hd_server_opt;

/* Opens the models, then listens. */
hd_status hd_server_open(hd_server **out, const hd_server_opt *opt, hd_err *err);
const char *hd_server_url(const hd_server *s); /* "http://127.0.0.1:8080" */
/* Opens models whose files have changed anew; requests that are there end with the old ones. One that cannot
   be opened stays as it was, and the log says why. */
void hd_server_reload(hd_server *s);
/* Frees old models that nobody uses any more. False: there are none left. */
bool hd_server_tidy(hd_server *s);
/* Takes no further requests and waits until those that are there are answered, at most so many seconds. */
void hd_server_drain(hd_server *s, double seconds);
void hd_server_free(hd_server *s); /* accepts NULL */

#endif
