/* Pieces of music to learn from or to measure: MIDI files, or chorales in JSON as the JSB chorales have them:
   {"train": [[[S, A, T, B], ...], ...], "valid": ..., "test": ...}, MIDI pitches for each sixteenth, -1 a
   rest. */
#ifndef HD_DATA_MUSIC_SET_H
#define HD_DATA_MUSIC_SET_H

#include "data/files.h"
#include "data/music/tokens.h"

typedef struct hd_music_set {
    hd_music kind;
    hd_ids ids;    /* an end, then each piece with an end behind it */
    size_t *begin; /* [pieces] the first token of each */
    size_t pieces, room;
} hd_music_set;

/* What a file holds: performances where it is MIDI, chorales where it is JSON. */
hd_status hd_music_file_kind(hd_music *out, const char *path, hd_err *err);

/* Appends the pieces of a file as tokens of set->kind. part: of JSON the one of this name, which must be
   there; a list without parts is read whatever it is. */
hd_status hd_music_set_add(hd_music_set *set, const char *path, const char *part, hd_err *err);
hd_status hd_music_set_add_files(hd_music_set *set, const hd_files *files, const char *part, hd_err *err);
/* Whether a JSON file has a part of this name, with pieces. */
hd_status hd_music_has_part(bool *out, const char *path, const char *part, hd_err *err);
void hd_music_set_release(hd_music_set *set); /* accepts {0} */

/* Writes tokens as a MIDI file: of a performance one track, of a chorale four. Ends are left out. */
hd_status hd_music_save(hd_music kind, const int32_t *ids, size_t count, const char *path, hd_err *err);

/* Tokens of a piece, and how many, its end included. */
const int32_t *hd_music_set_piece(const hd_music_set *set, size_t i, size_t *count);

/* Moves the last pieces to another set: the fraction of all, at least one; one stays at least. */
hd_status hd_music_set_split(hd_music_set *set, double fraction, hd_music_set *tail, hd_err *err);

#endif
