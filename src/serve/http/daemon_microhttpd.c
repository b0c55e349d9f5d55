/* The daemon of libmicrohttpd, which no other file knows: one thread with epoll. A connection is suspended
   while its answer is computed, and the watch looks after it meanwhile. Easy to get wrong: its handler is
   called once for the headers, then for every piece of the body, then with none, and again after each time
   the connection was resumed. */
#include <microhttpd.h>

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/clock.h"
#include "serve/http/exchange.h"
#include "serve/http/watch.h"

enum { HEAD_MOST = 24 << 10 }; /* bytes of a request's first line, and of its headers */

struct hd_http {
    hd_http_opt opt;
    struct MHD_Daemon *daemon;
    hd_watch *watch;
    atomic_bool quiet;
    pthread_mutex_t lock;
    hd_exchange *first; /* of those that are not over */
    bool closing;
};

void hd_daemon_suspend(void *connection)
{
    MHD_suspend_connection(connection);
}

void hd_daemon_resume(void *connection)
{
    MHD_resume_connection(connection);
}

const char *hd_daemon_header(void *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* -- connections -- */

static int socket_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *i = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    return i ? i->connect_fd : -1;
}

static uint64_t number_of(const void *bytes, size_t size)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}

/* Of an IPv6 address the network: a host has as many as it likes. */
static uint64_t peer_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *i = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *a = i ? i->client_addr : NULL;
    if (a && a->sa_family == AF_INET)
        return number_of(&((const struct sockaddr_in *)(const void *)a)->sin_addr, 4);
    return a && a->sa_family == AF_INET6
               ? number_of(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, 8)
               : 0;
}

/* The number the watch knows the connection by. */
static uint64_t watched(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *i = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return i && i->socket_context ? (uint64_t)(uintptr_t)i->socket_context : 0;
}

static void note_connection(void *context, struct MHD_Connection *c, void **socket_context,
                            enum MHD_ConnectionNotificationCode code)
{
    hd_http *h = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        uint64_t id = hd_watch_add(h->watch, socket_of(c));
        *socket_context = (void *)(uintptr_t)id;
        hd_watch_deadline(h->watch, id, h->opt.head_seconds);
    } else {
        hd_watch_remove(h->watch, (uint64_t)(uintptr_t)*socket_context);
    }
}

/* -- the list of exchanges: those that wait must be resumed before the daemon may stop -- */

static void enter(hd_http *h, hd_exchange *x)
{
    pthread_mutex_lock(&h->lock);
    x->behind = h->first;
    if (h->first) h->first->before = x;
    h->first = x;
    if (h->closing) atomic_store(&x->shown.gone, true);
    pthread_mutex_unlock(&h->lock);
}

static void leave(hd_http *h, hd_exchange *x)
{
    pthread_mutex_lock(&h->lock);
    if (x->before)
        x->before->behind = x->behind;
    else
        h->first = x->behind;
    if (x->behind) x->behind->before = x->before;
    pthread_mutex_unlock(&h->lock);
}

static void wake_all(hd_http *h)
{
    pthread_mutex_lock(&h->lock);
    h->closing = true;
    for (hd_exchange *x = h->first; x; x = x->behind) hd_exchange_gone(x);
    pthread_mutex_unlock(&h->lock);
}

static void *note_uri(void *context, const char *uri, struct MHD_Connection *c)
{
    hd_http *h = context;
    hd_exchange *x = hd_exchange_new(&h->opt.user, uri);
    if (!x) return NULL;
    x->connection = c, x->http = h;
    x->shown.peer = peer_of(c);
    enter(h, x);
    return x;
}

static void note_over(void *context, struct MHD_Connection *c, void **request,
                      enum MHD_RequestTerminationCode code)
{
    hd_http *h = context;
    hd_exchange *x = *request;
    (void)code;
    if (!x) return;
    *request = NULL;
    leave(h, x);
    hd_watch_hear(h->watch, watched(c), NULL);
    hd_watch_deadline(h->watch, watched(c), h->opt.head_seconds);
    double seconds = hd_seconds() - x->began;
    hd_log_say(h->opt.log, HD_DEBUG, "request %llu: status %d, %zu bytes in, %.1f ms",
               (unsigned long long)x->shown.id, x->status, x->body.size, 1e3 * seconds);
    if (x->looked)
        x->user.over(x->user.context, &x->shown, x->answered ? x->status : 0, seconds,
                     x->first > 0 ? x->first - x->began : 0);
    hd_exchange_over(x);
}

