/* Asks a server for translations: bench_load PORT TEXTS RATE SECONDS [SEED], or bench_load PORT TEXTS users=N
   SECONDS. TEXTS is a file of sentences, of which each request sends the next one to /translate, from en to
   de. With a rate, requests arrive so often on average, at times drawn by SEED, from a sentence drawn by it
   on, whatever becomes of those before (an open loop); a time is counted from when a request should have been
   sent, and what is not answered 10 s after the end has failed. With users, each of them asks again as soon
   as it is answered. Connections are kept. Prints one line: answers with 200 a second, requests, those
   answered with 200, refused (429, 503), failed, and in ms the median, p95, p99 and longest time of the first
   and the p99 and longest of the refused. */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

enum { CONNECTIONS = 16000, TEXTS = 100000, ANSWER = 1 << 16, PATIENCE = 10, EVENTS = 256 };

typedef struct connection {
    int socket;
    bool busy;
    double since; /* when the request should have been sent */
    size_t size;  /* of the answer so far */
    struct connection *next;
    char answer[ANSWER];
} connection;

typedef struct load {
    int poll;
    struct sockaddr_in to;
    char *request[TEXTS];
    size_t texts, first, sent, running, failed;
    connection *free;
    double *good, *refused; /* seconds */
    size_t goods, refusals, room, made;
    double last; /* when the last answer with 200 came */
} load;

static int stop(const char *text)
{
    fprintf(stderr, "bench_load: %s\n", text);
    return 2;
}

/* Requests of all sentences, as forms. */
static bool read_texts(load *l, const char *path)
{
    char line[8192], form[3 * sizeof line], whole[sizeof form + 256];
    FILE *f = fopen(path, "r");
    while (f && l->texts < TEXTS && fgets(line, sizeof line, f)) {
        size_t n = 0;
        line[strcspn(line, "\n")] = 0;
        for (const unsigned char *c = (const unsigned char *)line; *c; c++)
            n += (size_t)snprintf(form + n, sizeof form - n, "%%%02X", *c);
        if (!n) continue;
        snprintf(whole, sizeof whole,
                 "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                 "application/x-www-form-urlencoded\r\nContent-Length: %zu\r\n\r\nsource=en&target=de&q=%s",
                 n + 22, form);
        l->request[l->texts++] = strdup(whole);
    }
    if (f) fclose(f);
    return l->texts > 0;
}

static void forget(load *l, connection *c)
{
    (void)l;
    if (c->socket >= 0) close(c->socket);
    c->socket = -1;
}

static connection *take(load *l)
{
    connection *c = l->free;
    if (c) {
        l->free = c->next;
    } else if (l->made < CONNECTIONS && (c = malloc(sizeof *c))) {
        l->made++;
        c->socket = -1;
    }
    return c;
}

static void put_back(load *l, connection *c)
{
    c->busy = false, c->next = l->free, l->free = c;
    l->running--;
}

static bool dial(load *l, connection *c)
{
    const int yes = 1;
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = c};
    c->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->socket < 0 || connect(c->socket, (const struct sockaddr *)&l->to, sizeof l->to)) return false;
    setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return !epoll_ctl(l->poll, EPOLL_CTL_ADD, c->socket, &e);
}

static connection *ask(load *l, double since)
{
    connection *c = take(l);
    if (!c) return l->failed++, NULL;
    const char *text = l->request[(l->first + l->sent) % l->texts];
    size_t size = strlen(text);
    c->busy = true, c->since = since, c->size = 0;
    l->running++, l->sent++;
    bool good = c->socket >= 0 && send(c->socket, text, size, MSG_NOSIGNAL) == (ssize_t)size;
    if (!good) {
        forget(l, c);
        good = dial(l, c) && send(c->socket, text, size, MSG_NOSIGNAL) == (ssize_t)size;
    }
    if (good) return c;
    forget(l, c), put_back(l, c), l->failed++;
    return NULL;
}

