/* Performances as tokens: keys struck and released, with the time between them in steps of 10 ms. */
#ifndef HD_DATA_MUSIC_PERFORMANCE_H
#define HD_DATA_MUSIC_PERFORMANCE_H

#include "data/music/midi.h"
#include "data/music/tokens.h"

/* Appends the tokens of the notes, without percussion and without the silence before the first. HD_EFORMAT
   where there is no note, HD_ELIMIT where they last longer than a day; `name` is for messages. */
hd_status hd_performance_tokens(hd_ids *out, const hd_midi *m, const char *name, hd_err *err);

/* The notes of tokens, as one track. Any tokens will do: a key that is released without being struck is
   skipped, one that is struck again or never released ends there. */
hd_status hd_performance_notes(hd_midi *out, const int32_t *ids, size_t count, hd_err *err);
extern const hd_midi_score hd_performance_score; /* how to write them */

#endif
