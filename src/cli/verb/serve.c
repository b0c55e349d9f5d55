/* heed serve: models behind HTTP, until a signal ends it. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/frame/searching.h"
#include "cli/frame/verb.h"
#include "serve/server.h"
#include "serve/service.h"

enum { MODELS = 64, PATIENCE = 30 }; /* models of a server; seconds for requests to be answered at the end */

typedef struct serve_options {
    hd_usual usual;
    const char *config, *address, *key_file, *lab;
    int port;
    bool public, sample; /* sample: always false, for rows of searches */
    bool uncaged;
    hd_texts models, languages, host, origin;
    size_t queue, texts, tokens, body;
    double deadline, rate;
    hd_translate_opt opt;
} serve_options;

#define OWNER serve_options
#define NET   .group = "Network"
#define LIMIT .group = "Limits"

static const char *const checkpoints[] = {"best", "last", NULL};

static const hd_option options[] = {
    {"port", 'p', "N", "8080", "port to listen at; 0: any that is free", NET,
     HD_INT_INTO(OWNER, port, 0, 65535)},
    {"address", 0, "ADDRESS", "127.0.0.1",
     "address to listen at, in numbers; one that other machines reach needs --key-file or --public", NET,
     HD_TEXT_INTO(OWNER, address)},
    {"key-file", 0, "FILE", NULL,
     "keys of those who may ask, one a line; only its owner may be able to read it", NET,
     HD_FILE_INTO(OWNER, key_file)},
    {"public", 0, NULL, NULL, "let other machines ask without a key", NET, HD_FLAG_INTO(OWNER, public)},
    {"host", 0, "NAME", NULL,
     "a name that the server is called by, besides localhost and addresses in numbers", NET,
     .type = HD_OPTION_TEXT, .many = true, HD_OPTION_INTO(hd_texts, OWNER, host)},
    {"origin", 0, "URL", NULL, "pages of this origin may ask, as https://example.org; '*': all pages", NET,
     .type = HD_OPTION_TEXT, .many = true, HD_OPTION_INTO(hd_texts, OWNER, origin)},

    {"uncaged", 0, NULL, NULL,
     "keep all files and system calls (it gives up what it does not need, by Landlock and seccomp)", NET,
     HD_FLAG_INTO(OWNER, uncaged)},

    {"queue", 0, "N", "20000", "most tokens that wait for a model; further requests are refused for now",
     LIMIT, HD_COUNT_INTO(OWNER, queue, 0, 1000000000)},
    {"deadline", 0, "SECONDS", "60", "most time of a request; 0: any", LIMIT,
     HD_FLOAT_INTO(OWNER, deadline, 0, 86400)},
    {"rate", 0, "N", "0",
     "most tokens a minute of a key, or of an address where there are no keys; 0: any number", LIMIT,
     HD_FLOAT_INTO(OWNER, rate, 0, 1e12)},
    {"texts", 0, "N", "1000", "most texts of a request", LIMIT, HD_COUNT_INTO(OWNER, texts, 1, 1000000)},
    {"tokens", 0, "N", "1048576", "most tokens that a language model continues a text by", LIMIT,
     HD_COUNT_INTO(OWNER, tokens, 1, 1 << 20)},
    {"body", 0, "BYTES", "1048576", "most bytes of a request", LIMIT,
     HD_COUNT_INTO(OWNER, body, 1024, 1 << 30)},

    {"models", 0, "[NAME=]MODEL", NULL, "a further model, for files of --config; the first ones are operands",
     .type = HD_OPTION_TEXT, .many = true, HD_OPTION_INTO(hd_texts, OWNER, models)},
    {"languages", 0, "SOURCE:TARGET", NULL,
     "languages of a translator, as en:de; once for each model, in their order. Where it is not given, "
     "training.yml or a folder named as opus-mt-en-de tells",
     .type = HD_OPTION_TEXT, .many = true, HD_OPTION_INTO(hd_texts, OWNER, languages)},
    {"beam", 'b', "N", "5", "beam size; 1: greedy search", .group = "Search",
     HD_COUNT_INTO(OWNER, opt.search.beam, 1, 1000)},
    {"batch", 0, "N", "0",
     "hypotheses searched in parallel; 0: 256, of small translators on the CPU 40 for each thread",
     .group = "Search", HD_COUNT_INTO(OWNER, opt.batch, 0, 1000000)},
    {"checkpoint", 0, "WHICH", "best", "weights to use: best (by validation) or last",
     HD_CHOICE_INTO(hd_usual, weights, checkpoints)},
    {"lab", 0, "FOLDER", NULL, "show the pages that `heed lab --all --out FOLDER` wrote, under /lab/",
     HD_FILE_INTO(OWNER, lab)},
    {HD_CONFIG_NAME, 0, "FILE", NULL, HD_CONFIG_HELP, HD_FILE_INTO(OWNER, config)},
    HD_MACHINE_ROWS,
    {0},
};

