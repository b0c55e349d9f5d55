/* Lines of every kind of character, from a seed: the generator of published/make.py, number for number. */
#ifndef LINES_H
#define LINES_H

#include <utf8proc.h>

#include "base/text.h"

static const struct {
    int32_t low, high;
} line_ranges[] = {
    {0x61, 0x7A},       {0x41, 0x5A},     {0xC0, 0x17F},      {0x391, 0x3A1},     {0x3B1, 0x3C9},
    {0x410, 0x44F},     {0x4E00, 0x9FA5}, {0x3041, 0x3093},   {0xAC00, 0xD7A3},   {0x627, 0x63A},
    {0x5D0, 0x5EA},     {0x905, 0x939},   {0xE01, 0xE2E},     {0x1F600, 0x1F640}, {0x2600, 0x2613},
    {0x1F3FB, 0x1F3FF}, {0x300, 0x345},   {0x1, 0x1F},        {0x7F, 0x9F},       {0x30, 0x39},
    {0x660, 0x669},     {0xB2, 0xB3},     {0xBC, 0xBE},       {0x2160, 0x216B},   {0x21, 0x2F},
    {0x3A, 0x40},       {0x5B, 0x60},     {0x7B, 0x7E},       {0x2010, 0x2027},   {0x3001, 0x3003},
    {0xA1, 0xBF},       {0x2190, 0x2193}, {0x20000, 0x20020}, {0xF900, 0xF910},   {0x1E00, 0x1E99},
    {0x93E, 0x94D},
};

static const int32_t line_spaces[] = {0x20,   0x20,   0x20, 0x20,   0x9,    0xA,    0xD,    0xA0,
                                      0x2003, 0x3000, 0x85, 0x2028, 0x200B, 0xFEFF, 0x200D, 0xB};

static const char *const line_words[] = {
    "the",           "cat",    "sat",       "on",           "mat",          "walking",  "unbelievable",
    "don't",         "we'll",  "I'm",       "they're",      "he'd",         "'s",       "it's",
    "Straße",        "naïve",  "İstanbul",  "Größe",        "Ångström",     "hello",    "world",
    "translation",   "models", "attention", "2026",         "3.14",         "e-mail",   "https://a.b/c?d=e",
    "<|endoftext|>", "[MASK]", "[SEP]",     "<s>",          "</s>",         "<pad>",    "<extra_id_0>",
    "<extra_id_7>",  ">>fr<<", "##ing",     "\xe2\x96\x81", "\xef\xbf\xbd", "[ MASK ]", "<mask>"};

enum {
    LINE_RANGES = sizeof line_ranges / sizeof *line_ranges,
    LINE_SPACES = sizeof line_spaces / sizeof *line_spaces,
    LINE_WORDS = sizeof line_words / sizeof *line_words
};

static uint32_t line_below(uint64_t *state, uint32_t n)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return (uint32_t)((x >> 33) % n);
}

static void line_put(hd_text *to, int32_t point)
{
    char bytes[4];
    hd_text_add(to, bytes, (size_t)utf8proc_encode_char(point, (uint8_t *)bytes));
}

static void line_part(hd_text *to, uint64_t *state)
{
    uint32_t kind = line_below(state, LINE_RANGES + 24);
    if (kind >= LINE_RANGES + 4) {
        hd_text_put(to, line_words[line_below(state, LINE_WORDS)]);
        return;
    }
    if (kind >= LINE_RANGES + 1) {
        for (uint32_t n = 1 + line_below(state, 4); n; n--)
            line_put(to, line_spaces[line_below(state, LINE_SPACES)]);
        return;
    }
    int is_long = kind == LINE_RANGES;
    uint32_t from = is_long ? line_below(state, 8) : kind;
    uint32_t count = is_long && !line_below(state, 4) ? 90 + line_below(state, 40) : 1 + line_below(state, 8);
    int32_t low = line_ranges[from].low, high = line_ranges[from].high;
    for (; count; count--) line_put(to, low + (int32_t)line_below(state, (uint32_t)(high - low + 1)));
}

/* Replaces the text by the next line of the seed's. */
static void line_next(hd_text *to, uint64_t *state)
{
    to->size = 0;
    hd_text_put(to, "");
    for (uint32_t parts = line_below(state, 14); parts; parts--) {
        line_part(to, state);
        if (line_below(state, 2)) hd_text_put(to, " ");
    }
}

#endif
