/* A request on its way. Easy to get wrong: who computes may be done before the connection is suspended, or
   long after it is closed. */
#include "serve/http/exchange.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/system/clock.h"
#include "serve/parse/percent.h"

static hd_exchange *of(const hd_request *r)
{
    return (hd_exchange *)(uintptr_t)r;
}

/* Splits the address at the '?'; a path that is not written well is none. */
static bool split_uri(hd_exchange *x, const char *uri)
{
    const char *mark = strchr(uri, '?');
    size_t path = mark ? (size_t)(mark - uri) : strlen(uri);
    hd_text_put(&x->uri, uri);
    hd_text_add(&x->uri, "", 1); /* a zero byte: the path moves behind it */
    size_t from = x->uri.size;
    bool good = hd_percent_decode(&x->uri, uri, path, false);
    if (x->uri.missed || !x->uri.data) return false;
    x->shown.path = good ? x->uri.data + from : "";
    x->shown.query = mark ? x->uri.data + (mark - uri) + 1 : "";
    return true;
}

hd_exchange *hd_exchange_new(const hd_http_user *user, const char *uri)
{
    static atomic_uint_fast64_t count;
    hd_exchange *x = hd_mem_zero(sizeof *x);
    if (!x) return NULL;
    x->user = *user;
    x->shown.id = atomic_fetch_add(&count, 1) + 1;
    x->shown.method = x->shown.body = "";
    x->began = hd_seconds();
    atomic_init(&x->holders, 1);
    pthread_mutex_init(&x->lock, NULL);
    if (!split_uri(x, uri)) return hd_request_drop(&x->shown), NULL;
    return x;
}

void hd_request_hold(hd_request *r)
{
    atomic_fetch_add_explicit(&of(r)->holders, 1, memory_order_relaxed);
}

void hd_request_drop(hd_request *r)
{
    hd_exchange *x = of(r);
    if (atomic_fetch_sub_explicit(&x->holders, 1, memory_order_acq_rel) > 1) return;
    if (r->of) x->user.release(x->user.context, r);
    pthread_mutex_destroy(&x->lock);
    hd_text_release(&x->uri);
    hd_text_release(&x->body);
    hd_text_release(&x->out);
    hd_text_release(&x->reply);
    hd_mem_free(x);
}

void hd_exchange_over(hd_exchange *x)
{
    pthread_mutex_lock(&x->lock);
    x->over = true;
    pthread_mutex_unlock(&x->lock);
    atomic_store(&x->shown.gone, true);
    hd_request_drop(&x->shown);
}

/* -- waiting -- */

bool hd_exchange_suspend(hd_exchange *x)
{
    pthread_mutex_lock(&x->lock);
    bool called = x->called;
    x->called = false;
    x->suspended = !called;
    if (!called) hd_daemon_suspend(x->connection);
    pthread_mutex_unlock(&x->lock);
    return !called;
}

/* With the lock held. */
static void resume(hd_exchange *x)
{
    if (x->over) return;
    if (x->suspended)
        hd_daemon_resume(x->connection);
    else
        x->called = true;
    x->suspended = false;
}

void hd_request_wake(hd_request *r)
{
    pthread_mutex_lock(&of(r)->lock);
    resume(of(r));
    pthread_mutex_unlock(&of(r)->lock);
}

void hd_exchange_gone(void *exchange)
{
    hd_exchange *x = exchange;
    atomic_store(&x->shown.gone, true);
    hd_request_wake(&x->shown);
}

/* -- answers -- */

const char *hd_request_header(const hd_request *r, const char *name)
{
    return hd_daemon_header(of(r)->connection, name);
}

void hd_request_put_header(hd_request *r, const char *name, const char *value)
{
    hd_exchange *x = of(r);
    if (x->headers == HD_REPLY_HEADERS) return;
    x->header[x->headers].name = name;
    snprintf(x->header[x->headers].value, sizeof x->header->value, "%s", value);
    x->headers++;
}

void hd_request_answer(hd_request *r, int status, const char *type, hd_text *body)
{
    hd_exchange *x = of(r);
    hd_text none = {0};
    if (body && body->missed) status = 503, type = NULL;
    if (body) x->reply = *body, *body = none;
    x->answered = true, x->status = status, x->type = type;
}

void hd_request_stream(hd_request *r, int status, const char *type, double until)
{
    hd_exchange *x = of(r);
    x->answered = x->streams = true, x->status = status, x->type = type, x->until = until;
}

void hd_request_wait(hd_request *r)
{
    of(r)->waits = true;
}

/* -- streams -- */

bool hd_request_send(hd_request *r, const char *bytes, size_t count)
{
    hd_exchange *x = of(r);
    pthread_mutex_lock(&x->lock);
    if (x->sent == x->out.size) x->out.size = x->sent = 0;
    if (x->out.missed || x->over) x->cut = true;
    if (x->cut) atomic_store(&r->gone, true);
    bool fits = !x->cut && !atomic_load(&r->gone);
    if (fits && x->sent > HD_STREAM_HIGH) {
        memmove(x->out.data, x->out.data + x->sent, x->out.size - x->sent);
        x->out.size -= x->sent, x->sent = 0;
    }
    if (fits) hd_text_add(&x->out, bytes, count);
    if (!(x->first > 0)) x->first = hd_seconds();
    if (x->suspended) resume(x);
    pthread_mutex_unlock(&x->lock);
    return fits;
}

bool hd_request_full(hd_request *r)
{
    hd_exchange *x = of(r);
    pthread_mutex_lock(&x->lock);
    size_t waits = x->out.size - x->sent;
    bool full = x->full = !x->over && waits >= (x->full ? HD_STREAM_LOW : HD_STREAM_HIGH);
    pthread_mutex_unlock(&x->lock);
    return full;
}

void hd_request_end(hd_request *r)
{
    hd_exchange *x = of(r);
    pthread_mutex_lock(&x->lock);
    x->ended = true;
    if (x->suspended) resume(x);
    pthread_mutex_unlock(&x->lock);
}

long hd_exchange_read(hd_exchange *x, char *to, size_t most)
{
    long got = 0;
    pthread_mutex_lock(&x->lock);
    size_t left = x->out.size - x->sent, take = left < most ? left : most;
    if (x->cut || atomic_load(&x->shown.gone)) {
        got = -2;
    } else if (take) {
        memcpy(to, x->out.data + x->sent, take);
        x->sent += take, got = (long)take;
    } else if (x->ended) {
        got = -1;
    } else {
        x->suspended = true;
        hd_daemon_suspend(x->connection);
    }
    pthread_mutex_unlock(&x->lock);
    return got;
}
