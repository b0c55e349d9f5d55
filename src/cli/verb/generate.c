/* heed generate: text that a language model writes behind a prompt. */
#include <string.h>

#include "base/mem.h"
#include "cli/verb/attention.h"
#include "cli/frame/input.h"
#include "cli/verb/unknown.h"
#include "task/language/majority.h"
#include "view/draw/markup.h"

struct generate {
    const char *prompt, *prompts;
    int tokens, samples;
    double temperature, top_p, repetition;
    int top_k, seed;
    bool greedy;
    hd_texts stop;
    bool vote, no_prompt, json;
    const char *device;
    int precision;
    hd_attending_options attending;
};

#define SAMPLING .group = "Sampling"

static const hd_option options[] = {
    {"prompt", 'p', "TEXT", NULL,
     "what the text begins with; \\n, \\t and \\\\ stand for line end, tab and \\",
     HD_TEXT_INTO(struct generate, prompt)},
    {"prompts", 0, "FILE", NULL, "prompts, one a line, with the same escapes; -: standard input",
     HD_FILE_INTO(struct generate, prompts)},
    {"tokens", 'n', "N", "200", "tokens to write, ends of lines too",
     HD_INT_INTO(struct generate, tokens, 1, 100000000)},
    {"stop", 0, "TEXT", NULL, "end before this text, with the same escapes; may be repeated",
     .type = HD_OPTION_TEXT, .many = true, HD_OPTION_INTO(hd_texts, struct generate, stop)},
    {"samples", 0, "N", "1", "texts for each prompt", HD_INT_INTO(struct generate, samples, 1, 100000)},
    {"vote", 0, NULL, NULL,
     "of each prompt only the text that most of its samples agree on, blanks around it left out, and the "
     "share of them, a line each with a tab between; of equals the likelier one",
     HD_FLAG_INTO(struct generate, vote)},
    {"no-prompt", 0, NULL, NULL, "write the text without the prompt before it",
     HD_FLAG_INTO(struct generate, no_prompt)},
    {"json", 0, NULL, NULL,
     "JSON Lines: prompt, sample, text, tokens, their log-probability, and whether a stop ended it; with "
     "--vote prompt, answer, share, and all answers with how many gave them",
     HD_FLAG_INTO(struct generate, json)},
    {"temperature", 't', "X", "1", "below 1 more, above 1 less like the likeliest; 0: --greedy", SAMPLING,
     HD_FLOAT_INTO(struct generate, temperature, 0, 100)},
    {"top-k", 0, "N", "0", "draw among the N likeliest; 0: all", SAMPLING,
     HD_INT_INTO(struct generate, top_k, 0, 1000000)},
    {"top-p", 0, "X", "0", "draw among the likeliest that have this probability together; 0: all", SAMPLING,
     HD_FLOAT_INTO(struct generate, top_p, 0, 1)},
    {"repetition-penalty", 0, "X", "1",
     "divide the logits of tokens that are in the prompt or the text already, or multiply them where "
     "they are below 0; 1: off",
     SAMPLING, HD_FLOAT_INTO(struct generate, repetition, 0.01, 100)},
    {"greedy", 0, NULL, NULL, "always take the likeliest token", SAMPLING,
     HD_FLAG_INTO(struct generate, greedy)},
    {"seed", 0, "N", "1", "of the draws", SAMPLING, HD_INT_INTO(struct generate, seed, 0, 2147483647)},
    HD_ATTENDING_FILE(struct generate, attending),
    HD_ATTENDING_VIEW(struct generate, attending),
    HD_ATTENDING_LAYER(struct generate, attending),
    HD_ATTENDING_HEAD(struct generate, attending),
    {"device", 'd', "NAME", "auto", "where to compute: auto, cpu or cuda",
     HD_TEXT_INTO(struct generate, device)},
    {"precision", 0, "KIND", "auto",
     "auto, f32 or bf16; on the CPU auto is f32, bf16 rounds weights and is faster",
     HD_CHOICE_INTO(struct generate, precision, hd_precision_names)},
    {0},
};

static const hd_example examples[] = {
    {"heed generate model --prompt \"To be\" --tokens 200 --temperature 0.8 --seed 1", "200 more tokens"},
    {"heed generate model --prompt 'ROMEO:\\n' --stop '\\n\\n'", "up to the next empty line"},
    {"heed generate model --prompts beginnings.txt --samples 3 --json",
     "three texts for each line of a file"},
    {"heed generate model --prompts questions.txt --tokens 64 --stop '\\n' --samples 16 --vote",
     "the answer that most of 16 give to each line"},
    {"heed generate gpt --prompt \"To be\" --tokens 20 --attention out.html",
     "what each token looked at, to be looked at in a browser"},
    {NULL, NULL},
};

