/* Attention in a terminal: target tokens run down, source tokens across, shaded by weight. */
#ifndef HD_VIEW_ATTENTION_TEXT_H
#define HD_VIEW_ATTENTION_TEXT_H

#include "base/text.h"
#include "show/attention.h"

typedef struct hd_attention_look {
    int width;  /* columns to fill; what is wider continues below */
    bool color; /* escape codes: a background for each weight, with its number */
    bool utf8;  /* signs beyond ASCII */
    hd_attention_pick pick;
} hd_attention_look;

/* Appends to `to`: a title, the map, and for each row what it attends to most. Lines have no trailing spaces.
 */
hd_status hd_attention_text(hd_text *to, const hd_attention_maps *a, const hd_attention_look *look,
                            hd_err *err);

#endif