/* Whether the answer is whole; keeps the times of those that are. */
static bool is_whole(load *l, connection *c)
{
    c->answer[c->size] = 0;
    const char *end = strstr(c->answer, "\r\n\r\n"), *length = strcasestr(c->answer, "Content-Length: ");
    if (!end || !length || length > end) return false;
    if (c->size < (size_t)(end - c->answer) + 4 + strtoul(length + 16, NULL, 10)) return false;
    double at = now(), took = at - c->since;
    int status = atoi(c->answer + 9);
    if (status == 200)
        l->good[l->goods++] = took, l->last = at;
    else if (status == 429 || status == 503)
        l->refused[l->refusals++] = took;
    else
        l->failed++;
    return true;
}

/* Reads what is there; whether the connection is free again. */
static bool hear(load *l, connection *c)
{
    ssize_t n = recv(c->socket, c->answer + c->size, ANSWER - 1 - c->size, MSG_DONTWAIT);
    if (n > 0) {
        c->size += (size_t)n;
        if (!c->busy || !is_whole(l, c)) return false;
        put_back(l, c);
        return true;
    }
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    forget(l, c);
    if (c->busy) l->failed++, put_back(l, c);
    return true;
}

static uint64_t state = 88172645463325252u;

static double draw(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

/* rate 0: so many users. */
static double run(load *l, double rate, size_t users, double seconds)
{
    struct epoll_event event[EVENTS];
    double from = now(), end = from + seconds, next = rate > 0 ? from : INFINITY;
    for (size_t i = 0; i < users; i++) ask(l, now());
    while (l->running || (rate > 0 && next < end)) {
        double at = now();
        for (; next <= at && next < end; next -= log(draw()) / rate) ask(l, next);
        double until = next < end ? next : end + PATIENCE, left = until - now();
        if (now() > end + PATIENCE) break;
        /* to the nanosecond: a generator that looks again and again would take a core from the server */
        const struct timespec wait = {.tv_nsec = left <= 0 ? 0 : left < 0.1 ? (long)(1e9 * left) : 100000000};
        int n = epoll_pwait2(l->poll, event, EVENTS, &wait, NULL);
        for (int i = 0; i < n; i++)
            if (hear(l, event[i].data.ptr) && users && now() < end) ask(l, now());
    }
    l->failed += l->running;
    return (l->last > end ? l->last : end) - from;
}

static double share(double *t, size_t count, double part)
{
    if (!count) return 0;
    qsort(t, count, sizeof *t, by_size);
    size_t i = (size_t)(part * (double)count);
    return 1e3 * t[i < count ? i : count - 1];
}

int main(int argc, char **argv)
{
    static load l;
    struct rlimit files = {CONNECTIONS + 100, CONNECTIONS + 100};
    if (argc != 5 && argc != 6) return stop("usage: bench_load PORT TEXTS RATE|users=N SECONDS [SEED]");
    bool closed = !strncmp(argv[3], "users=", 6);
    double rate = closed ? 0 : atof(argv[3]), seconds = atof(argv[4]);
    size_t users = closed ? (size_t)atol(argv[3] + 6) : 0;
    l.to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
    l.to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    l.poll = epoll_create1(EPOLL_CLOEXEC);
    l.room = 4000000;
    l.good = malloc(l.room * sizeof *l.good), l.refused = malloc(l.room * sizeof *l.refused);
    setrlimit(RLIMIT_NOFILE, &files);
    if (!read_texts(&l, argv[2])) return stop("the file of texts cannot be read");
    if (l.poll < 0 || !l.good || !l.refused || seconds <= 0 || (rate <= 0 && !users) ||
        rate * seconds > (double)l.room)
        return stop("what is asked for cannot be done");
    if (argc > 5) {
        state += strtoul(argv[5], NULL, 10) * 0x9E3779B97F4A7C15u;
        l.first = (size_t)(draw() * (double)l.texts);
    }
    double took = run(&l, rate, users, seconds);
    printf("%.1f /s: %zu requests, %zu good, %zu refused, %zu failed; ms %.1f %.1f %.1f %.1f; refused %.1f "
           "%.1f\n",
           (double)l.goods / took, l.sent, l.goods, l.refusals, l.failed, share(l.good, l.goods, 0.5),
           share(l.good, l.goods, 0.95), share(l.good, l.goods, 0.99), share(l.good, l.goods, 1),
           share(l.refused, l.refusals, 0.99), share(l.refused, l.refusals, 1));
    return 0;
}
