/* heed score --task caption and transcribe: texts with the name of what they are about, against all
   references of that name. That of a picture may have the number of a caption behind it, "NAME#0", which says
   nothing. */
#include <stdlib.h>
#include <string.h>

#include "cli/verb/score/score.h"
#include "text/vocab.h"

/* What texts and names are called. */
static const struct words {
    const char *text, *texts, *of, *form;
} words_of[HD_SCORE_TASKS] = {
    [HD_SCORE_caption] = {"caption", "captions", "pictures", "NAME<tab>CAPTION"},
    [HD_SCORE_transcribe] = {"transcript", "transcripts", "files", "FILE<tab>TEXT"},
};

typedef struct entry {
    size_t name, begin, size; /* of the text, in bytes */
} entry;

typedef struct texts {
    const struct words *words;
    hd_vocab names;
    hd_text bytes;
    entry *at; /* by name, once all are read */
    size_t count, room;
    size_t *first; /* [names + 1] of each name */
} texts;

static void texts_release(texts *c)
{
    hd_vocab_release(&c->names);
    hd_text_release(&c->bytes);
    hd_mem_free(c->at);
    hd_mem_free(c->first);
}

/* The name without "#K". */
static size_t name_size(const char *name, size_t size)
{
    size_t n = size;
    while (n && name[n - 1] >= '0' && name[n - 1] <= '9') n--;
    return n < size && n > 1 && name[n - 1] == '#' ? n - 1 : size;
}

static hd_status add(texts *c, hd_line line, const char *path, size_t number, hd_err *err)
{
    const char *tab = memchr(line.text, '\t', line.size);
    size_t size = tab ? (size_t)(tab - line.text) : 0;
    if (c->words == &words_of[HD_SCORE_caption]) size = name_size(line.text, size);
    if (!size) return hd_err_set(err, HD_EFORMAT, "%s:%zu: not %s", path, number, c->words->form);
    hd_status s = hd_vocab_add(&c->names, line.text, size, err);
    if (!s) s = hd_mem_reserve(&c->at, &c->room, c->count + 1, sizeof *c->at, err);
    if (s) return s;
    size_t text = line.size - (size_t)(tab + 1 - line.text);
    c->at[c->count++] = (entry){(size_t)hd_vocab_find(&c->names, line.text, size), c->bytes.size, text};
    hd_text_add(&c->bytes, tab + 1, text);
    return hd_text_status(&c->bytes, err);
}

static hd_status read_texts(texts *c, const char *path, hd_err *err)
{
    hd_lines *lines = NULL;
    hd_line line;
    hd_status s = hd_lines_open(&lines, path, &hd_lines_text, err);
    while (!s && !(s = hd_lines_next(lines, &line, err)) && line.text)
        if (line.size) s = add(c, line, hd_lines_name(lines), hd_lines_count(lines), err);
    if (!s && !c->count)
        s = hd_err_set(err, HD_EFORMAT, "%s has no %s", hd_lines_name(lines), c->words->texts);
    hd_lines_close(lines);
    return s;
}

static int by_name(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->name != y->name) return x->name > y->name ? 1 : -1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static hd_status group(texts *c, hd_err *err)
{
    qsort(c->at, c->count, sizeof *c->at, by_name);
    c->first = hd_mem_array(c->names.count + 1, sizeof *c->first);
    if (!c->first) return hd_err_nomem(err, c->names.count * sizeof *c->first);
    for (size_t i = 0; i < c->count; i++) c->first[c->at[i].name + 1] = i + 1;
    return HD_OK;
}

/* The number of this name, or of this name without some of its folders; -1: there is none. */
static int32_t find(const texts *refs, const char *name)
{
    int32_t k = hd_vocab_find(&refs->names, name, strlen(name));
    for (const char *slash = strchr(name, '/'); k < 0 && slash; slash = strchr(slash + 1, '/'))
        k = hd_vocab_find(&refs->names, slash + 1, strlen(slash + 1));
    return k;
}

static hd_status score_one(hd_score_call *j, size_t system, const texts *hyps, size_t i, const texts *refs,
                           int32_t name, hd_err *err)
{
    hd_line ref[HD_METRIC_REFS] = {{0}};
    const entry *h = &hyps->at[i];
    const size_t from = refs->first[name], count = refs->first[name + 1] - from;
    hd_status s = HD_OK;
    for (size_t k = 0; k < count && k < HD_METRIC_REFS; k++)
        ref[k] = (hd_line){refs->bytes.data + refs->at[from + k].begin, refs->at[from + k].size};
    for (size_t m = 0; !s && m < j->metrics; m++) {
        hd_metric *metric = j->metric[system * j->metrics + m];
        s = hd_metric_set_refs(metric, (int)(count < INT32_MAX ? count : INT32_MAX), err);
        if (!s) s = hd_metric_add(metric, (hd_line){hyps->bytes.data + h->begin, h->size}, ref, err);
    }
    return s;
}

static hd_status score_system(hd_score_call *j, size_t system, const texts *refs, hd_err *err)
{
    texts hyps = {.words = refs->words};
    const char *path = j->path[system];
    hd_status s = read_texts(&hyps, path, err);
    if (!s && hyps.count > hyps.names.count)
        s = hd_err_set(err, HD_EFORMAT, "%s has %zu %s of %zu %s: give one of each", path, hyps.count,
                       hyps.words->texts, hyps.names.count, hyps.words->of);
    if (!s && j->o->shuffle && hyps.count < 2)
        s = hd_err_set(err, HD_EARG, "--shuffle needs captions of two pictures or more");
    for (size_t i = 0; !s && i < hyps.count; i++) {
        size_t of = (i + j->o->shuffle) % hyps.count;
        const char *name = hd_vocab_piece(&hyps.names, (int32_t)hyps.at[of].name);
        int32_t k = find(refs, name);
        s = k < 0 ? hd_err_set(err, HD_EFORMAT, "%s: --ref %s has no %s of '%s'", path, j->o->ref.text[0],
                               refs->words->text, name)
                  : score_one(j, system, &hyps, i, refs, k, err);
    }
    if (!s && hyps.count < refs->names.count)
        hd_log_say(&j->command.log, HD_WARN, "%s has %s of %zu of the %zu %s of --ref", path,
                   hyps.words->texts, hyps.count, refs->names.count, hyps.words->of);
    texts_release(&hyps);
    return s;
}

hd_status hd_score_named(hd_score_call *j, hd_err *err)
{
    texts refs = {.words = &words_of[j->o->task]};
    hd_status s = HD_OK;
    for (int i = 0; !s && i < j->o->ref.count; i++) s = read_texts(&refs, j->o->ref.text[i], err);
    if (!s) s = group(&refs, err);
    if (!s) s = hd_score_begin(j, err);
    for (size_t i = 0; !s && i < j->systems; i++) {
        j->name[i] = j->path[i];
        s = score_system(j, i, &refs, err);
    }
    texts_release(&refs);
    return s ? s : hd_score_show(j, err);
}
