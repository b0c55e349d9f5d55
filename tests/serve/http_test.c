/* The server among people who mean no good, or are slow, or leave. */
#include "check.h"

#include <signal.h>

#include "serve/client.h"
#include "serve/http/http.h"

#define ASK "q=i+ate+an+apple+.&source=en&target=de"

static void only_a_loopback_address_needs_no_key(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_server *s = NULL;
    hd_server_opt o = usual_options();
    o.address = "0.0.0.0";
    assert_int_equal(hd_server_open(&s, &o, &err), HD_EARG);
    assert_non_null(strstr(err.text, "--key-file"));
    err = (hd_err){0};
    o.address = "example.org";
    assert_int_equal(hd_server_open(&s, &o, &err), HD_EARG);
    assert_non_null(strstr(err.text, "in numbers"));
}

static void a_key_is_asked_for(void **state)
{
    (void)state;
    served s;
    hd_server_opt o = usual_options();
    hd_err err = {0};
    put_bytes(at("keys"), "# mine\n\nsecret\r\nother", 21);
    chmod(at("keys"), 0644);
    o.key_file = at("keys");
    assert_int_equal(hd_server_open(&s.server, &o, &err), HD_EFILE);
    assert_non_null(strstr(err.text, "chmod 600"));
    chmod(at("keys"), 0600);
    serve(&s, o, false);
    assert_answer(ask(&s, "POST /translate", FORM, ASK), 400, "API key is required");
    assert_answer(ask(&s, "POST /translate", FORM, ASK "&api_key=secre"), 403, "Invalid API key");
    assert_answer(ask(&s, "POST /translate", FORM, ASK "&api_key=secrets"), 403, "Invalid API key");
    assert_answer(ask(&s, "POST /translate", FORM, ASK "&api_key=%23%20mine"), 403, "Invalid API key");
    assert_answer(ask(&s, "POST /translate", FORM, ASK "&api_key=secret"), 200, "translatedText");
    assert_answer(ask(&s, "POST /translate", FORM "X-Api-Key: other\r\n", ASK), 200, "translatedText");
    assert_answer(ask(&s, "POST /translate", FORM "Authorization: Bearer secret\r\n", ASK), 200,
                  "translated");
    assert_answer(ask(&s, "GET /health", "", NULL), 200, "ok");
    unserve(&s);
}

static void names_and_pages_of_others_are_refused(void **state)
{
    (void)state;
    served s;
    hd_server_opt o = usual_options();
    const char *host = "translate.example.org", *origin = "https://page.example.org";
    o.host = &host, o.hosts = 1, o.origin = &origin, o.origins = 1;
    serve(&s, o, false);
    static const struct {
        const char *headers;
        int status;
    } cases[] = {
        {"Host: localhost:8080\r\n", 200},
        {"Host: 127.0.0.1\r\n", 200},
        {"Host: [::1]:80\r\n", 200},
        {"Host: translate.example.org\r\n", 200},
        {"Host: evil.example.org\r\n", 403},
        {"Host: 127.0.0.1.evil.example.org\r\n", 403},
        {"Host: localhost\r\nOrigin: https://evil.example.org\r\n", 403},
        {"Host: localhost\r\nOrigin: null\r\n", 403},
        {"Host: localhost\r\nOrigin: http://localhost:1234\r\n", 200},
        {"Host: localhost\r\nOrigin: https://page.example.org\r\n", 200},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char request[512];
        int c = dial(s.port),
            n = snprintf(request, sizeof request, "POST /detect HTTP/1.1\r\n%s%sContent-Length: 3\r\n\r\nq=a",
                         cases[i].headers, FORM);
        say(c, request, (size_t)n);
        const char *answer = hear(c);
        assert_answer(answer, cases[i].status, "");
        bool shared = strstr(cases[i].headers, "page.example.org");
        assert_int_equal(strstr(answer, "Access-Control-Allow-Origin: https://page.example.org") != NULL,
                         shared);
        close(c);
    }
    unserve(&s);
}

