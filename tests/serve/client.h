/* A server of the test's own at a free port of this machine, and a client that says what it is told: bytes of
   HTTP in, the answer out. Include after check.h. */
#ifndef CLIENT_H
#define CLIENT_H

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/tiny.h"
#include "base/json.h"
#include "base/system/clock.h"
#include "outcome.h"
#include "scratch.h"
#include "serve/server.h"

enum { ANSWER_ROOM = 1 << 18, ANSWER_SECONDS = 20 };

typedef struct served {
    hd_server *server;
    hd_served model[4];
    int port;
} served;

/* Options as `heed serve` has them. */
CHECK_UNUSED static hd_server_opt usual_options(void)
{
    return (hd_server_opt){.engine = {.device = "cpu",
                                      .threads = 1,
                                      .queue_tokens = 20000,
                                      .translate = {.search = {.kind = HD_SEARCH_BEAM,
                                                               .beam = 5,
                                                               .length = {.kind = HD_LENGTH_AVERAGE},
                                                               .max_ratio = 2,
                                                               .max_extra = 10,
                                                               .unscored = true}}},
                           .listener = -1,
                           .address = "127.0.0.1",
                           .body = 1 << 20,
                           .deadline = 60,
                           .texts = 1000,
                           .tokens = 1 << 20};
}

/* The models that were put into s. */
CHECK_UNUSED static void serve_models(served *s, hd_server_opt o, size_t count)
{
    hd_err err = {0};
    o.models = (hd_models){s->model, count};
    if (hd_server_open(&s->server, &o, &err)) fail_msg("%s", err.text);
    const char *colon = strrchr(hd_server_url(s->server), ':');
    s->port = atoi(colon + 1);
    assert_in_range(s->port, 1, 65535);
}

/* A tiny translator from English to German, and back where `back`. */
CHECK_UNUSED static void serve(served *s, hd_server_opt o, bool back)
{
    hd_err err = {0};
    static char folder[2][HD_PATH];
    *s = (served){0};
    for (int i = 0; i < 1 + back; i++) {
        snprintf(folder[i], HD_PATH, "%s/%s", scratch, i ? "back" : "model");
        hd_status st = hd_is_folder(folder[i]) ? HD_OK : hd_folder_make(folder[i], NULL, &err);
        if (!st) st = tiny_write(folder[i], &err);
        if (!st) st = hd_served_read(&s->model[i], folder[i], i ? "de:en" : "en:de", &err);
        if (st) fail_msg("%s", err.text);
    }
    serve_models(s, o, 1u + back);
}

CHECK_UNUSED static void unserve(served *s)
{
    hd_server_free(s->server);
    s->server = NULL;
}

CHECK_UNUSED static int dial(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s >= 0);
    const struct timeval most = {.tv_sec = ANSWER_SECONDS};
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    assert_int_equal(connect(s, (const struct sockaddr *)&to, sizeof to), 0);
    return s;
}

CHECK_UNUSED static void say(int s, const char *text, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t n = send(s, text + sent, size - sent, MSG_NOSIGNAL);
        if (n <= 0) return; /* the server has its reasons: the answer says them */
        sent += (size_t)n;
    }
}

/* Reads an answer whose length its headers tell, or up to the end of the connection. */
CHECK_UNUSED static const char *hear(int s)
{
    static char answer[ANSWER_ROOM];
    size_t size = 0, whole = SIZE_MAX;
    while (size < whole && size < sizeof answer - 1) {
        ssize_t n = recv(s, answer + size, sizeof answer - 1 - size, 0);
        if (n <= 0) break;
        size += (size_t)n;
        answer[size] = 0;
        const char *end = strstr(answer, "\r\n\r\n"), *length = strcasestr(answer, "Content-Length: ");
        if (end && length && length < end)
            whole = (size_t)(end - answer) + 4 + strtoul(length + 16, NULL, 10);
        if (end && !strncmp(answer, "HTTP/1.1 204", 12)) break;
        if (end && !length && size > 7 && !strcmp(answer + size - 7, "\r\n0\r\n\r\n")) break; /* chunks end */
    }
    answer[size] = 0;
    return answer;
}

