/* Counting n-grams: the text is kept, and its positions sorted by the n-grams that begin there, one token
   longer each time. An n-gram of l+1 tokens is its first token and the n-gram of l behind it, whose order is
   known by then: one stable counting sort by the first token makes the next order. Easy to get wrong: no
   n-gram reaches over the end of a document, that is, `start` is nowhere but in front. */
#include "model/lm/ngram.h"

#include <string.h>

#include "base/mem.h"
#include "model/lm/ngram_parts.h"

enum { FIRST_ROOM = 4096, K_MOST = 1000000 };

#define X(NAME, name, text) name,
const char *const hd_smoothing_names[HD_SMOOTHINGS + 1] = {HD_SMOOTHING_LIST(X) NULL};
#undef X

static hd_status check_token(const char *name, int32_t id, int32_t least, size_t vocab, hd_err *err)
{
    if (id >= least && (id < 0 || (size_t)id < vocab)) return HD_OK;
    return hd_err_set(err, HD_EARG, "n-gram: the %s token is %d, the vocabulary has %zu", name, id, vocab);
}

hd_status hd_ngram_check(const hd_ngram_opt *o, hd_err *err)
{
    if (o->order < 1 || o->order > HD_NGRAM_MOST)
        return hd_err_set(err, HD_EARG, "n-gram: the order is %d, it must be 1 to %d", o->order,
                          HD_NGRAM_MOST);
    if (o->vocab < 1 || o->vocab > INT32_MAX)
        return hd_err_set(err, HD_EARG, "n-gram: a vocabulary of %zu tokens", o->vocab);
    if ((unsigned)o->smoothing >= HD_SMOOTHINGS)
        return hd_err_set(err, HD_EARG, "n-gram: there is no smoothing %d", (int)o->smoothing);
    if (!(o->k >= 0 && o->k <= K_MOST))
        return hd_err_set(err, HD_EARG, "n-gram: k is %g, it must be 0 to %d", o->k, K_MOST);
    if (!(o->discount >= 0 && o->discount <= 1))
        return hd_err_set(err, HD_EARG, "n-gram: the discount is %g, it must be 0 to 1", o->discount);
    hd_status s = check_token("start", o->start, 0, o->vocab, err);
    if (!s) s = check_token("end", o->end, -1, o->vocab, err);
    if (!s) s = check_token("unknown", o->unk, -1, o->vocab, err);
    if (!s && o->end == o->start)
        s = hd_err_set(err, HD_EARG, "n-gram: token %d is both start and end", o->start);
    return s;
}

hd_status hd_ngram_new(hd_ngram **out, const hd_ngram_opt *opt, hd_err *err)
{
    hd_status s = hd_ngram_check(opt, err);
    if (s) return s;
    hd_ngram *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    m->opt = *opt;
    *out = m;
    return HD_OK;
}

static void drop_levels(hd_ngram *m)
{
    for (int i = 0; i <= HD_NGRAM_MOST; i++) {
        hd_ngram_level *l = &m->level[i];
        hd_mem_free(l->token);
        hd_mem_free(l->seen);
        hd_mem_free(l->first);
        hd_mem_free(l->total);
        hd_mem_free(l->once);
        hd_mem_free(l->twice);
        *l = (hd_ngram_level){0};
    }
}

void hd_ngram_free(hd_ngram *m)
{
    if (!m) return;
    drop_levels(m);
    hd_mem_free(m->text);
    hd_mem_free(m);
}

const hd_ngram_opt *hd_ngram_options(const hd_ngram *m)
{
    return &m->opt;
}

size_t hd_ngram_kinds(const hd_ngram *m, int length)
{
    return length < 1 || length > m->opt.order ? 0 : m->level[length].count;
}

size_t hd_ngram_bytes(const hd_ngram *m)
{
    size_t bytes = 0;
    for (int i = 1; i <= m->opt.order; i++) {
        const hd_ngram_level *l = &m->level[i];
        bytes += (size_t)l->count * sizeof(uint32_t) * (l->once ? 6 : l->total ? 4 : 2);
    }
    return bytes;
}