const hd_usage hd_verb_generate_usage = {
    .operands = "MODEL",
    .least = 1,
    .most = 1,
    .about = "Writes the prompt and what the language model in the folder MODEL continues it with, token by "
             "token as they come. The prompt begins a line. The same seed gives the same text.\n"
             "Several prompts and samples are continued side by side, which changes none of them. Of several "
             "texts each ends in a line end, and an empty line stands between two; --json tells them apart "
             "for certain. Of --prompts: " HD_INPUT_ABOUT "\n"
             "--attention and --view show how each token of a gpt attends to those before it, in the prompt "
             "and in what was written: both together must fit in the model's context.",
    .options = options,
    .size = sizeof(struct generate),
    .examples = examples,
};

enum { MOST_PROMPTS = 64, MOST_TEXTS = 128 }; /* that go side by side, about */

typedef struct call {
    const hd_command *command;
    const struct generate *o;
    hd_backend *backend;
    hd_run run;
    hd_language *language;
    hd_generate_opt opt;
    char *stop[HD_OPTION_MOST];
    hd_text prompt[MOST_PROMPTS]; /* those that wait, as meant */
    size_t prompts;
    hd_generated *made; /* [MOST_PROMPTS * samples] */
    hd_answer *answer;  /* [samples] */
    hd_attending attending;
    size_t written; /* texts */
    hd_input in;
} call;

/* Appends a text as it is meant. Another letter behind a backslash stays what it is. */
static void unescape(hd_text *to, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char next = text[i] == '\\' && i + 1 < size ? text[i + 1] : 0;
        const char c = next == 'n' ? '\n' : next == 't' ? '\t' : next == '\\' ? '\\' : 0;
        hd_text_add(to, c ? &c : text + i, 1);
        i += c != 0;
    }
}

static hd_status read_stops(call *c, hd_err *err)
{
    hd_status s = HD_OK;
    for (int i = 0; !s && i < c->o->stop.count; i++) {
        hd_text stop = {0};
        unescape(&stop, c->o->stop.text[i], strlen(c->o->stop.text[i]));
        s = stop.size || stop.missed ? hd_text_status(&stop, err)
                                     : hd_err_set(err, HD_EARG, "--stop is empty");
        c->stop[i] = stop.data;
    }
    c->opt.stop = (const char *const *)c->stop, c->opt.stops = (size_t)c->o->stop.count;
    return s;
}

/* -- writing -- */

static hd_status put(call *c, const char *text, size_t size, hd_err *err)
{
    return hd_command_put(c->command, text, size, c->command->out.is_terminal, err);
}

static hd_status put_prompt(call *c, const hd_text *prompt, hd_err *err)
{
    hd_status s = c->written++ ? put(c, "\n", 1, err) : HD_OK;
    return s || c->o->no_prompt ? s : put(c, prompt->data, prompt->size, err);
}

static hd_status put_end(call *c, const hd_text *prompt, const hd_generated *g, hd_err *err)
{
    const hd_text *last = g->text.size || c->o->no_prompt ? &g->text : prompt;
    bool ended = last->size && last->data[last->size - 1] == '\n';
    return ended ? HD_OK : put(c, "\n", 1, err);
}

static hd_status heard(void *context, size_t which, const char *text, size_t size, hd_err *err)
{
    (void)which;
    return put(context, text, size, err);
}

static hd_status put_json(call *c, const hd_text *prompt, size_t sample, const hd_generated *g, hd_err *err)
{
    hd_text out = {0};
    hd_text_put(&out, "{\"prompt\": ");
    hd_put_json(&out, prompt->data ? prompt->data : "", false);
    hd_text_print(&out, ", \"sample\": %zu, \"text\": ", sample + 1);
    hd_put_json(&out, g->text.data ? g->text.data : "", false);
    hd_text_print(&out, ", \"tokens\": %zu, \"logp\": ", g->tokens);
    hd_put_number(&out, g->logp, 9);
    hd_text_print(&out, ", \"stopped\": %s}\n", g->stopped ? "true" : "false");
    hd_status s = hd_text_status(&out, err);
    if (!s) s = put(c, out.data, out.size, err);
    hd_text_release(&out);
    return s;
}

static hd_status put_made(call *c, size_t i, bool live, hd_err *err)
{
    const hd_generated *g = &c->made[i];
    const hd_text *prompt = &c->prompt[i / c->opt.samples];
    if (c->o->json) return put_json(c, prompt, i % c->opt.samples, g, err);
    hd_status s = live ? HD_OK : put_prompt(c, prompt, err);
    if (!s && !live) s = put(c, g->text.data, g->text.size, err);
    return s ? s : put_end(c, prompt, g, err);
}