static void what_is_too_large_is_refused(void **state)
{
    (void)state;
    served s;
    hd_server_opt o = usual_options();
    o.body = 1024, o.texts = 2;
    serve(&s, o, false);
    int c = dial(s.port);
    const char *head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n";
    say(c, head, strlen(head)); /* and not a byte of it */
    assert_answer(hear(c), 413, "too large");
    close(c);
    c = dial(s.port);
    head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n";
    char piece[0x800];
    memset(piece, 'x', sizeof piece);
    say(c, head, strlen(head));
    say(c, piece, sizeof piece);
    say(c, "\r\n0\r\n\r\n", 7);
    assert_answer(hear(c), 413, "too large");
    close(c);
    char *deep = malloc(1001);
    memset(deep, '[', 1000), deep[1000] = 0;
    assert_answer(ask(&s, "POST /translate", JSON, deep), 400, "Invalid JSON");
    free(deep);
    assert_answer(ask(&s, "POST /translate", JSON,
                      "{\"q\": [\"a\", \"b\", \"c\"], \"source\": \"en\", \"target\": \"de\"}"),
                  400, "exceeds text limit (2)");
    assert_answer(ask(&s, "GET /health", "", NULL), 200, "ok");
    unserve(&s);
}

/* In JSON, where libmicrohttpd lets us. */
static void long_addresses_and_headers_are_refused(void **state)
{
    (void)state;
    enum { LONG = 26 << 10 };
    served s;
    serve(&s, usual_options(), false);
    static char text[LONG + 64];
    int n = snprintf(text, sizeof text, "GET /health?");
    memset(text + n, 'x', LONG), text[n + LONG] = 0;
    assert_answer(ask(&s, text, "", NULL), 414, "application/json|too large");
    n = snprintf(text, sizeof text, "X-Long: ");
    memset(text + n, 'x', LONG), strcpy(text + n + LONG, "\r\n");
    assert_answer(ask(&s, "GET /health", text, NULL), 431, "application/json|too large");
    assert_answer(ask(&s, "GET /health", "", NULL), 200, "ok");
    unserve(&s);
}

static void who_asks_for_too_much_is_told_when_to_come_back(void **state)
{
    (void)state;
    served s;
    hd_server_opt o = usual_options();
    o.rate = 16;
    put_bytes(at("keys"), "one\ntwo\n", 8);
    chmod(at("keys"), 0600);
    o.key_file = at("keys");
    serve(&s, o, false);
    assert_answer(ask(&s, "POST /translate", FORM, ASK "&api_key=one"), 200, "translatedText");
    assert_answer(ask(&s, "POST /translate", FORM, ASK "&api_key=one"), 200, "translatedText");
    assert_answer(ask(&s, "POST /translate", FORM, ASK "&api_key=one"), 429,
                  "Slowdown|Retry-After: |retry-after-ms: ");
    assert_answer(ask(&s, "POST /translate", FORM, ASK "&api_key=two"), 200, "translatedText");
    const char *metrics = ask(&s, "GET /metrics", "X-Api-Key: two\r\n", NULL);
    assert_answer(
        metrics, 200,
        "heed_request_seconds_count{route=\"/translate\",method=\"POST\",status=\"2xx\"} 3|"
        "heed_request_seconds_bucket{route=\"/translate\",method=\"POST\",status=\"4xx\",le=\"+Inf\"} 1|"
        "heed_queue_seconds_count{model=\"model\"} 3|heed_batch_jobs_bucket{model=\"model\",le=\"1\"} ");
    unserve(&s);
}

static void what_is_no_http_costs_nobody_else(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "GET /health HTTP/9.9\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost localhost\r\n\r\n",
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nq=",
        "GET /hea",
    };
    served s;
    serve(&s, usual_options(), false);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int c = dial(s.port);
        double from = hd_seconds();
        say(c, cases[i], strlen(cases[i]));
        shutdown(c, SHUT_WR); /* nothing more will come, and that is noticed */
        const char *answer = hear(c);
        assert_true(hd_seconds() - from < 5);
        if (*answer && strncmp(answer, "HTTP/1.1 4", 10) && strncmp(answer, "HTTP/1.1 5", 10))
            fail_msg("case %zu: %s", i, answer);
        close(c);
    }
    assert_answer(ask(&s, "POST /translate", FORM, ASK), 200, "translatedText");
    unserve(&s);
}

static void many_requests_go_through_one_connection(void **state)
{
    (void)state;
    served s;
    serve(&s, usual_options(), false);
    int c = dial(s.port);
    for (int i = 0; i < 20; i++) {
        const char *request =
            "POST /translate?" ASK " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
        say(c, request, strlen(request));
        assert_answer(hear(c), 200, "translatedText");
    }
    close(c);
    unserve(&s);
}

