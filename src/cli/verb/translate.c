/* heed translate: lines in, lines out, in order, always as many out as in. */
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "cli/frame/input.h"
#include "cli/verb/translate_options.h"
#include "cli/verb/unknown.h"
#include "cli/frame/verb.h"
#include "view/attention/file.h"
#include "view/attention/text.h"

enum { CHUNK = 2048 }; /* lines translated at once */

static const hd_example examples[] = {
    {"heed translate model < in.en > out.de", "a file"},
    {"heed translate model", "from the terminal, line by line"},
    {"heed translate model --n-best 4 --scores --json < in.en",
     "four translations of each line with everything known of them"},
    {"heed translate model --sample --temperature 0.8 --top-k 20 < in.en",
     "something else each time another --seed is given"},
    {"heed translate model --attention out.html < in.en",
     "what was attended to, to be looked at in a browser"},
    {"echo 'I ate an apple .' | heed translate model --view", "the alignment in the terminal"},
    {NULL, NULL},
};

const hd_usage hd_verb_translate_usage = {
    .operands = "MODEL",
    .least = 1,
    .most = 1,
    .about =
        "Translates the lines of standard input, or of --input, with the model in the folder MODEL. One line "
        "goes "
        "out for each that came in, in order, as soon as no more input is waiting. " HD_INPUT_ABOUT "\n"
        "With --n-best the lines are 'NUMBER ||| TRANSLATION ||| SCORE', the number being that of the source "
        "line.",
    .options = hd_translate_table,
    .size = sizeof(hd_translate_options),
    .examples = examples,
};

typedef struct call {
    const hd_command *command;
    const hd_translate_options *o;
    hd_translate_opt opt;
    hd_backend *backend;
    hd_run run;
    hd_translator *translator;
    hd_attention_file *attention;
    hd_attention_pick pick;
    hd_attender attender;
    hd_input in;
    hd_arena memory; /* of the lines of a chunk */
    hd_line line[CHUNK], prefix[CHUNK];
    const char *why[CHUNK]; /* NULL, or why an empty line stands for it */
    size_t count, done;     /* lines in this chunk, and before it */
    bool ended;             /* no more input */
} call;

/* -- reading -- */

static hd_status keep_line(call *c, hd_line line, const char *why, hd_err *err)
{
    const char *tab = c->o->prefix || c->o->force ? memchr(line.text, '\t', line.size) : NULL;
    char *copy = hd_arena_take(&c->memory, line.size + 1);
    if (!copy) return hd_err_nomem(err, line.size + 1);
    memcpy(copy, line.text, line.size + 1);
    c->line[c->count] = (hd_line){copy, line.size};
    c->prefix[c->count] = (hd_line){NULL, 0};
    if (tab) {
        size_t at = (size_t)(tab - line.text);
        copy[at] = 0;
        c->line[c->count].size = at;
        c->prefix[c->count] = (hd_line){copy + at + 1, line.size - at - 1};
    }
    if (why && !(copy = hd_arena_take(&c->memory, strlen(why) + 1)))
        return hd_err_nomem(err, strlen(why) + 1);
    c->why[c->count++] = why ? strcpy(copy, why) : NULL;
    return HD_OK;
}

/* Lines until a chunk is full or whoever writes them pauses. */
static hd_status read_chunk(call *c, hd_err *err)
{
    hd_status s = HD_OK;
    hd_line line;
    const char *why;
    c->done += c->count;
    c->count = 0;
    hd_arena_reset(&c->memory);
    do {
        s = hd_input_next(&c->in, &line, &why, err);
        c->ended = s || !line.text;
        if (!c->ended) s = keep_line(c, line, why, err);
    } while (!s && !c->ended && c->count < CHUNK && hd_lines_ready(c->in.lines));
    return s;
}

/* -- attention -- */

static hd_status show(call *c, const hd_attention_maps *maps, hd_text *out, hd_err *err)
{
    const hd_terminal *t = &c->command->out;
    hd_attention_look look = {.width = t->width, .color = t->color, .utf8 = true, .pick = c->pick};
    hd_status s = hd_attention_text(out, maps, &look, err);
    hd_text_put(out, "\n");
    return s;
}

static hd_line text_of(const char *text, hd_span s)
{
    return (hd_line){text + s.begin, s.end - s.begin};
}

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
    hd_log_say(&c->command->log, HD_WARN, "%s:%zu: hardly any attention for %s: the translation may lack %s",
               hd_lines_name(c->in.lines), c->done + i + 1, words.data ? words.data : "some words",
               skipped->count > 1 ? "them" : "it");
    hd_text_release(&words);
}

/* Every part of the line by itself: that is how the model saw it. What --view shows is drawn, and words that
   --warn-skipped is to name are listed. */
static hd_status attend(call *c, size_t i, const hd_translation *found, hd_text *drawn,
                        hd_skipped_list *skipped, hd_err *err)
{
    hd_status s = HD_OK;
    const hd_hypothesis *h = &found->hypothesis[0];
    for (size_t part = 0; !s && found->count && part < found->parts; part++) {
        size_t source = part ? found->source_end[part - 1] : 0, target = part ? h->end[part - 1] : 0;
        hd_attention_maps maps;
        hd_attention_ask ask = {.source = found->source + source,
                                .sources = found->source_end[part] - source,
                                .start = hd_tokenizer_special(c->translator->tokenizer[1]).start,
                                .target = h->ids + target,
                                .targets = h->end[part] - target,
                                .source_pieces = c->translator->tokenizer[0],
                                .target_pieces = c->translator->tokenizer[1],
                                .sentence = text_of(c->line[i].text, found->part[part]),
                                .translation = text_of(h->text, h->part[part]),
                                .score = h->scores[part],
                                .place = {c->done + i + 1, part + 1, found->parts}};
        ask.source_text[0] = ask.sentence, ask.target_text = c->prefix[i];
        if (!ask.targets) continue;
        s = hd_attention_collect(&maps, &c->run, &c->attender, &ask, err);
        if (!s && c->attention) s = hd_attention_file_add(c->attention, &maps, err);
        if (!s && c->o->view) s = show(c, &maps, drawn, err);
        if (!s && c->o->warn_skipped)
            s = hd_coverage_skipped(skipped, &maps, found->piece + source, c->line[i], err);
        hd_attention_release(&maps);
    }
    return s;
}