/* As escapes are read, so that an answer is a line. */
static void put_escaped(hd_text *to, hd_line text)
{
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.text[i];
        const char *as = c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\\' ? "\\\\" : NULL;
        hd_text_add(to, as ? as : &c, as ? 2 : 1);
    }
}

/* hd_put_json wants an end behind the text. */
static void put_quoted(hd_text *to, hd_line text)
{
    hd_text copy = {0};
    hd_text_add(&copy, text.text, text.size);
    hd_put_json(to, copy.data ? copy.data : "", false);
    if (copy.missed) to->missed = copy.missed;
    hd_text_release(&copy);
}

static void put_answers(hd_text *to, const hd_text *prompt, const hd_answer *a, size_t count, double share)
{
    hd_text_put(to, "{\"prompt\": ");
    hd_put_json(to, prompt->data ? prompt->data : "", false);
    hd_text_put(to, ", \"answer\": ");
    put_quoted(to, a->text);
    hd_text_put(to, ", \"share\": ");
    hd_put_number(to, share, 9);
    for (size_t i = 0; i < count; i++) {
        hd_text_put(to, i ? ", {\"text\": " : ", \"answers\": [{\"text\": ");
        put_quoted(to, a[i].text);
        hd_text_print(to, ", \"count\": %zu, \"logp\": ", a[i].count);
        hd_put_number(to, a[i].logp, 9);
        hd_text_put(to, "}");
    }
    hd_text_put(to, "]}\n");
}

/* What the samples of a prompt agree on. */
static hd_status put_vote(call *c, size_t which, hd_err *err)
{
    hd_text out = {0};
    size_t count = hd_vote(c->answer, c->made + which * c->opt.samples, c->opt.samples);
    double share = (double)c->answer->count / (double)c->opt.samples;
    if (c->o->json) {
        put_answers(&out, &c->prompt[which], c->answer, count, share);
    } else {
        put_escaped(&out, c->answer->text);
        hd_text_put(&out, "\t");
        hd_put_number(&out, share, 4);
        hd_text_put(&out, "\n");
    }
    hd_status s = hd_text_status(&out, err);
    if (!s) s = put(c, out.data, out.size, err);
    hd_text_release(&out);
    return s;
}

/* -- the verb -- */

static hd_status attend(call *c, size_t i, hd_err *err)
{
    const hd_generated *g = &c->made[i];
    const hd_text *prompt = &c->prompt[i / c->opt.samples];
    hd_attended one = {.ids = g->ids.at,
                       .count = g->ids.count,
                       .text = {prompt->data ? prompt->data : "", prompt->size},
                       .written = {g->text.data ? g->text.data : "", g->text.size},
                       .score = g->logp};
    return hd_attending_add(&c->attending, &c->run, &one, err);
}

/* Continues the prompts that wait, side by side. A single text is told while it comes. */
static hd_status go_on(call *c, hd_err *err)
{
    hd_line lines[MOST_PROMPTS];
    size_t n = c->prompts * c->opt.samples;
    bool live = n == 1 && !c->o->json && !c->o->vote;
    hd_status s = HD_OK;
    if (!n) return HD_OK;
    for (size_t i = 0; i < c->prompts; i++)
        lines[i] = (hd_line){c->prompt[i].data ? c->prompt[i].data : "", c->prompt[i].size};
    c->opt.tell = live ? heard : NULL, c->opt.context = c;
    if (live) s = put_prompt(c, &c->prompt[0], err);
    if (!s) s = hd_generate(c->made, &c->run, c->language, lines, c->prompts, &c->opt, err);
    for (size_t i = 0; !s && !c->o->vote && i < n; i++) {
        s = put_made(c, i, live, err);
        if (!s) s = attend(c, i, err);
    }
    for (size_t i = 0; !s && c->o->vote && i < c->prompts; i++) s = put_vote(c, i, err);
    for (size_t i = 0; i < n; i++) hd_generated_release(&c->made[i]);
    c->opt.key += (int32_t)c->prompts;
    c->prompts = 0;
    return s;
}

/* One more that waits. */
static hd_status add_prompt(call *c, hd_line typed, hd_err *err)
{
    hd_text *p = &c->prompt[c->prompts];
    hd_text_release(p);
    unescape(p, typed.text, typed.size);
    hd_status s = hd_text_status(p, err);
    if (!s && hd_utf8_good(typed.text, typed.size) < typed.size)
        s = hd_err_set(err, HD_EARG, "--prompt is not UTF-8 text");
    c->prompts += !s;
    return s;
}

/* Those before it are continued first. It is counted among the prompts, so that the others draw as ever. */
static hd_status refuse(call *c, const char *why, hd_err *err)
{
    hd_status s = go_on(c, err);
    hd_text out = {0};
    if (s) return s;
    hd_input_refuse(&c->in, hd_lines_count(c->in.lines), why, HD_INPUT_EMPTY);
    if (!c->o->json && !c->o->vote && c->written++) hd_text_put(&out, "\n");
    hd_input_stand_in(&out, c->o->json, why);
    c->opt.key++;
    return hd_command_put_text(c->command, &out, true, err);
}