/* -- answers -- */

static ssize_t read_stream(void *exchange, uint64_t at, char *to, size_t most)
{
    hd_exchange *x = exchange;
    hd_http *h = x->http;
    long got = hd_exchange_read(x, to, most);
    (void)at;
    /* who waits for a token has all the time; who does not read has not */
    double left = h->opt.write_seconds + (x->until > 0 ? x->until - hd_seconds() : 0);
    hd_watch_deadline(h->watch, watched(x->connection), got > 0 ? (left > 1e-3 ? left : 1e-3) : 0);
    return got == -1 ? MHD_CONTENT_READER_END_OF_STREAM : got == -2 ? MHD_CONTENT_READER_END_WITH_ERROR : got;
}

static void drop_reader(void *exchange)
{
    hd_request_drop(exchange);
}

static struct MHD_Response *response_of(hd_exchange *x)
{
    enum { PIECE = 16 << 10 };
    if (x->streams) {
        hd_request_hold(&x->shown);
        struct MHD_Response *r =
            MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, read_stream, x, drop_reader);
        if (!r) hd_request_drop(&x->shown);
        return r;
    }
    return MHD_create_response_from_buffer(x->reply.size, x->reply.data ? x->reply.data : "",
                                           MHD_RESPMEM_PERSISTENT); /* it lives as long as the exchange */
}

static enum MHD_Result send_answer(hd_http *h, struct MHD_Connection *c, hd_exchange *x)
{
    char id[32];
    struct MHD_Response *r = response_of(x);
    if (!r) return MHD_NO;
    snprintf(id, sizeof id, "%llu", (unsigned long long)x->shown.id);
    MHD_add_response_header(r, "x-request-id", id);
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    if (x->type) MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, x->type);
    for (size_t i = 0; i < x->headers; i++) MHD_add_response_header(r, x->header[i].name, x->header[i].value);
    if (atomic_load(&h->quiet)) MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
    hd_watch_deadline(h->watch, watched(c), x->streams ? 0 : h->opt.write_seconds);
    if (x->streams) hd_watch_hear(h->watch, watched(c), x);
    enum MHD_Result done = MHD_queue_response(c, (unsigned)x->status, r);
    MHD_destroy_response(r);
    return done;
}

/* Until it is answered or waits. */
static enum MHD_Result work(hd_http *h, struct MHD_Connection *c, hd_exchange *x)
{
    hd_http_user *u = &x->user;
    hd_watch_hear(h->watch, watched(c), NULL);
    for (;; x->shown.woken = true) {
        if (atomic_load(&x->shown.gone)) return MHD_NO;
        x->waits = false;
        u->begin(u->context, &x->shown);
        if (x->answered) return send_answer(h, c, x);
        if (!x->waits) return MHD_NO;
        hd_watch_deadline(h->watch, watched(c), 0);
        hd_watch_hear(h->watch, watched(c), x);
        if (hd_exchange_suspend(x)) break;
    }
    x->shown.woken = true;
    return MHD_YES;
}

static void refuse_size(hd_exchange *x, unsigned status, const char *what)
{
    hd_text body = {0};
    hd_text_print(&body, "{\"error\": \"%s too large\"}\n", what);
    hd_request_put_header(&x->shown, "Connection", "close");
    hd_request_answer(&x->shown, (int)status, "application/json", &body);
}

static void refuse_body(hd_exchange *x)
{
    refuse_size(x, MHD_HTTP_CONTENT_TOO_LARGE, "the body of the request is");
}

static enum MHD_Result add_size(void *sum, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    *(size_t *)sum += strlen(name) + (value ? strlen(value) : 0) + 4;
    return MHD_YES;
}