/* A request that nobody waits for any more is not answered, and others are. */
static void who_leaves_costs_nobody_else(void **state)
{
    (void)state;
    served s;
    serve(&s, usual_options(), false);
    for (int i = 0; i < 30; i++) {
        int c = dial(s.port);
        const char *request =
            "POST /translate?" ASK " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
        say(c, request, strlen(request));
        close(c);
    }
    assert_answer(ask(&s, "POST /translate", FORM, ASK), 200, "translatedText");
    unserve(&s);
}

static void connections_that_stay_open_do_not_keep_it_from_ending(void **state)
{
    (void)state;
    served s;
    int c[50];
    serve(&s, usual_options(), false);
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        c[i] = dial(s.port);
        if (i % 2) say(c[i], "POST /translate HTTP/1.1\r\nHost: loc", 35);
    }
    assert_answer(ask(&s, "POST /translate", FORM, ASK), 200, "translatedText");
    double from = hd_seconds();
    hd_server_drain(s.server, 5);
    unserve(&s);
    assert_true(hd_seconds() - from < 4);
    for (size_t i = 0; i < COUNT_OF(c); i++) close(c[i]);
}

/* -- the HTTP layer by itself: streams and deadlines -- */

static hd_request *streaming;

static void look_at(void *context, hd_request *r)
{
    (void)context, (void)r;
}

static void begin_stream(void *context, hd_request *r)
{
    (void)context;
    if (!strcmp(r->path, "/wait") && !r->woken) {
        hd_request_hold(r);
        __atomic_store_n(&streaming, r, __ATOMIC_RELEASE);
        hd_request_wait(r);
        return;
    }
    hd_request_stream(r, 200, "text/event-stream", !strcmp(r->path, "/soon") ? hd_seconds() - 1 : 0);
    hd_request_hold(r);
    __atomic_store_n(&streaming, r, __ATOMIC_RELEASE);
}

static void release_none(void *context, hd_request *r)
{
    (void)context, (void)r;
}

static void over_none(void *context, hd_request *r, int status, double seconds, double first)
{
    (void)context, (void)r, (void)status, (void)seconds, (void)first;
}

static hd_http *open_plain(int *port, double head_seconds)
{
    hd_err err = {0};
    hd_http *h = NULL;
    bool loopback = false;
    char address[HD_HTTP_ADDRESS];
    static const hd_log silent = {0};
    hd_http_opt o = {
        .connections = 100,
        .body = 1000,
        .head_seconds = head_seconds,
        .body_seconds = head_seconds,
        .write_seconds = 2,
        .user = {.look = look_at, .begin = begin_stream, .over = over_none, .release = release_none},
        .log = &silent};
    __atomic_store_n(&streaming, NULL, __ATOMIC_RELEASE);
    if (hd_http_listen(&o.listener, "127.0.0.1", 0, &loopback, &err)) fail_msg("%s", err.text);
    assert_true(loopback);
    *port = atoi(strrchr(hd_http_address(o.listener, address), ':') + 1);
    if (hd_http_open(&h, &o, &err)) fail_msg("%s", err.text);
    return h;
}

/* Until a request has come to begin_stream, or some seconds. */
static hd_request *await_request(void)
{
    for (int i = 0; i < 1000; i++) {
        hd_request *r = __atomic_load_n(&streaming, __ATOMIC_ACQUIRE);
        if (r) return r;
        usleep(5000);
    }
    fail_msg("no request came");
    return NULL;
}

static void a_stream_arrives_piece_by_piece(void **state)
{
    (void)state;
    int port, c;
    char got[256];
    hd_http *h = open_plain(&port, 10);
    c = dial(port);
    say(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 38 - 2);
    hd_request *r = await_request();
    assert_true(recv(c, got, sizeof got - 1, 0) > 0);
    for (int i = 0; i < 3; i++) {
        assert_true(hd_request_send(r, "piece", 5));
        ssize_t n = recv(c, got, sizeof got - 1, 0);
        assert_true(n > 0);
        got[n] = 0;
        assert_non_null(strstr(got, "piece"));
    }
    hd_request_end(r);
    ssize_t n = recv(c, got, sizeof got - 1, 0);
    assert_true(n >= 5 && !memcmp(got, "0\r\n\r\n", 5));
    hd_request_drop(r);
    close(c);
    hd_http_close(h);
}

static void who_leaves_a_stream_is_noticed(void **state)
{
    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        int port;
        hd_http *h = open_plain(&port, 10);
        int c = dial(port);
        const char *request = waits ? "GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n"
                                    : "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        say(c, request, strlen(request));
        hd_request *r = await_request();
        usleep(50000);
        assert_false(atomic_load(&r->gone));
        double from = hd_seconds();
        close(c);
        while (!atomic_load(&r->gone) && hd_seconds() - from < 5) usleep(1000);
        assert_true(hd_seconds() - from < (HEED_SANITIZED ? 2 : 0.1));
        if (!waits) assert_false(hd_request_send(r, "x", 1));
        hd_request_drop(r);
        hd_http_close(h);
    }
}