static bool is_full(const call *c)
{
    return c->prompts == MOST_PROMPTS || (c->prompts + 1) * c->opt.samples > MOST_TEXTS;
}

static hd_status open_all(call *c, hd_err *err)
{
    const struct generate *o = c->o;
    hd_backend_opt opt = {.threads = c->command->common.threads,
                          .precision = (hd_precision)o->precision,
                          .log = &c->command->log};
    hd_status s = hd_backend_new(&c->backend, o->device, &opt, err);
    if (!s) s = hd_run_init(&c->run, c->backend, err);
    if (!s) s = hd_language_open(&c->language, c->command->operands.word[0], c->backend, err);
    if (!s) {
        c->attending.model.lm = c->language->lm, c->attending.pieces = c->language->tokenizer;
        s = hd_attending_open(&c->attending, err);
    }
    size_t most = MOST_PROMPTS * c->opt.samples;
    c->made = hd_mem_array(most, sizeof *c->made);
    c->answer = hd_mem_array(c->opt.samples, sizeof *c->answer);
    if (!s && (!c->made || !c->answer)) s = hd_err_nomem(err, most * sizeof *c->made);
    return s;
}

/* Whoever types prompts gets an answer before the next one is waited for. */
static hd_status run(call *c, hd_err *err)
{
    hd_status s = open_all(c, err);
    const char *prompt = c->o->prompt ? c->o->prompt : "", *why;
    hd_line line;
    if (s) return s;
    if (!c->o->prompts) {
        s = add_prompt(c, (hd_line){prompt, strlen(prompt)}, err);
        return s ? s : go_on(c, err);
    }
    s = hd_input_open(&c->in, c->command, c->o->prompts, "a prompt to continue", HD_INPUT_TEXT, err);
    while (!s && !(s = hd_input_next(&c->in, &line, &why, err)) && line.text) {
        s = why ? refuse(c, why, err) : add_prompt(c, line, err);
        if (!s && (is_full(c) || !hd_lines_ready(c->in.lines))) s = go_on(c, err);
    }
    hd_err later = {0}; /* what was read before a failure is continued first */
    hd_status now = go_on(c, s ? &later : err);
    return s ? s : now;
}

static hd_status meaning(call *c, hd_err *err)
{
    const struct generate *o = c->o;
    if (o->prompt && o->prompts)
        return hd_err_set(err, HD_EARG, "--prompt and --prompts cannot be used together");
    if (o->vote && o->no_prompt)
        return hd_err_set(err, HD_EARG, "--vote writes no prompt: --no-prompt is not needed");
    if (o->vote && (o->attending.file || o->attending.view))
        return hd_err_set(err, HD_EARG, "--vote and --%s cannot be used together",
                          o->attending.file ? "attention" : "view");
    if (o->greedy && hd_command_given(c->command, "temperature"))
        return hd_err_set(err, HD_EARG, "--greedy and --temperature cannot be used together");
    c->opt = (hd_generate_opt){.tokens = (size_t)o->tokens,
                               .temperature = o->greedy ? 0 : (float)o->temperature,
                               .top_k = (size_t)o->top_k,
                               .top_p = (float)o->top_p,
                               .repetition = (float)o->repetition,
                               .seed = (uint64_t)o->seed,
                               .samples = (size_t)o->samples};
    return read_stops(c, err);
}

int hd_verb_generate(const hd_command *command)
{
    hd_err err = {0};
    call *c = hd_mem_zero(sizeof *c);
    if (!c) return hd_err_nomem(&err, sizeof *c), hd_command_fail(command, &err);
    c->command = command, c->o = command->options;
    c->in.command = command;
    c->attending = (hd_attending){.command = command, .o = c->o->attending};
    hd_status s = meaning(c, &err);
    int status = s ? hd_verb_misused(command->verb, &err) : HD_EXIT_OK;
    if (!s && hd_attending_close(&c->attending, run(c, &err), &err)) status = hd_command_fail(command, &err);
    for (int i = 0; i < HD_OPTION_MOST; i++) hd_mem_free(c->stop[i]);
    for (int i = 0; i < MOST_PROMPTS; i++) hd_text_release(&c->prompt[i]);
    hd_mem_free(c->made);
    hd_mem_free(c->answer);
    hd_unknown_warn(command, &(hd_any_model){.language = c->language});
    hd_language_free(c->language);
    hd_run_release(&c->run);
    hd_backend_free(c->backend);
    status = hd_input_close(&c->in, status, "continued");
    hd_mem_free(c);
    return status;
}
