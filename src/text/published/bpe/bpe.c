/* The tokenizer `bpe`: byte-pair encoding. Byte-level as GPT-2, Llama 3 and Qwen have it: a text is cut into
   words, a word into bytes, and bytes are merged; so every text has pieces, and none is unknown. Or of
   characters, as Llama 2, Mistral and Gemma have it: those without a piece become their bytes. */
#include "text/published/bpe/bpe.h"

#include <string.h>

#include "base/mem.h"
#include "text/published/bpe/byte_level.h"
#include "text/character.h"

static hd_status open_files(hd_tokenizer *t, const char *path, hd_err *err)
{
    hd_bpe *b = t->state = hd_mem_zero(sizeof *b);
    if (!b) return hd_err_nomem(err, sizeof *b);
    t->vocab = &b->vocab;
    hd_status s = hd_bpe_read(t, path, err);
    return s ? s : hd_word_cache_new(&b->cache, err);
}

static void release(hd_tokenizer *t)
{
    hd_bpe *b = t->state;
    if (!b) return;
    hd_word_cache_free(b->cache);
    hd_added_release(&b->added);
    hd_merges_release(&b->merges);
    hd_mem_free(b->width);
    hd_mem_free(b->hidden);
    hd_vocab_release(&b->vocab);
    hd_file_set_release(&b->files);
    hd_mem_free(b);
}

/* -- encoding -- */

typedef struct walk {
    const hd_bpe *bpe;
    hd_piece_sink to;
    hd_err *err;
    hd_typed typed;
    hd_ids ids;
    hd_ids lost; /* bytes of what became the unknown piece, one after the other */
    hd_merge_room room;
    hd_normalized normal;
    hd_text spelled;      /* a word as its piece is written */
    hd_text prefixed;     /* a span of the text with a space in front */
    const uint32_t *from; /* where the bytes of the span come from; NULL: it is as it was */
    size_t size;          /* of the span */
    size_t begin;         /* of the span in the text */
    size_t shift;         /* 1: it has a space in front that is not in the text */
    size_t first;         /* bytes of its first character, which that space is counted as */
    bool any;             /* a piece was emitted */
} walk;

/* Spaces at one end of a piece. */
static size_t spaces_of(const char *piece, bool trailing)
{
    static const char space[] = "\xc4\xa0"; /* U+0120, which stands for the byte 0x20 */
    size_t size = strlen(piece), n = 0;
    for (; size >= 2 && !memcmp(trailing ? piece + size - 2 : piece, space, 2); size -= 2, n++)
        if (!trailing) piece += 2;
    return n;
}

/* Removes the spaces from its offsets; each is `wide` bytes of the text. */
static void trim(const walk *w, hd_piece *p, size_t wide)
{
    const char *piece = hd_vocab_piece(&w->bpe->vocab, p->id);
    size_t leading = spaces_of(piece, false), trailing = spaces_of(piece, true);
    if (leading == 1 && w->bpe->prefixed && (!w->any || !p->begin)) leading = 0; /* more were not added */
    p->begin += (uint32_t)(leading * wide);
    if (p->end >= trailing * wide) p->end -= (uint32_t)(trailing * wide);
    if (p->end < p->begin) p->end = p->begin;
}

static hd_status put(walk *w, hd_piece p)
{
    w->any = true;
    return w->to.put(w->to.context, p) ? HD_OK : hd_err_nomem(w->err, sizeof p);
}

static hd_status put_piece(walk *w, int32_t id, size_t begin, size_t end, size_t wide)
{
    hd_piece p = {.id = id, .begin = (uint32_t)begin, .end = (uint32_t)end};
    if (w->bpe->trim) trim(w, &p, wide);
    return put(w, p);
}

/* An added token; the spaces it took with it are trimmed like those of a piece. */
static hd_status put_token(walk *w, const hd_stretch *part, const char *text)
{
    const hd_added_token *t = part->token;
    hd_piece p = {.id = t->id, .begin = (uint32_t)part->begin, .end = (uint32_t)part->end};
    size_t spaces = 0;
    int32_t point;
    for (size_t at = part->begin; w->bpe->trim && at < part->end; spaces++) {
        at += hd_character(text + at, part->end - at, &point);
        if (!hd_is_space(point)) break;
        p.begin = (uint32_t)at;
    }
    if (spaces == 1 && w->bpe->prefixed && (!w->any || !part->begin)) p.begin = (uint32_t)part->begin;
    for (size_t at = p.begin; w->bpe->trim && at < part->end;) {
        at += hd_character(text + at, part->end - at, &point);
        if (!hd_is_space(point)) p.end = (uint32_t)at;
    }
    return put(w, p);
}

