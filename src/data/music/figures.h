/* What a piece of music is like in a few numbers, to compare what a model writes with what it learned from.
 */
#ifndef HD_DATA_MUSIC_FIGURES_H
#define HD_DATA_MUSIC_FIGURES_H

#include "data/music/tokens.h"

typedef struct hd_music_figures {
    size_t notes; /* pitches of voices, of a performance keys struck; rests are none */
    size_t pairs,
        repeated; /* a note and the one before it, in its voice without a rest between; of one pitch */
    hd_music_ranges ranges;
} hd_music_figures;

void hd_music_figures_init(hd_music_figures *f);
/* Adds a piece. */
void hd_music_figures_add(hd_music_figures *f, hd_music kind, const int32_t *ids, size_t count);

#endif
