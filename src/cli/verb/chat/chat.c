/* heed chat: a conversation at a terminal or through a pipe. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/file/file.h"
#include "cli/verb/chat/asking.h"
#include "task/language/chat/chat.h"

struct chat {
    hd_usual usual;
    hd_sampling_options sampling;
    hd_asking_options asking;
};

static const hd_option options[] = {
    HD_ASKING_ROWS(struct chat, NULL),
    {"tokens", 'n', "N", "1024", "most tokens of an answer",
     HD_COUNT_INTO(struct chat, sampling.opt.tokens, 1, 1000000)},
    HD_SAMPLING_ROWS(struct chat, HD_CHAT_TEMPERATURE),
    HD_ATTENDING_HEADS,
    HD_MACHINE_ROWS,
    {0},
};

static const hd_example examples[] = {
    {"heed chat model", "talk at the terminal"},
    {"heed chat model --system 'Answer in one sentence.' --temperature 0.2", "with a system message"},
    {"echo 'What is 2+2?' | heed chat model --greedy", "one message a line, answers alone are written"},
    {NULL, NULL},
};

typedef struct call {
    hd_command command;
    const struct chat *o;
    hd_sampling sampling;
    hd_chat_form form;
    hd_chat *chat;
    char *system;    /* what the conversation begins with, or NULL */
    hd_text message; /* of several lines */
    hd_err why;      /* it cannot be read */
    bool ends;       /* the last text that was written ended a line */
} call;

/* -- Ctrl-C -- */

static volatile sig_atomic_t interrupted, waits; /* waits: someone is asked for a line */

static void take_interrupt(int number)
{
    static const char again[] = "\n> "; /* what was typed is gone */
    (void)number;
    interrupted = 1;
    if (waits && write(STDERR_FILENO, again, sizeof again - 1) < 0) waits = 0;
}

static struct sigaction catch_interrupt(void)
{
    struct sigaction a = {.sa_handler = take_interrupt, .sa_flags = SA_RESTART}, before;
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, &before);
    return before;
}

/* -- commands -- */

static hd_status help(call *c, const char *rest, hd_err *err);

static hd_status clear(call *c, const char *rest, hd_err *err)
{
    (void)rest;
    hd_log_say(&c->command.log, HD_INFO, "a new conversation begins");
    return hd_chat_begin(c->chat, c->system, err);
}

static hd_status set_system(call *c, const char *rest, hd_err *err)
{
    char *text = *rest ? hd_mem_text(rest) : NULL;
    if (*rest && !text) return hd_err_nomem(err, strlen(rest));
    hd_mem_free(c->system);
    c->system = text;
    return clear(c, "", err);
}

static hd_status save(call *c, const char *rest, hd_err *err)
{
    hd_text text = {0};
    if (!*rest) return hd_err_set(err, HD_EARG, "/save needs a file");
    hd_json_begin();
    json_t *root = json_object();
    hd_json_set(root, "messages", json_deep_copy(hd_chat_messages(c->chat)));
    hd_status s = hd_json_write(&text, root, JSON_COMPACT, err);
    hd_text_put(&text, "\n");
    if (!s) s = hd_text_status(&text, err);
    if (!s) s = hd_save_bytes(rest, text.data, text.size, err);
    if (!s) hd_log_say(&c->command.log, HD_INFO, "saved to %s", rest);
    hd_text_release(&text);
    return s;
}

#define COMMAND_LIST(X)                                                                               \
    X(help, help, "", "what can be typed")                                                            \
    X(clear, clear, "", "begin anew, with the same system message")                                   \
    X(system, set_system, " TEXT", "begin anew with this system message; without TEXT: with none")    \
    X(save, save, " FILE", "write the conversation as a line of JSON, as heed train reads dialogues") \
    X(exit, NULL, "", "end, as Ctrl-D does")

