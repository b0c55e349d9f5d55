/* Reading documents, and packing them. Easy to get wrong: what updates there are must not depend on the order
   of an epoch, or a run that is resumed would count other ones. */
#include "task/language/documents.h"

#include <string.h>

#include "base/mem.h"
#include "run/data.h"
#include "task/language/passages.h"

#define MARK "<|endoftext|>" /* a line that ends a document, with --documents mark */

/* -- lines to documents -- */

static hd_line line_at(const hd_plain_text *t, size_t i)
{
    size_t begin = i ? t->end[i - 1] : 0;
    return (hd_line){t->bytes + begin, t->end[i] - begin};
}

/* Whether a line stands between documents and is no part of either. */
static bool is_between(int how, hd_line line)
{
    if (how == HD_TRAIN_DOCUMENTS_MARK)
        return line.size == strlen(MARK) && !memcmp(line.text, MARK, line.size);
    return !line.size;
}

typedef struct encoding {
    const hd_tokenizer *tokenizer;
    int how;
    hd_passages passages;
} encoding;

static hd_status put(encoding *e, int32_t id, hd_err *err)
{
    hd_ids *ids = &e->passages.ids;
    hd_status s = id < 0 ? HD_OK : hd_ids_reserve(ids, 1, err);
    if (!s && id >= 0) ids->at[ids->count++] = id;
    return s;
}

/* Lines first .. end-1. Where the end token stands for ends of lines, a document of several ends with a
   second one. */
static hd_status put_lines(encoding *e, const hd_plain_text *t, size_t first, size_t end, hd_err *err)
{
    hd_special special = hd_tokenizer_special(e->tokenizer);
    hd_status s = HD_OK;
    for (size_t i = first; !s && i < end; i++) {
        hd_line line = line_at(t, i);
        s = hd_tokenizer_encode_ids(e->tokenizer, line.text, line.size, &e->passages.ids, err);
        if (!s) s = put(e, special.end, err);
    }
    return s || e->how == HD_TRAIN_DOCUMENTS_LINE ? s : put(e, special.end, err);
}

static hd_status put_whole(encoding *e, const hd_plain_text *t, size_t first, size_t end, hd_err *err)
{
    hd_text all = {0};
    for (size_t i = first; i < end; i++) {
        hd_line line = line_at(t, i);
        if (i > first) hd_text_put(&all, "\n");
        hd_text_add(&all, line.text, line.size);
    }
    hd_status s = hd_text_status(&all, err);
    if (!s && all.size) s = hd_tokenizer_encode_ids(e->tokenizer, all.data, all.size, &e->passages.ids, err);
    hd_text_release(&all);
    return s ? s : put(e, hd_tokenizer_special(e->tokenizer).end, err);
}

static hd_status add(encoding *e, const hd_plain_text *t, size_t first, size_t end, hd_err *err)
{
    bool whole = hd_tokenizer_keeps_lines(e->tokenizer);
    size_t from = e->passages.ids.count;
    hd_status s = put(e, hd_tokenizer_special(e->tokenizer).start, err);
    if (!s) s = (whole ? put_whole : put_lines)(e, t, first, end, err);
    if (!s) s = hd_passages_add(&e->passages, from, err);
    if (s) return s;
    memset(e->passages.learned + from, 1, e->passages.ids.count - from);
    e->passages.learned[from] = 0;
    return HD_OK;
}

static hd_status encode(encoding *e, const hd_plain_text *t, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0, end; !s && i < t->lines; i = end + 1) {
        bool lines = e->how == HD_TRAIN_DOCUMENTS_LINE;
        for (end = i; end < t->lines && !is_between(e->how, line_at(t, end)) && !(lines && end > i);) end++;
        if (end > i) s = add(e, t, i, end, err);
        if (lines && end > i) end--;
    }
    return s;
}

/* -- a run -- */

static hd_status split(hd_stream_text *train, hd_stream_text *valid, const encoding e[2], double fraction,
                       const char *file, hd_err *err)
{
    const hd_passages *all = &e[0].passages, *held = &e[1].passages;
    if (!all->count) return hd_err_set(err, HD_EFORMAT, "%s: there is no document in it", file);
    if (!held->count && fraction > 0 && all->count < 2)
        return hd_err_set(err, HD_EARG, "%s: one document cannot be parted: give --valid", file);
    hd_status s = hd_passages_split(train, valid, all, held, fraction, err);
    train->documents = valid->documents = true;
    return s;
}

hd_status hd_documents_read(hd_stream_text *train, hd_stream_text *valid, hd_tokenizer **tokenizer,
                            hd_session *s, hd_err *err)
{
    const hd_train_options *o = s->options;
    hd_files files[2] = {0};
    hd_plain_text text[2] = {0};
    encoding e[2] = {{.how = o->documents}, {.how = o->documents}};
    hd_plain_walk walk = {&text[0], 0};
    hd_status st = hd_data_files(&files[0], &o->train, err);
    if (!st) st = hd_data_files(&files[1], &o->valid, err);
    for (int i = 0; !st && i < 2; i++)
        if (files[i].count) st = hd_plain_text_read_all(&text[i], &files[i], err);
    if (!st && !*tokenizer) st = hd_session_tokenizer(s, tokenizer, hd_plain_feed(&walk), err);
    e[0].tokenizer = e[1].tokenizer = *tokenizer;
    for (int i = 0; !st && i < 2; i++) st = encode(&e[i], &text[i], err);
    if (!st) st = split(train, valid, e, o->valid_fraction, files[0].at[0], err);
    s->train = train->hash, s->valid = valid->hash, s->validates = valid->count > 0;
    for (int i = 0; i < 2; i++)
        hd_passages_release(&e[i].passages), hd_plain_text_release(&text[i]), hd_files_release(&files[i]);
    return st;
}

/* -- packing -- */

hd_status hd_packing_init(hd_packing *p, const hd_dialogue_windows *w, size_t budget, hd_err *err)
{
    *p = (hd_packing){0};
    for (size_t i = 0; i < w->items; i++) p->tokens += w->window[i].len;
    p->batches = p->tokens > budget ? p->tokens / budget : 1;
    p->first = hd_mem_array(p->batches + 1, sizeof *p->first);
    return p->first ? HD_OK : hd_err_nomem(err, (p->batches + 1) * sizeof *p->first);
}

void hd_packing_release(hd_packing *p)
{
    hd_mem_free(p->first);
    *p = (hd_packing){0};
}

/* A share is at least as long as any window, so that something begins in each. */
static void pack(hd_packing *p, const hd_dialogue_windows *w)
{
    size_t batch = 0, before = 0;
    for (size_t i = 0; i < w->items; i++) {
        size_t share = (size_t)((double)before * (double)p->batches / (double)p->tokens);
        while (batch <= share && batch < p->batches) p->first[batch++] = i;
        before += w->window[w->order[i]].len;
    }
    while (batch <= p->batches) p->first[batch++] = w->items;
}

size_t hd_packing_draw(hd_packing *p, hd_dialogue_windows *w, uint64_t at, uint64_t seed, size_t *first)
{
    uint64_t epoch = at / p->batches, batch = at % p->batches;
    hd_dialogue_windows_shuffle(w, seed, epoch);
    if (p->packed != epoch + 1) pack(p, w);
    p->packed = epoch + 1;
    *first = p->first[batch];
    return p->first[batch + 1] - *first;
}
