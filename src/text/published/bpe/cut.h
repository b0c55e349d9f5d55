/* How texts are cut into words before they are merged. A cut is a function that gives the first part of a
   text; the regular expressions of tokenizer.json are known by their text, each to a function written by
   hand. */
#ifndef HD_TEXT_PUBLISHED_BPE_CUT_H
#define HD_TEXT_PUBLISHED_BPE_CUT_H

#include <stddef.h>

/* Bytes of the first part of text[0..size-1], size > 0. Nothing but these bytes is looked at. */
typedef size_t hd_cut(const char *text, size_t size);

#define HD_PATTERN_SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define HD_PATTERN_MARKS  " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" HD_PATTERN_SPACES
#define HD_PATTERN_WORDS  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"

#define HD_PATTERN_LLAMA3 HD_PATTERN_WORDS "\\p{N}{1,3}|" HD_PATTERN_MARKS
#define HD_PATTERN_QWEN   HD_PATTERN_WORDS "\\p{N}|" HD_PATTERN_MARKS
#define HD_PATTERN_GPT4                                                                                 \
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|" \
    "\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"
#define HD_PATTERN_NUMBERS "\\p{N}{1,3}"
#define HD_PATTERN_CHINESE "[一-龥぀-ゟ゠-ヿ]+"
#define HD_PATTERN_DEEPSEEK                                                                              \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|" \
    " ?[\\p{P}\\p{S}]+[\\r\\n]*|" HD_PATTERN_SPACES
#define HD_PATTERN_TEKKEN                                                                        \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|" \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|" \
    "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" HD_PATTERN_SPACES
#define HD_PATTERN_GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

/* NULL: a pattern that is not known. */
hd_cut *hd_cut_of_pattern(const char *pattern);

hd_cut hd_cut_digit;        /* every number (N*) alone */
hd_cut hd_cut_digits;       /* runs of numbers */
hd_cut hd_cut_after_space;  /* behind each U+0020 */
hd_cut hd_cut_before_blank; /* in front of each U+2581 */

#endif
