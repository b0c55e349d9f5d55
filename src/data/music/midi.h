/* Standard MIDI files, formats 0 and 1, as notes. The sustain pedal lengthens notes; programs, bends, texts
   and whatever else is in a file are skipped. */
#ifndef HD_DATA_MUSIC_MIDI_H
#define HD_DATA_MUSIC_MIDI_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { HD_PITCHES = 128, HD_DRUMS = 9 /* the channel of percussion: its pitches are instruments */ };

typedef struct hd_note {
    double begin, end; /* seconds */
    uint32_t on, off;  /* ticks; off > on */
    uint32_t track;
    uint8_t channel, pitch, velocity;
} hd_note;

typedef struct hd_midi {
    hd_note *note; /* by `on`; those that begin together by track, channel, pitch */
    size_t count, room;
    uint32_t tracks;
    uint32_t quarter; /* ticks of a quarter note */
} hd_midi;

/* A file of at most 16 MiB, plain or compressed. A malformed one is refused with its name and the byte that
   is wrong. */
hd_status hd_midi_read(hd_midi *out, const char *path, hd_err *err);
/* The same of bytes; `name` is for messages. */
hd_status hd_midi_parse(hd_midi *out, const uint8_t *bytes, size_t size, const char *name, hd_err *err);
void hd_midi_release(hd_midi *m); /* accepts {0} */

/* Adds a note by ticks, and puts all in order; for those who write. */
hd_status hd_midi_add(hd_midi *m, const hd_note *note, hd_err *err);
void hd_midi_sort(hd_midi *m);

/* Appends the bytes of a file: format 0 of one track, otherwise format 1. tempo: microseconds of a quarter
   note. names: [tracks] or NULL; program: the instrument of all channels. Reading it back gives the same
   notes. */
typedef struct hd_midi_score {
    uint32_t tempo;
    uint8_t program;
    const char *const *names;
} hd_midi_score;
void hd_midi_put(hd_text *to, const hd_midi *m, const hd_midi_score *score);
/* The same into a file. */
hd_status hd_midi_save(const hd_midi *m, const hd_midi_score *score, const char *path, hd_err *err);

#endif
