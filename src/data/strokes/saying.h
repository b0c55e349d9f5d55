/* What is written in lines of handwriting that are made: common English words, words that are none, numbers
   and marks, so that every letter stands beside many others. */
#ifndef HD_DATA_STROKES_SAYING_H
#define HD_DATA_STROKES_SAYING_H

#include "base/rng.h"
#include "base/text.h"

enum { HD_SAYING_LEAST = 8, HD_SAYING_MOST = 32 }; /* characters */

/* A line of so many characters, ASCII, without spaces at its ends; replaces what the text holds. */
void hd_saying_draw(hd_text *to, hd_rng *rng);

#endif
