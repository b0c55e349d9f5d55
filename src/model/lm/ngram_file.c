/* The file of an n-gram model. Easy to get wrong: trust. Whatever the file says is checked before it is used
   as a size or an index; what passes gives rows that sum to 1, even if no text has such counts.

   Little-endian, no gaps:  magic[8]  u32 version, order, vocab, smoothing  i32 start, end, unk  u32 0  f64 k,
   discount  u64 count[order]  then for each length u32 token[count], seen[count] and, but for the last,
   first[count+1]  u64 FNV-1a of all before it. */
#include <string.h>

#include "base/file/file.h"
#include "base/mem.h"
#include "model/lm/ngram_parts.h"

enum { VERSION = 1 };

static const char magic[8] = {'h', 'e', 'e', 'd', 'g', 'r', 'a', 'm'};

typedef struct head {
    char magic[8];
    uint32_t version, order, vocab, smoothing;
    int32_t start, end, unk;
    uint32_t zero;
    double k, discount;
} head;
_Static_assert(sizeof(head) == 56, "has no gaps");

static uint64_t mark_of(uint64_t mark, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < bytes; i++) mark = (mark ^ at[i]) * 0x100000001b3u; /* FNV-1a */
    return mark;
}

static const uint64_t no_mark = 0xcbf29ce484222325u;

/* ---- saving ---- */

typedef struct writing {
    hd_save *file;
    uint64_t mark;
    hd_status status;
    hd_err *err;
} writing;

static void put(writing *w, const void *data, size_t bytes)
{
    if (w->status) return;
    w->mark = mark_of(w->mark, data, bytes);
    w->status = hd_save_write(w->file, data, bytes, w->err);
}

static void put_model(writing *w, const hd_ngram *m)
{
    const hd_ngram_opt *o = &m->opt;
    head h = {.version = VERSION,
              .order = (uint32_t)o->order,
              .vocab = (uint32_t)o->vocab,
              .smoothing = o->smoothing,
              .start = o->start,
              .end = o->end,
              .unk = o->unk,
              .k = o->k,
              .discount = o->discount};
    memcpy(h.magic, magic, sizeof magic);
    put(w, &h, sizeof h);
    for (int i = 1; i <= o->order; i++) put(w, &(uint64_t){m->level[i].count}, sizeof(uint64_t));
    for (int i = 1; i <= o->order; i++) {
        const hd_ngram_level *l = &m->level[i];
        put(w, l->token, l->count * sizeof *l->token);
        put(w, l->seen, l->count * sizeof *l->seen);
        if (l->first) put(w, l->first, ((size_t)l->count + 1) * sizeof *l->first);
    }
    uint64_t mark = w->mark;
    put(w, &mark, sizeof mark);
}

hd_status hd_ngram_save(const hd_ngram *m, const char *path, hd_err *err)
{
    if (!m->finished) return hd_err_set(err, HD_EARG, "%s: the n-gram model is not finished", path);
    writing w = {.mark = no_mark, .err = err};
    hd_status s = hd_save_open(&w.file, path, err);
    if (s) return s;
    put_model(&w, m);
    if (!w.status) return hd_save_commit(w.file, err);
    hd_save_abandon(w.file);
    return w.status;
}

/* ---- loading ---- */

typedef struct reading {
    const char *path;
    const uint8_t *at, *end; /* what is left */
    hd_err *err;
} reading;

static hd_status bad(const reading *r, const char *why)
{
    return hd_err_set(r->err, HD_EFORMAT, "%s: %s", r->path, why);
}

static hd_status take(reading *r, void *to, size_t count, size_t size)
{
    if ((size_t)(r->end - r->at) / size < count) return bad(r, "the n-gram file is cut off");
    if (count) memcpy(to, r->at, count * size);
    r->at += count * size;
    return HD_OK;
}

static hd_status take_head(reading *r, hd_ngram_opt *o)
{
    head h;
    hd_err why = {0};
    if ((size_t)(r->end - r->at) < sizeof magic || memcmp(r->at, magic, sizeof magic))
        return bad(r, "is no n-gram model");
    hd_status s = take(r, &h, 1, sizeof h);
    if (s) return s;
    if (h.version != VERSION)
        return hd_err_set(r->err, HD_EFORMAT, "%s: version %u of the n-gram file, this heed reads version %d",
                          r->path, h.version, VERSION);
    if (h.order > HD_NGRAM_MOST || h.smoothing >= HD_SMOOTHINGS || h.zero)
        return bad(r, "a damaged n-gram file: its options make no sense");
    *o = (hd_ngram_opt){.vocab = h.vocab,
                        .order = (int)h.order,
                        .smoothing = (hd_smoothing)h.smoothing,
                        .k = h.k,
                        .discount = h.discount,
                        .start = h.start,
                        .end = h.end,
                        .unk = h.unk};
    if (hd_ngram_check(o, &why)) return hd_err_set(r->err, HD_EFORMAT, "%s: %s", r->path, why.text);
    return HD_OK;
}

