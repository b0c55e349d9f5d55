/* Lines as the model takes them. Easy to get wrong: what is cut must be cut between characters and, where
   there are some, between sentences or words. */
#include "task/translate/parts.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "text/splitter.h"

void hd_parts_release(hd_parts *p)
{
    hd_mem_free(p->at);
    hd_ids_release(&p->ids);
    hd_pieces_release(&p->pieces);
    hd_ids_release(&p->forced);
    *p = (hd_parts){0};
}

static hd_status add_part(hd_parts *p, hd_part part, hd_err *err)
{
    hd_status s = hd_mem_reserve(&p->at, &p->room, p->count + 1, sizeof *p->at, err);
    if (!s) p->at[p->count++] = part;
    return s;
}

/* -- where to cut -- */

/* How good a place it is to cut behind byte i: 2 after a mark, 1 at a space, 0 elsewhere. Marks count before
   a space or the end. */
static int cut_quality(hd_line l, size_t i)
{
    bool space_next = i + 1 >= l.size || l.text[i + 1] == ' ';
    if (space_next && strchr(".!?;:,)", l.text[i])) return 2;
    return l.text[i] == ' ' ? 1 : 0;
}

static bool is_boundary(hd_line l, size_t i) /* between two characters */
{
    return i >= l.size || ((unsigned char)l.text[i] & 0xc0) != 0x80;
}

/* Bytes of l up to the last end of a sentence among the first `most`; 0: there is none. */
static size_t last_sentence(hd_line l, size_t most)
{
    enum { AHEAD = 64 }; /* what follows a mark says whether it ends a sentence */
    hd_line seen = {l.text, l.size - most > AHEAD ? most + AHEAD : l.size}, sentence;
    hd_splitter s = hd_splitter_of(seen);
    size_t last = 0;
    while (hd_splitter_next(&s, &sentence)) {
        size_t end = (size_t)(sentence.text - l.text) + sentence.size;
        if (end > most || end >= seen.size) break;
        last = end;
    }
    return last;
}

/* Bytes of the first part of l when it may have at most `most`, fewer than all, which end with a character:
   up to the last end of a sentence, even if it is early, or else up to the last of the best places in the
   second half. */
static size_t cut_at(hd_line l, size_t most)
{
    size_t best = last_sentence(l, most);
    int quality = 0;
    if (best) return best;
    for (size_t i = most / 2; i < most; i++) {
        int q = cut_quality(l, i);
        if (q && q >= quality) quality = q, best = i + 1;
    }
    return best ? best : most;
}

/* -- parts -- */

/* A line and what its parts are made with. */
typedef struct intake {
    hd_parts *p;
    const hd_model_folder *model;
    const hd_translate_opt *opt;
    hd_translation *to;
    hd_line line;
    size_t number, most; /* tokens the model takes */
} intake;

