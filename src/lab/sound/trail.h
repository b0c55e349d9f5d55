/* The trail of a speller: where it looks in new utterances, letter by letter. */
#ifndef HD_LAB_SOUND_TRAIL_H
#define HD_LAB_SOUND_TRAIL_H

#include "lab/sound/listener.h"

enum { HD_TRAIL_WORDS = HD_LISTENER_MOST + 1, HD_TRAIL_ROOM = HD_TRAIL_WORDS * HD_LISTENER_FRAMES };

typedef struct hd_trail {
    double frames, rows, letters; /* of all utterances */
    bool halved;                  /* rows are frames / 2^layers in each of them, rounded up */
    double onward;                /* share of letters at which the middle of the weights has moved on */
    double mass, chance;          /* of attention on the letter that is said; of rows that it has */
    /* one utterance: letters with the end, rows, and weights [words, width] */
    size_t words, width;
    int32_t letter[HD_TRAIL_WORDS];
    double weight[HD_TRAIL_ROOM];
} hd_trail;

/* layers: those of the encoder that halve the rows. */
hd_status hd_trail_take(hd_trail *t, hd_listener *l, int layers, hd_err *err);

#endif
