/* heed score --task caption: captions against all references of the same picture. A name may have the number
   of a caption behind it, "NAME#0", which says nothing. */
#include <stdlib.h>
#include <string.h>

#include "cli/verb/score/score.h"
#include "text/vocab.h"

typedef struct caption {
    size_t picture, begin, size; /* of the text, in bytes */
} caption;

typedef struct captions {
    hd_vocab pictures;
    hd_text bytes;
    caption *at; /* by picture, once all are read */
    size_t count, room;
    size_t *first; /* [pictures + 1] of each picture */
} captions;

static void captions_release(captions *c)
{
    hd_vocab_release(&c->pictures);
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

static hd_status add(captions *c, hd_line line, const char *path, size_t number, hd_err *err)
{
    const char *tab = memchr(line.text, '\t', line.size);
    size_t size = tab ? name_size(line.text, (size_t)(tab - line.text)) : 0;
    if (!size) return hd_err_set(err, HD_EFORMAT, "%s:%zu: not NAME<tab>CAPTION", path, number);
    hd_status s = hd_vocab_add(&c->pictures, line.text, size, err);
    if (!s) s = hd_mem_reserve(&c->at, &c->room, c->count + 1, sizeof *c->at, err);
    if (s) return s;
    size_t text = line.size - (size_t)(tab + 1 - line.text);
    c->at[c->count++] = (caption){(size_t)hd_vocab_find(&c->pictures, line.text, size), c->bytes.size, text};
    hd_text_add(&c->bytes, tab + 1, text);
    return hd_text_status(&c->bytes, err);
}

static hd_status read_captions(captions *c, const char *path, hd_err *err)
{
    hd_lines *lines = NULL;
    hd_line line;
    hd_status s = hd_lines_open(&lines, path, &(hd_lines_opt){.utf8 = true, .no_zero = true}, err);
    while (!s && !(s = hd_lines_next(lines, &line, err)) && line.text)
        if (line.size) s = add(c, line, hd_lines_name(lines), hd_lines_count(lines), err);
    if (!s && !c->count) s = hd_err_set(err, HD_EFORMAT, "%s has no captions", hd_lines_name(lines));
    hd_lines_close(lines);
    return s;
}

static int by_picture(const void *a, const void *b)
{
    const caption *x = a, *y = b;
    if (x->picture != y->picture) return x->picture > y->picture ? 1 : -1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static hd_status group(captions *c, hd_err *err)
{
    qsort(c->at, c->count, sizeof *c->at, by_picture);
    c->first = hd_mem_array(c->pictures.count + 1, sizeof *c->first);
    if (!c->first) return hd_err_nomem(err, c->pictures.count * sizeof *c->first);
    for (size_t i = 0; i < c->count; i++) c->first[c->at[i].picture + 1] = i + 1;
    return HD_OK;
}

/* The picture of this name, or of this name without its folders; -1: there is none. */
static int32_t find(const captions *refs, const char *name)
{
    int32_t k = hd_vocab_find(&refs->pictures, name, strlen(name));
    const char *slash = strrchr(name, '/');
    return k < 0 && slash ? hd_vocab_find(&refs->pictures, slash + 1, strlen(slash + 1)) : k;
}

static hd_status score_one(hd_score_call *j, size_t system, const captions *hyps, size_t i,
                           const captions *refs, int32_t picture, hd_err *err)
{
    hd_line ref[HD_METRIC_REFS] = {{0}};
    const caption *h = &hyps->at[i];
    const size_t from = refs->first[picture], count = refs->first[picture + 1] - from;
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

static hd_status score_system(hd_score_call *j, size_t system, const captions *refs, hd_err *err)
{
    captions hyps = {0};
    const char *path = j->path[system];
    hd_status s = read_captions(&hyps, path, err);
    if (!s && hyps.count > hyps.pictures.count)
        s = hd_err_set(err, HD_EFORMAT, "%s has %zu captions of %zu pictures: give one of each", path,
                       hyps.count, hyps.pictures.count);
    if (!s && j->o->shuffle && hyps.count < 2)
        s = hd_err_set(err, HD_EARG, "--shuffle needs captions of two pictures or more");
    for (size_t i = 0; !s && i < hyps.count; i++) {
        size_t of = (i + j->o->shuffle) % hyps.count;
        const char *name = hd_vocab_piece(&hyps.pictures, (int32_t)hyps.at[of].picture);
        int32_t picture = find(refs, name);
        s = picture < 0 ? hd_err_set(err, HD_EFORMAT, "%s: --ref %s has no caption of '%s'", path,
                                     j->o->ref.text[0], name)
                        : score_one(j, system, &hyps, i, refs, picture, err);
    }
    if (!s && hyps.count < refs->pictures.count)
        hd_log_say(&j->command.log, HD_WARN, "%s has captions of %zu of the %zu pictures of --ref", path,
                   hyps.count, refs->pictures.count);
    captions_release(&hyps);
    return s;
}

hd_status hd_score_captions(hd_score_call *j, hd_err *err)
{
    captions refs = {0};
    hd_status s = HD_OK;
    for (int i = 0; !s && i < j->o->ref.count; i++) s = read_captions(&refs, j->o->ref.text[i], err);
    if (!s) s = group(&refs, err);
    if (!s) s = hd_score_begin(j, err);
    for (size_t i = 0; !s && i < j->systems; i++) {
        j->name[i] = j->path[i];
        s = score_system(j, i, &refs, err);
    }
    captions_release(&refs);
    return s ? s : hd_score_show(j, err);
}
