/* Attention over a picture, drawn: the picture, and once more for each word, object, layer or head, bright
   where that one looks. */
#ifndef HD_VIEW_ATTENTION_PANELS_H
#define HD_VIEW_ATTENTION_PANELS_H

#include "show/attention.h"
#include "view/draw/drawing.h"

typedef struct hd_attention_panel {
    const char *name; /* owned by the panels */
    float *weight;    /* [height, width] of the picture's cells */
    double most;      /* of them */
    const float *box; /* x, y, width, height as shares, or NULL */
} hd_attention_panel;

typedef struct hd_attention_panels {
    const hd_attention_maps *maps;
    hd_attention_panel *panel;
    size_t count;
    char title[160];
    hd_arena memory;
    double across, down; /* pixels of a panel */
    size_t columns;      /* panels side by side */
} hd_attention_panels;

/* Whether what is picked is drawn over the picture. */
bool hd_attention_pictured(const hd_attention_maps *a, const hd_attention_pick *pick);

/* The weights of the panels. HD_EARG: there is no such layer or head. */
hd_status hd_attention_panels_of(hd_attention_panels *out, const hd_attention_maps *a,
                                 const hd_attention_pick *pick, hd_err *err);
void hd_attention_panels_release(hd_attention_panels *p); /* accepts {0} */

/* p is borrowed. */
hd_drawing hd_attention_panels_drawing(hd_attention_panels *p);

/* Draws what is picked, over the picture, over time or as one map, and hands it to `write`. */
typedef hd_status hd_attention_write(void *context, hd_drawing *d, hd_err *err);
hd_status hd_attention_draw(const hd_attention_maps *a, const hd_attention_pick *pick,
                            hd_attention_write *write, void *context, hd_err *err);

#endif