static enum MHD_Result take_head(hd_http *h, struct MHD_Connection *c, hd_exchange *x, const char *method)
{
    const char *length = hd_daemon_header(c, MHD_HTTP_HEADER_CONTENT_LENGTH);
    double bytes = 0;
    size_t head = 0;
    MHD_get_connection_values(c, MHD_HEADER_KIND, add_size, &head);
    atomic_store(&x->looked, true);
    x->shown.method = method;
    hd_watch_deadline(h->watch, watched(c), h->opt.body_seconds);
    if (strlen(x->uri.data) > HEAD_MOST)
        refuse_size(x, MHD_HTTP_URI_TOO_LONG, "the address of the request is");
    else if (head > HEAD_MOST)
        refuse_size(x, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE, "the headers of the request are");
    else if (length && hd_real_of(length, strlen(length), &bytes) && bytes > (double)h->opt.body)
        refuse_body(x);
    else
        x->user.look(x->user.context, &x->shown);
    return x->answered ? send_answer(h, c, x) : MHD_YES;
}

/* What is too large is read to its end all the same: an answer is possible only then. */
static void take_piece(const hd_http *h, hd_exchange *x, const char *data, size_t size)
{
    x->too_large = x->too_large || x->body.size + size > h->opt.body;
    if (!x->too_large) hd_text_add(&x->body, data, size);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *c, const char *url, const char *method,
                              const char *version, const char *data, size_t *size, void **request)
{
    hd_http *h = context;
    hd_exchange *x = *request;
    (void)url, (void)version;
    if (!x) return MHD_NO;
    if (!x->looked) return take_head(h, c, x, method);
    if (*size) {
        take_piece(h, x, data, *size);
        *size = 0;
        return MHD_YES;
    }
    if (x->too_large) return refuse_body(x), send_answer(h, c, x);
    if (x->body.missed) return MHD_NO;
    if (x->body.size) x->shown.body = x->body.data, x->shown.body_size = x->body.size;
    return work(h, c, x);
}

/* -- the server -- */

static void say(void *context, const char *format, va_list args)
{
    const hd_http *h = context;
    char text[256];
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = 0;
    hd_log_say(h->opt.log, HD_DEBUG, "libmicrohttpd: %s", text);
}

/* As many files as there may be connections, and those of models. */
static void allow_files(size_t connections)
{
    struct rlimit l;
    rlim_t want = (rlim_t)connections + 256;
    if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur >= want) return;
    l.rlim_cur = l.rlim_max == RLIM_INFINITY || l.rlim_max > want ? want : l.rlim_max;
    setrlimit(RLIMIT_NOFILE, &l);
}

hd_status hd_http_open(hd_http **out, const hd_http_opt *opt, hd_err *err)
{
    enum { POOL = 64 << 10 }; /* what does not fit there either is refused by libmicrohttpd, in HTML */
    hd_http *h = hd_mem_zero(sizeof *h);
    if (!h) return close(opt->listener), hd_err_nomem(err, sizeof *h);
    h->opt = *opt;
    pthread_mutex_init(&h->lock, NULL);
    hd_status s = hd_watch_new(&h->watch, hd_exchange_gone, err);
    allow_files(opt->connections);
    if (!s)
        h->daemon = MHD_start_daemon(
            MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
            handle, h, MHD_OPTION_EXTERNAL_LOGGER, say, h, MHD_OPTION_LISTEN_SOCKET, opt->listener,
            MHD_OPTION_CONNECTION_LIMIT, (unsigned)opt->connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
            (size_t)POOL, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, note_uri, h,
            MHD_OPTION_NOTIFY_COMPLETED, note_over, h, MHD_OPTION_NOTIFY_CONNECTION, note_connection, h,
            MHD_OPTION_END);
    if (!s && !h->daemon) s = hd_err_set(err, HD_EFILE, "the HTTP server cannot start");
    if (s)
        hd_http_close(h);
    else
        *out = h;
    return s;
}

void hd_http_quiet(hd_http *h)
{
    if (!atomic_exchange(&h->quiet, true)) MHD_quiesce_daemon(h->daemon);
}

bool hd_http_busy(hd_http *h)
{
    pthread_mutex_lock(&h->lock);
    bool busy = false; /* one whose headers are not complete was not asked yet */
    for (const hd_exchange *x = h->first; x && !busy; x = x->behind) busy = atomic_load(&x->looked);
    pthread_mutex_unlock(&h->lock);
    return busy;
}

void hd_http_close(hd_http *h)
{
    if (!h) return;
    if (h->daemon) {
        hd_http_quiet(h);
        wake_all(h);
        MHD_stop_daemon(h->daemon);
    }
    close(h->opt.listener);
    hd_watch_free(h->watch);
    pthread_mutex_destroy(&h->lock);
    hd_mem_free(h);
}
