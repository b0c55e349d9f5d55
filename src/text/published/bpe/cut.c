/* The split patterns of published decoders. A matcher tells what its pattern matches at the beginning of a
   text; what no match begins in is a part of its own. Easy to get wrong: the optional character in front of a
   word may be a combining mark, which is also part of words, so that both readings are tried in the order of
   a regular expression. */
#include "text/published/bpe/cut.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "text/character.h"
#include "text/published/bpe/byte_level.h"

/* A text that is read from its beginning; `point` is the character at `at`, -2 at the end. */
typedef struct reader {
    const char *text;
    size_t size, at, wide;
    int32_t point;
} reader;

enum { END = -2 };

static reader read_at(const char *text, size_t size, size_t at)
{
    reader r = {text, size, at, 0, END};
    if (at < size) r.wide = hd_character(text + at, size - at, &r.point);
    return r;
}

static void next(reader *r)
{
    *r = read_at(r->text, r->size, r->at + r->wide);
}

typedef bool belongs(int32_t point);

/* Moves past the run of such characters; whether there were some. */
static bool skip(reader *r, belongs *to)
{
    size_t begin = r->at;
    while (r->point != END && to(r->point)) next(r);
    return r->at > begin;
}

static bool is_line_end(int32_t point)
{
    return point == '\r' || point == '\n';
}

static bool is_line_end_or_slash(int32_t point)
{
    return is_line_end(point) || point == '/';
}

static bool is_other(int32_t point) /* [^\s\p{L}\p{N}] */
{
    return !hd_is_space(point) && !hd_is_letter(point) && !hd_is_number(point);
}

static bool may_lead(int32_t point) /* [^\r\n\p{L}\p{N}] */
{
    return point != END && !is_line_end(point) && !hd_is_letter(point) && !hd_is_number(point);
}

/* -- rules that patterns share -- */

/* (?i:'s|'t|'re|'ve|'m|'ll|'d), where U+017F is an s, too. */
static size_t ending(const char *text, size_t size)
{
    static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (*text != '\'') return 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]), same = 0;
        while (same < length && 1 + same < size && (text[1 + same] | 32) == endings[i][same]) same++;
        if (same == length) return 1 + length;
    }
    return size > 2 && !memcmp(text + 1, "\xc5\xbf", 2) ? 3 : 0;
}

static size_t numbers(const char *text, size_t size, int most)
{
    reader r = read_at(text, size, 0);
    for (int i = 0; i < most && r.point != END && hd_is_number(r.point); i++) next(&r);
    return r.at;
}

/* A space, then such characters, then ends of lines. */
static size_t marks(const char *text, size_t size, belongs *mark, belongs *after)
{
    reader r = read_at(text, size, *text == ' ');
    if (!skip(&r, mark)) return 0;
    skip(&r, after);
    return r.at;
}

/* \s*[\r\n]+|\s+(?!\S)|\s+ */
static size_t spaces(const char *text, size_t size)
{
    size_t lines = 0, last = 0;
    reader r = read_at(text, size, 0);
    for (; r.point != END && hd_is_space(r.point); next(&r)) {
        last = r.at;
        if (is_line_end(r.point)) lines = r.at + r.wide;
    }
    return lines ? lines : r.point == END || !last ? r.at : last;
}

/* [^\r\n\p{L}\p{N}]?\p{L}+ */
static size_t letters(const char *text, size_t size)
{
    reader r = read_at(text, size, 0);
    if (may_lead(r.point)) next(&r);
    return skip(&r, hd_is_letter) ? r.at : 0;
}

/* -- Llama 3, Qwen -- */

static size_t plain(const char *text, size_t size, int digits)
{
    size_t n = ending(text, size);
    if (!n) n = letters(text, size);
    if (!n) n = numbers(text, size, digits);
    if (!n) n = marks(text, size, is_other, is_line_end);
    return n ? n : spaces(text, size);
}

static size_t match_llama3(const char *text, size_t size)
{
    return plain(text, size, 3);
}

static size_t match_qwen(const char *text, size_t size)
{
    return plain(text, size, 1);
}

/* -- DeepSeek-V3 -- */

static size_t match_three_numbers(const char *text, size_t size)
{
    return numbers(text, size, 3);
}

static bool is_chinese_or_kana(int32_t point)
{
    return (point >= 0x4e00 && point <= 0x9fa5) || (point >= 0x3040 && point <= 0x30ff);
}

static size_t match_chinese(const char *text, size_t size)
{
    reader r = read_at(text, size, 0);
    skip(&r, is_chinese_or_kana);
    return r.at;
}

static bool is_latin(int32_t point)
{
    return (point | 32) >= 'a' && (point | 32) <= 'z' && point < 0x80;
}

static bool is_ascii_mark(int32_t point)
{
    return point > ' ' && point < 0x7f && hd_is_punctuation(point);
}

static bool is_mark_or_symbol(int32_t point) /* [\p{P}\p{S}] */
{
    return hd_is_punctuation(point) || hd_is_symbol(point);
}

static bool is_letter_or_accent(int32_t point) /* [\p{L}\p{M}] */
{
    return hd_is_letter(point) || hd_is_mark(point);
}