const double *hd_ngram_discount(const hd_ngram *m, int length)
{
    return m->discount[length];
}

/* ---- the text ---- */

static hd_status reserve(hd_ngram *m, size_t more, hd_err *err)
{
    size_t room = m->room ? m->room : FIRST_ROOM;
    if (more >= UINT32_MAX - m->used) /* positions and counts are 32 bits */
        return hd_err_set(err, HD_ELIMIT, "n-gram: a text of more than %u tokens", UINT32_MAX - 1);
    while (room - m->used < more) room *= 2;
    if (room == m->room) return HD_OK;
    uint32_t *text = hd_mem_grow(m->text, room * sizeof *text);
    if (!text) return hd_err_nomem(err, room * sizeof *text);
    m->text = text;
    m->room = room;
    return HD_OK;
}

hd_status hd_ngram_count(hd_ngram *m, const int32_t *ids, size_t n, hd_err *err)
{
    const hd_ngram_opt *o = &m->opt;
    if (m->finished) return hd_err_set(err, HD_EARG, "n-gram: the model is finished, it counts no more");
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= o->vocab)
            return hd_err_set(err, HD_EARG, "n-gram: there is no token %d in a vocabulary of %zu", ids[i],
                              o->vocab);
        if (ids[i] == o->start)
            return hd_err_set(err, HD_EARG, "n-gram: the start token %d is inside a document", ids[i]);
    }
    if (n >= UINT32_MAX) return reserve(m, n, err);
    hd_status s = reserve(m, n + 2, err);
    if (s) return s;
    m->text[m->used++] = (uint32_t)o->start;
    if (n) memcpy(m->text + m->used, ids, n * sizeof *ids);
    m->used += n;
    if (o->end >= 0) m->text[m->used++] = (uint32_t)o->end;
    return HD_OK;
}

/* ---- the levels ---- */

static hd_status array(uint32_t **out, size_t count, hd_err *err)
{
    *out = hd_mem_array(count, sizeof **out);
    return *out ? HD_OK : hd_err_nomem(err, count * sizeof **out);
}

hd_status hd_ngram_level_new(hd_ngram_level *l, size_t count, bool last, hd_err *err)
{
    l->count = (uint32_t)count;
    hd_status s = array(&l->token, count, err);
    if (!s) s = array(&l->seen, count, err);
    if (!s && !last) s = array(&l->first, count + 1, err);
    return s;
}

typedef struct sorting {
    const uint32_t *text;
    size_t used, vocab;
    uint32_t start;
    uint32_t *at, *spare;  /* positions in the order of the n-grams that begin there; those that have one */
    size_t count;          /* of them */
    uint32_t *rank, *next; /* [used + 1] by position: the node of its n-gram, and of the one token longer */
    uint32_t *bucket;      /* [vocab + 1] */
} sorting;

static void sorting_release(sorting *q)
{
    hd_mem_free(q->at);
    hd_mem_free(q->spare);
    hd_mem_free(q->rank);
    hd_mem_free(q->next);
    hd_mem_free(q->bucket);
}

static hd_status sorting_init(sorting *q, const hd_ngram *m, hd_err *err)
{
    *q = (sorting){.text = m->text,
                   .used = m->used,
                   .vocab = m->opt.vocab,
                   .start = (uint32_t)m->opt.start,
                   .count = m->used};
    hd_status s = array(&q->at, q->used, err);
    if (!s) s = array(&q->spare, q->used, err);
    if (!s) s = array(&q->rank, q->used + 1, err);
    if (!s) s = array(&q->next, q->used + 1, err);
    if (!s) s = array(&q->bucket, q->vocab + 1, err);
    for (size_t i = 0; !s && i < q->used; i++) q->at[i] = (uint32_t)i + 1; /* nothing begins everywhere */
    return s;
}

static void swap(uint32_t **a, uint32_t **b)
{
    uint32_t *t = *a;
    *a = *b, *b = t;
}

