/* heed translate: lines in, lines out, in order, always as many out as in. */
#include <string.h>

#include "base/mem.h"
#include "cli/frame/verb.h"
#include "cli/verb/translate/options.h"
#include "cli/verb/unknown.h"
#include "show/attention.h"

enum { CHUNK = 2048 }; /* lines translated at once */

static const hd_example examples[] = {
    {"heed translate model in.en > out.de", "a file"},
    {"heed translate model", "from the terminal, line by line"},
    {"heed translate model in.en --n-best 4 --json", "four translations of each line, with their scores"},
    {"heed translate model in.en --sample --temperature 0.8 --top-k 20",
     "a random translation, another one for each --seed"},
    {"heed translate model in.en --attention out.html", "what was attended to, as a page for the browser"},
    {"echo 'I ate an apple .' | heed translate model --view", "the alignment in the terminal"},
    {NULL, NULL},
};

typedef struct call {
    hd_command *command;
    const hd_translate_options *o;
    hd_translate_opt opt;
    hd_machine machine;
    hd_model_folder model;
    hd_attending attending;
    const hd_input_line *from; /* the lines of this chunk */
    hd_line line[CHUNK], prefix[CHUNK];
} call;

/* The source of a line and, with --prefix or --force, what follows the tab. */
static void split(call *c, size_t i)
{
    hd_line line = c->from[i].text;
    const char *tab = c->o->prefix || c->o->force ? memchr(line.text, '\t', line.size) : NULL;
    size_t size = tab ? (size_t)(tab - line.text) : line.size;
    c->line[i] = (hd_line){line.text, size};
    c->prefix[i] = tab ? (hd_line){tab + 1, line.size - size - 1} : (hd_line){NULL, 0};
}

/* -- attention -- */

/* Names the words, those that stand side by side together. */
static void warn_skipped(const call *c, size_t i, const hd_skipped_list *skipped)
{
    enum { MOST = 8 }; /* named at most */
    hd_text words = {0};
    size_t named = 0, last = 0;
    if (!skipped->count) return;
    for (; named < skipped->count && named < MOST; named++) {
        hd_span w = skipped->at[named].word;
        bool next = named && last + 1 == w.begin;
        hd_text_put(&words, next ? " " : named ? "', '" : "'");
        hd_text_add(&words, c->line[i].text + w.begin, w.end - w.begin);
        last = w.end;
    }
    hd_text_put(&words, "'");
    if (named < skipped->count) hd_text_print(&words, " and %zu more", skipped->count - named);
    hd_log_say(&c->command->log, HD_WARN, "%s:%zu: hardly any attention to %s: the translation may miss %s",
               c->from[i].file, c->from[i].at, words.data ? words.data : "some words",
               skipped->count > 1 ? "them" : "it");
    hd_text_release(&words);
}

typedef struct looked { /* at one line */
    call *c;
    size_t i;
    const hd_translation *found;
    hd_text drawn;           /* what --view shows */
    hd_skipped_list skipped; /* words that --warn-skipped is to name */
} looked;

static hd_status take_part(void *context, size_t part, const hd_attention_maps *maps, hd_err *err)
{
    looked *l = context;
    const call *c = l->c;
    size_t source = part ? l->found->source_end[part - 1] : 0;
    hd_status s = hd_attending_put(&c->attending, maps, &l->drawn, err);
    if (!s && c->o->warn_skipped)
        s = hd_coverage_skipped(&l->skipped, maps, l->found->piece + source, c->line[l->i], err);
    return s;
}

static hd_status attend(looked *l, hd_err *err)
{
    call *c = l->c;
    const hd_attention_of of = {&c->model, l->found, c->line[l->i], c->prefix[l->i], c->from[l->i].number};
    if (!hd_attending_wanted(&c->o->attending) && !c->o->warn_skipped) return HD_OK;
    return hd_attention_parts(&c->machine.run, &of, take_part, l, err);
}

/* -- writing -- */

