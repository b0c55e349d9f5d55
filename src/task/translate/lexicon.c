/* Reading the file of a shortlist. */
#include "task/translate/lexicon.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file/lines.h"
#include "base/mem.h"
#include "base/text.h"

typedef struct entry {
    int32_t source, target; /* source -1: any */
    float probability;
} entry;

typedef struct entries {
    entry *at;
    size_t count, room;
    size_t unknown; /* lines of tokens that there are not */
} entries;

/* -- lines -- */

typedef struct fields {
    char target[1024], source[1024];
    double probability;
} fields;

/* The next word, up to a tab where the line has tabs, which tokens may hold spaces beside. */
static bool next_word(const char **at, const char *end, bool tabs, const char **word, size_t *size)
{
    const char *p = *at;
    while (!tabs && p < end && *p == ' ') p++;
    *word = p;
    while (p < end && *p != '\t' && (tabs || *p != ' ')) p++;
    *size = (size_t)(p - *word);
    *at = p < end ? p + 1 : p;
    return *size;
}

static bool copy_word(char *to, size_t room, const char *word, size_t size)
{
    if (size >= room) return false;
    memcpy(to, word, size);
    to[size] = 0;
    return true;
}

/* Whether a line is three words, the third a probability. */
static bool read_fields(fields *f, hd_line line)
{
    const char *at = line.text, *end = line.text + line.size, *word;
    const bool tabs = memchr(line.text, '\t', line.size);
    size_t size;
    if (!next_word(&at, end, tabs, &word, &size) || !copy_word(f->target, sizeof f->target, word, size))
        return false;
    if (!next_word(&at, end, tabs, &word, &size) || !copy_word(f->source, sizeof f->source, word, size))
        return false;
    if (!next_word(&at, end, tabs, &word, &size) || !hd_real_of(word, size, &f->probability)) return false;
    while (at < end && *at == ' ') at++;
    return at == end && f->probability >= 0 && isfinite(f->probability);
}

static hd_status add_line(entries *e, hd_line line, const hd_lines *from, const hd_model_folder *f,
                          hd_err *err)
{
    fields w;
    if (!read_fields(&w, line))
        return hd_err_set(err, HD_EFORMAT,
                          "%s:%zu: a line of a shortlist is TARGET SOURCE PROBABILITY, not '%.60s'",
                          hd_lines_name(from), hd_lines_count(from), line.text);
    const bool any = !strcmp(w.source, HD_LEXICON_NULL);
    const int32_t target = hd_tokenizer_id(f->tokenizer[1], w.target),
                  source = any ? -1 : hd_tokenizer_id(f->tokenizer[0], w.source);
    if (target < 0 || (source < 0 && !any)) {
        e->unknown += strcmp(w.target, HD_LEXICON_NULL) != 0;
        return HD_OK;
    }
    hd_status s = hd_mem_reserve(&e->at, &e->room, e->count + 1, sizeof *e->at, err);
    if (!s) e->at[e->count++] = (entry){source, target, (float)w.probability};
    return s;
}

static hd_status read_lines(entries *e, const char *path, const hd_model_folder *f, const hd_log *log,
                            hd_err *err)
{
    hd_lines *lines = NULL;
    hd_line line;
    hd_status s = hd_lines_open(&lines, path, &hd_lines_text, err);
    while (!s) {
        s = hd_lines_next(lines, &line, err);
        if (s || !line.text) break;
        if (line.size) s = add_line(e, line, lines, f, err);
    }
    if (!s && !e->count)
        s = hd_err_set(err, HD_EFORMAT,
                       e->unknown ? "%s: no line has tokens of this model: it was made for another one"
                                  : "%s: no lines: a shortlist has TARGET SOURCE PROBABILITY in each",
                       path);
    size_t named = 0;
    for (size_t i = 0; i < e->count; i++) named += e->at[i].source >= 0;
    if (!s && !named)
        s = hd_err_set(err, HD_EFORMAT, "%s: no line has a source token: the file is not complete", path);
    if (!s && e->unknown)
        hd_log_say(log, HD_WARN, "%s: %zu lines have tokens that the model does not know", path, e->unknown);
    hd_lines_close(lines);
    return s;
}

