/* Forced scoring of many texts, some at a time. A text is a part of hd_parts: the ids of what stands
   before it (a source, or the start of a text) and those that are forced. */
#include "task/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "decode/score.h"
#include "task/translate/parts.h"

typedef struct job {
    hd_run *r;
    const hd_model_folder *m;
    bool pairs; /* texts are of sources */
    const hd_rank_opt *opt;
    hd_verdict *out;
    hd_parts parts;
    int32_t *ids, *len, *said; /* sources, their lengths, those of the texts */
    size_t *texts;             /* [sources] texts of each */
} job;

static void refuse(hd_verdict *v, hd_status status, const char *why)
{
    v->status = status, v->why = why;
    v->logp = v->score = -INFINITY;
}

/* -- texts as ids -- */

static hd_status add_pair(job *j, size_t number, hd_line source, hd_line text, hd_err *err)
{
    static const hd_translate_opt opt = {.force = true, .too_long = HD_LONG_SKIP};
    hd_translation found = {0};
    hd_verdict *v = &j->out[number];
    hd_status s = hd_parts_add(&j->parts, j->m, number, source, &text, &opt, &found, err);
    if (!s && found.status) refuse(v, found.status, found.why);
    if (!s && !found.status && !found.parts) refuse(v, HD_EFORMAT, "its source is empty");
    return s;
}

/* Behind the start token, which all texts share. */
static hd_status add_text(job *j, size_t number, hd_line text, hd_err *err)
{
    const hd_tokenizer *t = j->m->tokenizer[0];
    hd_parts *p = &j->parts;
    hd_part part = {.line = number, .size = 1, .prefix = p->forced.count};
    if (hd_utf8_good(text.text, text.size) < text.size || (text.size && memchr(text.text, 0, text.size)))
        return refuse(&j->out[number], HD_EFORMAT, "not UTF-8 or holds a zero byte"), HD_OK;
    hd_status s = hd_tokenizer_encode_ids(t, text.text, text.size, &p->forced, err);
    if (!s) s = hd_ids_reserve(&p->forced, 1, err);
    if (s) return s;
    p->forced.at[p->forced.count++] = hd_tokenizer_special(t).end;
    part.prefixes = p->forced.count - part.prefix;
    p->at[p->count++] = part;
    return HD_OK;
}

static hd_status begin_texts(job *j, size_t count, hd_err *err)
{
    hd_parts *p = &j->parts;
    p->at = hd_mem_array(count, sizeof *p->at);
    if (!p->at) return hd_err_nomem(err, count * sizeof *p->at);
    p->room = count;
    hd_status s = hd_ids_reserve(&p->ids, 1, err);
    if (!s) p->ids.at[p->ids.count++] = hd_tokenizer_special(j->m->tokenizer[0]).start;
    return s;
}

static hd_status add_all(job *j, const hd_line *source, const hd_line *text, size_t count, hd_err *err)
{
    hd_status s = j->pairs ? HD_OK : begin_texts(j, count, err);
    for (size_t i = 0; !s && i < count; i++) {
        j->out[i] = (hd_verdict){.place = i};
        s = j->pairs ? add_pair(j, i, source[i], text[i], err) : add_text(j, i, text[i], err);
    }
    return s;
}

/* -- scores -- */

static bool same_source(const job *j, const hd_part *a, const hd_part *b)
{
    const int32_t *ids = j->parts.ids.at;
    return a->size == b->size && !memcmp(ids + a->begin, ids + b->begin, a->size * sizeof *ids);
}

/* The sources, each once for all neighbors that have it, up to `most`. Returns how many those are. */
static size_t gather_sources(job *j, size_t most)
{
    size_t items = 0, rows = 0;
    for (size_t i = 0; i < j->parts.count; i++) {
        const hd_part *p = &j->parts.at[i];
        j->said[i] = (int32_t)p->prefixes;
        if (!i || j->texts[items - 1] == most || !same_source(j, p, p - 1)) {
            memcpy(j->ids + rows, j->parts.ids.at + p->begin, p->size * sizeof *j->ids);
            rows += p->size;
            j->len[items++] = (int32_t)p->size;
        }
        j->texts[items - 1]++;
    }
    return items;
}

static hd_status score_all(job *j, hd_err *err)
{
    const hd_model *m = &j->m->model;
    size_t seats = j->opt->batch ? j->opt->batch : HD_RANK_BATCH, n = j->parts.count, rows = 0;
    for (size_t i = 0; i < n; i++) rows += j->parts.at[i].size;
    j->ids = hd_mem_array(rows, sizeof *j->ids);
    j->len = hd_mem_array(2 * n, sizeof *j->len);
    j->texts = hd_mem_array(n, sizeof *j->texts);
    if (!j->ids || !j->len || !j->texts) return hd_err_nomem(err, rows * sizeof *j->ids);
    if (!n) return HD_OK;
    j->said = j->len + n;
    size_t items = gather_sources(j, seats);
    hd_found *f = NULL;
    hd_stepper stepper = {0};
    hd_status s = hd_found_of(&f, j->parts.forced.at, j->said, j->texts, items, err);
    if (!s)
        s = m->type->stepper(&stepper, m->self, j->ids, j->len, items,
                             hd_tokenizer_special(j->m->tokenizer[1]).start, err);
    if (!s) s = hd_found_score(f, j->r, &stepper, &(hd_length){0}, seats, err);
    for (size_t i = 0; !s && i < n; i++) {
        hd_verdict *v = &j->out[j->parts.at[i].line];
        v->logp = f->guess[i].sum, v->tokens = f->guess[i].length;
        v->score = j->opt->normalize ? v->logp / (double)v->tokens : v->logp;
    }
    hd_stepper_release(&stepper);
    hd_found_free(f);
    return s;
}

hd_status hd_rank_judge(hd_verdict *out, hd_run *r, const hd_model_folder *m, const hd_line *source,
                        const hd_line *text, size_t count, const hd_rank_opt *opt, hd_err *err)
{
    job j = {.r = r, .m = m, .pairs = m->model.type->decode, .opt = opt, .out = out};
    hd_status s = add_all(&j, source, text, count, err);
    if (!s) s = score_all(&j, err);
    hd_parts_release(&j.parts);
    hd_mem_free(j.ids);
    hd_mem_free(j.len);
    hd_mem_free(j.texts);
    return s;
}

static int better_first(const void *a, const void *b)
{
    const hd_verdict *x = a, *y = b;
    bool known[2] = {!isnan(x->score), !isnan(y->score)};
    if (known[0] != known[1]) return known[0] ? -1 : 1;
    if (known[0] && (x->score > y->score || x->score < y->score)) return x->score > y->score ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

void hd_rank_sort(hd_verdict *v, size_t count)
{
    if (count) qsort(v, count, sizeof *v, better_first);
}
