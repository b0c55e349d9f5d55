/* A thread that watches sockets for the server: it ends those whose time is over, however little by little
   they send (soon where nothing is sent any more), and notices who hangs up while the server itself does not
   listen (a suspended connection of libmicrohttpd has neither). */
#ifndef HD_SERVE_HTTP_WATCH_H
#define HD_SERVE_HTTP_WATCH_H

#include <stdint.h>

#include "base/status.h"

typedef struct hd_watch hd_watch;

/* gone(owner): the other side of a socket has hung up. Called in the thread of the watch, during which the
   owner stays what it is; must not call the watch. */
hd_status hd_watch_new(hd_watch **out, void (*gone)(void *owner), hd_err *err);
void hd_watch_free(hd_watch *w); /* accepts NULL */

/* A socket from now on; 0: no memory. To be taken out before it is closed. */
uint64_t hd_watch_add(hd_watch *w, int socket);
void hd_watch_remove(hd_watch *w, uint64_t id);
/* It is shut down in so many seconds; 0: not at all. */
void hd_watch_deadline(hd_watch *w, uint64_t id, double seconds);
/* The owner hears of the end of the other side, once; NULL: nobody does. */
void hd_watch_hear(hd_watch *w, uint64_t id, void *owner);

#endif