/* -- the list -- */

/* By source, the likeliest first. */
static int before(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    if (x->probability != y->probability) return x->probability > y->probability ? -1 : 1;
    return (x->target > y->target) - (x->target < y->target);
}

/* The end, and the most frequent: those that the file names, or else the first of the vocabulary. */
static void take_always(hd_shortlist *l, const entries *e, size_t first, int32_t end)
{
    l->always[l->always_count++] = end;
    const bool named = e->count && e->at[0].source < 0;
    for (size_t i = 0; i < first && (named ? i < e->count && e->at[i].source < 0 : i < l->targets); i++)
        l->always[l->always_count++] = named ? e->at[i].target : (int32_t)i;
}

static void take_best(hd_shortlist *l, const entries *e, size_t best)
{
    size_t count = 0, taken = 0;
    int32_t source = -1;
    for (size_t i = 0; i < e->count; i++) {
        const entry *x = &e->at[i];
        if (x->source < 0) continue;
        if (x->source != source) taken = 0;
        while (source < x->source) l->begin[++source] = count;
        if (taken++ < best && x->probability > 0) l->target[count++] = x->target;
    }
    while ((size_t)source + 1 <= l->sources) l->begin[++source] = count;
}

static hd_status make(hd_shortlist **out, entries *e, const hd_model_folder *f, const hd_lexicon_opt *opt,
                      hd_err *err)
{
    hd_shortlist *l = hd_mem_zero(sizeof *l);
    if (!l) return hd_err_nomem(err, sizeof *l);
    const size_t first = opt->first ? opt->first : HD_LEXICON_FIRST;
    const hd_encdec_opt *sizes = &hd_model_folder_encdec(f)->opt;
    *l = (hd_shortlist){.sources = sizes->source_vocab,
                        .targets = sizes->target_vocab,
                        .begin = hd_mem_array(sizes->source_vocab + 1, sizeof *l->begin),
                        .target = hd_mem_array(e->count, sizeof *l->target),
                        .copies = f->tokenizer[0] == f->tokenizer[1]};
    l->always = hd_mem_array((first < l->targets ? first : l->targets) + 1, sizeof *l->always);
    if (!l->begin || !l->target || !l->always)
        return hd_shortlist_free(l), hd_err_nomem(err, e->count * sizeof *l->target);
    qsort(e->at, e->count, sizeof *e->at, before);
    take_always(l, e, first < l->targets ? first : l->targets, hd_tokenizer_special(f->tokenizer[1]).end);
    take_best(l, e, opt->best ? opt->best : HD_LEXICON_BEST);
    *out = l;
    return HD_OK;
}

hd_status hd_lexicon_open(hd_shortlist **out, const char *path, const hd_model_folder *f,
                          const hd_lexicon_opt *opt, hd_err *err)
{
    entries e = {0};
    hd_status s = read_lines(&e, path, f, opt->log, err);
    if (!s) s = make(out, &e, f, opt, err);
    hd_mem_free(e.at);
    return s;
}

/* -- options -- */

/* Cuts ",N" off the end of a text, if it has that. */
static bool cut_number(char *text, size_t *number)
{
    char *comma = strrchr(text, ',');
    double value = 0;
    if (!comma || !hd_real_of(comma + 1, strlen(comma + 1), &value) || !(value >= 1) ||
        value > HD_LEXICON_MOST || fmod(value, 1) > 0)
        return false;
    *comma = 0;
    *number = (size_t)value;
    return true;
}

hd_status hd_lexicon_open_given(hd_shortlist **out, const char *given, const hd_model_folder *f,
                                const hd_log *log, hd_err *err)
{
    hd_lexicon_opt opt = {.log = log};
    char path[HD_PATH];
    if (!copy_word(path, sizeof path, given, strlen(given)))
        return hd_err_set(err, HD_ELIMIT, "the shortlist's path has %zu bytes", strlen(given));
    if (cut_number(path, &opt.first) && cut_number(path, &opt.best)) {
        const size_t best = opt.first;
        opt.first = opt.best, opt.best = best;
    }
    return hd_lexicon_open(out, path, f, &opt, err);
}
