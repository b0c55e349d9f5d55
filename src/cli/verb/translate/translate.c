/* heed translate: lines in, lines out, in order, always as many out as in. */
#include <string.h>

#include "cli/frame/searching.h"
#include "cli/verb/translate/translate.h"
#include "show/attention.h"
#include "task/translate/lexicon.h"

enum { CHUNK = 2048 }; /* lines translated at once */

#define OWNER hd_translate_options

static const char *const checkpoints[] = {"best", "last", NULL};
#define SEARCH    .group = "Search"
#define INPUT     .group = "Input"
#define OUTPUT    .group = "Output"
#define ATTENTION .group = "Attention"

static const hd_option options[] = {
    HD_SEARCH_ROWS(OWNER, "translation", "line"),
    {"max-length", 0, "N", "0", "most tokens of a translation; 0: by --max-ratio", SEARCH,
     HD_COUNT_INTO(OWNER, opt.search.max_length, 0, 1000000)},
    {"max-ratio", 0, "X", "2", "most tokens of a translation: X times those of the source, plus 10", SEARCH,
     HD_FLOAT_INTO(OWNER, opt.search.max_ratio, 0.1, 1000)},
    {"exhaustive", 0, NULL, NULL,
     "find the best of all translations up to --max-length; for tiny vocabularies", SEARCH,
     HD_FLAG_INTO(OWNER, exhaustive)},

    {"shortlist", 0, "FILE[,FIRST[,BEST]]", NULL,
     "use only tokens that this file of `heed shortlist` (or Marian's lex.s2t) has for the source: the FIRST "
     "most frequent and the BEST of each source token, 100 each",
     SEARCH, HD_TEXT_INTO(OWNER, shortlist)},

    HD_SAMPLING_ROWS(OWNER),

    {"input", 'i', .gone = "give files after MODEL"},
    {"sentences", 0, "WHAT", "auto",
     "lines of several sentences: split (translate each by itself) or keep (as many together as the model "
     "was trained with); auto: split, but keep for a T5, whose text begins with an instruction",
     INPUT, HD_CHOICE_INTO(OWNER, opt.sentences, hd_sentences_names)},
    {"long", 0, "WHAT", "split",
     "sentences (or kept lines) too long for the model: split at commas or spaces, truncate or skip", INPUT,
     HD_CHOICE_INTO(OWNER, opt.too_long, hd_long_names)},
    {"max-source", 0, "N", "0", "tokens from which on a line is too long; 0: what the model takes", INPUT,
     HD_COUNT_INTO(OWNER, opt.longest, 0, 1000000)},
    {"prefix", 0, NULL, NULL, "lines are SOURCE<tab>PREFIX: the translation continues that prefix", INPUT,
     HD_FLAG_INTO(OWNER, prefix)},
    {"force", 0, NULL, NULL, "lines are SOURCE<tab>TRANSLATION: score that translation, do not search", INPUT,
     HD_FLAG_INTO(OWNER, opt.force)},
    {"batch", 0, "N", "0", "hypotheses searched in parallel; 0: 256", INPUT,
     HD_COUNT_INTO(OWNER, opt.batch, 0, 1000000)},

    {"json", 0, NULL, NULL, "JSON Lines: source, tokens and hypotheses with score and logprob", OUTPUT,
     HD_FLAG_INTO(hd_usual, json)},
    {"scores", 0, NULL, NULL, "add a tab and the score", OUTPUT, HD_FLAG_INTO(OWNER, scores)},

    {"attention", 'a', "FILE", NULL,
     "write the attention weights as .json, .html, .svg, .png or .pdf; .svg and .png of several "
     "sentences are numbered",
     ATTENTION, HD_FILE_INTO(hd_usual, attending.file)},
    {"warn-skipped", 0, NULL, NULL,
     "warn of source words that got less than a tenth of one step's attention: they may be missing",
     ATTENTION, HD_FLAG_INTO(OWNER, warn_skipped)},
    {"view", 0, NULL, NULL, "draw the alignment below each translation", ATTENTION,
     HD_FLAG_INTO(hd_usual, attending.view)},
    {"kind", 0, "KIND", "auto", "encoder, decoder or cross; auto: cross in pictures, all in .json and .html",
     ATTENTION, HD_CHOICE_INTO(hd_usual, attending.kind, hd_attention_choices)},
    HD_ATTENDING_LAYER,
    HD_ATTENDING_HEAD,
    HD_ATTENDING_HEADS,

    {"checkpoint", 0, "WHICH", "best", "weights to use: best (by validation) or last",
     HD_CHOICE_INTO(hd_usual, weights, checkpoints)},
    HD_MACHINE_ROWS,
    {0},
};

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
    hd_command command;
    const hd_translate_options *o;
    hd_translate_opt opt;
    const hd_input_line *from; /* the lines of this chunk */
    hd_shortlist *shortlist;
    hd_line line[CHUNK], prefix[CHUNK];
} call;

