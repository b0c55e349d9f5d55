/* Ids of byte-pair encoding to text. Easy to get wrong: bytes of characters without a piece are text only if
   all of them, side by side, are UTF-8; otherwise each of them is one U+FFFD. */
#include <string.h>

#include "text/character.h"
#include "text/published/bpe/bpe.h"
#include "text/published/bpe/byte_level.h"

static const char BROKEN[] = "\xef\xbf\xbd", BLANK[] = "\xe2\x96\x81";

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

/* -- characters -- */

/* The byte that a piece "<0x41>" stands for; -1. */
static int byte_of(const char *piece)
{
    static const char digits[] = "0123456789ABCDEF";
    if (strlen(piece) != 6 || memcmp(piece, "<0x", 3) || piece[5] != '>') return -1;
    const char *high = strchr(digits, piece[3]), *low = strchr(digits, piece[4]);
    return high && low ? (int)(high - digits) << 4 | (int)(low - digits) : -1;
}

static void add_run(hd_text *to, hd_text *run)
{
    bool good = run->size && hd_utf8_good(run->data, run->size) == run->size;
    if (good) hd_text_add(to, run->data, run->size);
    for (size_t i = 0; !good && i < run->size; i++) hd_text_put(to, BROKEN);
    run->size = 0;
}

static void add_text(hd_text *to, const char *piece, bool blanks)
{
    for (const char *blank; blanks && (blank = strstr(piece, BLANK)); piece = blank + strlen(BLANK)) {
        hd_text_add(to, piece, (size_t)(blank - piece));
        hd_text_put(to, " ");
    }
    hd_text_put(to, piece);
}

static hd_status decode_characters(const hd_bpe *b, const int32_t *ids, size_t count, hd_text *to,
                                   hd_err *err)
{
    hd_text run = {0}; /* bytes side by side */
    for (size_t i = 0; i < count; i++) {
        const bool known = ids[i] >= 0 && (size_t)ids[i] < b->vocab.count;
        if (known && b->hidden[ids[i]]) continue;
        const char *piece = known ? hd_vocab_piece(&b->vocab, ids[i]) : BROKEN;
        const int byte = b->fallback ? byte_of(piece) : -1;
        const char c = (char)byte;
        if (byte >= 0) {
            hd_text_add(&run, &c, 1);
            continue;
        }
        add_run(to, &run);
        add_text(to, piece, b->blanks);
    }
    add_run(to, &run);
    hd_status s = hd_text_status(&run, err);
    hd_text_release(&run);
    return s;
}

hd_status hd_bpe_decode(const hd_tokenizer *t, const int32_t *ids, size_t count, hd_text *out, hd_err *err)
{
    const hd_bpe *b = t->state;
    hd_text bytes = {0};
    hd_status s = HD_OK;
    size_t skipped = 0;
    if (b->characters) s = decode_characters(b, ids, count, &bytes, err);
    for (size_t i = 0; !b->characters && i < count; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= t->size)
            hd_text_put(&bytes, BROKEN);
        else if (!b->hidden[ids[i]])
            add_bytes(&bytes, hd_vocab_piece(&b->vocab, ids[i]));
    }
    if (!s) s = hd_text_status(&bytes, err);
    while (skipped < b->stripped && skipped < bytes.size && bytes.data[skipped] == ' ') skipped++;
    if (!s && bytes.size) hd_text_add_lossy(out, bytes.data + skipped, bytes.size - skipped);
    hd_text_release(&bytes);
    return s ? s : hd_text_status(out, err);
}