static const struct {
    const char *name, *operand, *text;
    hd_status (*run)(call *c, const char *rest, hd_err *err);
} commands[] = {
#define X(name, run, operand, text) {#name, operand, text, run},
    COMMAND_LIST(X)
#undef X
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static hd_status help(call *c, const char *rest, hd_err *err)
{
    (void)rest, (void)err;
    FILE *to = c->command.err.file;
    for (int i = 0; i < COMMANDS; i++) {
        char name[32];
        snprintf(name, sizeof name, "/%s%s", commands[i].name, commands[i].operand);
        fprintf(to, "  %-14s %s\n", name, commands[i].text);
    }
    fprintf(to, "  Ctrl-C         stop the answer\n"
                "  //TEXT         a message that begins with /\n"
                "  \"\"\"            before and behind a message: it has several lines\n");
    fflush(to);
    return HD_OK;
}

/* Whether the line is a command, which is done; *ends: it is /exit. */
static bool command(call *c, const char *line, bool *ends, hd_status *s, hd_err *err)
{
    if (line[0] != '/' || line[1] == '/') return false;
    size_t size = strcspn(line + 1, " \t");
    const char *rest = line + 1 + size + strspn(line + 1 + size, " \t");
    for (int i = 0; i < COMMANDS; i++)
        if (strlen(commands[i].name) == size && !memcmp(commands[i].name, line + 1, size)) {
            *ends = !commands[i].run;
            *s = *ends ? HD_OK : commands[i].run(c, rest, err);
            return true;
        }
    *s = hd_err_set(err, HD_EARG, "%.*s is not a command: /help lists them", (int)(size % 64) + 1, line);
    return true;
}

/* -- turns -- */

static hd_status heard(void *context, size_t which, const char *text, size_t size, hd_err *err)
{
    call *c = context;
    (void)which;
    if (size) c->ends = text[size - 1] == '\n';
    return hd_command_put(&c->command, text, size, true, err);
}

static hd_status turn(call *c, const char *message, hd_err *err)
{
    hd_generated answer = {0};
    size_t dropped = hd_chat_dropped(c->chat);
    interrupted = 0;
    c->ends = false;
    hd_status s = hd_chat_answer(c->chat, &c->command.machine.run, message, &c->sampling.opt, &answer, err);
    if (!s && !c->ends) s = hd_command_put(&c->command, "\n", 1, true, err);
    if (!s && hd_chat_dropped(c->chat) > dropped)
        hd_log_say(&c->command.log, HD_INFO, "the context is full: the oldest %zu messages were dropped",
                   hd_chat_dropped(c->chat) - dropped);
    hd_generated_release(&answer);
    return s;
}

/* A line that cannot be answered is refused, and the conversation goes on. quoted: it is no command. */
static hd_status line_of(call *c, const hd_input_line *line, bool quoted, bool *ends, hd_err *err)
{
    hd_err why = {0};
    hd_status s = HD_OK;
    const char *text = line->text.text;
    if (line->why)
        hd_err_set(&why, HD_EARG, "%s", line->why);
    else if (!line->text.size)
        return c->command.in.live ? HD_OK : hd_command_put(&c->command, "\n", 1, true, err);
    else if (!quoted && command(c, text, ends, &s, &why)) {
        if (s) hd_log_say(&c->command.log, HD_ERROR, "%s", why.text);
        return HD_OK;
    } else
        s = turn(c, text + (!quoted && text[0] == '/'), err);
    if (s && hd_input_forgives(err, &why)) s = HD_OK;
    if (s || !why.text[0]) return s;
    if (c->command.in.live) {
        hd_log_say(&c->command.log, HD_ERROR, "%s", why.text);
        return HD_OK;
    }
    hd_text out = {0};
    hd_input_stand_in(&c->command.in, &out, false, line, why.text);
    return hd_command_put_text(&c->command, &out, true, err);
}

static hd_status next_line(call *c, hd_input_line *line, hd_err *err)
{
    waits = c->command.in.live;
    hd_status s = hd_input_next(&c->command.in, line, err);
    waits = 0;
    return s;
}

static bool ends_quoted(hd_line text)
{
    return text.size >= 3 && !memcmp(text.text + text.size - 3, "\"\"\"", 3);
}

/* The lines of a message between triple quotes, which begin `line`; it becomes all of them. */
static hd_status next_lines(call *c, hd_input_line *line, hd_err *err)
{
    hd_input_line all = *line;
    hd_err why = {0};
    hd_line part = {line->text.text + 3, line->text.size - 3};
    c->message.size = 0;
    for (hd_status s = HD_OK; !ends_quoted(part); part = line->text) {
        hd_text_add(&c->message, part.text, part.size);
        hd_text_put(&c->message, "\n");
        s = next_line(c, line, err);
        if (s) return s;
        if (line->why && !why.status) hd_err_set(&why, HD_EARG, "%s", line->why);
        if (!line->text.text) { /* the end is the end of it, too */
            part = (hd_line){"\"\"\"", 3};
            break;
        }
    }
    hd_text_add(&c->message, part.text, part.size - 3);
    hd_status s = hd_text_status(&c->message, err);
    all.text = (hd_line){c->message.data, c->message.size};
    if (why.status) c->why = why, all.why = c->why.text;
    *line = all;
    return s;
}

static hd_status converse(call *c, hd_err *err)
{
    hd_command *m = &c->command;
    waits = hd_terminal_of(stdin).is_terminal && m->err.is_terminal; /* opening waits for the first line */
    hd_status s = hd_input_open(m, "a message, or /help", "answered", HD_INPUT_TEXT, err);
    waits = 0;
    for (bool ends = false; !s && !ends;) {
        hd_input_line line;
        s = next_line(c, &line, err);
        if (s || !line.text.text) break;
        bool quoted = line.text.size >= 3 && !memcmp(line.text.text, "\"\"\"", 3);
        if (quoted) s = next_lines(c, &line, err);
        if (!s) s = line_of(c, &line, quoted, &ends, err);
    }
    if (!s && m->in.live) fputs("\n", m->err.file);
    return s;
}

static hd_status run(hd_command *m, hd_err *err)
{
    call *c = (call *)m;
    const char *folder = m->operands.word[0];
    hd_status s = hd_sampling_open(&c->sampling, m, true, err);
    if (!s) s = hd_chat_form_open(&c->form, folder, c->o->asking.template, m->model.tokenizer[0], err);
    if (!s) s = hd_chat_new(&c->chat, &m->model, &c->form, err);
    const char *system = c->o->asking.system;
    if (!s && system && !(c->system = hd_mem_text(system))) s = hd_err_nomem(err, strlen(system));
    if (!s) s = hd_chat_begin(c->chat, c->system, err);
    if (s) return s;
    struct sigaction before = catch_interrupt();
    s = converse(c, err);
    sigaction(SIGINT, &before, NULL);
    return s;
}

static hd_status check(hd_command *m, hd_err *err)
{
    call *c = (call *)m;
    c->o = m->options;
    hd_status s = hd_sampling_check(&c->sampling, m, &c->o->sampling, err);
    c->sampling.opt.tell = heard, c->sampling.opt.context = c, c->sampling.opt.halt = &interrupted;
    return s;
}

static void release(hd_command *m)
{
    call *c = (call *)m;
    hd_chat_free(c->chat);
    hd_chat_form_release(&c->form);
    hd_sampling_release(&c->sampling);
    hd_text_release(&c->message);
    hd_mem_free(c->system);
}

const hd_usage hd_verb_chat = {
    .operands = "MODEL",
    .least = 1,
    .most = 1,
    .about = "Talks with the language model in the folder MODEL: each line is a message, and the answer is "
             "written while "
             "it comes. The model remembers the conversation and reads only what is new; where its context "
             "is full, "
             "the oldest turns are dropped. Ctrl-C stops an answer, Ctrl-D or /exit ends, /help lists what "
             "else can be "
             "typed.\n"
             "Messages become text by the chat template of the model (chat_template.jinja, or "
             "tokenizer_config.json); "
             "what they say never becomes a control token. How tokens are drawn follows "
             "generation_config.json, where "
             "no option says otherwise.\n"
             "A message of several lines has \"\"\" before and behind it. "
             "From a pipe every line is a message, and nothing but answers goes to standard output.",
    .options = options,
    .size = sizeof(struct chat),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .task = "lm",
    .call = sizeof(call),
    .check = check,
    .run = run,
    .release = release,
};
