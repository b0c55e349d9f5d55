/* The score functions of the lectures on one example: a state of a decoder looks at four of an encoder. */
#ifndef HD_LAB_ATTENTION_GLANCE_H
#define HD_LAB_ATTENTION_GLANCE_H

#include "lab/desk.h"

enum { HD_GLANCE_STATES = 4, HD_GLANCE_WIDTH = 3, HD_GLANCE_HIDDEN = 5 };

typedef enum hd_glance_kind {
    HD_GLANCE_DOT,
    HD_GLANCE_SCALED,
    HD_GLANCE_BILINEAR,
    HD_GLANCE_MLP,
    HD_GLANCE_KINDS
} hd_glance_kind;

typedef struct hd_glance {
    double score[HD_GLANCE_STATES], weight[HD_GLANCE_STATES], context[HD_GLANCE_WIDTH];
} hd_glance;

/* What the example begins with: h_dec [1,3], h_enc [4,3]; W_a [3,3] of the bilinear score; W [5,6] and w [5]
   of the MLP. */
extern const double hd_glance_h_dec[HD_GLANCE_WIDTH], hd_glance_h_enc[HD_GLANCE_STATES * HD_GLANCE_WIDTH],
    hd_glance_w_a[HD_GLANCE_WIDTH * HD_GLANCE_WIDTH], hd_glance_w_a2[HD_GLANCE_HIDDEN * 2 * HD_GLANCE_WIDTH],
    hd_glance_w_a1[HD_GLANCE_HIDDEN];

/* By PyTorch from the lectures' formulas. */
extern const struct hd_glance_row {
    const char *name, *title, *formula;
    hd_glance lecture;
} hd_glance_rows[HD_GLANCE_KINDS];

/* By the engine's attention. */
hd_status hd_glance_of(hd_glance *to, hd_run *r, hd_glance_kind k, hd_err *err);

#endif
