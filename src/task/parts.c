/* Lines as the model takes them. Easy to get wrong: what is cut must be cut between characters and, where
   there are some, between sentences or words. */
#include "task/parts.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

void hd_parts_release(hd_parts *p)
{
    hd_mem_free(p->at);
    hd_ids_release(&p->ids);
    hd_ids_release(&p->forced);
    *p = (hd_parts){0};
}

static hd_status add_part(hd_parts *p, hd_part part, hd_err *err)
{
    if (p->count == p->room) {
        size_t room = p->room ? 2 * p->room : 256;
        hd_part *at = hd_mem_grow(p->at, room * sizeof *at);
        if (!at) return hd_err_nomem(err, room * sizeof *at);
        p->at = at, p->room = room;
    }
    p->at[p->count++] = part;
    return HD_OK;
}

/* -- where to cut -- */

/* How good a place it is to cut behind byte i: 3 after the end of a sentence, 2 after another mark, 1 at a
   space, 0 elsewhere. Marks count before a space or the end, so that "3.14" stays whole; those of Chinese and
   Japanese always count. */
static int cut_quality(hd_line l, size_t i)
{
    static const char *const full[] = {"\xe3\x80\x82", "\xef\xbc\x81", "\xef\xbc\x9f"}; /* 。！？ */
    bool space_next = i + 1 >= l.size || l.text[i + 1] == ' ';
    for (size_t k = 0; i >= 2 && k < sizeof full / sizeof *full; k++)
        if (!memcmp(l.text + i - 2, full[k], 3)) return 3;
    if (space_next && strchr(".!?", l.text[i])) return 3;
    if (space_next && strchr(";:,)", l.text[i])) return 2;
    return l.text[i] == ' ' ? 1 : 0;
}

static bool is_boundary(hd_line l, size_t i) /* between two characters */
{
    return i >= l.size || ((unsigned char)l.text[i] & 0xc0) != 0x80;
}

/* Bytes of the first part of l when it may have at most `most`, which end with a character: up to the last of
   the best places, where the end of a sentence counts even if it is early, lesser ones only in the second
   half. */
static size_t cut_at(hd_line l, size_t most)
{
    size_t best = 0;
    int quality = 0;
    for (size_t i = 0; i < most; i++) {
        int q = cut_quality(l, i);
        if (q < 3 && i < most / 2) continue;
        if (q && q >= quality) quality = q, best = i + 1;
    }
    return best ? best : most;
}

/* -- parts -- */

static hd_status add_ids(hd_parts *p, const hd_translator *t, size_t number, const hd_piece *piece,
                         size_t count, hd_err *err)
{
    const hd_part *last = p->count ? &p->at[p->count - 1] : NULL;
    hd_part part = {.line = number,
                    .index = last && last->line == number ? last->index + 1 : 0,
                    .begin = p->ids.count,
                    .size = count + 1};
    hd_status s = hd_ids_reserve(&p->ids, count + 1, err);
    if (s) return s;
    for (size_t i = 0; i < count; i++) p->ids.at[p->ids.count++] = piece[i].id;
    p->ids.at[p->ids.count++] = hd_tokeniser_special(t->tokeniser[0]).end;
    return add_part(p, part, err);
}

/* Bytes of l to look at for its next part: a piece has rarely more than 16, and a line of a megabyte is not
   to be looked at whole for each of its parts. */
static size_t window_of(hd_line l, size_t most)
{
    size_t window = 16 * (most + 1);
    if (window >= l.size) return l.size;
    while (!is_boundary(l, window)) window--;
    return window;
}

/* Pieces of the first part of l, at most `most`, and its bytes. A cut can change the pieces before it: it is
   moved back until they fit. */
static hd_status next_part(const hd_translator *t, hd_line l, size_t most, hd_pieces *piece, size_t *take,
                           hd_err *err)
{
    *take = window_of(l, most);
    if (*take < l.size) *take = cut_at(l, *take);
    for (;;) {
        piece->count = 0;
        hd_status s = hd_tokeniser_encode(t->tokeniser[0], l.text, *take, piece, err);
        if (s || piece->count <= most) return s;
        size_t fits = piece->at[most].begin;
        if (!fits) return piece->count = most, HD_OK; /* a character of more pieces than the model takes */
        *take = cut_at(l, fits);
    }
}