/* Adds a part of the line: its bytes and pieces, whose places count from `text`. */
static hd_status add_ids(const intake *in, hd_line text, const hd_piece *piece, size_t count, hd_err *err)
{
    hd_parts *p = in->p;
    const hd_part *last = p->count ? &p->at[p->count - 1] : NULL;
    const size_t from = (size_t)(text.text - in->line.text);
    hd_part part = {.line = in->number,
                    .index = last && last->line == in->number ? last->index + 1 : 0,
                    .begin = p->ids.count,
                    .size = count + 1,
                    .bytes = {from, from + text.size}};
    hd_status s = hd_ids_reserve(&p->ids, count + 1, err);
    if (s) return s;
    for (size_t i = 0; i <= count; i++) {
        uint32_t end = (uint32_t)part.bytes.end;
        hd_piece x = {.id = hd_tokenizer_special(in->model->tokenizer[0]).end, .begin = end, .end = end};
        if (i < count) x = piece[i], x.begin += (uint32_t)from, x.end += (uint32_t)from;
        if (!hd_pieces_add(&p->pieces, x)) return hd_err_nomem(err, sizeof x);
        p->ids.at[p->ids.count++] = x.id;
    }
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
static hd_status next_part(const hd_tokenizer *t, hd_line l, size_t most, hd_pieces *piece, size_t *take,
                           hd_err *err)
{
    *take = window_of(l, most);
    if (*take < l.size) *take = cut_at(l, *take);
    for (;;) {
        piece->count = 0;
        hd_status s = hd_tokenizer_encode_again(t, l.text, *take, piece, err);
        if (s || piece->count <= most) return s;
        size_t fits = piece->at[most].begin;
        if (!fits) return piece->count = most, HD_OK; /* a character of more pieces than the model takes */
        *take = cut_at(l, fits);
    }
}

/* Splits a text of the line, at the ends of sentences where it can. */
static hd_status split(const intake *in, hd_line text, size_t most, hd_err *err)
{
    hd_pieces piece = {0};
    hd_status s = HD_OK;
    while (!s && text.size) {
        size_t take = 0;
        while (text.size && *text.text == ' ') text.text++, text.size--;
        s = next_part(in->model->tokenizer[0], text, most, &piece, &take, err);
        size_t bytes = take;
        while (bytes && text.text[bytes - 1] == ' ') bytes--;
        if (!s && piece.count) s = add_ids(in, (hd_line){text.text, bytes}, piece.at, piece.count, err);
        text.text += take, text.size -= take;
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
static size_t limit_of(const hd_part *part, const hd_model_folder *f, const hd_translate_opt *opt)
{
    const hd_search_opt *o = &opt->search;
    size_t limit = hd_model_folder_encdec(f)->opt.positions;
    if (opt->force) return limit;
    if (o->max_length && o->max_length < limit) limit = o->max_length;
    double relative =
        o->max_ratio > 0 ? floor(o->max_ratio * (double)part->size) + (double)o->max_extra : INFINITY;
    return relative < (double)limit ? (size_t)relative : limit;
}

/* Takes back all parts from number `count` on. */
static void drop(hd_parts *p, size_t count)
{
    if (p->count > count) p->ids.count = p->pieces.count = p->at[count].begin;
    p->count = count;
}

static hd_status add_prefix(hd_parts *p, const hd_model_folder *f, hd_line prefix,
                            const hd_translate_opt *opt, hd_translation *to, hd_err *err)
{
    hd_part *part = &p->at[p->count - 1];
    part->prefix = p->forced.count;
    hd_status s = hd_tokenizer_encode_ids(f->tokenizer[1], prefix.text, prefix.size, &p->forced, err);
    if (!s && opt->force) s = hd_ids_reserve(&p->forced, 1, err);
    if (!s && opt->force) p->forced.at[p->forced.count++] = hd_tokenizer_special(f->tokenizer[1]).end;
    part->prefixes = p->forced.count - part->prefix;
    if (!s && part->prefixes > limit_of(part, f, opt)) {
        p->forced.count = part->prefix;
        drop(p, p->count - 1);
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

/* A sentence, or the whole line; given: it has a prefix. */
static hd_status add_text(const intake *in, hd_line text, bool given, hd_err *err)
{
    const hd_translate_opt *opt = in->opt;
    const size_t most = in->most, trained = in->model->trained;
    hd_pieces piece = {0};
    hd_status s = hd_tokenizer_encode(in->model->tokenizer[0], text.text, text.size, &piece, err);
    bool too_long = piece.count > most, wordy = piece.count + 1 > trained && !given;
    if (!s && too_long && (opt->too_long == HD_LONG_SKIP || (given && opt->too_long == HD_LONG_SPLIT)))
        s = refuse(in->to, HD_ELIMIT, "longer than the model can take");
    else if (!s && opt->too_long == HD_LONG_SPLIT && (too_long || wordy))
        s = split(in, text, trained > 1 && trained - 1 < most ? trained - 1 : most, err);
    else if (!s && piece.count)
        s = add_ids(in, text, piece.at, too_long ? most : piece.count, err);
    in->to->cut = in->to->cut || (too_long && opt->too_long == HD_LONG_TRUNCATE);
    hd_pieces_release(&piece);
    return s;
}

static hd_status add_sentences(const intake *in, hd_err *err)
{
    hd_splitter splitter = hd_splitter_of(in->line);
    hd_status s = HD_OK;
    hd_line sentence;
    while (!s && !in->to->status && hd_splitter_next(&splitter, &sentence))
        s = add_text(in, sentence, false, err);
    return s;
}

/* Whether a line is split where its sentences end. */
static bool splits(const hd_model_folder *f, const hd_translate_opt *opt)
{
    bool instructed = hd_model_folder_encdec(f)->opt.names == &hd_encdec_t5;
    return opt->sentences == HD_SENTENCES_SPLIT || (opt->sentences == HD_SENTENCES_AUTO && !instructed);
}

hd_status hd_parts_add(hd_parts *p, const hd_model_folder *f, size_t number, hd_line line,
                       const hd_line *prefix, const hd_translate_opt *opt, hd_translation *to, hd_err *err)
{
    const size_t before = p->count;
    intake in = {p, f, opt, to, line, number, hd_model_folder_encdec(f)->opt.positions - 1};
    if (opt->longest && opt->longest < in.most) in.most = opt->longest;
    if (!is_text(line, prefix, opt->force, to)) return HD_OK;
    if (prefix && !prefix->text) prefix = NULL;
    hd_status s =
        !prefix && splits(f, opt) ? add_sentences(&in, err) : add_text(&in, line, prefix != NULL, err);
    if (to->status) drop(p, before), to->cut = false;
    if (!s && prefix && p->count > before) s = add_prefix(p, f, *prefix, opt, to, err);
    to->parts = p->count - before;
    return s;
}
