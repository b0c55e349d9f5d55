/* heed perplexity: how well a language model expects a text. */
#include <stdio.h>

#include "cli/verb/likelihood.h"
#include "cli/frame/input.h"
#include "cli/train/progress.h"
#include "cli/verb/unknown.h"
#include "cli/frame/verb.h"
#include "view/draw/markup.h"

struct perplexity {
    bool json;
    const char *device;
    int precision;
};

static const hd_option options[] = {
    {"json", 0, NULL, NULL, "one JSON object for each text", HD_FLAG_INTO(struct perplexity, json)},
    {"device", 'd', "NAME", "auto", "where to compute: auto, cpu or cuda",
     HD_TEXT_INTO(struct perplexity, device)},
    {"precision", 0, "KIND", "auto",
     "auto, f32 or bf16; on the CPU auto is f32, bf16 rounds weights and is faster",
     HD_CHOICE_INTO(struct perplexity, precision, hd_precision_names)},
    {0},
};

static const hd_example examples[] = {
    {"heed perplexity model < text.txt", "one line"},
    {"heed perplexity model --json < text.txt", "the same for programs"},
    {"heed perplexity model a.txt b.txt.gz", "a line for each text"},
    {NULL, NULL},
};

enum { MOST_TEXTS = 10000 };

const hd_usage hd_verb_perplexity_usage = {
    .operands = "MODEL [TEXT...]",
    .least = 1,
    .most = 1 + MOST_TEXTS,
    .about =
        "Measures how well the language model in the folder MODEL expects standard input, or each of the "
        "files TEXT (plain, gzip, xz or zstd; '-': standard input), every token after all that stands before "
        "it. "
        "Perplexity is that of a token, the end of a line being one; it compares models with the same "
        "tokens. Bits per character compare all.\n"
        "A word the model does not know counts as the one token <unk>, which spares the model its spelling: "
        "how many there are is said.\n"
        "Of several texts, one that cannot be read gives an empty line, with --json an object with "
        "\"error\", "
        "and the exit status is then 1 in the end. A line has at most " HD_LINE_LONGEST_TEXT ".",
    .options = options,
    .size = sizeof(struct perplexity),
    .examples = examples,
};

typedef struct call {
    const hd_command *command;
    hd_run run;
    hd_language *language;
    int bad; /* texts that could not be measured */
} call;

static void put_line(hd_text *to, const hd_measured *m, const char *path)
{
    char grouped[32], perplexity[HD_DECIMAL], bits[HD_DECIMAL];
    if (path) hd_text_print(to, "%s: ", path);
    hd_text_print(to, "%s tokens, perplexity %s, %s bits per character",
                  hd_grouped(m->fluency.tokens, grouped), hd_decimal(perplexity, "%.6g", m->perplexity),
                  hd_decimal(bits, "%.4f", m->bits));
    if (m->unknown) hd_text_print(to, "; %s tokens are <unk>", hd_grouped(m->unknown, grouped));
    hd_text_put(to, "\n");
}

static void put_object(hd_text *to, const hd_measured *m, const char *path)
{
    hd_text_put(to, "{");
    hd_measured_json(to, m);
    if (path) hd_text_put(to, ", \"text\": "), hd_put_json(to, path, false);
    hd_text_put(to, "}\n");
}

/* path: NULL for standard input that nobody named. */
static hd_status measure(const hd_command *c, hd_run *r, const hd_language *l, const char *path, hd_text *out,
                         hd_err *err)
{
    const struct perplexity *o = c->options;
    hd_measured m;
    hd_plain_text text = {0};
    const char *from = path ? path : "-";
    hd_input_await(c, from, "a text to measure");
    hd_status s = hd_plain_text_read(&text, from, err);
    if (!s) s = hd_measure(&m, r, l, &text, err);
    hd_plain_text_release(&text);
    if (!s && o->json)
        put_object(out, &m, path);
    else if (!s)
        put_line(out, &m, path);
    return s;
}

/* Of several texts, one that cannot be read leaves the others what they are. */
static hd_status tell(call *c, const char *path, hd_err *err)
{
    const struct perplexity *o = c->command->options;
    hd_text out = {0};
    hd_err why = {0};
    hd_status s = measure(c->command, &c->run, c->language, path, &out, err);
    bool several = c->command->operands.count > 2;
    if (s && several && (hd_input_forgives(err, &why) || err->status == HD_EFILE)) {
        if (err->status) why = *err, *err = (hd_err){0};
        hd_log_say(&c->command->log, HD_ERROR, "%s: " HD_INPUT_EMPTY, why.text);
        hd_input_stand_in(&out, o->json, why.text);
        c->bad++, s = HD_OK;
    }
    if (!s) s = hd_command_put_text(c->command, &out, true, err);
    hd_text_release(&out);
    return s;
}

int hd_verb_perplexity(const hd_command *command)
{
    const struct perplexity *o = command->options;
    hd_err err = {0};
    hd_backend *backend = NULL;
    call c = {.command = command};
    hd_backend_opt opt = {
        .threads = command->common.threads, .precision = (hd_precision)o->precision, .log = &command->log};
    hd_status s = hd_backend_new(&backend, o->device, &opt, &err);
    if (!s) s = hd_run_init(&c.run, backend, &err);
    if (!s) s = hd_language_open(&c.language, command->operands.word[0], backend, &err);
    int texts = command->operands.count - 1;
    if (!s && !texts) s = tell(&c, NULL, &err);
    for (int i = 1; !s && i <= texts; i++) s = tell(&c, command->operands.word[i], &err);
    hd_unknown_warn(command, &(hd_any_model){.language = c.language});
    hd_language_free(c.language);
    hd_run_release(&c.run);
    hd_backend_free(backend);
    if (s) return hd_command_fail(command, &err);
    if (c.bad) hd_log_say(&command->log, HD_ERROR, "%d of %d texts could not be measured", c.bad, texts);
    return c.bad ? HD_EXIT_FAILURE : HD_EXIT_OK;
}
