/* Penn Treebank words. A mark inside a number or a name is a part of it ("3.5", "u.s.", "well-known"), one at
   its end is not. */
#include "metric/corpus/ptb.h"

#include <string.h>

typedef struct span {
    const uint32_t *at;
    size_t count;
} span;

static bool is_any(uint32_t c, const char *list)
{
    return c && c < 128 && strchr(list, (int)c);
}

/* What stands alone and is dropped: marks, quotes, round and curly brackets. */
static bool is_mark(uint32_t c)
{
    return is_any(c, ".,?!:;\"'`(){}-") || (c >= 0x2010 && c <= 0x201f) || c == 0x2026 || c == 0xab ||
           c == 0xbb;
}

/* What stands alone and is a word. */
static bool is_sign(uint32_t c)
{
    return is_any(c, "$#%&@*<>[]");
}

static bool is_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

static bool same(span s, const char *text)
{
    size_t i = 0;
    while (i < s.count && text[i] && s.at[i] == (uint8_t)text[i]) i++;
    return i == s.count && !text[i];
}

static bool is_one_of(span s, const char *const *list)
{
    while (*list && !same(s, *list)) list++;
    return *list;
}

static void put(hd_runes *to, const uint32_t *at, size_t count)
{
    if (!count) return;
    memcpy(to->at + to->count, at, count * sizeof *at);
    to->count += count;
    to->at[to->count++] = ' ';
}

/* "it's", "don't", "cannot": where the second word begins; 0: nowhere. */
static size_t second_word(span s)
{
    static const char *const ends[] = {"n't", "'s", "'m", "'d", "'re", "'ve", "'ll", NULL};
    static const char *const joined[] = {"cannot", "gonna", "gotta", "wanna", "lemme", "gimme", NULL};
    for (const char *const *end = ends; *end; end++) {
        size_t n = strlen(*end);
        if (s.count > n && same((span){s.at + s.count - n, n}, *end)) return s.count - n;
    }
    return is_one_of(s, joined) ? 3 : 0;
}

/* Without marks at either end. */
static void put_word(hd_runes *to, span s)
{
    size_t second = second_word(s);
    put(to, s.at, second);
    put(to, s.at + second, s.count - second);
}

/* Whether a stop at the end belongs to the word: "u.s.", "mr." */
static bool abbreviates(span s)
{
    static const char *const titles[] = {"mr.", "mrs.", "ms.", "dr.", "st.", "jr.", "sr.", "vs.", NULL};
    if (is_one_of(s, titles)) return true;
    if (s.count < 4 || s.count % 2) return false;
    for (size_t i = 0; i < s.count; i += 2)
        if (is_mark(s.at[i]) || s.at[i + 1] != '.') return false;
    return true;
}

/* Whether a mark at i parts the word: not a dash between letters, nor a mark between digits. */
static bool parts(span s, size_t i)
{
    uint32_t c = s.at[i], before = i ? s.at[i - 1] : ' ', behind = i + 1 < s.count ? s.at[i + 1] : ' ';
    bool inside = i && i + 1 < s.count;
    if (is_sign(c)) return true;
    if (!is_mark(c)) return false;
    if (inside && is_any(c, "'-.") && !is_mark(before) && !is_mark(behind)) return false;
    if (inside && is_any(c, ",:") && is_digit(before) && is_digit(behind)) return false;
    return true;
}

/* What stands between blanks. */
static void put_span(hd_runes *to, span s)
{
    static const char *const whole[] = {"n't", "'s", "'m", "'d", "'re", "'ve", "'ll", NULL};
    while (s.count > 1 && is_any(s.at[s.count - 1], "?!,;:\")")) s.count--;
    if (is_one_of(s, whole) || abbreviates(s) || same(s, "\"")) { /* such a quote was cut off before */
        put(to, s.at, s.count);
        return;
    }
    size_t from = 0;
    for (size_t i = 0; i < s.count; i++) {
        if (!parts(s, i)) continue;
        put_word(to, (span){s.at + from, i - from});
        if (is_sign(s.at[i])) put(to, s.at + i, 1);
        from = i + 1;
    }
    put_word(to, (span){s.at + from, s.count - from});
}

hd_status hd_ptb_words(hd_runes *to, const hd_runes *from, hd_err *err)
{
    static const char *const brackets[] = {"-lrb-", "-rrb-", "-lcb-", "-rcb-", NULL};
    hd_status s = hd_runes_reserve(to, 3 * from->count + 1, err);
    if (s) return s;
    to->count = 0;
    for (size_t i = 0, n; i < from->count; i += n + 1) {
        for (n = 0; i + n < from->count && !hd_rune_is_space(from->at[i + n]);) n++;
        const span word = {from->at + i, n};
        if (n && !is_one_of(word, brackets)) put_span(to, word);
    }
    return HD_OK;
}
