/* Boxes drawn on a picture, each with its label and score. */
#ifndef HD_VIEW_PICTURE_BOXES_H
#define HD_VIEW_PICTURE_BOXES_H

#include "data/image/image.h"
#include "view/draw/canvas.h"

typedef struct hd_drawn_box {
    double x, y, width, height; /* in pixels of the picture */
    const char *label;          /* NULL: none */
    double score;               /* NaN: none */
    size_t color;               /* boxes of one number look alike */
} hd_drawn_box;

/* To path, by its ending: .svg, .png or .pdf (hd_plot_check says before whether it can be written). All is
   borrowed. */
hd_status hd_boxes_draw(const char *path, const hd_image *im, const hd_drawn_box *box, size_t boxes,
                        hd_err *err);

/* Boxes on a picture that is drawn at x, y, `scale` times its size; labels above them, or inside where there
   is no room. */
void hd_boxes_put(const hd_canvas *c, const hd_drawn_box *box, size_t boxes, double x, double y,
                  double scale);

#endif
