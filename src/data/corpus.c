/* A corpus in ids. A team encodes a block of sentences, each worker into a list of its own; the caller then
   gathers them in order, so the result does not depend on who did what. */
#include "data/corpus.h"

#include <string.h>

#include "base/mem.h"

enum { BLOCK = 1 << 14, GRAIN = 64 };

void hd_corpus_release(hd_corpus *c)
{
    for (int i = 0; i < 2; i++) {
        hd_mem_free(c->side[i].id);
        hd_mem_free(c->side[i].begin);
    }
    *c = (hd_corpus){0};
}

/* Where the ids of a sentence of the block are. */
struct found {
    int worker;
    size_t at[2], len[2];
};

struct worker {
    hd_ids ids[2];
    hd_err err;
};

struct work {
    const hd_sentences *from;
    const hd_tokenizer *const *tokenizer;
    size_t first; /* sentence of the block */
    struct found *found;
    struct worker *worker;
    int workers;
};

static void encode_part(void *arg, size_t begin, size_t end, int worker)
{
    struct work *work = arg;
    struct worker *w = &work->worker[worker];
    for (size_t i = begin; i < end && !w->err.status; i++) {
        struct found *f = &work->found[i];
        f->worker = worker;
        for (int side = 0; side < work->from->sides; side++) {
            hd_line text = hd_sentence(work->from, side, work->first + i);
            f->at[side] = w->ids[side].count;
            if (hd_tokenizer_encode_ids(work->tokenizer[side], text.text, text.size, &w->ids[side], &w->err))
                break;
            f->len[side] = w->ids[side].count - f->at[side];
        }
    }
}

static hd_status encode_block(struct work *work, size_t count, hd_team *team, hd_err *err)
{
    for (int i = 0; i < work->workers; i++) work->worker[i].ids[0].count = work->worker[i].ids[1].count = 0;
    if (team)
        hd_team_run(team, count, GRAIN, encode_part, work);
    else
        encode_part(work, 0, count, 0);
    for (int i = 0; i < work->workers; i++) {
        const hd_err *e = &work->worker[i].err;
        if (e->status) return hd_err_set(err, e->status, "%s", e->text);
    }
    return HD_OK;
}

static hd_status work_init(struct work *work, const hd_team *team, hd_err *err)
{
    work->workers = team ? hd_team_size(team) : 1;
    work->found = hd_mem_array(BLOCK, sizeof *work->found);
    work->worker = work->found ? hd_mem_array((size_t)work->workers, sizeof *work->worker) : NULL;
    return work->worker ? HD_OK : hd_err_nomem(err, BLOCK * sizeof *work->found);
}

static void work_release(struct work *work)
{
    for (int i = 0; work->worker && i < work->workers; i++)
        for (int side = 0; side < 2; side++) hd_ids_release(&work->worker[i].ids[side]);
    hd_mem_free(work->worker);
    hd_mem_free(work->found);
}

static hd_status reserve(hd_corpus *c, int side, size_t more, hd_err *err)
{
    if (c->count + 1 >= c->places) { /* one more than sentences: where the last ends */
        size_t places = c->places ? 2 * c->places : BLOCK;
        for (int i = 0; i < c->sides; i++) {
            size_t *begin = hd_mem_grow(c->side[i].begin, places * sizeof *begin);
            if (!begin) return hd_err_nomem(err, places * sizeof *begin);
            if (!c->places) *begin = 0;
            c->side[i].begin = begin;
        }
        c->places = places;
    }
    size_t used = c->side[side].begin[c->count], room = c->side[side].room;
    if (more <= room - used) return HD_OK;
    room = 2 * room > used + more ? 2 * room : used + more + BLOCK;
    int32_t *id = hd_mem_grow(c->side[side].id, room * sizeof *id);
    if (!id) return hd_err_nomem(err, room * sizeof *id);
    c->side[side].id = id;
    c->side[side].room = room;
    return HD_OK;
}

