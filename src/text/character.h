/* Characters of UTF-8 text and the classes that tokenizers use. */
#ifndef HD_TEXT_CHARACTER_H
#define HD_TEXT_CHARACTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Length in bytes of the character at text, size > 0, and its code point; 1 and -1 if it is not UTF-8. */
size_t hd_character(const char *text, size_t size, int32_t *point);

/* Unicode's White_Space, and the general categories L, N, P, Mn, and C without unassigned code points. All
   are false for -1. */
bool hd_is_space(int32_t point);
bool hd_is_letter(int32_t point);
bool hd_is_number(int32_t point);
bool hd_is_punctuation(int32_t point); /* and ASCII symbols */
bool hd_is_accent(int32_t point);
bool hd_is_mark(int32_t point);   /* M: accents, vowel signs, enclosing marks */
bool hd_is_symbol(int32_t point); /* S */
bool hd_is_upper(int32_t point);  /* Lu and Lt */
bool hd_is_lower(int32_t point);  /* Ll */
bool hd_is_control(int32_t point);
bool hd_is_word(int32_t point); /* letters, marks, digits and joiners: \w of regular expressions */

/* Appends the text in small letters, character by character; what is not UTF-8 stays. */
void hd_text_add_lower(hd_text *to, const char *text, size_t size);

/* Appends bytes; invalid UTF-8 becomes one U+FFFD per truncated character. */
void hd_text_add_lossy(hd_text *to, const char *bytes, size_t size);

#endif
