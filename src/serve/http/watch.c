/* A thread that watches sockets. Easy to get wrong: a socket that is closed has its number again in the next
   connection, so places have serial numbers, and all of it happens under one lock. */
#include "serve/http/watch.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/clock.h"

enum { TICK_MS = 200, EVENTS = 64, HALF_SECONDS = 1 }; /* the last: for who sends nothing any more */

typedef struct place {
    uint32_t serial; /* of who is here; counts on when one leaves */
    int socket;      /* -1: nobody is */
    size_t next;     /* free place behind this one, plus 1 */
    double deadline; /* 0: none */
    void *owner;     /* who hears; NULL: nobody */
    bool half;       /* the other side sends nothing any more */
} place;

struct hd_watch {
    pthread_mutex_t lock;
    pthread_t thread;
    bool started, stop;
    int poll, call;
    void (*gone)(void *owner);
    place *at;
    size_t count, room, free; /* free: the first free place, plus 1 */
};

static uint64_t id_of(const hd_watch *w, const place *p)
{
    return (uint64_t)p->serial << 32 | (uint64_t)(p - w->at + 1);
}

/* With the lock held; NULL: it has left. */
static place *find(hd_watch *w, uint64_t id)
{
    size_t i = (size_t)(id & UINT32_MAX);
    place *p = i && i <= w->count ? &w->at[i - 1] : NULL;
    return p && p->socket >= 0 && p->serial == (uint32_t)(id >> 32) ? p : NULL;
}

/* Who has sent its last byte is given little time: libmicrohttpd may not notice that nothing comes. */
static void set_deadline(place *p, double at)
{
    double most = p->half ? hd_seconds() + HALF_SECONDS : at;
    p->deadline = at > most ? most : at;
}

static void end_late(hd_watch *w)
{
    double now = hd_seconds();
    for (size_t i = 0; i < w->count; i++) {
        place *p = &w->at[i];
        if (p->socket < 0 || !(p->deadline > 0) || p->deadline > now) continue;
        p->deadline = 0;
        shutdown(p->socket, SHUT_RDWR);
    }
}

static void *watch(void *context)
{
    hd_watch *w = context;
    struct epoll_event event[EVENTS];
    double last = hd_seconds();
    for (bool stop = false; !stop;) {
        int n = epoll_wait(w->poll, event, EVENTS, TICK_MS);
        pthread_mutex_lock(&w->lock);
        for (int i = 0; i < n; i++) {
            place *p = find(w, event[i].data.u64);
            void *owner = p ? p->owner : NULL;
            if (!p) continue;
            p->half = true, p->owner = NULL;
            set_deadline(p, p->deadline);
            if (owner) w->gone(owner);
        }
        if (hd_seconds() - last >= TICK_MS / 1e3) last = hd_seconds(), end_late(w);
        stop = w->stop;
        pthread_mutex_unlock(&w->lock);
    }
    return NULL;
}

hd_status hd_watch_new(hd_watch **out, void (*gone)(void *owner), hd_err *err)
{
    hd_watch *w = hd_mem_zero(sizeof *w);
    if (!w) return hd_err_nomem(err, sizeof *w);
    pthread_mutex_init(&w->lock, NULL);
    w->gone = gone;
    w->poll = epoll_create1(EPOLL_CLOEXEC);
    w->call = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event called = {.events = EPOLLIN}; /* id 0: nobody's */
    w->started = w->poll >= 0 && w->call >= 0 && !epoll_ctl(w->poll, EPOLL_CTL_ADD, w->call, &called) &&
                 !pthread_create(&w->thread, NULL, watch, w);
    if (!w->started)
        return hd_watch_free(w),
               hd_err_set(err, HD_ELIMIT, "the thread that watches connections cannot start");
    *out = w;
    return HD_OK;
}

void hd_watch_free(hd_watch *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_mutex_unlock(&w->lock);
    if (w->started && !eventfd_write(w->call, 1)) pthread_join(w->thread, NULL);
    if (w->poll >= 0) close(w->poll);
    if (w->call >= 0) close(w->call);
    pthread_mutex_destroy(&w->lock);
    hd_mem_free(w->at);
    hd_mem_free(w);
}

/* Once: a socket that has hung up would be reported for ever. */
static void listen_to(hd_watch *w, const place *p, int how)
{
    struct epoll_event e = {.events = EPOLLONESHOT | EPOLLRDHUP, .data.u64 = id_of(w, p)};
    epoll_ctl(w->poll, how, p->socket, &e);
}

uint64_t hd_watch_add(hd_watch *w, int socket)
{
    uint64_t id = 0;
    pthread_mutex_lock(&w->lock);
    if (!w->free && w->count < UINT32_MAX &&
        !hd_mem_reserve(&w->at, &w->room, w->count + 1, sizeof *w->at, NULL)) {
        w->at[w->count++] = (place){.socket = -1};
        w->free = w->count;
    }
    if (w->free) {
        place *p = &w->at[w->free - 1];
        w->free = p->next;
        *p = (place){.serial = p->serial, .socket = socket};
        id = id_of(w, p);
        listen_to(w, p, EPOLL_CTL_ADD);
    }
    pthread_mutex_unlock(&w->lock);
    return id;
}

void hd_watch_remove(hd_watch *w, uint64_t id)
{
    pthread_mutex_lock(&w->lock);
    place *p = find(w, id);
    if (p) {
        epoll_ctl(w->poll, EPOLL_CTL_DEL, p->socket, NULL);
        *p = (place){.serial = p->serial + 1, .socket = -1, .next = w->free};
        w->free = (size_t)(p - w->at) + 1;
    }
    pthread_mutex_unlock(&w->lock);
}

void hd_watch_deadline(hd_watch *w, uint64_t id, double seconds)
{
    pthread_mutex_lock(&w->lock);
    place *p = find(w, id);
    if (p) set_deadline(p, seconds > 0 ? hd_seconds() + seconds : 0);
    pthread_mutex_unlock(&w->lock);
}

void hd_watch_hear(hd_watch *w, uint64_t id, void *owner)
{
    pthread_mutex_lock(&w->lock);
    place *p = find(w, id);
    if (p) {
        p->owner = owner;
        /* who has hung up already is to be heard of by the new owner, too */
        if (owner) listen_to(w, p, EPOLL_CTL_MOD);
    }
    pthread_mutex_unlock(&w->lock);
}
