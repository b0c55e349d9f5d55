/* The steps of byte-level BPE before merging: bytes written as visible characters, and texts cut into
   words. */
#ifndef HD_TEXT_PUBLISHED_BYTE_LEVEL_H
#define HD_TEXT_PUBLISHED_BYTE_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* The character that stands for a byte in a vocabulary, and back; -1: it stands for none. */
int32_t hd_byte_character(uint8_t byte);
int hd_character_byte(int32_t point);
void hd_byte_level_add(hd_text *to, uint8_t byte); /* appends the character */

/* Bytes of the first word of text[0..size-1], size > 0, as GPT-2 cuts it: an English ending after an
   apostrophe; letters, numbers or other marks, with one space before them; spaces. */
size_t hd_byte_level_word(const char *text, size_t size);

#endif