/* Splits a line, at the ends of sentences where it can. */
static hd_status split(hd_parts *p, const hd_translator *t, size_t number, hd_line line, size_t most,
                       hd_err *err)
{
    hd_pieces piece = {0};
    hd_status s = HD_OK;
    while (!s && line.size) {
        size_t take = 0;
        while (line.size && *line.text == ' ') line.text++, line.size--;
        s = next_part(t, line, most, &piece, &take, err);
        if (!s && piece.count) s = add_ids(p, t, number, piece.at, piece.count, err);
        line.text += take, line.size -= take;
    }
    hd_pieces_release(&piece);
    return s;
}

static hd_status refuse(hd_translation *to, hd_status s, const char *why)
{
    to->status = s, to->why = why;
    return HD_OK;
}

/* Most tokens a translation of the part may have, as the search will count them. */
static size_t limit_of(const hd_part *part, const hd_translator *t, const hd_translate_opt *opt)
{
    const hd_search_opt *o = &opt->search;
    size_t limit = t->model->opt.positions;
    if (opt->force) return limit;
    if (o->max_length && o->max_length < limit) limit = o->max_length;
    double relative =
        o->max_ratio > 0 ? floor(o->max_ratio * (double)part->size) + (double)o->max_extra : INFINITY;
    return relative < (double)limit ? (size_t)relative : limit;
}

static hd_status add_prefix(hd_parts *p, const hd_translator *t, hd_line prefix, const hd_translate_opt *opt,
                            hd_translation *to, hd_err *err)
{
    hd_part *part = &p->at[p->count - 1];
    part->prefix = p->forced.count;
    hd_status s = hd_tokeniser_encode_ids(t->tokeniser[1], prefix.text, prefix.size, &p->forced, err);
    if (!s && opt->force) s = hd_ids_reserve(&p->forced, 1, err);
    if (!s && opt->force) p->forced.at[p->forced.count++] = hd_tokeniser_special(t->tokeniser[1]).end;
    part->prefixes = p->forced.count - part->prefix;
    if (!s && part->prefixes > limit_of(part, t, opt)) {
        p->forced.count = part->prefix, p->ids.count = part->begin;
        p->count--;
        return refuse(to, HD_ELIMIT,
                      opt->force ? "the given translation is longer than the model can take"
                                 : "the given beginning is longer than a translation may become");
    }
    return s;
}

/* Whether line and prefix are texts at all; if not, *to says why. */
static bool is_text(hd_line line, const hd_line *prefix, bool force, hd_translation *to)
{
    const char *why = NULL;
    if (hd_utf8_good(line.text, line.size) < line.size)
        why = "not UTF-8";
    else if (memchr(line.text, 0, line.size))
        why = "holds a zero byte";
    else if (prefix && !prefix->text && force)
        why = "no tab: a source, a tab and its translation are expected";
    else if (prefix && prefix->text && hd_utf8_good(prefix->text, prefix->size) < prefix->size)
        why = "its given translation is not UTF-8";
    else if (prefix && prefix->text && memchr(prefix->text, 0, prefix->size))
        why = "its given translation holds a zero byte";
    if (why) refuse(to, HD_EFORMAT, why);
    return !why;
}

hd_status hd_parts_add(hd_parts *p, const hd_translator *t, size_t number, hd_line line,
                       const hd_line *prefix, const hd_translate_opt *opt, hd_translation *to, hd_err *err)
{
    size_t most = t->model->opt.positions - 1, before = p->count;
    hd_pieces piece = {0};
    if (opt->longest && opt->longest < most) most = opt->longest;
    if (!is_text(line, prefix, opt->force, to)) return HD_OK;
    if (prefix && !prefix->text) prefix = NULL;
    hd_status s = hd_tokeniser_encode(t->tokeniser[0], line.text, line.size, &piece, err);
    bool too_long = piece.count > most, wordy = piece.count + 1 > t->longest && !prefix;
    if (!s && too_long && (opt->too_long == HD_LONG_SKIP || (prefix && opt->too_long == HD_LONG_SPLIT)))
        s = refuse(to, HD_ELIMIT, "longer than the model can take");
    else if (!s && opt->too_long == HD_LONG_SPLIT && (too_long || wordy))
        s = split(p, t, number, line, t->longest > 1 && t->longest - 1 < most ? t->longest - 1 : most, err);
    else if (!s && piece.count)
        s = add_ids(p, t, number, piece.at, too_long ? most : piece.count, err);
    to->cut = too_long && opt->too_long == HD_LONG_TRUNCATE;
    if (!s && prefix && p->count > before) s = add_prefix(p, t, *prefix, opt, to, err);
    to->parts = p->count - before;
    hd_pieces_release(&piece);
    return s;
}