static size_t match_deepseek(const char *text, size_t size)
{
    reader first = read_at(text, size, 0), r = first;
    if (is_ascii_mark(r.point)) {
        next(&r);
        if (skip(&r, is_latin)) return r.at;
    }
    r = first;
    if (!is_line_end(r.point) && !hd_is_letter(r.point) && !is_mark_or_symbol(r.point)) next(&r);
    if (skip(&r, is_letter_or_accent)) return r.at;
    r = first;
    if (skip(&r, is_letter_or_accent)) return r.at;
    size_t n = marks(text, size, is_mark_or_symbol, is_line_end);
    return n ? n : spaces(text, size);
}

/* -- Tekken -- */

static bool is_either_case(int32_t point) /* [\p{Lm}\p{Lo}\p{M}] */
{
    return (hd_is_letter(point) && !hd_is_upper(point) && !hd_is_lower(point)) || hd_is_mark(point);
}

static bool is_capital(int32_t point)
{
    return hd_is_upper(point) || is_either_case(point);
}

static bool is_small(int32_t point)
{
    return hd_is_lower(point) || is_either_case(point);
}

/* capital* small+: where nothing small follows, the last of the capitals that has no case is what is small.
 */
static size_t capitals_then_small(reader r)
{
    size_t last = 0;
    for (; r.point != END && is_capital(r.point); next(&r))
        if (is_either_case(r.point)) last = r.at + r.wide;
    return skip(&r, is_small) ? r.at : last;
}

/* capital+ small* */
static size_t capitals(reader r)
{
    if (!skip(&r, is_capital)) return 0;
    skip(&r, is_small);
    return r.at;
}

static size_t match_tekken(const char *text, size_t size)
{
    static size_t (*const word[])(reader) = {capitals_then_small, capitals};
    reader first = read_at(text, size, 0), behind = first;
    next(&behind);
    size_t n = 0;
    for (int i = 0; !n && i < 2; i++) {
        if (may_lead(first.point)) n = word[i](behind);
        if (!n) n = word[i](first);
    }
    if (!n) n = numbers(text, size, 1);
    if (!n) n = marks(text, size, is_other, is_line_end_or_slash);
    return n ? n : spaces(text, size);
}

/* -- from matchers to cuts -- */

/* What the pattern matches at the beginning, or else what is before its first match. */
static size_t isolate(const char *text, size_t size, hd_cut *match)
{
    for (size_t at = 0; at < size; at += read_at(text, size, at).wide) {
        size_t n = match(text + at, size - at);
        if (n) return at ? at : n;
    }
    return size;
}

#define CUTS(X)      \
    X(llama3)        \
    X(qwen)          \
    X(three_numbers) \
    X(chinese)       \
    X(deepseek)      \
    X(tekken)

#define X(name)                                             \
    static size_t cut_##name(const char *text, size_t size) \
    {                                                       \
        return isolate(text, size, match_##name);           \
    }
CUTS(X)
#undef X

static size_t match_number(const char *text, size_t size)
{
    return numbers(text, size, 1);
}

static bool is_number(int32_t point)
{
    return hd_is_number(point);
}

static size_t match_numbers(const char *text, size_t size)
{
    reader r = read_at(text, size, 0);
    skip(&r, is_number);
    return r.at;
}

size_t hd_cut_digit(const char *text, size_t size)
{
    return isolate(text, size, match_number);
}

size_t hd_cut_digits(const char *text, size_t size)
{
    return isolate(text, size, match_numbers);
}

size_t hd_cut_after_space(const char *text, size_t size)
{
    const char *space = memchr(text, ' ', size);
    return space ? (size_t)(space - text) + 1 : size;
}

size_t hd_cut_before_blank(const char *text, size_t size)
{
    for (size_t at = 1; at + 3 <= size; at++)
        if (!memcmp(text + at, "\xe2\x96\x81", 3)) return at;
    return size;
}

static const struct {
    const char *pattern;
    hd_cut *cut;
} patterns[] = {
    {HD_PATTERN_LLAMA3, cut_llama3},   {HD_PATTERN_QWEN, cut_qwen},
    {HD_PATTERN_GPT4, cut_llama3},     {HD_PATTERN_NUMBERS, cut_three_numbers},
    {HD_PATTERN_CHINESE, cut_chinese}, {HD_PATTERN_DEEPSEEK, cut_deepseek},
    {HD_PATTERN_TEKKEN, cut_tekken},   {HD_PATTERN_GPT2, hd_byte_level_word},
};

/* Some files have ends of lines in their patterns as they are, not as \\r and \\n. */
static bool is_same(const char *known, const char *pattern)
{
    for (; *pattern; pattern++) {
        const char *plain = *pattern == '\r' ? "\\r" : *pattern == '\n' ? "\\n" : NULL;
        if (plain ? strncmp(known, plain, 2) : *known != *pattern) return false;
        known += plain ? 2 : 1;
    }
    return !*known;
}

hd_cut *hd_cut_of_pattern(const char *pattern)
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (is_same(patterns[i].pattern, pattern)) return patterns[i].cut;
    return NULL;
}
