/* A set of sounds on its way from files. */
#ifndef HD_DATA_SOUND_SET_BUILD_H
#define HD_DATA_SOUND_SET_BUILD_H

#include "data/set.h"
#include "data/sound/set.h"

typedef struct hd_sound_builder {
    hd_sound_set *set;
    bool skip;
    const char *path; /* what is read, for messages */
    hd_lines *lines;  /* which line of it; NULL: not known */
    hd_vocab left_out;
    hd_err why;    /* of the first sound that was left out */
    size_t *begin; /* [count] of each text in letters */
    size_t used;   /* letters */
    bool told;     /* there are texts */
    size_t samples_room, rate_room, mark_room, begin_room, letters_room;
} hd_sound_builder;

/* Sounds are below the folder; NULL: below that which holds `path`. */
hd_status hd_sound_set_begin(hd_sound_builder *b, hd_sound_set *out, const char *folder, hd_err *err);

/* Opens the sound. text.text NULL: there is none. A name that is there before is an error. */
hd_status hd_sound_set_add(hd_sound_builder *b, hd_line name, hd_line text, hd_err *err);
/* A sound that is invalid: left out and counted, or an error. */
hd_status hd_sound_set_leave_out(hd_sound_builder *b, hd_line name, const hd_err *why, hd_err *err);

/* s is how reading ended. After a failure everything is released. Closes the lines. */
hd_status hd_sound_set_end(hd_sound_builder *b, hd_status s, hd_err *err);

/* Sets the hash from all the rest. */
void hd_sound_set_hash(hd_sound_set *s);
/* The texts of a set, which lie one behind the other in letters, each with a zero byte. */
hd_status hd_sound_set_place(hd_sound_set *s, const size_t *begin, hd_err *err);

#endif