/* The source of a line and, with --prefix or --force, what follows the tab. */
static void split(call *c, size_t i)
{
    hd_line line = c->from[i].text;
    const char *tab = c->o->prefix || c->o->opt.force ? memchr(line.text, '\t', line.size) : NULL;
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
    hd_log_say(&c->command.log, HD_WARN, "%s:%zu: hardly any attention to %s: the translation may miss %s",
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
    hd_status s = hd_attending_put(&c->command, maps, &l->drawn, err);
    if (!s && c->o->warn_skipped)
        s = hd_coverage_skipped(&l->skipped, maps, l->found->piece + source, c->line[l->i], err);
    return s;
}

static hd_status attend(looked *l, hd_err *err)
{
    call *c = l->c;
    const hd_attention_of of = {.by = &c->command.model,
                                .found = l->found,
                                .line = c->line[l->i],
                                .prefix = c->prefix[l->i],
                                .number = c->from[l->i].number};
    if (!hd_attending_wanted(&c->o->usual.attending) && !c->o->warn_skipped) return HD_OK;
    return hd_attention_parts(&c->command.machine.run, &of, take_part, l, err);
}

/* -- writing -- */

static hd_status write_line(call *c, size_t i, const hd_translation *t, hd_text *out, hd_err *err)
{
    looked l = {.c = c, .i = i, .found = t};
    hd_status s = attend(&l, err);
    if (!s) warn_skipped(c, i, &l.skipped);
    if (!s) hd_translate_write(out, c->o, &c->command.model, c->line[i], t, &l.skipped, c->from[i].number);
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
        if (t->status) hd_input_refuse(&c->command.in, line, t->why, HD_INPUT_EMPTY);
        if (t->cut)
            hd_log_say(&c->command.log, HD_WARN, "%s:%zu: too long: only its beginning is translated",
                       line->file, line->at);
        s = write_line(c, i, t, &out, err);
    }
    hd_err later = {0}; /* what came before a failure is written all the same */
    hd_status written = hd_command_put_text(&c->command, &out, true, s ? &later : err);
    return s ? s : written;
}

static hd_status answer(hd_command *command, const hd_input_line *line, size_t count, hd_err *err)
{
    call *c = (call *)command;
    hd_translations found = {0};
    bool given = c->o->prefix || c->o->opt.force;
    c->from = line;
    c->opt.first = line->number - 1;
    for (size_t i = 0; i < count; i++) split(c, i);
    hd_status s = hd_translate(&found, &c->command.machine.run, &c->command.model, c->line,
                               given ? c->prefix : NULL, count, &c->opt, err);
    if (!s) s = write_chunk(c, &found, count, err);
    hd_translations_release(&found);
    return s;
}

/* -- the verb -- */

static hd_status open_shortlist(call *c, hd_err *err)
{
    const hd_command *of = &c->command;
    if (!of->machine.backend->narrow)
        return hd_err_set(err, HD_EMISSING, "--shortlist needs the CPU: add --device cpu");
    hd_status s = hd_lexicon_open_given(&c->shortlist, c->o->shortlist, &of->model, &of->log, err);
    c->opt.shortlist = c->shortlist;
    return s;
}

static hd_status run(hd_command *command, hd_err *err)
{
    const hd_translate_options *o = command->options;
    const hd_model *model = &command->model.model;
    const hd_attention_pick cross = {.kind = 1 + HD_ATTENTION_CROSS};
    hd_status s = hd_attending_open(command, &o->usual.attending, err);
    if (!s && o->warn_skipped) s = hd_attention_check(model, &cross, err);
    if (!s && o->shortlist) s = open_shortlist((call *)command, err);
    return s ? s : hd_input_each(command, "a line to translate", "translated", CHUNK, answer, err);
}

static void release(hd_command *command)
{
    hd_shortlist_free(((call *)command)->shortlist);
}

static hd_status check(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    const hd_translate_options *o = c->o = command->options;
    hd_search_opt *search = &c->opt.search;
    c->opt = o->opt;
    search->kind = o->sample          ? HD_SEARCH_SAMPLE
                   : o->exhaustive    ? HD_SEARCH_EXHAUSTIVE
                   : search->beam > 1 ? HD_SEARCH_BEAM
                                      : HD_SEARCH_GREEDY;
    search->max_extra = 10;
    search->unscored = !o->scores && !o->usual.json && !o->opt.force;
    if (search->max_length) search->max_ratio = 0;
    if (o->prefix && o->opt.force) return hd_err_set(err, HD_EARG, "--prefix and --force exclude each other");
    if (o->sample && o->exhaustive)
        return hd_err_set(err, HD_EARG, "--sample and --exhaustive exclude each other");
    if (o->exhaustive && !search->max_length)
        return hd_err_set(err, HD_EARG,
                          "--exhaustive needs --max-length, as it tries every translation up to it");
    if (o->opt.force && o->shortlist)
        return hd_err_set(err, HD_EARG, "--force scores with all tokens: --shortlist does not apply");
    if (o->opt.force && search->best > 1)
        return hd_err_set(err, HD_EARG, "--force scores one given translation: --n-best does not apply");
    if (!o->sample && !o->exhaustive && search->best > search->beam)
        return hd_err_set(err, HD_EARG, "--n-best %zu is more than --beam %zu", search->best, search->beam);
    return HD_OK;
}

const hd_usage hd_verb_translate = {
    HD_INPUT_OPERANDS,
    .about = "Translates lines with the model in the folder MODEL, one output line for each input line, in "
             "order. " HD_INPUT_FILES " " HD_INPUT_ABOUT "\n"
             "With --n-best the output lines are 'NUMBER ||| TRANSLATION ||| SCORE', with the number of the "
             "source line.",
    .options = options,
    .size = sizeof(hd_translate_options),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .task = "translate",
    .call = sizeof(call),
    .check = check,
    .run = run,
    .release = release,
};