/* Children of each node of a level: in order, the last one's the last there are. */
static bool firsts_fit(const hd_ngram_level *l, size_t below)
{
    if (l->first[0] || l->first[l->count] != below) return false;
    for (size_t i = 0; i < l->count; i++)
        if (l->first[i] > l->first[i + 1]) return false;
    return true;
}

/* What is wrong with the children of a level, or NULL. Sorted, or they are not found; seen, or a discount
   makes them negative; and their sum is 32 bits. */
static const char *fault_below(const hd_ngram *m, int length)
{
    const hd_ngram_level *l = &m->level[length], *below = l + 1;
    if (!firsts_fit(l, below->count)) return "a damaged n-gram file: children are out of order";
    for (size_t i = 0; i < l->count; i++) {
        uint64_t total = 0;
        for (size_t j = l->first[i]; j < l->first[i + 1]; j++) {
            bool hidden = !length && below->token[j] == (uint32_t)m->opt.start;
            if (below->token[j] >= m->opt.vocab)
                return "a damaged n-gram file: a token is not in the vocabulary";
            if (j > l->first[i] && below->token[j] <= below->token[j - 1])
                return "a damaged n-gram file: tokens are out of order";
            if (!below->seen[j] && !hidden) return "a damaged n-gram file: an n-gram was never seen";
            total += below->seen[j];
        }
        if (total > UINT32_MAX) return "a damaged n-gram file: counts are too large";
    }
    return NULL;
}

static hd_status take_level(reading *r, hd_ngram_level *l, uint64_t count, bool last)
{
    /* before anything is allocated: what the file has no bytes for is not there */
    if (count > (size_t)(r->end - r->at) / sizeof(uint32_t) / 2 || count >= UINT32_MAX)
        return bad(r, "the n-gram file is cut off, or its sizes are damaged");
    hd_status s = hd_ngram_level_new(l, (size_t)count, last, r->err);
    if (!s) s = take(r, l->token, l->count, sizeof *l->token);
    if (!s) s = take(r, l->seen, l->count, sizeof *l->seen);
    if (!s && !last) s = take(r, l->first, (size_t)l->count + 1, sizeof *l->first);
    return s;
}

static hd_status take_model(reading *r, hd_ngram *m)
{
    uint64_t count[HD_NGRAM_MOST], mark = 0;
    const uint8_t *begin = r->at;
    hd_status s = take_head(r, &m->opt);
    if (!s) s = take(r, count, (size_t)m->opt.order, sizeof *count);
    if (!s) s = hd_ngram_level_new(&m->level[0], 1, false, r->err);
    for (int i = 1; !s && i <= m->opt.order; i++)
        s = take_level(r, &m->level[i], count[i - 1], i == m->opt.order);
    if (s) return s;
    m->level[0].first[1] = m->level[1].count;
    for (int i = 0; i < m->opt.order; i++) {
        const char *fault = fault_below(m, i);
        if (fault) return bad(r, fault);
    }
    uint64_t want = mark_of(no_mark, begin, (size_t)(r->at - begin));
    s = take(r, &mark, 1, sizeof mark);
    if (s) return s;
    if (r->at != r->end) return bad(r, "a damaged n-gram file: there is something behind its end");
    if (mark != want) return bad(r, "a damaged n-gram file: its checksum is another");
    m->finished = true;
    return hd_ngram_settle(m, r->err);
}

hd_status hd_ngram_open(hd_ngram **out, const char *path, hd_err *err)
{
    hd_map map = {0};
    hd_status s = hd_map_open(&map, path, err);
    if (s) return s;
    hd_ngram *m = hd_mem_zero(sizeof *m);
    reading r = {path, map.data, map.data + map.size, err};
    s = m ? take_model(&r, m) : hd_err_nomem(err, sizeof *m);
    hd_map_close(&map);
    if (s)
        hd_ngram_free(m);
    else
        *out = m;
    return s;
}