/* Any change of an id, a length or the order changes it; splitmix64's multipliers spread the bits. */
static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 29;
}

static hd_status add(hd_corpus *c, const struct work *work, const struct found *f, const size_t len[2],
                     hd_err *err)
{
    if (c->count == INT32_MAX) return hd_err_set(err, HD_ELIMIT, "more than %d sentences", INT32_MAX);
    for (int side = 0; side < c->sides; side++) {
        hd_status s = reserve(c, side, len[side], err);
        if (s) return s;
        size_t begin = c->side[side].begin[c->count];
        const int32_t *ids = work->worker[f->worker].ids[side].at + f->at[side];
        memcpy(c->side[side].id + begin, ids, len[side] * sizeof *ids);
        c->side[side].begin[c->count + 1] = begin + len[side];
        c->hash = mix(c->hash, len[side]);
        for (size_t i = 0; i < len[side]; i++) c->hash = mix(c->hash, (uint32_t)ids[i]);
    }
    c->count++;
    return HD_OK;
}

/* Takes sentence i, encoded, leaves it out or refuses it. */
static hd_status judge(hd_corpus *c, const struct work *work, size_t i, const hd_corpus_opt *opt,
                       hd_report *r, hd_err *err)
{
    const hd_sentences *from = work->from;
    const struct found *f = &work->found[i - work->first];
    size_t len[2] = {f->len[0], f->len[1]};
    for (int side = 0; side < c->sides; side++) {
        const char *file = from->file[from->file[1] ? side : 0];
        if (!len[side]) {
            if (opt->empty == HD_POLICY_ERROR)
                return hd_err_set(err, HD_EFORMAT,
                                  "%s:%u: the line has no tokens (remove it, or skip empty lines)", file,
                                  from->line[i]);
            hd_report_note(r, HD_FAULT_empty, file, from->line[i], false);
            return HD_OK;
        }
        if (!opt->longest || len[side] <= opt->longest) continue;
        if (opt->too_long == HD_POLICY_ERROR)
            return hd_err_set(err, HD_ELIMIT,
                              "%s:%u: %zu tokens, %zu are allowed (skip or cut long lines, or allow longer)",
                              file, from->line[i], len[side], opt->longest);
        bool cut = opt->too_long == HD_POLICY_CUT, counted = side && f->len[0] > opt->longest;
        if (!counted) hd_report_note(r, HD_FAULT_too_long, file, from->line[i], cut);
        if (!cut) return HD_OK;
        len[side] = opt->longest;
    }
    return add(c, work, f, len, err);
}

static hd_status make(hd_corpus *c, struct work *work, const hd_corpus_opt *opt, hd_report *r, hd_err *err)
{
    const size_t count = work->from->count;
    hd_status s = HD_OK;
    for (; !s && work->first < count; work->first += BLOCK) {
        size_t block = count - work->first < BLOCK ? count - work->first : BLOCK;
        s = encode_block(work, block, opt->team, err);
        for (size_t i = 0; !s && i < block; i++) s = judge(c, work, work->first + i, opt, r, err);
    }
    r->lines = count;
    r->kept = c->count;
    if (s) return s;
    hd_report_say(r, opt->log);
    return c->count ? HD_OK
                    : hd_err_set(err, HD_EFORMAT, "%s: none of its %zu lines can be used",
                                 work->from->file[0], count);
}

hd_status hd_corpus_make(hd_corpus *out, const hd_sentences *from, const hd_tokenizer *const tokenizer[2],
                         const hd_corpus_opt *opt, hd_report *report, hd_err *err)
{
    hd_corpus c = {.sides = from->sides};
    hd_report r = {0};
    struct work work = {.from = from, .tokenizer = tokenizer};
    hd_status s = work_init(&work, opt->team, err);
    if (!s) s = make(&c, &work, opt, &r, err);
    work_release(&work);
    if (s) {
        hd_corpus_release(&c);
        return s;
    }
    *out = c;
    if (report) *report = r;
    return HD_OK;
}
