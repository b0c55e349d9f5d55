/* The server as a service: models that change, what it gives up, systemd's sockets, signals. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "serve/client.h"

#define ASK     "q=i+ate+an+apple+.&source=en&target=de"
#define REQUEST "POST /translate?" ASK " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"

typedef struct asker {
    int port;
    atomic_bool stop;
    int good, bad;
} asker;

static void *ask_on(void *context)
{
    asker *a = context;
    while (!atomic_load(&a->stop)) {
        char answer[4096];
        int c = dial(a->port);
        say(c, REQUEST, strlen(REQUEST));
        ssize_t n = recv(c, answer, sizeof answer - 1, 0);
        bool good = n > 12 && !memcmp(answer, "HTTP/1.1 200", 12);
        a->good += good, a->bad += !good;
        close(c);
    }
    return NULL;
}

/* Until the old models are gone. */
static void tidy(hd_server *s)
{
    double from = hd_seconds();
    while (hd_server_tidy(s) && hd_seconds() - from < 10) usleep(10000);
    assert_false(hd_server_tidy(s));
}

static void models_change_while_requests_go_on(void **state)
{
    (void)state;
    served s;
    hd_err err = {0};
    pthread_t thread;
    serve(&s, usual_options(), false);
    asker a = {.port = s.port};
    assert_int_equal(pthread_create(&thread, NULL, ask_on, &a), 0);
    const hd_engine *before = s.model[0].engine;
    hd_server_reload(s.server); /* nothing has changed */
    assert_ptr_equal(s.model[0].engine, before);
    for (int i = 0; i < 3; i++) {
        const hd_engine *old = s.model[0].engine;
        usleep(20000); /* times of files are coarse */
        assert_int_equal(tiny_write(at("model"), &err), HD_OK);
        hd_server_reload(s.server);
        assert_ptr_not_equal(s.model[0].engine, old);
        tidy(s.server);
    }
    atomic_store(&a.stop, true);
    pthread_join(thread, NULL);
    assert_true(a.good > 0);
    assert_int_equal(a.bad, 0);
    put_bytes(at("model/model.safetensors"), "broken", 6);
    const hd_engine *last = s.model[0].engine;
    hd_server_reload(s.server);
    assert_ptr_equal(s.model[0].engine, last);
    assert_answer(ask(&s, "POST /translate", FORM, ASK), 200, "translatedText");
    unserve(&s);
    assert_int_equal(tiny_write(at("model"), &err), HD_OK);
}

/* Bytes of memory that the process has. */
static size_t resident(void)
{
    size_t all = 0, here = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%zu %zu", &all, &here), 2);
    fclose(f);
    return here * (size_t)sysconf(_SC_PAGESIZE);
}

static void freed_memory_goes_back_when_a_model_was_changed(void **state)
{
    (void)state;
    enum { BLOCKS = 512, BYTES = 64 << 10 };
    static void *block[BLOCKS];
    served s;
    hd_err err = {0};
    if (HEED_SANITIZED) leave_out("a sanitizer keeps what is freed");
    hd_mem_keep_freed();
    serve(&s, usual_options(), false);
    for (int i = 0; i < BLOCKS; i++) assert_non_null(block[i] = malloc(BYTES)), memset(block[i], 1, BYTES);
    const size_t most = resident();
    for (int i = 0; i < BLOCKS; i++) free(block[i]);
    assert_true(resident() > most - (4 << 20)); /* it is kept */
    usleep(20000);
    assert_int_equal(tiny_write(at("model"), &err), HD_OK);
    hd_server_reload(s.server);
    tidy(s.server);
    assert_true(resident() < most - (size_t)BLOCKS * BYTES / 2);
    unserve(&s);
}

/* -- what it gives up, in a process of its own: there is no way back -- */

static int give_up(void)
{
    served s;
    hd_server_opt o = usual_options();
    o.cage = true;
    bool landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
    serve(&s, o, false);
    if (landlock && (open("/etc/passwd", O_RDONLY) >= 0 || errno != EACCES)) return 1;
    if (landlock && (open(at("new"), O_WRONLY | O_CREAT, 0600) >= 0 || errno != EACCES)) return 2;
    if (open(at("model/config.json"), O_RDONLY) < 0) return 3;
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM) return 4;
    execl("/bin/true", "true", (char *)NULL);
    return errno == EPERM || errno == EACCES ? 0 : 5;
}

/* Asks from outside: a process without files and sockets cannot. */
static int answer_caged(int to)
{
    served s;
    hd_server_opt o = usual_options();
    o.cage = true;
    serve(&s, o, false);
    if (write(to, &s.port, sizeof s.port) != (ssize_t)sizeof s.port) return 1;
    pause();
    return 0;
}

static void it_gives_up_what_it_does_not_need(void **state)
{
    (void)state;
    if (HEED_SANITIZED) return; /* whose runtimes read files of /proc */
    int status = 0, ends[2];
    pid_t child = fork();
    if (!child) _exit(give_up());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (!child) _exit(answer_caged(ends[1]));
    served s = {0};
    assert_int_equal(read(ends[0], &s.port, sizeof s.port), sizeof s.port);
    assert_answer(ask(&s, "POST /translate", FORM, ASK), 200, "translatedText");
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    close(ends[0]), close(ends[1]);
}

/* -- the program -- */

static int listen_at_any(int *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t size = sizeof a;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s, (const struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s, 10), 0);
    assert_int_equal(getsockname(s, (struct sockaddr *)&a, &size), 0);
    *port = ntohs(a.sin_port);
    return s;
}

