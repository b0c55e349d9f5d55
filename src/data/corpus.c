/* A corpus in ids. */
#include "data/corpus.h"

#include <string.h>

#include "base/mem.h"

void hd_corpus_release(hd_corpus *c)
{
    for (int i = 0; i < 2; i++) {
        hd_mem_free(c->side[i].id);
        hd_mem_free(c->side[i].begin);
    }
    *c = (hd_corpus){0};
}

static hd_status reserve(hd_corpus *c, int side, size_t more, hd_err *err)
{
    if (c->count + 1 >= c->places) { /* one more than sentences: where the last ends */
        size_t places = c->places;
        for (int i = 0; i < c->sides; i++) {
            places = c->places;
            hd_status s =
                hd_mem_reserve(&c->side[i].begin, &places, c->count + 2, sizeof *c->side[i].begin, err);
            if (s) return s;
            if (!c->places) c->side[i].begin[0] = 0;
        }
        c->places = places;
    }
    size_t need = c->side[side].begin[c->count] + more;
    return hd_mem_reserve(&c->side[side].id, &c->side[side].room, need, sizeof *c->side[side].id, err);
}

/* Any change of an id, a length or the order changes it; splitmix64's multipliers spread the bits. */
static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 29;
}

uint64_t hd_corpus_hash(uint64_t hash, const int32_t *ids, size_t len)
{
    hash = mix(hash, len);
    for (size_t i = 0; i < len; i++) hash = mix(hash, (uint32_t)ids[i]);
    return hash;
}

static hd_status add(void *context, const int32_t *const ids[2], const size_t len[2], hd_err *err)
{
    hd_corpus *c = context;
    if (c->count == INT32_MAX) return hd_err_set(err, HD_ELIMIT, "more than %d sentences", INT32_MAX);
    for (int side = 0; side < c->sides; side++) {
        hd_status s = reserve(c, side, len[side], err);
        if (s) return s;
        size_t begin = c->side[side].begin[c->count];
        memcpy(c->side[side].id + begin, ids[side], len[side] * sizeof **ids);
        c->side[side].begin[c->count + 1] = begin + len[side];
        c->hash = hd_corpus_hash(c->hash, ids[side], len[side]);
    }
    c->count++;
    return HD_OK;
}

/* Takes sentence i of the block, leaves it out or refuses it. */
static hd_status judge(hd_ids_sink to, const hd_ids_encoder *e, size_t i, const hd_corpus_opt *opt,
                       hd_report *r, hd_err *err)
{
    const hd_sentences *from = e->from;
    const int32_t *ids[2] = {0};
    size_t len[2] = {0}, first = 0;
    for (int side = 0; side < from->sides; side++) {
        size_t line;
        const char *file = hd_sentences_file(from, side, from->line[e->first + i], &line);
        ids[side] = hd_ids_encoder_at(e, i, side, &len[side]);
        if (!side) first = len[0];
        if (!len[side]) {
            if (opt->empty == HD_POLICY_ERROR)
                return hd_err_set(err, HD_EFORMAT,
                                  "%s:%zu: the line has no tokens (remove it, or skip empty lines)", file,
                                  line);
            hd_report_note(r, HD_FAULT_empty, file, line, false);
            return HD_OK;
        }
        if (!opt->longest || len[side] <= opt->longest) continue;
        if (opt->too_long == HD_POLICY_ERROR)
            return hd_err_set(err, HD_ELIMIT,
                              "%s:%zu: %zu tokens, %zu are allowed (skip or cut long lines, or allow longer)",
                              file, line, len[side], opt->longest);
        bool cut = opt->too_long == HD_POLICY_CUT, counted = side && first > opt->longest;
        if (!counted) hd_report_note(r, HD_FAULT_too_long, file, line, cut);
        if (!cut) return HD_OK;
        len[side] = opt->longest;
    }
    r->kept++;
    return to.put(to.context, ids, len, err);
}

hd_status hd_corpus_encode(hd_ids_sink to, const hd_sentences *from, hd_ids_encoder *encoder,
                           const hd_corpus_opt *opt, hd_report *report, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t first = 0; !s && first < from->count; first += HD_IDS_ENCODER_BLOCK) {
        size_t left = from->count - first, block = left < HD_IDS_ENCODER_BLOCK ? left : HD_IDS_ENCODER_BLOCK;
        s = hd_ids_encoder_run(encoder, from, first, block, err);
        for (size_t i = 0; !s && i < block; i++) s = judge(to, encoder, i, opt, report, err);
    }
    report->lines += from->count;
    return s;
}

hd_status hd_corpus_make(hd_corpus *out, const hd_sentences *from, const hd_tokenizer *const tokenizer[2],
                         const hd_corpus_opt *opt, hd_report *report, hd_err *err)
{
    hd_corpus c = {.sides = from->sides};
    hd_report r = {0};
    hd_ids_encoder encoder;
    hd_status s = hd_ids_encoder_init(&encoder, tokenizer, opt->team, err);
    if (!s) s = hd_corpus_encode((hd_ids_sink){add, &c}, from, &encoder, opt, &r, err);
    hd_ids_encoder_release(&encoder);
    if (!s) hd_report_say(&r, opt->log);
    if (!s && !c.count)
        s = hd_err_set(err, HD_EFORMAT, "%s: none of its %zu lines can be used",
                       hd_sentences_file(from, 0, 1, &(size_t){0}), from->count);
    if (s) {
        hd_corpus_release(&c);
        return s;
    }
    *out = c;
    if (report) *report = r;
    return HD_OK;
}
