/* The tokenizer `bpe`: byte-level byte-pair encoding as GPT-2 has it. A text is cut into words, a word
   into bytes, and bytes are merged; so every text has pieces, and none is unknown. */
#include "text/published/bpe.h"

#include <string.h>

#include "base/mem.h"
#include "text/published/byte_level.h"
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
    hd_vocab_release(&b->vocab);
    hd_file_set_release(&b->files);
    hd_mem_free(b);
}

/* -- encoding -- */

typedef struct walk {
    const hd_bpe *bpe;
    hd_piece_sink to;
    hd_err *err;
    hd_ids ids;
    hd_merge_room room;
    hd_text prefixed; /* a span of the text with a space in front */
    size_t begin;     /* of the span in the text */
    size_t shift;     /* 1: it has a space in front that is not in the text */
    size_t first;     /* bytes of its first character, which that space is counted as */
    bool any;         /* a piece was emitted */
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

/* The pieces of a word at byte `at` of the span. An added space in front of it counts as its first
   character. */
static hd_status put_ids(walk *w, const int32_t *id, size_t count, size_t at)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < count; i++) {
        size_t end = at + w->bpe->width[id[i]], begin = w->begin;
        if (at || !w->shift)
            s = put_piece(w, id[i], begin + at - w->shift, begin + end - w->shift, 1);
        else
            s = put_piece(w, id[i], begin, begin + (end > 1 ? end - 1 : w->first), w->first);
        at = end;
    }
    return s;
}

static hd_status put_word(walk *w, const char *word, size_t size, size_t at)
{
    int32_t known[HD_CACHED_IDS];
    size_t count = hd_word_cache_get(w->bpe->cache, word, size, known);
    if (count) return put_ids(w, known, count, at);
    w->ids.count = 0;
    hd_status s = hd_ids_reserve(&w->ids, size, w->err);
    if (s) return s;
    for (size_t i = 0; i < size; i++) w->ids.at[i] = w->bpe->byte[(uint8_t)word[i]];
    count = size;
    s = hd_merges_apply(&w->bpe->merges, w->ids.at, &count, &w->room, w->err);
    if (s) return s;
    hd_word_cache_put(w->bpe->cache, word, size, w->ids.at, count);
    return put_ids(w, w->ids.at, count, at);
}

static hd_status put_stretch(walk *w, const char *text, size_t size)
{
    int32_t point;
    w->first = hd_character(text, size, &point);
    w->shift = w->bpe->prefix && *text != ' ';
    hd_status s = HD_OK;
    if (w->shift) {
        w->prefixed.size = 0;
        hd_text_put(&w->prefixed, " ");
        hd_text_add(&w->prefixed, text, size);
        s = hd_text_status(&w->prefixed, w->err);
        text = w->prefixed.data, size++;
    }
    for (size_t at = 0, word; !s && at < size; at += word) {
        word = hd_byte_level_word(text + at, size - at);
        s = put_word(w, text + at, word, at);
    }
    return s;
}

/* The text between two added tokens. */
static hd_status put_between(walk *w, const char *text, size_t from, size_t end)
{
    hd_status s = HD_OK;
    hd_stretch part;
    for (size_t at = 0;
         !s && hd_added_next(&w->bpe->added, HD_ADDED_NORMAL, text + from, end - from, &at, &part);) {
        part.begin += from, part.end += from;
        w->begin = part.begin;
        s = part.token ? put_token(w, &part, text) : put_stretch(w, text + part.begin, part.end - part.begin);
    }
    return s;
}

static hd_status encode(const hd_tokenizer *t, const char *text, size_t size, hd_piece_sink to, hd_err *err)
{
    const hd_bpe *b = t->state;
    walk w = {.bpe = b, .to = to, .err = err};
    hd_status s = HD_OK;
    hd_stretch part;
    for (size_t at = 0; !s && hd_added_next(&b->added, HD_ADDED_RAW, text, size, &at, &part);)
        s = part.token ? put_token(&w, &part, text) : put_between(&w, text, part.begin, part.end);
    hd_ids_release(&w.ids);
    hd_merge_room_release(&w.room);
    hd_text_release(&w.prefixed);
    return s;
}

/* -- decoding -- */

/* The bytes of a piece; one with a character that stands for no byte is taken literally. */
static void add_bytes(hd_text *to, const char *piece)
{
    size_t size = strlen(piece), before = to->size;
    int32_t point;
    for (size_t i = 0; i < size;) {
        i += hd_character(piece + i, size - i, &point);
        const int byte = hd_character_byte(point);
        const char c = (char)byte;
        if (byte < 0) {
            to->size = before;
            hd_text_add(to, piece, size);
            return;
        }
        hd_text_add(to, &c, 1);
    }
}

static hd_status decode(const hd_tokenizer *t, const int32_t *ids, size_t count, hd_text *out, hd_err *err)
{
    const hd_bpe *b = t->state;
    hd_text bytes = {0};
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= t->size)
            hd_text_put(&bytes, "\xef\xbf\xbd");
        else if (!hd_added_special(&b->added, ids[i]))
            add_bytes(&bytes, hd_vocab_piece(&b->vocab, ids[i]));
    }
    hd_status s = hd_text_status(&bytes, err);
    if (!s && bytes.size) hd_text_add_lossy(out, bytes.data, bytes.size);
    hd_text_release(&bytes);
    return s ? s : hd_text_status(out, err);
}

const hd_tokenizer_type hd_tokenizer_bpe = {
    .file = {"source.vocab.json", "target.vocab.json", HD_BPE_VOCAB},
    .keeps_lines = true,
    .open = open_files,
    .save = hd_bpe_save,
    .release = release,
    .encode = encode,
    .decode = decode,
};