/* Where in the text byte `at` of the span comes from. */
static size_t place(const walk *w, size_t at)
{
    if (at > w->size) at = w->size;
    return w->begin + (w->from ? w->from[at] : at);
}

/* The pieces of a word at byte `at` of the span. An added space in front of it counts as its first
   character. */
static hd_status put_ids(walk *w, const int32_t *id, size_t count, size_t at)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < count; i++) {
        size_t end = at + w->bpe->width[id[i]], begin = w->begin;
        if (end > w->size) end = w->size;
        if (w->from)
            s = put_piece(w, id[i], place(w, at), place(w, end), 1);
        else if (at || !w->shift)
            s = put_piece(w, id[i], begin + at - w->shift, begin + end - w->shift, 1);
        else
            s = put_piece(w, id[i], begin, begin + (end > 1 ? end - 1 : w->first), w->first);
        at = end;
    }
    return s;
}

/* The same for pieces of characters. Of the bytes of one without a piece the last has its place, the others
   are empty. */
static hd_status put_character_ids(walk *w, const int32_t *id, size_t count, const char *word, size_t size,
                                   size_t at)
{
    const hd_bpe *b = w->bpe;
    hd_status s = HD_OK;
    size_t unknown = 0, used = 0, first = 0;
    for (size_t i = 0; !s && i < count && used < size; i++) {
        bool byte = b->fallback && id[i] == b->byte[(uint8_t)word[used]];
        size_t end = used + (byte                                             ? 1
                             : id[i] == b->unknown && unknown < w->lost.count ? (size_t)w->lost.at[unknown++]
                                                                              : b->width[id[i]]);
        bool inside = byte && end < size && ((uint8_t)word[end] & 0xc0) == 0x80;
        s = put_piece(w, id[i], place(w, at + first), place(w, at + (inside ? first : end)), 1);
        used = end;
        if (!inside) first = used;
    }
    return s;
}

/* -- words -- */

static hd_status add_id(walk *w, int32_t id)
{
    return hd_ids_add(&w->ids, id, w->err);
}

/* A character without a piece: its bytes, or the unknown piece. */
static hd_status add_unknown(walk *w, const char *text, size_t wide, bool follows)
{
    const hd_bpe *b = w->bpe;
    bool bytes = b->fallback;
    hd_status s = HD_OK;
    for (size_t i = 0; bytes && i < wide; i++) bytes = b->byte[(uint8_t)text[i]] >= 0;
    for (size_t i = 0; bytes && !s && i < wide; i++) s = add_id(w, b->byte[(uint8_t)text[i]]);
    if (s || bytes) return s;
    if (b->fused && follows) return w->lost.at[w->lost.count - 1] += (int32_t)wide, HD_OK;
    s = add_id(w, b->unknown);
    return s ? s : hd_ids_add(&w->lost, (int32_t)wide, w->err);
}

static int32_t piece_of(const hd_bpe *b, const char *text, size_t size)
{
    int32_t id = hd_vocab_find(&b->vocab, text, size);
    return id >= 0 && b->vocab.seen[id] ? id : -1;
}

static hd_status add_characters(walk *w, const char *word, size_t size)
{
    hd_status s = HD_OK;
    int32_t point;
    size_t lost = 0;
    bool follows = false; /* the character before is unknown */
    for (size_t at = 0, wide; !s && at < size; at += wide) {
        wide = hd_character(word + at, size - at, &point);
        int32_t id = point < 0 ? -1 : point < 128 ? w->bpe->ascii[point] : piece_of(w->bpe, word + at, wide);
        s = id >= 0 ? add_id(w, id) : add_unknown(w, word + at, wide, follows);
        follows = w->lost.count > lost || (follows && id < 0);
        lost = w->lost.count;
    }
    return s;
}

/* A byte without a piece is the unknown one, or gets lost. */
static hd_status add_bytes_of(walk *w, const char *word, size_t size)
{
    const hd_bpe *b = w->bpe;
    hd_status s = hd_ids_reserve(&w->ids, size, w->err);
    for (size_t i = 0; !s && i < size; i++) {
        int32_t id = b->byte[(uint8_t)word[i]];
        if (id < 0) id = b->unknown;
        if (id >= 0) w->ids.at[w->ids.count++] = id;
    }
    return s;
}

/* The id of a word that is a piece; -1. */
static int32_t whole_word(walk *w, const char *word, size_t size)
{
    if (w->bpe->characters) return piece_of(w->bpe, word, size);
    w->spelled.size = 0;
    for (size_t i = 0; i < size; i++) hd_byte_level_add(&w->spelled, (uint8_t)word[i]);
    return w->spelled.missed ? -1 : piece_of(w->bpe, w->spelled.data, w->spelled.size);
}

