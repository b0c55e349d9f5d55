/* Tokens as labels: visible whatever is in them, and cut to a width. */
#ifndef HD_VIEW_DRAW_LABEL_H
#define HD_VIEW_DRAW_LABEL_H

#include <stdbool.h>
#include <stddef.h>

enum { HD_LABEL = 256 }; /* bytes a label may have, its zero byte included */

/* How wide a text is, in whatever unit. */
typedef double hd_label_width(void *context, const char *text);

typedef struct hd_label_opt {
    hd_label_width *width;
    void *context;
    double most;
    bool ascii; /* no signs of ours beyond ASCII; a token keeps its own */
} hd_label_opt;

/* Into buf: control characters and a blank at either end as their pictures, and an ellipsis where `most`
   ends. Returns buf. */
const char *hd_label_of(char buf[HD_LABEL], const char *token, const hd_label_opt *o);

#endif
