/* Bytes as characters, and GPT-2's words, which are those of the pattern
   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
   Easy to get wrong: of several spaces before a word the last belongs to it, if it is U+0020. */
#include "text/published/bpe/byte_level.h"

#include <stdint.h>
#include <string.h>

#include "text/character.h"

int32_t hd_byte_character(uint8_t byte)
{
    if (byte <= 32) return 256 + byte;
    if (byte >= 127 && byte <= 160) return 256 + 33 + byte - 127;
    return byte == 173 ? 256 + 33 + 34 : byte;
}

int hd_character_byte(int32_t point)
{
    if (point >= 256 && point < 256 + 33) return point - 256;
    if (point >= 256 + 33 && point < 256 + 33 + 34) return point - 256 - 33 + 127;
    if (point == 256 + 33 + 34) return 173;
    return point >= 0 && point < 256 && hd_byte_character((uint8_t)point) == point ? point : -1;
}

void hd_byte_level_add(hd_text *to, uint8_t byte)
{
    const int32_t point = hd_byte_character(byte);
    const char two[2] = {(char)(0xc0 | point >> 6), (char)(0x80 | (point & 0x3f))}, one = (char)point;
    hd_text_add(to, point < 0x80 ? &one : two, point < 0x80 ? 1 : 2);
}

typedef enum group { SPACE, LETTER, NUMBER, MARK } group;

static group group_at(const char *text, size_t size, size_t *used)
{
    int32_t point;
    *used = hd_character(text, size, &point);
    return hd_is_letter(point) ? LETTER : hd_is_space(point) ? SPACE : hd_is_number(point) ? NUMBER : MARK;
}

/* Bytes of the run of one group that begins at text[at]. */
static size_t run_of(const char *text, size_t size, size_t at, group g)
{
    size_t begin = at, used;
    while (at < size && group_at(text + at, size - at, &used) == g) at += used;
    return at - begin;
}

static size_t ending_of(const char *text, size_t size)
{
    static const char *const endings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]);
        if (length <= size && !memcmp(text, endings[i], length)) return length;
    }
    return 0;
}

static size_t spaces_of(const char *text, size_t size)
{
    size_t end = 0, last = 0, used;
    while (end < size && group_at(text + end, size - end, &used) == SPACE) last = end, end += used;
    return end == size || !last ? end : last;
}

size_t hd_byte_level_word(const char *text, size_t size)
{
    size_t used, at = *text == ' ' && size > 1;
    if (*text == '\'' && (used = ending_of(text, size))) return used;
    group g = group_at(text + at, size - at, &used);
    return g == SPACE ? spaces_of(text, size) : at + run_of(text, size, at, g);
}
