/* Names of tokens. */
#include "show/token.h"

#include <stdio.h>
#include <string.h>

#include "task/masked/masked.h"
#include "task/unknown.h"

/* The text with U+FFFD for every byte that is not UTF-8; zero bytes count as such. Returns its length; writes
   where `to` is not NULL. */
static size_t clean(char *to, const char *text, size_t size)
{
    static const char instead[] = "\xEF\xBF\xBD";
    size_t length = 0;
    while (size) {
        size_t zero = strnlen(text, size), good = hd_utf8_good(text, zero);
        if (to) memcpy(to + length, text, good);
        length += good, text += good, size -= good;
        if (!size) break;
        if (to) memcpy(to + length, instead, 3);
        length += 3, text++, size--;
    }
    return length;
}

const char *hd_shown_text(hd_arena *memory, hd_line text, hd_err *err)
{
    char *copy = hd_arena_array(memory, clean(NULL, text.text, text.size) + 1, 1, err);
    if (copy) clean(copy, text.text, text.size);
    return copy;
}

static const char *name_piece(hd_arena *memory, const hd_tokenizer *t, int32_t id, bool masks, hd_err *err)
{
    char number[16];
    const char *piece = !t ? NULL : masks ? hd_masked_piece(t, id) : hd_tokenizer_piece(t, id);
    if (!piece) snprintf(number, sizeof number, "%d", id), piece = number;
    return hd_shown_text(memory, (hd_line){piece, strlen(piece)}, err);
}

/* The word followed by the mark. */
static const char *name_marked(hd_arena *memory, const char *word, hd_err *err)
{
    size_t size = strlen(word);
    char *marked = hd_arena_array(memory, size + sizeof HD_UNKNOWN_MARK, 1, err);
    if (marked) memcpy(marked, word, size), memcpy(marked + size, HD_UNKNOWN_MARK, sizeof HD_UNKNOWN_MARK);
    return marked;
}

hd_status hd_shown_tokens(hd_shown_token *to, hd_arena *memory, const int32_t *ids, size_t count,
                          const hd_tokenizer *pieces, hd_line text, bool masks, hd_err *err)
{
    hd_line *word = hd_arena_array(memory, count, sizeof *word, err);
    if (!word) return HD_ENOMEM;
    hd_status s = hd_unknown_words(word, pieces, ids, count, text, masks, err);
    for (size_t i = 0; !s && i < count; i++) {
        to[i] = (hd_shown_token){.id = ids[i]};
        if (word[i].text) to[i].word = hd_shown_text(memory, word[i], err);
        if (to[i].word)
            to[i].piece = name_marked(memory, to[i].word, err);
        else if (!word[i].text)
            to[i].piece = name_piece(memory, pieces, ids[i], masks, err);
        if (!to[i].piece) s = HD_ENOMEM;
    }
    return s;
}

hd_status hd_shown_check(const char *of, const char *what, const int32_t *ids, size_t count, size_t vocab,
                         size_t positions, hd_err *err)
{
    if (!count) return hd_err_set(err, HD_EARG, "%sthe %s has no token", of, what);
    if (count > positions)
        return hd_err_set(err, HD_ELIMIT, "%sthe %s has %zu tokens, the model takes %zu", of, what, count,
                          positions);
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= vocab)
            return hd_err_set(err, HD_EARG, "%stoken %zu of the %s is %d, the vocabulary has %zu", of, i + 1,
                              what, ids[i], vocab);
    return HD_OK;
}

/* Bytes that two texts begin with alike, whole characters of them. */
static size_t alike(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t n = 0;
    while (n < a_size && n < b_size && a[n] == b[n]) n++;
    while (n && n < a_size && ((unsigned char)a[n] & 0xC0) == 0x80) n--;
    return n;
}

hd_status hd_shown_ends(size_t *end, hd_text *text, const hd_tokenizer *t, const int32_t *ids, size_t count,
                        hd_err *err)
{
    hd_text some = {0};
    const size_t from = text->size;
    size_t last = 0;
    hd_status s = hd_tokenizer_decode(t, ids, count, text, err);
    if (!s) s = hd_text_status(text, err);
    for (size_t i = 0; !s && i < count; i++) {
        some.size = 0;
        s = hd_tokenizer_decode(t, ids, i + 1, &some, err);
        size_t size = text->size - from, now = i + 1 == count ? size : 0;
        if (!s && i + 1 < count && some.size) now = alike(text->data + from, size, some.data, some.size);
        end[i] = last = now > last ? now : last;
    }
    if (!s) s = hd_text_status(&some, err);
    hd_text_release(&some);
    return s;
}
