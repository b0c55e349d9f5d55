/* How texts are cut into words before they are merged. A cut is a function that gives the first part of a
   text; the regular expressions of tokenizer.json are known by their text, each to a function written by
   hand. */
#ifndef HD_TEXT_PUBLISHED_BPE_CUT_H
#define HD_TEXT_PUBLISHED_BPE_CUT_H

#include <stddef.h>

/* Bytes of the first part of text[0..size-1], size > 0. Nothing but these bytes is looked at. */
typedef size_t hd_cut(const char *text, size_t size);

/* NULL: a pattern that is not known. */
hd_cut *hd_cut_of_pattern(const char *pattern);

hd_cut hd_cut_digit;        /* every number (N*) alone */
hd_cut hd_cut_digits;       /* runs of numbers */
hd_cut hd_cut_after_space;  /* behind each U+0020 */
hd_cut hd_cut_before_blank; /* in front of each U+2581 */

#endif