/* What an answer in chunks holds; the caller frees it. */
CHECK_UNUSED static char *hear_chunks(int s, size_t *size)
{
    static const char end[] = "\r\n0\r\n\r\n";
    size_t got = 0, room = 1 << 16, from;
    char *all = malloc(room);
    for (ssize_t n; all && (n = recv(s, all + got, room - got - 1, 0)) > 0;) {
        got += (size_t)n;
        if (got > 7 && !memcmp(all + got - 7, end, 7)) break;
        if (room - got < 1 << 14) all = realloc(all, room *= 2);
    }
    assert_non_null(all);
    all[got] = 0, *size = 0;
    const char *head = strstr(all, "\r\n\r\n");
    for (from = head ? (size_t)(head - all) + 4 : got; from < got;) {
        char *text = all + from, *rest;
        size_t n = strtoul(text, &rest, 16);
        from = (size_t)(rest - all) + 2;
        if (!n || rest == text || from + n > got) break;
        memmove(all + *size, all + from, n);
        *size += n, from += n + 2;
    }
    return all;
}

/* Sends a request whose first line this is, with a body unless it is NULL; what comes back. */
CHECK_UNUSED static const char *ask(const served *s, const char *line, const char *headers, const char *body)
{
    static char request[ANSWER_ROOM];
    int c = dial(s->port);
    int n = snprintf(request, sizeof request, "%s HTTP/1.1\r\nHost: localhost\r\n%s", line, headers);
    if (body)
        n += snprintf(request + n, sizeof request - (size_t)n, "Content-Length: %zu\r\n\r\n%s", strlen(body),
                      body);
    else
        n += snprintf(request + n, sizeof request - (size_t)n, "\r\n");
    say(c, request, (size_t)n);
    const char *answer = hear(c);
    close(c);
    return answer;
}

CHECK_UNUSED static const char *body_of(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    return end ? end + 4 : "";
}

/* The answer has this status, and these texts (apart by "|") stand in it. */
#define assert_answer(answer, status, parts) check_answer(answer, status, parts, __FILE__, __LINE__)
CHECK_UNUSED static void check_answer(const char *answer, int status, const char *parts, const char *file,
                                      int line)
{
    char copy[2048], begin[32];
    snprintf(begin, sizeof begin, "HTTP/1.1 %d ", status);
    snprintf(copy, sizeof copy, "%s", parts);
    if (strncmp(answer, begin, strlen(begin)))
        print_error("%s:%d: expected %d: %s\n", file, line, status, answer), _fail(file, line);
    for (char *rest = NULL, *part = strtok_r(copy, "|", &rest); part; part = strtok_r(NULL, "|", &rest))
        if (!strstr(answer, part))
            print_error("%s:%d: no '%s' in: %s\n", file, line, part, answer), _fail(file, line);
}

/* -- what a program has whose tests ask one server in JSON -- */

CHECK_UNUSED static served usual;
CHECK_UNUSED static hd_arena answers; /* until the program ends */

CHECK_UNUSED static int usual_begin(void **state)
{
    if (scratch_make(state)) return -1;
    hd_arena_init(&answers, hd_allocator_host, 0);
    if (HEED_MICROHTTPD) serve(&usual, usual_options(), false);
    return 0;
}

CHECK_UNUSED static int usual_end(void **state)
{
    unserve(&usual);
    hd_arena_release(&answers);
    return scratch_remove(state);
}

CHECK_UNUSED static json_t *json_of(const char *answer)
{
    json_error_t e;
    json_t *root = hd_json_load(&answers, body_of(answer), strlen(body_of(answer)), &e);
    if (!root) fail_msg("%d: %s: %s", e.line, e.text, answer);
    return root;
}

#define FORM "Content-Type: application/x-www-form-urlencoded\r\n"
#define JSON "Content-Type: application/json\r\n"

#endif