/* Whether an n-gram can be made longer in front of position j. */
static bool goes_on(const sorting *q, size_t j, int length)
{
    return j && (!length || q->text[j] != q->start);
}

/* Positions in the order of n-grams one longer than `length`, given that of those. */
static void lengthen(sorting *q, int length)
{
    size_t count = 0;
    memset(q->bucket, 0, (q->vocab + 1) * sizeof *q->bucket);
    for (size_t i = 0; i < q->count; i++)
        if (goes_on(q, q->at[i], length)) q->bucket[q->text[q->at[i] - 1] + 1]++, count++;
    for (size_t v = 0; v < q->vocab; v++) q->bucket[v + 1] += q->bucket[v];
    for (size_t i = 0; i < q->count; i++)
        if (goes_on(q, q->at[i], length)) q->spare[q->bucket[q->text[q->at[i] - 1]]++] = q->at[i] - 1;
    swap(&q->at, &q->spare);
    q->count = count;
}

/* Gives equal n-grams one number, in q->next. Returns how many are different. */
static size_t number(const sorting *q)
{
    size_t kinds = 0;
    for (size_t i = 0; i < q->count; i++) {
        size_t at = q->at[i], last = i ? q->at[i - 1] : 0;
        kinds += !i || q->text[at] != q->text[last] || q->rank[at + 1] != q->rank[last + 1];
        q->next[at] = (uint32_t)(kinds - 1);
    }
    return kinds;
}

/* Counts the n-grams of a level, and the children of the one above. `before` (may be NULL): [nodes above],
   where each gets the number of different tokens in front of it. */
static void fill_level(const sorting *q, hd_ngram_level *above, hd_ngram_level *l, int length,
                       uint32_t *before)
{
    for (size_t i = 0; i < q->count; i++) {
        size_t at = q->at[i];
        uint32_t node = q->next[at];
        if (l->seen[node]++) continue;
        l->token[node] = q->text[at + (size_t)length - 1];
        above->first[q->rank[at] + 1]++;
        if (before) before[q->rank[at + 1]]++;
    }
    for (size_t i = 0; i < above->count; i++) above->first[i + 1] += above->first[i];
}

static hd_status add_level(hd_ngram *m, sorting *q, int length, hd_err *err)
{
    hd_ngram_level *above = &m->level[length - 1], *l = &m->level[length];
    uint32_t *before = NULL;
    lengthen(q, length - 1);
    hd_status s = hd_ngram_level_new(l, number(q), length == m->opt.order, err);
    if (!s && length > 1 && m->opt.smoothing != HD_SMOOTHING_ADD_K) s = array(&before, above->count, err);
    if (!s) fill_level(q, above, l, length, before);
    for (size_t i = 0; !s && before && i < above->count; i++)
        if (before[i]) above->seen[i] = before[i]; /* else it begins a document */
    hd_mem_free(before);
    swap(&q->rank, &q->next);
    return s;
}

/* The start token is seen, but never as a next one. */
static void hide_start(hd_ngram *m)
{
    hd_ngram_level *l = &m->level[1];
    for (size_t i = 0; i < l->count; i++)
        if (l->token[i] == (uint32_t)m->opt.start) l->seen[i] = 0;
}

hd_status hd_ngram_finish(hd_ngram *m, hd_err *err)
{
    sorting q;
    if (m->finished) return HD_OK;
    hd_status s = sorting_init(&q, m, err);
    if (!s) s = hd_ngram_level_new(&m->level[0], 1, false, err);
    for (int length = 1; !s && length <= m->opt.order; length++) s = add_level(m, &q, length, err);
    sorting_release(&q); /* before the totals are allocated: here memory is at its peak */
    if (!s) hide_start(m);
    if (!s) s = hd_ngram_settle(m, err);
    if (s) {
        drop_levels(m);
        return s;
    }
    hd_mem_free(m->text);
    m->text = NULL;
    m->used = m->room = 0;
    m->finished = true;
    return HD_OK;
}
