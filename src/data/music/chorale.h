/* Chorales as tokens: four voices on a grid of sixteenths, soprano, alto, tenor and bass of the first one,
   then of the next. A grid does not tell a long note from one that is struck again: neighbors of one pitch
   are one note. */
#ifndef HD_DATA_MUSIC_CHORALE_H
#define HD_DATA_MUSIC_CHORALE_H

#include "data/music/midi.h"
#include "data/music/tokens.h"

/* Appends the tokens of a MIDI file with four parts (tracks or channels), in their order, or the other way
   around where the last is higher on average than the first. What begins between two sixteenths is moved to
   the nearer one; of notes at one time in a part the highest counts. */
hd_status hd_chorale_tokens(hd_ids *out, const hd_midi *m, const char *name, hd_err *err);
/* The highest notes of a file alone, one token for each sixteenth. */
hd_status hd_chorale_melody(hd_ids *out, const hd_midi *m, const char *name, hd_err *err);

/* The notes of tokens, in four tracks; what is no pitch is a rest, and a step that is not whole is left out.
 */
hd_status hd_chorale_notes(hd_midi *out, const int32_t *ids, size_t count, hd_err *err);
extern const hd_midi_score hd_chorale_score; /* how to write them */

#endif
