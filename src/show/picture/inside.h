/* How much of the attention of a caption's words lies inside the objects that they name. */
#ifndef HD_SHOW_PICTURE_INSIDE_H
#define HD_SHOW_PICTURE_INSIDE_H

#include "data/image/set.h"
#include "show/attention.h"

typedef struct hd_inside {
    size_t words; /* that name an object, or stand before the word that does: "red circle" */
    size_t most;  /* those with more than half of their attention inside its box */
    double share; /* the sum of what lies inside */
    double area;  /* the sum of what the box is of the picture: what even attention would have there */
} hd_inside;

/* Adds the words of the caption in `maps`. The objects are those of a picture of this size, in pixels, as
   hd_image_set_boxes reads them; a label that occurs several times stands for one object after the other. A
   word before a label counts with it unless it is an article or a label. Tokens before the cells of a picture
   are left out. */
hd_status hd_inside_add(hd_inside *sum, const hd_attention_maps *maps, const hd_box *box, size_t boxes,
                        const hd_vocab *labels, int height, int width, hd_err *err);

#endif