/* Until nobody seems to read; the number of bytes that were sent. */
static size_t fill(hd_request *r)
{
    static char piece[1 << 14];
    size_t sent = 0;
    for (double from = hd_seconds(); hd_seconds() - from < 0.2;) {
        if (hd_request_full(r)) {
            usleep(1000);
            continue;
        }
        memset(piece, 'a' + (int)(sent >> 14) % 26, sizeof piece);
        if (!hd_request_send(r, piece, sizeof piece)) break;
        sent += sizeof piece, from = hd_seconds();
    }
    return sent;
}

static void who_reads_late_gets_all_of_it(void **state)
{
    (void)state;
    int port;
    hd_http *h = open_plain(&port, 10);
    int c = dial(port), room = 1 << 16;
    setsockopt(c, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    say(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 36);
    hd_request *r = await_request();
    size_t sent = fill(r), size = 0, wrong = 0;
    assert_true(hd_request_full(r));
    assert_true(sent >= HD_STREAM_HIGH && sent < 64u << 20);
    hd_request_end(r);
    char *got = hear_chunks(c, &size);
    assert_int_equal(size, sent);
    for (size_t i = 0; i < size; i++) wrong += got[i] != 'a' + (int)(i >> 14) % 26;
    assert_int_equal(wrong, 0);
    free(got);
    assert_false(hd_request_full(r));
    hd_request_drop(r);
    hd_http_close(h);
    close(c);
}

/* However much time it has otherwise, a stream that is to be over is, soon after it was. */
static void who_does_not_read_loses_the_stream(void **state)
{
    (void)state;
    int port;
    hd_http *h = open_plain(&port, 10); /* which gives 2 seconds to write */
    int c = dial(port);
    say(c, "GET /soon HTTP/1.1\r\nHost: localhost\r\n\r\n", 40);
    hd_request *r = await_request();
    double from = hd_seconds();
    fill(r);
    while (!atomic_load(&r->gone) && hd_seconds() - from < 8) usleep(1000);
    assert_true(hd_seconds() - from < 4);
    assert_false(hd_request_send(r, "x", 1));
    hd_request_drop(r);
    hd_http_close(h);
    close(c);
}

/* However little by little it comes. */
static void headers_have_a_deadline(void **state)
{
    (void)state;
    int port;
    hd_http *h = open_plain(&port, 0.6);
    int c = dial(port);
    double from = hd_seconds();
    const char *line = "GET / HTTP/1.1\r\nX: ";
    say(c, line, strlen(line));
    char got;
    while (hd_seconds() - from < 10) {
        struct pollfd p = {c, POLLIN, 0};
        if (poll(&p, 1, 50) > 0 && recv(c, &got, 1, 0) <= 0) break;
        say(c, "x", 1);
    }
    double took = hd_seconds() - from;
    assert_true(took > 0.5 && took < 5);
    close(c);
    hd_http_close(h);
}

int main(void)
{
    if (!HEED_MICROHTTPD) return puts("skipped: built without libmicrohttpd"), 77;
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_loopback_address_needs_no_key),
        cmocka_unit_test(a_key_is_asked_for),
        cmocka_unit_test(names_and_pages_of_others_are_refused),
        cmocka_unit_test(what_is_too_large_is_refused),
        cmocka_unit_test(long_addresses_and_headers_are_refused),
        cmocka_unit_test(who_asks_for_too_much_is_told_when_to_come_back),
        cmocka_unit_test(what_is_no_http_costs_nobody_else),
        cmocka_unit_test(many_requests_go_through_one_connection),
        cmocka_unit_test(who_leaves_costs_nobody_else),
        cmocka_unit_test(connections_that_stay_open_do_not_keep_it_from_ending),
        cmocka_unit_test(a_stream_arrives_piece_by_piece),
        cmocka_unit_test(who_leaves_a_stream_is_noticed),
        cmocka_unit_test(who_reads_late_gets_all_of_it),
        cmocka_unit_test(who_does_not_read_loses_the_stream),
        cmocka_unit_test(headers_have_a_deadline),
    };
    return outcome(cmocka_run_group_tests(tests, scratch_make, scratch_remove));
}