/* -- writing -- */

static hd_status write_line(call *c, size_t i, const hd_translation *t, hd_text *out, hd_err *err)
{
    bool looks = c->attention || c->o->view || c->o->warn_skipped;
    hd_skipped_list skipped = {0};
    hd_text drawn = {0};
    hd_status s = looks ? attend(c, i, t, &drawn, &skipped, err) : HD_OK;
    if (!s) warn_skipped(c, i, &skipped);
    if (!s) hd_translate_write(out, c->o, c->translator, c->line[i], t, &skipped, c->done + i + 1);
    if (!s) s = hd_text_status(&drawn, err);
    if (!s) hd_text_add(out, drawn.data, drawn.size);
    hd_text_release(&drawn);
    hd_skipped_release(&skipped);
    return s;
}

static hd_status write_chunk(call *c, hd_translations *found, hd_err *err)
{
    hd_text out = {0};
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < c->count; i++) {
        hd_translation *t = &found->of[i];
        size_t number = c->done + i + 1;
        if (c->why[i]) t->status = HD_EFORMAT, t->why = c->why[i];
        if (t->status) hd_input_refuse(&c->in, number, t->why, HD_INPUT_EMPTY);
        if (t->cut)
            hd_log_say(&c->command->log, HD_WARN, "%s:%zu: too long: only its beginning is translated",
                       hd_lines_name(c->in.lines), number);
        s = write_line(c, i, t, &out, err);
    }
    hd_err later = {0}; /* what came before a failure is written all the same */
    hd_status written = hd_command_put_text(c->command, &out, true, s ? &later : err);
    return s ? s : written;
}

static hd_status translate_chunk(call *c, hd_err *err)
{
    hd_translations found = {0};
    c->opt.first = c->done;
    bool given = c->o->prefix || c->o->force;
    hd_status s = hd_translate(&found, &c->run, c->translator, c->line, given ? c->prefix : NULL, c->count,
                               &c->opt, err);
    if (!s) s = write_chunk(c, &found, err);
    hd_translations_release(&found);
    return s;
}

/* -- the verb -- */

static hd_status open_all(call *c, hd_err *err)
{
    const hd_command *command = c->command;
    hd_status s = hd_backend_new(&c->backend, c->o->device,
                                 &(hd_backend_opt){.threads = command->common.threads,
                                                   .precision = (hd_precision)c->o->precision,
                                                   .log = &command->log},
                                 err);
    if (!s) s = hd_run_init(&c->run, c->backend, err);
    if (!s)
        s = hd_translator_open(&c->translator, command->operands.word[0], c->backend,
                               (hd_weights)c->o->checkpoint, err);
    if (!s) c->attender = (hd_attender){.encdec = c->translator->model};
    c->pick = (hd_attention_pick){c->o->kind, c->o->layer, c->o->head};
    bool looks = c->o->attention || c->o->view || c->o->kind || c->o->layer || c->o->head;
    if (!s && looks) s = hd_attention_check(&c->attender, &c->pick, err);
    const hd_attention_pick cross = {.kind = 1 + HD_ATTENTION_CROSS};
    if (!s && c->o->warn_skipped) s = hd_attention_check(&c->attender, &cross, err);
    if (!s && c->o->attention) s = hd_attention_file_open(&c->attention, c->o->attention, &c->pick, err);
    return s;
}

static void close_all(call *c)
{
    hd_attention_file_abandon(c->attention);
    hd_translator_free(c->translator);
    hd_run_release(&c->run);
    hd_backend_free(c->backend);
    hd_arena_release(&c->memory);
    hd_mem_free(c);
}

static hd_status run(call *c, hd_err *err)
{
    hd_status s = open_all(c, err);
    if (!s) s = hd_input_open(&c->in, c->command, c->o->input, "a line to translate", HD_INPUT_TEXT, err);
    while (!s && !c->ended) {
        s = read_chunk(c, err);
        hd_err later = {0}; /* what was read before a failure is translated first */
        hd_status t = c->count ? translate_chunk(c, s ? &later : err) : HD_OK;
        if (!s) s = t;
    }
    hd_attention_file *file = c->attention;
    c->attention = NULL;
    if (!s && file)
        s = hd_attention_file_close(file, err);
    else
        hd_attention_file_abandon(file);
    return s;
}

int hd_verb_translate(const hd_command *command)
{
    hd_err err = {0};
    call *c = hd_mem_zero(sizeof *c);
    if (!c) return hd_err_nomem(&err, sizeof *c), hd_command_fail(command, &err);
    c->command = c->in.command = command, c->o = command->options;
    hd_arena_init(&c->memory, hd_allocator_host, 1 << 16);
    hd_status s = hd_translate_meaning(&c->opt, c->o, &err);
    int status = s ? hd_verb_misused(command->verb, &err) : HD_EXIT_OK;
    if (!s && run(c, &err)) status = hd_command_fail(command, &err);
    hd_unknown_warn(command, &(hd_any_model){.translator = c->translator});
    status = hd_input_close(&c->in, status, "translated");
    close_all(c);
    return status;
}
