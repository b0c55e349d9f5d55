/* Attention over time: the spectrogram, below it a row for each token that was written, dark where that one
   listens, and the path that attention takes. */
#ifndef HD_VIEW_ATTENTION_TRACK_H
#define HD_VIEW_ATTENTION_TRACK_H

#include "show/attention.h"
#include "show/sound/monotone.h"
#include "view/attention/text.h"
#include "view/draw/drawing.h"

typedef struct hd_attention_track {
    const hd_attention_maps *maps;
    hd_attention_map map;
    hd_monotone monotone;
    hd_image heat; /* of the map, a pixel for each weight */
    double scale;  /* the weight of the darkest color */
    char title[160], note[128];
    double left, top, across, strip, row; /* of the drawing: pixels */
} hd_attention_track;

/* Whether what is picked is drawn over time. */
bool hd_attention_tracked(const hd_attention_maps *a, const hd_attention_pick *pick);

/* HD_EARG: there is no such layer or head. */
hd_status hd_attention_track_of(hd_attention_track *out, const hd_attention_maps *a,
                                const hd_attention_pick *pick, hd_err *err);
void hd_attention_track_release(hd_attention_track *t); /* accepts {0} */

hd_drawing hd_attention_track_drawing(hd_attention_track *t); /* t is borrowed */

/* In a terminal: time runs right, as wide as there is room. */
hd_status hd_attention_track_text(hd_text *to, const hd_attention_maps *a, const hd_attention_look *look,
                                  hd_err *err);

#endif