static hd_status cut_word(walk *w, const char *word, size_t size)
{
    w->ids.count = w->lost.count = 0;
    int32_t whole = w->bpe->whole ? whole_word(w, word, size) : -1;
    if (whole >= 0) return add_id(w, whole);
    hd_status s = w->bpe->characters ? add_characters(w, word, size) : add_bytes_of(w, word, size);
    return s ? s : hd_merges_apply(&w->bpe->merges, w->ids.at, &w->ids.count, &w->room, w->err);
}

static hd_status put_word(walk *w, const char *word, size_t size, size_t at)
{
    int32_t known[HD_CACHED_IDS], *id = known;
    size_t count = hd_word_cache_get(w->bpe->cache, word, size, known);
    w->lost.count = 0;
    if (!count) {
        hd_status s = cut_word(w, word, size);
        if (s) return s;
        id = w->ids.at, count = w->ids.count;
        if (!w->lost.count) hd_word_cache_put(w->bpe->cache, word, size, id, count);
    }
    return w->bpe->characters ? put_character_ids(w, id, count, word, size, at) : put_ids(w, id, count, at);
}

/* -- texts -- */

static hd_status put_part(walk *w, int step, const char *text, size_t size, size_t at)
{
    if (step == w->bpe->cuts) return put_word(w, text, size, at);
    hd_status s = HD_OK;
    for (size_t i = 0, part; !s && i < size; i += part) {
        part = w->bpe->cut[step](text + i, size - i);
        s = put_part(w, step + 1, text + i, part, at + i);
    }
    return s;
}

static hd_status prefix(walk *w, const char **text, size_t *size)
{
    int32_t point;
    w->first = hd_character(*text, *size, &point);
    w->shift = w->bpe->prefix && **text != ' ';
    if (!w->shift) return HD_OK;
    w->prefixed.size = 0;
    hd_text_put(&w->prefixed, " ");
    hd_text_add(&w->prefixed, *text, *size);
    *text = w->prefixed.data, *size += 1;
    return hd_text_status(&w->prefixed, w->err);
}

/* lead: a token of the raw text is in front of it, or nothing. */
static hd_status put_stretch(walk *w, const char *text, size_t size, bool lead)
{
    const bool changed = w->bpe->normal.count;
    hd_status s = HD_OK;
    w->shift = 0, w->from = NULL;
    if (changed) {
        s = hd_normal_apply(&w->bpe->normal, text, size, !w->begin, lead, &w->normal, w->err);
        text = w->normal.text.data, size = w->normal.text.size;
        w->from = w->normal.from;
    } else
        s = prefix(w, &text, &size);
    w->size = size;
    return s || !size ? s : put_part(w, 0, text, size, 0);
}

/* The text between two added tokens. */
static hd_status put_between(walk *w, const char *text, size_t from, size_t end)
{
    hd_status s = HD_OK;
    hd_stretch part;
    w->typed.begin = from;
    for (size_t at = 0; !s && hd_added_next_typed(&w->bpe->added, HD_ADDED_NORMAL, &w->typed, text + from,
                                                  end - from, &at, &part);) {
        part.begin += from, part.end += from;
        w->begin = part.begin;
        s = part.token ? put_token(w, &part, text)
                       : put_stretch(w, text + part.begin, part.end - part.begin, part.begin == from);
    }
    w->typed.begin = 0;
    return s;
}

static hd_status encode_typed(const hd_tokenizer *t, const char *text, size_t size, const hd_byte_span *typed,
                              size_t spans, hd_piece_sink to, hd_err *err)
{
    const hd_bpe *b = t->state;
    walk w = {.bpe = b, .to = to, .err = err, .typed = {typed, spans, 0}};
    hd_status s = HD_OK;
    hd_stretch part;
    for (size_t at = 0; !s && hd_added_next_typed(&b->added, HD_ADDED_RAW, &w.typed, text, size, &at, &part);)
        s = part.token ? put_token(&w, &part, text) : put_between(&w, text, part.begin, part.end);
    hd_ids_release(&w.ids);
    hd_ids_release(&w.lost);
    hd_merge_room_release(&w.room);
    hd_normalized_release(&w.normal);
    hd_text_release(&w.spelled);
    hd_text_release(&w.prefixed);
    return s;
}

static hd_status encode(const hd_tokenizer *t, const char *text, size_t size, hd_piece_sink to, hd_err *err)
{
    return encode_typed(t, text, size, NULL, 0, to, err);
}

const hd_tokenizer_type hd_tokenizer_bpe = {
    .file = {"source.vocab.json", "target.vocab.json", HD_BPE_VOCAB},
    .keeps_lines = true,
    .writes_all = true,
    .open = open_files,
    .save = hd_bpe_save,
    .release = release,
    .encode = encode,
    .encode_typed = encode_typed,
    .decode = hd_bpe_decode,
};