static const hd_example examples[] = {
    {"heed serve model", "a translator at http://127.0.0.1:8080"},
    {"curl -s localhost:8080/translate -d q='I ate an apple .' -d source=en -d target=de", "asks it"},
    {"heed serve en-de=model back --languages en:de --languages de:en", "two of them"},
    {"heed serve --config serve.yml", "options and models from a file"},
    {"heed serve model --address 0.0.0.0 --key-file keys", "for other machines"},
    {NULL, NULL},
};

/* Signals that end it; blocked in all threads, and waited for. */
static sigset_t block_signals(void)
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ending, NULL);
    signal(SIGPIPE, SIG_IGN);
    return ending;
}

static void end_now(int number)
{
    _exit(HD_EXIT_SIGNAL + number);
}

/* Until a signal that ends it; a second one ends the program at once. */
static void wait_for_signal(hd_server *server, const sigset_t *ending)
{
    const struct sigaction now = {.sa_handler = end_now};
    const struct timespec soon = {.tv_nsec = 100000000};
    for (int number = SIGHUP; number == SIGHUP || number < 0;) {
        number = hd_server_tidy(server) ? sigtimedwait(ending, NULL, &soon) : sigwaitinfo(ending, NULL);
        if (number != SIGHUP) continue;
        hd_service_say("RELOADING=1");
        hd_server_reload(server);
        hd_service_say("READY=1");
    }
    hd_service_say("STOPPING=1");
    sigaction(SIGINT, &now, NULL);
    sigaction(SIGTERM, &now, NULL);
    sigaction(SIGHUP, &now, NULL);
    pthread_sigmask(SIG_UNBLOCK, ending, NULL);
}

static hd_server_opt settings_of(const hd_command *c, const serve_options *o, hd_models models)
{
    hd_translate_opt t = o->opt;
    t.search = hd_translate_usual(t.search.beam);
    t.search.unscored = true;
    return (hd_server_opt){.models = models,
                           .engine = {.device = o->usual.machine.name,
                                      .precision = o->usual.machine.precision,
                                      .threads = c->common.threads,
                                      .weights = o->usual.weights,
                                      .translate = t,
                                      .queue_tokens = o->queue,
                                      .log = c->log},
                           .listener = hd_service_socket(),
                           .address = o->address,
                           .port = o->port,
                           .key_file = o->key_file,
                           .public = o->public,
                           .host = o->host.text,
                           .hosts = (size_t)o->host.count,
                           .origin = o->origin.text,
                           .origins = (size_t)o->origin.count,
                           .body = o->body,
                           .deadline = o->deadline,
                           .texts = o->texts,
                           .lab = o->lab,
                           .tokens = o->tokens,
                           .cage = !o->uncaged,
                           .rate = o->rate};
}

static hd_status run(hd_command *c, hd_err *err)
{
    const serve_options *o = c->options;
    hd_served served[MODELS];
    const int words = c->operands.count, count = words + o->models.count;
    const hd_models models = {served, (size_t)count};
    hd_server *server = NULL;
    hd_status s = HD_OK;
    if (count < 1 || count > MODELS) {
        c->misused = true;
        return hd_err_set(err, HD_EARG, count ? "more than %d models" : "MODEL is required", MODELS);
    }
    for (int i = 0; !s && i < count; i++)
        s = hd_served_read(&served[i], i < words ? c->operands.word[i] : o->models.text[i - words],
                           i < o->languages.count ? o->languages.text[i] : NULL, err);
    hd_mem_return_freed(); /* it runs for long, and what one request needed no other may need again */
    hd_service_say("STATUS=opening models");
    const hd_server_opt opt = settings_of(c, o, models);
    sigset_t ending = block_signals();
    if (!s) s = hd_server_open(&server, &opt, err);
    hd_text line = {0};
    if (!s) hd_text_print(&line, "%s\n", hd_server_url(server));
    if (!s) s = hd_command_put_text(c, &line, true, err);
    if (!s) hd_service_say("READY=1\nSTATUS=");
    if (!s) wait_for_signal(server, &ending);
    if (!s) hd_server_drain(server, PATIENCE);
    hd_server_free(server);
    return s;
}

const hd_usage hd_verb_serve = {
    .operands = "[[NAME=]MODEL...]",
    .least = 0,
    .most = MODELS,
    .about =
        "Answers requests by HTTP with the models in the folders, and prints the address. Translators are "
        "asked as LibreTranslate is; see docs/serving.md.\n"
        "SIGTERM and SIGINT let requests that are there be answered, then it ends with exit status 0; a "
        "second one ends it at once. SIGHUP opens models anew whose files have changed.",
    .options = options,
    .size = sizeof(serve_options),
    .examples = examples,
    .run = run,
};