/* As systemd does: the socket is number 3, and variables tell. */
static pid_t start(int listener)
{
    pid_t child = fork();
    if (child) return child;
    char number[32];
    put_bytes(at("serve.yml"), "languages: [en:de]\n", 19);
    snprintf(number, sizeof number, "%d", (int)getpid());
    dup2(listener, 3);
    setenv("LISTEN_PID", number, 1), setenv("LISTEN_FDS", "1", 1), setenv("NOTIFY_SOCKET", at("notify"), 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* which reads /proc, given up by then */
    execl(HEED_PROGRAM, "heed", "serve", "--config", at("serve.yml"), at("model"), "--threads", "1",
          (char *)NULL);
    _exit(99);
}

static int notices(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const struct timeval most = {.tv_sec = 20};
    snprintf(a.sun_path, sizeof a.sun_path, "%s", at("notify"));
    unlink(a.sun_path);
    int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    assert_int_equal(bind(s, (const struct sockaddr *)&a, sizeof a), 0);
    return s;
}

static void await_notice(int s, const char *what)
{
    char text[256];
    for (ssize_t n; (n = recv(s, text, sizeof text - 1, 0)) > 0;) {
        text[n] = 0;
        if (!strncmp(text, what, strlen(what))) return;
    }
    fail_msg("%s was not said", what);
}

static void systemd_hands_the_socket_over(void **state)
{
    (void)state;
    hd_err err = {0};
    served s = {0};
    int status = 0, said = notices(), listener = listen_at_any(&s.port);
    pid_t child = start(listener);
    close(listener);
    await_notice(said, "READY=1");
    assert_answer(ask(&s, "POST /translate", FORM, ASK), 200, "translatedText");
    usleep(20000);
    assert_int_equal(tiny_write(at("model"), &err), HD_OK);
    kill(child, SIGHUP);
    await_notice(said, "RELOADING=1");
    await_notice(said, "READY=1");
    assert_answer(ask(&s, "POST /translate", FORM, ASK), 200, "translatedText");
    kill(child, SIGTERM);
    await_notice(said, "STOPPING=1");
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(said);
}

static void a_second_signal_ends_it_at_once(void **state)
{
    (void)state;
    served s = {0};
    int status = 0, said = notices(), listener = listen_at_any(&s.port);
    pid_t child = start(listener);
    close(listener);
    await_notice(said, "READY=1");
    /* a request that takes long */
    enum { LINES = 900 };
    static char body[LINES * 120];
    size_t n = (size_t)snprintf(body, sizeof body, "{\"source\": \"en\", \"target\": \"de\", \"q\": [");
    for (int i = 0; i < LINES; i++)
        n += (size_t)snprintf(body + n, sizeof body - n,
                              "%s\"i ate an apple , you ate it , too . are you tired ? we are tired .\"",
                              i ? "," : "");
    snprintf(body + n, sizeof body - n, "]}");
    char head[256];
    int c = dial(s.port);
    n = (size_t)snprintf(head, sizeof head,
                         "POST /translate HTTP/1.1\r\nHost: localhost\r\n" JSON "Content-Length: %zu\r\n\r\n",
                         strlen(body));
    say(c, head, n);
    say(c, body, strlen(body));
    usleep(100000);
    kill(child, SIGTERM);
    await_notice(said, "STOPPING=1");
    usleep(20000);
    double from = hd_seconds();
    kill(child, SIGTERM);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(hd_seconds() - from < 5); /* at once; the thread sanitizer rests a second at each end */
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
    close(c), close(said);
}

/* They are read when it starts; what is no page of theirs is not shown. */
static void pages_of_experiments_are_shown(void **state)
{
    (void)state;
    served s;
    hd_server_opt o = usual_options();
    serve(&s, o, false);
    assert_answer(ask(&s, "GET /lab/", "", NULL), 404, "without --lab");
    unserve(&s);
    char folder[512];
    snprintf(folder, sizeof folder, "%s", at("lab"));
    assert_int_equal(mkdir(folder, 0700), 0);
    put_file(at("lab/secret.txt"), "not for others");
    o.lab = folder;
    hd_err err = {0};
    o.models = (hd_models){s.model, 1};
    assert_int_equal(hd_server_open(&s.server, &o, &err), HD_EFILE);
    assert_non_null(strstr(err.text, "no index.html"));
    put_file(at("lab/index.html"), "<p>all of them");
    put_file(at("lab/mask.json"), "{}");
    serve(&s, o, false);
    remove(at("lab/index.html"));
    assert_answer(ask(&s, "GET /lab", "", NULL), 301, "Location: /lab/");
    assert_answer(ask(&s, "GET /lab/", "", NULL), 200, "text/html|default-src 'none'|<p>all of them");
    assert_answer(ask(&s, "GET /lab/mask.json", "", NULL), 200, "application/json|{}");
    assert_answer(ask(&s, "GET /lab/secret.txt", "", NULL), 404, "Not found");
    assert_answer(ask(&s, "GET /lab/../model/config.json", "", NULL), 404, "Not found");
    unserve(&s);
}

int main(void)
{
    if (!HEED_MICROHTTPD) return puts("skipped: built without libmicrohttpd"), 77;
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_change_while_requests_go_on),
        cmocka_unit_test(freed_memory_goes_back_when_a_model_was_changed),
        cmocka_unit_test(it_gives_up_what_it_does_not_need),
        cmocka_unit_test(systemd_hands_the_socket_over),
        cmocka_unit_test(a_second_signal_ends_it_at_once),
        cmocka_unit_test(pages_of_experiments_are_shown),
    };
    return outcome(cmocka_run_group_tests(tests, scratch_make, scratch_remove));
}