static hd_status write_line(call *c, size_t i, const hd_translation *t, hd_text *out, hd_err *err)
{
    looked l = {.c = c, .i = i, .found = t};
    hd_status s = attend(&l, err);
    if (!s) warn_skipped(c, i, &l.skipped);
    if (!s) hd_translate_write(out, c->o, &c->model, c->line[i], t, &l.skipped, c->from[i].number);
    if (!s) s = hd_text_status(&l.drawn, err);
    if (!s) hd_text_add(out, l.drawn.data, l.drawn.size);
    hd_text_release(&l.drawn);
    hd_skipped_release(&l.skipped);
    return s;
}

static hd_status write_chunk(call *c, hd_translations *found, size_t count, hd_err *err)
{
    hd_text out = {0};
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < count; i++) {
        const hd_input_line *line = &c->from[i];
        hd_translation *t = &found->of[i];
        if (line->why) t->status = HD_EFORMAT, t->why = line->why;
        if (t->status) hd_input_refuse(&c->command->in, line, t->why, HD_INPUT_EMPTY);
        if (t->cut)
            hd_log_say(&c->command->log, HD_WARN, "%s:%zu: too long: only its beginning is translated",
                       line->file, line->at);
        s = write_line(c, i, t, &out, err);
    }
    hd_err later = {0}; /* what came before a failure is written all the same */
    hd_status written = hd_command_put_text(c->command, &out, true, s ? &later : err);
    return s ? s : written;
}

static hd_status answer(void *context, const hd_input_line *line, size_t count, hd_err *err)
{
    call *c = context;
    hd_translations found = {0};
    bool given = c->o->prefix || c->o->force;
    c->from = line;
    c->opt.first = line->number - 1;
    for (size_t i = 0; i < count; i++) split(c, i);
    hd_status s = hd_translate(&found, &c->machine.run, &c->model, c->line, given ? c->prefix : NULL, count,
                               &c->opt, err);
    if (!s) s = write_chunk(c, &found, count, err);
    hd_translations_release(&found);
    return s;
}

/* -- the verb -- */

static hd_status open_all(call *c, hd_err *err)
{
    hd_status s = hd_machine_open(&c->machine, c->command, &c->o->machine, err);
    if (!s)
        s = hd_model_folder_open(&c->model, c->command->operands.word[0], "translate", c->machine.backend,
                                 (hd_weights)c->o->checkpoint, err);
    const hd_model model = c->model.model;
    const hd_attention_pick cross = {.kind = 1 + HD_ATTENTION_CROSS};
    if (!s) s = hd_attending_open(&c->attending, c->command, &c->o->attending, model, NULL, err);
    return !s && c->o->warn_skipped ? hd_attention_check(&model, &cross, err) : s;
}

static void close_all(call *c)
{
    hd_model_folder_release(&c->model);
    hd_machine_close(&c->machine);
    hd_mem_free(c);
}

static hd_status run(call *c, hd_err *err)
{
    hd_status s = open_all(c, err);
    if (!s) s = hd_input_open(c->command, "a line to translate", "translated", HD_INPUT_TEXT, err);
    if (!s) s = hd_input_each(&c->command->in, CHUNK, answer, c, err);
    return hd_attending_close(&c->attending, s, err);
}

static int run_translate(hd_command *command)
{
    hd_err err = {0};
    call *c = hd_mem_zero(sizeof *c);
    if (!c) return hd_err_nomem(&err, sizeof *c), hd_command_fail(command, &err);
    c->command = command, c->o = command->options;
    hd_status s = hd_translate_read_options(&c->opt, c->o, &err);
    int status = s ? hd_verb_misused(command->verb, &err) : HD_EXIT_OK;
    if (!s && run(c, &err)) status = hd_command_fail(command, &err);
    if (!status) hd_unknown_warn(command, c->model.tokenizer[0], c->model.tokenizer[1]);
    close_all(c);
    return status;
}

static hd_status start(hd_command *c, hd_err *err)
{
    (void)err;
    c->exit = run_translate(c);
    return HD_OK;
}

const hd_usage hd_verb_translate = {
    HD_INPUT_OPERANDS,
    .about = "Translates lines with the model in the folder MODEL, one output line for each input line, in "
             "order. " HD_INPUT_FILES " " HD_INPUT_ABOUT "\n"
             "With --n-best the output lines are 'NUMBER ||| TRANSLATION ||| SCORE', with the number of the "
             "source line.",
    .options = hd_translate_table,
    .size = sizeof(hd_translate_options),
    .examples = examples,
    .run = start,
};
